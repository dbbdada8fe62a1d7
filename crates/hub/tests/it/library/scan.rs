use plimsoll_hub::{FoundState, HubError, Library, OddReason, RepoId};
use plimsoll_os::files;
use plimsoll_testkit::TinyGguf;
use plimsoll_testkit::hub::{FakeFile, FakeHub};
use plimsoll_units::Bytes;

use super::{Shelf, commit_of, write};
use crate::support::{Bench, REPO, done};

#[tokio::test]
async fn an_unused_cache_is_an_empty_library() {
    let shelf = Shelf::new();
    let scan = Library::new(shelf.cache.path().join("not there"))
        .scan()
        .await
        .unwrap();
    assert!(scan.models.is_empty() && scan.odd.is_empty());
}

#[tokio::test]
async fn what_was_fetched_is_found_under_its_own_name() {
    let bench = Bench::new().await;
    let file = FakeFile::lfs(TinyGguf::llama().bytes());
    let _ = bench.fake.commit(REPO, &[("q/Tiny-F32.gguf", file.clone())]);
    let set = bench.set("q/Tiny-F32.gguf").await.unwrap();
    done(bench.fetch(&set).await.0);
    let library = Library::new(bench.cache.path().to_owned());
    let found = library.find("org/model-GGUF/q/Tiny-F32.gguf").await.unwrap();
    assert_eq!(
        (found.state, found.bytes, commit_of(&found)),
        (FoundState::Ready, Bytes(file.len()), set.files[0].commit.as_str())
    );
    assert_eq!(
        found.files[0].etag.as_ref().unwrap().sha256(),
        Some(file.sha256())
    );
}

#[tokio::test]
async fn a_missing_part_is_named_and_the_model_not_usable() {
    let bench = Bench::new().await;
    let splits = TinyGguf::llama().splits("Tiny", 3);
    let files: Vec<(&str, FakeFile)> = splits
        .iter()
        .map(|(name, bytes)| (name.as_str(), FakeFile::lfs(bytes.clone())))
        .collect();
    let _ = bench.fake.commit(REPO, &files);
    let set = bench.set(&splits[0].0).await.unwrap();
    done(bench.fetch(&set).await.0);
    let library = Library::new(bench.cache.path().to_owned());
    files::remove_file(&bench.blob(files[2].1.sha256())).unwrap();
    let found = library.scan().await.unwrap().models.remove(0);
    assert_eq!(
        (found.state, found.missing.as_slice()),
        (FoundState::Incomplete, [splits[2].0.clone()].as_slice())
    );
    assert_eq!(found.first(), None);

    let (_, traffic) = done(bench.fetch(&set).await.0);
    assert_eq!(traffic.received, Bytes(files[2].1.len()), "only what was missing");
    assert_eq!(
        library.scan().await.unwrap().models.remove(0).state,
        FoundState::Ready
    );
}

#[tokio::test]
async fn projectors_belong_to_the_models_beside_them() {
    let shelf = Shelf::new();
    let snapshot = shelf
        .cache
        .path()
        .join("models--org--vision/snapshots")
        .join("a".repeat(40));
    let tiny = TinyGguf::llama().bytes();
    for name in [
        "model-Q4.gguf",
        "mmproj-model-f16.gguf",
        "imatrix.gguf",
        "notes.txt",
        ".plimsoll-1-1.new.gguf",
    ] {
        write(&snapshot.join(name), &tiny);
    }
    let models = shelf.library().scan().await.unwrap().models;
    assert_eq!(models.len(), 1, "{models:?}");
    assert_eq!(models[0].path, "model-Q4.gguf");
    assert_eq!(
        models[0]
            .projectors
            .iter()
            .map(|file| file.path.as_str())
            .collect::<Vec<_>>(),
        ["mmproj-model-f16.gguf"]
    );
}

#[cfg(unix)]
#[tokio::test]
async fn odd_entries_are_told_and_stop_nothing() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let shelf = Shelf::new();
    let good = shelf
        .import(&shelf.file("good.gguf", &TinyGguf::llama().bytes()))
        .await
        .unwrap();
    let cache = shelf.cache.path();
    write(&cache.join("models--a--b--c/snapshots/x/y.gguf"), b"x");
    write(&cache.join("datasets--a--b/snapshots/x/y.gguf"), b"x");
    write(&cache.join("models--plain-file"), b"x");
    let snapshot = cache.join("models--odd--one/snapshots").join("b".repeat(40));
    write(&snapshot.join(OsStr::from_bytes(b"bad-\xff.gguf")), b"x");
    write(&snapshot.join("nul.gguf"), b"x");
    // A circle, and a way out of the cache.
    std::os::unix::fs::symlink(&snapshot, snapshot.join("round")).unwrap();
    std::os::unix::fs::symlink(shelf.outside.path(), cache.join("models--odd--one/snapshots/out")).unwrap();
    let scan = shelf.library().scan().await.unwrap();
    assert_eq!(
        scan.models
            .iter()
            .map(|found| found.id.as_str())
            .collect::<Vec<_>>(),
        [good.id.as_str()]
    );
    let told = |wanted: fn(&OddReason) -> bool| scan.odd.iter().any(|odd| wanted(&odd.why));
    assert!(
        told(|why| matches!(why, OddReason::NoRepository)),
        "{:?}",
        scan.odd
    );
    assert!(told(|why| matches!(why, OddReason::NotUnicode)), "{:?}", scan.odd);
    assert!(told(|why| matches!(why, OddReason::Name(_))), "{:?}", scan.odd);
}

#[tokio::test]
async fn a_begun_download_is_known_by_its_content() {
    let shelf = Shelf::new();
    let repo: RepoId = REPO.parse().unwrap();
    let sha256 = "d".repeat(64);
    assert_eq!(shelf.library().begun(&repo, &sha256), None);
    write(
        &shelf
            .cache
            .path()
            .join(repo.folder())
            .join("blobs")
            .join(format!("{sha256}.incomplete")),
        b"12345",
    );
    assert!(
        shelf
            .library()
            .begun(&repo, &sha256)
            .is_some_and(|taken| taken >= Bytes(5))
    );
}

#[tokio::test]
async fn names_from_the_hub_that_are_not_safe_are_refused() {
    let fake = FakeHub::start().await;
    let cache = tempfile::tempdir().unwrap();
    let hub = plimsoll_hub::Hub::new(crate::support::config(&fake.endpoint(), cache.path()));
    for path in [
        "../../../etc/passwd",
        "/etc/passwd",
        "a/../../b.gguf",
        "nul.gguf",
        "a\\b.gguf",
        "C:x.gguf",
    ] {
        let address = plimsoll_hub::Address {
            repo: REPO.parse().unwrap(),
            path: path.into(),
            revision: "main".into(),
        };
        let refused = hub.file_set(&address).await.unwrap_err();
        assert!(matches!(refused, HubError::UnsafeName(_)), "{path}: {refused:?}");
    }
    assert!(fake.seen().is_empty(), "nobody was asked");
}
