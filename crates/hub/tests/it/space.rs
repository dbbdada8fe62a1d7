//! Full disks: before the start by arithmetic, in the middle on a real small volume.

use std::path::Path;
use std::sync::Arc;

use plimsoll_hub::{Archive, Hub, HubError, Unwatched};
use plimsoll_os::files::free_space;
use plimsoll_testkit::hub::FakeFile;
use plimsoll_units::Bytes;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, FILE, REPO, config, done, noise};

#[tokio::test]
async fn a_disk_that_is_too_small_is_told_before_the_first_byte() {
    let bench = Bench::new().await;
    let _ = bench
        .fake
        .commit(REPO, &[(FILE, FakeFile::lfs(noise(100_000, 1)))]);
    let set = bench.set(FILE).await.unwrap();
    let mut config = bench.config();
    config.spare = free_space(bench.cache.path()).unwrap().plus(Bytes::gib(1));
    let refused = Hub::new(config)
        .fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
        .await
        .unwrap_err();
    assert!(
        matches!(refused, HubError::DiskFull { needed, free, .. } if needed > free && free > Bytes::ZERO),
        "{refused:?}"
    );
    assert_eq!(bench.fake.sent(), 0);
}

#[tokio::test]
async fn only_what_is_missing_has_to_fit() {
    let bench = Bench::new().await;
    let file = FakeFile::lfs(noise(100_000, 1));
    let _ = bench.fake.commit(REPO, &[(FILE, file.clone())]);
    let set = bench.set(FILE).await.unwrap();
    std::fs::create_dir_all(bench.folder().join("blobs")).unwrap();
    plimsoll_os::files::replace(&bench.older_part(file.sha256()), &noise(100_000, 1)[..90_000]).unwrap();
    let mut config = bench.config();
    config.spare = free_space(bench.cache.path()).unwrap().plus(Bytes::gib(1));
    let wanted = config.spare.plus(Bytes(10_000));
    let refused = Hub::new(config)
        .fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
        .await
        .unwrap_err();
    assert!(
        matches!(refused, HubError::DiskFull { needed, .. } if needed == wanted),
        "{refused:?}"
    );
}

/// A volume of a few MiB, which only root can make: who cannot is told, not passed over.
#[cfg(target_os = "linux")]
struct SmallVolume(tempfile::TempDir);

