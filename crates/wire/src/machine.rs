use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::Reason;

/// A number and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Sourced {
    pub value: u64,
    pub source: String,
}

/// What Plimsoll believes about a computer. Also the file format of `--machine`, where whatever is not
/// known may be left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// Version of this shape; 1.
    #[serde(default = "schema")]
    pub schema: u32,
    #[serde(default)]
    pub os: Os,
    #[serde(default)]
    pub cpu: Cpu,
    pub memory: Memory,
    #[serde(default)]
    pub devices: Vec<Device>,
    /// Derived from the devices when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub class: Option<Class>,
    #[serde(default)]
    pub notes: Vec<Reason>,
}

const fn schema() -> u32 {
    1
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct Os {
    /// `linux`, `macos` or `windows`.
    pub name: String,
    pub version: String,
    /// `x86_64` or `aarch64`.
    pub arch: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct Cpu {
    pub name: String,
    pub physical_cores: u32,
    pub logical_cores: u32,
    pub features: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    pub total_bytes: u64,
    /// What a new program could use now. Missing in a file: taken as the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub available_bytes: Option<u64>,
    #[serde(
        default,
        rename = "bandwidthBytesPerS",
        skip_serializing_if = "Option::is_none"
    )]
    #[ts(optional)]
    pub bandwidth_bytes_per_s: Option<Sourced>,
    /// What a plan leaves to the system and to others. Missing: the planner's own rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reserve_bytes: Option<Sourced>,
    #[serde(default)]
    pub source: String,
}

/// One memory pool with compute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub vendor: String,
    pub kind: DeviceKind,
    /// llama.cpp backends that can drive it: `cuda`, `rocm`, `vulkan`, `metal`, `sycl`, `rpc`.
    #[serde(default)]
    pub backends: Vec<String>,
    pub total_bytes: u64,
    /// Missing in a file: taken as the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub free_bytes: Option<u64>,
    /// How much of the total is the device's own and no part of the RAM. Missing: all of a discrete device,
    /// nothing of a unified or integrated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub dedicated_bytes: Option<u64>,
    #[serde(
        default,
        rename = "bandwidthBytesPerS",
        skip_serializing_if = "Option::is_none"
    )]
    #[ts(optional)]
    pub bandwidth_bytes_per_s: Option<Sourced>,
    /// What programs for it are compiled for: `8.6`, its compute capability, of NVIDIA's, `gfx1100` of AMD's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub architecture: Option<String>,
    /// Of NVIDIA's driver, such as `580.95.05`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub driver_version: Option<String>,
    /// The newest CUDA that the driver runs, such as `13.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cuda_version: Option<String>,
    #[serde(default)]
    pub source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum DeviceKind {
    Discrete,
    Integrated,
    Unified,
    Remote,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    Discrete,
    Unified,
    CpuOnly,
}

/// What a person says instead of what was found; a number of theirs has the source `you`. Missing: as found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct MachineOverrides {
    /// How much RAM may be used at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// How much RAM a plan leaves to the system and to others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve_bytes: Option<u64>,
    /// How fast the RAM is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_bytes_per_s: Option<u64>,
    pub devices: Vec<DeviceOverride>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct DeviceOverride {
    /// Of a device of the machine, or of one that is not there now.
    pub id: String,
    /// No plan is made for it.
    #[serde(default)]
    #[ts(optional = false)]
    pub ignored: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_bytes_per_s: Option<u64>,
}

/// The machine that plans are made for, beside what was found and what the person changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MachineDetails {
    pub machine: Machine,
    /// Without the person's changes.
    pub found: Machine,
    pub overrides: MachineOverrides,
}
