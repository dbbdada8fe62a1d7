//! The same content twice.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plimsoll_hub::{FileStamp, Found, Keeper, Source, compare};
use plimsoll_testkit::TinyGguf;
use plimsoll_testkit::hub::FakeFile;
use plimsoll_units::Bytes;
use tokio_util::sync::CancellationToken;

use super::{Shelf, write};

async fn everything(shelf: &Shelf) -> Vec<Found> {
    let source = Source {
        keeper: Keeper::Folder,
        folder: shelf.outside.path().to_owned(),
    };
    let mut models = shelf.library().scan().await.unwrap().models;
    models.extend(shelf.library().elsewhere(vec![source]).await.unwrap().models);
    models
}

#[tokio::test]
async fn copies_are_told_with_what_they_cost_and_links_are_none() {
    let shelf = Shelf::new();
    let tiny = TinyGguf::llama().bytes();
    let size = Bytes(tiny.len() as u64);
    let imported = shelf.import(&shelf.file("linked.gguf", &tiny)).await.unwrap();
    shelf.file("other.gguf", &TinyGguf::llama().padded(Bytes::mib(1)).bytes());
    let known = BTreeMap::<PathBuf, String>::new();
    let compared = compare(&everything(&shelf).await, &|path| known.get(path).cloned());
    assert_eq!(
        (compared.same.len(), compared.open.len()),
        (0, 0),
        "a second name is no copy"
    );

    let copy = shelf.outside.path().join("copy.gguf");
    write(&copy, &tiny);
    let mut near = tiny.clone();
    *near.last_mut().unwrap() ^= 1;
    let near = shelf.file("near.gguf", &near);
    let models = everything(&shelf).await;
    let compared = compare(&models, &|path| known.get(path).cloned());
    let open: Vec<_> = compared
        .open
        .iter()
        .map(|(path, bytes)| (path.clone(), *bytes))
        .collect();
    assert_eq!(compared.same.len(), 0, "a size proves nothing");
    assert_eq!(open, [(copy.clone(), size), (near.clone(), size)]);

    let mut known = known;
    for (path, _) in compared.open {
        let hashed = shelf
            .library()
            .sha256(&path, |_| {}, &CancellationToken::new())
            .await
            .unwrap();
        known.insert(path, hashed.unwrap());
    }
    let compared = compare(&models, &|path| known.get(path).cloned());
    assert!(compared.open.is_empty());
    let [same] = compared.same.as_slice() else {
        panic!("{compared:?}")
    };
    assert_eq!((same.bytes, same.savable), (size, size));
    assert_eq!(same.sha256, FakeFile::lfs(tiny).sha256());
    let ids: Vec<&str> = same.copies.iter().map(|copy| copy.id.as_str()).collect();
    assert!(
        ids.contains(&format!("folder:{}", copy.display()).as_str()),
        "{ids:?}"
    );
    assert!(
        ids.contains(&imported.id.as_str()) || ids.iter().any(|id| id.ends_with("linked.gguf")),
        "{ids:?}"
    );
}

#[tokio::test]
async fn a_stamp_tells_a_file_that_was_written_again() {
    let shelf = Shelf::new();
    let path = shelf.file("a.gguf", &TinyGguf::llama().bytes());
    let before = FileStamp::of(&path).unwrap();
    assert_eq!(FileStamp::of(&path), Some(before));
    write(&path, &TinyGguf::llama().named("B").bytes());
    assert_ne!(FileStamp::of(&path), Some(before));
    assert_eq!(FileStamp::of(&shelf.outside.path().join("none")), None);
}

#[tokio::test]
async fn hashing_stops_when_it_is_told_to() {
    let shelf = Shelf::new();
    let path = shelf.file("a.gguf", &TinyGguf::llama().padded(Bytes::mib(4)).bytes());
    let stop = CancellationToken::new();
    let stopper = stop.clone();
    let hashed = shelf
        .library()
        .sha256(&path, move |_| stopper.cancel(), &stop)
        .await
        .unwrap();
    assert_eq!(hashed, None);
}
