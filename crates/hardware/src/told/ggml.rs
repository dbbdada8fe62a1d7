//! llama.cpp's start-up lines: CUDA and `ROCm`, Vulkan, SYCL, `OpenCL`. Prefixes and columns differ between builds.

use super::scan::{after, amount, field, leading_number, pci_address, split_groups, strip_ignoring_case};
use super::{Api, Place, Sighting, Text, Told, Vendor, names, place_of, vendor_of};

const CARD: Place = Place::Card;

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let list = text.list(8);
    let mut cuda = Cuda::new(text, list);
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        line.taken = cuda.line(line.text, told)
            || vulkan(line.text, list, told)
            || sycl(line.text, list, told)
            || opencl(line.text, list, told);
    }
    cuda.finish(told);
}

/// `found N CUDA devices (Total VRAM: X MiB):` and a line for each. `ROCm` builds print the same with their name in
/// it, newer ones with another prefix.
struct Cuda {
    api: Api,
    list: u32,
    sum: Option<plimsoll_units::Bytes>,
    count: u64,
    seen: Vec<Sighting>,
}

impl Cuda {
    fn new(text: &Text<'_>, list: u32) -> Self {
        // The lines may stand without their headline; then the instruction set tells the vendor.
        let rocm = text.key_has("rocm") || text.key_has("hip");
        Self {
            api: if rocm { Api::Rocm } else { Api::Cuda },
            list,
            sum: None,
            count: 0,
            seen: Vec::new(),
        }
    }

    fn line(&mut self, line: &str, told: &mut Told) -> bool {
        let found = after(line, "found ").filter(|rest| rest.contains(" devices"));
        if let Some(rest) =
            found.filter(|_| line.contains("_init") || line.contains("CUDA") || line.contains("ROCm"))
        {
            let api = if rest.contains("ROCm") || rest.contains("HIP") {
                Api::Rocm
            } else {
                Api::Cuda
            };
            if !(rest.contains("CUDA") || api == Api::Rocm) {
                return false;
            }
            self.finish(told);
            self.api = api;
            self.count = leading_number(rest).unwrap_or(0);
            self.sum = after(rest, "VRAM:").and_then(amount);
            return true;
        }
        let Some((index, rest)) = device_line(line) else {
            return line.contains("ggml_cuda_init") || line.contains("ggml_rocm_init");
        };
        let gfx = names::gfx_in(rest);
        let name_end = [",", " (VRAM", " (compute", " - "]
            .iter()
            .filter_map(|mark| rest.find(mark))
            .min();
        let name = rest[..name_end.unwrap_or(rest.len())].trim();
        let api = if gfx.is_some() || vendor_of(name) == Some(Vendor::Amd) {
            Api::Rocm
        } else {
            self.api
        };
        if name.is_empty()
            || (vendor_of(name).is_none() && gfx.is_none() && !rest.contains("compute capability"))
        {
            return false;
        }
        let mut gpu = Sighting::new(api, "ggml_cuda_init", self.list).named(name);
        gpu.index = Some(index);
        gpu.gfx = gfx;
        gpu.vendor = Some(if api == Api::Rocm {
            Vendor::Amd
        } else {
            Vendor::Nvidia
        });
        gpu.compute = after(rest, "compute capability").and_then(|rest| {
            let number = rest.trim_start_matches([':', ' ']);
            let (major, minor) = number.split_once('.')?;
            Some((major.parse().ok()?, u32::try_from(leading_number(minor)?).ok()?))
        });
        gpu.total = after(rest, "VRAM:").and_then(amount);
        // A warning repeats the lines of the cards that it is about.
        let again = self
            .seen
            .iter()
            .any(|seen| seen.index == gpu.index && seen.name == gpu.name);
        if !again {
            self.seen.push(gpu);
        }
        true
    }

    fn finish(&mut self, told: &mut Told) {
        // The sum is a device's size where there is one device.
        if let ([only], 0 | 1) = (self.seen.as_mut_slice(), self.count) {
            only.total = only.total.or(self.sum);
        }
        for gpu in self.seen.drain(..) {
            told.see(gpu);
        }
        (self.sum, self.count) = (None, 0);
    }
}

/// `  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes, VRAM: 24575 MiB`
fn device_line(line: &str) -> Option<(u32, &str)> {
    let at = line.find("Device ")?;
    // Only a log's prefix may stand before it.
    let before = line[..at].trim_end();
    if !(before.is_empty() || before.ends_with([':', ']', 'I', 'W', '-'])) {
        return None;
    }
    let (number, rest) = line[at + 7..].split_once(':')?;
    let index = number.trim().parse().ok()?;
    let rest = rest.trim();
    (!rest.starts_with("(UUID")).then_some((index, rest))
}

