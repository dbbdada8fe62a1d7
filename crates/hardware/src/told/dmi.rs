//! `dmidecode`: the modules in the slots, or the chips on the board.

use plimsoll_units::Bytes;

use super::scan::{amount, field, leading_number};
use super::{Text, Told, Trust};

const DEVICES_MAX: usize = 128;
/// More chips than any board carries.
const CHIPS_MAX: u64 = 32;

#[derive(Default, Clone)]
struct Module {
    size: Option<Bytes>,
    width_bits: u64,
    /// Million transfers a second: the one that is set, not the one that the chip could do.
    speed: Option<u64>,
    configured: Option<u64>,
    channel: Option<String>,
    soldered: bool,
}

pub(super) fn read(text: &mut Text<'_>, told: &mut Told) {
    let mut modules: Vec<Module> = Vec::new();
    let mut slots = 0;
    let mut open = false;
    for line in &mut text.lines {
        let trimmed = line.text.trim();
        if line.taken {
            continue;
        }
        if trimmed == "Memory Device" {
            open = modules.len() < DEVICES_MAX;
            if open {
                modules.push(Module::default());
            }
            line.taken = true;
        } else if let Some(number) = field(trimmed, "Number Of Devices").and_then(leading_number) {
            slots = number.saturating_add(slots);
            line.taken = true;
        } else if trimmed.starts_with("Handle 0x")
            || trimmed == "Physical Memory Array"
            || trimmed.starts_with("SMBIOS")
        {
            open = false;
            line.taken = true;
        } else if field(trimmed, "Maximum Capacity").is_some() {
            // What the firmware thinks would fit; wrong on many boards.
            line.taken = true;
        } else if open && let Some(module) = modules.last_mut() {
            line.taken = module.line(trimmed);
        }
    }
    let filled: Vec<&Module> = modules.iter().filter(|module| module.size.is_some()).collect();
    let Some(first) = filled.first() else { return };
    // Chips on the board are all alike, so one that was copied stands for all; modules in slots may differ.
    let soldered = filled.iter().all(|module| module.soldered);
    let copies = if soldered && modules.len() == 1 && (1..=CHIPS_MAX).contains(&slots) {
        slots
    } else {
        1
    };
    let total: Bytes = filled
        .iter()
        .filter_map(|module| module.size)
        .map(|size| size.times(copies))
        .sum();
    told.say_ram(Some(total), None, Trust::Installed, "SMBIOS");
    let Some(speed) = first.configured.or(first.speed) else {
        return;
    };
    let bits: u64 = if soldered {
        filled
            .iter()
            .map(|module| module.width_bits)
            .sum::<u64>()
            .saturating_mul(copies)
    } else {
        // Two modules of one channel take turns.
        let mut channels: Vec<&String> = filled
            .iter()
            .filter_map(|module| module.channel.as_ref())
            .collect();
        if channels.len() != filled.len() {
            return;
        }
        channels.sort();
        channels.dedup();
        first.width_bits.saturating_mul(channels.len() as u64)
    };
    if (32..=8192).contains(&bits) && (400..=20_000).contains(&speed) {
        let bandwidth = bits / 8 * speed * 1_000_000;
        told.ram_bandwidth = Some((bandwidth, "SMBIOS width and configured speed".to_owned()));
    }
}

impl Module {
    fn line(&mut self, line: &str) -> bool {
        let Some((label, value)) = line.split_once(':') else {
            return false;
        };
        let value = value.trim();
        match label.trim() {
            "Size" => self.size = amount(value).filter(|&size| size > Bytes::ZERO),
            "Data Width" => self.width_bits = leading_number(value).unwrap_or(0).min(1024),
            "Speed" => self.speed = leading_number(value),
            "Configured Memory Speed" | "Configured Clock Speed" => self.configured = leading_number(value),
            "Form Factor" => self.soldered = !value.contains("DIMM") && !value.contains("CAMM"),
            "Bank Locator" | "Locator" if value.to_ascii_uppercase().contains("CHANNEL") => {
                self.channel = Some(
                    value
                        .split("DIMM")
                        .next()
                        .unwrap_or(value)
                        .trim_matches(['-', ' '])
                        .to_owned(),
                );
            }
            _ => {}
        }
        true
    }
}
