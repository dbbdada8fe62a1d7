//! From a record to a machine. Nothing here reads, waits or remembers: the same record gives the same machine.

mod amd;
mod asked;
mod borrowed;
mod graphics;
mod host;
mod intel;
mod kfd;
mod nvidia;
mod pci;
mod platform;
mod pool;
mod sighted;
mod size;
mod visible;

use crate::facts::Facts;
use crate::machine::{Class, Device, DeviceKind, Machine};
use crate::machine_file::{DEVICES_MAX, NOTES_MAX};
use crate::note::Note;
use crate::told;

pub(crate) use host::{FEATURES, memory as judge_memory};
pub(crate) use nvidia::device_id as nvidia_id;
pub(crate) use size::size;

/// What the record says about its machine. Never fails: what is missing, damaged or impossible is left out, and
/// a note says so where that matters.
#[must_use]
pub fn judge(facts: &Facts) -> Machine {
    let mut notes = Vec::new();
    let mut told = told::read(facts);
    graphics::see(facts, &mut told);
    let mut of_cards = Vec::new();
    let cards = pci::cards(facts, &mut of_cards);
    let topology = kfd::nodes(facts, &mut of_cards);
    let on_bus: Vec<&str> = cards.iter().map(|card| card.address).collect();
    kfd::see(&topology, &on_bus, &mut told);
    told::finish(&mut told, facts);
    let facts = &visible::with_told(facts, &told);
    let memory = host::memory_with(facts, &told, &mut notes);
    let cpu = host::cpu(facts, &told, &mut notes);
    let os = host::os(facts, &told, &mut notes);

    notes.append(&mut of_cards);
    let mut devices = nvidia::devices(facts, &cards, &memory, &mut notes);
    devices.extend(amd::devices(&cards, &topology, &memory, &mut notes));
    devices.extend(intel::devices(&cards, &memory, &mut notes));
    let mut devices = sighted::devices(facts, &told, devices, &memory, &mut notes);
    visible::to_sighted(facts, &mut devices, &told.gpus, &mut notes);
    visible::hide(facts, &mut devices, &mut notes);
    demote_beside_discrete(&mut devices);
    platform::name_drivers(facts, &told, &mut devices);
    for device in devices
        .iter()
        .filter(|device| device.kind == DeviceKind::Integrated)
    {
        notes.push(Note::GpuNotPlannedOn {
            name: device.name.clone(),
        });
    }
    devices.sort_by_key(|device| match device.kind {
        DeviceKind::Discrete => 0,
        DeviceKind::Unified => 1,
        DeviceKind::Integrated => 2,
        DeviceKind::Remote => 3,
    });
    devices.truncate(DEVICES_MAX);
    not_counted(&told, &mut notes);
    asked::note_silence(facts, &mut notes);
    notes.truncate(NOTES_MAX);

    Machine {
        schema: Machine::SCHEMA,
        os,
        cpu,
        memory,
        class: Class::of(&devices),
        devices,
        notes,
    }
}

/// The instruction sets for which AMD ships the libraries of its own backend.
fn runs_rocm(gfx: &str) -> bool {
    const SETS: [&str; 17] = [
        "gfx900", "gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx1030", "gfx1100",
        "gfx1101", "gfx1102", "gfx1150", "gfx1151", "gfx1152", "gfx1200", "gfx1201",
    ];
    SETS.contains(&gfx)
}

/// Beside a card with memory of its own, a GPU in the processor is not planned on: its memory is the RAM that
/// the host part of a plan needs, and a layer there is slower than on either side.
fn demote_beside_discrete(devices: &mut [Device]) {
    if devices.iter().any(|device| device.kind == DeviceKind::Discrete) {
        for device in devices
            .iter_mut()
            .filter(|device| device.kind == DeviceKind::Unified)
        {
            device.kind = DeviceKind::Integrated;
        }
    }
}

/// Programs that draw with the processor and are listed like a GPU.
#[must_use]
pub fn is_software_rasteriser(name: &str) -> bool {
    told::is_software(name)
}

/// They are no devices for us; where a record has them, it is said that they were seen and not counted.
fn not_counted(told: &told::Told, notes: &mut Vec<Note>) {
    for name in &told.software {
        notes.push(Note::SoftwareRasteriser {
            name: host::short(name),
        });
    }
    for name in &told.virtual_gpus {
        notes.push(Note::VirtualGpu {
            name: host::short(name),
        });
    }
}
