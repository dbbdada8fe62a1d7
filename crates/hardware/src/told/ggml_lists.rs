//! llama.cpp's lists of devices: `--list-devices`, "using device", "registered device".

use plimsoll_units::Bytes;

use super::ggml::used_device;
use super::names::{gfx_in, vendor_of};
use super::scan::{amount, amounts, split_groups, whole};
use super::{Api, Place, Sighting, Text, Told, Trouble, Vendor};

/// The names of ggml's backends before their number, and how their devices are reached. `None`: the processor
/// under another name, or a part of it whose memory is counted elsewhere.
const LABELS: [(&str, Option<Api>); 20] = [
    ("CUDA", Some(Api::Cuda)),
    ("ROCm", Some(Api::Rocm)),
    ("HIP", Some(Api::Rocm)),
    ("Vulkan", Some(Api::Vulkan)),
    ("SYCL", Some(Api::Sycl)),
    ("MTL", Some(Api::Metal)),
    ("Metal", Some(Api::Metal)),
    ("RPC", Some(Api::Rpc)),
    ("GPUOpenCL", Some(Api::OpenCl)),
    ("OpenCL", Some(Api::OpenCl)),
    ("WebGPU", Some(Api::Vulkan)),
    ("MUSA", None),
    ("CANN", None),
    ("BLAS", None),
    ("CPU", None),
    ("COREML", None),
    ("ANE", None),
    ("HTP", None),
    ("OPENVINO", None),
    ("ZDNN", None),
];

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let list = text.list(64);
    let asked_for = text.key_has("list-devices");
    let gpu_build = text.lines.iter().any(|line| {
        let lower = line.text.to_ascii_lowercase();
        ["cuda", "hip", "rocm", "vulkan", "sycl", "radeon"]
            .iter()
            .any(|word| lower.contains(word))
    });
    let mut announced = false;
    let before = told.gpus.len();
    let mut listed = 0;
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        if line.text.trim_end().ends_with("Available devices:") {
            announced = true;
            line.taken = true;
        } else if let Some(used) = used_device(line.text) {
            line.taken = true;
            if let Some((Some(api), index)) = label_of(used.label) {
                let mut gpu = device(api, index, used.name.unwrap_or_default(), list);
                gpu.list += 1;
                gpu.pci = used.pci;
                gpu.free = used.free;
                told.see(gpu);
            }
        } else if let Some((label, name, total, free)) = breakdown(line.text) {
            line.taken = true;
            if let Some((Some(api), index)) = label_of(label) {
                let mut gpu = device(api, index, name, list);
                gpu.list += 2;
                (gpu.total, gpu.free) = (Some(total), free);
                told.see(gpu);
            }
        } else if let Some((label, rest)) = labelled(line.text) {
            listed += 1;
            line.taken = true;
            if let Some((Some(api), index)) = label_of(label) {
                told.see(row(api, index, rest, list));
            }
        } else if asked_for && vendor_of(line.text).is_none() {
            // A report that kept the number alone.
            if let Some(total) = amount(line.text) {
                let mut gpu = Sighting::new(Api::Vulkan, "llama.cpp --list-devices", list);
                gpu.total = Some(total);
                told.see(gpu);
                line.taken = true;
            }
        }
    }
    if announced && listed == 0 && gpu_build && told.gpus.len() == before {
        told.trouble(Trouble::EngineListedNone);
    }
}

fn device(api: Api, index: Option<u32>, name: &str, list: u32) -> Sighting {
    // One device may stand in the list once for each interface.
    let mut gpu = Sighting::new(api, "llama.cpp --list-devices", list + api as u32 * 3).named(name);
    gpu.index = index;
    gpu.vendor = match api {
        Api::Cuda => Some(Vendor::Nvidia),
        Api::Rocm => Some(Vendor::Amd),
        Api::Metal if name.starts_with("Apple") || name.is_empty() => Some(Vendor::Apple),
        Api::Nvml
        | Api::Vulkan
        | Api::Sycl
        | Api::Metal
        | Api::OpenCl
        | Api::Windows
        | Api::Sysfs
        | Api::Bus
        | Api::Rpc
        | Api::Prose => vendor_of(name),
    };
    gpu
}

/// `AMD Radeon 8060S Graphics (RADV GFX1151) (128000 MiB, 16389 MiB free)`: the sizes are in the last group.
fn row(api: Api, index: Option<u32>, rest: &str, list: u32) -> Sighting {
    let (name, sizes) = match split_groups(rest) {
        Some((name, inside)) if amount(inside).is_some() => (name, inside),
        // `GPUOpenCL: Qualcomm(R) Adreno(TM) X1-85 GPU (...)`
        Some((name, "..." | "…")) => (name, ""),
        Some(_) | None => (rest, ""),
    };
    let mut gpu = device(api, index, name.trim(), list);
    gpu.gfx = gfx_in(name);
    let sizes = amounts(sizes);
    // A zero is what a backend says that cannot tell.
    let size = |at: usize| sizes.get(at).map(|size| size.bytes);
    gpu.total = size(0).filter(|&total| total > Bytes::ZERO);
    gpu.free = size(1).filter(|_| gpu.total.is_some());
    if api == Api::Rpc {
        gpu.place = Some(Place::Card);
    }
    gpu
}

