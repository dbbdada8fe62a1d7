//! How much memory a sighted device has for a model, and what it is called.

use plimsoll_units::Bytes;

use crate::facts::Facts;
use crate::machine::{Backend, Device, DeviceKind, Memory, Platform};
use crate::machine_file::MEMORY_MAX;
use crate::note::Note;
use crate::told::{Api, Place, Sighting, Told, Trouble, Vendor};

use super::borrowed;
use super::host::short;
use super::sighted::Group;

/// No single card has more; what is said beyond it was misread.
const CARD_MAX: Bytes = Bytes::gib(2048);
/// Sources that differ by less mean the same.
const ROUNDING: Bytes = Bytes::mib(16);

/// What is known of one device's memory.
pub(super) struct Pool {
    pub(super) total: Bytes,
    pub(super) free: Bytes,
    pub(super) dedicated: Option<Bytes>,
    pub(super) source: String,
}

pub(super) fn device(
    group: &Group<'_>,
    facts: &Facts,
    told: &Told,
    memory: &Memory,
    others: &[Device],
    notes: &mut Vec<Note>,
) -> Device {
    if let Some(known) = &group.known {
        return confirmed(known, group, notes);
    }
    let name = name(group);
    let vendor = group.vendor();
    let remote = group.seen.iter().any(|gpu| gpu.api == Api::Rpc);
    let place = group.place().unwrap_or_else(|| guessed(group, told));
    let kind = match place {
        Place::Card if remote => DeviceKind::Remote,
        Place::Card => DeviceKind::Discrete,
        Place::Processor {
            worth_planning_on: true,
        } => DeviceKind::Unified,
        Place::Processor {
            worth_planning_on: false,
        } => DeviceKind::Integrated,
    };
    let pool = match (place, vendor) {
        (Place::Card, _) => card(group, &name, notes),
        (Place::Processor { .. }, Some(Vendor::Nvidia)) => borrowed::all_of_ram(group, &name, memory, notes),
        (Place::Processor { .. }, Some(Vendor::Apple)) => borrowed::apple(group, facts, told, memory, notes),
        (Place::Processor { .. }, _) => borrowed::in_processor(group, &name, facts, told, memory, notes),
    };
    if pool.total == Bytes::ZERO {
        notes.push(Note::GpuMemoryUnknown { name: name.clone() });
    }
    Device {
        id: id(group, others),
        backends: backends(group, facts, told, kind),
        vendor: vendor.map(|vendor| vendor.name().to_owned()).unwrap_or_default(),
        name,
        kind,
        total: pool.total,
        free: pool.free.min(pool.total),
        dedicated: pool.dedicated,
        bandwidth: None,
        platform: platform(group),
        source: if pool.source.is_empty() {
            first_source(group)
        } else {
            pool.source
        },
    }
}

fn first_source(group: &Group<'_>) -> String {
    group
        .seen
        .first()
        .map(|gpu| gpu.source.clone())
        .unwrap_or_default()
}

/// One slice of a card that is cut by MIG. Its size is what a table says; the card's own number is not usable.
pub(super) fn slice(
    card: &Sighting,
    slice: Option<&Sighting>,
    others: &[Device],
    notes: &mut Vec<Note>,
) -> Device {
    let seen = slice.map_or_else(Vec::new, |slice| vec![slice]);
    let group = Group { known: None, seen };
    let name = slice.map_or(card.name.as_str(), |slice| slice.name.as_str());
    let pool = self::card(&group, name, notes);
    if pool.total == Bytes::ZERO {
        notes.push(Note::GpuMemoryUnknown { name: short(name) });
    }
    Device {
        id: format!(
            "{}/mig-0",
            id(
                &Group {
                    known: None,
                    seen: vec![card]
                },
                others
            )
        ),
        name: short(name),
        vendor: Vendor::Nvidia.name().to_owned(),
        kind: DeviceKind::Discrete,
        backends: vec![Backend::Cuda],
        total: pool.total,
        free: pool.free,
        dedicated: None,
        bandwidth: None,
        platform: Platform {
            architecture: architecture(&[card]),
            ..Platform::default()
        },
        source: if pool.source.is_empty() {
            card.source.clone()
        } else {
            pool.source
        },
    }
}

/// A card that a tool must have reached, of which nothing else is known.
pub(super) fn unknown_nvidia(number: u32) -> Device {
    Device {
        id: format!("nvidia-{number}"),
        name: format!("NVIDIA GPU {number}"),
        vendor: Vendor::Nvidia.name().to_owned(),
        kind: DeviceKind::Discrete,
        backends: vec![Backend::Cuda, Backend::Vulkan],
        total: Bytes::ZERO,
        free: Bytes::ZERO,
        dedicated: None,
        bandwidth: None,
        platform: Platform::default(),
        source: "nvidia-smi".to_owned(),
    }
}

