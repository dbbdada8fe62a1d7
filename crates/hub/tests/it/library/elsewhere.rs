//! Models of other programs: found, used in place, never touched.

use std::path::{Path, PathBuf};

use plimsoll_hub::{Elsewhere, Found, FoundState, HubError, Keeper, Library, OddReason, Source};
use plimsoll_os::files;
use plimsoll_testkit::TinyGguf;
use plimsoll_testkit::hub::FakeFile;
use plimsoll_units::Bytes;
use tempfile::TempDir;

use super::{Shelf, write};

/// The folders of other programs, and a library beside them.
struct Others {
    shelf: Shelf,
    home: TempDir,
}

impl Others {
    fn new() -> Self {
        Self {
            shelf: Shelf::new(),
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    fn library(&self) -> Library {
        self.shelf.library()
    }

    async fn look(&self, sources: &[(Keeper, &str)]) -> Elsewhere {
        let sources = sources.iter().map(|(keeper, folder)| Source {
            keeper: *keeper,
            folder: self.at(folder),
        });
        self.library().elsewhere(sources.collect()).await.unwrap()
    }

    /// A model as `ollama pull` leaves it.
    fn ollama(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let sha256 = FakeFile::lfs(bytes.to_vec()).sha256().to_owned();
        let blob = self.at(&format!("ollama/blobs/sha256-{sha256}"));
        write(&blob, bytes);
        let layers = format!(
            r#"{{"schemaVersion":2,"config":{{"digest":"sha256:{0}","size":5}},"layers":[
                {{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{sha256}","size":{1}}},
                {{"mediaType":"application/vnd.ollama.image.template","digest":"sha256:{0}","size":12}},
                {{"mediaType":"application/vnd.ollama.image.params","digest":"sha256:{0}","size":12}}]}}"#,
            "e".repeat(64),
            bytes.len()
        );
        write(&self.at(&format!("ollama/manifests/{name}")), layers.as_bytes());
        blob
    }

    /// Every file with its length and time: what must be the same afterwards.
    fn everything(&self) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
        fn walk(at: &Path, out: &mut Vec<(PathBuf, u64, std::time::SystemTime)>) {
            for child in std::fs::read_dir(at).unwrap() {
                let child = child.unwrap();
                let about = child.metadata().unwrap();
                if about.is_dir() {
                    walk(&child.path(), out);
                } else {
                    out.push((child.path(), about.len(), about.modified().unwrap()));
                }
            }
        }
        let mut out = Vec::new();
        walk(self.home.path(), &mut out);
        out.sort();
        out
    }
}

fn ids(found: &Elsewhere) -> Vec<&str> {
    found.models.iter().map(|found| found.id.as_str()).collect()
}

fn odd(found: &Elsewhere) -> Vec<&OddReason> {
    found
        .looked
        .iter()
        .flat_map(|looked| &looked.odd)
        .map(|odd| &odd.why)
        .collect()
}

#[tokio::test]
async fn lm_studios_models_are_found_with_the_place_they_came_from() {
    let others = Others::new();
    let tiny = TinyGguf::llama().bytes();
    write(&others.at("lm/org/model-GGUF/model-Q4_K_M.gguf"), &tiny);
    write(&others.at("lm/org/model-GGUF/mmproj-model-f16.gguf"), &tiny);
    write(&others.at("lm/org/model-GGUF/downloading_x.gguf.part"), &tiny);
    for (name, bytes) in TinyGguf::llama().splits("big", 2) {
        write(&others.at(&format!("lm/org/big-GGUF/q8/{name}")), &bytes);
    }
    let found = others.look(&[(Keeper::LmStudio, "lm")]).await;
    assert_eq!(
        ids(&found),
        [
            "lmstudio:org/big-GGUF/q8/big-00001-of-00002.gguf",
            "lmstudio:org/model-GGUF/model-Q4_K_M.gguf"
        ]
    );
    let [big, model] = found.models.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((big.files.len(), big.state), (2, FoundState::Ready));
    let (repo, path) = model.at_hub().unwrap();
    assert_eq!((repo.as_str(), path), ("org/model-GGUF", "model-Q4_K_M.gguf"));
    assert_eq!(model.projectors.len(), 1);
    assert_eq!((found.looked[0].models, odd(&found).len()), (2, 0));
}

