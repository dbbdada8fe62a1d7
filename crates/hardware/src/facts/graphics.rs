//! What the graphics interfaces may answer: Vulkan, DXGI (Windows) and Metal (macOS).

use plimsoll_units::Bytes;
use serde::{Deserialize, Serialize};

/// The outcome of asking one interface for its devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "outcome")]
pub enum Asked<T> {
    Answered {
        devices: Vec<T>,
    },
    LibraryMissing,
    TimedOut {
        limit_ms: u64,
    },
    /// The library took the child that asked it down with it.
    Crashed {
        exit: String,
    },
    Failed {
        cause: String,
    },
}

impl<T> Asked<T> {
    /// The devices; none where there was no answer.
    #[must_use]
    pub fn devices(&self) -> &[T] {
        match self {
            Self::Answered { devices } => devices,
            Self::LibraryMissing | Self::TimedOut { .. } | Self::Crashed { .. } | Self::Failed { .. } => &[],
        }
    }
}

/// One physical device, by `VkPhysicalDeviceProperties2` and its chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VulkanDevice {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<VulkanKind>,
    /// PCI ids, such as 0x1002; other numbers stand for vendors without one, such as 0x10005 for Mesa.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor_id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_id: Option<u32>,
    /// `VkPhysicalDeviceDriverProperties`: `radv`, `NVIDIA`, `Intel open-source Mesa driver`, and the version.
    pub driver: String,
    pub driver_info: String,
    /// `0000:03:00.0`, by `VK_EXT_pci_bus_info`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci: Option<String>,
    /// `VkPhysicalDeviceIDProperties`, in lower-case hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub luid: Option<String>,
    /// In the driver's order.
    pub heaps: Vec<VulkanHeap>,
    /// The largest single allocation, `maxMemoryAllocationSize`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_allocation_bytes: Option<Bytes>,
}

/// `VkPhysicalDeviceType`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum VulkanKind {
    Discrete,
    Integrated,
    /// A device of a virtual machine.
    Virtual,
    /// The processor draws.
    Cpu,
    /// None of these, by the driver's own word.
    Unnamed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VulkanHeap {
    pub size_bytes: Bytes,
    /// Missing where a recording was cut before its flags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_local: Option<bool>,
    /// By `VK_EXT_memory_budget`; missing without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_bytes: Option<Bytes>,
    /// What this program uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_bytes: Option<Bytes>,
}

/// One adapter, by `DXGI_ADAPTER_DESC1` and `IDXGIAdapter3::QueryVideoMemoryInfo`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DxgiAdapter {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor_id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_id: Option<u32>,
    /// High and low part in lower-case hexadecimal without `0x`: equal for two listings of one adapter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub luid: Option<String>,
    /// `DXGI_ADAPTER_FLAG_SOFTWARE`
    pub software: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dedicated_video_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dedicated_system_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_system_bytes: Option<Bytes>,
    /// What Windows grants this program now, of the adapter's own and of the shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_budget_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_usage_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_budget_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_usage_bytes: Option<Bytes>,
}

/// One `MTLDevice`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetalDevice {
    pub name: String,
    /// `hasUnifiedMemory`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unified: Option<bool>,
    /// `recommendedMaxWorkingSetSize`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_set_bytes: Option<Bytes>,
    /// `currentAllocatedSize`: by this program alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated_bytes: Option<Bytes>,
    /// Tells two chips of one name and different bandwidth apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_cores: Option<u32>,
    /// `isLowPower` and `isRemovable`, of Macs with Intel processors.
    pub low_power: bool,
    pub removable: bool,
}
