//! The system, the processor and the RAM.

use plimsoll_units::{Bytes, BytesPerSecond};

use crate::facts::Facts;
use crate::machine::{Cpu, Memory, Os, Sourced};
use crate::note::Note;
use crate::told::{Told, Trust};

use super::size::size;

const CORES_MAX: u32 = 1 << 16;
const NAME_CHARS_MAX: usize = 120;
/// A group with less room than this could not have started us.
const LIMIT_MIN: Bytes = Bytes::mib(4);
/// Above this a version 1 group has no limit; it prints the largest number that fits its pages.
const NO_LIMIT: u64 = 1 << 60;

/// What decides which build runs and how fast.
pub(crate) const FEATURES: [&str; 26] = [
    "sse4_2",
    "ssse3",
    "avx",
    "avx2",
    "f16c",
    "fma",
    "bmi2",
    "avx_vnni",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512vbmi",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
    "asimd",
    "asimddp",
    "asimdhp",
    "i8mm",
    "bf16",
    "sve",
    "sve2",
    "sme",
];

pub(crate) fn os(facts: &Facts, told: &Told, notes: &mut Vec<Note>) -> Os {
    let system = facts.system.clone().unwrap_or_default();
    let kernel = facts
        .value("/proc/sys/kernel/osrelease")
        .map_or(system.kernel, str::to_owned);
    let wsl = facts.os == "wsl2" || told.wsl || kernel.to_ascii_lowercase().contains("microsoft");
    if wsl {
        notes.push(Note::Wsl {});
    }
    // `windows-arm64` of a report says two things.
    let (name, arch) = facts.os.split_once('-').unwrap_or((&facts.os, ""));
    let name = match name {
        "wsl2" | "wsl" => "linux",
        "unknown" => "",
        other => other,
    };
    let asked = facts.dxgi.is_some() || facts.metal.is_some() || facts.is_report();
    if matches!(name, "macos" | "windows") && !asked {
        notes.push(Note::GpusNotProbed { os: name.to_owned() });
    }
    let pretty = ["/etc/os-release", "/usr/lib/os-release"]
        .iter()
        .find_map(|file| facts.field(file, "PRETTY_NAME"));
    let version = pretty
        .map(str::to_owned)
        .or_else(|| some_text(&system.os_version))
        .or_else(|| told.os_version.clone());
    let arch = some_text(&facts.arch).or_else(|| match arch {
        "arm64" => Some("aarch64".to_owned()),
        _ => told.cpu.arch.clone(),
    });
    Os {
        name: short(name),
        version: short(&version.unwrap_or_default()),
        arch: short(&arch.unwrap_or_default()),
    }
}

fn some_text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

pub(crate) fn cpu(facts: &Facts, told: &Told, notes: &mut Vec<Note>) -> Cpu {
    let system = facts.system.clone().unwrap_or_default();
    let name = facts
        .field("/proc/cpuinfo", "model name")
        .or_else(|| Some(system.cpu.as_str()).filter(|name| !name.is_empty()))
        .or_else(|| facts.field("lscpu", "Model name"))
        .or(told.cpu.name.as_deref())
        .unwrap_or_default();
    let listed = |name: &str| {
        facts
            .field("lscpu", name)
            .and_then(|value| value.parse::<u32>().ok())
    };
    let logical = some(system.logical_cores)
        .or_else(|| listed("CPU(s)"))
        .or(told.cpu.logical)
        .unwrap_or(0)
        .min(CORES_MAX);
    let by_socket = || listed("Core(s) per socket")?.checked_mul(listed("Socket(s)")?);
    let physical = some(system.physical_cores)
        .or_else(by_socket)
        .or(told.cpu.physical)
        .unwrap_or(0)
        .min(CORES_MAX);
    if let Some(usable) = some(system.usable_cores).filter(|&usable| usable < logical) {
        notes.push(Note::CpuLimited { usable, logical });
    }
    let flags = facts
        .field("/proc/cpuinfo", "flags")
        .or_else(|| facts.field("/proc/cpuinfo", "Features"))
        .or_else(|| facts.field("lscpu", "Flags"))
        .unwrap_or_default();
    let by_processor = system.features.iter().map(String::as_str);
    let said: Vec<&str> = flags.split_ascii_whitespace().chain(by_processor).collect();
    let features = FEATURES
        .iter()
        .filter(|feature| said.contains(feature) || told.cpu.features.iter().any(|seen| seen == *feature))
        .map(ToString::to_string)
        .collect();
    Cpu {
        name: short(name),
        physical_cores: physical,
        logical_cores: logical,
        features,
    }
}

fn some(n: u32) -> Option<u32> {
    (n > 0).then_some(n)
}

/// The smallest of what the sources say: a number that came out too large makes a plan fail, one that came out
/// too small makes it modest.
pub(crate) fn memory(facts: &Facts, notes: &mut Vec<Note>) -> Memory {
    memory_with(facts, &Told::default(), notes)
}

