//! llama.cpp's lines about Metal.

use plimsoll_units::Bytes;

use super::scan::{after, field, scaled, whole};
use super::{Api, Place, Sighting, Text, Told, Vendor, names};

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let mut name = "";
    let mut unified = None;
    let mut working_set = None;
    let mut seen = false;
    for line in &mut text.lines {
        let metal = line.text.contains("ggml_metal");
        let set = after(line.text, "recommendedMaxWorkingSetSize");
        if line.taken || !(metal || set.is_some()) {
            continue;
        }
        line.taken = true;
        // Lines that a program prints whatever it runs on.
        seen |= set.is_some()
            || ["GPU name", "GPU family", "device:", "nified"]
                .iter()
                .any(|word| line.text.contains(word));
        let said = line
            .text
            .split_once("ggml_metal")
            .and_then(|(_, rest)| rest.split_once(": "))
            .map_or(line.text, |(_, rest)| rest);
        if let Some(value) = field(said, "GPU name") {
            name = value;
        } else if let Some(value) =
            field(said, "picking default device").or_else(|| field(said, "found device"))
            && name.is_empty()
        {
            name = value;
        } else if let Some(value) =
            field(said, "hasUnifiedMemory").or_else(|| field(said, "has unified memory"))
        {
            unified = Some(value.starts_with("true"));
        } else if let Some(rest) = set {
            working_set = size(rest.trim_start_matches([' ', '=', ':']));
        }
    }
    if !seen {
        return;
    }
    let name = names::unwrapped(name);
    let mut gpu = Sighting::new(Api::Metal, "ggml_metal_init", text.list(20)).named(name);
    gpu.vendor = names::vendor_of(name).or((unified != Some(false)).then_some(Vendor::Apple));
    if unified == Some(false) {
        gpu.place = Some(Place::Card);
    }
    gpu.total = working_set;
    told.see(gpu);
}

/// `MB` is 2^20 bytes in the builds of 2023 and 10^6 since; the label does not tell. macOS gives the GPU exactly
/// two thirds or three quarters of a memory that comes in a few sizes, so the reading that hits one of them is the
/// right one. Where neither does, the newer unit is taken, which is the smaller.
fn size(text: &str) -> Option<Bytes> {
    // Other programs print the bytes as they come.
    if let Some(bytes) = whole(text).filter(|&bytes| bytes > 1 << 30) {
        return Some(Bytes(bytes));
    }
    let (number, unit) = text.trim().split_once(' ')?;
    let decimal = scaled(number, 1_000_000)?;
    let binary = scaled(number, 1 << 20)?;
    if unit.starts_with("MiB") || (hits(binary) && !hits(decimal)) {
        Some(binary)
    } else {
        Some(decimal)
    }
}

/// The sizes of memory that Apple sells, in GiB.
pub(crate) const MAC_SIZES: [u64; 12] = [8, 16, 18, 24, 32, 36, 48, 64, 96, 128, 192, 512];

fn hits(bytes: Bytes) -> bool {
    MAC_SIZES.iter().any(|&gib| {
        [Bytes::gib(gib).0 / 3 * 2, Bytes::gib(gib).0 / 4 * 3]
            .iter()
            // Printed with two digits behind the point.
            .any(|&share| share.abs_diff(bytes.0) <= 20_000)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_units_that_are_called_mb() {
        assert_eq!(
            size("10922.67 MB"),
            Some(Bytes(11_453_249_617)),
            "2^20 bytes, 2/3 of 16 GiB"
        );
        assert_eq!(
            size("11453.25 MB"),
            Some(Bytes(11_453_250_000)),
            "10^6 bytes, the same"
        );
        assert_eq!(size("10922.67 MiB"), Some(Bytes(11_453_249_617)));
        assert_eq!(size("21845.34 MB"), Some(Bytes(22_906_499_235)));
        assert_eq!(
            size("30150.67 MB"),
            Some(Bytes(30_150_670_000)),
            "no simple share"
        );
        assert_eq!(size("many MB"), None);
    }
}
