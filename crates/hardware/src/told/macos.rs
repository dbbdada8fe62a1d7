//! macOS: `sysctl` and `system_profiler`.

use plimsoll_units::Bytes;

use super::scan::{after, amount, field, leading_number, whole};
use super::{Api, Place, Sighting, Text, Told, Trust, Vendor, is_virtual, names};

/// Names of `sysctl` and the kernel's own for the same thing under Linux.
const FEATURES: [(&str, &str); 8] = [
    ("hw.optional.AdvSIMD", "asimd"),
    ("hw.optional.neon", "asimd"),
    ("hw.optional.arm.FEAT_DotProd", "asimddp"),
    ("hw.optional.arm.FEAT_FP16", "asimdhp"),
    ("hw.optional.arm.FEAT_I8MM", "i8mm"),
    ("hw.optional.arm.FEAT_BF16", "bf16"),
    ("hw.optional.arm.FEAT_SME", "sme"),
    ("hw.optional.avx2_0", "avx2"),
];

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let list = text.list(36);
    let mut guest = false;
    let mut gpus: Vec<Sighting> = Vec::new();
    let profiler = text.os == "macos" || text.key_has("system_profiler");
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        line.taken = mlx(line.text, list, told)
            || sysctl(line.text, &mut guest, told)
            || (profiler && profile(line.text, list, &mut gpus, &mut guest, told));
    }
    // Virtual machines show the chip of the machine below them.
    for gpu in gpus {
        if guest && gpu.vendor == Some(Vendor::Apple) {
            told.virtual_gpus.push(gpu.name);
        } else {
            told.see(gpu);
        }
    }
}

/// MLX: `{'max_recommended_working_set_size': 22906503168, 'memory_size': 34359738368, 'device_name': 'Apple M1 Max'}`
fn mlx(line: &str, list: u32, told: &mut Told) -> bool {
    let number = |label: &str| {
        after(line, label)
            .map(|rest| rest.trim_start_matches(['\'', '"', ':', ' ']))
            .and_then(leading_number)
    };
    let Some(working_set) = number("max_recommended_working_set_size") else {
        return false;
    };
    told.say_ram(number("memory_size").map(Bytes), None, Trust::Exact, "MLX");
    let name = after(line, "device_name").map(|rest| rest.trim_start_matches(['\'', '"', ':', ' ']));
    let name = name
        .and_then(|rest| rest.split(['\'', '"']).next())
        .unwrap_or_default();
    let mut gpu = Sighting::new(Api::Metal, "MLX", list + 1).named(name);
    gpu.vendor = Some(Vendor::Apple);
    gpu.total = Some(Bytes(working_set));
    told.see(gpu);
    true
}

fn sysctl(line: &str, guest: &mut bool, told: &mut Told) -> bool {
    let Some((label, value)) = line.split_once([':', '=']) else {
        return false;
    };
    let (label, value) = (label.trim(), value.trim());
    let number = || whole(value);
    let count = || number().and_then(|n| u32::try_from(n).ok());
    match label {
        "hw.memsize" => told.say_ram(number().map(Bytes), None, Trust::Exact, "hw.memsize"),
        "hw.memsize_usable" => {}
        "machdep.cpu.brand_string" => {
            told.cpu.name = Some(value.to_owned());
        }
        "hw.physicalcpu" | "machdep.cpu.core_count" => told.cpu.physical = count(),
        "hw.logicalcpu" | "hw.ncpu" | "machdep.cpu.thread_count" => told.cpu.logical = count(),
        // Zero is macOS's own choice.
        "iogpu.wired_limit_mb" => told.wired_limit = number().filter(|&n| n > 0).map(Bytes::mib),
        "debug.iogpu.wired_limit" => told.wired_limit = number().filter(|&n| n > 0).map(Bytes),
        "hw.model" => *guest |= is_virtual(value) || value.starts_with("VirtualMac"),
        "kern.hv_vmm_present" => *guest |= value == "1",
        "kern.osproductversion" => told.os_version = Some(format!("macOS {value}")),
        _ => {
            if let Some((_, feature)) = FEATURES
                .iter()
                .find(|(name, _)| *name == label)
                .filter(|_| value == "1")
            {
                told.cpu.features.push((*feature).to_owned());
            }
            return ["hw.", "machdep.", "kern.", "iogpu.", "vm."]
                .iter()
                .any(|prefix| label.starts_with(prefix));
        }
    }
    true
}

fn profile(line: &str, list: u32, gpus: &mut Vec<Sighting>, guest: &mut bool, told: &mut Told) -> bool {
    if let Some(chip) = field(line, "Chip") {
        told.cpu.name.get_or_insert_with(|| chip.to_owned());
    } else if let Some(memory) = field(line, "Memory").and_then(amount) {
        told.say_ram(Some(memory), None, Trust::Installed, "system_profiler");
    } else if let Some(name) = field(line, "Chipset Model") {
        gpus.push(Sighting::new(Api::Metal, "system_profiler", list).named(name));
        if let Some(gpu) = gpus.last_mut() {
            gpu.vendor = names::vendor_of(name);
        }
    } else if let Some(gpu) = gpus.last_mut()
        && let Some(size) = field(line, "VRAM (Total)").and_then(amount)
    {
        gpu.own = Some(size);
        gpu.place = Some(Place::Card);
    } else if let Some(gpu) = gpus.last_mut()
        && let Some(size) = field(line, "VRAM (Dynamic, Max)").and_then(amount)
    {
        gpu.shared = Some(size);
        gpu.place = Some(Place::Processor {
            worth_planning_on: false,
        });
    } else if let Some(version) =
        field(line, "Boot ROM Version").or_else(|| field(line, "System Firmware Version"))
    {
        // VMware's, and those of Apple's own hypervisor on another's.
        *guest |= version.starts_with("VMW") || is_virtual(version);
    } else if let Some(model) = field(line, "Model Identifier") {
        *guest |= is_virtual(model) || model.starts_with("VirtualMac");
    } else if let Some(cores) = field(line, "Total Number of Cores") {
        // A GPU's cores stand below its name, the processor's `10 (8 performance and 2 efficiency)` do not.
        if gpus.is_empty() {
            told.cpu.physical = leading_number(cores).and_then(|n| u32::try_from(n).ok());
        }
    } else if let Some(version) = field(line, "System Version") {
        told.os_version = Some(version.to_owned());
    } else if let Some(name) = field(line, "Processor Name") {
        told.cpu.name.get_or_insert_with(|| name.to_owned());
    } else {
        return false;
    }
    true
}

/// The GPU that comes with an Apple chip, once everything is read: the chip's name tells that it is there, and so
/// does the limit that only its driver has.
pub(super) fn chip_gpu(told: &mut Told, os: &str) {
    let name = told.cpu.name.clone().filter(|name| {
        let model = name.strip_prefix("Apple M");
        model.is_some_and(|model| model.starts_with(|c: char| c.is_ascii_digit()))
    });
    let guest = name.as_ref().is_some_and(|name| name.contains("Virtual")) || !told.virtual_gpus.is_empty();
    if os != "macos" || guest || !(name.is_some() || told.wired_limit.is_some()) {
        return;
    }
    let name = name.unwrap_or_default();
    if let Some(gpu) = told.gpus.iter_mut().find(|gpu| gpu.vendor == Some(Vendor::Apple)) {
        if gpu.name.is_empty() {
            gpu.name = name;
        }
        return;
    }
    let mut gpu = Sighting::new(Api::Metal, "the chip's name", u32::MAX - 1).named(&name);
    gpu.vendor = Some(Vendor::Apple);
    told.see(gpu);
}
