//! `nvidia-smi`: the table in the layouts of drivers 390 to 617, `-L`, and what it says when it fails.

use super::scan::{amounts, leading_number, pci_address};
use super::{Api, Part, Sighting, State, Text, Told, Trouble, Vendor};

const SOURCE: &str = "nvidia-smi";

/// The words of the column beside the name: persistence, driver model, or unknown.
const MODES: [&str; 7] = ["Off", "On", "WDDM", "TCC", "MCDM", "N/A", "ERR!"];

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let mut table = Table::default();
    let number = text.list(0);
    let asked_for = text.key_has("nvidia-smi");
    for line in &mut text.lines {
        versions(line.text, told);
        line.taken = failure(line.text, asked_for, told)
            || listed(line.text, number, told)
            || table.line(line.text, number, told);
    }
    table.finish(told);
}

/// The table's headline and `-q` name the driver and the newest CUDA that it runs, in words that changed: `Driver
/// Version` became `KMD Version`, `CUDA Version` became `CUDA UMD Version`.
fn versions(line: &str, told: &mut Told) {
    if told.nvidia_driver.is_none() {
        told.nvidia_driver = driver_in(line);
    }
    if told.nvidia_cuda.is_none() {
        told.nvidia_cuda = ["CUDA Version", "CUDA UMD Version", "CUDA Driver Version"]
            .iter()
            .find_map(|label| version_behind(line, label))
            .filter(|version| (8..=40).contains(&major(version)))
            .map(str::to_owned);
    }
}

/// The version of NVIDIA's driver in a line of its tools or of its kernel part.
pub(crate) fn driver_in(line: &str) -> Option<String> {
    let labelled = ["Driver Version", "KMD Version", "driver_version", "driverInfo"]
        .iter()
        .find_map(|label| version_behind(line, label));
    let kernel = || {
        // `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build …`
        let rest = line.split_once("NVRM version:")?.1;
        rest.split_whitespace().find(|word| is_version(word))
    };
    labelled
        .or_else(kernel)
        .filter(|version| is_version(version))
        .map(str::to_owned)
}

/// Two or three numbers, the first the branch: 390 is the oldest that still comes with systems. Windows' own number
/// for the same driver has four.
fn is_version(word: &str) -> bool {
    let parts = word.split('.').count();
    matches!(parts, 2 | 3)
        && (300..1000).contains(&major(word))
        && word.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

fn major(version: &str) -> u32 {
    version
        .split('.')
        .next()
        .and_then(|first| first.parse().ok())
        .unwrap_or(0)
}

fn version_behind<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let rest = line
        .split_once(label)?
        .1
        .trim_start_matches([' ', '\t', ':', '=']);
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(rest.len());
    Some(&rest[..end]).filter(|version| version.contains('.'))
}

/// Two or three rows a card: name and bus; usage and memory; whether it is cut.
#[derive(Default)]
struct Table {
    open: Option<Sighting>,
    in_slices: bool,
    in_processes: bool,
    names: Vec<(u32, String)>,
    rows: u32,
}

