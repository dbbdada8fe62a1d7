//! What the system and the drivers said, as they said it.
//!
//! Text stays text: `facts` maps a path or a tool to the lines it gave, so that a record can be read by a
//! person, sent with a report and judged on another machine. Only what has no text of its own (the answers of
//! NVML and of `sysinfo`) has fields. No host name, no user name and no serial number is recorded.

mod ask;
mod dxgi_record;
#[cfg(target_os = "linux")]
mod firmware;
mod graphics;
mod lenient;
#[cfg(target_os = "linux")]
mod linux;
mod macos;
mod metal_record;
#[cfg(target_os = "linux")]
mod modules;
mod nvml;
mod nvml_record;
mod processor;
mod redact;
mod vulkan_record;

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_os::Environment;
use plimsoll_units::Bytes;
use serde::{Deserialize, Serialize};

pub use ask::{CHILD_WORD, Drivers, driver_child_main};
use ask::{Library, ask};
pub(crate) use ask::{WATCH_WORD, driver_child};
pub use graphics::{Asked, DxgiAdapter, MetalDevice, VulkanDevice, VulkanHeap, VulkanKind};
pub use nvml::{MigSlice, Nvml, NvmlDevice, NvmlMemory, Reading};
pub(crate) use nvml_record::{identity_of, open as open_nvml};
pub use redact::Private;

/// The variables that hide devices from an engine.
pub(crate) const VISIBLE_DEVICES: [&str; 8] = [
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "GGML_VK_VISIBLE_DEVICES",
    "ONEAPI_DEVICE_SELECTOR",
    "ZE_AFFINITY_MASK",
];

/// A larger record is refused.
const RECORD_BYTES_MAX: usize = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    #[error("a record of {bytes} is larger than {limit}")]
    TooLarge { bytes: Bytes, limit: Bytes },
    #[error("this is no record of a machine")]
    NotJson(#[source] serde_json::Error),
}

/// A record of one machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    pub schema: u32,
    /// `linux`, `macos` or `windows`.
    pub os: String,
    pub arch: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
    /// Of the environment only what hides devices.
    pub variables: BTreeMap<String, String>,
    /// Path or tool → the lines it gave.
    #[serde(deserialize_with = "lenient::lines")]
    pub facts: BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nvml: Option<Nvml>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vulkan: Option<Asked<VulkanDevice>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dxgi: Option<Asked<DxgiAdapter>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metal: Option<Asked<MetalDevice>>,
}

/// What the `sysinfo` library says, on every system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct System {
    pub os_version: String,
    pub kernel: String,
    pub cpu: String,
    pub physical_cores: u32,
    pub logical_cores: u32,
    /// How many processors this program may use.
    pub usable_cores: u32,
    pub total_bytes: u64,
    pub available_bytes: u64,
    /// What the processor itself says it can do, in the kernel's spelling: `avx2`, `avx512_vnni`, `asimddp`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
}

impl Facts {
    pub fn from_json(bytes: &[u8]) -> Result<Self, FactsError> {
        if bytes.len() > RECORD_BYTES_MAX {
            let limit = Bytes(RECORD_BYTES_MAX as u64);
            return Err(FactsError::TooLarge {
                bytes: Bytes(bytes.len() as u64),
                limit,
            });
        }
        serde_json::from_slice(bytes).map_err(FactsError::NotJson)
    }

    /// Whether this is what a person reported, and not what our recorder wrote: then a missing file means
    /// nothing, and what other programs printed counts.
    pub(crate) const fn is_report(&self) -> bool {
        self.schema == 0
    }

    pub(crate) fn lines(&self, key: &str) -> &[String] {
        self.facts.get(key).map_or(&[], Vec::as_slice)
    }

    /// The first line, for files that hold one value.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.lines(key).first().map(|line| line.trim())
    }

    /// What stands after `name` and a colon or an equals sign, in files of such lines.
    pub(crate) fn field(&self, key: &str, name: &str) -> Option<&str> {
        self.lines(key).iter().find_map(|line| {
            let rest = line.trim_start().strip_prefix(name)?.trim_start();
            Some(rest.strip_prefix([':', '='])?.trim().trim_matches('"'))
        })
    }
}

/// How long the drivers may take, all of them at once; a sleeping laptop card needs about a second to wake. With
/// what the files take, a probe ends within two seconds.
const PATIENCE: Duration = Duration::from_millis(1800);

