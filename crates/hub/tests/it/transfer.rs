use std::sync::Arc;
use std::time::Duration;

use plimsoll_hub::{
    Absent, Archive, Fetched, FreshStart, Hub, HubError, Note, Pin, Token, Unwatched, Wanted,
};
use plimsoll_testkit::hub::{At, FakeFile, Fault};
use plimsoll_units::Bytes;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, FILE, REPO, SIZE, Watch, assert_published, bench_with_file, done, noise};

/// What one read from the network can bring at most in these tests.
const CHUNK: u64 = 512 << 10;

#[tokio::test]
async fn a_file_lands_in_the_shared_layout() {
    let bench = Bench::new().await;
    let file = FakeFile::lfs(noise(70_000, 1));
    let commit = bench.fake.commit(REPO, &[("sub dir/größe.gguf", file.clone())]);
    let set = bench.set("sub dir/größe.gguf").await.unwrap();
    assert_eq!(
        (set.files[0].commit.as_str(), set.bytes()),
        (commit.as_str(), Bytes(70_000))
    );
    assert_eq!(set.files[0].sha256(), Some(file.sha256()));

    let (fetched, watch) = bench.fetch(&set).await;
    let (paths, traffic) = done(fetched);
    let pointer = bench
        .folder()
        .join("snapshots")
        .join(&commit)
        .join("sub dir")
        .join("größe.gguf");
    assert_eq!(paths, [pointer.as_path()]);
    assert_published(&bench, &file, &paths);
    #[cfg(unix)]
    assert_eq!(
        std::fs::read_link(&pointer).unwrap(),
        std::path::Path::new("../../../blobs").join(file.sha256()),
        "relative, so that the cache can be moved"
    );
    assert_eq!(
        std::fs::read_to_string(bench.folder().join("refs/main")).unwrap(),
        commit
    );
    watch.strict.assert_finished();
    assert_eq!((traffic.received, traffic.connections), (Bytes(70_000), 1));
}

#[tokio::test]
async fn what_is_there_already_costs_nothing() {
    let (bench, _) = bench_with_file().await;
    let set = bench.set(FILE).await.unwrap();
    done(bench.fetch(&set).await.0);
    let before = bench.fake.sent();
    let (fetched, watch) = bench.fetch(&set).await;
    let (_, traffic) = done(fetched);
    assert_eq!((bench.fake.sent(), traffic.connections), (before, 0));
    watch.strict.assert_finished();
}

#[tokio::test]
async fn every_part_of_a_split_model_comes_by_the_name_of_one() {
    let bench = Bench::new().await;
    let names = [
        "q/m-00001-of-00003.gguf",
        "q/m-00002-of-00003.gguf",
        "q/m-00003-of-00003.gguf",
    ];
    let files: Vec<FakeFile> = (1..=3).map(|n| FakeFile::xet(noise(10_000 * n, 7))).collect();
    let _ = bench.fake.commit(
        REPO,
        &[
            (names[0], files[0].clone()),
            (names[1], files[1].clone()),
            (names[2], files[2].clone()),
        ],
    );
    let set = bench.set(names[1]).await.unwrap();
    assert_eq!(
        set.files
            .iter()
            .map(|file| file.path.as_str())
            .collect::<Vec<_>>(),
        names
    );
    let (fetched, watch) = bench.fetch(&set).await;
    let (paths, _) = done(fetched);
    assert_eq!((paths.len(), watch.strict.done()), (3, Bytes(60_000)));
}

#[tokio::test]
async fn a_line_that_breaks_again_and_again_costs_no_byte_twice() {
    let (bench, file) = bench_with_file().await;
    for _ in 0..9 {
        bench.fake.next(At::Data, Fault::CutAfter(100_000));
    }
    let set = bench.set(FILE).await.unwrap();
    let (fetched, watch) = bench.fetch(&set).await;
    let (paths, traffic) = done(fetched);
    assert_published(&bench, &file, &paths);
    watch.strict.assert_finished();
    assert_eq!((traffic.connections, traffic.fresh_starts), (10, 0));
    assert!(traffic.received.0 <= SIZE, "{traffic:?}");
    assert!(bench.fake.sent() <= SIZE + 9 * CHUNK);
    let asked: Vec<Option<String>> = bench
        .fake
        .seen_at(At::Data)
        .into_iter()
        .map(|seen| seen.range)
        .collect();
    assert_eq!(asked[0], None);
    assert!(asked[1..].iter().all(Option::is_some), "{asked:?}");
    let conditions = bench
        .fake
        .seen_at(At::Data)
        .into_iter()
        .filter(|seen| seen.if_range.is_some())
        .count();
    assert_eq!(conditions, 9, "every continuation is bound to the same content");
}

