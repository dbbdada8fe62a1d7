//! The sampler's child, which asks NVML as long as somebody looks.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use plimsoll_hardware::facts::{Drivers, record};
use plimsoll_hardware::{Machine, Sample, Sampler, judge};
use plimsoll_os::jobs::Root;
use plimsoll_os::{Environment, process};
use plimsoll_units::Bytes;
use tokio::sync::watch::Receiver;

use crate::{build, tell};

/// Long enough for a slow machine; nothing waits for it when things are right.
const PATIENCE: Duration = Duration::from_mins(1);
const EVERY: Duration = Duration::from_millis(250);

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, play: &'static str, check: Check| {
        Trial::test(name, move || {
            let place = Place::of(play)?;
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?
                .block_on(check(place));
            Ok(())
        })
    };
    vec![
        trial("cards_are_read_while_someone_looks", "TWO_CARDS", |place| {
            Box::pin(read(place))
        }),
        trial(
            "a_driver_that_hangs_later_costs_one_child",
            "HANGS_LATER",
            |place| Box::pin(hangs_later(place)),
        ),
        // A minute long, and only worth something when nothing else runs.
        trial("what_the_sampler_costs", "TWO_CARDS", |place| {
            Box::pin(cost(place))
        })
        .with_ignored_flag(true),
    ]
}

type Check = fn(Place) -> std::pin::Pin<Box<dyn Future<Output = ()>>>;

/// A machine whose driver is played by a library.
struct Place {
    folder: tempfile::TempDir,
    machine: Machine,
    drivers: Drivers,
    environment: Environment,
}

impl Place {
    fn of(play: &str) -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        build(folder.path(), "libnvidia-ml.so.1", "nvml.c", play)?;
        let environment = Environment::from_pairs([("LD_LIBRARY_PATH", folder.path())]);
        let drivers = Drivers::Child {
            program: std::env::current_exe()?,
        };
        Ok(Self {
            machine: judge(&record(&environment, &drivers)),
            folder,
            drivers,
            environment,
        })
    }

    fn sampler(&self, root: &Root, every: Duration) -> Sampler {
        Sampler::start(
            &root.scope(),
            &self.machine,
            every,
            &self.drivers,
            &self.environment,
        )
    }

    /// The child that watches the cards of this place: the only one that loads the library of this folder.
    fn child(&self) -> Option<u32> {
        let loads = |pid: &u32| {
            let maps = PathBuf::from(format!("/proc/{pid}/maps"));
            let folder = self.folder.path().to_string_lossy().into_owned();
            std::fs::read_to_string(maps).is_ok_and(|maps| maps.contains(&folder))
        };
        process::descendants(process::own_pid())
            .into_iter()
            .find(|pid| loads(pid))
    }
}

async fn until(seen: &mut Receiver<Option<Sample>>, wanted: impl Fn(&Sample) -> bool) -> Sample {
    let coming = seen.wait_for(|one| one.as_ref().is_some_and(&wanted));
    let found = tokio::time::timeout(PATIENCE, coming)
        .await
        .unwrap_or_else(|_| panic!("no such reading came"))
        .unwrap_or_else(|error| panic!("{error}"));
    found.clone().unwrap_or_else(|| unreachable!())
}

async fn read(place: Place) {
    let root = Root::new();
    let sampler = place.sampler(&root, EVERY);
    let mut seen = sampler.watch();
    let sample = until(&mut seen, |sample| sample.devices.len() == 2).await;
    for device in &sample.devices {
        let memory = device.memory;
        // The stand-in says that half of a used GiB belongs to whoever started the child, which is us.
        assert!(device.app_known, "{device:?}");
        assert_eq!(
            (memory.app, memory.others, memory.free),
            (Bytes::mib(512), Bytes::mib(512), Bytes::gib(23)),
            "{device:?}"
        );
    }
    let child = place.child().unwrap_or_else(|| panic!("a child asks"));
    drop(seen);
    assert!(
        gone(child).await,
        "the child is still there although nobody looks"
    );
    let mut again = sampler.watch();
    until(&mut again, |later| {
        later.taken_at_ms > sample.taken_at_ms && later.devices.len() == 2
    })
    .await;
}

async fn hangs_later(place: Place) {
    let root = Root::new();
    let sampler = place.sampler(&root, EVERY);
    let mut seen = sampler.watch();
    let first = until(&mut seen, |sample| sample.devices.len() == 1).await;
    let child = place.child().unwrap_or_else(|| panic!("a child asks"));
    // It hangs by now, and the readings of everything else go on.
    until(&mut seen, |sample| sample.taken_at_ms > first.taken_at_ms + 2000).await;
    assert!(gone(child).await, "the child that hangs is not let go");
    let later = until(&mut seen, |sample| {
        place.child().is_some_and(|other| other != child) && sample.devices.len() == 1
    })
    .await;
    tell(&format!(
        "hung, let go, and read again after {} ms",
        later.taken_at_ms - first.taken_at_ms
    ));
}

async fn cost(place: Place) {
    const MINUTE: Duration = Duration::from_mins(1);
    let root = Root::new();
    let sampler = place.sampler(&root, Duration::from_millis(1500));
    let mut seen = sampler.watch();
    until(&mut seen, |sample| sample.devices.len() == 2).await;
    let child = place.child().unwrap_or_else(|| panic!("a child asks"));
    let us = process::own_pid();
    let before = (busy(us), busy(child));
    let began = Instant::now();
    tokio::time::sleep(MINUTE).await;
    let took = began.elapsed().as_secs_f64();
    // 100 ticks a second, so ticks in a second are percent of a core.
    let share = |before: f64, after: f64| (after - before) / took;
    let (parent, child) = (share(before.0, busy(us)), share(before.1, busy(child)));
    tell(&format!(
        "the sampler over {took:.0} s: {parent:.2} % of one core and {child:.2} % in its child"
    ));
}

/// Ticks of processor time, user and system, as the kernel counts them.
fn busy(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    let stat = stat.unwrap_or_else(|error| panic!("{error}"));
    let fields: Vec<&str> = stat
        .rsplit_once(") ")
        .map_or("", |(_, rest)| rest)
        .split(' ')
        .collect();
    fields[11..13]
        .iter()
        .map(|ticks| ticks.parse::<f64>().unwrap_or(0.0))
        .sum()
}

async fn gone(pid: u32) -> bool {
    for _ in 0..3000 {
        if !process::exists(pid) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}
