//! The variables with which people hide devices from an engine.

use std::borrow::Cow;

use crate::facts::{Facts, NvmlDevice};
use crate::machine::{Backend, Device, DeviceKind};
use crate::note::Note;
use crate::told::{Api, Part, Sighting, Told};

use super::host::short;

const CUDA: &str = "CUDA_VISIBLE_DEVICES";

/// The record with the variables that stand in a report's text.
pub(super) fn with_told<'a>(facts: &'a Facts, told: &Told) -> Cow<'a, Facts> {
    if told.variables.is_empty() {
        return Cow::Borrowed(facts);
    }
    let mut facts = facts.clone();
    facts.variables.extend(told.variables.clone());
    Cow::Owned(facts)
}

/// Of the cards that `nvidia-smi` listed, those that CUDA shows. A list by the engine has lost the others already.
pub(super) fn to_sighted(facts: &Facts, devices: &mut Vec<Device>, seen: &[Sighting], notes: &mut Vec<Note>) {
    let Some(value) = facts.variables.get(CUDA).filter(|_| facts.is_report()) else {
        return;
    };
    let listed: Vec<&Sighting> = seen
        .iter()
        .filter(|gpu| gpu.api == Api::Nvml && gpu.part == Part::Whole)
        .collect();
    if listed.is_empty() || seen.iter().any(|gpu| gpu.api == Api::Cuda) {
        return;
    }
    let mut number = 0;
    devices.retain(|device| {
        if device.vendor != "NVIDIA" || device.kind != DeviceKind::Discrete {
            return true;
        }
        let uuid = listed
            .get(number)
            .and_then(|gpu| gpu.uuid.as_deref())
            .unwrap_or_default();
        let shown = value.split(',').map(str::trim).any(|entry| {
            entry.parse() == Ok(number)
                || (entry.starts_with("GPU-") && uuid.starts_with(&entry.to_ascii_lowercase()))
        });
        number += 1;
        if !shown {
            notes.push(hidden(&device.name, CUDA, value));
        }
        shown
    });
    if number > 0 && !devices.iter().any(|device| device.vendor == "NVIDIA") {
        notes.push(Note::VariableHidesAll {
            variable: CUDA.to_owned(),
            value: short(value),
        });
    }
}

/// An NVIDIA card, and when it is cut, its slices with their names.
pub(super) struct Candidate<'a> {
    pub(super) device: Device,
    pub(super) card: &'a NvmlDevice,
    pub(super) slices: Vec<(String, Device)>,
}

/// What CUDA shows of these cards, in its order. It reads the list up to the first entry that names nothing.
pub(super) fn to_cuda(facts: &Facts, mut cards: Vec<Candidate<'_>>, notes: &mut Vec<Note>) -> Vec<Device> {
    let Some(value) = facts.variables.get(CUDA) else {
        return one_slice(cards.into_iter().map(|card| card.device).collect());
    };
    let numbers = value.split(',').any(|entry| entry.trim().parse::<u32>().is_ok());
    let by_bus = facts
        .variables
        .get("CUDA_DEVICE_ORDER")
        .is_some_and(|order| order.trim() == "PCI_BUS_ID");
    let mixed = cards
        .windows(2)
        .any(|pair| pair[0].card.name != pair[1].card.name);
    if numbers && mixed && !by_bus {
        cards.sort_by_key(|card| {
            std::cmp::Reverse((card.card.compute, card.device.bandwidth.as_ref().map(|b| b.value)))
        });
        notes.push(Note::VisibleOrderGuessed {
            variable: CUDA.to_owned(),
        });
    }
    let mut shown: Vec<Device> = Vec::new();
    for entry in value.split(',').map(str::trim) {
        let Some(device) = named(entry, &cards) else { break };
        if !shown.iter().any(|other| other.id == device.id) {
            shown.push(device);
        }
    }
    let shown = one_slice(shown);
    for card in &cards {
        // A card is shown when itself or one of its slices is.
        let prefix = format!("{}/", card.device.id.split('/').next().unwrap_or_default());
        if !shown
            .iter()
            .any(|device| device.id == card.device.id || device.id.starts_with(&prefix))
        {
            notes.push(hidden(&card.device.name, CUDA, value));
        }
    }
    if shown.is_empty() && !cards.is_empty() {
        notes.push(Note::VariableHidesAll {
            variable: CUDA.to_owned(),
            value: short(value),
        });
    }
    shown
}

/// However many slices there are, a program gets the first that it may see.
fn one_slice(mut devices: Vec<Device>) -> Vec<Device> {
    let mut slices = 0;
    devices.retain(|device| {
        slices += usize::from(device.id.contains("/mig-"));
        !device.id.contains("/mig-") || slices == 1
    });
    devices
}

fn named(entry: &str, cards: &[Candidate<'_>]) -> Option<Device> {
    if let Ok(number) = entry.parse::<usize>() {
        return cards.get(number).map(|card| card.device.clone());
    }
    if entry.starts_with("MIG-") {
        let mut slices = cards.iter().flat_map(|card| &card.slices);
        return slices
            .find(|(uuid, _)| uuid.starts_with(entry))
            .map(|(_, device)| device.clone());
    }
    // A name may be shortened as long as it is clear.
    let mut matching = cards
        .iter()
        .filter(|card| entry.starts_with("GPU-") && card.card.uuid.starts_with(entry));
    let first = matching.next()?;
    matching.next().is_none().then(|| first.device.clone())
}

/// The variables of the other backends take that backend from a device; a device without any is gone.
pub(super) fn hide(facts: &Facts, devices: &mut Vec<Device>, notes: &mut Vec<Note>) {
    for variable in ["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"] {
        without(facts, variable, Backend::Rocm, devices, notes);
    }
    without(facts, "GGML_VK_VISIBLE_DEVICES", Backend::Vulkan, devices, notes);
    devices.retain(|device| !device.backends.is_empty());
}

/// Numbers count the devices of that backend: cards first, in the order of the bus. That is a guess, and said,
/// where there is more than one.
fn without(facts: &Facts, variable: &str, backend: Backend, devices: &mut [Device], notes: &mut Vec<Note>) {
    let Some(value) = facts.variables.get(variable) else {
        return;
    };
    let entries: Vec<&str> = value.split(',').map(str::trim).collect();
    if entries.iter().any(|entry| entry.starts_with("GPU-")) {
        // Serial numbers are not in the record, so nothing can be said about these.
        return;
    }
    let rank = |kind: DeviceKind| u8::from(kind != DeviceKind::Discrete);
    let mut order: Vec<usize> = (0..devices.len())
        .filter(|&at| devices[at].backends.contains(&backend))
        .collect();
    order.sort_by_key(|&at| rank(devices[at].kind));
    // A report may leave out the devices that the numbers count.
    let beyond = entries
        .iter()
        .any(|entry| entry.parse().is_ok_and(|number: usize| number >= order.len()));
    if facts.is_report() && beyond {
        return;
    }
    if order.len() > 1 {
        notes.push(Note::VisibleOrderGuessed {
            variable: variable.to_owned(),
        });
    }
    for (number, &at) in order.iter().enumerate() {
        if !entries.iter().any(|entry| entry.parse() == Ok(number)) {
            let device = &mut devices[at];
            device.backends.retain(|&other| other != backend);
            notes.push(hidden(&device.name, variable, value));
        }
    }
}

fn hidden(name: &str, variable: &str, value: &str) -> Note {
    Note::HiddenByVariable {
        name: name.to_owned(),
        variable: variable.to_owned(),
        value: short(value),
    }
}
