//! AMD cards and the GPUs inside AMD's processors, by the files of the amdgpu driver.

use plimsoll_units::Bytes;

use crate::machine::{Backend, Device, DeviceKind, Memory, Platform};
use crate::note::Note;
use crate::told::{self, Vendor};

use super::kfd::Node;
use super::pci::{Card, Maker};

/// Graphics core version, as the driver finds it in the chip.
type Version = (u32, u32, u32);

/// The versions that sit inside processors: the driver's own list.
const IN_PROCESSOR: [Version; 17] = [
    (9, 1, 0),
    (9, 2, 2),
    (9, 3, 0),
    (10, 1, 3),
    (10, 1, 4),
    (10, 3, 1),
    (10, 3, 3),
    (10, 3, 6),
    (10, 3, 7),
    (11, 0, 1),
    (11, 0, 4),
    (11, 5, 0),
    (11, 5, 1),
    (11, 5, 2),
    (11, 5, 3),
    (11, 5, 4),
    (11, 5, 6),
];
/// Two compute units, made to show a desktop.
const TOO_SMALL: [Version; 2] = [(10, 3, 6), (10, 3, 7)];

/// The same by PCI id, for kernels that do not list the version: id, and whether it is worth planning on.
const BY_ID: [(u16, bool); 22] = [
    (0x15dd, true),
    (0x15d8, true),
    (0x1636, true),
    (0x1638, true),
    (0x164c, true),
    (0x15e7, true),
    (0x163f, true),
    (0x164d, true),
    (0x1681, true),
    (0x15bf, true),
    (0x15c8, true),
    (0x1900, true),
    (0x1901, true),
    (0x150e, true),
    (0x1586, true),
    (0x1114, true),
    (0x164e, false),
    (0x13c0, false),
    (0x1506, false),
    (0x9874, false),
    (0x98e4, false),
    (0x1309, false),
];

enum Place {
    Card,
    Processor { worth_planning_on: bool },
}

