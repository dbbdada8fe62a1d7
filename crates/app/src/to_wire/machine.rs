use plimsoll_hardware as hardware;
use plimsoll_units::{Bytes, BytesPerSecond};
use plimsoll_wire as wire;

use super::reason;
use crate::machine::Details;

pub(crate) fn machine_details(details: &Details) -> wire::MachineDetails {
    wire::MachineDetails {
        machine: machine(&details.machine),
        found: machine(&details.found),
        overrides: overrides(&details.overrides),
    }
}

fn overrides(said: &hardware::Overrides) -> wire::MachineOverrides {
    let device = |(id, device): (&String, &hardware::DeviceOverride)| wire::DeviceOverride {
        id: id.clone(),
        ignored: device.ignored,
        total_bytes: device.memory.map(|bytes| bytes.0),
        bandwidth_bytes_per_s: device.bandwidth.map(|rate| rate.0),
    };
    wire::MachineOverrides {
        memory_bytes: said.memory.map(|bytes| bytes.0),
        reserve_bytes: said.reserve.map(|bytes| bytes.0),
        bandwidth_bytes_per_s: said.bandwidth.map(|rate| rate.0),
        devices: said.devices.iter().map(device).collect(),
    }
}

/// A device about which nothing is said is left out; of two with one id the last counts.
pub(crate) fn overrides_from(said: wire::MachineOverrides) -> hardware::Overrides {
    let device = |device: wire::DeviceOverride| {
        let about = hardware::DeviceOverride {
            ignored: device.ignored,
            memory: device.total_bytes.map(Bytes),
            bandwidth: device.bandwidth_bytes_per_s.map(BytesPerSecond),
        };
        (about != hardware::DeviceOverride::default()).then_some((device.id, about))
    };
    hardware::Overrides {
        memory: said.memory_bytes.map(Bytes),
        reserve: said.reserve_bytes.map(Bytes),
        bandwidth: said.bandwidth_bytes_per_s.map(BytesPerSecond),
        devices: said.devices.into_iter().filter_map(device).collect(),
    }
}

pub(crate) fn machine(machine: &hardware::Machine) -> wire::Machine {
    wire::Machine {
        schema: machine.schema,
        os: wire::Os {
            name: machine.os.name.clone(),
            version: machine.os.version.clone(),
            arch: machine.os.arch.clone(),
        },
        cpu: wire::Cpu {
            name: machine.cpu.name.clone(),
            physical_cores: machine.cpu.physical_cores,
            logical_cores: machine.cpu.logical_cores,
            features: machine.cpu.features.clone(),
        },
        memory: wire::Memory {
            total_bytes: machine.memory.total.0,
            available_bytes: Some(machine.memory.available.0),
            bandwidth_bytes_per_s: machine.memory.bandwidth.as_ref().map(sourced),
            reserve_bytes: machine.memory.reserve.as_ref().map(|reserve| wire::Sourced {
                value: reserve.value.0,
                source: reserve.source.clone(),
            }),
            source: machine.memory.source.clone(),
        },
        devices: machine.devices.iter().map(device).collect(),
        class: Some(match machine.class {
            hardware::Class::Discrete => wire::Class::Discrete,
            hardware::Class::Unified => wire::Class::Unified,
            hardware::Class::CpuOnly => wire::Class::CpuOnly,
        }),
        notes: machine.notes.iter().map(reason).collect(),
    }
}

fn device(device: &hardware::Device) -> wire::Device {
    wire::Device {
        id: device.id.clone(),
        name: device.name.clone(),
        vendor: device.vendor.clone(),
        kind: match device.kind {
            hardware::DeviceKind::Discrete => wire::DeviceKind::Discrete,
            hardware::DeviceKind::Integrated => wire::DeviceKind::Integrated,
            hardware::DeviceKind::Unified => wire::DeviceKind::Unified,
            hardware::DeviceKind::Remote => wire::DeviceKind::Remote,
        },
        backends: device
            .backends
            .iter()
            .map(|backend| backend_name(*backend).to_owned())
            .collect(),
        total_bytes: device.total.0,
        free_bytes: Some(device.free.0),
        dedicated_bytes: device.dedicated.map(|bytes| bytes.0),
        bandwidth_bytes_per_s: device.bandwidth.as_ref().map(sourced),
        architecture: device.platform.architecture.clone(),
        driver_version: device.platform.driver.clone(),
        cuda_version: device.platform.cuda.clone(),
        source: device.source.clone(),
    }
}

const fn backend_name(backend: hardware::Backend) -> &'static str {
    match backend {
        hardware::Backend::Cuda => "cuda",
        hardware::Backend::Rocm => "rocm",
        hardware::Backend::Vulkan => "vulkan",
        hardware::Backend::Metal => "metal",
        hardware::Backend::Sycl => "sycl",
        hardware::Backend::Rpc => "rpc",
    }
}

fn sourced(number: &hardware::Sourced<BytesPerSecond>) -> wire::Sourced {
    wire::Sourced {
        value: number.value.0,
        source: number.source.clone(),
    }
}

pub(crate) fn sample(sample: &hardware::Sample) -> wire::Sample {
    wire::Sample {
        taken_at: sample.taken_at_ms.div_euclid(1000),
        cpu_percent: sample.cpu_percent,
        memory: memory_use("memory", "memory", sample.memory, true),
        devices: sample
            .devices
            .iter()
            .map(|device| memory_use(&device.id, &device.name, device.memory, device.app_known))
            .collect(),
    }
}

fn memory_use(id: &str, name: &str, memory: hardware::MemoryUse, app_known: bool) -> wire::DeviceUse {
    wire::DeviceUse {
        id: id.to_owned(),
        name: name.to_owned(),
        total_bytes: memory.total.0,
        app_bytes: memory.app.0,
        others_bytes: memory.others.0,
        app_unknown: !app_known,
    }
}
