//! Whether a build fits a machine, and why or why not.

use plimsoll_hardware::{Backend, Device, DeviceKind, Machine};
use serde::Serialize;

use super::asset::{Backing, Build, Toolkit};

/// Why a build is offered. On the wire `{"code":"drivesNvidia","params":{…}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "code",
    content = "params",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Why {
    /// The driver runs this toolkit.
    DrivesNvidia {
        device: String,
        driver: String,
    },
    /// The driver is of the toolkit's line, and perhaps older than it: NVIDIA promises that programs run.
    DrivesNvidiaByCompatibility {
        device: String,
        driver: String,
    },
    /// Nobody told the driver's version; the check after unpacking decides.
    DriverNotKnown {
        device: String,
    },
    DrivesAmd {
        device: String,
        architecture: String,
    },
    DrivesIntel {
        device: String,
    },
    DrivesByVulkan {
        device: String,
    },
    DrivesByMetal {},
    /// No GPU is planned on.
    OnProcessor {},
    /// Runs on the processor as well, and drives the small GPU that no plan is made for.
    VulkanWithoutDevice {},
}

/// Why a build is passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "code",
    content = "params",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Misfit {
    NoDevice {},
    DriverTooOld {
        driver: String,
        needed: String,
    },
    /// The toolkit no longer compiles for the card, or does not yet.
    ArchitectureNotBuilt {
        architecture: String,
        toolkit: String,
    },
    /// The release has no archive with the libraries of this toolkit; without them the engine would run on the
    /// processor and say nothing.
    RuntimeMissing {
        toolkit: String,
    },
    /// Neither our list nor the release names its hash.
    NoDigest {},
    ProcessorLacks {
        feature: String,
    },
    /// Nothing that another build would not drive better.
    NotUsed {},
    /// No rule knows its words.
    Unknown {
        words: String,
    },
}

/// Lower is better. Between these builds run, they differ in speed and in what has to be installed beside them.
pub(super) type Rank = u8;

const BEST: Rank = 0;
const COMPATIBLE: Rank = 1;
const VULKAN: Rank = 2;
/// Needs libraries of the vendor's that a machine may lack; Vulkan comes with the driver.
const VENDOR: Rank = 3;
pub(super) const UNCERTAIN: Rank = 4;
const PROCESSOR: Rank = 6;
const STAND_IN: Rank = 8;

pub(super) fn fit(build: &Build, machine: &Machine) -> Result<(Rank, Why), Misfit> {
    match &build.backing {
        Backing::Cpu => processor(build, machine),
        Backing::Metal => Ok((BEST, Why::DrivesByMetal {})),
        Backing::Cuda => cuda(build.toolkit, machine),
        Backing::Rocm => rocm(build, machine),
        Backing::Sycl => sycl(build, machine),
        Backing::Vulkan => Ok(match with(machine, Backend::Vulkan).next() {
            Some(device) => (
                VULKAN,
                Why::DrivesByVulkan {
                    device: device.name.clone(),
                },
            ),
            None => (STAND_IN, Why::VulkanWithoutDevice {}),
        }),
        Backing::OpenVino | Backing::OpenCl => Err(Misfit::NotUsed {}),
        Backing::Unknown(words) => Err(Misfit::Unknown { words: words.clone() }),
    }
}

/// Devices that a plan is made for, or would be if somebody told their size: the engine does then.
pub(super) fn with(machine: &Machine, backend: Backend) -> impl Iterator<Item = &Device> {
    machine.devices.iter().filter(move |device| {
        matches!(device.kind, DeviceKind::Discrete | DeviceKind::Unified)
            && device.backends.contains(&backend)
    })
}

/// The least driver for programs of a toolkit, by the table "Minor Version Compatibility" of NVIDIA's release notes
/// of CUDA 11 to 13: Linux and Windows.
const DRIVERS: [(u32, &str, &str); 3] = [
    (11, "450.80.02", "452.39"),
    (12, "525.60.13", "528.33"),
    (13, "580.65.06", "580.88"),
];

fn cuda(toolkit: Option<Toolkit>, machine: &Machine) -> Result<(Rank, Why), Misfit> {
    let Some(toolkit) = toolkit else {
        return Err(Misfit::Unknown {
            words: "cuda".to_owned(),
        });
    };
    let mut misfit = Misfit::NoDevice {};
    for device in with(machine, Backend::Cuda) {
        match cuda_on(toolkit, device, &machine.os.name) {
            Ok(fits) => return Ok(fits),
            Err(why) => misfit = why,
        }
    }
    Err(misfit)
}

fn cuda_on(toolkit: Toolkit, device: &Device, os: &str) -> Result<(Rank, Why), Misfit> {
    let name = device.name.clone();
    let compute = compute_of(device);
    if let Some(compute) = compute
        && !compiles_for(toolkit, compute)
    {
        return Err(Misfit::ArchitectureNotBuilt {
            architecture: format!("{}.{}", compute.0, compute.1),
            toolkit: toolkit.to_string(),
        });
    }
    let Some(driver) = device.platform.driver.clone() else {
        return Ok((UNCERTAIN, Why::DriverNotKnown { device: name }));
    };
    let told = device.platform.cuda.as_deref().and_then(Toolkit::read);
    if told
        .or_else(|| at_least(&driver, os))
        .is_some_and(|runs| runs >= toolkit)
    {
        return Ok((BEST, Why::DrivesNvidia { device: name, driver }));
    }
    let least = DRIVERS.iter().find(|(major, ..)| *major == toolkit.major);
    let Some((_, linux, windows)) = least else {
        // A toolkit that is newer than this table.
        return match told {
            Some(_) => Err(Misfit::DriverTooOld {
                driver,
                needed: format!("CUDA {toolkit}"),
            }),
            None => Ok((UNCERTAIN, Why::DriverNotKnown { device: name })),
        };
    };
    let needed = if os == "windows" { windows } else { linux };
    if version(&driver) < version(needed) {
        return Err(Misfit::DriverTooOld {
            driver,
            needed: (*needed).to_owned(),
        });
    }
    Ok((
        COMPATIBLE,
        Why::DrivesNvidiaByCompatibility { device: name, driver },
    ))
}

