//! Asking NVML. The library is loaded at run time; its calls can hang while a driver is being reset, and a
//! broken one has been seen to take its program down, so it is asked in a child where a host allows that.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml as Library};
use plimsoll_os::Environment;
use plimsoll_os::child::{ChildError, Command, run_to_end_blocking};
use plimsoll_units::Bytes;

use super::NvmlThrough;
use super::nvml::{MigSlice, Nvml, NvmlDevice, NvmlMemory, Reading};

/// The first and only argument of a program that is to be the disposable child.
pub const NVML_CHILD_WORD: &str = "plimsoll-nvml-child";

/// Where the library may be, tried in this order. The second is that of Linux without development files.
#[cfg(target_os = "windows")]
pub(crate) const LIBRARY_NAMES: [&str; 1] = ["nvml.dll"];
#[cfg(not(target_os = "windows"))]
pub(crate) const LIBRARY_NAMES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];

const CARDS_MAX: u32 = 64;
const SLICES_MAX: u32 = 16;
const ANSWER_MAX: Bytes = Bytes::kib(256);

/// To be called first in `main`. `Some` when this run was the child of a probe: its work is done, and `main`
/// returns the code.
#[must_use]
pub fn nvml_child_main() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(NVML_CHILD_WORD)) {
        return None;
    }
    let Ok(answer) = serde_json::to_vec(&ask_here()) else {
        return Some(ExitCode::FAILURE);
    };
    let written = std::io::stdout().write_all(&answer);
    Some(if written.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// `None` where asking makes no sense: no such driver exists for this system.
pub(super) fn ask(environment: &Environment, through: &NvmlThrough, patience: Duration) -> Option<Nvml> {
    if cfg!(target_os = "macos") {
        return None;
    }
    Some(match through {
        NvmlThrough::Child { program } => ask_in_child(environment, program, patience),
        NvmlThrough::Thread => ask_in_thread(patience),
    })
}

fn ask_in_child(environment: &Environment, program: &Path, patience: Duration) -> Nvml {
    let command = Command::new(program)
        .arg(NVML_CHILD_WORD)
        .envs(environment.only(&["LD_LIBRARY_PATH", "PATH", "SystemRoot", "CUDA_VISIBLE_DEVICES"]));
    match run_to_end_blocking(command, patience, ANSWER_MAX) {
        Ok(output) if output.exit.is_success() => {
            serde_json::from_slice(&output.out).unwrap_or_else(|error| Nvml::Failed {
                cause: format!("the child's answer: {error}"),
            })
        }
        Ok(output) => Nvml::Crashed {
            exit: output.exit.to_string(),
        },
        Err(ChildError::TimedOut { .. }) => timed_out(patience),
        Err(
            error @ (ChildError::Missing { .. }
            | ChildError::NotRunnable { .. }
            | ChildError::Spawn { .. }
            | ChildError::NoSpawner),
        ) => Nvml::Failed {
            cause: error.to_string(),
        },
    }
}

fn ask_in_thread(patience: Duration) -> Nvml {
    let (tell, told) = mpsc::sync_channel(1);
    let started = thread::Builder::new()
        .name("plimsoll-nvml".into())
        .spawn(move || tell.send(ask_here()));
    if let Err(error) = started {
        return Nvml::Failed {
            cause: error.to_string(),
        };
    }
    match told.recv_timeout(patience) {
        Ok(answer) => answer,
        Err(mpsc::RecvTimeoutError::Timeout) => timed_out(patience),
        Err(mpsc::RecvTimeoutError::Disconnected) => Nvml::Crashed {
            exit: "a panic".to_owned(),
        },
    }
}

fn timed_out(patience: Duration) -> Nvml {
    Nvml::TimedOut {
        limit_ms: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
    }
}

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

fn ask_here() -> Nvml {
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
    use super::short_address;

    #[test]
    fn addresses_are_those_of_the_kernel() {
        assert_eq!(short_address("00000000:0A:00.0"), "0000:0a:00.0");
        assert_eq!(short_address("00010000:0A:00.0"), "00010000:0a:00.0");
        assert_eq!(short_address("0000:0a:00.0"), "0000:0a:00.0");
        assert_eq!(short_address(""), "");
    }
}