impl Table {
    fn line(&mut self, line: &str, list: u32, told: &mut Told) -> bool {
        let line = line.trim();
        if line.contains("NVIDIA-SMI")
            || line.starts_with("+--")
            || line.starts_with("|==")
            || line.starts_with("|--")
        {
            return true;
        }
        if line.contains("MIG devices:") {
            self.finish(told);
            self.in_slices = true;
            return true;
        }
        if line.contains("Processes:") {
            self.finish(told);
            self.in_processes = true;
            return true;
        }
        let Some(inner) = line.strip_prefix('|') else {
            return false;
        };
        if self.in_processes {
            return true;
        }
        let cells: Vec<&str> = inner.trim_end_matches('|').split('|').collect();
        let (Some(first), Some(second)) = (cells.first(), cells.get(1)) else {
            return false;
        };
        if self.in_slices {
            self.slice(first, second, list, told);
            return true;
        }
        if let Some((index, name)) = row_head(first, second) {
            self.finish(told);
            self.rows += 1;
            self.names.push((index, name.to_owned()));
            let mut gpu = Sighting::new(Api::Nvml, SOURCE, list).named(name);
            gpu.index = Some(index);
            gpu.vendor = Some(Vendor::Nvidia);
            gpu.pci = pci_address(second);
            if second.contains("ERR!") || first.contains("ERR!") {
                gpu.state = State::Lost {
                    cause: "ERR!".to_owned(),
                };
            }
            self.open = Some(gpu);
            return true;
        }
        let Some(gpu) = &mut self.open else {
            return line.contains("Bus-Id") || line.contains("Memory-Usage") || line.contains("MIG M.");
        };
        if second.to_ascii_lowercase().contains("not supported") {
            gpu.is_ram = true;
        } else if let [used, total, ..] = amounts(second).as_slice() {
            gpu.used = Some(used.bytes);
            gpu.total = Some(total.bytes);
        } else if second.contains("lost") || second.contains("ERR!") {
            gpu.state = State::Lost {
                cause: second.trim().to_owned(),
            };
        }
        if cells.last().is_some_and(|cell| cell.trim() == "Enabled") {
            gpu.part = Part::Cut;
        }
        true
    }

    /// `  0    1   0   0  |     11MiB / 20096MiB | …`: card, GPU instance, compute instance, number.
    fn slice(&self, first: &str, second: &str, list: u32, told: &mut Told) {
        let numbers: Vec<u32> = first
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        let sizes = amounts(second);
        let ([card, ..], [used, total, ..]) = (numbers.as_slice(), sizes.as_slice()) else {
            return;
        };
        let name = self
            .names
            .iter()
            .find(|(index, _)| index == card)
            .map_or("NVIDIA GPU", |(_, name)| name);
        let mut gpu = Sighting::new(Api::Nvml, SOURCE, list).named(&format!("{name} MIG"));
        gpu.index = Some(*card);
        gpu.vendor = Some(Vendor::Nvidia);
        gpu.part = Part::Slice;
        gpu.used = Some(used.bytes);
        gpu.total = Some(total.bytes);
        told.see(gpu);
    }

    fn finish(&mut self, told: &mut Told) {
        if let Some(gpu) = self.open.take() {
            told.see(gpu);
        }
    }
}

/// `   0  NVIDIA GeForce RTX 4090      WDDM  ` beside the cell with the bus.
fn row_head<'a>(first: &'a str, second: &str) -> Option<(u32, &'a str)> {
    let first = first.trim();
    let (number, rest) = first.split_once(char::is_whitespace)?;
    let index: u32 = number.parse().ok()?;
    let rest = rest.trim();
    // A row of a chip without a bus has only the mode to be known by.
    let mode = MODES.iter().find_map(|mode| rest.strip_suffix(mode));
    if pci_address(second).is_none() && (mode.is_none() || !second.contains("N/A")) {
        return None;
    }
    let name = mode.unwrap_or(rest).trim().trim_end_matches("...").trim();
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        .then_some((index, name))
}

/// `GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-…)` and its slices.
fn listed(line: &str, list: u32, told: &mut Told) -> bool {
    let line = line.trim();
    let Some((head, rest)) = line.split_once("(UUID:") else {
        return false;
    };
    let uuid = rest.trim().trim_end_matches(')').trim().to_ascii_lowercase();
    let mut gpu = Sighting::new(Api::Nvml, "nvidia-smi -L", list + 1);
    gpu.vendor = Some(Vendor::Nvidia);
    if let Some(rest) = head.strip_prefix("GPU ") {
        let Some((number, name)) = rest.split_once(':') else {
            return false;
        };
        gpu.index = number.trim().parse().ok();
        gpu = gpu.named(name);
    } else if let Some(rest) = head.strip_prefix("MIG ") {
        let profile = rest.split_whitespace().next().unwrap_or_default();
        // The card of a slice is the line above it.
        let card = told
            .gpus
            .iter_mut()
            .rev()
            .find(|card| card.list == list + 1 && card.part != Part::Slice);
        let name = card.as_ref().map_or("NVIDIA GPU", |card| card.name.as_str());
        gpu = gpu.named(&format!("{name} MIG {profile}"));
        gpu.part = Part::Slice;
        if let Some(card) = card {
            card.part = Part::Cut;
            gpu.index = card.index;
        }
    } else {
        return false;
    }
    gpu.uuid = Some(uuid);
    told.see(gpu);
    true
}

