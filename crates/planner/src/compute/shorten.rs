//! Which layers are enough: the allocator repeats itself over equal layers, so the middle of a long run is left out.
//!
//! That it does repeat itself is seen, not believed: what is free before the gap must be what was free one round of
//! layers earlier. Then every layer that is left out would have found, taken and left the same.

use super::{Backend, BackendTraits, Batch, Fetches, Where};
use crate::Shape;
use crate::shape::{GraphKind, Layer, Turn, mixed};

/// Longest pattern of layers that is looked for: Gemma's six, and some room.
const PERIOD_MAX: usize = 12;

/// What a layer is like among those of its model, as small numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Equal for equal graphs.
    like: u16,
    /// Equal for graphs that differ in nothing but how far they look back.
    kin: u16,
    /// Equal for equal graphs over weights of equal sizes.
    sized: u16,
    sees: Sees,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sees {
    Nothing,
    All,
    Window,
}

impl Look {
    pub(crate) fn of_layers(shape: &Shape) -> Vec<Self> {
        let (mut likes, mut kins, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        // Some do more by their window than look back less.
        let apart = shape.family.turn == Turn::Windowed
            || matches!(shape.family.graph, GraphKind::Gemma3n | GraphKind::Gemma4);
        let one = |layer: &Layer| {
            let attends = layer.cached || layer.reads_from.is_some();
            let sees = match (attends, layer.windowed) {
                (false, _) => Sees::Nothing,
                (true, false) => Sees::All,
                (true, true) => Sees::Window,
            };
            let kin = if apart { layer.likeness } else { layer.kinship };
            let bytes = layer.weights.iter();
            let bytes = bytes.fold(layer.likeness, |hash, weight| mixed(hash, weight.bytes.0));
            Self {
                like: number(&mut likes, layer.likeness),
                kin: number(&mut kins, kin),
                sized: number(&mut sizes, bytes),
                sees,
            }
        };
        shape.layers.iter().map(one).collect()
    }
}

/// The place of a value among those seen, put there when it is new.
fn number(seen: &mut Vec<u64>, value: u64) -> u16 {
    let at = seen.iter().position(|&other| other == value);
    let at = at.unwrap_or_else(|| {
        seen.push(value);
        seen.len() - 1
    });
    u16::try_from(at).unwrap_or(u16::MAX)
}

/// Layers to build.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    pub(crate) layers: Vec<u32>,
    gaps: Vec<Gap>,
}

/// Where layers were left out.
#[derive(Debug, Clone, Copy)]
struct Gap {
    /// So many layers are kept before it.
    after: usize,
    /// A multiple of so many layers was left out.
    unit: usize,
    /// So many rounds of that length were kept of what would have been left out, because their weights have other
    /// sizes.
    others: usize,
}

impl Gap {
    /// The kept layers after which the state must be that of the last one before the gap.
    fn equals(self) -> impl Iterator<Item = usize> {
        let last = self.after.saturating_sub(1);
        (1..=self.others).map(move |round| last + round * self.unit)
    }
}

impl Kept {
    /// None left out.
    pub(crate) fn all(shape: &Shape) -> Self {
        Self {
            layers: (0u32..).zip(&shape.layers).map(|(number, _)| number).collect(),
            gaps: Vec::new(),
        }
    }

    /// The kept layers after which the state of the allocator must be known, in order.
    pub(super) fn watched(&self) -> Vec<usize> {
        let mut out = Vec::new();
        for gap in &self.gaps {
            let last = gap.after.saturating_sub(1);
            let before = [gap.unit, 0].map(|back| last.saturating_sub(back));
            for at in before.into_iter().chain(gap.equals()) {
                if out.last().is_none_or(|&other| other < at) {
                    out.push(at);
                }
            }
        }
        out
    }

    /// Whether the allocator came to the same state again before each gap.
    pub(super) fn settled(&self, watched: &[usize], states: &[Vec<u64>]) -> bool {
        let state = |at: usize| {
            let place = watched.iter().position(|&watched| watched == at)?;
            states.get(place)
        };
        self.gaps.iter().all(|gap| {
            let last = gap.after.saturating_sub(1);
            let here = state(last);
            here.is_some()
                && last.checked_sub(gap.unit).and_then(state) == here
                && gap.equals().all(|at| state(at) == here)
        })
    }

    /// What the graph of these layers depends on.
    pub(crate) fn graph(&self, shape: &Shape, place: &Where, staged: impl Fn(u32) -> bool) -> Vec<u64> {
        let one = |&number: &u32| {
            let look = shape.looks.get(number as usize);
            let class = look.map_or(0, |look| if staged(number) { look.sized } else { look.like });
            let seat = place.seat(number)?;
            let reads = shape.layers.get(number as usize)?.reads_from;
            let reads = reads.and_then(|number| place.seat(number));
            let reads = reads.map_or(0, |seat| 1 + u64::from(seat.layer));
            Some(u64::from(class) << 32 | u64::from(seat.layer) << 24 | u64::from(seat.experts) << 16 | reads)
        };
        self.layers.iter().filter_map(one).collect()
    }
}

