//! The memory modules, from the table that the firmware leaves in memory.
//!
//! The form is that of the System Management BIOS specification (DMTF DSP0134, version 3.7): structures of type 17,
//! "Memory Device". The lines are those that `dmidecode -t 17` prints, so that one reader serves both; serial
//! numbers, asset tags and part numbers are left out.

const MODULE: u8 = 17;
const END: u8 = 127;
const HEADER: usize = 4;
const MODULES_MAX: usize = 256;

/// Nothing for a table that is damaged from its start; what could be read of one that is damaged later.
pub(super) fn lines(table: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = table;
    let mut modules = 0;
    while let [kind, length, ..] = *rest {
        let length = usize::from(length);
        let (Some(structure), Some(strings)) = (rest.get(..length), rest.get(length..)) else {
            break;
        };
        if length < HEADER || kind == END || modules == MODULES_MAX {
            break;
        }
        // Its texts follow, each ended by a zero byte, the last by two.
        let Some(end) = strings.windows(2).position(|two| two == [0, 0]) else {
            break;
        };
        if kind == MODULE {
            modules += 1;
            module(structure, &strings[..end], &mut lines);
        }
        rest = &strings[end + 2..];
    }
    lines
}

fn module(structure: &[u8], strings: &[u8], lines: &mut Vec<String>) {
    let byte = |at: usize| structure.get(at).copied();
    let word = |at: usize| Some(u16::from_le_bytes([byte(at)?, byte(at + 1)?]));
    let long = |at: usize| Some(u32::from(word(at)?) | (u32::from(word(at + 2)?) << 16));
    let text = |at: usize| {
        let number = usize::from(byte(at)?).checked_sub(1)?;
        let text = strings.split(|&byte| byte == 0).nth(number)?;
        Some(String::from_utf8_lossy(text).trim().to_owned())
    };
    let size = match word(0x0c) {
        Some(0) => Some("No Module Installed".to_owned()),
        None | Some(0xffff) => None,
        // Larger than 32 GB less 1 MB: in a field of its own, in MB.
        Some(0x7fff) => long(0x1c).map(|mb| megabytes(mb & 0x7fff_ffff)),
        Some(kb) if kb & 0x8000 != 0 => Some(format!("{} kB", kb & 0x7fff)),
        Some(mb) => Some(megabytes(mb.into())),
    };
    // 0 and 0xffff are "unknown", the second also "see the longer field".
    let speed = |short: usize, extended: usize| match word(short)? {
        0 => None,
        0xffff => long(extended).filter(|&speed| speed > 0),
        speed => Some(u32::from(speed)),
    };
    let bits = |at: usize| {
        Some(format!(
            "{} bits",
            word(at).filter(|&bits| bits > 0 && bits < 0xffff)?
        ))
    };
    let speeds = |short, extended| Some(format!("{} MT/s", speed(short, extended)?));
    let fields = [
        ("Total Width", bits(0x08)),
        ("Data Width", bits(0x0a)),
        ("Size", size),
        ("Form Factor", byte(0x0e).and_then(form).map(str::to_owned)),
        ("Locator", text(0x10)),
        ("Bank Locator", text(0x11)),
        ("Type", byte(0x12).and_then(memory_type).map(str::to_owned)),
        ("Speed", speeds(0x15, 0x54)),
        ("Manufacturer", text(0x17)),
        ("Configured Memory Speed", speeds(0x20, 0x58)),
    ];
    lines.push("Memory Device".to_owned());
    lines.extend(
        fields.into_iter().filter_map(|(name, value)| {
            Some(format!("\t{name}: {}", value.filter(|value| !value.is_empty())?))
        }),
    );
}

fn megabytes(mb: u32) -> String {
    if mb > 0 && mb.is_multiple_of(1024) {
        format!("{} GB", mb / 1024)
    } else {
        format!("{mb} MB")
    }
}

/// Table 76 of the specification, those that memory of our time comes in.
const fn form(code: u8) -> Option<&'static str> {
    Some(match code {
        0x01 => "Other",
        0x09 => "DIMM",
        0x0b => "Row Of Chips",
        0x0d => "SODIMM",
        0x10 => "Die",
        0x11 => "CAMM",
        _ => return None,
    })
}

/// Table 77 of the specification, from DDR3 on.
const fn memory_type(code: u8) -> Option<&'static str> {
    Some(match code {
        0x18 => "DDR3",
        0x1a => "DDR4",
        0x1b => "LPDDR",
        0x1c => "LPDDR2",
        0x1d => "LPDDR3",
        0x1e => "LPDDR4",
        0x20 => "HBM",
        0x21 => "HBM2",
        0x22 => "DDR5",
        0x23 => "LPDDR5",
        0x24 => "HBM3",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn a_module() -> Vec<u8> {
        let mut module = vec![0; 0x5c];
        module[0] = MODULE;
        module[1] = 0x5c;
        module[0x08..0x0a].copy_from_slice(&72_u16.to_le_bytes());
        module[0x0a..0x0c].copy_from_slice(&64_u16.to_le_bytes());
        module[0x0c..0x0e].copy_from_slice(&0x7fff_u16.to_le_bytes());
        module[0x0e] = 0x0d;
        (module[0x10], module[0x11], module[0x17], module[0x18]) = (1, 2, 3, 4);
        module[0x12] = 0x22;
        module[0x15..0x17].copy_from_slice(&5600_u16.to_le_bytes());
        module[0x1c..0x20].copy_from_slice(&(48_u32 << 10).to_le_bytes());
        module[0x20..0x22].copy_from_slice(&0xffff_u16.to_le_bytes());
        module[0x58..0x5c].copy_from_slice(&5200_u32.to_le_bytes());
        module.extend(b"DIMM 0\0P0 CHANNEL A\0Kingston\0SERIAL77\0\0");
        module
    }

    #[test]
    fn a_module_is_told_as_dmidecode_tells_it() {
        let mut table = vec![1, 4, 0, 0, b'X', 0, 0];
        table.extend(a_module());
        table.extend([END, 4, 0, 0, 0, 0]);
        let lines = lines(&table);
        assert_eq!(
            lines,
            [
                "Memory Device",
                "\tTotal Width: 72 bits",
                "\tData Width: 64 bits",
                "\tSize: 48 GB",
                "\tForm Factor: SODIMM",
                "\tLocator: DIMM 0",
                "\tBank Locator: P0 CHANNEL A",
                "\tType: DDR5",
                "\tSpeed: 5600 MT/s",
                "\tManufacturer: Kingston",
                "\tConfigured Memory Speed: 5200 MT/s"
            ]
        );
    }

    proptest! {
        #[test]
        fn no_table_makes_it_panic(start in 0_usize..140, cut in 0_usize..140, noise in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut table = a_module();
            table.truncate(cut);
            table.splice(start.min(table.len()).., noise);
            let _ = lines(&table);
        }
    }
}
