//! The hub's own client and we share one cache: what either fetched the other has, and the hub's client finds all
//! of it right.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use plimsoll_hub::{Library, Unwatched};
use plimsoll_testkit::hub::FakeFile;
use plimsoll_testkit::{TinyGguf, real};
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, FILE, REPO, done, noise};

/// One file for each way in which a hub stores them, and where each has its place.
const XET: &str = "q8/model-Q8_0.gguf";
const PLAIN: &str = "config.json";

async fn bench(large: Vec<u8>) -> (Bench, [(&'static str, FakeFile); 3]) {
    let bench = Bench::new().await;
    let mut other = TinyGguf::llama().bytes();
    other.extend([0; 64]);
    let files = [
        (FILE, FakeFile::lfs(large)),
        (XET, FakeFile::xet(other)),
        (PLAIN, FakeFile::plain("{ \"architectures\": [] }\n")),
    ];
    let _ = bench.fake.commit(REPO, &files);
    (bench, files)
}

/// Runs the hub's client on the bench's cache and gives what it said.
#[expect(
    clippy::disallowed_methods,
    reason = "the test is the terminal that starts it"
)]
fn hf(bench: &Bench, typed: &[&str]) -> String {
    let output = Command::new(real::hf())
        .args(typed)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", bench.cache.path())
        .env("HF_ENDPOINT", bench.fake.endpoint())
        .env("HF_HUB_CACHE", bench.cache.path())
        .env("HF_HUB_DISABLE_TELEMETRY", "1")
        .env("HF_HUB_DISABLE_UPDATE_CHECK", "1")
        .output()
        .unwrap();
    // What it asks for in its own way is no business of our strictness.
    drop(bench.fake.complaints());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "hf {typed:?}: {said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    said
}

async fn fetch(bench: &Bench) -> Vec<plimsoll_hub::Traffic> {
    let mut all = Vec::new();
    for path in [FILE, XET, PLAIN] {
        let set = bench.set(path).await.unwrap();
        let fetched = bench
            .hub()
            .fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
            .await;
        all.push(done(fetched).1);
    }
    all
}

fn assert_all_there(snapshot: &Path, files: &[(&str, FakeFile)]) {
    for (path, file) in files {
        let bytes = std::fs::read(snapshot.join(path)).unwrap();
        assert_eq!(FakeFile::lfs(bytes).sha256(), file.sha256(), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_hubs_own_client_fetched_costs_us_nothing() {
    let (bench, files) = bench(TinyGguf::llama().bytes()).await;
    hf(&bench, &["download", REPO]);
    let sent = bench.fake.sent();
    assert!(sent >= files.iter().map(|(_, file)| file.len()).sum());
    for traffic in fetch(&bench).await {
        assert_eq!((traffic.connections, traffic.received.0), (0, 0));
    }
    assert_eq!(bench.fake.sent(), sent);
    let library = Library::new(bench.cache.path().to_owned());
    let models = library.scan().await.unwrap().models;
    assert_eq!(models.len(), 2, "{models:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_we_fetched_the_hubs_own_client_has_and_finds_right() {
    let (bench, files) = bench(noise(3_000_000, 1)).await;
    fetch(&bench).await;
    let sent = bench.fake.sent();
    let told = hf(&bench, &["download", REPO, "--quiet"]);
    assert_eq!(bench.fake.sent(), sent, "it fetched what was there");
    assert_all_there(Path::new(told.trim()), &files);

    let listed: serde_json::Value = serde_json::from_str(&hf(&bench, &["cache", "ls", "--json"])).unwrap();
    let listed = listed.to_string();
    assert!(listed.contains(REPO), "{listed}");
    hf(
        &bench,
        &[
            "cache",
            "verify",
            REPO,
            "--fail-on-missing-files",
            "--fail-on-extra-files",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_we_began_does_not_look_finished_to_the_hubs_own_client() {
    let (bench, files) = bench(noise(3_000_000, 1)).await;
    bench
        .fake
        .pace(Some((32 << 10, std::time::Duration::from_millis(4))));
    let set = bench.set(FILE).await.unwrap();
    let stop = CancellationToken::new();
    let watch = crate::support::Watch {
        stop_at: Some((plimsoll_units::Bytes(500_000), stop.clone())),
        ..crate::support::Watch::default()
    };
    bench.hub().fetch(&set, Arc::new(watch), &stop).await.unwrap();
    bench.fake.pace(None);
    let told = hf(&bench, &["download", REPO, "--quiet"]);
    assert_all_there(Path::new(told.trim()), &files);
    for traffic in fetch(&bench).await {
        assert_eq!(traffic.received.0, 0);
    }
}
