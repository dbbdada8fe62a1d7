//! `rocm-smi` and `amd-smi`: lines of `GPU[n] : label : value`, and blocks of `GPU: n`.

use plimsoll_units::Bytes;

use super::scan::{amount, pci_address, whole};
use super::{Api, Sighting, Text, Told, Vendor, names};

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    // The key tells the table of sizes from the table of names; one machine's rows are joined by their number.
    let list = 60;
    let amd_smi = text.key_has("amd-smi");
    let rocm_smi = text.key_has("rocm-smi");
    let mut open: Option<u32> = None;
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        let trimmed = line.text.trim();
        if trimmed.starts_with('{') && trimmed.contains("\"card") {
            line.taken = json(trimmed, list, told);
        } else if let Some((index, label, value)) = indexed(trimmed) {
            line.taken = true;
            apply(gpu(told, index, list, "rocm-smi"), &label, value);
        } else if amd_smi && let Some((label, value)) = trimmed.split_once(':') {
            line.taken = true;
            if label == "GPU" {
                open = value.trim().parse().ok();
            } else if let Some(index) = open {
                apply(
                    gpu(told, index, list, "amd-smi"),
                    &label.trim().to_lowercase(),
                    value.trim(),
                );
            }
        } else if let Some(index) = row(trimmed).filter(|_| rocm_smi) {
            line.taken = true;
            gpu(told, index, list, "rocm-smi");
        } else if trimmed.starts_with("=====")
            || trimmed.starts_with("ROCm System Management")
            || trimmed.starts_with("WARNING: AMD GPU")
        {
            line.taken = true;
        }
    }
}

/// The short table: `0       1     0x744c,   12345  45.0C   20.0W  …  4%     0%`
fn row(line: &str) -> Option<u32> {
    let number = line.split_whitespace().next()?;
    (line.contains("0x") && line.trim_end().ends_with('%'))
        .then(|| number.parse().ok())
        .flatten()
}

/// `GPU[0]          : VRAM Total Memory (B): 8573157376`
fn indexed(line: &str) -> Option<(u32, String, &str)> {
    let rest = line.strip_prefix("GPU[")?;
    let (number, rest) = rest.split_once(']')?;
    let (label, value) = rest.trim_start().strip_prefix(':')?.split_once(':')?;
    Some((number.parse().ok()?, label.trim().to_lowercase(), value.trim()))
}

/// `{"card0": {"VRAM Total Memory (B)": "17163091968", "Card Series": "…"}, …}`
fn json(line: &str, list: u32, told: &mut Told) -> bool {
    let Ok(serde_json::Value::Object(cards)) = serde_json::from_str(line) else {
        return false;
    };
    for (name, card) in &cards {
        let index = name.strip_prefix("card").and_then(|number| number.parse().ok());
        let (Some(index), Some(labels)) = (index, card.as_object()) else {
            continue;
        };
        for (label, value) in labels {
            if let Some(value) = value.as_str() {
                apply(gpu(told, index, list, "rocm-smi"), &label.to_lowercase(), value);
            }
        }
    }
    true
}

fn gpu<'a>(told: &'a mut Told, index: u32, list: u32, source: &str) -> &'a mut Sighting {
    let known = |gpu: &Sighting| gpu.list == list && gpu.index == Some(index);
    if let Some(at) = told.gpus.iter().position(known) {
        return &mut told.gpus[at];
    }
    let mut gpu = Sighting::new(Api::Rocm, source, list);
    gpu.index = Some(index);
    gpu.vendor = Some(Vendor::Amd);
    told.gpus.push(gpu);
    let newest = told.gpus.len() - 1;
    &mut told.gpus[newest]
}

fn apply(gpu: &mut Sighting, label: &str, value: &str) {
    let bytes = || amount(value).or_else(|| whole(value).map(Bytes));
    match label {
        // The longer label first: "Total Used Memory" holds "Total".
        label if label.starts_with("vram total used") || label == "used_vram" => gpu.used = bytes(),
        label if label.starts_with("vram total") || label == "total_vram" || label == "size" => {
            gpu.own = bytes().filter(|&own| own > Bytes::ZERO);
        }
        label if label.starts_with("gtt total used") => {}
        label if label.starts_with("gtt total") || label == "total_gtt" => gpu.shared = bytes(),
        // A model may be its bare PCI id.
        "card series" | "card model" | "market_name" | "device name" | "product_name"
            if gpu.name.is_empty() && !value.starts_with("0x") && names::vendor_of(value).is_some() =>
        {
            value.clone_into(&mut gpu.name);
        }
        "gfx version" | "target_graphics_version" => gpu.gfx = names::gfx_in(value),
        "pci bus" | "bdf" => gpu.pci = pci_address(value),
        "unique id" | "uuid" => gpu.uuid = Some(value.to_ascii_lowercase()),
        _ => {}
    }
}
