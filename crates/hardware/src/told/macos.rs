//! macOS: `sysctl`, `system_profiler`, `vm_stat` and `memory_pressure`.

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
    let mut pages = Pages::default();
    let mut gpus: Vec<Sighting> = Vec::new();
    let profiler = text.os == "macos" || text.key_has("system_profiler");
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        line.taken = mlx(line.text, list, told)
            || pages.line(line.text, told)
            || sysctl(line.text, &mut guest, told)
            || (profiler && profile(line.text, list, &mut gpus, &mut guest, told));
    }
    pages.finish(told);
    // Virtual machines show the chip of the machine below them.
    for gpu in gpus {
        if guest && gpu.vendor == Some(Vendor::Apple) {
            told.virtual_gpus.push(gpu.name);
        } else {
            told.see(gpu);
        }
    }
}

/// `vm_stat` and `memory_pressure`, which count pages.
#[derive(Default)]
struct Pages {
    size: Option<u64>,
    /// Those that a program can have at once: free, and what the system keeps only as long as nobody wants it.
    available: u64,
    total: Option<Bytes>,
}

impl Pages {
    fn line(&mut self, line: &str, told: &mut Told) -> bool {
        // `Mach Virtual Memory Statistics: (page size of 16384 bytes)`
        // `The system has 17179869184 (1048576 pages with a page size of 16384).`
        if let Some(size) = after(line, "page size of ").and_then(leading_number) {
            self.size = Some(size);
            self.total = after(line, "The system has ").and_then(leading_number).map(Bytes);
            told.say_ram(self.total, None, Trust::Exact, "memory_pressure");
            return true;
        }
        if let Some(percent) = field(line, "System-wide memory free percentage")
            .and_then(leading_number)
            .filter(|&percent| percent <= 100)
        {
            let free = self.total.map(|total| Bytes(total.0 / 100 * percent));
            told.say_ram(None, free, Trust::Rounded, "memory_pressure");
            return true;
        }
        let kept = [
            "Pages free",
            "Pages inactive",
            "Pages speculative",
            "Pages purgeable",
        ];
        let Some(pages) = kept
            .iter()
            .find_map(|label| field(line, label))
            .and_then(leading_number)
        else {
            return line.trim_start().starts_with("Pages ") && line.contains(':');
        };
        self.available = self.available.saturating_add(pages);
        true
    }

    fn finish(&self, told: &mut Told) {
        if let Some(size) = self.size.filter(|_| self.available > 0 && self.total.is_none()) {
            let available = Bytes(self.available).times(size);
            told.say_ram(None, Some(available), Trust::Exact, "vm_stat");
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
        // Macs with Intel's processors list what it can do in Intel's spelling.
        "machdep.cpu.features" | "machdep.cpu.leaf7_features" => {
            let listed = value.split_whitespace().filter_map(intel_feature);
            for feature in listed.map(str::to_owned) {
                if !told.cpu.features.contains(&feature) {
                    told.cpu.features.push(feature);
                }
            }
        }
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

fn intel_feature(name: &str) -> Option<&'static str> {
    const NAMES: [(&str, &str); 8] = [
        ("SSSE3", "ssse3"),
        ("SSE4.2", "sse4_2"),
        ("AVX1.0", "avx"),
        ("F16C", "f16c"),
        ("FMA", "fma"),
        ("AVX2", "avx2"),
        ("BMI2", "bmi2"),
        ("AVX512F", "avx512f"),
    ];
    NAMES
        .iter()
        .find(|(theirs, _)| *theirs == name)
        .map(|(_, ours)| *ours)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::tests::told_by;

    fn ram(told: &Told) -> Option<(u64, &str)> {
        let said = told.ram.iter().find(|ram| ram.total.is_some())?;
        Some((said.total?.0, said.source.as_str()))
    }

    #[test]
    fn sysctl_of_an_apple_chip() {
        let told = told_by(
            "macos",
            "sysctl",
            "hw.memsize: 17179869184\nmachdep.cpu.core_count: 8\nmachdep.cpu.thread_count: 8\n\
             machdep.cpu.brand_string: Apple M1\nhw.perflevel0.physicalcpu: 4\nhw.perflevel0.name: Performance\n\
             hw.optional.arm.FEAT_DotProd: 1\nhw.optional.arm.FEAT_I8MM: 0\nhw.optional.arm.FEAT_SME: 1\n\
             iogpu.wired_limit_mb: 0",
        );
        assert_eq!(ram(&told), Some((16 << 30, "hw.memsize")));
        assert_eq!(told.cpu.name.as_deref(), Some("Apple M1"));
        assert_eq!((told.cpu.physical, told.cpu.logical), (Some(8), Some(8)));
        assert_eq!(told.cpu.features, ["asimddp", "sme"]);
        assert_eq!(told.wired_limit, None, "zero is macOS's own choice");
    }

    #[test]
    fn limits_and_other_marks_between_name_and_value() {
        let limit = |line| told_by("macos", "sysctl", line).wired_limit;
        assert_eq!(limit("iogpu.wired_limit_mb=112640"), Some(Bytes::gib(110)));
        assert_eq!(limit("iogpu.wired_limit_mb: 92000"), Some(Bytes::mib(92_000)));
        assert_eq!(
            limit("debug.iogpu.wired_limit: 21474836480"),
            Some(Bytes::gib(20))
        );
    }

    #[test]
    fn an_intel_mac_lists_its_features_in_intels_spelling() {
        let told = told_by(
            "macos",
            "sysctl",
            "machdep.cpu.features: FPU VME SSSE3 FMA SSE4.1 SSE4.2 AES AVX1.0 F16C\n\
             machdep.cpu.leaf7_features: RDWRFSGS BMI1 AVX2 BMI2",
        );
        assert_eq!(
            told.cpu.features,
            ["ssse3", "fma", "sse4_2", "avx", "f16c", "avx2", "bmi2"]
        );
    }

    #[test]
    fn what_is_free_by_pages_and_by_percent() {
        let told = told_by(
            "macos",
            "vm_stat",
            "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free:                     12345.\n\
             Pages active:                  300000.\nPages inactive:                200000.\n\
             Pages speculative:               1000.\nPages wired down:              100000.\n\
             Pages purgeable:                  655.\n\"Translation faults\":      1234567.",
        );
        let available: Vec<u64> = told.ram.iter().filter_map(|ram| Some(ram.available?.0)).collect();
        assert_eq!(available, [(12_345 + 200_000 + 1_000 + 655) * 16_384]);
        let told = told_by(
            "macos",
            "memory_pressure",
            "The system has 17179869184 (1048576 pages with a page size of 16384).\nPages free: 9000\n\
             System-wide memory free percentage: 50%",
        );
        assert_eq!(ram(&told), Some((16 << 30, "memory_pressure")));
        let available: Vec<Bytes> = told.ram.iter().filter_map(|ram| ram.available).collect();
        assert_eq!(available, [Bytes((16 << 30) / 100 * 50)]);
    }

    #[test]
    fn a_guest_has_no_gpu_of_apple() {
        let told = told_by(
            "macos",
            "system_profiler",
            "Boot ROM Version: VMW71.00V.0.B64.1704110547\nChipset Model: Apple M1",
        );
        assert!(told.gpus.is_empty(), "{:?}", told.gpus);
        let told = told_by(
            "macos",
            "system_profiler",
            "Model Identifier: Mac14,2\nChipset Model: Apple M2",
        );
        assert_eq!(told.gpus[0].name, "Apple M2");
    }
}
