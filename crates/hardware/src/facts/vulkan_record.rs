//! Asking Vulkan, whose loader is opened at run time: a machine without it is no worse for that. Only what
//! devices say about themselves is read; no device is opened, and nothing is drawn.

#![expect(
    unsafe_code,
    reason = "Vulkan is a C interface; every call here only reads properties"
)]

use std::ffi::CStr;

use ash::vk;
use plimsoll_units::Bytes;

use super::graphics::{Asked, VulkanDevice, VulkanHeap, VulkanKind};

const DEVICES_MAX: usize = 64;
/// Properties of devices in chains came with this version.
const WITH_CHAINS: u32 = vk::API_VERSION_1_1;

pub(super) fn ask_here() -> Asked<VulkanDevice> {
    // SAFETY: the system's own loader, by its fixed name; its start-up code is what every Vulkan program runs.
    let entry = match unsafe { ash::Entry::load() } {
        Ok(entry) => entry,
        Err(ash::LoadingError::LibraryLoadFailure(_)) => return Asked::LibraryMissing,
        Err(error @ ash::LoadingError::MissingEntryPoint(_)) => return failed(error),
    };
    match devices(&entry) {
        Ok(devices) => Asked::Answered { devices },
        // Said when a loader finds no driver at all.
        Err(vk::Result::ERROR_INCOMPATIBLE_DRIVER) => Asked::Answered { devices: Vec::new() },
        Err(error) => failed(error),
    }
}

fn failed(error: impl std::fmt::Display) -> Asked<VulkanDevice> {
    Asked::Failed {
        cause: error.to_string(),
    }
}

fn devices(entry: &ash::Entry) -> Result<Vec<VulkanDevice>, vk::Result> {
    // SAFETY: takes nothing and fills a number.
    let offered = unsafe { entry.try_enumerate_instance_version() }?.unwrap_or(vk::API_VERSION_1_0);
    let wanted = offered.min(WITH_CHAINS);
    let application = vk::ApplicationInfo::default()
        .application_name(c"plimsoll")
        .api_version(wanted);
    let create = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: `create` and what it points to live until the call is over; no layers or extensions are asked.
    let instance = unsafe { entry.create_instance(&create, None) }?;
    // SAFETY: the instance was just made and is destroyed below, after the last use of its devices.
    let found = unsafe { instance.enumerate_physical_devices() };
    let devices = found.map(|found| {
        found
            .into_iter()
            .take(DEVICES_MAX)
            .map(|device| read(&instance, device, wanted))
            .collect()
    });
    // SAFETY: nothing of this instance is used any more.
    unsafe { instance.destroy_instance(None) };
    devices
}

fn read(instance: &ash::Instance, device: vk::PhysicalDevice, instance_version: u32) -> VulkanDevice {
    // SAFETY: `device` is one of this living instance; the same holds for every call below.
    let basic = unsafe { instance.get_physical_device_properties(device) };
    let version = basic.api_version.min(instance_version);
    let mut read = VulkanDevice {
        name: text(basic.device_name_as_c_str().ok()),
        kind: kind(basic.device_type),
        vendor_id: Some(basic.vendor_id),
        device_id: Some(basic.device_id),
        ..VulkanDevice::default()
    };
    if version < WITH_CHAINS {
        // SAFETY: see above.
        let memory = unsafe { instance.get_physical_device_memory_properties(device) };
        read.heaps = heaps(&memory, None);
        return read;
    }
    // SAFETY: see above.
    let extensions = unsafe { instance.enumerate_device_extension_properties(device) }.unwrap_or_default();
    let has = |name: &CStr| {
        extensions
            .iter()
            .any(|one| one.extension_name_as_c_str() == Ok(name))
    };

    let mut id = vk::PhysicalDeviceIDProperties::default();
    let mut sizes = vk::PhysicalDeviceMaintenance3Properties::default();
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut pci = vk::PhysicalDevicePCIBusInfoPropertiesEXT::default();
    let (has_driver, has_pci) = (
        has(ash::khr::driver_properties::NAME) || basic.api_version >= vk::API_VERSION_1_2,
        has(ash::ext::pci_bus_info::NAME),
    );
    let mut properties = vk::PhysicalDeviceProperties2::default()
        .push_next(&mut id)
        .push_next(&mut sizes);
    if has_driver {
        properties = properties.push_next(&mut driver);
    }
    if has_pci {
        properties = properties.push_next(&mut pci);
    }
    // SAFETY: see above; each structure of the chain belongs to an extension that the device has.
    unsafe { instance.get_physical_device_properties2(device, &mut properties) };
    read.uuid = Some(hexadecimal(&id.device_uuid));
    // As one number, the way Windows prints it.
    read.luid =
        (id.device_luid_valid == vk::TRUE).then(|| format!("{:x}", u64::from_le_bytes(id.device_luid)));
    read.max_allocation_bytes = Some(Bytes(sizes.max_memory_allocation_size));
    if has_driver {
        read.driver = text(driver.driver_name_as_c_str().ok());
        read.driver_info = text(driver.driver_info_as_c_str().ok());
    }
    if has_pci {
        read.pci = Some(format!(
            "{:04x}:{:02x}:{:02x}.{:x}",
            pci.pci_domain, pci.pci_bus, pci.pci_device, pci.pci_function
        ));
    }

    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    let has_budget = has(ash::ext::memory_budget::NAME);
    let mut memory = vk::PhysicalDeviceMemoryProperties2::default();
    if has_budget {
        memory = memory.push_next(&mut budget);
    }
    // SAFETY: see above.
    unsafe { instance.get_physical_device_memory_properties2(device, &mut memory) };
    let memory = memory.memory_properties;
    read.heaps = heaps(&memory, has_budget.then_some(&budget));
    read
}

fn heaps(
    memory: &vk::PhysicalDeviceMemoryProperties,
    budget: Option<&vk::PhysicalDeviceMemoryBudgetPropertiesEXT<'_>>,
) -> Vec<VulkanHeap> {
    memory
        .memory_heaps_as_slice()
        .iter()
        .enumerate()
        .map(|(at, heap)| {
            let of = |list: &[vk::DeviceSize]| list.get(at).copied().map(Bytes);
            VulkanHeap {
                size_bytes: Bytes(heap.size),
                device_local: Some(heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL)),
                budget_bytes: budget.and_then(|budget| of(&budget.heap_budget)),
                usage_bytes: budget.and_then(|budget| of(&budget.heap_usage)),
            }
        })
        .collect()
}

/// `None` for a kind that came after this was written.
fn kind(said: vk::PhysicalDeviceType) -> Option<VulkanKind> {
    [
        (vk::PhysicalDeviceType::DISCRETE_GPU, VulkanKind::Discrete),
        (vk::PhysicalDeviceType::INTEGRATED_GPU, VulkanKind::Integrated),
        (vk::PhysicalDeviceType::VIRTUAL_GPU, VulkanKind::Virtual),
        (vk::PhysicalDeviceType::CPU, VulkanKind::Cpu),
        (vk::PhysicalDeviceType::OTHER, VulkanKind::Unnamed),
    ]
    .into_iter()
    .find_map(|(known, kind)| (known == said).then_some(kind))
}

fn text(said: Option<&CStr>) -> String {
    said.map(|said| said.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