#[tokio::test]
async fn a_line_that_brings_nothing_is_given_up_with_the_part_kept() {
    let (bench, file) = bench_with_file().await;
    bench.fake.next(At::Data, Fault::CutAfter(300_000));
    bench.fake.always(At::Data, Fault::CutAfter(0));
    let set = bench.set(FILE).await.unwrap();
    let refused = bench.fetch(&set).await.0.unwrap_err();
    assert!(
        matches!(refused, HubError::BrokenOff { done, total, .. } if done.0 >= 200_000 && total.0 == SIZE),
        "{refused:?}"
    );
    assert!(refused.is_passing());
    let kept = bench.kept(file.sha256()).await;
    assert!(kept >= 200_000);

    bench.fake.heal();
    let (paths, traffic) = done(bench.fetch(&set).await.0);
    assert_published(&bench, &file, &paths);
    assert_eq!((traffic.kept.0, traffic.received.0), (kept, SIZE - kept));
}

#[tokio::test]
async fn silence_is_noticed_and_only_the_rest_is_asked_for() {
    let (bench, file) = bench_with_file().await;
    bench.fake.next(At::Data, Fault::StallAfter(SIZE - 10_000));
    bench.fake.next(At::Data, Fault::NoAnswer);
    let set = bench.set(FILE).await.unwrap();
    let mut config = bench.config();
    config.patience.stall = Duration::from_millis(300);
    let fetched = Hub::new(config)
        .fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
        .await;
    let (paths, traffic) = done(fetched);
    assert_published(&bench, &file, &paths);
    assert_eq!((traffic.received.0, traffic.fresh_starts), (SIZE, 0));
    assert!(traffic.connections >= 3, "{traffic:?}");
}

#[tokio::test]
async fn a_server_without_ranges_gives_one_clean_file() {
    let (bench, file) = bench_with_file().await;
    bench.fake.next(At::Data, Fault::CutAfter(400_000));
    bench.fake.next(At::Data, Fault::IgnoreRange);
    let set = bench.set(FILE).await.unwrap();
    let (fetched, watch) = bench.fetch(&set).await;
    let (paths, traffic) = done(fetched);
    assert_published(&bench, &file, &paths);
    assert_eq!(
        (traffic.connections, traffic.fresh_starts),
        (2, 1),
        "the 200 is used, not asked for again"
    );
    let told = Note::StartedOver {
        file: FILE.into(),
        why: FreshStart::NoRanges,
    };
    assert!(watch.notes.lock().unwrap().contains(&told));
}

#[tokio::test]
async fn a_server_without_ranges_on_a_bad_line_is_given_up() {
    let (bench, _) = bench_with_file().await;
    let set = bench.set(FILE).await.unwrap();
    // Every answer is the whole file from its first byte, and every one breaks off before its end.
    bench
        .fake
        .always(At::Data, Fault::IgnoreRangeAndCutAfter(500_000));
    let refused = bench.fetch(&set).await.0.unwrap_err();
    assert!(matches!(refused, HubError::BrokenOff { .. }), "{refused:?}");
    let connections = bench.fake.seen_at(At::Data).len();
    assert!(connections <= 6, "it went on for {connections} connections");
}

#[tokio::test]
async fn a_refused_range_leads_to_a_clean_start() {
    let (bench, file) = bench_with_file().await;
    bench.fake.next(At::Data, Fault::CutAfter(400_000));
    bench.fake.next(At::Data, Fault::RangeRefused);
    let set = bench.set(FILE).await.unwrap();
    let (paths, traffic) = done(bench.fetch(&set).await.0);
    assert_published(&bench, &file, &paths);
    assert_eq!(traffic.fresh_starts, 1);
}

#[tokio::test]
async fn another_file_behind_the_same_address_never_mixes() {
    let (bench, file) = bench_with_file().await;
    bench.fake.next(At::Data, Fault::CutAfter(400_000));
    // If-Range does not hold for this one, so the whole of the other file comes: hashed, found wrong, begun again.
    bench.fake.next(At::Data, Fault::OtherFile);
    let set = bench.set(FILE).await.unwrap();
    let (fetched, watch) = bench.fetch(&set).await;
    let (paths, _) = done(fetched);
    assert_published(&bench, &file, &paths);
    let notes = watch.notes.lock().unwrap().clone();
    for why in [FreshStart::Changed, FreshStart::HashMismatch] {
        assert!(
            notes.contains(&Note::StartedOver {
                file: FILE.into(),
                why
            }),
            "{notes:?}"
        );
    }
}

