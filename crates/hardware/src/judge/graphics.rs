//! Devices as Vulkan, DXGI and Metal list them, brought into the form of a sighting.

use plimsoll_units::Bytes;

use crate::facts::{DxgiAdapter, Facts, MetalDevice, VulkanDevice, VulkanHeap, VulkanKind};
use crate::told::{Api, Place, Sighting, Told, Trust, Vendor, vendor_of};

/// AMD's window into a card's memory without Resizable BAR: a heap of its own that belongs to the whole.
const AMD_WINDOW: Bytes = Bytes::mib(256);
/// The heap of an old lavapipe, whatever the machine has.
const LAVAPIPE_HEAP: Bytes = Bytes::gib(2);

/// What a live probe asked, and what a report printed of the same.
pub(super) fn see(facts: &Facts, told: &mut Told) {
    let windows = facts.os.starts_with("windows");
    let printed = std::mem::take(&mut told.vulkan);
    let mut list = u32::MAX - 64;
    let mut last_key = String::new();
    for (key, device) in printed {
        if key != last_key {
            list += 1;
            last_key.clone_from(&key);
        }
        vulkan(&device, &key, list, windows, told);
    }
    if let Some(asked) = &facts.vulkan {
        for (index, device) in asked.devices().iter().enumerate() {
            let mut live = Told::default();
            vulkan(device, "Vulkan", u32::MAX - 3, windows, &mut live);
            take(live, index, told);
        }
    }
    if let Some(asked) = &facts.dxgi {
        for adapter in asked.devices() {
            dxgi(adapter, told);
        }
    }
    if let Some(asked) = &facts.metal {
        for (index, device) in asked.devices().iter().enumerate() {
            metal(device, index, told);
        }
    }
}

fn take(mut from: Told, index: usize, told: &mut Told) {
    for mut gpu in from.gpus.drain(..) {
        gpu.index = u32::try_from(index).ok();
        told.gpus.push(gpu);
    }
    told.software.append(&mut from.software);
    told.virtual_gpus.append(&mut from.virtual_gpus);
    told.ram.append(&mut from.ram);
}

fn vulkan(device: &VulkanDevice, source: &str, list: u32, windows: bool, told: &mut Told) {
    let mut gpu = Sighting::new(Api::Vulkan, source, list).named(&device.name);
    gpu.vendor = device
        .vendor_id
        .and_then(Vendor::by_id)
        .or_else(|| vendor_of(&device.name));
    gpu.pci.clone_from(&device.pci);
    gpu.uuid.clone_from(&device.uuid);
    gpu.driver = Some(device.driver.clone()).filter(|driver| !driver.is_empty());
    let virtual_driver = ["virtio", "venus", "gfxstream"]
        .iter()
        .any(|word| device.driver.to_lowercase().contains(word));
    match device.kind {
        Some(VulkanKind::Discrete) => gpu.place = Some(Place::Card),
        Some(VulkanKind::Integrated) => {
            let by_name = crate::told::place_of(&device.name, gpu.vendor, None, None);
            gpu.place = by_name
                .filter(|place| *place != Place::Card)
                .or(Some(Place::Processor {
                    worth_planning_on: false,
                }));
        }
        Some(VulkanKind::Cpu) => {
            let name = if device.name.is_empty() {
                "Vulkan on the processor"
            } else {
                &device.name
            };
            told.software.push(name.to_owned());
            return;
        }
        Some(VulkanKind::Virtual | VulkanKind::Unnamed) | None => {}
    }
    if virtual_driver || device.kind == Some(VulkanKind::Virtual) && gpu.vendor.is_none() {
        told.virtual_gpus.push(device.name.clone());
        return;
    }
    if let [only] = device.heaps.as_slice()
        && device.name.is_empty()
        && only.size_bytes == LAVAPIPE_HEAP
        && only.budget_bytes.is_none()
    {
        told.software.push("Vulkan on the processor".to_owned());
        return;
    }
    heaps(&mut gpu, &device.heaps, windows);
    host_heap(&gpu, &device.heaps, windows, told);
    told.see(gpu);
}

