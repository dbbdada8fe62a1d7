use plimsoll_hub::{HubError, Library};
use plimsoll_os::files;
use plimsoll_testkit::TinyGguf;
use plimsoll_testkit::hub::FakeFile;
use plimsoll_units::Bytes;

use super::Shelf;
use crate::support::{Bench, REPO, done};

#[tokio::test]
async fn removing_gives_the_space_back_and_leaves_nothing_behind() {
    let bench = Bench::new().await;
    let file = FakeFile::lfs(TinyGguf::llama().bytes());
    let _ = bench.fake.commit(REPO, &[("a.gguf", file.clone())]);
    done(bench.fetch(&bench.set("a.gguf").await.unwrap()).await.0);
    // The same content in a later commit: two snapshots, one blob.
    let _ = bench.fake.commit(REPO, &[("README.md", FakeFile::plain("x"))]);
    done(bench.fetch(&bench.set("a.gguf").await.unwrap()).await.0);
    let library = Library::new(bench.cache.path().to_owned());
    let found = library.find("org/model-GGUF/a.gguf").await.unwrap();
    assert_eq!(library.remove(&found).await.unwrap(), Bytes(file.len()));
    assert!(!bench.folder().exists(), "the whole repository is gone");
    assert!(matches!(
        library.remove(&found).await,
        Err(HubError::NotInLibrary { .. })
    ));
}

#[tokio::test]
async fn removing_one_model_leaves_its_neighbours_alone() {
    let bench = Bench::new().await;
    let shared = FakeFile::lfs(TinyGguf::llama().bytes());
    let own = FakeFile::lfs(TinyGguf::llama().named("Other").bytes());
    let projector = FakeFile::lfs(TinyGguf::llama().named("Projector").bytes());
    let _ = bench.fake.commit(
        REPO,
        &[
            ("a.gguf", shared.clone()),
            ("same.gguf", shared.clone()),
            ("b.gguf", own.clone()),
            ("mmproj.gguf", projector.clone()),
        ],
    );
    for path in ["a.gguf", "same.gguf", "b.gguf", "mmproj.gguf"] {
        done(bench.fetch(&bench.set(path).await.unwrap()).await.0);
    }
    let library = Library::new(bench.cache.path().to_owned());
    let remove = async |name: &str| {
        let found = library.find(&format!("{REPO}/{name}")).await.unwrap();
        library.remove(&found).await.unwrap()
    };
    assert_eq!(
        remove("a.gguf").await,
        Bytes::ZERO,
        "another model uses the same bytes"
    );
    assert!(bench.blob(shared.sha256()).is_file());
    assert_eq!(remove("b.gguf").await, Bytes(own.len()));
    assert!(
        bench.blob(projector.sha256()).is_file(),
        "a model that may need it is left"
    );
    assert_eq!(
        remove("same.gguf").await,
        Bytes(shared.len() + projector.len()),
        "the last one takes the projector along"
    );
    assert!(!bench.folder().exists());
}

#[tokio::test]
async fn removing_an_import_leaves_the_persons_own_file() {
    let shelf = Shelf::new();
    let path = shelf.file("model.gguf", &TinyGguf::llama().bytes());
    let found = shelf.import(&path).await.unwrap();
    assert_eq!(
        shelf.library().remove(&found).await.unwrap(),
        Bytes::ZERO,
        "the bytes have their old name still"
    );
    assert!(path.is_file());
    assert_eq!(shelf.tree(), Vec::<String>::new());
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_outside_the_cache_is_ever_removed() {
    let shelf = Shelf::new();
    let outside = shelf.file("precious.gguf", &TinyGguf::llama().bytes());
    // Somebody linked a file from elsewhere into a snapshot.
    let snapshot = shelf
        .cache
        .path()
        .join("models--org--linked/snapshots")
        .join("a".repeat(40));
    files::create_dir(&snapshot).unwrap();
    std::os::unix::fs::symlink(&outside, snapshot.join("m.gguf")).unwrap();
    let found = shelf.library().find("org/linked/m.gguf").await.unwrap();
    assert_eq!(shelf.library().remove(&found).await.unwrap(), Bytes::ZERO);
    assert!(outside.is_file() && !snapshot.exists());

    // A whole repository that lies elsewhere is used, but not taken apart.
    let other = Shelf::new();
    let kept = other
        .import(&other.file("model.gguf", &TinyGguf::llama().bytes()))
        .await
        .unwrap();
    let elsewhere = other.cache.path().join("models--local--model");
    std::os::unix::fs::symlink(&elsewhere, shelf.cache.path().join("models--local--model")).unwrap();
    let found = shelf.library().find(&kept.id).await.unwrap();
    let refused = shelf.library().remove(&found).await.unwrap_err();
    assert!(matches!(refused, HubError::OutsideLibrary { .. }), "{refused:?}");
    assert!(kept.first().unwrap().is_file());
}
