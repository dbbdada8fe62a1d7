//! The processor, by `lscpu`, `/proc/cpuinfo`, llama.cpp's `system_info` and what programs print beside it.

use super::scan::{after, field, leading_number};
use super::{Text, Told, memory};

/// llama.cpp's names and the kernel's.
const FEATURES: [(&str, &str); 20] = [
    ("SSSE3", "ssse3"),
    ("AVX", "avx"),
    ("AVX2", "avx2"),
    ("F16C", "f16c"),
    ("FMA", "fma"),
    ("BMI2", "bmi2"),
    ("AVX_VNNI", "avx_vnni"),
    ("AVX512", "avx512f"),
    ("AVX512_VBMI", "avx512vbmi"),
    ("AVX512_VNNI", "avx512_vnni"),
    ("AVX512_BF16", "avx512_bf16"),
    ("AMX_INT8", "amx_int8"),
    ("NEON", "asimd"),
    ("ARM_FMA", "asimd"),
    ("DOTPROD", "asimddp"),
    ("FP16_VA", "asimdhp"),
    ("MATMUL_INT8", "i8mm"),
    ("SVE", "sve"),
    ("SVE2", "sve2"),
    ("SME", "sme"),
];

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let listed = text.key_has("lscpu") || text.key_has("cpuinfo");
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        let trimmed = line.text.trim();
        line.taken = system_info(trimmed, told) || (listed && of_list(trimmed, told)) || named(trimmed, told);
    }
}

/// `n_threads = 4 (n_threads_batch = 4) / 24 | CPU : SSE3 = 1 | SSSE3 = 1 | AVX = 1 | …`
fn system_info(line: &str, told: &mut Told) -> bool {
    if let Some(total) = after(line, "total_threads")
        .map(|rest| rest.trim_start_matches([' ', '=']))
        .and_then(leading_number)
    {
        told.cpu.logical = told.cpu.logical.or_else(|| u32::try_from(total).ok());
    } else if line.contains("n_threads_batch")
        && let Some(total) = after(line, ") / ").and_then(leading_number)
    {
        told.cpu.logical = told.cpu.logical.or_else(|| u32::try_from(total).ok());
    }
    let mut found = line.contains("system_info") || line.contains("system info");
    for part in line.split(['|', '"']) {
        let part = part.rsplit(" : ").next().unwrap_or(part);
        let Some((name, value)) = part.split_once('=') else {
            continue;
        };
        if let Some((_, feature)) = FEATURES.iter().find(|(known, _)| *known == name.trim())
            && matches!(value.trim(), "0" | "1")
        {
            found = true;
            let feature = (*feature).to_owned();
            if value.trim() == "1" && !told.cpu.features.contains(&feature) {
                told.cpu.features.push(feature);
            }
        }
    }
    found
}

fn of_list(line: &str, told: &mut Told) -> bool {
    let number = |label: &str| {
        field(line, label)
            .and_then(leading_number)
            .and_then(|n| u32::try_from(n).ok())
    };
    if let Some(name) = field(line, "Model name").or_else(|| field(line, "model name")) {
        told.cpu.name.get_or_insert_with(|| name.to_owned());
    } else if let Some(arch) = field(line, "Architecture") {
        memory::arch(arch, told);
    } else if let Some(count) = number("CPU(s)") {
        told.cpu.logical = Some(count);
    } else if let Some(cores) = number("Core(s) per socket") {
        told.cpu.physical = Some(cores);
    } else if let Some(sockets) = number("Socket(s)") {
        told.cpu.physical = told.cpu.physical.and_then(|cores| cores.checked_mul(sockets));
    } else if !line.contains(':') || field(line, "Flags").is_some() || field(line, "flags").is_some() {
        let flags = line.rsplit(':').next().unwrap_or(line);
        let flags = flags
            .split_whitespace()
            .filter(|word| super::super::judge::FEATURES.contains(word));
        for flag in flags {
            let flag = flag.to_owned();
            if !told.cpu.features.contains(&flag) {
                told.cpu.features.push(flag);
            }
        }
    }
    true
}

/// `CPU: AMD Ryzen 7 8700G …`, `"cpu_name": "…"`, `registered device CPU (13th Gen Intel…)`. The line stays for the
/// other readers: it may hold the processor's GPU as well.
fn named(line: &str, told: &mut Told) -> bool {
    let value = after(line, "registered device CPU (")
        .map(|rest| rest.strip_suffix(')').unwrap_or(rest))
        .or_else(|| {
            ["cpu_name", "CPU", "Processor", "Model name", "cpu"]
                .iter()
                .find_map(|label| field(line, label))
        })
        .or_else(|| line.strip_prefix("CPU\t"))
        .or_else(|| is_processor(line).then_some(line));
    // A laptop may be named after its processor's family.
    let model = line.trim_start().starts_with("Machine:");
    if let Some(value) = value.filter(|value| is_processor(value) && !model) {
        let end = [" (", " — ", " @ "]
            .iter()
            .filter_map(|mark| value.find(mark))
            .filter(|&at| at > 8)
            .min();
        let name = value[..end.unwrap_or(value.len())]
            .split(',')
            .next()
            .unwrap_or(value);
        told.cpu.name.get_or_insert_with(|| name.trim().to_owned());
        memory::arch(line, told);
    }
    false
}

pub(super) fn is_processor(text: &str) -> bool {
    let lower = text.to_lowercase();
    [
        "ryzen",
        "epyc",
        "xeon",
        "core(tm)",
        "threadripper",
        "celeron",
        "pentium",
        "athlon",
        "snapdragon",
        "neoverse",
        "i3-",
        "i5-",
        "i7-",
        "i9-",
        "core ultra",
    ]
    .iter()
    .any(|word| lower.contains(word))
        && !lower.contains("radv")
}