/// A row of the breakdown at the end of a run: `|   - CUDA0 (RTX 3090)   | 24125 = 17254 + (6523 = …) |`, in MiB.
fn breakdown(line: &str) -> Option<(&str, &str, Bytes, Option<Bytes>)> {
    let mut cells = line
        .split('|')
        .map(str::trim)
        .skip_while(|cell| !cell.starts_with("- "));
    let (head, sizes) = (cells.next()?.strip_prefix("- ")?, cells.next()?);
    let (label, group) = head.split_once(' ')?;
    let name = group.trim().strip_prefix('(')?.strip_suffix(')')?;
    let (total, rest) = sizes.split_once('=')?;
    let free = rest
        .split_once('+')
        .and_then(|(free, _)| whole(free))
        .map(Bytes::mib);
    Some((label, name, Bytes::mib(whole(total)?), free))
}

/// The label of a backend and what stands behind its colon, tab, or in the parentheses of "registered device".
fn labelled(line: &str) -> Option<(&str, &str)> {
    if let Some((_, rest)) = line.split_once("registered device ") {
        let (label, group) = rest.split_once(' ')?;
        return Some((label, group.trim().strip_prefix('(')?.strip_suffix(')')?));
    }
    let (head, rest) = match (line.split_once(':'), line.split_once('\t')) {
        // The colon of an RPC device's address belongs to its label: `RPC[192.168.1.2:50052]`.
        _ if line.trim_start().starts_with("RPC[") => {
            let (head, rest) = line.split_once("]:")?;
            (head, rest)
        }
        (Some((head, rest)), _) | (None, Some((head, rest))) => (head, rest),
        (None, None) => return None,
    };
    let label = head
        .split_whitespace()
        .next_back()?
        .trim_start_matches(['-', '"', '\'']);
    let (api, index) = label_of(label)?;
    let numbered = index.is_some() || label == "GPUOpenCL";
    let rest = rest.trim();
    // `CUDA0: …` names a device; `CUDA : ARCHS = 750` and `Vulkan0 model buffer size = …` do not.
    let sizes = split_groups(rest).is_some_and(|(_, inside)| amount(inside).is_some() || inside == "...");
    let shown = sizes
        || (numbered
            && api.is_some()
            && vendor_of(rest).is_some()
            && !rest.contains(" = ")
            && amount(rest).is_none());
    let processor = api.is_none() && (sizes || line.contains('\t'));
    (shown || processor).then_some((label, rest))
}

fn label_of(label: &str) -> Option<(Option<Api>, Option<u32>)> {
    let label = label.trim_end_matches(':');
    let (_, api, rest) = LABELS
        .iter()
        .filter_map(|(name, api)| Some((name.len(), *api, label.strip_prefix(name)?)))
        .max_by_key(|(length, ..)| *length)?;
    if rest.is_empty() || rest.starts_with('[') {
        return Some((api, None));
    }
    Some((api, Some(rest.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_all_their_forms() {
        let seen = |line: &str| {
            let (label, rest) = labelled(line)?;
            let (api, index) = label_of(label)?;
            let gpu = row(api?, index, rest, 0);
            Some((
                gpu.api,
                gpu.index,
                gpu.name,
                gpu.total.map(|b| b.0 >> 20),
                gpu.free.map(|b| b.0 >> 20),
            ))
        };
        assert_eq!(
            seen("0.00.036.055 I - Vulkan0 : AMD Custom GPU 0405 (RADV VANGOGH) (9216 MiB, 8689 MiB free)"),
            Some((
                Api::Vulkan,
                Some(0),
                "AMD Custom GPU 0405 (RADV VANGOGH)".into(),
                Some(9216),
                Some(8689)
            ))
        );
        assert_eq!(
            seen("  MTL0:  Apple M4 Pro               (18186 MiB, 18185 MiB free)"),
            Some((
                Api::Metal,
                Some(0),
                "Apple M4 Pro".into(),
                Some(18186),
                Some(18185)
            ))
        );
        assert_eq!(
            seen("  RPC[10.0.0.2:50052]: 10.0.0.2:50052 (124610 MiB, 120000 MiB free)")
                .map(|row| (row.0, row.3)),
            Some((Api::Rpc, Some(124_610)))
        );
        assert_eq!(
            seen("GPUOpenCL: Qualcomm(R) Adreno(TM) X1-85 GPU (...)").map(|row| (row.0, row.1, row.2)),
            Some((Api::OpenCl, None, "Qualcomm(R) Adreno(TM) X1-85 GPU".into()))
        );
        assert_eq!(seen("  BLAS: Accelerate (0 MiB, 0 MiB free)"), None);
        assert_eq!(seen("CUDA : ARCHS = 750,800 | USE_GRAPHS = 1"), None);
        assert_eq!(
            seen("load_tensors:      Vulkan0 model buffer size =  4437.80 MiB"),
            None
        );
    }
}