/// Asks this machine: files, tools and the libraries of its drivers at the same time. Takes tens of milliseconds
/// without a GPU, and no longer than two seconds with one that hangs.
#[must_use]
pub fn record(environment: &Environment, drivers: &Drivers) -> Facts {
    std::thread::scope(|scope| {
        let nvml = scope.spawn(|| {
            let asked = !cfg!(target_os = "macos");
            asked.then(|| {
                ask(
                    Library::Nvml,
                    nvml_record::ask_here,
                    environment,
                    drivers,
                    PATIENCE,
                )
            })
        });
        let vulkan = scope.spawn(|| {
            let asked = !cfg!(target_os = "macos") && matches!(drivers, Drivers::Child { .. });
            asked.then(|| {
                ask(
                    Library::Vulkan,
                    vulkan_record::ask_here,
                    environment,
                    drivers,
                    PATIENCE,
                )
            })
        });
        let dxgi = scope.spawn(|| {
            let asked = cfg!(windows);
            asked.then(|| {
                ask(
                    Library::Dxgi,
                    dxgi_record::ask_here,
                    environment,
                    drivers,
                    PATIENCE,
                )
            })
        });
        let metal = scope.spawn(|| {
            let asked = cfg!(target_os = "macos");
            asked.then(|| {
                ask(
                    Library::Metal,
                    metal_record::ask_here,
                    environment,
                    drivers,
                    PATIENCE,
                )
            })
        });
        let mut facts = record_without_drivers(environment);
        // A thread of ours that panicked is a missing answer, not a missing machine.
        facts.nvml = nvml.join().ok().flatten();
        facts.vulkan = vulkan.join().ok().flatten();
        facts.dxgi = dxgi.join().ok().flatten();
        facts.metal = metal.join().ok().flatten();
        if let (Some(metal), Some(registry)) = (&mut facts.metal, facts.facts.get("ioreg")) {
            macos::add_cores(metal, registry);
        }
        facts
    })
}

fn record_without_drivers(environment: &Environment) -> Facts {
    let variables = VISIBLE_DEVICES
        .iter()
        .filter_map(|&name| Some((name.to_owned(), environment.get(name)?.to_owned())))
        .collect();
    #[cfg(target_os = "linux")]
    let facts = linux::read(&linux::Reader::of_this_machine());
    #[cfg(target_os = "macos")]
    let facts = macos::read(PATIENCE);
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    let facts = BTreeMap::new();
    Facts {
        schema: 1,
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        system: Some(system()),
        variables,
        facts,
        ..Facts::default()
    }
}

fn system() -> System {
    use sysinfo::{CpuRefreshKind, MemoryRefreshKind, System as Asked};
    let mut asked = Asked::new();
    asked.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    asked.refresh_cpu_list(CpuRefreshKind::nothing());
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    System {
        os_version: Asked::long_os_version().unwrap_or_default(),
        kernel: Asked::kernel_version().unwrap_or_default(),
        cpu: asked
            .cpus()
            .first()
            .map(|cpu| cpu.brand().trim().to_owned())
            .unwrap_or_default(),
        physical_cores: Asked::physical_core_count().map_or(0, count),
        logical_cores: count(asked.cpus().len()),
        usable_cores: std::thread::available_parallelism().map_or(0, |n| count(n.get())),
        total_bytes: asked.total_memory(),
        available_bytes: asked.available_memory(),
        features: processor::features().into_iter().map(str::to_owned).collect(),
    }
}

/// The memory part of a record alone, for the sampler.
pub(crate) fn record_memory() -> Facts {
    let mut asked = sysinfo::System::new();
    asked.refresh_memory_specifics(sysinfo::MemoryRefreshKind::nothing().with_ram());
    #[cfg(target_os = "linux")]
    let facts = linux::read_memory(&linux::Reader::of_this_machine());
    #[cfg(not(target_os = "linux"))]
    let facts = BTreeMap::new();
    let system = System {
        total_bytes: asked.total_memory(),
        available_bytes: asked.available_memory(),
        ..System::default()
    };
    Facts {
        system: Some(system),
        facts,
        ..Facts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_mark() {
        let facts = Facts {
            facts: BTreeMap::from([(
                "x".to_owned(),
                [
                    "MemTotal:       16 kB",
                    "PRETTY_NAME=\"Debian 12\"",
                    "MemTotalOther: 3",
                ]
                .map(str::to_owned)
                .to_vec(),
            )]),
            ..Facts::default()
        };
        assert_eq!(facts.field("x", "MemTotal"), Some("16 kB"));
        assert_eq!(facts.field("x", "PRETTY_NAME"), Some("Debian 12"));
        assert_eq!(facts.field("x", "Mem"), None);
        assert_eq!(facts.field("y", "Mem"), None);
    }

    #[test]
    fn a_report_of_another_form_still_reads() {
        let facts =
            Facts::from_json(br#"{"id":"x","os":"linux","facts":{"/proc/meminfo":["a"]},"expect":{}}"#);
        assert_eq!(facts.unwrap().value("/proc/meminfo"), Some("a"));
        assert!(Facts::from_json(b"[1,2]").is_err());
        assert!(matches!(
            Facts::from_json(&vec![b' '; RECORD_BYTES_MAX + 1]),
            Err(FactsError::TooLarge { .. })
        ));
    }
}
