//! `lspci` in its forms, and other tools that list the bus: `inxi`, `lshw`.

use super::Place;
use super::names::{Vendor, vendor_of};
use super::scan::{after, pci_address};
use super::{Api, Sighting, Text, Told};

const CLASSES: [&str; 7] = [
    "VGA compatible controller",
    "3D controller",
    "Display controller",
    "Processing accelerators",
    "[0300]",
    "[0302]",
    "[0380]",
];

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let asked_for = text.key_has("lspci");
    // `lspci -d 10de:` shows one maker's devices, and of a list of addresses that is all there is.
    let of_vendor = [
        ("10de:", Vendor::Nvidia),
        ("1002:", Vendor::Amd),
        ("8086:", Vendor::Intel),
    ]
    .into_iter()
    .find_map(|(id, vendor)| text.lower_key.contains(id).then_some(vendor));
    let list = text.list(28);
    let mut shown: Option<usize> = None;
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        // `lshw` has the class on a line of its own.
        let class = CLASSES
            .iter()
            .find(|class| line.text.contains(**class) && !line.text.trim_start().starts_with("description:"));
        if let Some(class) = class {
            line.taken = true;
            let rest = after(line.text, class).unwrap_or_default();
            let gpu = listed(line.text, rest, list);
            // Other makers' cards draw at most, and an NPU is no GPU.
            let npu = ["NPU", "Neural", "Gaussian"]
                .iter()
                .any(|word| rest.contains(word));
            if npu || (gpu.vendor.is_none() && !super::is_virtual(&gpu.name)) {
                shown = None;
                continue;
            }
            let before = told.gpus.len();
            told.see(gpu);
            shown = (told.gpus.len() > before).then_some(before);
        } else if let Some(driver) = after(line.text, "Kernel driver in use:") {
            line.taken = true;
            if let Some(gpu) = shown.and_then(|at| told.gpus.get_mut(at)) {
                gpu.driver = Some(driver.trim().to_owned());
            }
        } else if asked_for && let Some(vendor) = of_vendor {
            let address = pci_address(line.text);
            // The other functions of a card are its sound and its ports.
            if let Some(pci) = address.filter(|pci| pci.ends_with(".0") && line.text.trim().len() <= 40) {
                line.taken = true;
                let mut gpu = Sighting::new(Api::Bus, "lspci", list);
                gpu.vendor = Some(vendor);
                gpu.pci = Some(pci);
                told.see(gpu);
            }
        } else if asked_for && !line.text.starts_with(|c: char| c.is_ascii_hexdigit()) {
            line.taken = true;
        }
    }
}

/// `01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [GeForce RTX 3090] [10de:2204] (rev a1)`
fn listed(line: &str, rest: &str, list: u32) -> Sighting {
    let rest = rest.split_once(": ").map_or(rest, |(_, rest)| rest);
    let rest = rest.split(" (rev ").next().unwrap_or(rest).trim();
    // The ids in brackets at the end are no name.
    let rest = match rest.rsplit_once(" [") {
        Some((before, ids)) if ids.len() == 10 && ids.as_bytes()[4] == b':' => before.trim(),
        Some(_) | None => rest,
    };
    let (maker, model) = [
        "NVIDIA Corporation",
        "Advanced Micro Devices, Inc. [AMD/ATI]",
        "Advanced Micro Devices, Inc. [AMD]",
        "Intel Corporation",
    ]
    .iter()
    .find_map(|maker| Some((*maker, rest.strip_prefix(maker)?.trim())))
    .unwrap_or(("", rest));
    let vendor = vendor_of(maker)
        .or_else(|| maker.starts_with("Advanced").then_some(Vendor::Amd))
        .or_else(|| vendor_of(rest));
    // The part in brackets is the one on the box, unless it names the kind of device only.
    let on_box = model
        .rsplit_once('[')
        .and_then(|(_, name)| name.strip_suffix(']'))
        .filter(|name| {
            !matches!(
                *name,
                "Intel Graphics" | "UHD Graphics" | "Radeon Graphics" | "HD Graphics"
            )
        });
    let name = match (on_box, vendor) {
        (Some(name), Some(vendor)) => format!("{} {name}", vendor.name()),
        (None, Some(vendor)) if !model.starts_with(vendor.name()) => format!("{} {model}", vendor.name()),
        _ => model.to_owned(),
    };
    let mut gpu = Sighting::new(Api::Bus, "lspci", list).named(&name);
    gpu.vendor = vendor;
    gpu.pci = pci_address(line);
    // The name of the chip in front of the brackets tells where it sits as well.
    gpu.place = super::place_of(model, vendor, None, None);
    if vendor == Some(Vendor::Intel) {
        // The first bus is the processor's own.
        let first_bus = gpu.pci.as_deref().is_some_and(|pci| pci.starts_with("0000:00:"));
        let small = Place::Processor {
            worth_planning_on: false,
        };
        gpu.place = Some(match gpu.place {
            Some(known @ Place::Processor { .. }) => known,
            Some(Place::Card) | None if first_bus => small,
            Some(Place::Card) | None => Place::Card,
        });
    }
    gpu
}
