//! Passes the machine's readings on while someone looks at the status bar.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_hardware::facts::Drivers;
use plimsoll_hardware::{Machine, Sampler};
use plimsoll_os::Environment;
use plimsoll_os::jobs::{Job, Scope};
use plimsoll_wire::{Event, Sample, Settings};
use tokio::sync::{Mutex, watch};

use crate::bus::Bus;
use crate::to_wire;

const EVERY_MS: u32 = 1500;
/// A reading that is older than this is none, and one that comes more often is noise.
const EVERY_MS_RANGE: std::ops::RangeInclusive<u32> = 250..=60_000;

/// The sampler of the machine, started when it is first looked at.
pub(crate) struct SamplerOwner {
    environment: Environment,
    drivers: Drivers,
    bus: Bus,
    jobs: Scope,
    last: watch::Sender<Option<Sample>>,
    /// Someone starts or stops looking about once a minute, and only this decides whether the job runs: an
    /// owner task of its own would hold no more than this.
    looking: Mutex<Looking>,
}

#[derive(Default)]
struct Looking {
    sampler: Option<Arc<Sampler>>,
    watchers: u32,
    /// Dropped with the last watcher; the sampler sleeps then.
    passing_on: Option<Job<()>>,
}

impl SamplerOwner {
    pub(crate) fn new(environment: Environment, drivers: Drivers, bus: Bus, jobs: Scope) -> Self {
        Self {
            environment,
            drivers,
            bus,
            jobs,
            last: watch::Sender::new(None),
            looking: Mutex::new(Looking::default()),
        }
    }

    /// The last reading, while anyone looks.
    pub(crate) fn last(&self) -> Option<Sample> {
        self.last.borrow().clone()
    }

    pub(crate) async fn look(&self, machine: &Machine, settings: &Settings) {
        let mut looking = self.looking.lock().await;
        looking.watchers = looking.watchers.saturating_add(1);
        if looking.passing_on.as_ref().is_some_and(|job| !job.is_finished()) {
            return;
        }
        let every = every(settings);
        let start = || Sampler::start(&self.jobs, machine, every, &self.drivers, &self.environment);
        let sampler = Arc::clone(looking.sampler.get_or_insert_with(|| Arc::new(start())));
        sampler.set_every(every);
        let (bus, last) = (self.bus.clone(), self.last.clone());
        looking.passing_on = Some(self.jobs.start(|stop| async move {
            let mut readings = sampler.watch();
            // A page that vanished without a word no longer listens: then nobody looks.
            while bus.is_heard() {
                tokio::select! {
                    () = stop.cancelled() => break,
                    changed = readings.changed() => if changed.is_err() { break },
                }
                let reading = readings.borrow_and_update().as_ref().map(to_wire::sample);
                if let Some(sample) = reading {
                    last.send_replace(Some(sample.clone()));
                    bus.tell(Event::Sampled { sample });
                }
            }
            last.send_replace(None);
        }));
    }

    pub(crate) async fn look_away(&self) {
        let mut looking = self.looking.lock().await;
        looking.watchers = looking.watchers.saturating_sub(1);
        if looking.watchers == 0 {
            looking.passing_on = None;
        }
    }

    /// How often, once the person has said it anew.
    pub(crate) async fn set_every(&self, settings: &Settings) {
        if let Some(sampler) = &self.looking.lock().await.sampler {
            sampler.set_every(every(settings));
        }
    }

    /// A router that another of our processes owns counts as ours.
    pub(crate) async fn also_ours(&self, router: Option<u32>) {
        if let Some(sampler) = &self.looking.lock().await.sampler {
            sampler.set_also_ours(router.into_iter().collect());
        }
    }
}

fn every(settings: &Settings) -> Duration {
    let ms = settings.sample_every_ms.unwrap_or(EVERY_MS);
    Duration::from_millis(u64::from(
        ms.clamp(*EVERY_MS_RANGE.start(), *EVERY_MS_RANGE.end()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_stays_within_what_makes_sense() {
        let ms = |said| {
            let settings = Settings {
                sample_every_ms: said,
                ..Settings::default()
            };
            every(&settings).as_millis()
        };
        assert_eq!(
            [None, Some(0), Some(5000), Some(u32::MAX)].map(ms),
            [1500, 250, 5000, 60_000]
        );
    }
}
