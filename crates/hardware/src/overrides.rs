//! What a person says instead of what was found. Nothing is lost by it: the machine as found is kept beside it,
//! every number of theirs carries the source [`BY_PERSON`], and taking the word back brings the found one back.

use std::collections::BTreeMap;

use plimsoll_units::{Bytes, BytesPerSecond};
use serde::{Deserialize, Serialize};

use crate::machine::{Class, Device, Machine, Sourced};
use crate::machine_file::{BANDWIDTH_MAX, DEVICES_MAX, MEMORY_MAX, MachineFileError};
use crate::note::Note;

/// The source of a number that a person set.
pub const BY_PERSON: &str = "you";

/// Missing means: as found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overrides {
    /// How much RAM may be used at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// How much RAM a plan leaves to the system and to others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Bytes>,
    /// How fast the RAM is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BytesPerSecond>,
    /// By device id; also of devices that are not there now, such as an unplugged one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, DeviceOverride>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceOverride {
    /// No plan is made for it, as if it were not there.
    pub ignored: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BytesPerSecond>,
}

impl Overrides {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses numbers that no machine has.
    pub fn check(&self) -> Result<(), MachineFileError> {
        bytes("memory", self.memory)?;
        // A reserve of nothing is a choice; what is left is up to the person then.
        if self.reserve.is_some_and(|reserve| reserve > MEMORY_MAX) {
            bytes("reserve", self.reserve)?;
        }
        rate("bandwidth", self.bandwidth)?;
        if self.devices.len() > DEVICES_MAX {
            return Err(MachineFileError::TooMany {
                field: "devices",
                limit: DEVICES_MAX,
            });
        }
        for (id, device) in &self.devices {
            bytes(&format!("{id}.memory"), device.memory)?;
            rate(&format!("{id}.bandwidth"), device.bandwidth)?;
        }
        Ok(())
    }

    /// The machine with the person's numbers in place of its own. What is used now stays used: a device of which
    /// a person grants 10 of 24 GB while others hold 4 has 6 free.
    #[must_use]
    pub fn apply(&self, found: &Machine) -> Machine {
        let mut machine = found.clone();
        let memory = &mut machine.memory;
        if let Some(total) = self.memory {
            let held = memory.total.less(memory.available);
            memory.total = total;
            memory.available = total.less(held);
            BY_PERSON.clone_into(&mut memory.source);
        }
        memory.reserve = self.reserve.map(by_person).or_else(|| memory.reserve.take());
        memory.bandwidth = self.bandwidth.map(by_person).or_else(|| memory.bandwidth.take());
        let ram = memory.total;
        let mut ignored = Vec::new();
        machine.devices.retain_mut(|device| {
            let word = self.devices.get(&device.id);
            if word.is_some_and(|word| word.ignored) {
                ignored.push(Note::GpuIgnored {
                    id: device.id.clone(),
                    name: device.name.clone(),
                });
                return false;
            }
            if let Some(word) = word {
                of_device(word, device);
            }
            within_ram(device, ram);
            true
        });
        machine.notes.extend(ignored);
        machine.class = Class::of(&machine.devices);
        machine
    }
}

fn of_device(word: &DeviceOverride, device: &mut Device) {
    if let Some(total) = word.memory {
        let held = device.total.less(device.free);
        device.total = total;
        device.free = total.less(held);
        device.dedicated = device.dedicated.map(|own| own.min(total));
        BY_PERSON.clone_into(&mut device.source);
    }
    device.bandwidth = word.bandwidth.map(by_person).or_else(|| device.bandwidth.take());
}

/// Memory that is RAM under another name cannot be more than the RAM.
fn within_ram(device: &mut Device, ram: Bytes) {
    let too_much = device.shared_with_ram().less(ram);
    device.total = device.total.less(too_much);
    device.free = device.free.min(device.total);
}

fn by_person<T>(value: T) -> Sourced<T> {
    Sourced {
        value,
        source: BY_PERSON.to_owned(),
    }
}

fn bytes(field: &str, value: Option<Bytes>) -> Result<(), MachineFileError> {
    match value {
        Some(value) if value == Bytes::ZERO || value > MEMORY_MAX => Err(MachineFileError::Absurd {
            field: field.to_owned(),
            value: value.0,
        }),
        Some(_) | None => Ok(()),
    }
}