/// What a driver's own interface said stands; others may only say less about what is free, and disagree.
fn confirmed(known: &Device, group: &Group<'_>, notes: &mut Vec<Note>) -> Device {
    let mut device = known.clone();
    for gpu in &group.seen {
        if let Some(total) = gpu.total.filter(|_| device.kind == DeviceKind::Discrete) {
            disagree(
                &device.name,
                (&device.source, device.total),
                (&gpu.source, total),
                notes,
            );
        }
    }
    // Windows grants a program less than the driver calls free while others want the card.
    let granted = group.seen.iter().filter(|gpu| gpu.api == Api::Windows);
    if device.kind == DeviceKind::Discrete
        && let Some(granted) = granted.filter_map(|gpu| gpu.free).min()
    {
        device.free = device.free.min(granted);
    }
    let seen = || architecture(&group.seen);
    device.platform.architecture = device.platform.architecture.or_else(seen);
    if device.total == Bytes::ZERO {
        notes.push(Note::GpuMemoryUnknown {
            name: device.name.clone(),
        });
        device.free = Bytes::ZERO;
    }
    device
}

fn platform(group: &Group<'_>) -> Platform {
    Platform {
        architecture: architecture(&group.seen),
        ..Platform::default()
    }
}

fn architecture(seen: &[&Sighting]) -> Option<String> {
    let compute = seen.iter().find_map(|gpu| gpu.compute);
    let gfx = || seen.iter().find_map(|gpu| gpu.gfx.clone());
    compute
        .map(|(major, minor)| format!("{major}.{minor}"))
        .or_else(gfx)
}

fn card(group: &Group<'_>, name: &str, notes: &mut Vec<Note>) -> Pool {
    // What the tool of a driver measured counts before what a person rounded, and a number of 32 bits comes last.
    let said = |trusted: &dyn Fn(&Sighting) -> bool| {
        let said = group
            .seen
            .iter()
            .filter(|gpu| trusted(gpu))
            .filter_map(|gpu| Some((gpu.total.or(gpu.own)?, &gpu.source)));
        said.filter(|(bytes, _)| *bytes > Bytes::ZERO && *bytes <= CARD_MAX)
            .max_by_key(|(bytes, _)| *bytes)
    };
    let best = said(&|gpu| gpu.api != Api::Prose && !gpu.weak)
        .or_else(|| said(&|gpu| gpu.api == Api::Prose && !gpu.weak))
        .or_else(|| said(&|gpu| gpu.api == Api::Windows));
    let Some((total, source)) = best else {
        return Pool {
            total: Bytes::ZERO,
            free: Bytes::ZERO,
            dedicated: None,
            source: group
                .seen
                .first()
                .map(|gpu| gpu.source.clone())
                .unwrap_or_default(),
        };
    };
    for gpu in group.seen.iter().filter(|gpu| gpu.api != Api::Prose && !gpu.weak) {
        if let Some(other) = gpu.total.or(gpu.own) {
            disagree(name, (source, total), (&gpu.source, other), notes);
        }
    }
    Pool {
        total,
        free: free(group, total),
        dedicated: None,
        source: source.clone(),
    }
}

/// The least that any source leaves; a zero without a program that holds the memory is a query that failed.
pub(super) fn free(group: &Group<'_>, total: Bytes) -> Bytes {
    group
        .seen
        .iter()
        .filter_map(|gpu| {
            let said = gpu.free.filter(|free| *free > Bytes::ZERO || gpu.used.is_some());
            said.or_else(|| Some(gpu.total.or(gpu.own)?.less(gpu.used?)))
        })
        .chain(
            group
                .seen
                .iter()
                .filter(|gpu| !gpu.weak && gpu.api != Api::Prose)
                .filter_map(|gpu| gpu.total.filter(|&t| t > Bytes::ZERO)),
        )
        .min()
        .unwrap_or(total)
        .min(total)
}

