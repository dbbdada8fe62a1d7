use std::path::{Path, PathBuf};

use plimsoll_os::files;
use plimsoll_store::{End, Finish, Piece, Store, StoreError};

use crate::fresh;

/// A store with a chat in it, closed.
async fn closed_store() -> (tempfile::TempDir, PathBuf, String) {
    let (folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap();
    for n in 0..200 {
        store
            .add_user_message(&chat.id, &format!("{n} {}", "x".repeat(500)), n)
            .await
            .unwrap();
    }
    store.settle().await.unwrap();
    let path = store.path().to_owned();
    close(store).await;
    (folder, path, chat.id)
}

/// Waits until the thread has let go of the file.
async fn close(store: Store) {
    let path = store.path().to_owned();
    drop(store);
    let writers = path.with_file_name("plimsoll.db-writers");
    while std::fs::read_dir(&writers).unwrap().next().is_some() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

async fn refused(path: &Path) -> StoreError {
    Store::open(path, 777).await.unwrap_err()
}

#[tokio::test]
async fn rubbish_is_kept_aside_and_a_new_start_works() {
    let (_folder, path, _) = closed_store().await;
    files::replace(&path, b"this was a database once").unwrap();
    let error = refused(&path).await;
    let StoreError::Damaged { kept, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(std::fs::read(kept).unwrap(), b"this was a database once");
    assert!(kept.to_string_lossy().ends_with("plimsoll.db.damaged-777"));
    let store = Store::open(&path, 778).await.unwrap();
    store.create_conversation(None, 779).await.unwrap();
    close(store).await;

    files::replace(&path, b"again").unwrap();
    let StoreError::Damaged { kept: second, .. } = refused(&path).await else {
        panic!()
    };
    assert_ne!(&second, kept, "the first one is not overwritten");
    assert!(kept.exists() && second.exists());
}

#[tokio::test]
async fn a_hole_in_the_middle_is_found() {
    let (_folder, path, _) = closed_store().await;
    let mut bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() > 20 * 4096, "{}", bytes.len());
    bytes[8 * 4096..12 * 4096].fill(0xa5);
    files::replace(&path, &bytes).unwrap();
    let error = refused(&path).await;
    let StoreError::Damaged { kept, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(std::fs::read(kept).unwrap(), bytes);
}

#[tokio::test]
async fn a_newer_version_is_left_as_it_is() {
    let (_folder, path, _) = closed_store().await;
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.execute_batch("PRAGMA user_version = 4711").unwrap();
    drop(newer);
    let before = std::fs::read(&path).unwrap();
    let error = refused(&path).await;
    assert!(
        matches!(
            error,
            StoreError::TooNew {
                found: 4711,
                known: 6,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_folder_in_the_way_is_an_error_and_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plimsoll.db");
    files::create_dir(&path).unwrap();
    let error = refused(&path).await;
    assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
    assert!(path.is_dir());
}

/// What a loss of power leaves is a log that ends anywhere. However much of it is gone, the chat opens and the
/// answer is a beginning of what it was.
#[tokio::test]
async fn a_log_that_ends_anywhere_loses_its_end_only() {
    let (folder, store) = fresh().await;
    let chat = store.create_conversation(None, 1).await.unwrap();
    store.add_user_message(&chat.id, "count", 2).await.unwrap();
    let answer = store.begin_answer(&chat.id, 3).await.unwrap();
    store.settle().await.unwrap();
    let mut whole = String::new();
    for n in 0..30 {
        let piece = format!("{n} ");
        whole.push_str(&piece);
        store.append(&answer.id, Piece::text(piece)).await.unwrap();
    }
    let database = std::fs::read(store.path()).unwrap();
    let log = std::fs::read(store.path().with_file_name("plimsoll.db-wal")).unwrap();
    store
        .finish_answer(
            &answer.id,
            Finish {
                last: Piece::default(),
                end: End::Complete,
                stats: None,
                fault: None,
                at: 4,
            },
        )
        .await
        .unwrap();

    let mut seen = Vec::new();
    for cut in [
        0,
        1,
        31,
        32,
        4000,
        log.len() / 3,
        log.len() / 2,
        log.len() - 1,
        log.len(),
    ] {
        let image = folder.path().join(format!("image-{cut}")).join("plimsoll.db");
        files::create_dir(image.parent().unwrap()).unwrap();
        files::replace(&image, &database).unwrap();
        files::replace(&image.with_file_name("plimsoll.db-wal"), &log[..cut]).unwrap();
        let store = Store::open(&image, 5).await.unwrap();
        let opened = store.open_conversation(&chat.id, 6).await.unwrap();
        let last = &opened.messages[1];
        assert!(whole.starts_with(&last.text), "cut at {cut}: {:?}", last.text);
        assert_eq!(last.end, Some(End::Interrupted), "cut at {cut}");
        seen.push(last.text.len());
    }
    assert!(seen.is_sorted(), "{seen:?}");
    assert_eq!((seen.first(), seen.last()), (Some(&0), Some(&whole.len())));
}

#[cfg(unix)]
#[tokio::test]
async fn chats_are_for_this_person_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, store) = fresh().await;
    store.create_conversation(None, 1).await.unwrap();
    for name in ["plimsoll.db", "plimsoll.db-wal"] {
        let mode = std::fs::metadata(store.path().with_file_name(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0, "{name} has mode {mode:o}");
    }
}
