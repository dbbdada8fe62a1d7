//! The library moves to another folder, and to a disk of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_hub::{Found, HubError, Library, Relocated, Unwatched};
use plimsoll_os::files;
use plimsoll_testkit::TinyGguf;
use plimsoll_units::Bytes;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{Shelf, write};
use crate::support::Watch;

/// Another volume where the machine has one that is writable, else another folder of the same.
fn elsewhere() -> (TempDir, bool) {
    let memory = Path::new("/dev/shm");
    let other = tempfile::tempdir().unwrap();
    if let Ok(there) = tempfile::Builder::new()
        .prefix("plimsoll-move")
        .tempdir_in(memory)
    {
        let apart = volume(there.path()) != volume(other.path());
        return (there, apart);
    }
    (other, false)
}

#[cfg(unix)]
fn volume(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::dev(&std::fs::metadata(path).unwrap())
}

#[cfg(not(unix))]
fn volume(_: &Path) -> u64 {
    0
}

async fn filled() -> (Shelf, Vec<Found>) {
    let shelf = Shelf::new();
    let mut models = Vec::new();
    for (name, seed) in [("a.gguf", "A"), ("größe b.gguf", "B")] {
        let bytes = TinyGguf::llama().named(seed).padded(Bytes::mib(3)).bytes();
        let path = shelf.file(name, &bytes);
        models.push(shelf.import(&path).await.unwrap());
        files::remove_file(&path).unwrap();
    }
    for (name, bytes) in TinyGguf::llama().padded(Bytes::mib(2)).splits("split", 2) {
        shelf.file(&name, &bytes);
    }
    models.push(
        shelf
            .import(&shelf.outside.path().join("split-00001-of-00002.gguf"))
            .await
            .unwrap(),
    );
    // Not ours to move.
    write(&shelf.cache.path().join("datasets--a--b/blobs/x"), b"data");
    (shelf, models)
}

async fn copy(shelf: &Shelf, to: &Path) -> Result<Relocated, HubError> {
    let watch = Arc::new(Watch::default());
    let copied = shelf
        .library()
        .copy_to(to, watch.clone(), &CancellationToken::new())
        .await;
    if copied.is_ok() {
        watch.strict.assert_finished();
    }
    copied
}