#[tokio::test]
async fn ollamas_models_are_its_blobs_under_its_names() {
    let others = Others::new();
    let tiny = TinyGguf::llama().bytes();
    let blob = others.ollama("registry.ollama.ai/library/tiny/1b", &tiny);
    others.ollama("registry.ollama.ai/library/tiny/latest", &tiny);
    others.ollama(
        "hf.co/org/Other-GGUF/Q4_K_M",
        &TinyGguf::llama().named("Other").bytes(),
    );
    let found = others.look(&[(Keeper::Ollama, "ollama")]).await;
    assert_eq!(
        ids(&found),
        ["ollama:hf.co/org/Other-GGUF:Q4_K_M", "ollama:tiny:1b"],
        "two tags of one content are one model"
    );
    let model = &found.models[1];
    assert_eq!(model.first(), Some(blob.as_path()));
    assert_eq!(model.bytes, Bytes(tiny.len() as u64));
    let hash = model.files[0].etag.as_ref().unwrap().sha256().unwrap();
    assert!(blob.to_str().unwrap().ends_with(hash));
    assert_eq!(
        others.shelf.check(model).await,
        (vec![], vec![]),
        "checked against that name"
    );

    let mut rotten = tiny.clone();
    *rotten.last_mut().unwrap() ^= 1;
    write(&blob, &rotten);
    assert_eq!(others.shelf.check(model).await.0, ["tiny:1b"]);
}

#[tokio::test]
async fn damaged_manifests_and_missing_blobs_are_told_and_stop_nothing() {
    let others = Others::new();
    let tiny = TinyGguf::llama().bytes();
    others.ollama("registry.ollama.ai/library/good/1b", &tiny);
    let gone = others.ollama(
        "registry.ollama.ai/library/gone/1b",
        &TinyGguf::llama().named("G").bytes(),
    );
    files::remove_file(&gone).unwrap();
    let cut = others.ollama(
        "registry.ollama.ai/library/cut/1b",
        &TinyGguf::llama().named("C").bytes(),
    );
    write(&cut, &tiny[..100]);
    let manifests = "ollama/manifests/registry.ollama.ai/library";
    write(&others.at(&format!("{manifests}/broken/1b")), b"{\"layers\":[{");
    write(&others.at(&format!("{manifests}/huge/1b")), &vec![b' '; 2 << 20]);
    write(
        &others.at(&format!("{manifests}/cloud/1b")),
        br#"{"schemaVersion":2,"layers":[]}"#,
    );
    write(
        &others.at(&format!("{manifests}/sly/1b")),
        br#"{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:../../../../etc/passwd","size":9}]}"#,
    );
    let found = others.look(&[(Keeper::Ollama, "ollama")]).await;
    let states: Vec<(&str, FoundState)> = found
        .models
        .iter()
        .map(|found| (found.id.as_str(), found.state))
        .collect();
    assert_eq!(
        states,
        [
            ("ollama:cut:1b", FoundState::Incomplete),
            ("ollama:gone:1b", FoundState::Incomplete),
            ("ollama:good:1b", FoundState::Ready)
        ]
    );
    let told = odd(&found);
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(
        told.iter()
            .all(|why| matches!(why, OddReason::Manifest(_) | OddReason::Unusable(_)))
    );
}

