//! Passes the machine's readings on while someone looks at the status bar.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_hardware::{Machine, Sampler};
use plimsoll_os::jobs::{Job, Scope};
use plimsoll_wire::{Event, Sample};
use tokio::sync::{Mutex, watch};

use crate::bus::Bus;
use crate::to_wire;

const EVERY: Duration = Duration::from_millis(1500);

/// The sampler of the machine, started when it is first looked at.
pub(crate) struct SamplerOwner {
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
    pub(crate) fn new(bus: Bus, jobs: Scope) -> Self {
        Self {
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

    pub(crate) async fn look(&self, machine: &Machine) {
        let mut looking = self.looking.lock().await;
        looking.watchers = looking.watchers.saturating_add(1);
        if looking.passing_on.as_ref().is_some_and(|job| !job.is_finished()) {
            return;
        }
        let new = || Arc::new(Sampler::start(&self.jobs, machine, EVERY));
        let sampler = Arc::clone(looking.sampler.get_or_insert_with(new));
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

    /// A router that another of our processes owns counts as ours.
    pub(crate) async fn also_ours(&self, router: Option<u32>) {
        if let Some(sampler) = &self.looking.lock().await.sampler {
            sampler.set_also_ours(router.into_iter().collect());
        }
    }
}
