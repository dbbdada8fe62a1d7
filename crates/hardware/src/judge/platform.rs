//! Which driver runs a device, by whoever told.

use crate::facts::{Facts, Nvml};
use crate::machine::{Backend, Device};
use crate::told::{Told, nvidia_driver_in};

use super::host::short;

/// NVIDIA's driver is one for all cards of a machine.
pub(super) fn name_drivers(facts: &Facts, told: &Told, devices: &mut [Device]) {
    let (driver, cuda) = match &facts.nvml {
        Some(Nvml::Answered { driver, cuda, .. }) => (Some(driver.clone()), cuda.clone()),
        Some(_) | None => (None, None),
    };
    let driver = driver
        .filter(|version| !version.is_empty())
        .or_else(|| told.nvidia_driver.clone())
        .or_else(|| {
            facts
                .lines("/proc/driver/nvidia/version")
                .iter()
                .find_map(|line| nvidia_driver_in(line))
        });
    let cuda = cuda.or_else(|| told.nvidia_cuda.clone());
    for device in devices.iter_mut().filter(|device| device.vendor == "NVIDIA") {
        device.platform.driver = driver.as_deref().map(short);
        if device.backends.contains(&Backend::Cuda) {
            device.platform.cuda = cuda.as_deref().map(short);
        }
    }
}
