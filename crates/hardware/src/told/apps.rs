//! Logs and reports of other programs that run or plan models. What they measured counts; what they made up from
//! a table of names does not.

use plimsoll_units::Bytes;

use super::scan::{after, amount, amounts, field, leading_number, pci_address, scaled, strip_ignoring_case};
use super::{Api, Place, Sighting, Text, Told, Trust, vendor_of};

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let list = text.list(40);
    let ollama = text.key_has("ollama");
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        line.taken = log_fields(line.text, ollama, list, told)
            || koboldcpp(line.text, list, told)
            || planner(line.text, list, told)
            || torch(line.text, list, told);
    }
}

/// Ollama: `msg="inference compute" library=CUDA name="…" total="24.0 GiB" available="23.5 GiB"`, and
/// `msg="system memory" total="32.0 GiB" free="3.7 GiB"`.
fn log_fields(line: &str, ollama: bool, list: u32, told: &mut Told) -> bool {
    if !(line.contains("msg=") || ollama) {
        return false;
    }
    let text = |name: &str| {
        let rest = line.match_indices(name).find_map(|(at, _)| {
            let before = line[..at].chars().next_back();
            let rest = line[at + name.len()..].strip_prefix('=')?;
            (!before.is_some_and(char::is_alphanumeric)).then_some(rest)
        })?;
        Some(match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or(quoted),
            None => rest.split_whitespace().next().unwrap_or(rest),
        })
    };
    let size = |name: &str| text(name).and_then(amount).filter(|&bytes| bytes > Bytes::ZERO);
    let message = text("msg").unwrap_or_default();
    let library = text("library").unwrap_or_default().to_ascii_lowercase();
    if message.starts_with("system memory") || library == "cpu" {
        // "free" may be what is left of a wrong limit; the total is the kernel's.
        told.say_ram(size("total"), None, Trust::Rounded, "ollama");
        return true;
    }
    if let Some(gfx) = text("gpu_type").and_then(super::names::gfx_in) {
        let mut gpu = Sighting::new(Api::Rocm, "ollama", list + 1);
        gpu.vendor = Some(super::Vendor::Amd);
        gpu.index = text("gpu")
            .and_then(leading_number)
            .and_then(|n| u32::try_from(n).ok());
        gpu.gfx = Some(gfx);
        told.see(gpu);
        return true;
    }
    let (total, free) = (size("total"), size("available").or_else(|| size("free")));
    if total.is_none() && free.is_none() {
        return message.starts_with("gpu memory");
    }
    let api = match library.as_str() {
        "cuda" => Api::Cuda,
        "rocm" => Api::Rocm,
        "metal" => Api::Metal,
        "vulkan" => Api::Vulkan,
        "" if ollama => Api::Vulkan,
        _ => return false,
    };
    let named = text("description")
        .or_else(|| text("name"))
        .filter(|name| vendor_of(name).is_some());
    let mut gpu = Sighting::new(api, "ollama", list).named(named.unwrap_or_default());
    gpu.vendor = match api {
        Api::Cuda => Some(super::Vendor::Nvidia),
        Api::Rocm => Some(super::Vendor::Amd),
        Api::Metal => Some(super::Vendor::Apple),
        Api::Nvml
        | Api::Vulkan
        | Api::Sycl
        | Api::OpenCl
        | Api::Windows
        | Api::Sysfs
        | Api::Bus
        | Api::Rpc
        | Api::Prose => None,
    };
    gpu.place = match text("type") {
        Some("discrete") => Some(Place::Card),
        Some("iGPU" | "integrated") => {
            super::place_of(&gpu.name, gpu.vendor.or_else(|| vendor_of(&gpu.name)), None, None).or(Some(
                Place::Processor {
                    worth_planning_on: true,
                },
            ))
        }
        Some(_) | None => None,
    };
    gpu.gfx = text("compute").and_then(super::names::gfx_in);
    if api == Api::Cuda {
        gpu.compute = text("compute").and_then(super::nvidia_csv::version);
        // Its "driver" is the newest CUDA that the driver runs.
        let cuda = text("driver").filter(|version| super::nvidia_csv::version(version).is_some());
        told.nvidia_cuda = told.nvidia_cuda.take().or_else(|| cuda.map(str::to_owned));
    }
    gpu.pci = text("pci_id").and_then(pci_address);
    gpu.index = text("id")
        .and_then(leading_number)
        .and_then(|n| u32::try_from(n).ok());
    gpu.uuid = text("id")
        .filter(|id| id.starts_with("GPU-"))
        .map(str::to_ascii_lowercase);
    (gpu.total, gpu.free) = (total, free);
    told.see(gpu);
    true
}