pub(super) fn devices(
    cards: &[Card<'_>],
    topology: &[Node],
    memory: &Memory,
    notes: &mut Vec<Note>,
) -> Vec<Device> {
    cards
        .iter()
        .filter(|card| card.maker == Maker::Amd)
        .filter_map(|card| {
            if !card.usable(&["amdgpu"], notes) {
                return None;
            }
            let node = topology
                .iter()
                .find(|node| node.pci.as_deref() == Some(card.address));
            device(card, node, memory, notes)
        })
        .collect()
}

/// `node`: the same GPU in the compute driver's topology, which tells its memory as well.
fn device(card: &Card<'_>, node: Option<&Node>, memory: &Memory, notes: &mut Vec<Note>) -> Option<Device> {
    let name = card.name();
    let own = card
        .size("mem_info_vram_total", notes)
        .map(|bytes| (bytes, "amdgpu mem_info_vram_total"))
        .or(node.map(|node| (node.own, "KFD mem_banks")))
        .filter(|&(bytes, _)| bytes > Bytes::ZERO);
    let Some((own, own_source)) = own else {
        notes.push(Note::GpuMemoryUnknown { name });
        return None;
    };
    let own_free = own.less(card.size("mem_info_vram_used", notes).unwrap_or_default());
    let borrowed = card.size("mem_info_gtt_total", notes).unwrap_or_default();
    let version = version(card);
    let architecture = version.map(gfx_of).or_else(|| node?.gfx.clone());
    let device = |kind, total, free, dedicated, source: &str| Device {
        id: card.id(),
        name: name.clone(),
        vendor: "AMD".to_owned(),
        kind,
        backends: backends(architecture.as_deref()),
        total,
        free,
        dedicated,
        bandwidth: None,
        platform: Platform {
            architecture: architecture.clone(),
            ..Platform::default()
        },
        source: source.to_owned(),
    };
    Some(
        match place(card, version, architecture.as_deref(), own, borrowed) {
            Place::Card => device(DeviceKind::Discrete, own, own_free, None, own_source),
            Place::Processor { worth_planning_on } => {
                let kind = if worth_planning_on {
                    DeviceKind::Unified
                } else {
                    DeviceKind::Integrated
                };
                if own >= borrowed {
                    // The firmware gave the GPU the larger part for good; what it may borrow beyond that is the
                    // host's, which has little left.
                    notes.push(Note::GpuCarveOut {
                        name: name.clone(),
                        bytes: own,
                    });
                    device(kind, own, own_free, Some(own), own_source)
                } else {
                    let shared = borrowed.min(memory.total);
                    let shared_used = card.size("mem_info_gtt_used", notes).unwrap_or_default();
                    let free = own_free.plus(shared.less(shared_used).min(memory.available));
                    notes.push(Note::GpuSharesMemory {
                        name: name.clone(),
                        dedicated_bytes: own,
                        shared_bytes: shared,
                    });
                    device(
                        kind,
                        own.plus(shared),
                        free,
                        Some(own),
                        "amdgpu mem_info_vram_total + mem_info_gtt_total",
                    )
                }
            }
        },
    )
}

fn version(card: &Card<'_>) -> Option<Version> {
    let part = |file: &str| {
        card.value(&format!("ip_discovery/die/0/GC/0/{file}"))?
            .parse()
            .ok()
    };
    Some((part("major")?, part("minor")?, part("revision")?))
}

fn place(card: &Card<'_>, version: Option<Version>, gfx: Option<&str>, own: Bytes, borrowed: Bytes) -> Place {
    if let Some(version) = version {
        return if IN_PROCESSOR.contains(&version) {
            Place::Processor {
                worth_planning_on: !TOO_SMALL.contains(&version),
            }
        } else {
            Place::Card
        };
    }
    if gfx.is_some() {
        return match told::place_of("", Some(Vendor::Amd), gfx, None) {
            Some(told::Place::Processor { worth_planning_on }) => Place::Processor { worth_planning_on },
            Some(told::Place::Card) | None => Place::Card,
        };
    }
    if let Some(&(_, worth_planning_on)) = BY_ID.iter().find(|(id, _)| *id == card.device) {
        return Place::Processor { worth_planning_on };
    }
    // Memory chips with a maker's name are soldered on a card.
    let soldered = card
        .value("mem_info_vram_vendor")
        .is_some_and(|maker| !maker.is_empty() && maker != "unknown");
    if !soldered && own <= Bytes::gib(1) && borrowed > own {
        return Place::Processor {
            worth_planning_on: false,
        };
    }
    Place::Card
}

fn backends(gfx: Option<&str>) -> Vec<Backend> {
    if gfx.is_some_and(super::runs_rocm) {
        vec![Backend::Rocm, Backend::Vulkan]
    } else {
        vec![Backend::Vulkan]
    }
}

/// LLVM's name of a graphics core, by the kernel's own table (`kfd_device.c`): the same numbers but for some of
/// the older ones.
fn gfx_of(version: Version) -> String {
    let named = match version {
        (9, 2, 1) => "gfx904",
        (9, 1, 0) => "gfx902",
        (9, 2, 2) => "gfx909",
        (9, 3, 0) => "gfx90c",
        (9, 4, 0) => "gfx906",
        (9, 4, 1) => "gfx908",
        (9, 4, 2) => "gfx90a",
        (9, 4, 3 | 4) => "gfx942",
        (10, 1, 3 | 4) => "gfx1013",
        (10, 1, 10) => "gfx1010",
        (10, 3, 1) => "gfx1033",
        (10, 3, 2) => "gfx1031",
        (10, 3, 3) => "gfx1035",
        (10, 3, 4) => "gfx1032",
        (10, 3, 5) => "gfx1034",
        (11, 0, 1 | 4) => "gfx1103",
        (11, 0, 2) => "gfx1102",
        (11, 0, 3) => "gfx1101",
        (major, minor, revision) => return format!("gfx{major}{minor:x}{revision:x}"),
    };
    named.to_owned()
}