#[tokio::test]
async fn a_wrong_byte_is_found_and_nothing_usable_is_left() {
    let (bench, file) = bench_with_file().await;
    bench.fake.always(At::Data, Fault::WrongByteAt(SIZE / 2));
    let set = bench.set(FILE).await.unwrap();
    let refused = bench.fetch(&set).await.0.unwrap_err();
    assert!(
        matches!(&refused, HubError::HashMismatch { expected, .. } if expected == file.sha256()),
        "{refused:?}"
    );
    assert!(!bench.part(file.sha256()).exists() && !bench.blob(file.sha256()).exists());
    assert!(!bench.folder().join("snapshots").exists(), "no pointer was made");

    bench.fake.heal();
    let (paths, _) = done(bench.fetch(&set).await.0);
    assert_published(&bench, &file, &paths);
}

#[tokio::test]
async fn wrong_bytes_of_an_earlier_run_are_repaired_by_themselves() {
    let (bench, file) = bench_with_file().await;
    let set = bench.set(FILE).await.unwrap();
    std::fs::create_dir_all(bench.folder().join("blobs")).unwrap();
    plimsoll_os::files::replace(&bench.older_part(file.sha256()), &noise(300_000, 99)).unwrap();
    let (fetched, watch) = bench.fetch(&set).await;
    let (paths, traffic) = done(fetched);
    assert_published(&bench, &file, &paths);
    assert_eq!(
        (traffic.fresh_starts, traffic.received.0),
        (1, SIZE - 300_000 + SIZE)
    );
    watch.strict.assert_finished();
}

#[tokio::test]
async fn a_part_longer_than_the_file_is_not_trusted() {
    let (bench, file) = bench_with_file().await;
    let set = bench.set(FILE).await.unwrap();
    std::fs::create_dir_all(bench.folder().join("blobs")).unwrap();
    let long = noise(usize::try_from(SIZE).unwrap() + 5, 3);
    plimsoll_os::files::replace(&bench.older_part(file.sha256()), &long).unwrap();
    let (paths, _) = done(bench.fetch(&set).await.0);
    assert_published(&bench, &file, &paths);
}

#[tokio::test]
async fn a_file_replaced_between_question_and_answer_is_fetched_as_it_is_now() {
    let (bench, old) = bench_with_file().await;
    let set = bench.set(FILE).await.unwrap();
    bench.fake.next(At::Resolve, Fault::OtherEtag);
    let new = FakeFile::lfs(noise(50_000, 2));
    let _ = bench.fake.commit(REPO, &[(FILE, new.clone())]);
    let (fetched, watch) = bench.fetch(&set).await;
    let (paths, _) = done(fetched);
    assert_published(&bench, &new, &paths);
    assert!(!bench.blob(old.sha256()).exists());
    watch.strict.assert_finished();
    let told = Note::StartedOver {
        file: FILE.into(),
        why: FreshStart::Changed,
    };
    assert!(watch.notes.lock().unwrap().contains(&told));
}

#[tokio::test]
async fn a_pinned_file_comes_from_its_commit_whatever_was_uploaded_since() {
    let bench = Bench::new().await;
    let old = FakeFile::lfs(noise(30_000, 1));
    let commit = bench.fake.commit(REPO, &[(FILE, old.clone())]);
    let new = FakeFile::lfs(noise(30_000, 2));
    let _ = bench.fake.commit(REPO, &[(FILE, new.clone())]);
    let pin = Pin {
        bytes: Some(Bytes(30_000)),
        sha256: Some(old.sha256().to_owned()),
    };
    let pinned = Wanted {
        address: format!("{REPO}/{FILE}@{commit}").parse().unwrap(),
        pin: Some(pin.clone()),
    };
    let set = bench.hub().file_set_of(&[pinned]).await.unwrap();
    assert!(bench.fake.seen().is_empty(), "everything about it is known");
    let (paths, _) = done(bench.fetch(&set).await.0);
    assert_published(&bench, &old, &paths);

    let floating = Wanted {
        address: format!("{REPO}/{FILE}").parse().unwrap(),
        pin: Some(pin),
    };
    let refused = bench.hub().file_set_of(&[floating]).await.unwrap_err();
    assert!(
        matches!(&refused, HubError::Changed { expected, found, .. } if expected == old.sha256() && found == new.sha256()),
        "{refused:?}"
    );
}

