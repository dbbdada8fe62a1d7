//! Finds the settings for a model on a machine.

mod finish;
mod slots;
#[cfg(test)]
mod tests;

use plimsoll_units::Bytes;

use crate::attempt::{Bench, Trial, Used};
use crate::memory::{CacheType, Load, Outputs};
use crate::plan::{Plan, Verdict};
use crate::{Draft, Goal, PlanError, Shape, Situation, Wishes};

/// Contexts that are tried, largest first: more than the first is for those who ask.
pub(crate) const CONTEXTS: [u32; 9] = [32_768, 24_576, 16_384, 12_288, 8_192, 6_144, 4_096, 2_048, 1_024];
/// Tried above those when the context is what matters.
const LONG_CONTEXTS: [u32; 8] = [
    1_048_576, 524_288, 262_144, 196_608, 131_072, 98_304, 65_536, 49_152,
];
/// As much as a conversation needs.
const CONVERSATION: u32 = 8_192;
/// A context at least this long is worth more than a cache in full precision; then the next; then whatever fits.
const COMFORTABLE: [u32; 3] = [16_384, 8_192, 0];
/// A prompt whose first word is told when nobody says how long it is: instructions, tools and a question.
const PROMPT_TOKENS: u32 = 2_048;
/// Tokens after which the speed of an answer is told when nobody says how long the prompt is.
const DEPTH: u32 = 512;
/// A prompt is read in pieces of at most this long, so that stopping is felt at once.
const PIECE_MS: f64 = 400.0;

/// Makes a plan. Pure: the same questions give the same plan.
pub fn plan(shape: &Shape, situation: &Situation, wishes: &Wishes) -> Result<Plan, PlanError> {
    wishes.check()?;
    if wishes.slots.is_none() && wishes.choose_slots {
        return Ok(slots::choose(shape, situation, wishes));
    }
    Ok(settle(shape, situation, wishes))
}

fn settle(shape: &Shape, situation: &Situation, wishes: &Wishes) -> Plan {
    let bench = Bench::new(shape, situation, wishes);
    let search = Search {
        shape,
        bench: &bench,
        wishes,
    };
    let (trial, verdict) = search.best();
    search.finish(bench.tell(trial), verdict)
}

/// Where the weights go.
#[derive(Debug, Clone, Copy)]
enum Place {
    Devices,
    ExpertsOnHost,
    SomeLayers,
}

/// Ways to place a model with the shortest context that each is worth.
const WAYS: [(Place, u32); 8] = [
    (Place::Devices, 8_192),
    (Place::ExpertsOnHost, 8_192),
    (Place::Devices, 4_096),
    (Place::ExpertsOnHost, 4_096),
    (Place::SomeLayers, 4_096),
    (Place::Devices, 0),
    (Place::ExpertsOnHost, 0),
    (Place::SomeLayers, 0),
];

pub(crate) struct Search<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) bench: &'a Bench<'a>,
    pub(crate) wishes: &'a Wishes,
}

