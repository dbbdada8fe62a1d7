//! `vulkaninfo`, whole and `--summary`, and the heaps that DXVK prints: into the form in which a live probe has
//! them.

use std::fmt::Write;

use plimsoll_units::Bytes;

use super::scan::{after, amount, leading_number, split_groups};
use super::{Text, Told};
use crate::facts::{VulkanDevice, VulkanHeap, VulkanKind};

const DEVICES_MAX: usize = 64;
const HEAPS_MAX: usize = 16;

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let mut reader = Reader::default();
    for line in &mut text.lines {
        if !line.taken {
            line.taken = reader.line(line.text);
        }
    }
    reader.close();
    for device in reader.done.into_iter().take(DEVICES_MAX) {
        told.vulkan.push((text.key.to_owned(), device));
    }
}

#[derive(Default)]
struct Reader {
    done: Vec<VulkanDevice>,
    open: Option<VulkanDevice>,
    in_heap: bool,
}

impl Reader {
    fn line(&mut self, line: &str) -> bool {
        let trimmed = line.trim().trim_start_matches("info:").trim();
        // `GPU0:`, at the head of a block of the list or of the whole print.
        if trimmed
            .strip_prefix("GPU")
            .and_then(|rest| rest.strip_suffix(':'))
            .is_some_and(|n| n.parse::<u32>().is_ok())
        {
            self.close();
            return true;
        }
        // Older versions head each device with `GPU id = 0 (NAME)`; `GPU id : 0 (NAME)` heads other sections.
        if let Some(rest) = trimmed.strip_prefix("GPU id") {
            if let Some((_, name)) = split_groups(rest).filter(|_| rest.trim_start().starts_with('=')) {
                self.close();
                self.open = Some(VulkanDevice {
                    name: name.to_owned(),
                    ..VulkanDevice::default()
                });
            }
            return true;
        }
        if heap_number(trimmed).is_some() {
            let device = self.open.get_or_insert_default();
            if device.heaps.len() < HEAPS_MAX {
                device.heaps.push(VulkanHeap::default());
            }
            self.in_heap = true;
            return true;
        }
        if trimmed.starts_with("memoryTypes") {
            self.in_heap = false;
            return true;
        }
        if self.in_heap && self.heap_line(trimmed) {
            return true;
        }
        self.property(trimmed)
    }

    /// `size = 8321499136 (0x1f0000000) (7.75 GiB)`, or `Size: 4096 MiB` and `Flags: 0x1` in DXVK's log.
    fn heap_line(&mut self, line: &str) -> bool {
        let Some(heap) = self.open.as_mut().and_then(|device| device.heaps.last_mut()) else {
            return false;
        };
        if line.contains("MEMORY_HEAP_DEVICE_LOCAL_BIT") || line.contains("DEVICE_LOCAL") {
            heap.device_local = Some(true);
            return true;
        }
        if line.starts_with("MEMORY_HEAP") {
            heap.device_local.get_or_insert(false);
            return true;
        }
        if line == "None" {
            heap.device_local = Some(false);
            return true;
        }
        let Some((label, value)) = line.split_once(['=', ':']) else {
            return false;
        };
        let number = || {
            amount(value)
                .filter(|_| line.contains("iB") && !line.contains("(0x"))
                .or_else(|| leading_number(value).map(Bytes))
        };
        match label.trim() {
            "size" | "Size" => heap.size_bytes = number().unwrap_or_default(),
            // A zero is what a driver without the extension leaves there.
            "budget" => heap.budget_bytes = number().filter(|&bytes| bytes > Bytes::ZERO),
            "usage" => heap.usage_bytes = number(),
            "Flags" => {
                let flags = after(value, "0x").and_then(|hex| u32::from_str_radix(hex.trim(), 16).ok());
                heap.device_local = flags.map(|flags| flags & 1 == 1);
            }
            "flags" => {}
            _ => return false,
        }
        true
    }

    fn property(&mut self, line: &str) -> bool {
        const LABELS: [&str; 13] = [
            "deviceName",
            "deviceType",
            "vendorID",
            "deviceID",
            "driverName",
            "driverInfo",
            "pciDomain",
            "pciBus",
            "pciDevice",
            "pciFunction",
            "deviceUUID",
            "deviceLUID",
            "maxMemoryAllocationSize",
        ];
        let Some((label, value)) = line.split_once('=') else {
            return line.starts_with("memoryHeaps:") || line.starts_with("VkPhysicalDevice");
        };
        let (label, value) = (label.trim(), value.trim());
        let another = |open: &VulkanDevice| !open.name.is_empty() && open.name != value;
        if label == "deviceName" && self.open.as_ref().is_some_and(another) {
            self.close();
        }
        if !LABELS.contains(&label) {
            return [
                "apiVersion",
                "driverVersion",
                "driverID",
                "conformanceVersion",
                "driverUUID",
            ]
            .contains(&label);
        }
        let device = self.open.get_or_insert_default();
        let id = || {
            let digits = value.split_whitespace().next()?;
            match digits.strip_prefix("0x") {
                Some(hex) => u32::from_str_radix(hex, 16).ok(),
                None => digits.parse().ok(),
            }
        };
        match label {
            "deviceName" => value.clone_into(&mut device.name),
            "deviceType" => device.kind = kind(value),
            "vendorID" => device.vendor_id = id(),
            "deviceID" => device.device_id = id(),
            "driverName" => value.clone_into(&mut device.driver),
            "driverInfo" => value.clone_into(&mut device.driver_info),
            "deviceUUID" => device.uuid = Some(value.to_ascii_lowercase()),
            "deviceLUID" => device.luid = Some(value.to_ascii_lowercase()),
            "maxMemoryAllocationSize" => device.max_allocation_bytes = leading_number(value).map(Bytes),
            "pciDomain" => device.pci = id().map(|domain| format!("{domain:04x}")),
            "pciBus" | "pciDevice" => {
                if let (Some(pci), Some(number)) = (&mut device.pci, id()) {
                    let _ = write!(pci, ":{number:02x}");
                }
            }
            _ => {
                if let (Some(pci), Some(number)) = (&mut device.pci, id()) {
                    let _ = write!(pci, ".{number:x}");
                }
            }
        }
        true
    }

    fn close(&mut self) {
        self.in_heap = false;
        if let Some(mut device) = self.open.take() {
            // Half an address finds nothing.
            device.pci = device.pci.filter(|pci| pci.len() == 12);
            self.done.push(device);
        }
    }
}

/// `memoryHeaps[0]:`, and `Memory Heap[0]:` of DXVK.
fn heap_number(line: &str) -> Option<u64> {
    let rest = line
        .strip_prefix("memoryHeaps[")
        .or_else(|| line.strip_prefix("Memory Heap["))?;
    rest.ends_with(':').then(|| leading_number(rest)).flatten()
}

/// `PHYSICAL_DEVICE_TYPE_DISCRETE_GPU`, and without the first words in older versions.
fn kind(value: &str) -> Option<VulkanKind> {
    Some(if value.contains("DISCRETE") {
        VulkanKind::Discrete
    } else if value.contains("INTEGRATED") {
        VulkanKind::Integrated
    } else if value.contains("VIRTUAL") {
        VulkanKind::Virtual
    } else if value.contains("CPU") {
        VulkanKind::Cpu
    } else if value.contains("OTHER") {
        VulkanKind::Unnamed
    } else {
        return None;
    })
}
