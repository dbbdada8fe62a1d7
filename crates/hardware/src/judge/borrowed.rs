//! The memory of GPUs that have the machine's: what of it a model may use.

use plimsoll_units::Bytes;

use crate::facts::Facts;
use crate::machine::Memory;
use crate::machine_file::MEMORY_MAX;
use crate::note::Note;
use crate::told::{Told, Vendor};

use super::pool::{Pool, free, name};
use super::sighted::Group;

/// An own part of this size was set aside for models; a smaller one is for the picture on the screen.
const CARVE_OUT_MIN: Bytes = Bytes::gib(1);

/// NVIDIA's systems on a chip: the GPU's memory is the RAM, whichever of the two was printed.
pub(super) fn all_of_ram(group: &Group<'_>, name: &str, memory: &Memory, notes: &mut Vec<Note>) -> Pool {
    notes.push(Note::GpuMemoryIsRam {
        name: name.to_owned(),
    });
    Pool {
        total: memory.total,
        free: free(group, memory.total).min(memory.available),
        dedicated: None,
        source: if memory.total == Bytes::ZERO {
            String::new()
        } else {
            memory.source.clone()
        },
    }
}

/// The least shares of the RAM that macOS has given its GPU: two thirds below 36 GB, three quarters from there.
pub(super) fn apple(
    group: &Group<'_>,
    facts: &Facts,
    told: &Told,
    memory: &Memory,
    notes: &mut Vec<Note>,
) -> Pool {
    let said = group
        .seen
        .iter()
        .filter_map(|gpu| Some((gpu.total?, gpu.source.as_str())))
        .max();
    let (total, source) = match (told.wired_limit, said) {
        (Some(limit), _) if facts.os == "macos" => {
            notes.push(Note::GpuLimitSet {
                name: name(group),
                bytes: limit,
                source: "iogpu.wired_limit_mb".to_owned(),
            });
            (limit, "iogpu.wired_limit_mb")
        }
        (_, Some(said)) => said,
        (_, None) if facts.os == "macos" && memory.total > Bytes::ZERO => {
            let share = if memory.total < Bytes::gib(36) {
                Bytes(memory.total.0 / 3 * 2)
            } else {
                Bytes(memory.total.0 / 4 * 3)
            };
            (share, "least share of the RAM that macOS gives its GPU")
        }
        (_, None) => (Bytes::ZERO, ""),
    };
    let total = within_ram(total, memory);
    let mut free = free(group, total);
    if memory.total > Bytes::ZERO {
        free = free.min(memory.available);
    }
    Pool {
        total,
        free,
        dedicated: None,
        source: source.to_owned(),
    }
}

fn within_ram(bytes: Bytes, memory: &Memory) -> Bytes {
    if memory.total > Bytes::ZERO {
        bytes.min(memory.total)
    } else {
        bytes
    }
}

/// A GPU in a processor of AMD, Intel or another: a part of its own, which the firmware took from the RAM, and a
/// part that the driver lets it borrow.
pub(super) fn in_processor(
    group: &Group<'_>,
    name: &str,
    facts: &Facts,
    told: &Told,
    memory: &Memory,
    notes: &mut Vec<Note>,
) -> Pool {
    let windows = facts.os.starts_with("windows");
    let trusted = || group.seen.iter().filter(|gpu| !gpu.weak);
    let own = trusted().filter_map(|gpu| gpu.own).max();
    let limit = told
        .borrow_limit
        .as_ref()
        .filter(|_| group.vendor() == Some(Vendor::Amd));
    let shared = trusted()
        .filter_map(|gpu| gpu.shared)
        .max()
        .or(limit.map(|(bytes, _)| *bytes));
    let engine = trusted()
        .filter_map(|gpu| Some((gpu.total?, gpu.source.as_str())))
        .max();
    let own_source = || {
        trusted()
            .find(|gpu| gpu.own.is_some() || gpu.shared.is_some())
            .map_or("", |gpu| gpu.source.as_str())
    };

    let (total, dedicated, source) = match (own, shared, engine) {
        // Windows shows the desktop from the small part, and keeps the budget of the large one.
        (Some(own), _, None) if windows && own >= CARVE_OUT_MIN => (own, Some(own), own_source()),
        (Some(own), Some(shared), _) if !windows => split(own, shared, memory, name, own_source(), notes),
        (None, Some(shared), Some((all, source))) if !windows && all > shared => {
            split(all.less(shared), shared, memory, name, source, notes)
        }
        (_, _, Some((all, source))) => (all, own.filter(|own| *own <= all), source),
        (Some(own), None, None) => alone(own, group, windows, memory, own_source()),
        (_, Some(shared), None) => (shared, None, own_source()),
        (None, None, None) => alone(Bytes::ZERO, group, windows, memory, ""),
    };
    let total = total.min(MEMORY_MAX);
    // What is more than the RAM must have been taken from it before the system saw it.
    let dedicated = match dedicated {
        _ if memory.total == Bytes::ZERO => dedicated,
        Some(own) => Some(own.max(total.less(memory.total))),
        None => Some(total.less(memory.total)).filter(|&own| own > Bytes::ZERO),
    };
    let own_part = dedicated.unwrap_or_default();
    let used = trusted().filter_map(|gpu| gpu.used).max().unwrap_or_default();
    let mut least = trusted()
        .filter_map(|gpu| gpu.free)
        .filter(|&free| free > Bytes::ZERO)
        .min()
        .unwrap_or(total.less(used));
    if memory.total > Bytes::ZERO {
        least = least.min(own_part.plus(memory.available));
    }
    Pool {
        total,
        free: least.min(total),
        dedicated,
        source: source.to_owned(),
    }
}

/// Both parts are known: the larger one decides. A large own part is all that there is, as little is left to
/// borrow from.
fn split<'a>(
    own: Bytes,
    shared: Bytes,
    memory: &Memory,
    name: &str,
    source: &'a str,
    notes: &mut Vec<Note>,
) -> (Bytes, Option<Bytes>, &'a str) {
    if own >= shared {
        notes.push(Note::GpuCarveOut {
            name: name.to_owned(),
            bytes: own,
        });
        return (own, Some(own), source);
    }
    let shared = within_ram(shared, memory);
    notes.push(Note::GpuSharesMemory {
        name: name.to_owned(),
        dedicated_bytes: own,
        shared_bytes: shared,
    });
    (own.plus(shared), Some(own), source)
}

/// Nobody said what may be borrowed: the drivers' own default, where the RAM is known.
fn alone<'a>(
    own: Bytes,
    group: &Group<'_>,
    windows: bool,
    memory: &Memory,
    source: &'a str,
) -> (Bytes, Option<Bytes>, &'a str) {
    let half = Bytes(memory.total.0 / 2);
    if half == Bytes::ZERO || own >= half {
        return (own, Some(own).filter(|&own| own > Bytes::ZERO), source);
    }
    let (share, said) = match group.vendor() {
        Some(Vendor::Amd | Vendor::Intel) if windows => (half, "half of the RAM, Windows' default"),
        Some(Vendor::Amd) => (half, "half of the RAM, amdgpu's default"),
        Some(Vendor::Intel) => (Bytes(memory.total.0 / 4 * 3), "share of the RAM that Mesa allows"),
        Some(Vendor::Nvidia | Vendor::Apple | Vendor::Qualcomm | Vendor::Arm) | None => {
            return (own, None, source);
        }
    };
    (own.plus(share), Some(own).filter(|&own| own > Bytes::ZERO), said)
}
