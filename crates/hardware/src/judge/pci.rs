//! The cards on the bus, gathered from the record's file names.

use std::collections::BTreeSet;

use plimsoll_units::Bytes;

use crate::facts::Facts;
use crate::note::Note;

use super::host::short;
use super::size::size;

const PREFIX: &str = "/sys/bus/pci/devices/";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    Nvidia,
    Amd,
    Intel,
}

/// One graphics card or accelerator of a maker whose cards can compute. Others draw at most.
pub(super) struct Card<'a> {
    facts: &'a Facts,
    pub(super) address: &'a str,
    pub(super) maker: Maker,
    pub(super) device: u16,
    pub(super) driver: Option<&'a str>,
}

/// All of them, by address. Cards that this program may not use are left out with a note.
pub(super) fn cards<'a>(facts: &'a Facts, notes: &mut Vec<Note>) -> Vec<Card<'a>> {
    let addresses: BTreeSet<&str> = facts
        .facts
        .keys()
        .filter_map(|key| Some(key.strip_prefix(PREFIX)?.split_once('/')?.0))
        .collect();
    let mut cards = Vec::new();
    for address in addresses {
        let id = |file: &str| {
            let value = facts.value(&format!("{PREFIX}{address}/{file}"))?;
            u16::from_str_radix(value.trim_start_matches("0x"), 16).ok()
        };
        let maker = match id("vendor") {
            Some(0x10de) => Maker::Nvidia,
            Some(0x1002) => Maker::Amd,
            Some(0x8086) => Maker::Intel,
            Some(_) | None => continue,
        };
        let Some(device) = id("device") else { continue };
        let driver = facts.value(&format!("{PREFIX}{address}/driver"));
        let card = Card {
            facts,
            address,
            maker,
            device,
            driver,
        };
        if card.value("power/runtime_status") == Some("suspended") {
            notes.push(Note::GpuAsleep { name: card.name() });
        }
        cards.push(card);
    }
    cards
}

impl<'a> Card<'a> {
    pub(super) fn id(&self) -> String {
        format!("pci-{}", short(self.address))
    }

    fn path(&self, file: &str) -> String {
        format!("{PREFIX}{}/{file}", self.address)
    }

    pub(super) fn value(&self, file: &str) -> Option<&'a str> {
        self.facts.value(&self.path(file))
    }

    pub(super) fn size(&self, file: &str, notes: &mut Vec<Note>) -> Option<Bytes> {
        size(self.value(file)?, &self.path(file), notes)
    }

    pub(super) fn lines(&self, file: &str) -> &'a [String] {
        self.facts.lines(&self.path(file))
    }

    /// The name that people know it by, as far as a list on that machine had it.
    pub(super) fn name(&self) -> String {
        let maker = match self.maker {
            Maker::Nvidia => "NVIDIA",
            Maker::Amd => "AMD",
            Maker::Intel => "Intel",
        };
        let device = self.device;
        if self.maker == Maker::Amd {
            let revision = self
                .value("revision")
                .unwrap_or_default()
                .trim_start_matches("0x")
                .to_ascii_lowercase();
            if let Some(name) = self.listed(&format!("amdgpu.ids {device:04x}:{revision}")) {
                return name;
            }
        }
        let vendor = match self.maker {
            Maker::Nvidia => 0x10de_u16,
            Maker::Amd => 0x1002,
            Maker::Intel => 0x8086,
        };
        let Some(name) = self.listed(&format!("pci.ids {vendor:04x}:{device:04x}")) else {
            return format!("{maker} GPU {device:04x}");
        };
        // `AD102 [GeForce RTX 4090]`: the part in brackets is the one on the box.
        let on_box = name
            .rsplit_once('[')
            .and_then(|(_, rest)| rest.split_once(']'))
            .map_or(name.as_str(), |(name, _)| name);
        if on_box.starts_with(maker) {
            on_box.to_owned()
        } else {
            format!("{maker} {on_box}")
        }
    }

    fn listed(&self, key: &str) -> Option<String> {
        self.facts.value(key).map(short).filter(|name| !name.is_empty())
    }

    /// Says why a card of a known maker cannot be used, when it cannot.
    pub(super) fn usable(&self, drivers: &[&str], notes: &mut Vec<Note>) -> bool {
        let name = self.name();
        match self.driver {
            None => {
                notes.push(Note::GpuWithoutDriver { name });
                return false;
            }
            Some(driver) if !drivers.contains(&driver) => {
                notes.push(Note::GpuOtherDriver {
                    name,
                    driver: short(driver),
                });
                return false;
            }
            Some(_) => {}
        }
        // A record without these lines was made where nobody looked; then nothing is held against the card.
        let Some(path) = self.value("render") else {
            return true;
        };
        match self.facts.value(&format!("access {path}")) {
            Some("missing" | "denied") => {
                notes.push(Note::GpuNoAccess {
                    name,
                    path: short(path),
                });
                false
            }
            Some(_) | None => true,
        }
    }
}
