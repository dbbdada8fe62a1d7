//! Which layers are enough: the allocator repeats itself over equal layers, so the middle of a long run is left out.

use super::{Seat, Where};
use crate::Shape;

/// Longest pattern of layers that is looked for: Gemma's six, and some room.
const PERIOD_MAX: usize = 12;
/// Repetitions kept at each end of a run.
const KEPT: usize = 3;

/// The numbers of the layers to build.
pub(crate) fn kept(shape: &Shape, place: &Where) -> Vec<u32> {
    let count = shape.layers.len().min(place.layers.len());
    let alike = |a: usize, b: usize| {
        place.layers[a] == place.layers[b]
            && shape.layers[a].likeness == shape.layers[b].likeness
            && shape.layers[a].reads_from.map(|from| seat(place, from))
                == shape.layers[b].reads_from.map(|from| seat(place, from))
    };
    let mut out = Vec::new();
    let mut start = 0;
    while start < count {
        let (period, run) = run_from(start, count, alike);
        let repetitions = run / period;
        let keep = KEPT.max(2 * KEPT / period);
        if repetitions > 2 * keep {
            let cut = (repetitions - 2 * keep) * period;
            out.extend(start..start + keep * period);
            out.extend(start + keep * period + cut..start + run);
        } else {
            out.extend(start..start + run);
        }
        start += run;
    }
    out.into_iter()
        .filter_map(|number| u32::try_from(number).ok())
        .collect()
}

fn seat(place: &Where, number: u32) -> Option<Seat> {
    place.layers.get(number as usize).copied()
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