impl Search<'_> {
    /// Longer than this a slot cannot use.
    pub(crate) fn context_most(&self) -> u32 {
        self.shape.context_trained.saturating_mul(self.slots())
    }

    fn draft(&self) -> Option<&Draft> {
        let wish = self.wishes.draft.as_ref();
        wish.filter(|draft| draft.suits(self.shape))
    }

    fn slots(&self) -> u32 {
        self.wishes.slots.unwrap_or(1)
    }

    fn contexts(&self) -> Vec<u32> {
        let most = self.context_most();
        if let Some(asked) = self.wishes.context {
            return vec![asked.min(most)];
        }
        let (longer, limit) = match self.wishes.goal {
            Goal::Balanced => (&[][..], CONTEXTS[0]),
            Goal::LongestContext => (&LONG_CONTEXTS[..], u32::MAX),
            Goal::Fastest => (&[][..], CONVERSATION),
        };
        let most = most.min(limit);
        let all = longer.iter().copied().chain(CONTEXTS);
        let mut list: Vec<u32> = all.filter(|&context| context <= most).collect();
        if !list.contains(&most) {
            list.insert(0, most);
        }
        list
    }

    fn cache_types(&self) -> Vec<CacheType> {
        match (self.wishes.kv, self.wishes.goal) {
            (Some(kind), _) => vec![kind],
            (None, Goal::Balanced | Goal::Fastest) => vec![CacheType::F16, CacheType::Q8_0],
            (None, Goal::LongestContext) => CacheType::ALL.to_vec(),
        }
    }

    fn load(&self, context: u32, kind: CacheType) -> Load {
        Load {
            context,
            slots: self.slots(),
            unified: true,
            key_type: kind,
            value_type: kind,
            batch: 0,
            ubatch: 0,
            flash_attention: true,
            outputs: self.wishes.outputs.unwrap_or(Outputs::Server),
            gpu_layers: 0,
            tensor_split: Vec::new(),
            host_experts: 0,
            rollback: self.draft().map_or(0, |draft| draft.rollback(self.shape)),
        }
    }

    /// Settings from the most to the least comfortable.
    fn loads(&self) -> Vec<Load> {
        let contexts = self.contexts();
        if self.wishes.goal == Goal::LongestContext {
            let kinds = self.cache_types();
            return contexts
                .iter()
                .flat_map(|&context| kinds.iter().map(move |&kind| (context, kind)))
                .map(|(context, kind)| self.load(context, kind))
                .collect();
        }
        let mut out = Vec::new();
        let mut above = u32::MAX;
        for least in COMFORTABLE {
            let least = least.min(self.context_most());
            for kind in self.cache_types() {
                let fitting = contexts
                    .iter()
                    .filter(|&&context| context >= least && context < above);
                out.extend(fitting.map(|&context| self.load(context, kind)));
            }
            above = above.min(least);
        }
        if out.is_empty() {
            // Only when a wish names the context: it is in no tier but must be tried.
            let kinds = self.cache_types();
            out.extend(
                contexts
                    .iter()
                    .flat_map(|&context| kinds.iter().map(move |&kind| (context, kind)))
                    .map(|(context, kind)| self.load(context, kind)),
            );
        }
        out
    }

    pub(crate) fn layers(&self) -> u32 {
        self.shape.layers_all()
    }

    fn best(&self) -> (Trial, Verdict) {
        let loads = self.loads();
        if self.bench.devices().is_empty() {
            // A device too small for anything is a device all the same.
            let verdict = if self.bench.ground.devices.is_empty() {
                Verdict::Fits
            } else {
                Verdict::Spills
            };
            return self.on_host_only(&loads, verdict);
        }
        if self.wishes.gpu_layers.is_some() {
            return self.as_told(&loads);
        }
        if let Some(found) = self.with_devices(&loads) {
            return found;
        }
        let (trial, verdict) = self.on_host_only(&loads, Verdict::Spills);
        if verdict != Verdict::TooBig {
            return (trial, verdict);
        }
        (self.least_bad(&loads, trial), Verdict::TooBig)
    }

    /// The first way that works, best first: neither the context nor the placement always gives way before the other.
    fn with_devices(&self, loads: &[Load]) -> Option<(Trial, Verdict)> {
        let most = loads.iter().map(|load| load.context).max()?;
        if self.wishes.goal == Goal::LongestContext {
            return loads.iter().find_map(|load| {
                let way = |place| self.placed(place, load);
                let fitting = way(Place::Devices)
                    .or_else(|| way(Place::ExpertsOnHost))
                    .or_else(|| way(Place::SomeLayers));
                // Rather all of a long context in the RAM than part of it on a device.
                fitting.or_else(|| Some((self.quick(load.clone(), Used::NONE)?, Verdict::Spills)))
            });
        }
        // Contexts from these on were tried in this place already, and did not fit.
        let mut tried = [u32::MAX; 3];
        WAYS.iter().find_map(|&(place, least)| {
            let least = least.min(most);
            let above = std::mem::replace(&mut tried[place as usize], least);
            let untried = || {
                let range = least..above;
                loads.iter().filter(move |load| range.contains(&load.context))
            };
            // What the least demanding cannot do none can.
            let possible = untried().next_back().is_some_and(|load| self.could(place, load));
            let mut untried = untried().filter(|_| possible);
            untried.find_map(|load| self.placed(place, load))
        })
    }

    fn placed(&self, place: Place, load: &Load) -> Option<(Trial, Verdict)> {
        match place {
            Place::Devices if self.wishes.host_experts.is_some_and(|count| count > 0) => None,
            Place::Devices => Some((self.all_on_devices(load)?, Verdict::Fits)),
            Place::ExpertsOnHost if !self.shape.has_experts() => None,
            Place::ExpertsOnHost => Some((self.experts_on_host(load)?, Verdict::Spills)),
            Place::SomeLayers => Some((self.some_on_devices(load)?, Verdict::Spills)),
        }
    }

    /// False when there is no room for such settings beside even the smallest buffers. Says nothing where the division
    /// over devices has a part in it.
    fn could(&self, place: Place, load: &Load) -> bool {
        if self.bench.plods() || self.bench.devices().len() != 1 || self.wishes.tensor_split.is_some() {
            return true;
        }
        let used = self.bench.all();
        match place {
            Place::Devices => self.bench.could(&self.with_batch(self.whole(load), used), used),
            Place::ExpertsOnHost => {
                let told = self.wishes.host_experts.is_some();
                told || self
                    .first(1, self.layers(), |count| self.with_experts_on_host(load, count))
                    .is_some()
            }
            Place::SomeLayers => {
                let most = self.layers().saturating_sub(1);
                self.first(0, most, |left| self.without_layers(load, left))
                    .is_some()
            }
        }
    }

    /// Everything in the RAM.
    fn on_host_only(&self, loads: &[Load], verdict: Verdict) -> (Trial, Verdict) {
        for load in loads {
            let Some(trial) = self.quick(load.clone(), Used::NONE) else {
                continue;
            };
            // A long context may take no more than half of what the weights leave.
            let host = self.bench.host(&trial);
            let spare = Bytes(host.budget.less(host.total.less(host.context)).0 / 2);
            let modest = load.context <= COMFORTABLE[1]
                || self.wishes.context.is_some()
                || self.wishes.goal == Goal::LongestContext
                || host.context <= spare;
            if modest {
                return (trial, verdict);
            }
        }
        let trial = self.attempt(self.least(loads), Used::NONE);
        let verdict = if trial.fits() { verdict } else { Verdict::TooBig };
        (trial, verdict)
    }

    /// The least demanding of the settings.
    fn least(&self, loads: &[Load]) -> Load {
        let last = loads.last().cloned();
        last.unwrap_or_else(|| self.load(CONTEXTS[8], CacheType::Q8_0))
    }

    /// The person says how many layers; llama.cpp's own rule says where.
    fn as_told(&self, loads: &[Load]) -> (Trial, Verdict) {
        let all = self.layers().saturating_add(1);
        let layers = self.wishes.gpu_layers.unwrap_or(all).min(all);
        let used = if layers == 0 { Used::NONE } else { self.bench.all() };
        let told = |load: &Load| Load {
            gpu_layers: layers,
            tensor_split: self.wishes.tensor_split.clone().unwrap_or_default(),
            host_experts: self.wishes.host_experts.unwrap_or(0),
            ..load.clone()
        };
        let spills = layers < all || (self.shape.has_experts() && self.wishes.host_experts.unwrap_or(0) > 0);
        let verdict = if spills { Verdict::Spills } else { Verdict::Fits };
        if let Some(trial) = loads.iter().find_map(|load| self.quick(told(load), used)) {
            return (trial, verdict);
        }
        (self.attempt(told(&self.least(loads)), used), Verdict::TooBig)
    }

    /// All layers on devices.
    fn whole(&self, load: &Load) -> Load {
        Load {
            gpu_layers: self.layers().saturating_add(1),
            ..load.clone()
        }
    }

    fn with_experts_on_host(&self, load: &Load, count: u32) -> Load {
        Load {
            host_experts: count,
            ..self.whole(load)
        }
    }

    /// All layers but so many on devices: counted from the other end, so that the smallest number is the best.
    fn without_layers(&self, load: &Load, left: u32) -> Load {
        Load {
            gpu_layers: self.layers().saturating_sub(left),
            host_experts: self.wishes.host_experts.unwrap_or(0),
            ..load.clone()
        }
    }

    fn all_on_devices(&self, load: &Load) -> Option<Trial> {
        let load = self.whole(load);
        let count = self.bench.devices().len();
        if self.wishes.tensor_split.is_none() {
            let single = (0..count).find_map(|at| self.quick(load.clone(), Used::one(at)));
            if single.is_some() {
                return single;
            }
        }
        if count < 2 && self.wishes.tensor_split.is_none() {
            None
        } else {
            self.split(&load)
        }
    }

    /// Over all devices: first in proportion to their room, then filled one after the other.
    fn split(&self, load: &Load) -> Option<Trial> {
        let all = self.bench.all();
        if let Some(told) = &self.wishes.tensor_split {
            let load = Load {
                tensor_split: told.clone(),
                ..load.clone()
            };
            return self.quick(load, all);
        }
        let load = self.with_batch(load.clone(), all);
        self.bench.splits(&load).into_iter().find_map(|shares| {
            let load = Load {
                tensor_split: shares,
                ..load.clone()
            };
            self.quick(load, all)
        })
    }

    /// As few layers' experts in the RAM as must be.
    fn experts_on_host(&self, load: &Load) -> Option<Trial> {
        let with = |count| self.with_experts_on_host(load, count);
        if let Some(count) = self.wishes.host_experts.filter(|&count| count > 0) {
            return self.over_devices(&with(count));
        }
        self.smallest(1, self.layers(), with)
    }

    /// As many layers on devices as fit.
    fn some_on_devices(&self, load: &Load) -> Option<Trial> {
        let most = self.layers().checked_sub(1)?;
        self.smallest(0, most, |left| self.without_layers(load, left))
    }

    /// The settings of the smallest number in a range for which the devices hold their part; larger numbers give
    /// more of it to the host, which must hold it as well.
    fn smallest(&self, low: u32, high: u32, with: impl Fn(u32) -> Load) -> Option<Trial> {
        let found = if self.bench.devices().len() == 1 && self.wishes.tensor_split.is_none() {
            self.smallest_on_one(low, high, with)
        } else {
            self.smallest_over_many(low, high, with)
        };
        found.filter(Trial::fits)
    }

    fn smallest_over_many(&self, mut low: u32, mut high: u32, with: impl Fn(u32) -> Load) -> Option<Trial> {
        let mut best = self.split_holding(&with(high))?;
        while low < high {
            let middle = low + (high - low) / 2;
            match self.split_holding(&with(middle)) {
                Some(trial) => {
                    best = trial;
                    high = middle;
                }
                None => low = middle + 1,
            }
        }
        Some(best)
    }

    /// Compute buffers are dear to work out and hardly move with the number: those of the last one tried say where to
    /// look next.
    fn smallest_on_one(&self, low: u32, high: u32, with: impl Fn(u32) -> Load) -> Option<Trial> {
        /// After so many the middle is taken.
        const GUIDED: usize = 4;
        let used = self.bench.all();
        let settings = |number: u32| self.with_batch(with(number), used);
        if self.bench.plods() {
            let mut trials = (low..=high).map(|number| self.bench.attempt(settings(number), used));
            return trials.find(Trial::devices_hold);
        }
        // For all below `open` the device does not hold its part; for `holding` it does.
        let first = self.first(low, high, &with)?;
        let (mut open, mut holding): (u32, Option<(u32, Trial)>) = (first, None);
        let mut compute = Vec::new();
        for tried in 0.. {
            let last = holding
                .as_ref()
                .map_or(Some(high), |(number, _)| number.checked_sub(1));
            let Some(last) = last.filter(|&last| open <= last) else {
                break;
            };
            let number = if tried < GUIDED {
                let could = |number| self.bench.devices_could(&settings(number), used, &compute);
                smallest_that(open, last, could)
            } else {
                open + (last - open) / 2
            };
            let load = settings(number);
            let possible = self.bench.devices_could(&load, used, &[]);
            let Some(trial) = possible.then(|| self.bench.attempt(load, used)) else {
                open = number + 1;
                continue;
            };
            compute = trial.compute().collect();
            if trial.devices_hold() {
                holding = Some((number, trial));
            } else {
                open = number + 1;
            }
        }
        holding.map(|(_, trial)| trial)
    }

    /// The smallest number for which the device could hold its part beside the smallest buffers; `None` when the host
    /// could not hold what is left then, which is the least that it can be given.
    fn first(&self, low: u32, high: u32, with: impl Fn(u32) -> Load) -> Option<u32> {
        let used = self.bench.all();
        let settings = |number: u32| self.with_batch(with(number), used);
        let could = |number| self.bench.devices_could(&settings(number), used, &[]);
        let first = smallest_that(low, high, could);
        self.bench.host_could(&settings(first), used).then_some(first)
    }

    /// Over all devices, so that they hold their part; a division for which the host holds the rest comes first.
    fn split_holding(&self, load: &Load) -> Option<Trial> {
        let all = self.bench.all();
        let told = self.wishes.tensor_split.clone();
        let load = self.with_batch(load.clone(), all);
        let splits = told.map_or_else(|| self.bench.splits(&load), |told| vec![told]);
        let mut held = None;
        for shares in splits {
            let load = self.with_batch(
                Load {
                    tensor_split: shares,
                    ..load.clone()
                },
                all,
            );
            if !self.bench.plods() && !self.bench.devices_could(&load, all, &[]) {
                continue;
            }
            let trial = self.bench.attempt(load, all);
            if trial.fits() {
                return Some(trial);
            }
            if trial.devices_hold() {
                held = held.or(Some(trial));
            }
        }
        held
    }

    fn over_devices(&self, load: &Load) -> Option<Trial> {
        if self.bench.devices().len() > 1 {
            return self.split(load);
        }
        self.quick(load.clone(), self.bench.all())
    }

    /// When nothing fits: what misses least, with the least demanding settings.
    fn least_bad(&self, loads: &[Load], host: Trial) -> Trial {
        let Some(load) = loads.last() else { return host };
        let load = Load {
            gpu_layers: self.layers().saturating_add(1),
            ..load.clone()
        };
        let all = self.bench.all();
        let load = self.with_batch(load, all);
        let shares = self.bench.splits(&load).into_iter().next().unwrap_or_default();
        let devices = self.attempt(
            Load {
                tensor_split: shares,
                ..load
            },
            all,
        );
        if self.bench.missing(&devices) < self.bench.missing(&host) {
            devices
        } else {
            host
        }
    }

    fn attempt(&self, load: Load, used: Used) -> Trial {
        self.bench.attempt(self.with_batch(load, used), used)
    }

    /// The same when they fit.
    fn quick(&self, load: Load, used: Used) -> Option<Trial> {
        self.bench.quick(self.with_batch(load, used), used)
    }

    /// Pieces of the prompt that take well under a second.
    fn with_batch(&self, mut load: Load, used: Used) -> Load {
        let (batch, ubatch) = (self.wishes.batch, self.wishes.ubatch);
        let chosen = match (batch, ubatch) {
            (Some(batch), _) => batch,
            (None, Some(ubatch)) => ubatch.max(self.piece(&load, used)),
            (None, None) => self.piece(&load, used),
        };
        load.batch = chosen;
        load.ubatch = ubatch.unwrap_or(512).min(chosen);
        load
    }

    fn piece(&self, load: &Load, used: Used) -> u32 {
        self.bench.piece(load, used, || self.work_out_piece(load, used))
    }

    fn work_out_piece(&self, load: &Load, used: Used) -> u32 {
        if self.bench.host_is_fetched(load, used) {
            // Fetching costs the same for few tokens as for many.
            return crate::speed::FETCHED_FOR;
        }
        let Ok(speed) = self.bench.speed(load, used, PROMPT_TOKENS, DEPTH) else {
            return if used.is_none() { 128 } else { 512 };
        };
        let mut piece = 2_048;
        while piece > 32 && f64::from(piece) / speed.prefill.mid > PIECE_MS / 1e3 {
            piece /= 2;
        }
        piece
    }
}

/// The smallest number of a range that passes, when all above it do as well; the last one, when none does.
fn smallest_that(mut low: u32, mut high: u32, passes: impl Fn(u32) -> bool) -> u32 {
    while low < high {
        let middle = low + (high - low) / 2;
        if passes(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
