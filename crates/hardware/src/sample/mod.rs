//! The live reading for the status bar: one task, that sleeps while nobody looks.

mod drm;
mod gauge;
mod graphics;
mod nvidia;
mod split;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_os::Environment;
use plimsoll_os::jobs::{Job, Scope};
use plimsoll_units::Bytes;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::Machine;
use crate::facts::Drivers;
use gauge::Gauge;
use nvidia::NvidiaWatch;
pub(crate) use nvidia::serve as serve_nvidia;

/// Never more often than this; the processor load between two looks would be noise.
const EVERY_MIN: Duration = Duration::from_millis(250);

/// One reading.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub taken_at_ms: i64,
    /// 0 to 100, of all processors together.
    pub cpu_percent: f64,
    pub memory: MemoryUse,
    /// Those that can be read while they work; a device whose memory is the RAM is in `memory`.
    pub devices: Vec<DeviceUse>,
}

/// `app` + `others` + `free` = `total`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryUse {
    pub total: Bytes,
    /// Our processes, with the weights they have mapped.
    pub app: Bytes,
    pub others: Bytes,
    pub free: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceUse {
    pub id: String,
    pub name: String,
    pub memory: MemoryUse,
    /// The driver does not say whose memory it is; then all that is used is under `others`.
    pub app_known: bool,
}

/// What the sampler is to do; changing it takes effect at once.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wishes {
    every: Duration,
    /// Processes of ours that are no children of this one.
    also: Vec<u32>,
}

/// A handle on the task; dropping it ends the task.
#[derive(Debug)]
pub struct Sampler {
    told: watch::Sender<Option<Sample>>,
    wishes: watch::Sender<Wishes>,
    someone_looks: Arc<Notify>,
    _job: Job<()>,
}

impl Sampler {
    /// Reads the memory of `machine` and its devices, and the load of the processors, once `every` so often. NVIDIA's
    /// cards are asked in a child that ends when nobody looks; without a program for it they are left out.
    #[must_use]
    pub fn start(
        scope: &Scope,
        machine: &Machine,
        every: Duration,
        drivers: &Drivers,
        environment: &Environment,
    ) -> Self {
        let told = watch::Sender::new(None);
        let wishes = watch::Sender::new(Wishes {
            every: every.max(EVERY_MIN),
            also: Vec::new(),
        });
        let someone_looks = Arc::new(Notify::new());
        let owner = Owner {
            told: told.clone(),
            wishes: wishes.subscribe(),
            someone_looks: Arc::clone(&someone_looks),
            scope: scope.clone(),
            gauge: Gauge::new(machine),
            nvidia: NvidiaWatch::of(machine, drivers, environment),
        };
        let job = scope.start(|stop| owner.run(stop));
        Self {
            told,
            wishes,
            someone_looks,
            _job: job,
        }
    }

    /// Readings arrive here until the receiver is dropped; with the last one gone the task sleeps. The first
    /// value is the last that anybody saw, or nothing.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Option<Sample>> {
        let receiver = self.told.subscribe();
        self.someone_looks.notify_one();
        receiver
    }

    pub fn set_every(&self, every: Duration) {
        self.wishes
            .send_modify(|wishes| wishes.every = every.max(EVERY_MIN));
    }

    /// Processes that count as ours besides this one and all it started: a router that another of our programs
    /// owns. Their children count as well.
    pub fn set_also_ours(&self, pids: Vec<u32>) {
        self.wishes.send_modify(|wishes| wishes.also = pids);
    }
}

struct Owner {
    told: watch::Sender<Option<Sample>>,
    wishes: watch::Receiver<Wishes>,
    someone_looks: Arc<Notify>,
    scope: Scope,
    gauge: Gauge,
    nvidia: NvidiaWatch,
}

impl Owner {
    async fn run(mut self, stop: CancellationToken) {
        // The first look only sets the mark that the processor load is counted from.
        let mut rest = EVERY_MIN;
        loop {
            if self.told.receiver_count() == 0 {
                self.nvidia.rest();
                tokio::select! { biased;
                    () = stop.cancelled() => return,
                    () = self.someone_looks.notified() => {}
                }
                self.gauge.forget_load();
                rest = EVERY_MIN;
            }
            let wishes = self.wishes.borrow_and_update().clone();
            let cards = self.nvidia.ask().await;
            // Files block; the gauge travels to a thread for that and comes back.
            let mut gauge = self.gauge;
            let look = self.scope.start_blocking(move |_| {
                let sample = gauge.look(&wishes.also, &cards);
                (gauge, sample)
            });
            let Ok((gauge, sample)) = look.await else { return };
            self.gauge = gauge;
            if let Some(sample) = sample {
                self.told.send_replace(Some(sample));
                rest = wishes.every;
            }
            tokio::select! { biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(rest) => {}
                changed = self.wishes.changed() => if changed.is_err() { return },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_os::jobs::{Ending, Root};

    use super::*;

    #[tokio::test]
    async fn looks_while_someone_watches_and_sleeps_otherwise() {
        let root = Root::new();
        let nothing = Environment::default();
        let machine = crate::judge(&crate::facts::record(&nothing, &Drivers::Thread));
        let sampler = Sampler::start(&root.scope(), &machine, EVERY_MIN, &Drivers::Thread, &nothing);
        let mut seen = sampler.watch();
        let first = seen.wait_for(Option::is_some).await.unwrap().clone().unwrap();
        let memory = first.memory;
        assert_eq!(
            memory.app.plus(memory.others).plus(memory.free),
            memory.total,
            "{memory:?}"
        );
        assert!(memory.app > Bytes::mib(1), "we are somebody: {memory:?}");
        assert!((0.0..=100.0).contains(&first.cpu_percent), "{first:?}");
        drop(seen);
        // Whatever look was under way is over after this; then nothing may change any more.
        tokio::time::sleep(EVERY_MIN * 3).await;
        let asleep = sampler.told.borrow().clone();
        tokio::time::sleep(EVERY_MIN * 3).await;
        assert_eq!(*sampler.told.borrow(), asleep, "looked although nobody watched");
        let mut again = sampler.watch();
        again.wait_for(|sample| *sample != asleep).await.unwrap();
        drop((again, sampler));
        assert_eq!(root.end(Duration::from_secs(10)).await, Ending::AllEnded);
    }
}