/// What the tool, the library and CUDA say when they cannot.
fn failure(line: &str, asked_for: bool, told: &mut Told) -> bool {
    let lower = line.to_ascii_lowercase();
    let has = |words: &str| lower.contains(words);
    if has("couldn't communicate with the nvidia driver") || has("driver not loaded") {
        told.trouble(Trouble::NvidiaNotLoaded);
    } else if has("driver/library version mismatch") {
        told.trouble(Trouble::NvidiaMismatch);
    } else if has("failed to initialize nvml") || has("nvml init failed") {
        let cause = line.rsplit(": ").next().unwrap_or(line).trim().to_owned();
        told.trouble(if has("permission") {
            Trouble::NvidiaNoPermission
        } else {
            Trouble::CudaBroken { cause }
        });
    } else if has("unable to determine the device handle") || has("fallen off the bus") {
        lost(line, told);
    } else if asked_for && has("no devices were found") {
        told.trouble(Trouble::CudaBroken {
            cause: "No devices were found".to_owned(),
        });
    } else if asked_for
        && ["not found", "not recognized", "no such file", "not available"]
            .iter()
            .any(|words| has(words))
    {
        told.trouble(Trouble::NvidiaToolMissing);
    } else if let Some(cause) = cuda_cause(line, &lower) {
        told.trouble(cause);
    } else {
        return false;
    }
    true
}

/// CUDA's own words, where starting it failed; not those of a program that later ran out of memory.
fn cuda_cause(line: &str, lower: &str) -> Option<Trouble> {
    const MARKS: [&str; 5] = [
        "failed to initialize cuda",
        "cuda driver error",
        "cuda initialization:",
        "cuda unknown error",
        "cudagetdevicecount",
    ];
    MARKS.iter().find(|mark| lower.contains(**mark))?;
    if lower.contains("out of memory") {
        return None;
    }
    let cause = line.rsplit(": ").next().unwrap_or(line).trim().to_owned();
    let other_interfaces = [
        "insufficient",
        "forward compat",
        "no cuda-capable",
        "no kernel image",
        "not compiled",
    ]
    .iter()
    .any(|words| lower.contains(words));
    Some(if other_interfaces {
        Trouble::CudaUnusable { cause }
    } else {
        Trouble::CudaBroken { cause }
    })
}

/// `Unable to determine the device handle for GPU1: 0000:44:00.0: Unknown Error`; newer versions leave out the
/// number, some the blank before the address.
fn lost(line: &str, told: &mut Told) {
    let mut gpu = Sighting::new(Api::Nvml, SOURCE, u32::MAX);
    gpu.vendor = Some(Vendor::Nvidia);
    gpu.state = State::Lost {
        cause: line.rsplit(": ").next().unwrap_or(line).trim().to_owned(),
    };
    if let Some(at) = line.find("GPU") {
        let rest = &line[at + 3..];
        // `GPU0000:44:00.0` is an address, `GPU1: 0000:44:00.0` a number and one.
        gpu.pci = pci_address(rest);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits <= 3 {
            gpu.index = leading_number(&rest[..digits]).and_then(|n| u32::try_from(n).ok());
        }
    }
    gpu.name = match (&gpu.pci, gpu.index) {
        (Some(pci), _) => format!("GPU at {pci}"),
        (None, Some(index)) => format!("GPU {index}"),
        (None, None) => "NVIDIA GPU".to_owned(),
    };
    told.see(gpu);
}
