//! A release as the hub would give it: the real engine, packed, fetched from a fake server and put to use.

#![expect(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{BUDGET, Home, smol};
use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_engine::{ArchiveProblem, Engine, EngineError, Origin, Release};
use plimsoll_hub::{Archive, Hub, HubConfig, Unwatched};
use plimsoll_testkit::hub::{FakeFile, FakeHub};
use plimsoll_testkit::real;
use plimsoll_units::Bytes;
use tokio_util::sync::CancellationToken;

async fn install(home: &Home, release: &Release) -> Result<Option<Engine>, EngineError> {
    let hub = Hub::new(HubConfig::new(home.path().join("hub")).unwrap());
    let (scope, stop) = (home.root.scope(), CancellationToken::new());
    home.engines
        .install(release, &hub, Arc::new(Unwatched), &scope, &stop)
        .await
}

fn offer(fake: &FakeHub, name: &str, bytes: Vec<u8>) -> Archive {
    let sha256 = FakeFile::lfs(bytes.clone()).sha256().to_owned();
    let size = Bytes(bytes.len() as u64);
    Archive {
        url: fake.release(&format!("download/b1/{name}"), bytes),
        bytes: size,
        sha256,
    }
}

/// The files of a folder under a folder of the archive's own, as releases are packed.
fn pack(folder: &Path, leave_out: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::none()));
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        // The linker asks for `libx.so.0`; its other two names would only make the test slower.
        let other_names = folder.join(format!("{name}.0")).exists();
        let plain = !other_names && !name.contains(".so.0.") && !name.contains(".so.1.");
        if plain && (leave_out.is_empty() || !name.contains(leave_out)) {
            tar.append_path_with_name(entry.path(), format!("llama-b1/{name}"))
                .unwrap();
        }
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn tidy(home: &Home) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(home.path().join("engines"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("index") && name != "downloads")
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_fetched_unpacked_checked_and_used() {
    let (home, fake) = (Home::empty(), FakeHub::start().await);
    let archives = vec![offer(&fake, "llama.tar.gz", pack(&real::engine_dir(), ""))];
    let release = Release {
        id: "b1-test".to_owned(),
        archives,
    };
    let engine = install(&home, &release).await.unwrap().unwrap();
    assert_eq!((engine.id.as_str(), engine.origin), ("b1-test", Origin::Release));
    assert!(engine.binary.starts_with(home.path()) && engine.binary.is_file());
    assert_eq!(tidy(&home), ["b1-test"]);
    assert!(home.desk().load(smol(), BUDGET).await.unwrap().proof.is_some());

    // Installing it again finds it; removing it takes its files away.
    let sent = fake.sent();
    assert_eq!(install(&home, &release).await.unwrap(), Some(engine.clone()));
    assert_eq!(fake.sent(), sent);
    home.engines.remove("b1-test").await.unwrap();
    assert!(!engine.binary.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_fails_its_check_is_not_kept() {
    let (home, fake) = (Home::empty(), FakeHub::start().await);
    let broken = pack(&real::engine_dir(), "libmtmd");
    let release = |archive| Release {
        id: "b1-bad".to_owned(),
        archives: vec![archive],
    };
    let error = install(&home, &release(offer(&fake, "broken.tar.gz", broken)))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, EngineError::EngineIncomplete { .. }),
        "{error:?}"
    );
    let empty = tempfile::tempdir().unwrap();
    let error = install(
        &home,
        &release(offer(&fake, "empty.tar.gz", pack(empty.path(), ""))),
    )
    .await
    .unwrap_err();
    let EngineError::ArchiveRefused { problem, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(*problem, ArchiveProblem::NoServer);
    let wrong = Archive {
        sha256: "0".repeat(64),
        ..offer(&fake, "wrong.tar.gz", b"x".to_vec())
    };
    assert!(matches!(
        install(&home, &release(wrong)).await,
        Err(EngineError::Fetch(_))
    ));
    let outside = Release {
        id: "../out".to_owned(),
        archives: Vec::new(),
    };
    assert!(install(&home, &outside).await.is_err());
    assert!(tidy(&home).is_empty() && home.engines.list().unwrap().is_empty());
}
