//! `nvidia-smi --query-gpu=… --format=csv`: the columns are in the key, in a row of titles, or nowhere.

use plimsoll_units::Bytes;

use super::scan::{amount, pci_address, whole};
use super::{Api, Part, Sighting, State, Text, Told, Vendor, vendor_of};

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let asked_for = text.key_has("nvidia-smi");
    if text.key_has("query-compute-apps") || text.key_has("pmon") {
        return;
    }
    let mut columns = in_key(&text.lower_key);
    let list = text.list(3);
    let mut row_number = 0;
    for line in &mut text.lines {
        if line.taken {
            continue;
        }
        if let Some(titles) = in_titles(line.text) {
            columns = titles;
            line.taken = true;
            continue;
        }
        let cells: Vec<&str> = line.text.split(',').map(str::trim).collect();
        if (!asked_for && columns.is_empty()) || cells.len() < 2 {
            continue;
        }
        let gpu = if columns.len() == cells.len() {
            by_column(&columns, &cells, list)
        } else if asked_for {
            by_look(line.text, &cells, list)
        } else {
            None
        };
        if let Some(mut gpu) = gpu {
            told.nvidia_driver = told.nvidia_driver.take().or_else(|| gpu.driver.take());
            gpu.index = gpu.index.or(Some(row_number));
            row_number += 1;
            line.taken = true;
            told.see(gpu);
        }
    }
}

fn in_key(lower_key: &str) -> Vec<String> {
    let Some((_, rest)) = lower_key
        .split_once("--query-gpu=")
        .or_else(|| lower_key.split_once("--query-gpu "))
    else {
        return Vec::new();
    };
    let names = rest.split_whitespace().next().unwrap_or_default();
    names.split(',').map(|name| name.trim().to_owned()).collect()
}

/// `name, memory.total [MiB], driver_version`
fn in_titles(line: &str) -> Option<Vec<String>> {
    let cells: Vec<String> = line
        .split(',')
        .map(|cell| cell.split('[').next().unwrap_or_default().trim().to_lowercase())
        .collect();
    let known = |cell: &String| {
        matches!(cell.as_str(), "name" | "gpu_name" | "index" | "uuid" | "gpu_uuid")
            || cell.starts_with("memory.")
    };
    let plain = cells.iter().all(|cell| !cell.is_empty() && !cell.contains(' '));
    (cells.len() > 1 && plain && cells.iter().any(known)).then_some(cells)
}

fn by_column(columns: &[String], cells: &[&str], list: u32) -> Option<Sighting> {
    let mut gpu = Sighting::new(Api::Nvml, "nvidia-smi --query-gpu", list);
    gpu.vendor = Some(Vendor::Nvidia);
    for (column, cell) in columns.iter().zip(cells) {
        match column.as_str() {
            "name" | "gpu_name" => gpu = gpu.named(cell),
            "index" => gpu.index = cell.parse().ok(),
            "uuid" | "gpu_uuid" => gpu.uuid = Some(cell.to_ascii_lowercase()),
            "pci.bus_id" | "gpu_bus_id" | "gpu_bdf" => gpu.pci = pci_address(cell),
            "compute_cap" => gpu.compute = version(cell),
            "driver_version" => gpu.driver = Some((*cell).to_owned()),
            "mig.mode.current" if *cell == "Enabled" => gpu.part = Part::Cut,
            "memory.total" => {
                gpu.total = mebibytes(cell);
                let lower = cell.to_ascii_lowercase();
                gpu.is_ram = lower.contains("not supported") || lower.contains("n/a");
                if lower.contains("error") || lower.contains("lost") {
                    gpu.state = State::Lost {
                        cause: cell.trim_matches(['[', ']']).to_owned(),
                    };
                }
            }
            "memory.used" => gpu.used = mebibytes(cell),
            "memory.free" => gpu.free = mebibytes(cell),
            _ => {}
        }
    }
    // A line of an error message can have as many commas as the table has columns.
    let plausible = gpu.name.is_empty() || gpu.name.len() < 80 && !gpu.name.contains("driver");
    let says_something =
        !gpu.name.is_empty() || gpu.uuid.is_some() || gpu.pci.is_some() || gpu.total.is_some();
    (plausible && says_something).then_some(gpu)
}

/// With units or without; the number is in MiB either way.
fn mebibytes(cell: &str) -> Option<Bytes> {
    amount(cell).or_else(|| whole(cell).map(Bytes::mib))
}

/// Without titles: a name is known by its words, a size by its unit, the bus by its form.
fn by_look(line: &str, cells: &[&str], list: u32) -> Option<Sighting> {
    let mut gpu = Sighting::new(Api::Nvml, "nvidia-smi --query-gpu", list);
    gpu.vendor = Some(Vendor::Nvidia);
    gpu.pci = pci_address(line);
    if let Some(name) = cells.iter().find(|cell| vendor_of(cell) == Some(Vendor::Nvidia)) {
        gpu = gpu.named(name);
    }
    gpu.index = cells.first().and_then(|cell| cell.parse().ok());
    gpu.uuid = cells
        .iter()
        .find(|cell| cell.starts_with("GPU-"))
        .map(|cell| cell.to_ascii_lowercase());
    let sizes: Vec<Bytes> = cells.iter().filter_map(|cell| amount(cell)).collect();
    gpu.total = sizes.iter().copied().max();
    let missing = cells
        .iter()
        .any(|cell| matches!(cell.to_ascii_lowercase().as_str(), "[n/a]" | "[not supported]"));
    gpu.is_ram = gpu.total.is_none() && missing;
    // Where numbers without units stand beside a name alone, the larger one is its memory in MiB.
    if gpu.total.is_none() && !missing && !gpu.name.is_empty() && cells.len() <= 4 {
        gpu.total = cells
            .iter()
            .filter_map(|cell| whole(cell))
            .filter(|&n| n >= 1024)
            .max()
            .map(Bytes::mib);
    }
    gpu.compute = cells.iter().find_map(|cell| version(cell));
    (!gpu.name.is_empty() || (gpu.pci.is_some() && gpu.total.is_some())).then_some(gpu)
}

/// `8.6`
pub(super) fn version(cell: &str) -> Option<(u32, u32)> {
    let (major, minor) = cell.split_once('.')?;
    Some((
        major.parse().ok().filter(|n| (3..=20).contains(n))?,
        minor.parse().ok().filter(|&n| n < 10)?,
    ))
}
