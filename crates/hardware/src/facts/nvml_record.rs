//! Asking NVML, the library of NVIDIA's driver, which is loaded at run time.

use std::ffi::OsStr;

use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml as Library};
use plimsoll_units::Bytes;

use super::nvml::{MigSlice, Nvml, NvmlDevice, NvmlMemory, Reading};

/// Where the library may be, tried in this order. The second is that of Linux without development files.
#[cfg(target_os = "windows")]
pub(crate) const LIBRARY_NAMES: [&str; 1] = ["nvml.dll"];
#[cfg(not(target_os = "windows"))]
pub(crate) const LIBRARY_NAMES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];

const CARDS_MAX: u32 = 64;
const SLICES_MAX: u32 = 16;

pub(crate) fn open() -> Result<Library, NvmlError> {
    let mut last = NvmlError::NotFound;
    for name in LIBRARY_NAMES {
        match Library::builder().lib_path(OsStr::new(name)).init() {
            Err(error @ NvmlError::LibloadingError(_)) => last = error,
            done => return done,
        }
    }
    Err(last)
}

pub(super) fn ask_here() -> Nvml {
    match open() {
        Ok(library) => answer(&library),
        Err(error) => failure(&error),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the library's own list of some forty errors, open by design"
)]
fn failure(error: &NvmlError) -> Nvml {
    match error {
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => Nvml::LibraryMissing,
        NvmlError::DriverNotLoaded => Nvml::DriverNotLoaded,
        NvmlError::LibRmVersionMismatch => Nvml::VersionMismatch,
        NvmlError::NoPermission => Nvml::NoPermission,
        other => Nvml::Failed {
            cause: other.to_string(),
        },
    }
}

fn answer(library: &Library) -> Nvml {
    let count = match library.device_count() {
        Ok(count) => count.min(CARDS_MAX),
        Err(error) => return failure(&error),
    };
    let devices = (0..count)
        .map(|index| match library.device_by_index(index) {
            Ok(device) => card(index, &device),
            // A card that fell off the bus is listed and does not answer.
            Err(error) => NvmlDevice {
                index,
                memory: Reading::Failed {
                    cause: error.to_string(),
                },
                ..NvmlDevice::default()
            },
        })
        .collect();
    Nvml::Answered {
        driver: library.sys_driver_version().unwrap_or_default(),
        cuda: library.sys_cuda_driver_version().ok().map(cuda_version),
        devices,
    }
}

/// Which card it is, without a question that would wake it.
pub(crate) fn identity_of(index: u32, device: &Device<'_>) -> NvmlDevice {
    let pci = device
        .pci_info()
        .map(|pci| short_address(&pci.bus_id))
        .unwrap_or_default();
    NvmlDevice {
        index,
        pci,
        ..NvmlDevice::default()
    }
}

fn card(index: u32, device: &Device<'_>) -> NvmlDevice {
    NvmlDevice {
        name: device.name().unwrap_or_default(),
        uuid: device.uuid().unwrap_or_default(),
        memory: memory(device),
        compute: device
            .cuda_compute_capability()
            .ok()
            .map(|version| (version.major, version.minor)),
        bus_width_bits: device.memory_bus_width().ok(),
        memory_clock_mhz: device.max_clock_info(Clock::Memory).ok(),
        slices: slices(device),
        ..identity_of(index, device)
    }
}

fn memory(device: &Device<'_>) -> Reading {
    match device.memory_info() {
        Ok(said) => Reading::Known(NvmlMemory {
            total_bytes: Bytes(said.total),
            free_bytes: Bytes(said.free),
            used_bytes: Bytes(said.used),
        }),
        Err(NvmlError::NotSupported) => Reading::NotSupported,
        Err(error) => Reading::Failed {
            cause: error.to_string(),
        },
    }
}

fn slices(device: &Device<'_>) -> Option<Vec<MigSlice>> {
    const ENABLED: u32 = 1;
    if device.mig_mode().ok()?.current != ENABLED {
        return None;
    }
    let places = device.mig_device_count().ok()?.min(SLICES_MAX);
    // Empty places answer "not found"; that is no error.
    let found = (0..places).filter_map(|place| device.mig_device_by_index(place).ok());
    Some(
        found
            .map(|slice| MigSlice {
                name: slice.name().unwrap_or_default(),
                uuid: slice.uuid().unwrap_or_default(),
                memory: memory(&slice),
            })
            .collect(),
    )
}

/// NVML writes 13000 for 13.0.
fn cuda_version(number: i32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

/// NVML writes an eight-digit domain and capitals; the kernel writes four and small letters.
fn short_address(bus_id: &str) -> String {
    let small = bus_id.to_ascii_lowercase();
    match small.split_once(':') {
        Some((domain, rest)) if domain.len() > 4 && domain.starts_with("0000") => {
            format!("{}:{rest}", &domain[domain.len() - 4..])
        }
        Some(_) | None => small,
    }
}

#[cfg(test)]
mod tests {
    use super::{cuda_version, short_address};

    #[test]
    fn a_version_of_cuda_is_one_number() {
        assert_eq!([13000, 12080, 11080].map(cuda_version), ["13.0", "12.8", "11.8"]);
    }

    #[test]
    fn addresses_are_those_of_the_kernel() {
        assert_eq!(short_address("00000000:0A:00.0"), "0000:0a:00.0");
        assert_eq!(short_address("00010000:0A:00.0"), "00010000:0a:00.0");
        assert_eq!(short_address("0000:0a:00.0"), "0000:0a:00.0");
        assert_eq!(short_address(""), "");
    }
}