/// The same with what the tools of a report said, where the system's own files are missing.
pub(crate) fn memory_with(facts: &Facts, told: &Told, notes: &mut Vec<Note>) -> Memory {
    for (source, value) in &told.absurd {
        notes.push(Note::AbsurdValue {
            source: short(source),
            value: short(value),
        });
    }
    let system = facts.system.as_ref();
    let meminfo = |name: &str, notes: &mut Vec<Note>| {
        size(facts.field("/proc/meminfo", name)?, "/proc/meminfo", notes).filter(|&bytes| bytes > Bytes::ZERO)
    };
    let said = |bytes: u64, notes: &mut Vec<Note>| {
        size(&bytes.to_string(), "sysinfo", notes).filter(|&bytes| bytes > Bytes::ZERO)
    };
    let machine = [
        meminfo("MemTotal", notes).map(|bytes| (bytes, "/proc/meminfo".to_owned())),
        system
            .and_then(|system| said(system.total_bytes, notes))
            .map(|bytes| (bytes, "sysinfo".to_owned())),
    ]
    .into_iter()
    .flatten()
    .reduce(|first, second| if second.0 < first.0 { second } else { first })
    .or_else(|| reported(told, notes));
    let available = meminfo("MemAvailable", notes)
        .or_else(|| system.and_then(|system| said(system.available_bytes, notes)))
        .or_else(|| told.ram.iter().filter_map(|ram| ram.available).min());

    let mut groups = groups(facts, notes);
    groups.extend(told.limits.iter().map(|(limit, source)| Group {
        limit: *limit,
        held: None,
        source: short(source),
    }));
    let limit = groups.iter().min_by_key(|group| group.limit);
    let (total, source) = match (machine, limit) {
        (Some((machine_bytes, _)), Some(group)) if group.limit < machine_bytes => {
            let source = group.source.clone();
            notes.push(Note::CgroupLimit {
                limit_bytes: group.limit,
                machine_bytes,
                source: source.clone(),
            });
            (group.limit, source)
        }
        (Some(machine), _) => machine,
        (None, Some(group)) => (group.limit, group.source.clone()),
        (None, None) => {
            notes.push(Note::MemoryUnknown {});
            (Bytes::ZERO, String::new())
        }
    };
    let room_in_groups = groups
        .iter()
        .filter_map(|group| Some(group.limit.less(group.held?)))
        .min();
    let available = [available, room_in_groups]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(total)
        .min(total);
    Memory {
        total,
        available,
        bandwidth: told.ram_bandwidth.as_ref().map(|(value, source)| Sourced {
            value: BytesPerSecond(*value),
            source: source.clone(),
        }),
        reserve: None,
        source,
    }
}

/// The statement nearest to the kernel's own number; of equal ones the smallest, except where people and tools
/// round, of which the first is the one about this machine.
fn reported(told: &Told, notes: &mut Vec<Note>) -> Option<(Bytes, String)> {
    let trust = told
        .ram
        .iter()
        .filter(|ram| ram.total.is_some())
        .map(|ram| ram.trust)
        .max()?;
    let mut nearest = told
        .ram
        .iter()
        .filter(|ram| ram.trust == trust)
        .filter_map(|ram| Some((ram.total?, &ram.source)));
    let (bytes, source) = if trust == Trust::Reported {
        nearest.next()?
    } else {
        nearest.min()?
    };
    if trust == Trust::Inferred {
        notes.push(Note::MemoryInferred {
            bytes,
            source: short(source),
        });
    }
    Some((bytes, short(source)))
}

struct Group {
    limit: Bytes,
    /// Without the file cache, which the kernel gives up first.
    held: Option<Bytes>,
    source: String,
}

fn groups(facts: &Facts, notes: &mut Vec<Note>) -> Vec<Group> {
    let mut found = Vec::new();
    let files = facts.facts.keys().filter(|key| key.starts_with("/sys/fs/cgroup"));
    for file in files {
        let Some((folder, name)) = file.rsplit_once('/') else {
            continue;
        };
        let (value, usage, cache) = match name {
            // Past `high` the kernel slows a program down until it hardly moves: a limit in all but name.
            "memory.max" | "memory.high" => (facts.value(file), "memory.current", "inactive_file"),
            "memory.limit_in_bytes" => (facts.value(file), "memory.usage_in_bytes", "total_inactive_file"),
            "memory.stat" => (
                stat(facts, folder, "hierarchical_memory_limit"),
                "memory.usage_in_bytes",
                "total_inactive_file",
            ),
            _ => continue,
        };
        let Some(value) = value.filter(|&value| value != "max") else {
            continue;
        };
        if value.parse::<u64>().is_ok_and(|limit| limit >= NO_LIMIT) {
            continue;
        }
        let Some(limit) = size(value, file, notes) else {
            continue;
        };
        if limit < LIMIT_MIN {
            notes.push(Note::AbsurdValue {
                source: file.clone(),
                value: value.chars().take(40).collect(),
            });
            continue;
        }
        let usage = format!("{folder}/{usage}");
        let held = facts
            .value(&usage)
            .and_then(|value| size(value, &usage, notes))
            .map(|used| {
                let cached = stat(facts, folder, cache).and_then(|value| size(value, file, notes));
                used.less(cached.unwrap_or_default())
            });
        found.push(Group {
            limit,
            held,
            source: file.clone(),
        });
    }
    found
}

/// Lines of a name, a space and a number.
fn stat<'a>(facts: &'a Facts, folder: &str, name: &str) -> Option<&'a str> {
    let lines = facts.lines(&format!("{folder}/memory.stat"));
    lines
        .iter()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

/// Names go into files and onto the page; a damaged record must not make them endless.
pub(super) fn short(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(NAME_CHARS_MAX)
        .collect::<String>()
        .trim()
        .to_owned()
}
