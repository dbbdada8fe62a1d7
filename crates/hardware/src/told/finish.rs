//! What follows once everything is read: impossible numbers go, and RAM that nobody printed is inferred where a
//! rule of the system leaves one answer.

use plimsoll_units::Bytes;

use super::metal::MAC_SIZES;
use super::{Api, Place, Sighting, State, Told, Trust, Vendor, macos, place_of};
use crate::facts::Facts;
use crate::machine_file::MEMORY_MAX;

pub(crate) fn finish(told: &mut Told, facts: &Facts) {
    if facts.is_report() {
        macos::chip_gpu(told, &facts.os);
    }
    let mut absurd = Vec::new();
    for gpu in &mut told.gpus {
        let source = gpu.source.clone();
        for size in [
            &mut gpu.total,
            &mut gpu.free,
            &mut gpu.used,
            &mut gpu.own,
            &mut gpu.shared,
        ] {
            possible(size, &source, &mut absurd);
        }
    }
    for ram in &mut told.ram {
        possible(&mut ram.total, &ram.source, &mut absurd);
        possible(&mut ram.available, &ram.source, &mut absurd);
        ram.total = ram.total.filter(|&total| total > Bytes::ZERO);
    }
    for (limit, source) in &mut told.limits {
        let mut size = Some(*limit);
        possible(&mut size, source, &mut absurd);
        *limit = size.unwrap_or(MEMORY_MAX);
    }
    told.borrow_limit = told.borrow_limit.take().filter(|(limit, _)| *limit <= MEMORY_MAX);
    told.wired_limit = told.wired_limit.filter(|&limit| limit <= MEMORY_MAX);
    told.absurd = absurd;
    if !told
        .ram
        .iter()
        .any(|ram| ram.total.is_some() && ram.trust > Trust::Inferred)
    {
        unified_ram(told, &facts.os);
    }
}

fn possible(size: &mut Option<Bytes>, source: &str, absurd: &mut Vec<(String, String)>) {
    if let Some(bytes) = size.filter(|&bytes| bytes > MEMORY_MAX) {
        absurd.push((source.to_owned(), bytes.0.to_string()));
        *size = None;
    }
}

/// NVIDIA's systems on a chip print their RAM as the GPU's memory; of a Mac's working set only one size of RAM is
/// possible.
fn unified_ram(told: &mut Told, os: &str) {
    let chip = |gpu: &&Sighting| {
        gpu.vendor == Some(Vendor::Nvidia)
            && gpu.state == State::Fine
            && matches!(
                place_of(&gpu.name, gpu.vendor, None, gpu.compute),
                Some(Place::Processor { .. })
            )
    };
    if let Some((total, source)) = told
        .gpus
        .iter()
        .filter(chip)
        .find_map(|gpu| Some((gpu.total?, gpu.source.clone())))
    {
        told.say_ram(Some(total), None, Trust::Rounded, &source);
        return;
    }
    let working_set = told
        .gpus
        .iter()
        .filter(|gpu| gpu.api == Api::Metal && gpu.vendor == Some(Vendor::Apple) && os == "macos")
        .find_map(|gpu| gpu.total);
    if let Some(ram) = working_set
        .filter(|_| told.wired_limit.is_none())
        .and_then(mac_ram)
    {
        told.say_ram(Some(ram), None, Trust::Inferred, "recommendedMaxWorkingSetSize");
    }
}

/// The shares that macOS has given its GPU: two thirds below 36 GB and three quarters from there up to version 15;
/// since then a share that grows with the memory.
fn mac_ram(working_set: Bytes) -> Option<Bytes> {
    let fits = |gib: u64| {
        let ram = Bytes::gib(gib).as_f64();
        let share = working_set.as_f64() / ram;
        let near = |known: f64| (share - known).abs() < 0.000_5;
        let new = match gib {
            ..=24 => (0.735..0.745).contains(&share),
            25..=48 => (0.775..0.785).contains(&share),
            49..=96 => (0.80..0.83).contains(&share),
            _ => (0.83..0.87).contains(&share),
        };
        (gib < 36 && near(2.0 / 3.0)) || (gib >= 36 && near(0.75)) || new
    };
    let mut sizes = MAC_SIZES.iter().copied().filter(|&gib| fits(gib));
    let only = sizes.next()?;
    sizes.next().is_none().then(|| Bytes::gib(only))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ram_of_a_mac_by_its_working_set() {
        for (working_set, ram) in [
            (Bytes(5_726_630_051), 8),
            (Bytes(11_453_250_000), 16),
            (Bytes(22_906_499_235), 32),
            (Bytes(38_654_705_664), 48),
            (Bytes(26_800_600_000), 32),
            (Bytes(40_200_900_000), 48),
            (Bytes::mib(18_186), 24),
            (Bytes::mib(28_753), 36),
            (Bytes::mib(53_084), 64),
            (Bytes::mib(110_100), 128),
        ] {
            assert_eq!(mac_ram(working_set), Some(Bytes::gib(ram)), "{working_set}");
        }
        assert_eq!(mac_ram(Bytes::gib(20)), None, "no share of any size");
    }
}
