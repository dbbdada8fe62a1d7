//! AMD's compute driver, whose topology lists processors and GPUs as nodes with their banks of memory.

use std::collections::BTreeSet;

use plimsoll_units::Bytes;

use crate::facts::Facts;
use crate::note::Note;
use crate::told::{Api, Sighting, Told, Vendor, gfx_of_kfd};

use super::size::size;

const PREFIX: &str = "/sys/class/kfd/kfd/topology/nodes/";
/// `HSA_MEM_HEAP_TYPE_FB_PUBLIC` and `…_PRIVATE` of the kernel's `kfd_crat.h`: memory of the GPU's own. Type 0 is
/// the RAM.
const OWN_HEAPS: [&str; 2] = ["1", "2"];
/// Rows of this list are different devices.
const LIST: u32 = u32::MAX - 4;

/// One GPU of the topology.
pub(super) struct Node {
    pub(super) number: u32,
    /// `0000:c4:00.0`
    pub(super) pci: Option<String>,
    /// `gfx1151`
    pub(super) gfx: Option<String>,
    /// Zero where no bank is the GPU's own.
    pub(super) own: Bytes,
}

pub(super) fn nodes(facts: &Facts, notes: &mut Vec<Note>) -> Vec<Node> {
    let numbers: BTreeSet<u32> = facts
        .facts
        .keys()
        .filter_map(|key| key.strip_prefix(PREFIX)?.split_once('/')?.0.parse().ok())
        .collect();
    numbers
        .into_iter()
        .filter_map(|number| node(facts, number, notes))
        .collect()
}

fn node(facts: &Facts, number: u32, notes: &mut Vec<Note>) -> Option<Node> {
    let properties = format!("{PREFIX}{number}/properties");
    let value = |name: &str| word(facts, &properties, name)?.parse::<u64>().ok();
    // A processor has none.
    value("simd_count").filter(|&count| count > 0)?;
    let banks = format!("{PREFIX}{number}/mem_banks/");
    let own = facts
        .facts
        .keys()
        .filter(|key| key.starts_with(&banks) && key.ends_with("/properties"))
        .filter(|bank| word(facts, bank, "heap_type").is_some_and(|heap| OWN_HEAPS.contains(&heap)))
        .filter_map(|bank| size(word(facts, bank, "size_in_bytes")?, bank, notes))
        .sum();
    Some(Node {
        number,
        pci: value("location_id").map(|location| address(value("domain").unwrap_or_default(), location)),
        gfx: value("gfx_target_version").and_then(gfx_of_kfd),
        own,
    })
}

/// Bus, device and function lie in one number, as the kernel's `pci_dev_id` packs them.
fn address(domain: u64, location: u64) -> String {
    format!(
        "{domain:04x}:{:02x}:{:02x}.{}",
        location >> 8 & 0xff,
        location >> 3 & 0x1f,
        location & 7
    )
}

/// Lines of a name, a space and a number.
fn word<'a>(facts: &'a Facts, file: &str, name: &str) -> Option<&'a str> {
    facts
        .lines(file)
        .iter()
        .find_map(|line| Some(line.trim().strip_prefix(name)?.strip_prefix(' ')?.trim()))
}

/// The GPUs that the bus does not show, as in a container that is lent the compute driver alone.
pub(super) fn see(nodes: &[Node], on_bus: &[&str], told: &mut Told) {
    for node in nodes {
        if node.pci.as_deref().is_some_and(|pci| on_bus.contains(&pci)) {
            continue;
        }
        let mut gpu = Sighting::new(Api::Rocm, "KFD mem_banks", LIST);
        gpu.index = Some(node.number);
        gpu.vendor = Some(Vendor::Amd);
        gpu.pci.clone_from(&node.pci);
        gpu.gfx.clone_from(&node.gfx);
        gpu.own = Some(node.own).filter(|&own| own > Bytes::ZERO);
        told.see(gpu);
    }
}