/// What a driver runs for certain by its version alone: all of the lines before its own, and the first of its own.
fn at_least(driver: &str, os: &str) -> Option<Toolkit> {
    let newest = DRIVERS.iter().rev().find(|(_, linux, windows)| {
        let first = if os == "windows" { windows } else { linux };
        version(driver) >= version(first)
    });
    newest.map(|(major, ..)| Toolkit {
        major: *major,
        minor: 0,
    })
}

/// What the toolkit still compiles for, by its release notes: 12 from Maxwell (5.0), 13 from Turing (7.5); Blackwell
/// (10.0 and above) from 12.8 on, before that by translation at the first start, which takes minutes.
fn compiles_for(toolkit: Toolkit, compute: (u32, u32)) -> bool {
    let least = match toolkit.major {
        ..=11 => (3, 5),
        12 => (5, 0),
        13.. => (7, 5),
    };
    compute >= least && (compute < (10, 0) || toolkit >= Toolkit { major: 12, minor: 8 })
}

/// By what was told, else by the names of the cards that the newest toolkit no longer knows.
fn compute_of(device: &Device) -> Option<(u32, u32)> {
    if let Some(told) = device.platform.architecture.as_deref().and_then(Toolkit::read) {
        return Some((told.major, told.minor));
    }
    let name = device.name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&[
        "gtx 10", "titan xp", "p40", "p100", " p4", "quadro p", "mx150", "mx250", "mx330", "mx350",
    ]) {
        Some((6, 1))
    } else if has(&["v100", "titan v"]) {
        Some((7, 0))
    } else if has(&[
        "gtx 75", "gtx 9", "titan x", "quadro m", " m40", " m60", "tesla m",
    ]) {
        Some((5, 2))
    } else if has(&["gtx 7", "gtx 6", " k80", " k40", "quadro k"]) {
        Some((3, 7))
    } else {
        None
    }
}

/// Numbers of a version, for comparison.
fn version(text: &str) -> Vec<u32> {
    text.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// For these llama.cpp's builds for AMD are compiled: cards for servers from CDNA on, RDNA 2 and later.
const ROCM_BUILT: [&str; 14] = [
    "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1031", "gfx1032", "gfx1100", "gfx1101", "gfx1102",
    "gfx1150", "gfx1151", "gfx1200", "gfx1201",
];

/// Compiled for, but on Linux AMD's libraries have no matrix kernels for them and end the program.
const WITHOUT_ROCBLAS: [&str; 2] = ["gfx1031", "gfx1032"];

fn rocm(build: &Build, machine: &Machine) -> Result<(Rank, Why), Misfit> {
    let mut misfit = Misfit::NoDevice {};
    for device in with(machine, Backend::Rocm) {
        let server = device.name.contains("Instinct");
        let Some(architecture) = device.platform.architecture.clone() else {
            return Ok((
                if server { BEST } else { VENDOR + 1 },
                Why::DrivesAmd {
                    device: device.name.clone(),
                    architecture: String::new(),
                },
            ));
        };
        let lacking = build.os == "linux" && WITHOUT_ROCBLAS.contains(&architecture.as_str());
        if lacking || !ROCM_BUILT.contains(&architecture.as_str()) {
            misfit = Misfit::ArchitectureNotBuilt {
                architecture,
                toolkit: build.flavour(),
            };
            continue;
        }
        // Cards for servers compute with matrix units that Vulkan does not reach, and come with ROCm installed.
        let rank = if server || architecture.starts_with("gfx9") {
            BEST
        } else {
            VENDOR
        };
        return Ok((
            rank,
            Why::DrivesAmd {
                device: device.name.clone(),
                architecture,
            },
        ));
    }
    Err(misfit)
}

fn sycl(build: &Build, machine: &Machine) -> Result<(Rank, Why), Misfit> {
    let device = with(machine, Backend::Sycl).next().ok_or(Misfit::NoDevice {})?;
    // Cards for servers have no driver for Vulkan.
    let server = device.name.contains("Data Center") && device.name.contains("Max");
    let rank = if server { BEST } else { VENDOR };
    let rank = rank + u8::from(build.variant.as_deref() == Some("fp32"));
    Ok((
        rank,
        Why::DrivesIntel {
            device: device.name.clone(),
        },
    ))
}

/// Builds without a kind in their name choose the fitting code when they start, down to the oldest 64-bit processors.
fn processor(build: &Build, machine: &Machine) -> Result<(Rank, Why), Misfit> {
    let needed = match build.variant.as_deref() {
        Some("avx512") => "avx512f",
        Some("avx2") => "avx2",
        Some("avx") => "avx",
        Some(_) | None => "",
    };
    if !needed.is_empty() && !machine.cpu.features.iter().any(|feature| feature == needed) {
        return Err(Misfit::ProcessorLacks {
            feature: needed.to_owned(),
        });
    }
    Ok((PROCESSOR, Why::OnProcessor {}))
}
