//! Several ranges at a time: every fault in turn, and what may not be seen of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_hub::{FreshStart, HubConfig, HubError, Note, Unwatched};
use plimsoll_testkit::hub::{At, FakeFile, Fault, Weather};
use plimsoll_units::Bytes;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, FILE, REPO, SMALL_LANES, Watch, done, noise};

const SIZE: u64 = 4 << 20;

/// A connection that gave half of its range away may have read once beyond its new end.
fn assert_hardly_more(received: Bytes, size: u64) {
    const READ: u64 = 512 << 10;
    let most = size + READ * SMALL_LANES.most as u64;
    assert!((size..=most).contains(&received.0), "{received} for {size} bytes");
}

async fn bench() -> (Bench, Vec<u8>, FakeFile) {
    let bench = Bench::new().await;
    let content = noise(usize::try_from(SIZE).unwrap(), 1);
    let file = FakeFile::lfs(content.clone());
    let _ = bench.fake.commit(REPO, &[(FILE, file.clone())]);
    (bench, content, file)
}

fn small(bench: &Bench) -> HubConfig {
    let mut config = bench.config();
    config.lanes = SMALL_LANES;
    config.patience.stall = Duration::from_millis(600);
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_come_side_by_side_and_no_byte_twice() {
    let (bench, content, _) = bench().await;
    bench.fake.weather(Weather {
        each: Some(4 << 20),
        ..Weather::default()
    });
    let set = bench.set(FILE).await.unwrap();
    let watch = Arc::new(Watch::default());
    let began = Instant::now();
    let fetched = bench
        .hub_with(small(&bench))
        .fetch(&set, watch.clone(), &CancellationToken::new())
        .await;
    let took = began.elapsed();
    let (paths, traffic) = done(fetched);
    assert!(std::fs::read(&paths[0]).unwrap() == content);
    watch.strict.assert_finished();
    assert_hardly_more(traffic.received, SIZE);
    assert_eq!(traffic.fresh_starts, 0);
    assert!(bench.fake.busiest() >= 3, "{} at once", bench.fake.busiest());
    assert!(
        took < Duration::from_millis(900),
        "one after the other takes a second: {took:?}"
    );
    assert_eq!(
        bench.fake.seen_at(At::Resolve).len(),
        1,
        "one link serves all ranges"
    );
    let bound = bench
        .fake
        .seen_at(At::Data)
        .iter()
        .filter(|seen| seen.if_range.is_some())
        .count();
    assert!(
        bound + 1 >= bench.fake.seen_at(At::Data).len(),
        "every range is bound to the same content"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_in_turn_ends_in_the_right_file() {
    let faults = [
        Fault::CutAfter(0),
        Fault::CutAfter(100_000),
        Fault::StallAfter(50_000),
        Fault::NoAnswer,
        Fault::IgnoreRange,
        Fault::IgnoreRangeAndCutAfter(300_000),
        Fault::RangeRefused,
        Fault::TooMany(None),
        Fault::TooMany(Some(1)),
        Fault::Status(500),
        Fault::Status(503),
        Fault::Status(403),
        Fault::Status(404),
        Fault::WrongByteAt(SIZE / 2),
        Fault::OtherFile,
        Fault::OtherEtag,
    ];
    for fault in faults {
        for healthy_before in [0, 3] {
            let (bench, content, file) = bench().await;
            for _ in 0..healthy_before {
                bench.fake.next(At::Data, Fault::None);
            }
            bench.fake.next(At::Data, fault);
            let set = bench.set(FILE).await.unwrap();
            let watch = Arc::new(Watch::default());
            let hub = bench.hub_with(small(&bench));
            let fetched = hub.fetch(&set, watch.clone(), &CancellationToken::new()).await;
            let (paths, traffic) = done(fetched);
            assert!(
                std::fs::read(&paths[0]).unwrap() == content && bench.blob(file.sha256()).is_file(),
                "{fault:?} after {healthy_before}"
            );
            assert!(!bench.part(file.sha256()).exists());
            watch.strict.assert_finished();
            assert!(
                traffic.fresh_starts <= 2,
                "{fault:?} after {healthy_before}: {traffic:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_ends_in_the_middle_is_asked_for_again_once() {
    let (bench, content, _) = bench().await;
    bench.fake.weather(Weather {
        each: Some(8 << 20),
        ..Weather::default()
    });
    let set = bench.set(FILE).await.unwrap();
    let hub = bench.hub_with(small(&bench));
    let stop = CancellationToken::new();
    let fetching = hub.fetch(&set, Arc::new(Unwatched), &stop);
    let expiring = async {
        while bench.fake.sent() < SIZE / 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        bench.fake.expire_links();
    };
    let (fetched, ()) = tokio::join!(fetching, expiring);
    let (paths, traffic) = done(fetched);
    assert!(std::fs::read(&paths[0]).unwrap() == content);
    assert_hardly_more(traffic.received, SIZE);
    assert_eq!(bench.fake.seen_at(At::Resolve).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_range_that_stalls_is_taken_over_alone() {
    let (bench, content, _) = bench().await;
    // The range with the file's last byte brings a little and then nothing.
    bench.fake.at_byte(SIZE - 1, Fault::StallAfter(20_000));
    let set = bench.set(FILE).await.unwrap();
    let mut config = small(&bench);
    config.patience.stall = Duration::from_secs(6);
    let began = Instant::now();
    let hub = bench.hub_with(config);
    let (paths, traffic) = done(
        hub.fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
            .await,
    );
    assert!(std::fs::read(&paths[0]).unwrap() == content);
    // Only the rest of the range came again.
    assert_hardly_more(traffic.received, SIZE);
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "it did not wait for the whole time-out"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn several_files_share_the_connections_and_one_bar() {
    let bench = Bench::new().await;
    let contents: Vec<Vec<u8>> = (0..6).map(|n| noise(300_000 + n * 50_000, n as u64)).collect();
    let names: Vec<String> = (1..=6).map(|n| format!("m-{n:05}-of-00006.gguf")).collect();
    let files: Vec<(&str, FakeFile)> = names
        .iter()
        .map(String::as_str)
        .zip(contents.iter().cloned().map(FakeFile::xet))
        .collect();
    let _ = bench.fake.commit(REPO, &files);
    bench.fake.weather(Weather {
        each: Some(2 << 20),
        ..Weather::default()
    });
    let set = bench.set(&names[3]).await.unwrap();
    let watch = Arc::new(Watch::default());
    let (paths, traffic) = done(
        bench
            .hub_with(small(&bench))
            .fetch(&set, watch.clone(), &CancellationToken::new())
            .await,
    );
    for (path, content) in paths.iter().zip(&contents) {
        assert!(std::fs::read(path).unwrap() == *content, "{}", path.display());
    }
    watch.strict.assert_finished();
    assert_hardly_more(traffic.received, set.bytes().0);
    assert!(bench.fake.busiest() >= 3);
    let told = watch.files.lock().unwrap();
    assert_eq!(told.len(), 6, "every file was told of: {told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_objects_gets_fewer_connections() {
    let (bench, content, _) = bench().await;
    bench.fake.next(At::Data, Fault::None);
    for _ in 0..3 {
        bench.fake.next(At::Data, Fault::TooMany(Some(1)));
    }
    let set = bench.set(FILE).await.unwrap();
    let watch = Arc::new(Watch::default());
    let began = Instant::now();
    let (paths, _) = done(
        bench
            .hub_with(small(&bench))
            .fetch(&set, watch.clone(), &CancellationToken::new())
            .await,
    );
    assert!(std::fs::read(&paths[0]).unwrap() == content);
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "it came back too early"
    );
    assert_hardly_more(Bytes(bench.fake.sent()), SIZE);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_bad_stretch_of_a_file_is_fetched_again() {
    let bench = Bench::new().await;
    // Larger than the distance of two marks.
    let content = noise((64 << 20) + 3_000_000, 5);
    let file = FakeFile::lfs(content.clone());
    let _ = bench.fake.commit(REPO, &[(FILE, file.clone())]);
    let set = bench.set(FILE).await.unwrap();
    let hub = bench.hub();
    done(
        hub.fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
            .await,
    );

    let mut rotten = content.clone();
    rotten[(64 << 20) + 1_000_000] ^= 1;
    plimsoll_os::files::replace(&bench.blob(file.sha256()), &rotten).unwrap();
    let before = bench.fake.sent();
    let (paths, traffic) = done(
        hub.repair(&set, Arc::new(Unwatched), &CancellationToken::new())
            .await,
    );
    assert!(std::fs::read(&paths[0]).unwrap() == content);
    assert_eq!(
        (traffic.received, bench.fake.sent() - before),
        (Bytes(3_000_000), 3_000_000)
    );
    let (_, again) = done(
        hub.repair(&set, Arc::new(Unwatched), &CancellationToken::new())
            .await,
    );
    assert_eq!(again.received, Bytes::ZERO);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_begun_can_be_thrown_away() {
    let (bench, content, file) = bench().await;
    bench.fake.weather(Weather {
        each: Some(1 << 20),
        ..Weather::default()
    });
    let set = bench.set(FILE).await.unwrap();
    let stop = CancellationToken::new();
    let watch = Arc::new(Watch {
        stop_at: Some((Bytes(SIZE / 4), stop.clone())),
        ..Watch::default()
    });
    let hub = bench.hub_with(small(&bench));
    hub.fetch(&set, watch, &stop).await.unwrap();
    assert!(
        bench.kept(file.sha256()).await >= SIZE / 4,
        "a stop keeps what came"
    );
    assert!(hub.discard(&set).await.unwrap() >= Bytes(SIZE / 4));
    assert!(!bench.part(file.sha256()).exists());
    assert_eq!(bench.kept(file.sha256()).await, 0);
    bench.fake.weather(Weather::default());
    let (paths, traffic) = done(
        hub.fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
            .await,
    );
    assert!(std::fs::read(&paths[0]).unwrap() == content);
    assert_eq!(traffic.kept, Bytes::ZERO);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_whose_ledger_is_gone_is_not_believed() {
    let (bench, content, file) = bench().await;
    let set = bench.set(FILE).await.unwrap();
    std::fs::create_dir_all(bench.folder().join("blobs")).unwrap();
    // As long as the file, and full of nothing.
    plimsoll_os::files::replace(
        &bench.part(file.sha256()),
        &vec![0; usize::try_from(SIZE).unwrap()],
    )
    .unwrap();
    let watch = Arc::new(Watch::default());
    let (paths, traffic) = done(
        bench
            .hub_with(small(&bench))
            .fetch(&set, watch.clone(), &CancellationToken::new())
            .await,
    );
    assert!(std::fs::read(&paths[0]).unwrap() == content);
    assert_eq!(traffic.kept, Bytes::ZERO);
    assert_hardly_more(traffic.received, SIZE);
    let over = Note::StartedOver {
        file: FILE.into(),
        why: FreshStart::HashMismatch,
    };
    assert!(!watch.notes.lock().unwrap().contains(&over));
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_bytes_at_the_hub_are_told_and_leave_nothing() {
    let (bench, _, file) = bench().await;
    bench.fake.always(At::Data, Fault::WrongByteAt(SIZE / 2));
    let set = bench.set(FILE).await.unwrap();
    let refused = bench
        .hub_with(small(&bench))
        .fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
        .await;
    assert!(
        matches!(refused, Err(HubError::HashMismatch { .. })),
        "{refused:?}"
    );
    assert!(!bench.part(file.sha256()).exists() && !bench.blob(file.sha256()).exists());
    assert_eq!(bench.kept(file.sha256()).await, 0);
}