/// `ggml_vulkan: 0 = NAME (DRIVER) | uma: 1 | fp16: 1 | …`, and `Vulkan0: NAME (DRIVER) | uma: 0 | …`.
fn vulkan(line: &str, list: u32, told: &mut Told) -> bool {
    let Some(at) = line.find("| uma:").or_else(|| line.find("|uma:")) else {
        if line.contains("ggml_vulkan: No devices found") {
            told.trouble(super::Trouble::EngineListedNone);
        }
        return line.contains("ggml_vulkan: Found") || line.contains("ggml_vulkan: No devices");
    };
    let (head, columns) = line.split_at(at);
    let head = after(head, "ggml_vulkan:").unwrap_or(head).trim();
    let (label, full) = match head.split_once('=') {
        Some((label, rest)) if label.trim().parse::<u32>().is_ok() => (label.trim(), rest.trim()),
        _ => match head.split_once(':') {
            Some((label, rest)) => (label.trim().trim_start_matches("Vulkan"), rest.trim()),
            None => ("", strip_ignoring_case(head, "using ").unwrap_or(head)),
        },
    };
    // The driver stands in the last parentheses, behind those of the name.
    let (name, driver) = split_groups(full).unwrap_or((full, ""));
    let mut gpu =
        Sighting::new(Api::Vulkan, "ggml_vulkan", list + 1).named(if name.is_empty() { full } else { name });
    gpu.index = label.parse().ok();
    gpu.driver = Some(driver.to_owned()).filter(|driver| !driver.is_empty());
    let uma = columns
        .split('|')
        .find_map(|column| field(column, "uma"))
        .and_then(leading_number);
    // Whether a processor's GPU is worth planning on is told by its name.
    if uma == Some(0) {
        gpu.place = Some(CARD);
    } else if uma == Some(1) && place_of(&gpu.name, vendor_of(&gpu.name), None, None) != Some(CARD) {
        gpu.place = place_of(
            names::unwrapped(&gpu.name),
            vendor_of(&gpu.name),
            names::gfx_in(&gpu.name).as_deref(),
            None,
        )
        .or(Some(Place::Processor {
            worth_planning_on: false,
        }));
    }
    told.see(gpu);
    true
}

/// Rows of SYCL's table, `| 0| [level_zero:gpu:0]| Intel Arc A770 Graphics| 1.3| 512| … | 16225M| …|`, and of
/// `sycl-ls`: `[level_zero:gpu][level_zero:0] Intel(R) …, Intel(R) Arc(TM) A770 Graphics 12.55.8 [1.3.29735]`.
fn sycl(line: &str, list: u32, told: &mut Told) -> bool {
    let lower = line.to_ascii_lowercase();
    let Some(runtime) = ["level_zero:gpu", "opencl:gpu", "cuda:gpu", "hip:gpu"]
        .iter()
        .find(|mark| lower.contains(**mark))
    else {
        return lower.contains("[opencl:cpu")
            || lower.contains("[opencl:acc")
            || lower.contains("opencl:fpga");
    };
    // Both runtimes list the same devices.
    let list = list + if runtime.starts_with("opencl") { 3 } else { 2 };
    let mut gpu = Sighting::new(Api::Sycl, "SYCL", list);
    if line.trim_start().starts_with('|') {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let Some(name) = cells
            .iter()
            .find(|cell| !cell.contains(":gpu") && vendor_of(cell).is_some())
        else {
            return false;
        };
        gpu = gpu.named(name);
        gpu.index = cells.iter().find_map(|cell| cell.parse().ok());
        gpu.total = cells.iter().find_map(|cell| {
            let short = cell
                .strip_suffix('M')
                .and_then(|number| number.parse().ok())
                .map(plimsoll_units::Bytes::mib);
            short.or_else(|| {
                cell.parse::<u64>()
                    .ok()
                    .filter(|&n| n > 1 << 28)
                    .map(plimsoll_units::Bytes)
            })
        });
    } else {
        let full = line.rsplit(", ").next().unwrap_or(line);
        // The other runtime names its own version behind the device.
        let full = full.split(" OpenCL ").next().unwrap_or(full);
        let end = full.find(" [").unwrap_or(full.len());
        // A version may stand between the name and the driver's version.
        let name = full[..end]
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
            .trim();
        let name = if name.is_empty() { &full[..end] } else { name };
        if vendor_of(name).is_none() {
            return false;
        }
        gpu = gpu.named(name);
        gpu.index = lower
            .rfind("_zero:")
            .and_then(|at| leading_number(&lower[at + 6..]))
            .and_then(|n| u32::try_from(n).ok());
    }
    told.see(gpu);
    true
}

/// `ggml_opencl: default device: 'QUALCOMM Adreno(TM) (OpenCL 3.0 …)'`
fn opencl(line: &str, list: u32, told: &mut Told) -> bool {
    let Some(rest) = after(line, "ggml_opencl:") else {
        return false;
    };
    if let Some(device) = after(rest, "device:") {
        let name = device.trim().trim_matches('\'');
        let name = name.split(" (OpenCL").next().unwrap_or(name);
        if vendor_of(name).is_some() {
            told.see(Sighting::new(Api::OpenCl, "ggml_opencl", list + 4).named(name));
        }
    }
    true
}

/// A device that a model is loaded on.
pub(super) struct Used<'a> {
    pub(super) label: &'a str,
    pub(super) name: Option<&'a str>,
    pub(super) pci: Option<String>,
    pub(super) free: Option<plimsoll_units::Bytes>,
}

/// `using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:01:00.0) - 23800 MiB free`
pub(super) fn used_device(line: &str) -> Option<Used<'_>> {
    let rest = after(line, "using device ")?;
    let (head, free) = rest.rsplit_once(" - ").unwrap_or((rest, ""));
    let (label, groups) = head.split_once(' ').unwrap_or((head, ""));
    let pci = pci_address(groups);
    let last = split_groups(groups);
    // The address stands in the last parentheses; without one there may be `(unknown id)`.
    let name = match last {
        Some((before, group)) if pci.is_some() || group == "unknown id" => {
            split_groups(before).map(|(_, name)| name)
        }
        Some((_, name)) => Some(name),
        None => None,
    };
    Some(Used {
        label,
        name,
        pci,
        free: amount(free),
    })
}
