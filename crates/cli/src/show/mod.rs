//! Wire types as text for a person. Pure: nothing here prints.

mod answered;
mod bench;
mod context;
mod conversations;
mod engine;
mod fault;
mod folders;
mod library;
mod machine;
mod memory;
mod plan;
mod search;
mod servers;

pub(crate) use answered::{answered, stats};
pub(crate) use bench::bench;
pub(crate) use context::{archive, compacted, context, preview, replay};
pub(crate) use conversations::{conversations, found_conversations};
pub(crate) use engine::{check, engines, newest_engines};
pub(crate) use fault::fault;
pub(crate) use folders::{duplicates, folders};
pub(crate) use library::{imported, models, refreshed, removed, verified};
pub(crate) use machine::{machine, machine_line};
pub(crate) use memory::memory;
pub(crate) use plan::{plan, plan_line, recommendation};
pub(crate) use search::{found, variants};
pub(crate) use servers::servers;

use plimsoll_wire::Reason;

use crate::lang::params;
use crate::out::Out;

/// Reasons below each other, as far as there are any.
pub(crate) fn reasons(out: &Out, area: &str, reasons: &[Reason]) -> Vec<String> {
    reasons
        .iter()
        .map(|reason| format!("  - {}", out.lang.code(area, &reason.code, &reason.params)))
        .collect()
}

/// A range as people say it: the middle, then its ends.
fn about(out: &Out, key: &str, low: f64, mid: f64, high: f64) -> String {
    let number = |n: f64| out.lang.number(n);
    out.say(
        key,
        &params! { low = number(low), mid = number(mid), high = number(high) },
    )
}

#[cfg(test)]
mod tests;