#[cfg(target_os = "linux")]
impl SmallVolume {
    fn new(mib: u64) -> Self {
        let at = tempfile::tempdir().unwrap();
        mount(
            &["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"],
            at.path(),
        );
        Self(at)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallVolume {
    fn drop(&mut self) {
        run("umount", &[], self.path());
    }
}

#[cfg(target_os = "linux")]
fn mount(arguments: &[&str], at: &Path) {
    assert!(
        run("mount", arguments, at),
        "a small volume could not be mounted: this test needs root, or sudo without a password"
    );
}

#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "mounting is no business of the crate under test"
)]
fn run(program: &str, arguments: &[&str], at: &Path) -> bool {
    let succeeds = |command: &mut std::process::Command| {
        command
            .args(arguments)
            .arg(at)
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    succeeds(&mut std::process::Command::new(program))
        || succeeds(std::process::Command::new("sudo").args(["-n", program]))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_disk_that_fills_up_in_the_middle_loses_nothing() {
    let bench = Bench::new().await;
    let names = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"];
    let contents = [noise(1 << 20, 1), noise(2 << 20, 2)];
    let files = contents.clone().map(FakeFile::lfs);
    let _ = bench.fake.commit(
        REPO,
        &[(names[0], files[0].clone()), (names[1], files[1].clone())],
    );
    let volume = SmallVolume::new(4);
    let mut config = config(&bench.fake.endpoint(), volume.path());
    // The second file gets its place when the first is nearly here, and not before.
    config.lanes = crate::support::SMALL_LANES;
    config.lanes.range_most = Bytes::kib(128);
    let hub = bench.hub_with(config);
    let set = hub
        .file_set(&format!("{REPO}/{}", names[0]).parse().unwrap())
        .await
        .unwrap();

    // Somebody else takes the space after it was found free.
    let hog = volume.path().join("hog");
    let (taken, content_of_hog) = (hog.clone(), vec![0; 2 << 20]);
    let watch = Arc::new(WhenMoving(std::sync::Mutex::new(Some(move || {
        plimsoll_os::files::replace(&taken, &content_of_hog).unwrap();
    }))));
    bench
        .fake
        .pace(Some((16 << 10, std::time::Duration::from_millis(4))));
    let refused = hub
        .fetch(&set, watch, &CancellationToken::new())
        .await
        .unwrap_err();
    let HubError::DiskFull { needed, free, .. } = &refused else {
        panic!("{refused:?}")
    };
    assert!(refused.is_passing() && needed > free, "{refused:?}");
    let blob = |n: usize| {
        volume
            .path()
            .join("models--org--model-GGUF/blobs")
            .join(files[n].sha256())
    };
    assert!(!blob(1).exists(), "nothing shows that is not whole");

    bench.fake.pace(None);
    let still = hub
        .fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
        .await;
    assert!(
        matches!(still, Err(HubError::DiskFull { .. })),
        "before the first byte now: {still:?}"
    );
    plimsoll_os::files::remove_file(&hog).unwrap();
    let (paths, _) = done(
        hub.fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
            .await,
    );
    for (path, content) in paths.iter().zip(&contents) {
        assert!(std::fs::read(path).unwrap() == *content, "{}", path.display());
    }
    let left = bench.fake.sent();
    assert!(left <= (3 << 20) + (1 << 20), "{left} bytes left the hub");
}

/// What one transfer still has to put there is no room for another, though each would fit alone.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn all_that_is_under_way_has_to_fit_together() {
    let bench = Bench::new().await;
    let names = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"];
    let files = [noise(2 << 20, 1), noise(3 << 20, 2)].map(FakeFile::lfs);
    let _ = bench.fake.commit(
        REPO,
        &[(names[0], files[0].clone()), (names[1], files[1].clone())],
    );
    let engine = noise(4 << 20, 3);
    let archive = Archive {
        bytes: Bytes(4 << 20),
        sha256: FakeFile::lfs(engine.clone()).sha256().to_owned(),
        url: bench.fake.release("download/b1/engine.tar.gz", engine),
    };
    let volume = SmallVolume::new(8);
    let mut config = config(&bench.fake.endpoint(), &volume.path().join("cache"));
    config.lanes = crate::support::SMALL_LANES;
    config.lanes.range_most = Bytes::kib(128);
    let hub = bench.hub_with(config);
    let set = hub
        .file_set(&format!("{REPO}/{}", names[0]).parse().unwrap())
        .await
        .unwrap();
    let to = volume.path().join("engines").join("engine.tar.gz");

    // As a plan, before anything begins.
    let sum = Bytes(9 << 20);
    let refused = hub.check_plan(Some(&set), &[(&archive, &to)], &[]).unwrap_err();
    assert!(
        matches!(&refused, HubError::DiskFull { needed, free, .. } if *needed == sum && *free < sum),
        "{refused:?}"
    );
    hub.check_plan(Some(&set), &[], &[]).unwrap();
    hub.check_plan(None, &[(&archive, &to)], &[]).unwrap();
    hub.check_plan(
        None,
        &[(&archive, &to)],
        &[(volume.path().join("engines"), Bytes(9 << 20))],
    )
    .unwrap_err();

    // And when the second is asked for while the first is on its way.
    bench
        .fake
        .pace(Some((16 << 10, std::time::Duration::from_millis(8))));
    let stop = CancellationToken::new();
    let fetching = hub.fetch(&set, Arc::new(Unwatched), &stop);
    let second = async {
        while bench.fake.sent() < 300_000 {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        let second = hub
            .fetch_url(&archive, &to, Arc::new(Unwatched), &CancellationToken::new())
            .await;
        stop.cancel();
        second
    };
    let (_, second) = tokio::join!(fetching, second);
    assert!(
        matches!(&second, Err(HubError::DiskFull { needed, free, .. }) if needed > free),
        "{second:?}"
    );
    assert!(!to.exists());

    // The one that stopped holds nothing back but what it has.
    bench.fake.pace(None);
    done(
        hub.fetch_url(&archive, &to, Arc::new(Unwatched), &CancellationToken::new())
            .await,
    );
    plimsoll_os::files::remove_file(&to).unwrap();
    done(
        hub.fetch(&set, Arc::new(Unwatched), &CancellationToken::new())
            .await,
    );
}

/// Does something once, as soon as bytes move.
#[cfg(target_os = "linux")]
struct WhenMoving<F: FnOnce() + Send>(std::sync::Mutex<Option<F>>);

#[cfg(target_os = "linux")]
impl<F: FnOnce() + Send> plimsoll_hub::Watcher for WhenMoving<F> {
    fn moved(&self, done: Bytes, _: Bytes) {
        if done > Bytes::ZERO
            && let Some(act) = self.0.lock().unwrap().take()
        {
            act();
        }
    }
}
