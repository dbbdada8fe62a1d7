//! Intel's Arc cards and the GPUs inside Intel's processors, by the i915 and xe drivers.

use plimsoll_units::Bytes;

use crate::machine::{Backend, Device, DeviceKind, Memory, Platform};
use crate::note::Note;

use super::pci::{Card, Maker};

/// Cards by PCI id, with the sizes they were sold in. Needed where the driver keeps its memory to itself: the
/// window on the bus is a power of two and larger than a 12 GB card.
const CARDS: [(u16, &[u64]); 15] = [
    (0x4905, &[4]),
    (0x5690, &[16]),
    (0x5691, &[12]),
    (0x5692, &[8]),
    (0x5693, &[4]),
    (0x5694, &[4]),
    (0x56a0, &[8, 16]),
    (0x56a1, &[8]),
    (0x56a5, &[6]),
    (0x56a6, &[4]),
    (0x56c0, &[12, 16]),
    (0xe20b, &[12]),
    (0xe20c, &[10]),
    (0xe211, &[24]),
    (0xe212, &[16]),
];

/// GPUs inside processors that are worth planning on: Arc graphics of Meteor, Arrow, Lunar and Panther Lake.
const ARC_IN_PROCESSOR: [u16; 8] = [0x7d55, 0x7dd5, 0x7d51, 0x64a0, 0xb080, 0xb081, 0xb082, 0xb083];

pub(super) fn devices(cards: &[Card<'_>], memory: &Memory, notes: &mut Vec<Note>) -> Vec<Device> {
    cards
        .iter()
        .filter(|card| card.maker == Maker::Intel)
        .filter_map(|card| {
            if !card.usable(&["i915", "xe"], notes) {
                return None;
            }
            if is_card(card.device) {
                discrete(card, notes)
            } else {
                Some(in_processor(card, memory))
            }
        })
        .collect()
}

const fn is_card(device: u16) -> bool {
    matches!(device, 0x4905..=0x4909 | 0x5690..=0x56c2 | 0xe200..=0xe2ff)
}

fn discrete(card: &Card<'_>, notes: &mut Vec<Note>) -> Option<Device> {
    let name = card.name();
    let said = ["tile0/physical_vram_size_bytes", "lmem_total_bytes"]
        .into_iter()
        .find_map(|file| Some((card.size(file, notes).filter(|&bytes| bytes > Bytes::ZERO)?, file)));
    let (total, source) = if let Some((bytes, file)) = said {
        (bytes, file.to_owned())
    } else if let Some(bytes) = sold_as(card) {
        notes.push(Note::GpuMemoryFromWindow {
            name: name.clone(),
            bytes,
        });
        (bytes, "PCI id and window".to_owned())
    } else {
        notes.push(Note::GpuMemoryUnknown { name });
        return None;
    };
    Some(Device {
        id: card.id(),
        name,
        vendor: "Intel".to_owned(),
        kind: DeviceKind::Discrete,
        backends: vec![Backend::Vulkan, Backend::Sycl],
        total,
        free: total,
        dedicated: None,
        bandwidth: None,
        platform: Platform::default(),
        source,
    })
}

/// The largest size of that model that its window can show; the smallest where the window is small.
fn sold_as(card: &Card<'_>) -> Option<Bytes> {
    let (_, sizes) = CARDS.iter().find(|(id, _)| *id == card.device)?;
    let window = largest_window(card.lines("resource"));
    let sizes = sizes.iter().map(|&gib| Bytes::gib(gib));
    sizes
        .clone()
        .filter(|&bytes| bytes <= window)
        .max()
        .or_else(|| sizes.min())
}

/// Lines of start, end and flags, all hexadecimal.
fn largest_window(lines: &[String]) -> Bytes {
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    lines
        .iter()
        .filter_map(|line| {
            let mut parts = line.split_ascii_whitespace();
            let (start, end) = (number(parts.next()?)?, number(parts.next()?)?);
            end.checked_sub(start)?.checked_add(1).map(Bytes)
        })
        .max()
        .unwrap_or_default()
}

/// Its memory is RAM. How much of it a Vulkan program may use is Mesa's decision: three quarters, half of a
/// small machine.
fn in_processor(card: &Card<'_>, memory: &Memory) -> Device {
    let share = if memory.total > Bytes::gib(4) {
        Bytes(memory.total.0 / 4 * 3)
    } else {
        Bytes(memory.total.0 / 2)
    };
    let worth_planning_on = ARC_IN_PROCESSOR.contains(&card.device);
    Device {
        id: card.id(),
        name: card.name(),
        vendor: "Intel".to_owned(),
        kind: if worth_planning_on {
            DeviceKind::Unified
        } else {
            DeviceKind::Integrated
        },
        backends: vec![Backend::Vulkan, Backend::Sycl],
        total: share,
        free: share.min(memory.available),
        dedicated: None,
        bandwidth: None,
        platform: Platform::default(),
        source: "share of the RAM that Mesa allows".to_owned(),
    }
}