/// Whether a device copies weights of a layer from the host to do its operations.
pub(crate) fn is_staged(place: &Where, backends: &[BackendTraits], number: u32) -> bool {
    let fetches = backends.iter().any(|backend| backend.fetches != Fetches::Nothing);
    let on_host = |backend: Backend| backend == place.host;
    fetches
        && place
            .seat(number)
            .is_some_and(|seat| on_host(seat.layer) || on_host(seat.experts))
}

/// The layers to build when the allocator settles within so many rounds of equal layers.
pub(crate) fn kept(
    shape: &Shape,
    batch: &Batch,
    place: &Where,
    backends: &[BackendTraits],
    rounds: usize,
) -> Kept {
    if shape.looks.is_empty() {
        return Kept::all(shape);
    }
    let count = shape.layers.len().min(place.layers.len()).min(shape.looks.len());
    let fetches = backends.iter().any(|backend| backend.fetches != Fetches::Nothing);
    let staged = |at: usize| {
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        fetches && (place.layers[at] == place.host || number < place.host_experts)
    };
    let apart = place.layers[..count].windows(2).any(|pair| pair[0] != pair[1]);
    if shape.has_layer_inputs() && (apart || staged(0)) {
        // Rows of each layer's own go to the other place all at once, before its first layer begins.
        return Kept::all(shape);
    }
    let key = |at: usize| {
        let look = shape.looks[at];
        let experts = u32::try_from(at).is_ok_and(|number| number < place.host_experts);
        let class = if batch.flash && !staged(at) {
            look.kin
        } else {
            look.like
        };
        let reads = shape.layers[at].reads_from;
        let reads = reads.and_then(|from| place.layers.get(from as usize));
        (class, place.layers[at], experts, reads.copied())
    };
    let keys: Vec<_> = (0..count).map(key).collect();
    let mut out = Kept::default();
    let keep = |out: &mut Kept, layers: std::ops::Range<usize>| {
        let numbers = layers.filter_map(|at| u32::try_from(at).ok());
        out.layers.extend(numbers);
    };
    let mut start = 0;
    while start < count {
        let (period, run) = run_from(start, count, |a, b| keys[a] == keys[b]);
        let end = start + run;
        let unit = period * rounds;
        let gap = gap(&shape.looks[start..end], period, rounds);
        let gap = start + gap.start..start + gap.end;
        keep(&mut out, start..gap.start);
        if !gap.is_empty() {
            let after = out.layers.len();
            let mut others = 0;
            // What is copied has the size that it has in the file: one round of each kind.
            if staged(start) {
                let mut seen = vec![&shape.looks[gap.start - unit..gap.start]];
                for from in gap.clone().step_by(unit) {
                    let round = &shape.looks[from..from + unit];
                    let same = |other: &&[Look]| other.iter().zip(round).all(|(a, b)| a.sized == b.sized);
                    if !seen.iter().any(same) {
                        seen.push(round);
                        keep(&mut out, from..from + unit);
                        others += 1;
                    }
                }
            }
            out.gaps.push(Gap { after, unit, others });
        }
        keep(&mut out, gap.end..end);
        start = end;
    }
    out
}

/// What can be left out of a run that repeats itself: not the first round, in which masks come into being, nor the
/// rounds that show that the state settled, nor the last one, from which on nobody needs some mask.
fn gap(run: &[Look], period: usize, rounds: usize) -> std::ops::Range<usize> {
    let unit = period * rounds;
    let masks = [Sees::All, Sees::Window];
    let first = |sees| run.iter().position(|look| look.sees == sees);
    let last = |sees| run.iter().rposition(|look| look.sees == sees);
    let begun = masks.into_iter().filter_map(first).max().map_or(0, |at| at + 1);
    let ending = masks.into_iter().filter_map(last).min().unwrap_or(run.len());
    let from = begun.max(period) + period * (rounds - 1) + unit;
    let until = ending.min(run.len().saturating_sub(period));
    let left_out = until.saturating_sub(from) / unit * unit;
    from.min(run.len())..from.min(run.len()) + left_out
}

/// The period that gives the longest run from here, and the length of that run.
fn run_from(start: usize, count: usize, alike: impl Fn(usize, usize) -> bool) -> (usize, usize) {
    let mut best = (1, 1);
    for period in 1..=PERIOD_MAX.min(count - start) {
        let mut run = period;
        while start + run < count && alike(start + run, start + run - period) {
            run += 1;
        }
        if run > period && run > best.1 {
            best = (period, run);
        }
        if start + run == count {
            break;
        }
    }
    best
}
