//! Files of Linux's drivers under other keys than a recorder's: bare names, links, `grep`'s `path:value`.

use plimsoll_units::Bytes;

use super::names::{Vendor, gfx_in};
use super::scan::{after, amount, leading_number, pci_address, whole};
use super::{Api, Place, Sighting, State, Text, Told};

const PAGE: u64 = 4096;
/// All of one machine's files stand in one list, told apart by their card.
const LIST: u32 = 62;
const FILES: [&str; 8] = [
    "mem_info_vram_total",
    "mem_info_vram_used",
    "mem_info_gtt_total",
    "mem_info_gtt_used",
    "lmem_total_bytes",
    "physical_vram_size_bytes",
    "runtime_status",
    "gfx_target_version",
];

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    // What the recorder's keys hold is read by the judgement.
    let recorded = text.recorded && text.key.starts_with("/sys/bus/pci/devices/");
    if text.key.starts_with("/sys/class/kfd/kfd/topology/nodes/") {
        return;
    }
    let of_key = FILES
        .iter()
        .find(|file| text.lower_key.ends_with(**file))
        .copied();
    let nvidia_power = text.key_has("nvidia") && text.key_has("power_state");
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        if let Some(file) = of_key {
            if !recorded || file == "runtime_status" {
                line.taken = apply(file, text.key, line.text, told);
            }
        } else if nvidia_power {
            line.taken = asleep(line.text, told);
        } else if text.lower_key.ends_with("pages_limit") {
            if let Some(pages) = whole(line.text) {
                told.borrow_limit
                    .get_or_insert((Bytes(pages).times(PAGE), text.key.to_owned()));
                line.taken = true;
            }
        } else if ready(line.text, told) || command_line(line.text, told) {
            line.taken = true;
        } else if let Some(file) = FILES.iter().find(|file| line.text.contains(**file)) {
            let value = after(line.text, file).unwrap_or_default();
            line.taken = apply(
                file,
                line.text,
                value.trim_start_matches([':', '=', ' ', '\t']),
                told,
            );
        }
    }
}

fn apply(file: &str, path: &str, value: &str, told: &mut Told) -> bool {
    let size =
        amount(value).or_else(|| whole(value.split_whitespace().next().unwrap_or_default()).map(Bytes));
    let status = value.trim();
    if size.is_none() && !matches!(status, "suspended" | "active") {
        return false;
    }
    if status == "active" {
        return true;
    }
    let card = after(path, "card")
        .and_then(leading_number)
        .or_else(|| after(path, "nodes/").and_then(leading_number));
    let gpu = gpu(told, card.and_then(|n| u32::try_from(n).ok()), pci_address(path));
    match file {
        "mem_info_vram_total" => gpu.own = size,
        "mem_info_vram_used" => gpu.used = size,
        "mem_info_gtt_total" => gpu.shared = size,
        "mem_info_gtt_used" => {}
        "gfx_target_version" => gpu.gfx = size.and_then(|bytes| isa(bytes.0)),
        "runtime_status" => {
            gpu.state = State::Asleep;
            gpu.vendor = None;
        }
        _ => {
            gpu.total = size;
            gpu.vendor = Some(Vendor::Intel);
            gpu.place = Some(Place::Card);
        }
    }
    if file.starts_with("mem_info") || file.starts_with("gfx") {
        gpu.vendor = Some(Vendor::Amd);
    }
    true
}

fn gpu(told: &mut Told, card: Option<u32>, pci: Option<String>) -> &mut Sighting {
    let same = |gpu: &Sighting| gpu.list == LIST && gpu.index == card && gpu.pci == pci;
    if let Some(at) = told.gpus.iter().position(same) {
        return &mut told.gpus[at];
    }
    let mut gpu = Sighting::new(Api::Sysfs, "amdgpu", LIST);
    (gpu.index, gpu.pci) = (card, pci);
    told.gpus.push(gpu);
    let newest = told.gpus.len() - 1;
    &mut told.gpus[newest]
}

/// KFD writes 110501 for gfx1151 and 90010 for gfx90a.
pub(crate) fn isa(version: u64) -> Option<String> {
    let (major, minor, step) = (version / 10_000, version / 100 % 100, version % 100);
    gfx_in(&format!("gfx{major}{minor:x}{step:x}")).filter(|_| (7..=20).contains(&major))
}

/// The kernel's log: `amdgpu: 16368M of VRAM memory ready`, `amdgpu: 15900M of GTT memory ready.`
fn ready(line: &str, told: &mut Told) -> bool {
    let size = |mark: &str| {
        let head = line.split_once(mark)?.0;
        whole(head.rsplit(' ').next()?.trim_end_matches('M')).map(Bytes::mib)
    };
    let (own, shared) = (size("M of VRAM memory ready"), size("M of GTT memory ready"));
    if own.is_none() && shared.is_none() {
        return false;
    }
    let gpu = gpu(told, None, pci_address(line));
    gpu.vendor = Some(Vendor::Amd);
    gpu.own = own.or(gpu.own);
    gpu.shared = shared.or(gpu.shared);
    true
}

/// `ttm.pages_limit=25165824 amdgpu.gttsize=98304`
fn command_line(line: &str, told: &mut Told) -> bool {
    let mut found = false;
    for (mark, unit) in [
        ("ttm.pages_limit=", PAGE),
        ("amdttm.pages_limit=", PAGE),
        ("amdgpu.gttsize=", 1 << 20),
    ] {
        if let Some(number) = after(line, mark).and_then(leading_number).filter(|&n| n > 0) {
            told.borrow_limit
                .get_or_insert((Bytes(number).times(unit), mark.trim_end_matches('=').to_owned()));
            found = true;
        }
    }
    found
}

/// `/sys/module/nvidia/drivers/pci:nvidia/*/power_state`: a card is there, and it is off.
fn asleep(line: &str, told: &mut Told) -> bool {
    let value = line.rsplit([':', ' ']).next().unwrap_or_default().trim();
    if !matches!(value, "D3cold" | "D3hot") {
        return value == "D0";
    }
    let mut gpu = Sighting::new(Api::Bus, "power_state", LIST + 1);
    gpu.vendor = Some(Vendor::Nvidia);
    gpu.pci = pci_address(line);
    gpu.state = State::Asleep;
    told.see(gpu);
    true
}
