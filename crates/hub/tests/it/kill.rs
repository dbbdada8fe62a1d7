//! A process of its own that fetches and is killed in the middle, again and again.

use std::time::{Duration, Instant};

use plimsoll_hub::Hub;
use plimsoll_testkit::hub::{At, FakeFile};
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, FILE, REPO, config, done, noise};

const SIZE: u64 = 4 << 20;
/// At most this much lies in sockets and buffers of a process that is killed.
const ON_THE_WAY: u64 = 1 << 20;

/// Not a test of its own: the process that the test below starts and kills.
#[tokio::test]
#[ignore = "started by a_killed_transfer_goes_on_from_what_is_on_disk"]
async fn fetch_in_a_process_of_its_own() {
    let environment = plimsoll_os::Environment::read();
    let (Some(endpoint), Some(cache)) = (
        environment.filled("TEST_ENDPOINT"),
        environment.path("TEST_CACHE"),
    ) else {
        panic!("this one is started by its parent only");
    };
    let hub = Hub::new(config(endpoint, &cache));
    let set = hub
        .file_set(&format!("{REPO}/{FILE}").parse().unwrap())
        .await
        .unwrap();
    done(
        hub.fetch(
            &set,
            std::sync::Arc::new(plimsoll_hub::Unwatched),
            &CancellationToken::new(),
        )
        .await,
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "the child has to be killed without its knowledge"
)]
fn start_child(bench: &Bench) -> std::process::Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "kill::fetch_in_a_process_of_its_own",
            "--ignored",
            "--nocapture",
        ])
        .env("TEST_ENDPOINT", bench.fake.endpoint())
        .env("TEST_CACHE", bench.cache.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_transfer_goes_on_from_what_is_on_disk() {
    let bench = Bench::new().await;
    let file = FakeFile::lfs(noise(usize::try_from(SIZE).unwrap(), 1));
    let _ = bench.fake.commit(REPO, &[(FILE, file.clone())]);
    bench.fake.pace(Some((32 << 10, Duration::from_millis(4))));

    let part = bench.part(file.sha256());
    let length = || std::fs::metadata(&part).map_or(0, |about| about.len());
    let mut kept = Vec::new();
    for round in 1..=4_u64 {
        let mut child = start_child(&bench);
        let until = Instant::now() + Duration::from_mins(1);
        while length() < round * 600_000 {
            assert!(
                Instant::now() < until,
                "the child does not get on: {} bytes in round {round}",
                length()
            );
            assert!(
                child.try_wait().unwrap().is_none(),
                "the child ended by itself in round {round}"
            );
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kept.push(length());
    }
    assert!(kept.is_sorted(), "nothing on disk was given up: {kept:?}");

    bench.fake.pace(None);
    let set = bench.set(FILE).await.unwrap();
    let (paths, traffic) = done(bench.fetch(&set).await.0);
    assert_eq!(Some(&traffic.kept.0), kept.last());
    assert_eq!(traffic.received.0, SIZE - traffic.kept.0);
    assert_eq!(
        std::fs::read(&paths[0]).unwrap(),
        noise(usize::try_from(SIZE).unwrap(), 1)
    );
    let connections = bench.fake.seen_at(At::Data).len() as u64;
    assert_eq!(connections, 5);
    assert!(
        bench.fake.sent() <= SIZE + 4 * ON_THE_WAY,
        "{} bytes left the hub",
        bench.fake.sent()
    );
}
