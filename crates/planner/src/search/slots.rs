//! How many conversations are answered at once: several slots where they cost nothing that the wish is about.
//!
//! Slots share one cache. What they cost is their outputs, a window and a recurrent state each, and that nobody has
//! the context alone any more.

use std::cmp::Ordering;

use super::settle;
use crate::memory::CacheType;
use crate::plan::{Plan, Verdict};
use crate::{Goal, Shape, Situation, Why, Wishes};

/// As llama-server has them when nobody says how many.
const SEVERAL: u32 = 4;
/// What is left for each when all are used: less is no conversation.
const EACH_LEAST: u32 = 4_096;
/// Speeds that differ by less are the same.
const SLOWER: f64 = 0.99;

pub(super) fn choose(shape: &Shape, situation: &Situation, wishes: &Wishes) -> Plan {
    let with = |slots: u32, context: Option<u32>| {
        let wishes = Wishes {
            slots: Some(slots),
            context,
            ..wishes.clone()
        };
        settle(shape, situation, &wishes)
    };
    let (mut one, mut several) = (with(1, wishes.context), with(SEVERAL, wishes.context));
    if wishes.goal == Goal::LongestContext && several.settings.context > one.settings.context {
        // Long is what one conversation may become, not all of them together.
        several = with(SEVERAL, Some(one.settings.context));
    }
    let each = several.settings.context / SEVERAL;
    if one.verdict == Verdict::TooBig {
        return one;
    }
    if loses(wishes.goal, &one, &several) {
        one.why.push(Why::SlotsCost { slots: SEVERAL });
        return one;
    }
    if each < EACH_LEAST {
        one.why.push(Why::SlotsTooNarrow { slots: SEVERAL, each });
        return one;
    }
    let total = |plan: &Plan| {
        let devices = plan.memory.devices.iter().map(|device| device.need.total());
        devices
            .sum::<plimsoll_units::Bytes>()
            .plus(plan.memory.host.total())
    };
    let bytes = total(&several).less(total(&one));
    several.why.push(Why::SlotsShared {
        slots: SEVERAL,
        bytes,
    });
    several
}

/// Whether several slots take away what the person cares about.
fn loses(goal: Goal, one: &Plan, several: &Plan) -> bool {
    let order = |verdict| match verdict {
        Verdict::Fits => 0,
        Verdict::Spills => 1,
        Verdict::TooBig => 2,
    };
    let speed = |plan: &Plan| plan.speed.as_ref().map(|speed| speed.decode.mid);
    let slower = match (speed(one), speed(several)) {
        (Some(one), Some(several)) => several < one * SLOWER,
        (Some(_) | None, None) | (None, Some(_)) => false,
    };
    let bits = |kind: CacheType| CacheType::ALL.iter().position(|&other| other == kind);
    let (a, b) = (&one.settings, &several.settings);
    let moved =
        b.gpu_layers.cmp(&a.gpu_layers) == Ordering::Less || b.host_expert_layers > a.host_expert_layers;
    let shorter = b.context < a.context;
    let coarser = bits(b.key_type) > bits(a.key_type);
    let worse = order(several.verdict) > order(one.verdict);
    worse
        || match goal {
            Goal::Balanced => shorter || coarser || moved || slower,
            Goal::LongestContext => shorter,
            Goal::Fastest => shorter || moved || slower,
        }
}
