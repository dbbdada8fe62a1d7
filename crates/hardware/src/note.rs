use plimsoll_units::Bytes;
use serde::{Deserialize, Serialize};

/// Something about a machine that a person should know, with what is needed to say it. On the wire
/// `{"code":"cgroupLimit","params":{…}}`; sizes are whole bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "code",
    content = "params",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Note {
    /// A control group allows less memory than the machine has.
    CgroupLimit {
        limit_bytes: Bytes,
        machine_bytes: Bytes,
        source: String,
    },
    /// Fewer processors may be used than the machine has.
    CpuLimited {
        usable: u32,
        logical: u32,
    },
    /// No source told the size of the RAM.
    MemoryUnknown {},
    /// A number that no machine has; it was left out.
    AbsurdValue {
        source: String,
        value: String,
    },
    /// Linux inside Windows: memory and GPUs are what Windows lends.
    Wsl {},
    /// On this system GPUs are not looked for yet.
    GpusNotProbed {
        os: String,
    },

    /// The library of the driver is there, its kernel part is not: after an update, or inside a container.
    NvidiaDriverNotLoaded {},
    /// An NVIDIA card without the library of its driver.
    NvidiaDriverMissing {
        name: String,
    },
    /// Library and kernel part are of different versions; a restart helps.
    NvidiaDriverMismatch {},
    NvidiaNoPermission {},
    /// The driver did not answer in time.
    NvidiaProbeTimedOut {
        limit_ms: u64,
    },
    /// The driver's library took the probe down with it.
    NvidiaProbeCrashed {
        exit: String,
    },
    NvidiaProbeFailed {
        cause: String,
    },

    /// `Vulkan`, `DXGI` or `Metal` did not answer in time.
    GraphicsProbeTimedOut {
        library: String,
        limit_ms: u64,
    },
    GraphicsProbeCrashed {
        library: String,
        exit: String,
    },
    GraphicsProbeFailed {
        library: String,
        cause: String,
    },

    /// The driver lists a card that does not answer.
    GpuLost {
        name: String,
        cause: String,
    },
    /// The card sleeps and was not woken.
    GpuAsleep {
        name: String,
    },
    GpuWithoutDriver {
        name: String,
    },
    /// A driver that no backend can compute with: `nouveau`, `vfio-pci`, `radeon`.
    GpuOtherDriver {
        name: String,
        driver: String,
    },
    /// The system hides the device file from this program or does not let it open it.
    GpuNoAccess {
        name: String,
        path: String,
    },
    /// No source told its size, so nothing is placed there.
    GpuMemoryUnknown {
        name: String,
    },
    /// The size is that of the window through which the processor sees the card's memory.
    GpuMemoryFromWindow {
        name: String,
        bytes: Bytes,
    },
    /// Its memory is RAM, apart from what the firmware set aside.
    GpuSharesMemory {
        name: String,
        dedicated_bytes: Bytes,
        shared_bytes: Bytes,
    },
    /// Memory that the firmware took from the RAM for good.
    GpuCarveOut {
        name: String,
        bytes: Bytes,
    },
    /// The driver does not tell a size because the memory is the machine's.
    GpuMemoryIsRam {
        name: String,
    },
    /// The person said to leave it alone.
    GpuIgnored {
        id: String,
        name: String,
    },
    /// A GPU that no plan is made for: small, or beside a discrete one.
    GpuNotPlannedOn {
        name: String,
    },
    /// A program that draws with the processor, listed like a GPU.
    SoftwareRasteriser {
        name: String,
    },

    /// Two sources say different sizes of one device; the first is used.
    SourcesDisagree {
        name: String,
        source: String,
        bytes: Bytes,
        other_source: String,
        other_bytes: Bytes,
    },
    /// A person set how much memory the GPU may use.
    GpuLimitSet {
        name: String,
        bytes: Bytes,
        source: String,
    },
    /// A device that a virtual machine or a remote session makes up, whatever card its name holds.
    VirtualGpu {
        name: String,
    },
    /// An engine for graphics cards listed none: another build may know the card.
    EngineListedNoGpu {},
    /// No tool printed the RAM; it follows from another number.
    MemoryInferred {
        bytes: Bytes,
        source: String,
    },

    HiddenByVariable {
        name: String,
        variable: String,
        value: String,
    },
    /// The variable names devices that are not there, so nothing is left.
    VariableHidesAll {
        variable: String,
        value: String,
    },
    /// Numbers in the variable follow the driver's own order of speed; it was guessed.
    VisibleOrderGuessed {
        variable: String,
    },
    /// One program can use one slice only.
    MigOneSlice {
        name: String,
        slices: u32,
    },
}
