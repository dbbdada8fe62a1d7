//! What NVML, the library of NVIDIA's driver, may answer.

use plimsoll_units::Bytes;
use serde::{Deserialize, Serialize};

/// The outcome of asking the library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "outcome")]
pub enum Nvml {
    Answered {
        #[serde(default)]
        driver: String,
        /// The newest CUDA that the driver runs, such as `13.0`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cuda: Option<String>,
        #[serde(default)]
        devices: Vec<NvmlDevice>,
    },
    LibraryMissing,
    DriverNotLoaded,
    VersionMismatch,
    NoPermission,
    TimedOut {
        limit_ms: u64,
    },
    Crashed {
        exit: String,
    },
    Failed {
        cause: String,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NvmlDevice {
    /// In the driver's order, that of the bus.
    pub index: u32,
    pub name: String,
    /// `GPU-…`; the names that `CUDA_VISIBLE_DEVICES` understands.
    pub uuid: String,
    /// `0000:01:00.0`
    pub pci: String,
    pub memory: Reading,
    /// Major and minor, such as 8 and 9.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute: Option<(i32, i32)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus_width_bits: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_clock_mhz: Option<u32>,
    /// Missing: the card is not cut into slices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slices: Option<Vec<MigSlice>>,
}

/// One part of a card that is cut by MIG.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MigSlice {
    pub name: String,
    pub uuid: String,
    pub memory: Reading,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
pub enum Reading {
    Known(NvmlMemory),
    /// The library's own words for a card whose memory is the machine's.
    NotSupported,
    /// The card is listed but does not answer.
    Failed {
        cause: String,
    },
}

impl Default for Reading {
    fn default() -> Self {
        Self::Failed {
            cause: "not recorded".to_owned(),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NvmlMemory {
    pub total_bytes: Bytes,
    pub free_bytes: Bytes,
    pub used_bytes: Bytes,
}
