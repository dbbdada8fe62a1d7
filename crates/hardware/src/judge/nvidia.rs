//! NVIDIA's cards, by what NVML answered and, where it did not, by what the bus shows.

use plimsoll_units::{Bytes, BytesPerSecond};

use crate::facts::{Facts, Nvml, NvmlDevice, Reading};
use crate::machine::{Backend, Device, DeviceKind, Memory, Platform, Sourced};
use crate::note::Note;

use super::host::short;
use super::pci::{Card, Maker};
use super::size::size;
use super::visible::{self, Candidate};

pub(super) fn devices(
    facts: &Facts,
    cards: &[Card<'_>],
    memory: &Memory,
    notes: &mut Vec<Note>,
) -> Vec<Device> {
    let on_bus: Vec<&Card<'_>> = cards.iter().filter(|card| card.maker == Maker::Nvidia).collect();
    let note = match &facts.nvml {
        Some(Nvml::Answered { devices, .. }) => return answered(facts, devices, memory, notes),
        Some(Nvml::LibraryMissing) | None => {
            without_library(&on_bus, notes);
            return Vec::new();
        }
        Some(Nvml::DriverNotLoaded) => Note::NvidiaDriverNotLoaded {},
        Some(Nvml::VersionMismatch) => Note::NvidiaDriverMismatch {},
        Some(Nvml::NoPermission) => Note::NvidiaNoPermission {},
        Some(Nvml::TimedOut { limit_ms }) => Note::NvidiaProbeTimedOut { limit_ms: *limit_ms },
        Some(Nvml::Crashed { exit }) => Note::NvidiaProbeCrashed { exit: short(exit) },
        Some(Nvml::Failed { cause }) => Note::NvidiaProbeFailed { cause: short(cause) },
    };
    notes.push(note);
    // Another driver that has the card explains more than "not loaded" does.
    for card in on_bus
        .iter()
        .filter(|card| card.driver.is_some_and(|driver| driver != "nvidia"))
    {
        card.usable(&["nvidia"], notes);
    }
    Vec::new()
}

fn without_library(on_bus: &[&Card<'_>], notes: &mut Vec<Note>) {
    for card in on_bus {
        if card.driver == Some("nvidia") {
            notes.push(Note::NvidiaDriverMissing { name: card.name() });
        } else {
            card.usable(&["nvidia"], notes);
        }
    }
}

fn answered(facts: &Facts, said: &[NvmlDevice], memory: &Memory, notes: &mut Vec<Note>) -> Vec<Device> {
    let mut candidates = Vec::new();
    for card in said {
        let name = if card.name.is_empty() {
            format!("GPU {}", card.index)
        } else {
            short(&card.name)
        };
        match &card.slices {
            None => {
                if let Some(device) = device(card, name, memory, notes) {
                    candidates.push(Candidate {
                        device,
                        card,
                        slices: Vec::new(),
                    });
                }
            }
            Some(slices) => {
                // Cut into slices the card itself cannot be used.
                let slices: Vec<(String, Device)> = slices
                    .iter()
                    .enumerate()
                    .filter_map(|(place, slice)| {
                        let name = if slice.name.is_empty() {
                            format!("{name} slice {place}")
                        } else {
                            short(&slice.name)
                        };
                        let mut device = sized(card, name, &slice.memory, memory, notes)?;
                        device.id = format!("{}/mig-{place}", device_id(card));
                        device.backends = vec![Backend::Cuda];
                        device.bandwidth = None;
                        Some((slice.uuid.clone(), device))
                    })
                    .collect();
                let count = u32::try_from(slices.len()).unwrap_or(u32::MAX);
                notes.push(Note::MigOneSlice { name, slices: count });
                if let Some((_, first)) = slices.first() {
                    candidates.push(Candidate {
                        device: first.clone(),
                        card,
                        slices,
                    });
                }
            }
        }
    }
    visible::to_cuda(facts, candidates, notes)
}

pub(crate) fn device_id(card: &NvmlDevice) -> String {
    if card.pci.is_empty() {
        format!("nvidia-{}", card.index)
    } else {
        format!("pci-{}", short(&card.pci))
    }
}

fn device(card: &NvmlDevice, name: String, memory: &Memory, notes: &mut Vec<Note>) -> Option<Device> {
    sized(card, name, &card.memory, memory, notes)
}

fn sized(
    card: &NvmlDevice,
    name: String,
    reading: &Reading,
    memory: &Memory,
    notes: &mut Vec<Note>,
) -> Option<Device> {
    let (kind, total, free, source) = match reading {
        Reading::Known(said) if said.total_bytes > Bytes::ZERO || !is_in_processor(card) => {
            let total =
                size(&said.total_bytes.0.to_string(), "NVML", notes).filter(|&bytes| bytes > Bytes::ZERO);
            let Some(total) = total else {
                notes.push(Note::GpuMemoryUnknown { name });
                return None;
            };
            (DeviceKind::Discrete, total, said.free_bytes.min(total), "NVML")
        }
        Reading::Known(_) | Reading::NotSupported => {
            notes.push(Note::GpuMemoryIsRam { name: name.clone() });
            if memory.total == Bytes::ZERO {
                return None;
            }
            (
                DeviceKind::Unified,
                memory.total,
                memory.available,
                "RAM, as NVML gives no size",
            )
        }
        Reading::Failed { cause } => {
            notes.push(Note::GpuLost {
                name,
                cause: short(cause),
            });
            return None;
        }
    };
    Some(Device {
        id: device_id(card),
        name,
        vendor: "NVIDIA".to_owned(),
        kind,
        backends: vec![Backend::Cuda, Backend::Vulkan],
        total,
        free,
        dedicated: None,
        bandwidth: bandwidth(card),
        platform: Platform {
            architecture: card.compute.map(|(major, minor)| format!("{major}.{minor}")),
            ..Platform::default()
        },
        source: source.to_owned(),
    })
}

/// What the data sheet says, from the card's own numbers: two transfers per clock over the whole width. NVML's
/// clock is already the doubled one for the faster kinds of memory; cards from V100 to RTX 5090 come out right.
fn bandwidth(card: &NvmlDevice) -> Option<Sourced<BytesPerSecond>> {
    const WIDTH_MAX: u32 = 16_384;
    const CLOCK_MHZ_MAX: u32 = 40_000;
    let width = card
        .bus_width_bits
        .filter(|&bits| (32..=WIDTH_MAX).contains(&bits))?;
    let clock = card
        .memory_clock_mhz
        .filter(|&mhz| (100..=CLOCK_MHZ_MAX).contains(&mhz))?;
    let value = BytesPerSecond(u64::from(width) / 8 * u64::from(clock) * 2 * 1_000_000);
    Some(Sourced {
        value,
        source: "NVML bus width and memory clock".to_owned(),
    })
}

/// NVIDIA's own systems on a chip, by compute capability: Jetson from TX1 to Thor, and GB10. Some versions of
/// their driver say 0 instead of "not supported".
fn is_in_processor(card: &NvmlDevice) -> bool {
    card.compute
        .is_some_and(|version| [(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0), (12, 1)].contains(&version))
}
