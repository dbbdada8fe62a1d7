//! From a record to a machine. Nothing here reads, waits or remembers: the same record gives the same machine.

mod amd;
mod asked;
mod borrowed;
mod graphics;
mod host;
mod intel;
mod nvidia;
mod pci;
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
    told::finish(&mut told, facts);
    let facts = &visible::with_told(facts, &told);
    let memory = host::memory_with(facts, &told, &mut notes);
    let cpu = host::cpu(facts, &told, &mut notes);
    let os = host::os(facts, &told, &mut notes);

    let cards = pci::cards(facts, &mut notes);
    let mut devices = nvidia::devices(facts, &cards, &memory, &mut notes);
    devices.extend(amd::devices(&cards, &memory, &mut notes));
    devices.extend(intel::devices(&cards, &memory, &mut notes));
    let mut devices = sighted::devices(facts, &told, devices, &memory, &mut notes);
    visible::to_sighted(facts, &mut devices, &told.gpus, &mut notes);
    visible::hide(facts, &mut devices, &mut notes);
    demote_beside_discrete(&mut devices);
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
