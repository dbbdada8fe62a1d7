//! Corrects the table by what was measured on the machine.

use super::cost::{self, Cost, Part, Work, Worker};
use super::place::{Constants, WorkerKind};
use super::{Anchor, Basis, Whole};
use crate::Shape;

/// How firmly the table stands against measurements, as the weight of one that says the same. The time per byte is
/// better known than the floor.
const FIRM_BYTES: f64 = 0.05;
const FIRM_FLOOR: f64 = 0.10;
/// A correction beyond these is a typing error or another machine.
const LEAST: f64 = 0.1;
const MOST: f64 = 10.0;

/// Factors on the parts of a [`Cost`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Learned {
    pub(super) bytes: f64,
    pub(super) floor: f64,
    /// On all of it: from a run of this very model.
    pub(super) own: f64,
    pub(super) prompt: f64,
    pub(super) on_host: bool,
    pub(super) basis: Basis,
    pub(super) runs: u32,
    pub(super) prompt_runs: u32,
}

impl Learned {
    /// What the anchors ran on is corrected; the other side stays as the table has it.
    pub(super) fn token_ms(&self, table: &Cost) -> f64 {
        let corrected = |part: &Part| self.bytes * (part.bytes + part.cache) + self.floor * part.floor;
        let plain = |part: &Part| part.bytes + part.cache + part.floor;
        let (devices, host) = if self.on_host {
            (plain(&table.devices), corrected(&table.host))
        } else {
            (corrected(&table.devices), plain(&table.host))
        };
        self.own * (devices + host)
    }
}

/// One run beside what the table says of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) measured_ms: f64,
    pub(super) table: Part,
}

impl Learned {
    /// What the anchors say of the place that they ran on, whatever is planned there.
    pub(crate) fn of(anchors: &[Anchor], whole: Option<&Whole>) -> Self {
        let mut learned = Self {
            bytes: 1.0,
            floor: 1.0,
            own: 1.0,
            prompt: 1.0,
            on_host: false,
            basis: Basis::Table,
            runs: 0,
            prompt_runs: 0,
        };
        let Some(whole) = whole else { return learned };
        learned.on_host = matches!(whole.worker.kind, WorkerKind::Host { .. });
        let by = Constants::of(whole.worker.kind, whole.worker.bandwidth);
        let mut runs = Vec::new();
        let mut prompts = Vec::new();
        // What is larger than the place was spread over several: nothing is known of how.
        for anchor in anchors
            .iter()
            .filter(|anchor| anchor.shape.file_bytes <= whole.room)
        {
            let work = Work::of(&anchor.shape);
            if let Some(decode) = anchor.decode {
                runs.push(Run {
                    measured_ms: 1e3 / decode,
                    table: cost::token(&work, &by, whole.worker.bandwidth),
                });
            }
            let worker = Worker {
                work,
                share: 1.0,
                ..whole.worker
            };
            let table = cost::cost(&anchor.shape, &[worker], plimsoll_units::Bytes::ZERO);
            if let (Some(prefill), Some(table)) = (anchor.prefill, table) {
                prompts.extend(sound(1e3 / prefill / table.prompt_token_ms()));
            }
        }
        if !runs.is_empty() {
            (learned.bytes, learned.floor) = fit(&runs);
            learned.basis = Basis::Measured;
            learned.runs = count(runs.len());
        }
        prompts.sort_by(f64::total_cmp);
        if let Some(&median) = prompts.get(prompts.len() / 2) {
            learned.prompt = median;
            learned.prompt_runs = count(prompts.len());
            learned.basis = Basis::Measured;
            learned.runs = learned.runs.max(learned.prompt_runs);
        }
        learned
    }

    /// The same for this very model: it ran as it will run again, wherever its parts were.
    pub(super) fn about(mut self, shape: &Shape, anchors: &[Anchor], table: &Cost) -> Self {
        let own = || anchors.iter().rev().filter(|anchor| anchor.is_of(shape));
        if let Some(ratio) = own().find_map(|anchor| sound(1e3 / anchor.decode? / self.token_ms(table))) {
            self.own = ratio;
            self.basis = Basis::OwnRun;
            self.runs = self.runs.max(1);
        }
        if let Some(ratio) = own().find_map(|anchor| sound(1e3 / anchor.prefill? / table.prompt_token_ms())) {
            self.prompt = ratio;
            self.prompt_runs = self.prompt_runs.max(1);
        }
        self
    }
}

fn sound(ratio: f64) -> Option<f64> {
    (ratio.is_finite() && ratio > 0.0).then(|| ratio.clamp(LEAST, MOST))
}

fn count(runs: usize) -> u32 {
    u32::try_from(runs).unwrap_or(u32::MAX)
}

/// Factors on the time for bytes and on the floor that bring the table nearest to the runs: least squares of the
/// relative error, with the table itself as one more, weakly held run for each factor (ridge regression). One run
/// moves both together, three tell them apart.
pub(super) fn fit(runs: &[Run]) -> (f64, f64) {
    // Normal equations of two unknowns.
    let (mut aa, mut ab, mut bb) = (FIRM_BYTES, 0.0, FIRM_FLOOR);
    let (mut ay, mut by) = (FIRM_BYTES, FIRM_FLOOR);
    for run in runs {
        let (a, b) = (
            run.table.bytes / run.measured_ms,
            run.table.floor / run.measured_ms,
        );
        aa += a * a;
        ab += a * b;
        bb += b * b;
        ay += a;
        by += b;
    }
    let determinant = aa * bb - ab * ab;
    let bytes = (ay * bb - by * ab) / determinant;
    let floor = (by * aa - ay * ab) / determinant;
    // Negative when the runs contradict each other: then the table's share is kept.
    let keep = |factor: f64| {
        if factor.is_finite() {
            factor.clamp(LEAST, MOST)
        } else {
            1.0
        }
    };
    (keep(bytes), keep(floor))
}