/// Which heaps are the device's memory. A heap of the host is none of a card's; in a processor all are one
/// memory, and the engine counts them so. NVIDIA lists the window into its memory beside the memory itself.
fn heaps(gpu: &mut Sighting, heaps: &[VulkanHeap], windows: bool) {
    let flagged = heaps.iter().any(|heap| heap.device_local.is_some());
    let local: Vec<&VulkanHeap> = if flagged {
        heaps
            .iter()
            .filter(|heap| heap.device_local == Some(true))
            .collect()
    } else {
        // Cut before the flags: the first heap is the device's own, and AMD's window is known by its size.
        heaps
            .iter()
            .enumerate()
            .filter(|(at, heap)| *at == 0 || heap.size_bytes == AMD_WINDOW)
            .map(|(_, heap)| heap)
            .collect()
    };
    let Some(largest) = local.iter().copied().max_by_key(|heap| heap.size_bytes) else {
        return;
    };
    let by_name = || crate::told::place_of(&gpu.name, gpu.vendor, None, None);
    let in_processor = matches!(gpu.place.or_else(by_name), Some(Place::Processor { .. }));
    if gpu.vendor.is_none() && local.len() > 1 && local.iter().any(|heap| heap.size_bytes == AMD_WINDOW) {
        gpu.vendor = Some(Vendor::Amd);
    }
    if gpu.place.is_none() && gpu.name.is_empty() && local.len() < heaps.len() {
        gpu.place = Some(Place::Card);
    }
    let whole_by_itself = largest.size_bytes.0 % Bytes::gib(1).0 == 0;
    let counted: Vec<&VulkanHeap> = if in_processor && !windows {
        heaps.iter().collect()
    } else if gpu.vendor == Some(Vendor::Nvidia) || (gpu.vendor.is_none() && whole_by_itself) {
        vec![largest]
    } else {
        local
    };
    gpu.total = Some(counted.iter().map(|heap| heap.size_bytes).sum()).filter(|&total| total > Bytes::ZERO);
    let free: Option<Vec<Bytes>> = counted
        .iter()
        .map(|heap| Some(heap.budget_bytes?.less(heap.usage_bytes.unwrap_or_default())))
        .collect();
    gpu.free = free.map(|parts| parts.into_iter().sum());
}

/// Under Windows, and with AMD's drivers everywhere, a card's heap in the host's memory is half of the RAM.
fn host_heap(gpu: &Sighting, heaps: &[VulkanHeap], windows: bool, told: &mut Told) {
    let half = heaps
        .iter()
        .filter(|heap| {
            heap.device_local == Some(false)
                || (heap.device_local.is_none() && gpu.vendor == Some(Vendor::Amd))
        })
        .filter(|heap| gpu.total != Some(heap.size_bytes) && heap.size_bytes > AMD_WINDOW)
        .map(|heap| heap.size_bytes)
        .filter(|size| {
            gpu.total
                .is_none_or(|total| size.0 != total.0 - AMD_WINDOW.0.min(total.0))
        })
        .max();
    if let Some(half) =
        half.filter(|_| gpu.place == Some(Place::Card) && (windows || gpu.vendor == Some(Vendor::Amd)))
    {
        told.say_ram(
            Some(half.times(2)),
            None,
            Trust::Inferred,
            "the host's heap, half of the RAM",
        );
    }
}

fn dxgi(adapter: &DxgiAdapter, told: &mut Told) {
    if adapter.software {
        told.software.push(adapter.name.clone());
        return;
    }
    let mut gpu = Sighting::new(Api::Windows, "DXGI", u32::MAX - 2).named(&adapter.name);
    gpu.vendor = adapter
        .vendor_id
        .and_then(Vendor::by_id)
        .or_else(|| vendor_of(&adapter.name));
    gpu.uuid.clone_from(&adapter.luid);
    gpu.own = adapter.dedicated_video_bytes;
    gpu.shared = adapter.shared_system_bytes;
    let budget = |budget: Option<Bytes>, usage: Option<Bytes>| Some(budget?.less(usage.unwrap_or_default()));
    // On a card the local part is its own memory, in a processor both parts are the machine's.
    let local = budget(adapter.local_budget_bytes, adapter.local_usage_bytes);
    gpu.free = local.filter(|free| gpu.own.is_some_and(|own| *free <= own));
    let known = told
        .gpus
        .iter()
        .any(|other| other.list == gpu.list && gpu.uuid.is_some() && other.uuid == gpu.uuid);
    if !known {
        told.see(gpu);
    }
}

fn metal(device: &MetalDevice, index: usize, told: &mut Told) {
    let mut gpu = Sighting::new(Api::Metal, "Metal", u32::MAX - 1).named(&device.name);
    gpu.index = u32::try_from(index).ok();
    gpu.vendor = vendor_of(&device.name);
    gpu.place = match device.unified {
        Some(false) if !device.low_power => Some(Place::Card),
        Some(_) | None => None,
    };
    gpu.total = device.working_set_bytes;
    gpu.used = device.allocated_bytes;
    told.see(gpu);
}