#[tokio::test]
async fn llama_cpps_flat_cache_is_taken_apart_by_its_own_notes() {
    let others = Others::new();
    let tiny = TinyGguf::llama().bytes();
    write(&others.at("ll/org_a-GGUF_model-Q4_K_M.gguf"), &tiny);
    write(
        &others.at("ll/org_a-GGUF_model-Q4_K_M.gguf.json"),
        br#"{"etag":"\"x\"","url":"https://huggingface.co/org/a-GGUF/resolve/main/model-Q4_K_M.gguf"}"#,
    );
    write(&others.at("ll/org_a-GGUF_mmproj-model-f16.gguf"), &tiny);
    write(&others.at("ll/org_b-GGUF_model-Q4_K_M.gguf"), &tiny);
    write(&others.at("ll/org_b-GGUF_model-Q4_K_M.gguf.json"), b"no json");
    write(&others.at("ll/x.gguf.downloadInProgress"), &tiny);
    let found = others.look(&[(Keeper::LlamaCpp, "ll")]).await;
    let shown: Vec<_> = found
        .models
        .iter()
        .map(|found| {
            (
                found.id.as_str(),
                found.at_hub().map(|(repo, _)| repo.as_str()),
                found.projectors.len(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("llama.cpp:org_a-GGUF_model-Q4_K_M.gguf", Some("org/a-GGUF"), 1),
            ("llama.cpp:org_b-GGUF_model-Q4_K_M.gguf", None, 0)
        ]
    );
}

#[tokio::test]
async fn a_named_folder_is_walked_and_one_that_is_gone_is_told() {
    let others = Others::new();
    let tiny = TinyGguf::llama().bytes();
    write(&others.at("mine/größe & co/a model.gguf"), &tiny);
    let splits = TinyGguf::llama().splits("cut", 3);
    for (name, bytes) in splits.iter().take(2) {
        write(&others.at(&format!("mine/{name}")), bytes);
    }
    write(&others.at("mine/.hidden/b.gguf"), &tiny);
    write(&others.at("lm/org/r/c.gguf"), &tiny);
    let found = others
        .look(&[
            (Keeper::LmStudio, "lm"),
            (Keeper::LmStudio, "not installed"),
            (Keeper::Folder, "mine"),
            (Keeper::Folder, "unplugged"),
        ])
        .await;
    let own = |path: &str| format!("folder:{}", others.at(path).display());
    assert_eq!(
        ids(&found),
        [
            own("mine/cut-00001-of-00003.gguf").as_str(),
            own("mine/größe & co/a model.gguf").as_str(),
            "lmstudio:org/r/c.gguf"
        ]
    );
    assert_eq!(
        (found.models[0].state, found.models[0].missing.as_slice()),
        (FoundState::Incomplete, [splits[2].0.clone()].as_slice())
    );
    let gone: Vec<_> = found
        .looked
        .iter()
        .filter(|looked| looked.odd.iter().any(|odd| matches!(odd.why, OddReason::Gone)))
        .map(|looked| looked.source.folder.clone())
        .collect();
    assert_eq!(
        gone,
        [others.at("unplugged")],
        "a program that was never there is not missed"
    );
}

#[tokio::test]
async fn what_lies_in_two_places_is_looked_at_once() {
    let others = Others::new();
    let tiny = TinyGguf::llama().bytes();
    write(&others.at("all/lm/org/r/c.gguf"), &tiny);
    write(&others.at("all/own.gguf"), &tiny);
    let kept = others.shelf.import(&others.at("all/own.gguf")).await.unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(others.shelf.cache.path(), others.at("all/hub")).unwrap();
    let found = others
        .look(&[
            (Keeper::LmStudio, "all/lm"),
            (Keeper::Folder, "all"),
            (Keeper::Folder, "all/../all"),
        ])
        .await;
    assert_eq!(
        ids(&found),
        [
            format!("folder:{}", others.at("all/own.gguf").display()).as_str(),
            "lmstudio:org/r/c.gguf"
        ],
        "neither LM Studio's folder again nor our own: {kept:?}"
    );
    let inside = Source {
        keeper: Keeper::Folder,
        folder: others.shelf.cache.path().join("models--local--own"),
    };
    assert!(
        others
            .library()
            .elsewhere(vec![inside])
            .await
            .unwrap()
            .models
            .is_empty()
    );
}

#[cfg(unix)]
#[tokio::test]
async fn circles_unreadable_folders_and_dead_links_are_survived() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let others = Others::new();
    let tiny = TinyGguf::llama().bytes();
    write(&others.at("mine/a/one.gguf"), &tiny);
    symlink(others.at("mine"), others.at("mine/a/round")).unwrap();
    symlink(others.at("mine/a"), others.at("mine/again")).unwrap();
    symlink(others.at("nowhere.gguf"), others.at("mine/dead.gguf")).unwrap();
    write(&others.at("disk/linked.gguf"), &tiny);
    symlink(others.at("disk"), others.at("mine/disk")).unwrap();
    let locked = others.at("mine/locked");
    write(&locked.join("secret.gguf"), &tiny);
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    let is_root = std::fs::read_dir(&locked).is_ok();
    let found = others.look(&[(Keeper::Folder, "mine")]).await;
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ready = |path: &str| {
        let id = format!("folder:{}", others.at(path).display());
        found
            .models
            .iter()
            .any(|found| found.id == id && found.state == FoundState::Ready)
    };
    assert!(
        ready("mine/a/one.gguf") && ready("mine/disk/linked.gguf"),
        "{found:?}"
    );
    let twice = found
        .models
        .iter()
        .filter(|found| found.path.ends_with("one.gguf"))
        .count();
    assert_eq!(twice, 1);
    assert!(
        is_root
            || odd(&found)
                .iter()
                .any(|why| matches!(why, OddReason::Unreadable(_))),
        "{:?}",
        found.looked
    );
}

#[tokio::test]
async fn nothing_of_others_is_ever_changed() {
    let others = Others::new();
    let tiny = TinyGguf::llama().bytes();
    others.ollama("registry.ollama.ai/library/tiny/1b", &tiny);
    write(
        &others.at("lm/org/r/c.gguf"),
        &TinyGguf::llama().named("C").bytes(),
    );
    let before = others.everything();
    let found = others
        .look(&[(Keeper::Ollama, "ollama"), (Keeper::LmStudio, "lm")])
        .await;
    assert_eq!(found.models.len(), 2);
    for model in &found.models {
        others.shelf.check(model).await;
        let refused = others.library().remove(model).await.unwrap_err();
        assert!(matches!(refused, HubError::OutsideLibrary { .. }), "{refused:?}");
    }
    assert_eq!(others.everything(), before);
    let taken: Found = others
        .shelf
        .import(found.models[0].first().unwrap())
        .await
        .unwrap();
    others.library().remove(&taken).await.unwrap();
    assert_eq!(
        others.everything(),
        before,
        "an import of theirs is a second name and no more"
    );
}