fn rate(field: &str, value: Option<BytesPerSecond>) -> Result<(), MachineFileError> {
    match value {
        Some(value) if value == BytesPerSecond(0) || value > BANDWIDTH_MAX => Err(MachineFileError::Absurd {
            field: field.to_owned(),
            value: value.0,
        }),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found() -> Machine {
        let gib = |n: u64| n << 30;
        let machine = json!({
            "memory": { "totalBytes": gib(64), "availableBytes": gib(60), "source": "/proc/meminfo",
                        "bandwidthBytesPerS": { "value": 80_000_000_000_u64, "source": "measured" } },
            "devices": [
                { "id": "card", "name": "RTX 4090", "kind": "discrete", "totalBytes": gib(24), "freeBytes": gib(20) },
                { "id": "chip", "name": "780M", "kind": "integrated", "totalBytes": gib(33), "dedicatedBytes": gib(1) },
            ],
        });
        Machine::from_json(machine.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_persons_numbers_count_and_are_marked() {
        let card = DeviceOverride {
            memory: Some(Bytes::gib(10)),
            bandwidth: Some(BytesPerSecond::gb(900)),
            ignored: false,
        };
        let word = Overrides {
            memory: Some(Bytes::gib(32)),
            reserve: Some(Bytes::gib(2)),
            bandwidth: Some(BytesPerSecond::gb(50)),
            devices: BTreeMap::from([("card".into(), card)]),
        };
        let machine = word.apply(&found());
        let memory = &machine.memory;
        assert_eq!((memory.total, memory.available), (Bytes::gib(32), Bytes::gib(28)));
        assert_eq!(memory.reserve.as_ref().unwrap().value, Bytes::gib(2));
        let sources = [
            &memory.source,
            &memory.bandwidth.as_ref().unwrap().source,
            &machine.devices[0].source,
        ];
        assert_eq!(sources, [BY_PERSON; 3]);
        assert_eq!(
            (machine.devices[0].total, machine.devices[0].free),
            (Bytes::gib(10), Bytes::gib(6))
        );
        assert_eq!(
            machine.devices[1].shared_with_ram(),
            Bytes::gib(32),
            "what is RAM under another name is no more than the RAM"
        );
    }

    #[test]
    fn an_ignored_device_is_as_if_it_were_not_there_but_said() {
        let ignored = DeviceOverride {
            ignored: true,
            ..DeviceOverride::default()
        };
        let word = Overrides {
            devices: BTreeMap::from([("card".into(), ignored.clone()), ("gone".into(), ignored)]),
            ..Overrides::default()
        };
        let machine = word.apply(&found());
        assert_eq!((machine.class, machine.devices.len()), (Class::CpuOnly, 1));
        let note = Note::GpuIgnored {
            id: "card".into(),
            name: "RTX 4090".into(),
        };
        assert_eq!(machine.notes, [note]);
        assert_eq!(Overrides::default().apply(&found()), found(), "taken back");
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        let memory = |bytes| Overrides {
            memory: Some(bytes),
            ..Overrides::default()
        };
        assert!(memory(Bytes::ZERO).check().is_err() && memory(Bytes(u64::MAX)).check().is_err());
        assert!(memory(Bytes::gib(1)).check().is_ok());
        let reserve = |bytes| Overrides {
            reserve: Some(bytes),
            ..Overrides::default()
        };
        assert!(reserve(Bytes::ZERO).check().is_ok() && reserve(Bytes(u64::MAX)).check().is_err());
    }

    proptest! {
        #[test]
        fn whatever_passes_gives_a_machine_that_reads_back(ram in 1_u64..1 << 50, own in 1_u64..1 << 50, shared in 1_u64..1 << 50) {
            let of = |bytes| DeviceOverride { memory: Some(Bytes(bytes)), ..DeviceOverride::default() };
            let word = Overrides {
                memory: Some(Bytes(ram)),
                devices: BTreeMap::from([("card".into(), of(own)), ("chip".into(), of(shared))]),
                ..Overrides::default()
            };
            prop_assert!(word.check().is_ok());
            let machine = word.apply(&found());
            let read = Machine::from_json(&serde_json::to_vec(&machine).unwrap());
            prop_assert_eq!(read.unwrap(), machine);
        }
    }
}
