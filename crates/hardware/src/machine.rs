use plimsoll_units::{Bytes, BytesPerSecond};
use serde::{Deserialize, Serialize};

use crate::Note;
use crate::machine_file::RawMachine;

/// A number and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sourced<T> {
    pub value: T,
    pub source: String,
}

/// What Plimsoll believes about a computer.
///
/// Reading one from JSON checks it: whatever is here is possible, every `free` is within its `total`, and
/// `class` follows from the devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "RawMachine")]
pub struct Machine {
    /// Version of this shape; [`Machine::SCHEMA`].
    pub schema: u32,
    pub os: Os,
    pub cpu: Cpu,
    pub memory: Memory,
    pub devices: Vec<Device>,
    pub class: Class,
    pub notes: Vec<Note>,
}

impl Machine {
    pub const SCHEMA: u32 = 1;

    #[must_use]
    pub fn device(&self, id: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.id == id)
    }

    /// The devices that a plan may use, in the order of the list: integrated ones are not among them, nor those
    /// whose size nobody told.
    pub fn placeable(&self) -> impl Iterator<Item = &Device> {
        self.devices
            .iter()
            .filter(|device| device.kind != DeviceKind::Integrated && device.total > Bytes::ZERO)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Os {
    /// `linux`, `macos` or `windows`.
    pub name: String,
    pub version: String,
    /// `x86_64` or `aarch64`.
    pub arch: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cpu {
    pub name: String,
    /// Zero when not known.
    pub physical_cores: u32,
    pub logical_cores: u32,
    /// Those that decide which build runs and how fast, in the kernel's spelling: `avx2`, `avx512f`, `asimd`.
    pub features: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// What this program may use at most: the RAM, or a lower limit of its control group.
    #[serde(rename = "totalBytes")]
    pub total: Bytes,
    /// What a new program could use now.
    #[serde(rename = "availableBytes")]
    pub available: Bytes,
    #[serde(rename = "bandwidthBytesPerS", skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Sourced<BytesPerSecond>>,
    /// What a plan leaves to the system and to others. Missing: the planner's own rule.
    #[serde(rename = "reserveBytes", skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Sourced<Bytes>>,
    pub source: String,
}

/// One memory pool with compute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// `pci-0000:01:00.0`, or whatever a file says; unique in its machine.
    pub id: String,
    pub name: String,
    pub vendor: String,
    pub kind: DeviceKind,
    pub backends: Vec<Backend>,
    /// Zero when not known.
    #[serde(rename = "totalBytes")]
    pub total: Bytes,
    #[serde(rename = "freeBytes")]
    pub free: Bytes,
    /// How much of the total is the device's own and no part of the RAM. Missing: all of a discrete device,
    /// nothing of a unified or integrated one.
    #[serde(rename = "dedicatedBytes", skip_serializing_if = "Option::is_none")]
    pub dedicated: Option<Bytes>,
    #[serde(rename = "bandwidthBytesPerS", skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Sourced<BytesPerSecond>>,
    #[serde(flatten)]
    pub platform: Platform,
    pub source: String,
}

/// What a build of an engine has to fit, beside the backend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Platform {
    /// What programs for it are compiled for: `8.6`, its compute capability, of NVIDIA's, `gfx1100` of AMD's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Version of NVIDIA's driver, such as `580.95.05`. Missing: nobody told.
    #[serde(rename = "driverVersion", skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The newest CUDA that this driver runs, such as `13.0`.
    #[serde(rename = "cudaVersion", skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
}

impl Device {
    /// How much of this pool is RAM under another name. What a plan puts there is missing from the host.
    #[must_use]
    pub fn shared_with_ram(&self) -> Bytes {
        match self.kind {
            DeviceKind::Discrete | DeviceKind::Remote => Bytes::ZERO,
            DeviceKind::Integrated | DeviceKind::Unified => {
                self.total.less(self.dedicated.unwrap_or_default())
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeviceKind {
    /// A card with memory of its own.
    Discrete,
    /// A small GPU inside the processor, or one beside a discrete card: shown, never planned on.
    Integrated,
    /// A GPU inside the processor that is worth planning on; its memory is the machine's, but for a carve-out.
    Unified,
    /// Another machine, reached through llama.cpp's RPC.
    Remote,
}

/// The llama.cpp backends that can drive a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Backend {
    Cuda,
    Rocm,
    Vulkan,
    Metal,
    Sycl,
    Rpc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    Discrete,
    Unified,
    CpuOnly,
}

impl Class {
    /// One class per machine: a device with memory of its own counts before shared memory, a GPU that is never
    /// planned on counts for nothing, and another machine counts only where this one has no GPU.
    #[must_use]
    pub fn of(devices: &[Device]) -> Self {
        let has = |kinds: &[DeviceKind]| devices.iter().any(|device| kinds.contains(&device.kind));
        if has(&[DeviceKind::Discrete]) {
            Self::Discrete
        } else if has(&[DeviceKind::Unified]) {
            Self::Unified
        } else if has(&[DeviceKind::Remote]) {
            Self::Discrete
        } else {
            Self::CpuOnly
        }
    }
}
