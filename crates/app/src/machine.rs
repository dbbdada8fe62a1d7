//! What this machine is: asked once, and again when a person wants to know anew.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_hardware::facts::{self, Drivers};
use plimsoll_hardware::{Facts, Machine, Overrides, Sourced, judge, measure_host_bandwidth};
use plimsoll_os::jobs::{JobError, Scope};
use plimsoll_os::{Environment, clock};
use plimsoll_units::BytesPerSecond;
use plimsoll_wire::FaultCode;
use tokio::sync::Mutex;

use crate::fault::{Failed, ToFault as _, fault};
use crate::memo::{Bandwidth, Memo};

const MEASURED: &str = "measured";

/// The only one who probes.
pub(crate) struct MachineOwner {
    environment: Environment,
    drivers: Drivers,
    memo: Memo,
    jobs: Scope,
    /// Held while a probe runs, so that two who ask at once get one probe. An owner task would only wait for
    /// the same blocking thread.
    known: Mutex<Option<Known>>,
}

struct Known {
    machine: Arc<Machine>,
    at: Instant,
    /// What was measured of this machine's RAM so far.
    bandwidth: Option<Bandwidth>,
}

impl Known {
    fn is_good_for(&self, freshness: Freshness) -> bool {
        match freshness {
            Freshness::Known => true,
            Freshness::Within(age) => self.at.elapsed() <= age,
            Freshness::Anew => false,
        }
    }

    /// Another source may know the speed; then nothing is measured.
    fn wants_measuring(&self, now_s: i64) -> bool {
        let by_us = |known: &Sourced<BytesPerSecond>| known.source == MEASURED;
        self.machine.memory.bandwidth.as_ref().is_none_or(by_us)
            && self.bandwidth.as_ref().is_none_or(|kept| kept.is_due(now_s))
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

/// What is done about the speed of the RAM, which no system tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RamSpeed {
    /// Given when it was measured before, else left out.
    AsKnown,
    /// Measured when it is not known, or not surely: all processors are busy for a third of a second.
    Measured,
}

/// The machine as plans see it, as it was found, and what lies between.
pub(crate) struct Details {
    pub(crate) machine: Arc<Machine>,
    pub(crate) found: Arc<Machine>,
    pub(crate) overrides: Overrides,
}

impl MachineOwner {
    pub(crate) fn new(environment: Environment, drivers: Drivers, memo: Memo, jobs: Scope) -> Self {
        Self {
            environment,
            drivers,
            memo,
            jobs,
            known: Mutex::new(None),
        }
    }

    /// With the person's own numbers in place of those that were found.
    pub(crate) async fn read(&self, freshness: Freshness, speed: RamSpeed) -> Result<Arc<Machine>, JobError> {
        Ok(self.details(freshness, speed).await?.machine)
    }

    pub(crate) async fn details(&self, freshness: Freshness, speed: RamSpeed) -> Result<Details, JobError> {
        // Asked each time: another of our programs may have changed them.
        let overrides = self.memo.machine_overrides().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the person's own numbers cannot be read");
            Overrides::default()
        });
        let speed = match overrides.bandwidth {
            Some(_) => RamSpeed::AsKnown,
            None => speed,
        };
        let found = self.found(freshness, speed).await?;
        let machine = if overrides.is_empty() {
            Arc::clone(&found)
        } else {
            Arc::new(overrides.apply(&found))
        };
        Ok(Details {
            machine,
            found,
            overrides,
        })
    }

    /// Asks the machine anew and gives what it answered; whoever reads next has what follows from that.
    pub(crate) async fn recorded(&self) -> Result<Facts, JobError> {
        let mut slot = self.known.lock().await;
        let (facts, known) = self.probe().await?;
        *slot = Some(known);
        Ok(facts)
    }

    /// Replaces all that the person said.
    pub(crate) async fn set_overrides(&self, overrides: &Overrides) -> Result<(), Failed> {
        if let Err(error) = overrides.check() {
            let mut fault = fault(FaultCode::BadRequest, [("what", "machine".into())]);
            fault.params.extend(error.to_fault().params);
            fault.trace.push(error.to_string());
            return Err(fault.into());
        }
        Ok(self.memo.keep_machine_overrides(overrides).await?)
    }

    async fn found(&self, freshness: Freshness, speed: RamSpeed) -> Result<Arc<Machine>, JobError> {
        let mut slot = self.known.lock().await;
        let known = match slot.take().filter(|known| known.is_good_for(freshness)) {
            Some(known) => known,
            None => self.probe().await?.1,
        };
        let known = match speed {
            RamSpeed::Measured if known.wants_measuring(clock::now_s()) => self.measured(known).await?,
            RamSpeed::Measured | RamSpeed::AsKnown => known,
        };
        Ok(Arc::clone(&slot.insert(known).machine))
    }

    async fn probe(&self) -> Result<(Facts, Known), JobError> {
        let (environment, drivers) = (self.environment.clone(), self.drivers.clone());
        let probe = move |_| {
            let facts = facts::record(&environment, &drivers);
            let machine = judge(&facts);
            (facts, machine)
        };
        let (facts, mut machine) = self.jobs.start_blocking(probe).await?;
        let kept = self.memo.bandwidth().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the measured bandwidth cannot be read");
            None
        });
        let of = fingerprint(&machine);
        let bandwidth = kept.filter(|kept| kept.machine == of);
        if machine.memory.bandwidth.is_none() {
            machine.memory.bandwidth = bandwidth.as_ref().map(sourced);
        }
        let known = Known {
            machine: Arc::new(machine),
            at: Instant::now(),
            bandwidth,
        };
        Ok((facts, known))
    }

    async fn measured(&self, known: Known) -> Result<Known, JobError> {
        let Some(now) = self.jobs.start_blocking(|_| measure_host_bandwidth()).await? else {
            return Ok(known);
        };
        let seen = Bandwidth {
            machine: fingerprint(&known.machine),
            bytes_per_s: now.read.0,
            quiet: now.quiet,
            settled: false,
            measured_at: clock::now_s(),
        };
        let bandwidth = seen.after(known.bandwidth.as_ref());
        if let Err(error) = self.memo.keep_bandwidth(&bandwidth).await {
            tracing::warn!(%error, "the measured bandwidth is not kept");
        }
        let mut machine = Machine::clone(&known.machine);
        machine.memory.bandwidth = Some(sourced(&bandwidth));
        Ok(Known {
            machine: Arc::new(machine),
            at: known.at,
            bandwidth: Some(bandwidth),
        })
    }
}

fn sourced(bandwidth: &Bandwidth) -> Sourced<BytesPerSecond> {
    Sourced {
        value: BytesPerSecond(bandwidth.bytes_per_s),
        source: MEASURED.to_owned(),
    }
}

/// What measurements depend on, as far as it is known: a home folder may travel to another machine.
pub(crate) fn fingerprint(machine: &Machine) -> String {
    let cpu = &machine.cpu;
    format!(
        "{} {} {}",
        cpu.name,
        cpu.logical_cores,
        machine.memory.total.0 >> 30
    )
}
