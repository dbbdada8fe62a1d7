use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_gguf::HeaderError;
use plimsoll_hub::{
    Checked, Found, FoundState, Home, HubError, Imported, Library, OddReason, RepoId, Unwatched,
};
use plimsoll_os::files;
use plimsoll_testkit::TinyGguf;
use plimsoll_testkit::hub::{FakeFile, FakeHub};
use plimsoll_units::Bytes;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, REPO, Watch, done, noise};

struct Shelf {
    cache: TempDir,
    outside: TempDir,
}

impl Shelf {
    fn new() -> Self {
        Self {
            cache: tempfile::tempdir().unwrap(),
            outside: tempfile::tempdir().unwrap(),
        }
    }

    fn library(&self) -> Library {
        Library::new(self.cache.path().to_owned())
    }

    /// A file somewhere in a person's folders.
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let at = self.outside.path().join(name);
        files::create_dir(at.parent().unwrap()).unwrap();
        files::replace(&at, bytes).unwrap();
        at
    }

    async fn import(&self, path: &Path) -> Result<Found, HubError> {
        self.import_known(path, |_| None).await
    }

    async fn import_known(
        &self,
        path: &Path,
        known: impl Fn(&str) -> Option<Home> + Send + 'static,
    ) -> Result<Found, HubError> {
        let watch = Arc::new(Watch::default());
        let imported = self
            .library()
            .import(path, known, watch.clone(), &CancellationToken::new())
            .await?;
        watch.strict.assert_finished();
        match imported {
            Imported::Done(found) => Ok(*found),
            Imported::Stopped => panic!("nobody stopped it"),
        }
    }

    async fn ids(&self) -> Vec<String> {
        self.library()
            .scan()
            .await
            .unwrap()
            .models
            .into_iter()
            .map(|found| found.id)
            .collect()
    }

    async fn check(&self, found: &Found) -> (Vec<String>, Vec<String>) {
        let watch = Arc::new(Watch::default());
        match self
            .library()
            .verify(found, watch, &CancellationToken::new())
            .await
            .unwrap()
        {
            Checked::Done { damaged, unpinned } => (damaged, unpinned),
            Checked::Stopped => panic!("nobody stopped it"),
        }
    }

    /// Everything below the cache, as paths inside it.
    fn tree(&self) -> Vec<String> {
        fn walk(at: &Path, root: &Path, out: &mut Vec<String>) {
            for child in std::fs::read_dir(at).unwrap() {
                let child = child.unwrap();
                if child.file_type().unwrap().is_dir() {
                    walk(&child.path(), root, out);
                } else {
                    out.push(
                        child
                            .path()
                            .strip_prefix(root)
                            .unwrap()
                            .to_string_lossy()
                            .into_owned(),
                    );
                }
            }
        }
        let mut out = Vec::new();
        walk(self.cache.path(), self.cache.path(), &mut out);
        out.sort();
        out
    }
}

fn write(at: &Path, bytes: &[u8]) {
    files::create_dir(at.parent().unwrap()).unwrap();
    files::replace(at, bytes).unwrap();
}

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
        (found.state, found.bytes, found.commit),
        (FoundState::Ready, Bytes(file.len()), set.files[0].commit.clone())
    );
    assert_eq!(
        found.files[0].etag.as_ref().unwrap().sha256(),
        Some(file.sha256())
    );
}

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
        (found.id.as_str(), found.commit.as_str()),
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