fn disagree(name: &str, one: (&str, Bytes), other: (&str, Bytes), notes: &mut Vec<Note>) {
    if one.1.0.abs_diff(other.1.0) > ROUNDING.0 && other.1 > Bytes::ZERO && other.1 <= MEMORY_MAX {
        let note = Note::SourcesDisagree {
            name: name.to_owned(),
            source: one.0.to_owned(),
            bytes: one.1,
            other_source: other.0.to_owned(),
            other_bytes: other.1,
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// Where nothing placed it: a limit for borrowing is set for a processor's GPU, everything else may be a card.
fn guessed(group: &Group<'_>, told: &Told) -> Place {
    let own = group.seen.iter().filter_map(|gpu| gpu.own).max();
    let shared = group.seen.iter().filter_map(|gpu| gpu.shared).max();
    let amd = matches!(group.vendor(), Some(Vendor::Amd) | None);
    let small =
        own.is_some_and(|own| own <= Bytes::mib(1536)) && shared.is_none_or(|shared| Some(shared) > own);
    if amd && (told.borrow_limit.is_some() || (small && group.vendor() == Some(Vendor::Amd))) {
        return Place::Processor {
            worth_planning_on: true,
        };
    }
    match group.vendor() {
        Some(Vendor::Intel) if own.is_none_or(|own| own < Bytes::gib(2)) => Place::Processor {
            worth_planning_on: false,
        },
        Some(_) | None => Place::Card,
    }
}

pub(super) fn name(group: &Group<'_>) -> String {
    if let Some(known) = &group.known {
        return known.name.clone();
    }
    // The order of the sightings is that of their trust; the longest of the first interface says most.
    let named = group
        .seen
        .iter()
        .find(|gpu| !gpu.name.is_empty())
        .map(|gpu| short(&gpu.name));
    let gfx = group.seen.iter().find_map(|gpu| gpu.gfx.as_deref());
    let maker = group.vendor().map_or("", Vendor::name);
    match (named, gfx) {
        (Some(name), _) => name,
        (None, Some(gfx)) => format!("{maker} GPU ({gfx})"),
        (None, None) => format!("{maker} GPU").trim().to_owned(),
    }
}

fn id(group: &Group<'_>, others: &[Device]) -> String {
    let pci = group
        .seen
        .iter()
        .find_map(|gpu| gpu.pci.as_deref())
        .map(|pci| format!("pci-{}", short(pci)));
    let maker = group.vendor().map_or("gpu", Vendor::name).to_lowercase();
    let free = |id: &String| {
        !others
            .iter()
            .any(|device| device.id == *id || device.id.starts_with(&format!("{id}/")))
    };
    pci.filter(free).unwrap_or_else(|| {
        (0..=others.len())
            .map(|number| format!("{maker}-{number}"))
            .find(free)
            .unwrap_or_else(|| format!("{maker}-{}", others.len() + 1))
    })
}

/// What can drive it, by its maker, its generation, and what was seen to drive it.
fn backends(group: &Group<'_>, facts: &Facts, told: &Told, kind: DeviceKind) -> Vec<Backend> {
    if kind == DeviceKind::Remote {
        return vec![Backend::Rpc];
    }
    if facts.os == "macos" {
        return vec![Backend::Metal];
    }
    let seen_by = |api: Api| group.seen.iter().any(|gpu| gpu.api == api);
    match group.vendor() {
        Some(Vendor::Nvidia) => {
            let unusable = told
                .troubles
                .iter()
                .any(|trouble| matches!(trouble, Trouble::CudaUnusable { .. }));
            if unusable {
                vec![Backend::Vulkan]
            } else {
                vec![Backend::Cuda, Backend::Vulkan]
            }
        }
        Some(Vendor::Amd) if rocm(group) => vec![Backend::Rocm, Backend::Vulkan],
        Some(Vendor::Intel) => vec![Backend::Vulkan, Backend::Sycl],
        Some(Vendor::Amd | Vendor::Apple | Vendor::Qualcomm | Vendor::Arm) | None => {
            if seen_by(Api::Cuda) {
                vec![Backend::Cuda]
            } else {
                vec![Backend::Vulkan]
            }
        }
    }
}

/// By the instruction set, else by names of the families that have a fitting one.
fn rocm(group: &Group<'_>) -> bool {
    if let Some(gfx) = group.seen.iter().find_map(|gpu| gpu.gfx.as_deref()) {
        return super::runs_rocm(gfx);
    }
    let name = name(group).to_lowercase();
    group.seen.iter().any(|gpu| gpu.api == Api::Rocm)
        || [
            "instinct",
            "rx 68",
            "rx 69",
            "rx 7",
            "rx 9",
            "r9700",
            "w6800",
            "w7800",
            "w7900",
            "radeon vii",
            "8060s",
            "8050s",
            "890m",
            "880m",
        ]
        .iter()
        .any(|family| name.contains(family))
}
