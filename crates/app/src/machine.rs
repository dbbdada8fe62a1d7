//! What this machine is: asked once, and again when a person wants to know anew.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_hardware::facts::{self, NvmlThrough};
use plimsoll_hardware::{Machine, Sourced, judge, measure_host_bandwidth};
use plimsoll_os::Environment;
use plimsoll_os::jobs::{JobError, Scope};
use plimsoll_units::BytesPerSecond;
use tokio::sync::Mutex;

use crate::memo::{Bandwidth, Memo};

const MEASURED: &str = "measured";

/// The only one who probes.
pub(crate) struct MachineOwner {
    environment: Environment,
    drivers: NvmlThrough,
    memo: Memo,
    jobs: Scope,
    /// Held while a probe runs, so that two who ask at once get one probe. An owner task would only wait for
    /// the same blocking thread.
    known: Mutex<Option<Known>>,
}

struct Known {
    machine: Arc<Machine>,
    at: Instant,
}

impl Known {
    fn is_good_for(&self, freshness: Freshness) -> bool {
        match freshness {
            Freshness::Known => true,
            Freshness::Within(age) => self.at.elapsed() <= age,
            Freshness::Anew => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// The last answer is good enough.
    Known,
    /// Good enough unless it is older than this.
    Within(Duration),
    /// Ask the machine again.
    Anew,
}

impl MachineOwner {
    pub(crate) fn new(environment: Environment, drivers: NvmlThrough, memo: Memo, jobs: Scope) -> Self {
        Self {
            environment,
            drivers,
            memo,
            jobs,
            known: Mutex::new(None),
        }
    }

    pub(crate) async fn read(&self, freshness: Freshness) -> Result<Arc<Machine>, JobError> {
        let mut known = self.known.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.is_good_for(freshness)) {
            return Ok(Arc::clone(&known.machine));
        }
        let (environment, drivers) = (self.environment.clone(), self.drivers.clone());
        let probe = move |_| judge(&facts::record(&environment, &drivers));
        let mut machine = self.jobs.start_blocking(probe).await?;
        if machine.memory.bandwidth.is_none() {
            machine.memory.bandwidth = self.bandwidth(&machine).await?;
        }
        let machine = Arc::new(machine);
        *known = Some(Known {
            machine: Arc::clone(&machine),
            at: Instant::now(),
        });
        Ok(machine)
    }

    /// Measured once per machine and kept: it takes a third of a second of all processors.
    async fn bandwidth(&self, machine: &Machine) -> Result<Option<Sourced<BytesPerSecond>>, JobError> {
        let of = fingerprint(machine);
        let kept = self.memo.bandwidth().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the measured bandwidth cannot be read; measuring again");
            None
        });
        let kept = kept.filter(|kept| kept.machine == of);
        if let Some(kept) = kept {
            return Ok(Some(measured(BytesPerSecond(kept.bytes_per_s))));
        }
        let Some(now) = self.jobs.start_blocking(|_| measure_host_bandwidth()).await? else {
            return Ok(None);
        };
        // One that something else disturbed is too low: good enough for now, not for keeping.
        if now.quiet {
            let kept = Bandwidth {
                machine: of,
                bytes_per_s: now.read.0,
            };
            if let Err(error) = self.memo.keep_bandwidth(&kept).await {
                tracing::warn!(%error, "the measured bandwidth is not kept");
            }
        }
        Ok(Some(measured(now.read)))
    }
}

fn measured(value: BytesPerSecond) -> Sourced<BytesPerSecond> {
    Sourced {
        value,
        source: MEASURED.to_owned(),
    }
}

/// What the bandwidth depends on, as far as it is known: a home folder may travel to another machine.
fn fingerprint(machine: &Machine) -> String {
    let cpu = &machine.cpu;
    format!(
        "{} {} {}",
        cpu.name,
        cpu.logical_cores,
        machine.memory.total.0 >> 30
    )
}
