use std::sync::Arc;

use plimsoll_gguf::HeaderError;
use plimsoll_hub::{Home, HubError, Imported, Library, Unwatched};
use plimsoll_os::files;
use plimsoll_testkit::TinyGguf;
use plimsoll_testkit::hub::FakeFile;
use plimsoll_units::Bytes;
use tokio_util::sync::CancellationToken;

use super::{Shelf, commit_of};
use crate::support::{Bench, REPO, Watch, done, noise};

#[tokio::test]
async fn a_local_file_is_taken_in_without_a_second_copy() {
    let shelf = Shelf::new();
    let tiny = TinyGguf::llama().bytes();
    let path = shelf.file("My Model größe.gguf", &tiny);
    let found = shelf.import(&path).await.unwrap();
    assert_eq!(found.id, "local/My-Model-gr-e/My Model größe.gguf");
    assert_eq!(std::fs::read(found.first().unwrap()).unwrap(), tiny);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (there, here) = (
            std::fs::metadata(&path).unwrap(),
            std::fs::metadata(found.first().unwrap()).unwrap(),
        );
        assert_eq!(there.ino(), here.ino(), "one file under two names");
    }
    let tree = shelf.tree();
    assert_eq!(
        shelf.import(&path).await.unwrap(),
        found,
        "taking it in again changes nothing"
    );
    assert_eq!(shelf.tree(), tree);
    assert_eq!(shelf.ids().await, [found.id.as_str()]);
}

#[tokio::test]
async fn a_known_content_goes_where_it_belongs() {
    let shelf = Shelf::new();
    let path = shelf.file("renamed by somebody.gguf", &TinyGguf::llama().bytes());
    let commit = "c".repeat(40);
    let home = Home {
        repo: REPO.parse().unwrap(),
        revision: commit.clone(),
        path: "Tiny-F32.gguf".into(),
    };
    let found = shelf
        .import_known(&path, move |_| Some(home.clone()))
        .await
        .unwrap();
    assert_eq!(
        (found.id.as_str(), commit_of(&found)),
        ("org/model-GGUF/Tiny-F32.gguf", commit.as_str())
    );
    assert!(
        !shelf.cache.path().join("models--org--model-GGUF/refs").exists(),
        "what main means, only the hub knows"
    );
}

#[tokio::test]
async fn an_imported_file_is_not_fetched_again() {
    let bench = Bench::new().await;
    let tiny = TinyGguf::llama().bytes();
    let file = FakeFile::lfs(tiny.clone());
    let _ = bench.fake.commit(REPO, &[("Tiny-F32.gguf", file)]);
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("x.gguf");
    files::replace(&path, &tiny).unwrap();
    let home = Home {
        repo: REPO.parse().unwrap(),
        revision: "main".into(),
        path: "Tiny-F32.gguf".into(),
    };
    let library = Library::new(bench.cache.path().to_owned());
    let known = move |_: &str| Some(home.clone());
    library
        .import(&path, known, Arc::new(Unwatched), &CancellationToken::new())
        .await
        .unwrap();
    let set = bench.set("Tiny-F32.gguf").await.unwrap();
    let (_, traffic) = done(bench.fetch(&set).await.0);
    assert_eq!(traffic.received, Bytes::ZERO);
    assert_eq!(
        library.scan().await.unwrap().models.len(),
        1,
        "one model, though two snapshots hold it"
    );
}

#[tokio::test]
async fn two_files_of_one_name_are_two_models() {
    let shelf = Shelf::new();
    let one = shelf
        .import(&shelf.file("a/model.gguf", &TinyGguf::llama().bytes()))
        .await
        .unwrap();
    let two = shelf
        .import(&shelf.file("b/model.gguf", &TinyGguf::llama().named("B").bytes()))
        .await
        .unwrap();
    assert_ne!(one.id, two.id);
    let mut ids = shelf.ids().await;
    ids.sort();
    let mut wanted = [one.id.clone(), two.id.clone()];
    wanted.sort();
    assert_eq!(ids, wanted);
    assert_ne!(
        std::fs::read(one.first().unwrap()).unwrap(),
        std::fs::read(two.first().unwrap()).unwrap()
    );
}

