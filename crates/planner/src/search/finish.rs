//! From settings that work to a plan: what fills with use, the speed, the reasons.

use plimsoll_units::Bytes;

use super::{DEPTH, PROMPT_TOKENS, Search};
use crate::attempt::Attempt;
use crate::overhead::{Overhead, Part};
use crate::plan::{Memory, Plan, PlannedModel, Verdict};
use crate::settings::{DeviceUse, Settings};
use crate::{Basis, Draft, Why};

const CACHE_MOST: Bytes = Bytes::gib(1);
const CACHE_STEP: u64 = 64 << 20;
const CHECKPOINTS_MOST: u64 = 4;

impl Search<'_> {
    pub(super) fn finish(&self, mut attempt: Attempt, verdict: Verdict) -> Plan {
        let (cache_ram, checkpoints) = self.add_what_fills(&mut attempt, verdict);
        let mut why = self.reasons(&attempt, verdict);
        let prompt = self.wishes.prompt_tokens.unwrap_or(PROMPT_TOKENS);
        let depth = self.wishes.prompt_tokens.unwrap_or(DEPTH);
        let speed = match self.bench.speed(&attempt.load, attempt.used, prompt, depth) {
            Ok(speed) => Some(speed),
            Err(part) => {
                why.push(Why::BandwidthUnknown { part });
                None
            }
        };
        if let Some(speed) = &speed {
            match speed.basis {
                Basis::Table => {}
                Basis::Measured => why.push(Why::SpeedMeasured { runs: speed.runs }),
                Basis::OwnRun => why.push(Why::SpeedOfOwnRun),
            }
            if self.wishes.batch.is_none() {
                let batch = attempt.load.batch;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a positive number of milliseconds"
                )]
                let ms = (1e3 * f64::from(batch) / speed.prefill.mid).clamp(1.0, 1e6) as u32;
                why.push(Why::BatchChosen { batch, ms });
            }
        }
        let devices = match self.bench.used(attempt.used) {
            [] => DeviceUse::None,
            [one] if self.bench.devices().len() > 1 => DeviceUse::One(one.number),
            _ => DeviceUse::All,
        };
        let mut settings = Settings::of(&attempt.load, devices, attempt.load_mode);
        settings.cache_ram = cache_ram;
        settings.checkpoints = checkpoints;
        settings.draft = self.draft().map(Draft::kind);
        let memory = Memory::of(attempt.devices, attempt.host, !self.shape.is_known());
        Plan {
            model: PlannedModel::of(self.shape),
            settings,
            verdict,
            why,
            memory,
            speed,
        }
    }

    /// The host memory that fills with use gets a share of what is left, never what the model itself needs.
    fn add_what_fills(&self, attempt: &mut Attempt, verdict: Verdict) -> (Bytes, Option<u32>) {
        let left = || {
            if verdict == Verdict::TooBig {
                Bytes::ZERO
            } else {
                attempt.host.budget.less(attempt.host.total())
            }
        };
        let quarter = Bytes(left().0 / 4);
        let context: Bytes = attempt.context();
        let cache = self.wishes.cache_ram.unwrap_or_else(|| {
            let wanted = context.times(2).round_up(CACHE_STEP).min(CACHE_MOST).min(quarter);
            Bytes(wanted.0 / CACHE_STEP * CACHE_STEP)
        });
        let one = crate::memory::checkpoint_bytes(self.shape, &attempt.load).times(u64::from(self.slots()));
        let forgets = self.shape.forgets() && one > Bytes::ZERO;
        let checkpoints = forgets.then(|| (quarter.0 / one.0).min(CHECKPOINTS_MOST));
        if cache > Bytes::ZERO {
            attempt
                .host
                .overhead
                .push(Overhead::filling(Part::PromptCache, cache));
        }
        if let Some(count) = checkpoints.filter(|&count| count > 0) {
            attempt
                .host
                .overhead
                .push(Overhead::filling(Part::Checkpoints, one.times(count)));
        }
        (cache, checkpoints.and_then(|count| u32::try_from(count).ok()))
    }
}
