//! What a person may say about their machine on the command line: `memory=16GB`, `pci-0000:01:00.0.ignored=yes`.

use plimsoll_wire::{DeviceOverride, MachineOverrides};

/// One number of the machine, by the name that is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name {
    Memory,
    Reserve,
    Bandwidth,
    /// Of the device with this id.
    Device(String, Part),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Ignored,
    Memory,
    Bandwidth,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Bytes(Name, u64),
    Ignored(String, bool),
}

/// What to take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Back {
    All,
    One(Name),
}

impl Name {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "memory" => return Ok(Self::Memory),
            "reserve" => return Ok(Self::Reserve),
            "bandwidth" => return Ok(Self::Bandwidth),
            _ => {}
        }
        // The id of a device may hold dots itself.
        let (id, part) = text.rsplit_once('.').unwrap_or_default();
        let part = match part {
            "ignored" => Part::Ignored,
            "memory" => Part::Memory,
            "bandwidth" => Part::Bandwidth,
            _ => {
                return Err(
                    "memory, reserve, bandwidth, or DEVICE.memory, DEVICE.bandwidth, DEVICE.ignored"
                        .to_owned(),
                );
            }
        };
        if id.is_empty() {
            return Err("the id of a device is missing".to_owned());
        }
        Ok(Self::Device(id.to_owned(), part))
    }

    fn device(&self) -> Option<&str> {
        match self {
            Self::Memory | Self::Reserve | Self::Bandwidth => None,
            Self::Device(id, _) => Some(id),
        }
    }
}

impl Change {
    pub(crate) fn device(&self) -> Option<&str> {
        match self {
            Self::Bytes(name, _) => name.device(),
            Self::Ignored(id, _) => Some(id),
        }
    }
}

pub(crate) fn change(text: &str) -> Result<Change, String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE")?;
    let (name, value) = (Name::parse(name.trim())?, value.trim());
    match name {
        Name::Device(id, Part::Ignored) => match value {
            "yes" | "true" | "1" => Ok(Change::Ignored(id, true)),
            "no" | "false" | "0" => Ok(Change::Ignored(id, false)),
            _ => Err("yes or no".to_owned()),
        },
        Name::Bandwidth | Name::Device(_, Part::Bandwidth) => Ok(Change::Bytes(name, speed(value)?)),
        Name::Memory | Name::Reserve | Name::Device(_, Part::Memory) => Ok(Change::Bytes(name, size(value)?)),
    }
}

pub(crate) fn back(text: &str) -> Result<Back, String> {
    if text == "all" {
        return Ok(Back::All);
    }
    Name::parse(text).map(Back::One)
}

/// `16GB`, `1.5 GB`, `512MiB`; a number without a unit would be anybody's guess. Sizes count in 1024s, as they are
/// shown, whether their unit has an `i` or not.
fn size(text: &str) -> Result<u64, String> {
    quantity(text, 1024.0).ok_or_else(|| "a size with its unit, such as 16GB".to_owned())
}

/// Speeds count in 1000s, as data sheets give them.
fn speed(text: &str) -> Result<u64, String> {
    let value = text.strip_suffix("/s").and_then(|text| quantity(text, 1000.0));
    value.ok_or_else(|| "a speed, such as 90GB/s".to_owned())
}

fn quantity(text: &str, step: f64) -> Option<u64> {
    const UNITS: [(char, i32); 5] = [('k', 1), ('K', 1), ('M', 2), ('G', 3), ('T', 4)];
    let text = text.trim().strip_suffix('B')?;
    let text = text.strip_suffix('i').unwrap_or(text);
    let (number, power) = UNITS
        .iter()
        .find_map(|&(unit, power)| Some((text.strip_suffix(unit)?.trim(), power)))?;
    let value = number.parse::<f64>().ok()? * step.powi(power);
    // 8 PiB: whole numbers are exact up to there, and no machine has more.
    if !(0.0..=9_007_199_254_740_992.0).contains(&value) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number within the range that was just checked"
    )]
    let whole = value.round() as u64;
    Some(whole)
}