async fn assert_whole(library: &Library, models: &[Found]) {
    let found = library.scan().await.unwrap().models;
    let ids = |models: &[Found]| {
        let mut ids: Vec<String> = models.iter().map(|found| found.id.clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&found), ids(models));
    for model in &found {
        let checked = library
            .verify(model, Arc::new(Unwatched), &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(
            checked,
            plimsoll_hub::Checked::Done {
                damaged: vec![],
                unpinned: vec![]
            },
            "{}",
            model.id
        );
    }
}

#[tokio::test]
async fn a_library_moves_to_another_disk_and_the_old_place_is_cleared() {
    let (shelf, models) = filled().await;
    let (to, apart) = elsewhere();
    let at = to.path().join("deep/models");
    let Relocated::Done { files, bytes } = copy(&shelf, &at).await.unwrap() else {
        panic!("nobody stopped it")
    };
    assert!(files >= 8 && bytes >= Bytes::mib(8), "{files} {bytes}");
    assert_whole(&shelf.library(), &models).await;
    let there = Library::new(at.clone());
    assert_whole(&there, &models).await;
    assert!(Library::is_marked(&at));

    // Something comes to the old place meanwhile, and stays.
    let late = shelf
        .import(&shelf.file("late.gguf", &TinyGguf::llama().named("Late").bytes()))
        .await
        .unwrap();
    let (freed, stayed) = shelf.library().clear_after(&at).await.unwrap();
    assert!(stayed >= 2, "{stayed}");
    let wanted = if apart { Bytes::mib(8) } else { Bytes::ZERO };
    assert!(freed >= wanted, "{freed}");
    assert_eq!(shelf.ids().await, [late.id]);
    assert!(shelf.cache.path().join("datasets--a--b/blobs/x").is_file());
    assert_whole(&there, &models).await;
    if cfg!(target_os = "linux") {
        assert!(apart, "this test needs a second volume at /dev/shm");
    }
}

#[tokio::test]
async fn a_stopped_copy_goes_on_where_it_was_and_a_given_up_one_leaves_nothing() {
    let (shelf, models) = filled().await;
    let (to, apart) = elsewhere();
    let stop = CancellationToken::new();
    let watch = Arc::new(Watch {
        stop_at: Some((Bytes::mib(4), stop.clone())),
        ..Watch::default()
    });
    let stopped = shelf.library().copy_to(to.path(), watch, &stop).await.unwrap();
    assert_eq!(stopped, Relocated::Stopped);
    assert_whole(&shelf.library(), &models).await;
    assert!(!Library::is_marked(to.path()));
    let before = sizes(to.path());
    assert!(!before.is_empty());
    let refused = shelf.library().clear_after(to.path()).await.unwrap_err();
    assert!(
        matches!(refused, HubError::OutsideLibrary { .. }),
        "nothing goes before all is there"
    );

    if apart {
        // What a loss of power left of a file that was being written is found out.
        let half = before
            .iter()
            .find(|(path, _)| path.to_string_lossy().ends_with(".moving"));
        if let Some((path, _)) = half {
            let bytes = std::fs::read(path).unwrap();
            files::replace(path, &vec![0; bytes.len()]).unwrap();
        }
    }
    assert!(matches!(
        copy(&shelf, to.path()).await.unwrap(),
        Relocated::Done { .. }
    ));
    assert_whole(&Library::new(to.path().to_owned()), &models).await;

    let (other, _) = elsewhere();
    let stop = CancellationToken::new();
    let watch = Arc::new(Watch {
        stop_at: Some((Bytes::mib(4), stop.clone())),
        ..Watch::default()
    });
    shelf.library().copy_to(other.path(), watch, &stop).await.unwrap();
    shelf.library().give_up_copy(other.path(), true).await.unwrap();
    assert_eq!(sizes(other.path()), []);
    assert_whole(&shelf.library(), &models).await;
}

fn sizes(at: &Path) -> Vec<(PathBuf, u64)> {
    let mut out = Vec::new();
    for child in std::fs::read_dir(at).unwrap() {
        let child = child.unwrap();
        if child.file_type().unwrap().is_dir() {
            out.extend(sizes(&child.path()));
        } else {
            out.push((child.path(), child.path().symlink_metadata().unwrap().len()));
        }
    }
    out.sort();
    out
}

#[tokio::test]
async fn what_was_at_the_new_place_before_is_neither_believed_nor_taken_away() {
    let (shelf, models) = filled().await;
    let (to, apart) = elsewhere();
    let blob = std::fs::canonicalize(models[0].first().unwrap()).unwrap();
    let inside = blob
        .strip_prefix(std::fs::canonicalize(shelf.cache.path()).unwrap())
        .unwrap();
    let mut rotten = std::fs::read(&blob).unwrap();
    *rotten.last_mut().unwrap() ^= 1;
    write(&to.path().join(inside), &rotten);
    // Of another time, as a file that somebody else put there is.
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(to.path().join(inside))
        .unwrap();
    file.set_modified(old).unwrap();
    write(&to.path().join("models--other--one/blobs/x"), b"theirs");
    copy(&shelf, to.path()).await.unwrap();
    assert_whole(&Library::new(to.path().to_owned()), &models).await;
    shelf.library().give_up_copy(to.path(), false).await.unwrap();
    assert!(to.path().join("models--other--one/blobs/x").is_file());
    let _ = apart;
}

#[tokio::test]
async fn places_that_make_no_sense_are_refused() {
    let (shelf, models) = filled().await;
    for to in [
        shelf.cache.path().to_owned(),
        shelf.cache.path().join("models--a--b/inside"),
    ] {
        let refused = copy(&shelf, &to).await.unwrap_err();
        assert!(
            matches!(refused, HubError::OutsideLibrary { .. }),
            "{to:?}: {refused:?}"
        );
    }
    let file = shelf.file("plain", b"x");
    assert!(matches!(
        copy(&shelf, &file.join("below")).await.unwrap_err(),
        HubError::File(_)
    ));
    assert_whole(&shelf.library(), &models).await;
}
