//! From a record to a machine. Nothing here reads, waits or remembers: the same record gives the same machine.

mod amd;
mod host;
mod intel;
mod nvidia;
mod pci;
mod size;
mod visible;

use crate::facts::Facts;
use crate::machine::{Class, Device, DeviceKind, Machine};
use crate::machine_file::DEVICES_MAX;
use crate::note::Note;

pub(crate) use host::memory as judge_memory;
pub(crate) use nvidia::device_id as nvidia_id;
pub(crate) use size::size;

/// What the record says about its machine. Never fails: what is missing, damaged or impossible is left out, and
/// a note says so where that matters.
#[must_use]
pub fn judge(facts: &Facts) -> Machine {
    let mut notes = Vec::new();
    let memory = host::memory(facts, &mut notes);
    let cpu = host::cpu(facts, &mut notes);
    let os = host::os(facts, &mut notes);

    let cards = pci::cards(facts, &mut notes);
    let mut devices = nvidia::devices(facts, &cards, &memory, &mut notes);
    devices.extend(amd::devices(&cards, &memory, &mut notes));
    devices.extend(intel::devices(&cards, &memory, &mut notes));
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
    software_rasterisers(facts, &mut notes);

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
    let name = name.to_ascii_lowercase();
    [
        "llvmpipe",
        "lavapipe",
        "softpipe",
        "swiftshader",
        "swrast",
        "basic render driver",
    ]
    .iter()
    .any(|known| name.contains(known))
}

/// They are no devices for us; where a record has them, it is said that they were seen and not counted.
fn software_rasterisers(facts: &Facts, notes: &mut Vec<Note>) {
    let mut on_processor = false;
    for line in facts.lines("vulkaninfo --summary") {
        let Some((label, value)) = line.split_once('=') else {
            continue;
        };
        let (label, value) = (label.trim(), value.trim());
        if label == "deviceType" {
            on_processor = value.ends_with("_CPU");
        } else if label == "deviceName" && (on_processor || is_software_rasteriser(value)) {
            notes.push(Note::SoftwareRasteriser {
                name: value.to_owned(),
            });
            on_processor = false;
        }
    }
}