#[tokio::test]
async fn a_split_model_comes_in_whole_or_not_at_all() {
    let shelf = Shelf::new();
    let splits = TinyGguf::llama().splits("Tiny-F32", 3);
    for (name, bytes) in &splits {
        shelf.file(name, bytes);
    }
    let second = shelf.outside.path().join(&splits[1].0);
    let found = shelf.import(&second).await.unwrap();
    assert_eq!(
        (found.id.as_str(), found.files.len()),
        ("local/Tiny-F32/Tiny-F32-00001-of-00003.gguf", 3)
    );
    assert_eq!(found.first().unwrap().file_name().unwrap(), splits[0].0.as_str());

    let partial = Shelf::new();
    for (name, bytes) in splits.iter().take(2) {
        partial.file(name, bytes);
    }
    let refused = partial
        .import(&partial.outside.path().join(&splits[0].0))
        .await
        .unwrap_err();
    let HubError::Header {
        source: HeaderError::MissingParts { missing, .. },
        ..
    } = &refused
    else {
        panic!("{refused:?}")
    };
    assert_eq!(missing, &[splits[2].0.clone()]);
    assert_eq!(partial.tree(), Vec::<String>::new(), "nothing was placed");
}

#[tokio::test]
async fn what_is_no_model_is_refused_before_anything_is_placed() {
    let shelf = Shelf::new();
    let tiny = TinyGguf::llama().bytes();
    for (name, bytes) in [
        ("no.gguf", noise(5_000, 1)),
        ("empty.gguf", Vec::new()),
        ("cut.gguf", tiny[..tiny.len() - 50].to_vec()),
    ] {
        let refused = shelf.import(&shelf.file(name, &bytes)).await.unwrap_err();
        assert!(matches!(refused, HubError::Header { .. }), "{name}: {refused:?}");
    }
    let refused = shelf
        .import(&shelf.outside.path().join("not there.gguf"))
        .await
        .unwrap_err();
    assert!(
        matches!(
            refused,
            HubError::Header {
                source: HeaderError::Open { .. },
                ..
            }
        ),
        "{refused:?}"
    );
    let refused = shelf
        .import(&shelf.file("mmproj-x.gguf", &tiny))
        .await
        .unwrap_err();
    assert!(matches!(refused, HubError::NoModel { .. }), "{refused:?}");
    assert_eq!(shelf.tree(), Vec::<String>::new());
}

#[tokio::test]
async fn a_stopped_import_places_nothing() {
    let shelf = Shelf::new();
    let path = shelf.file("model.gguf", &TinyGguf::llama().padded(Bytes::mib(8)).bytes());
    let stop = CancellationToken::new();
    let watch = Arc::new(Watch {
        stop_at: Some((Bytes::mib(2), stop.clone())),
        ..Watch::default()
    });
    let imported = shelf
        .library()
        .import(&path, |_| None, watch, &stop)
        .await
        .unwrap();
    assert_eq!(imported, Imported::Stopped);
    assert_eq!(shelf.tree(), Vec::<String>::new());
}

#[tokio::test]
async fn importing_again_mends_what_rotted() {
    let shelf = Shelf::new();
    let path = shelf.file("model.gguf", &TinyGguf::llama().bytes());
    let found = shelf.import(&path).await.unwrap();
    let blob = std::fs::canonicalize(found.first().unwrap()).unwrap();
    let mut bytes = std::fs::read(&blob).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    files::replace(&blob, &bytes).unwrap();
    assert_ne!(shelf.check(&found).await, (vec![], vec![]));
    assert_eq!(shelf.import(&path).await.unwrap().id, found.id);
    assert_eq!(shelf.check(&found).await, (vec![], vec![]));
}