pub(crate) fn apply(overrides: &mut MachineOverrides, change: &Change) {
    match change {
        Change::Bytes(name, value) => put(overrides, name, Some(*value)),
        Change::Ignored(id, ignored) => of_device(overrides, id).ignored = *ignored,
    }
}

pub(crate) fn take_back(overrides: &mut MachineOverrides, back: &Back) {
    match back {
        Back::All => *overrides = MachineOverrides::default(),
        Back::One(Name::Device(id, Part::Ignored)) => of_device(overrides, id).ignored = false,
        Back::One(name) => put(overrides, name, None),
    }
}

fn put(overrides: &mut MachineOverrides, name: &Name, value: Option<u64>) {
    match name {
        Name::Memory => overrides.memory_bytes = value,
        Name::Reserve => overrides.reserve_bytes = value,
        Name::Bandwidth => overrides.bandwidth_bytes_per_s = value,
        Name::Device(id, Part::Memory) => of_device(overrides, id).total_bytes = value,
        Name::Device(id, Part::Bandwidth) => of_device(overrides, id).bandwidth_bytes_per_s = value,
        Name::Device(_, Part::Ignored) => {}
    }
}

/// Its entry; the app leaves out one that says nothing.
fn of_device<'a>(overrides: &'a mut MachineOverrides, id: &str) -> &'a mut DeviceOverride {
    let devices = &mut overrides.devices;
    let at = devices
        .iter()
        .position(|device| device.id == id)
        .unwrap_or_else(|| {
            devices.push(DeviceOverride {
                id: id.to_owned(),
                ..DeviceOverride::default()
            });
            devices.len() - 1
        });
    &mut devices[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_typed() {
        let card = "pci-0000:01:00.0";
        for (typed, expected) in [
            ("memory=16GiB", Change::Bytes(Name::Memory, 16 << 30)),
            ("reserve = 1.5 GB", Change::Bytes(Name::Reserve, 3 << 29)),
            ("bandwidth=90GB/s", Change::Bytes(Name::Bandwidth, 90_000_000_000)),
            (
                "pci-0000:01:00.0.memory=512MiB",
                Change::Bytes(Name::Device(card.into(), Part::Memory), 512 << 20),
            ),
            ("pci-0000:01:00.0.ignored=yes", Change::Ignored(card.into(), true)),
        ] {
            assert_eq!(change(typed), Ok(expected), "{typed}");
        }
        for typed in [
            "memory",
            "memory=",
            "memory=16",
            "memory=-1GiB",
            "memory=NaNGiB",
            "memory=1e30GiB",
            "bandwidth=90GB",
            "speed=1GB/s",
            ".memory=1GiB",
            "card.ignored=maybe",
            "card.memory=yes",
        ] {
            assert!(change(typed).is_err(), "{typed}");
        }
        assert_eq!(back("all"), Ok(Back::All));
        assert_eq!(back("memory"), Ok(Back::One(Name::Memory)));
        assert!(back("everything").is_err());
    }

    #[test]
    fn what_was_set_is_taken_back() {
        let mut said = MachineOverrides::default();
        for typed in ["memory=16GiB", "card.ignored=yes", "card.memory=8GiB"] {
            apply(&mut said, &change(typed).unwrap());
        }
        assert_eq!(said.devices.len(), 1);
        for name in ["card.ignored", "card.memory"] {
            take_back(&mut said, &back(name).unwrap());
        }
        assert_eq!(
            said.devices,
            [DeviceOverride {
                id: "card".into(),
                ..DeviceOverride::default()
            }]
        );
        assert_eq!(said.memory_bytes, Some(16 << 30));
        take_back(&mut said, &Back::All);
        assert_eq!(said, MachineOverrides::default());
    }
}
