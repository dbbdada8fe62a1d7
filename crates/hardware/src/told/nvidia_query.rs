//! `nvidia-smi -q`: sections of `label : value`, set in by their depth; with `-x` the same as XML.

use super::scan::{amount, field, pci_address};
use super::{Api, Part, Sighting, State, Text, Told, Vendor};

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    if text
        .lines
        .iter()
        .any(|line| line.text.contains("<nvidia_smi_log>"))
    {
        xml(text, told);
        return;
    }
    // Labels such as `Total` mean something only below their section's headline.
    let is_query = text.lines.iter().any(|line| {
        let line = line.text.trim();
        line.starts_with("FB Memory Usage")
            || line.starts_with("Product Name  ")
            || line.starts_with("Product Name\t")
    });
    if !is_query {
        return;
    }
    let list = text.list(2);
    let mut open: Option<Sighting> = None;
    let mut section = "";
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        let trimmed = line.text.trim();
        if trimmed.starts_with("GPU ") && pci_address(trimmed).is_some() {
            finish(open.take(), told);
            let mut gpu = Sighting::new(Api::Nvml, "nvidia-smi -q", list);
            gpu.vendor = Some(Vendor::Nvidia);
            gpu.pci = pci_address(trimmed);
            open = Some(gpu);
            line.taken = true;
            continue;
        }
        let Some((label, value)) = trimmed.split_once(':') else {
            section = trimmed;
            continue;
        };
        let (label, value) = (label.trim(), value.trim());
        if open.is_none() && label == "Product Name" {
            let mut gpu = Sighting::new(Api::Nvml, "nvidia-smi -q", list);
            gpu.vendor = Some(Vendor::Nvidia);
            open = Some(gpu);
        }
        let Some(gpu) = &mut open else { continue };
        line.taken = true;
        match (section, label) {
            (_, "Product Name") => value.clone_into(&mut gpu.name),
            (_, "GPU UUID") => gpu.uuid = Some(value.to_ascii_lowercase()),
            ("FB Memory Usage", "Total") => {
                gpu.total = amount(value);
                gpu.is_ram = gpu.total.is_none() && !value.starts_with("Unknown");
                if value.contains("Lost") || value.starts_with("Unknown") {
                    gpu.state = State::Lost {
                        cause: value.to_owned(),
                    };
                }
            }
            ("FB Memory Usage", "Used") => gpu.used = amount(value),
            ("FB Memory Usage", "Free") => gpu.free = amount(value),
            ("MIG Mode", "Current") if value == "Enabled" => gpu.part = Part::Cut,
            _ => {}
        }
        // Some versions write the mode on the headline's own line.
        if field(trimmed, "MIG Mode").is_some_and(|value| value.starts_with("Enabled")) {
            gpu.part = Part::Cut;
        }
    }
    finish(open, told);
}

/// One element a line; what a size is of stands in the element around it.
fn xml(text: &mut Text<'_>, told: &mut Told) {
    let list = text.list(2);
    let mut open: Option<Sighting> = None;
    let mut section = "";
    for line in &mut text.lines {
        line.taken = true;
        let trimmed = line.text.trim();
        if let Some(rest) = trimmed.strip_prefix("<gpu id=") {
            finish(open.take(), told);
            let mut gpu = Sighting::new(Api::Nvml, "nvidia-smi -q -x", list);
            gpu.vendor = Some(Vendor::Nvidia);
            gpu.pci = pci_address(rest);
            open = Some(gpu);
            continue;
        }
        let Some((name, rest)) = trimmed.strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
            continue;
        };
        let Some((value, _)) = rest.split_once("</") else {
            if !name.starts_with('/') {
                section = name;
            }
            continue;
        };
        match name {
            "driver_version" => told.nvidia_driver = Some(value.to_owned()),
            "cuda_version" => told.nvidia_cuda = Some(value.to_owned()),
            _ => {}
        }
        let Some(gpu) = &mut open else { continue };
        match (section, name) {
            (_, "product_name") => value.clone_into(&mut gpu.name),
            (_, "uuid") => gpu.uuid = Some(value.to_ascii_lowercase()),
            ("fb_memory_usage", "total") => {
                gpu.total = amount(value);
                gpu.is_ram = gpu.total.is_none();
            }
            ("fb_memory_usage", "used") => gpu.used = amount(value),
            ("fb_memory_usage", "free") => gpu.free = amount(value),
            ("mig_mode", "current_mig") if value == "Enabled" => gpu.part = Part::Cut,
            _ => {}
        }
    }
    finish(open, told);
}

fn finish(gpu: Option<Sighting>, told: &mut Told) {
    if let Some(gpu) = gpu {
        told.see(gpu);
    }
}