#[tokio::test]
async fn the_hub_is_asked_about_every_pinned_file_before_the_first_byte() {
    let bench = Bench::new().await;
    let files = [FakeFile::lfs(noise(30_000, 1)), FakeFile::lfs(noise(40_000, 2))];
    let commit = bench.fake.commit(
        REPO,
        &[("a.gguf", files[0].clone()), ("b.gguf", files[1].clone())],
    );
    let pinned = |path: &str, revision: &str, bytes: u64, sha256: &str| Wanted {
        address: format!("{REPO}/{path}@{revision}").parse().unwrap(),
        pin: Some(Pin {
            bytes: Some(Bytes(bytes)),
            sha256: Some(sha256.to_owned()),
        }),
    };
    let first = pinned("a.gguf", &commit, 30_000, files[0].sha256());
    let right = pinned("b.gguf", &commit, 40_000, files[1].sha256());
    let other_bytes = pinned("b.gguf", &commit, 40_000, files[0].sha256());
    let other_size = pinned("b.gguf", &commit, 40_001, files[1].sha256());
    let gone = pinned("b.gguf", &"0".repeat(40), 40_000, files[1].sha256());
    for second in [other_bytes, other_size, gone.clone()] {
        let set = bench
            .hub()
            .file_set_of(&[first.clone(), second.clone()])
            .await
            .unwrap();
        let refused = bench.fetch(&set).await.0.unwrap_err();
        let told = if second == gone {
            matches!(
                refused,
                HubError::NotFound {
                    what: Absent::Revision,
                    ..
                }
            )
        } else {
            matches!(&refused, HubError::Changed { file, .. } if file == "b.gguf")
        };
        assert!(told, "{refused:?}");
        assert_eq!(bench.fake.sent(), 0, "not even of the file that is right");
        assert!(!bench.folder().join("snapshots").exists());
    }

    let set = bench.hub().file_set_of(&[first, right]).await.unwrap();
    done(bench.fetch(&set).await.0);
    let asked = bench.fake.seen_at(At::Head).len();
    done(bench.fetch(&set).await.0);
    assert_eq!(
        bench.fake.seen_at(At::Head).len(),
        asked,
        "what is here needs no question"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn repairing_writes_nothing_into_what_other_tools_share() {
    let (bench, file) = bench_with_file().await;
    let set = bench.set(FILE).await.unwrap();
    done(bench.fetch(&set).await.0);
    // As the hub's own client keeps a content that several repositories have.
    let store = bench.cache.path().join("shared");
    let rotten = noise(usize::try_from(SIZE).unwrap(), 9);
    plimsoll_os::files::replace(&store, &rotten).unwrap();
    plimsoll_os::files::symlink(&store, &bench.blob(file.sha256())).unwrap();
    let never = CancellationToken::new();
    let (paths, _) = done(bench.hub().repair(&set, Arc::new(Unwatched), &never).await);
    assert_published(&bench, &file, &paths);
    assert!(std::fs::read(&store).unwrap() == rotten);
    assert!(!bench.blob(file.sha256()).is_symlink());
}

#[tokio::test]
async fn a_stopped_transfer_keeps_what_it_has_and_goes_on_later() {
    let (bench, file) = bench_with_file().await;
    bench.fake.pace(Some((32 << 10, Duration::from_millis(5))));
    let set = bench.set(FILE).await.unwrap();
    let stop = CancellationToken::new();
    let watch = Arc::new(Watch {
        stop_at: Some((Bytes(200_000), stop.clone())),
        ..Watch::default()
    });
    let stopped = bench.hub().fetch(&set, watch, &stop).await.unwrap();
    assert!(matches!(stopped, Fetched::Stopped { .. }), "{stopped:?}");
    let kept = bench.kept(file.sha256()).await;
    assert!((200_000..SIZE).contains(&kept), "{kept}");

    bench.fake.pace(None);
    let (paths, traffic) = done(bench.fetch(&set).await.0);
    assert_published(&bench, &file, &paths);
    assert_eq!((traffic.kept.0, traffic.received.0), (kept, SIZE - kept));
}

#[tokio::test]
async fn two_at_once_fetch_one_file_once() {
    let (bench, file) = bench_with_file().await;
    bench.fake.pace(Some((64 << 10, Duration::from_millis(5))));
    let set = bench.set(FILE).await.unwrap();
    let ((first, _), (second, _)) = tokio::join!(bench.fetch(&set), bench.fetch(&set));
    let (paths, one) = done(first);
    let (_, two) = done(second);
    assert_published(&bench, &file, &paths);
    assert_eq!(one.received.0 + two.received.0, SIZE);
}

#[tokio::test]
async fn a_small_file_in_git_is_taken_by_its_size() {
    let bench = Bench::new().await;
    let readme = FakeFile::plain("# A model\n");
    let _ = bench.fake.commit(REPO, &[("README.md", readme.clone())]);
    let set = bench.set("README.md").await.unwrap();
    assert_eq!(set.files[0].sha256(), None);
    let (paths, _) = done(bench.fetch(&set).await.0);
    assert_eq!(std::fs::read_to_string(&paths[0]).unwrap(), "# A model\n");
    assert_eq!(bench.blob(readme.etag()).file_name().unwrap(), readme.etag());
}

#[tokio::test]
async fn an_archive_elsewhere_is_brought_resumed_and_checked() {
    let bench = Bench::new().await;
    let bytes = noise(600_000, 5);
    let file = FakeFile::lfs(bytes.clone());
    let url = bench.fake.release("download/b1/engine.tar.gz", bytes);
    let to = bench.cache.path().join("engines").join("engine.tar.gz");
    let mut config = bench.config();
    config.token = Token::new("hf_secret");
    let hub = Hub::new(config);
    let archive = Archive {
        url,
        bytes: Bytes(600_000),
        sha256: file.sha256().to_owned(),
    };
    let never = CancellationToken::new();
    let fetch = || hub.fetch_url(&archive, &to, Arc::new(Unwatched), &never);

    bench.fake.always(At::Data, Fault::CutAfter(0));
    bench.fake.next(At::Data, Fault::CutAfter(300_000));
    assert!(matches!(fetch().await, Err(HubError::BrokenOff { .. })));
    bench.fake.heal();
    let (paths, traffic) = done(fetch().await);
    assert_eq!(paths, [to.as_path()]);
    assert!(traffic.kept.0 >= 200_000, "{traffic:?}");
    assert_eq!(std::fs::read(&to).unwrap().len(), 600_000);

    let again = done(fetch().await).1;
    assert_eq!(again.received, Bytes::ZERO, "a finished one is only checked");

    plimsoll_os::files::replace(&to, b"half an engine").unwrap();
    let (_, repaired) = done(fetch().await);
    assert_eq!(
        repaired.fresh_starts, 1,
        "what lies there is checked, not believed"
    );

    let pinned_wrong = Archive {
        sha256: "0".repeat(64),
        ..archive.clone()
    };
    let elsewhere = bench.cache.path().join("engines").join("other.tar.gz");
    let refused = hub
        .fetch_url(
            &pinned_wrong,
            &elsewhere,
            Arc::new(Unwatched),
            &CancellationToken::new(),
        )
        .await;
    assert!(matches!(refused, Err(HubError::HashMismatch { .. })));
    assert!(!elsewhere.exists());
}

#[tokio::test]
async fn repairing_brings_only_the_file_whose_bytes_are_wrong() {
    let bench = Bench::new().await;
    let names = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"];
    let files = [FakeFile::lfs(noise(40_000, 1)), FakeFile::lfs(noise(50_000, 2))];
    let _ = bench.fake.commit(
        REPO,
        &[(names[0], files[0].clone()), (names[1], files[1].clone())],
    );
    let set = bench.set(names[0]).await.unwrap();
    done(bench.fetch(&set).await.0);

    // The bytes have a second name outside, as an imported file has, and then they rot.
    let outside = bench.cache.path().join("a person's own.gguf");
    let rotten = bench.blob(files[1].sha256());
    plimsoll_os::files::replace(&rotten, &noise(50_000, 3)).unwrap();
    plimsoll_os::files::link_or_copy(&rotten, &outside).unwrap();
    let watch = Arc::new(Watch::default());
    let never = CancellationToken::new();
    let (paths, traffic) = done(bench.hub().repair(&set, watch.clone(), &never).await);
    assert_eq!(traffic.received, Bytes(50_000));
    assert_eq!(std::fs::read(&paths[1]).unwrap(), noise(50_000, 2));
    assert_eq!(
        std::fs::read(&outside).unwrap(),
        noise(50_000, 3),
        "what is not ours is not written to"
    );
    watch.strict.assert_finished();

    let (_, again) = done(bench.hub().repair(&set, Arc::new(Unwatched), &never).await);
    assert_eq!(again.received, Bytes::ZERO);
}
