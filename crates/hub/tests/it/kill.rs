//! A process of its own that fetches and is killed at any moment, again and again.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_hub::{Hub, Unwatched};
use plimsoll_store::Store;
use plimsoll_testkit::hub::{FakeFile, FakeHub, Weather};
use tokio_util::sync::CancellationToken;

use crate::ledger::InStore;
use crate::support::{FILE, REPO, SMALL_LANES, config, done, noise};

const SIZE: u64 = 12 << 20;
/// Runs of the test below in a usual run of all tests; `TEST_KILL_RUNS` asks for another number.
const RUNS: u64 = 20;
/// What a server keeps sending into the buffers of a connection whose reader is gone: on loopback Linux lets
/// these grow to a few MiB, but a range of ours is never longer than this.
const RANGE: u64 = SMALL_LANES.range_most.0 / 2;

/// Not a test of its own: the process that the tests below start and kill.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by the tests of this module"]
async fn fetch_in_a_process_of_its_own() {
    let environment = plimsoll_os::Environment::read();
    let (Some(endpoint), Some(cache)) = (
        environment.filled("TEST_ENDPOINT"),
        environment.path("TEST_CACHE"),
    ) else {
        panic!("this one is started by its parent only");
    };
    fetch(endpoint, &cache).await;
}

async fn fetch(endpoint: &str, cache: &Path) -> plimsoll_hub::Traffic {
    let store = Store::open(&cache.join("own.db"), 1).await.unwrap();
    let mut config = config(endpoint, cache);
    config.lanes = SMALL_LANES;
    let hub = Hub::with_ledger(config, Arc::new(InStore(store)));
    let set = hub
        .file_set(&format!("{REPO}/{FILE}").parse().unwrap())
        .await
        .unwrap();
    done(
        hub.fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
            .await,
    )
    .1
}

#[expect(
    clippy::disallowed_methods,
    reason = "the child has to be killed without its knowledge"
)]
fn start_child(fake: &FakeHub, cache: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "kill::fetch_in_a_process_of_its_own",
            "--ignored",
            "--nocapture",
        ])
        .env("TEST_ENDPOINT", fake.endpoint())
        .env("TEST_CACHE", cache)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a signal has no other way from here")]
fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success(), "{name}");
}

async fn wait(child: &mut Child, most: Duration) -> Option<bool> {
    let until = Instant::now() + most;
    while Instant::now() < until {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.success());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    None
}

fn blob(cache: &Path, file: &FakeFile) -> std::path::PathBuf {
    cache
        .join("models--org--model-GGUF")
        .join("blobs")
        .join(file.sha256())
}

/// A line on which the file takes about half a second.
const WEATHER: Weather = Weather {
    each: Some(6 << 20),
    all: None,
    delay: Duration::from_millis(2),
};

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_killed_at_any_moment_goes_on_and_ends_right() {
    let runs = plimsoll_os::Environment::read()
        .filled("TEST_KILL_RUNS")
        .map_or(RUNS, |runs| runs.parse().unwrap());
    let content = noise(usize::try_from(SIZE).unwrap(), 1);
    let file = FakeFile::lfs(content.clone());
    let (mut kills, mut worst) = (0_u64, 0_i64);
    for run in 0..runs {
        let fake = FakeHub::start().await;
        let _ = fake.commit(REPO, &[(FILE, file.clone())]);
        fake.weather(WEATHER);
        let cache = tempfile::tempdir().unwrap();
        let mut killed = 0;
        loop {
            let mut child = start_child(&fake, cache.path());
            let moment = Duration::from_millis(rand::random_range(20..900));
            if let Some(ended_well) = wait(&mut child, moment).await {
                assert!(ended_well, "run {run}: the child failed by itself");
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            killed += 1;
            assert!(killed < 100, "run {run} does not come to its end");
        }
        assert!(
            std::fs::read(blob(cache.path(), &file)).unwrap() == content,
            "run {run}: wrong bytes"
        );
        // One chunk for each connection and kill: what was written and not yet safe, and what was on its way.
        let chunk = SMALL_LANES.range_most.0;
        let allowed = SIZE + killed * (SMALL_LANES.most as u64) * chunk;
        assert!(
            fake.sent() <= allowed,
            "run {run}: {} of {allowed} bytes after {killed} kills",
            fake.sent()
        );
        kills += killed;
        let over = i64::try_from(fake.sent()).unwrap() - i64::try_from(SIZE).unwrap();
        if killed > 0 {
            worst = worst.max(over / i64::try_from(killed).unwrap());
        }
    }
    println!(
        "{runs} runs, {kills} kills; at most {worst} bytes came twice for each kill; a range is {RANGE}"
    );
    assert!(kills > 0, "nothing was killed");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_stopped_for_long_goes_on() {
    let content = noise(usize::try_from(SIZE).unwrap(), 1);
    let file = FakeFile::lfs(content.clone());
    let fake = FakeHub::start().await;
    let _ = fake.commit(REPO, &[(FILE, file.clone())]);
    fake.weather(WEATHER);
    let cache = tempfile::tempdir().unwrap();
    let mut child = start_child(&fake, cache.path());
    let until = Instant::now() + Duration::from_mins(1);
    while fake.sent() < SIZE / 4 {
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    signal(&child, "-STOP");
    // The server loses patience with every connection, and the signed links come to their end.
    fake.down();
    tokio::time::sleep(Duration::from_millis(300)).await;
    fake.expire_links();
    fake.up().await;
    signal(&child, "-CONT");
    assert_eq!(wait(&mut child, Duration::from_mins(1)).await, Some(true));
    assert!(std::fs::read(blob(cache.path(), &file)).unwrap() == content);
    let allowed = SIZE + SMALL_LANES.most as u64 * SMALL_LANES.range_most.0;
    assert!(fake.sent() <= allowed, "{} of {allowed}", fake.sent());
}
