//! Asking Metal, which on macOS says how much of the memory a GPU program may keep in use.

use super::graphics::{Asked, MetalDevice};

#[cfg(not(target_os = "macos"))]
pub(super) fn ask_here() -> Asked<MetalDevice> {
    Asked::LibraryMissing
}

#[cfg(target_os = "macos")]
pub(super) fn ask_here() -> Asked<MetalDevice> {
    use objc2_metal::{MTLCopyAllDevices, MTLDevice};
    use plimsoll_units::Bytes;

    const DEVICES_MAX: usize = 16;
    let devices = MTLCopyAllDevices()
        .iter()
        .take(DEVICES_MAX)
        .map(|device| MetalDevice {
            name: device.name().to_string(),
            unified: Some(device.hasUnifiedMemory()),
            working_set_bytes: Some(Bytes(device.recommendedMaxWorkingSetSize())),
            allocated_bytes: Some(Bytes(device.currentAllocatedSize() as u64)),
            // Asked of the system's registry, which the record of the system has.
            gpu_cores: None,
            low_power: device.isLowPower(),
            removable: device.isRemovable(),
        })
        .collect();
    Asked::Answered { devices }
}