/// `Detected AMD GPU VRAM from rocminfo: [('AMD Radeon 780M Graphics', '23983')] MB`
fn koboldcpp(line: &str, list: u32, told: &mut Told) -> bool {
    let Some(rest) = after(line, "Detected ") else {
        return false;
    };
    if let Some(available) = after(rest, "Available RAM:").and_then(amount) {
        told.say_ram(None, Some(available), Trust::Rounded, "koboldcpp");
        return true;
    }
    if let Some(pairs) = after(rest, "VRAM from ") {
        for (number, pair) in pairs.split("('").skip(1).enumerate() {
            let mut parts = pair.split('\'');
            let (Some(name), Some(size)) = (parts.next(), parts.nth(1)) else {
                continue;
            };
            let mut gpu = Sighting::new(Api::Rocm, "koboldcpp", list).named(name);
            gpu.index = u32::try_from(number).ok();
            gpu.total = scaled(size, 1 << 20);
            told.see(gpu);
        }
        return true;
    }
    // What it calls available is what there is; a zero is a tool that could not find out.
    let total = after(rest, "Available GPU Memory:")
        .and_then(amount)
        .filter(|&total| total > Bytes::ZERO);
    if let Some(total) = total {
        let mut gpu = Sighting::new(Api::Prose, "koboldcpp", list + 2);
        gpu.total = Some(total);
        told.see(gpu);
    }
    rest.contains("GPU Memory:")
}

/// Programs that plan: `"total_ram_gb": 31.65`, `GPU: Apple M3 (unified memory, 11.84 GB GPU-available of 16.00 GB
/// shared, Metal)`, `memory_bytes: 137438953472`. Their sizes of cards come from tables of names.
fn planner(line: &str, list: u32, told: &mut Told) -> bool {
    let gigabytes = |label: &str| {
        field(line, label).and_then(|value| scaled(value.trim_end_matches([' ', ',']), 1 << 30))
    };
    if let Some(total) = gigabytes("total_ram_gb") {
        told.say_ram(Some(total), None, Trust::Reported, "total_ram_gb");
    } else if let Some(available) = gigabytes("available_ram_gb") {
        told.say_ram(None, Some(available), Trust::Reported, "available_ram_gb");
    } else if let Some(total) =
        after(line, "\"ram\": { \"totalMemoryCapacityBytes\":").and_then(leading_number)
    {
        told.say_ram(Some(Bytes(total)), None, Trust::Exact, "LM Studio");
    } else if let Some(total) = field(line, "memory_bytes").and_then(leading_number) {
        told.say_ram(Some(Bytes(total)), None, Trust::Exact, "memory_bytes");
    } else if field(line, "memory_bytes_usable").is_some() || field(line, "gpu_vram_gb").is_some() {
    } else if let Some((head, inside)) = line.split_once("(unified memory,") {
        let sizes = amounts(inside);
        let name = head.split_once(':').map_or(head, |(_, name)| name).trim();
        let mut gpu = Sighting::new(Api::Prose, "report", list).named(name);
        // One size is the RAM under another name; of two the first is the GPU's share.
        if let [usable, whole, ..] = sizes.as_slice() {
            gpu.total = Some(usable.bytes);
            told.say_ram(Some(whole.bytes), None, Trust::Reported, "report");
        } else if let [whole] = sizes.as_slice() {
            told.say_ram(Some(whole.bytes), None, Trust::Reported, "report");
        }
        told.see(gpu);
    } else if let Some((head, inside)) = line.split_once(" (").filter(|(head, inside)| {
        inside.contains("VRAM,") && strip_ignoring_case(head.trim_start(), "gpu").is_some()
    }) {
        let name = head.split_once(':').map_or(head, |(_, name)| name).trim();
        let mut gpu = Sighting::new(Api::Prose, "report", list).named(name);
        gpu.weak = true;
        gpu.own = amount(inside);
        told.see(gpu);
    } else {
        return false;
    }
    true
}

/// `_CudaDeviceProperties(name='NVIDIA GeForce RTX 3090', major=8, minor=6, total_memory=24256MB, …)`
fn torch(line: &str, list: u32, told: &mut Told) -> bool {
    // `GPU 0 has a total capacity of 23.65 GiB of which 58.94 MiB is free`; older: `(GPU 0; 23.69 GiB total capacity;`
    if line.contains("total capac") && line.contains("GPU ") {
        let rest = after(line, "GPU ").unwrap_or_default();
        let hip = line.contains("HIP");
        let mut gpu = Sighting::new(if hip { Api::Rocm } else { Api::Cuda }, "torch", list);
        gpu.vendor = Some(if hip {
            super::Vendor::Amd
        } else {
            super::Vendor::Nvidia
        });
        gpu.index = leading_number(rest).and_then(|n| u32::try_from(n).ok());
        gpu.total = amount(rest);
        told.see(gpu);
        return true;
    }
    let Some(rest) = after(line, "DeviceProperties(name=") else {
        return false;
    };
    let name = rest
        .trim_start_matches(['\'', '"'])
        .split(['\'', '"'])
        .next()
        .unwrap_or_default();
    let number = |label: &str| {
        after(rest, label)
            .and_then(leading_number)
            .and_then(|n| u32::try_from(n).ok())
    };
    let mut gpu = Sighting::new(Api::Cuda, "torch", list).named(name);
    gpu.compute = number("major=").zip(number("minor="));
    gpu.gfx = after(rest, "gcnArchName=").and_then(super::names::gfx_in);
    if gpu.gfx.is_some() {
        gpu.api = Api::Rocm;
        gpu.compute = None;
    }
    gpu.total = after(rest, "total_memory=").and_then(amount);
    told.see(gpu);
    true
}
