use plimsoll_os::files;
use plimsoll_testkit::TinyGguf;

use super::{Shelf, write};

#[tokio::test]
async fn checking_finds_the_file_whose_bytes_changed() {
    let shelf = Shelf::new();
    let path = shelf.file("model.gguf", &TinyGguf::llama().bytes());
    let found = shelf.import(&path).await.unwrap();
    assert_eq!(shelf.check(&found).await, (vec![], vec![]));
    let blob = std::fs::canonicalize(found.first().unwrap()).unwrap();
    let mut bytes = std::fs::read(&blob).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    files::replace(&blob, &bytes).unwrap();
    assert_eq!(shelf.check(&found).await, (vec!["model.gguf".to_owned()], vec![]));
    files::remove_file(&blob).unwrap();
    assert_eq!(
        shelf.check(&found).await,
        (vec!["model.gguf".to_owned()], vec![]),
        "a vanished file is not right either"
    );
}

#[tokio::test]
async fn a_file_without_a_known_hash_is_said_to_be_unpinned() {
    let shelf = Shelf::new();
    let at = shelf
        .cache
        .path()
        .join("models--org--copies/snapshots")
        .join("a".repeat(40))
        .join("m.gguf");
    write(&at, &TinyGguf::llama().bytes());
    let found = shelf.library().find("org/copies/m.gguf").await.unwrap();
    assert_eq!(shelf.check(&found).await, (vec![], vec!["m.gguf".to_owned()]));
    write(&at, b"GGUF and nothing more");
    assert_eq!(shelf.check(&found).await, (vec!["m.gguf".to_owned()], vec![]));
}
