//! Reading a machine from a file that a person or another machine wrote: what is not known may be missing, what
//! cannot be is refused.

use plimsoll_units::{Bytes, BytesPerSecond};
use serde::{Deserialize, Deserializer};

use crate::machine::{Backend, Class, Cpu, Device, DeviceKind, Machine, Memory, Os, Platform, Sourced};
use crate::note::Note;

/// A larger file is no machine.
const FILE_BYTES_MAX: usize = 1 << 20;
/// 1 PiB; the largest machines of today have a sixteenth.
pub(crate) const MEMORY_MAX: Bytes = Bytes::gib(1 << 20);
pub(crate) const DEVICES_MAX: usize = 64;
const CORES_MAX: u32 = 1 << 16;
const TEXT_BYTES_MAX: usize = 512;
pub(crate) const NOTES_MAX: usize = 256;
/// 1 PB/s.
pub(crate) const BANDWIDTH_MAX: BytesPerSecond = BytesPerSecond::gb(1_000_000);

#[derive(Debug, thiserror::Error)]
pub enum MachineFileError {
    #[error("a machine file of {bytes} is larger than {limit}")]
    TooLarge { bytes: Bytes, limit: Bytes },
    #[error("this is no machine")]
    NotJson(#[source] serde_json::Error),
    #[error("the file has form {found}, newer than {known}")]
    TooNew { found: u32, known: u32 },
    #[error("{field} is {value}, which no machine has")]
    Absurd { field: String, value: u64 },
    #[error("{part} is {value}, more than {whole}, {limit}")]
    MoreThan {
        part: String,
        value: Bytes,
        whole: String,
        limit: Bytes,
    },
    #[error("{field} is longer than {limit}")]
    TooLong { field: String, limit: usize },
    #[error("more than {limit} {field}")]
    TooMany { field: &'static str, limit: usize },
    #[error("two devices are called {id:?}")]
    TwoDevices { id: String },
    #[error("the class is said to be {said:?}, but the devices make it {found:?}")]
    Class { said: Class, found: Class },
}

impl Machine {
    /// Reads the form that `probe --json` writes.
    pub fn from_json(bytes: &[u8]) -> Result<Self, MachineFileError> {
        if bytes.len() > FILE_BYTES_MAX {
            let limit = Bytes(FILE_BYTES_MAX as u64);
            return Err(MachineFileError::TooLarge {
                bytes: Bytes(bytes.len() as u64),
                limit,
            });
        }
        let raw: RawMachine = serde_json::from_slice(bytes).map_err(MachineFileError::NotJson)?;
        raw.try_into()
    }
}

/// A machine as a file may say it, before it is believed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawMachine {
    #[serde(default = "schema")]
    schema: u32,
    #[serde(default)]
    os: Os,
    #[serde(default)]
    cpu: Cpu,
    memory: RawMemory,
    #[serde(default)]
    devices: Vec<RawDevice>,
    #[serde(default)]
    class: Option<Class>,
    #[serde(default, deserialize_with = "known_only")]
    notes: Vec<Note>,
}

const fn schema() -> u32 {
    Machine::SCHEMA
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMemory {
    total_bytes: Bytes,
    available_bytes: Option<Bytes>,
    #[serde(rename = "bandwidthBytesPerS")]
    bandwidth: Option<RawSourced>,
    #[serde(rename = "reserveBytes")]
    reserve: Option<RawSourced>,
    #[serde(default)]
    source: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDevice {
    id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    vendor: String,
    kind: DeviceKind,
    #[serde(default, deserialize_with = "known_only")]
    backends: Vec<Backend>,
    total_bytes: Bytes,
    free_bytes: Option<Bytes>,
    dedicated_bytes: Option<Bytes>,
    #[serde(rename = "bandwidthBytesPerS")]
    bandwidth: Option<RawSourced>,
    #[serde(flatten)]
    platform: Platform,
    #[serde(default)]
    source: Option<String>,
}

/// A number with its source, or in short form the number alone.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RawSourced {
    Whole { value: u64, source: Option<String> },
    Number(u64),
}

impl RawSourced {
    fn parts(self) -> (u64, Option<String>) {
        match self {
            Self::Whole { value, source } => (value, source),
            Self::Number(value) => (value, None),
        }
    }
}

/// Keeps the entries that this version knows; a newer one may write more.
fn known_only<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Entry<T> {
        Known(T),
        Unknown(serde::de::IgnoredAny),
    }
    let entries = Vec::<Entry<T>>::deserialize(from)?;
    Ok(entries
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::Known(known) => Some(known),
            Entry::Unknown(_) => None,
        })
        .collect())
}

impl TryFrom<RawMachine> for Machine {
    type Error = MachineFileError;

    fn try_from(raw: RawMachine) -> Result<Self, MachineFileError> {
        if raw.schema > Self::SCHEMA {
            return Err(MachineFileError::TooNew {
                found: raw.schema,
                known: Self::SCHEMA,
            });
        }
        for (field, text) in [
            ("os.name", &raw.os.name),
            ("os.version", &raw.os.version),
            ("cpu.name", &raw.cpu.name),
        ] {
            short(field, text)?;
        }
        for feature in &raw.cpu.features {
            short("cpu.features", feature)?;
        }
        for (field, cores) in [
            ("cpu.physicalCores", raw.cpu.physical_cores),
            ("cpu.logicalCores", raw.cpu.logical_cores),
        ] {
            if cores > CORES_MAX {
                return Err(MachineFileError::Absurd {
                    field: field.into(),
                    value: cores.into(),
                });
            }
        }
        if raw.cpu.features.len() > TEXT_BYTES_MAX {
            return Err(MachineFileError::TooMany {
                field: "cpu.features",
                limit: TEXT_BYTES_MAX,
            });
        }
        if raw.devices.len() > DEVICES_MAX {
            return Err(MachineFileError::TooMany {
                field: "devices",
                limit: DEVICES_MAX,
            });
        }
        if raw.notes.len() > NOTES_MAX {
            return Err(MachineFileError::TooMany {
                field: "notes",
                limit: NOTES_MAX,
            });
        }
        let memory = memory(raw.memory)?;
        let mut devices: Vec<Device> = Vec::with_capacity(raw.devices.len());
        for (index, raw) in raw.devices.into_iter().enumerate() {
            let device = device(raw, index, &memory)?;
            if devices.iter().any(|other| other.id == device.id) {
                return Err(MachineFileError::TwoDevices { id: device.id });
            }
            devices.push(device);
        }
        let class = Class::of(&devices);
        if let Some(said) = raw.class.filter(|&said| said != class) {
            return Err(MachineFileError::Class { said, found: class });
        }
        Ok(Self {
            schema: Self::SCHEMA,
            os: raw.os,
            cpu: raw.cpu,
            memory,
            devices,
            class,
            notes: raw.notes,
        })
    }
}

fn memory(raw: RawMemory) -> Result<Memory, MachineFileError> {
    let total = possible("memory.totalBytes", raw.total_bytes)?;
    let available = raw.available_bytes.unwrap_or(total);
    within("memory.availableBytes", available, "memory.totalBytes", total)?;
    Ok(Memory {
        total,
        available,
        bandwidth: bandwidth("memory.bandwidthBytesPerS", raw.bandwidth)?,
        reserve: reserve(raw.reserve, total)?,
        source: source("memory.source", raw.source)?,
    })
}

fn device(raw: RawDevice, index: usize, memory: &Memory) -> Result<Device, MachineFileError> {
    let field = |name: &str| format!("devices[{index}].{name}");
    let id = raw.id.unwrap_or_else(|| format!("device-{index}"));
    for (name, text) in [("id", &id), ("name", &raw.name), ("vendor", &raw.vendor)] {
        short(&field(name), text)?;
    }
    let platform = &raw.platform;
    for (name, text) in [
        ("architecture", &platform.architecture),
        ("driverVersion", &platform.driver),
        ("cudaVersion", &platform.cuda),
    ] {
        short(&field(name), text.as_deref().unwrap_or_default())?;
    }
    // A device whose size nobody told is listed with none.
    let total = if raw.total_bytes == Bytes::ZERO {
        Bytes::ZERO
    } else {
        possible(&field("totalBytes"), raw.total_bytes)?
    };
    let free = raw.free_bytes.unwrap_or(total);
    within(&field("freeBytes"), free, &field("totalBytes"), total)?;
    if let Some(dedicated) = raw.dedicated_bytes {
        within(&field("dedicatedBytes"), dedicated, &field("totalBytes"), total)?;
    }
    let device = Device {
        name: if raw.name.is_empty() { id.clone() } else { raw.name },
        id,
        vendor: raw.vendor,
        kind: raw.kind,
        backends: raw.backends,
        total,
        free,
        dedicated: raw.dedicated_bytes,
        bandwidth: bandwidth(&field("bandwidthBytesPerS"), raw.bandwidth)?,
        platform: raw.platform,
        source: source(&field("source"), raw.source)?,
    };
    within(
        &field("totalBytes"),
        device.shared_with_ram(),
        "memory.totalBytes",
        memory.total,
    )?;
    Ok(device)
}

fn possible(field: &str, value: Bytes) -> Result<Bytes, MachineFileError> {
    if value == Bytes::ZERO || value > MEMORY_MAX {
        return Err(MachineFileError::Absurd {
            field: field.to_owned(),
            value: value.0,
        });
    }
    Ok(value)
}

fn within(part: &str, value: Bytes, whole: &str, limit: Bytes) -> Result<(), MachineFileError> {
    if value > limit {
        return Err(MachineFileError::MoreThan {
            part: part.to_owned(),
            value,
            whole: whole.to_owned(),
            limit,
        });
    }
    Ok(())
}

fn short(field: &str, text: &str) -> Result<(), MachineFileError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(MachineFileError::TooLong {
            field: field.to_owned(),
            limit: TEXT_BYTES_MAX,
        });
    }
    Ok(())
}

fn source(field: &str, said: Option<String>) -> Result<String, MachineFileError> {
    let said = said
        .filter(|source| !source.is_empty())
        .unwrap_or_else(|| "machine file".to_owned());
    short(field, &said)?;
    Ok(said)
}

fn bandwidth(
    field: &str,
    raw: Option<RawSourced>,
) -> Result<Option<Sourced<BytesPerSecond>>, MachineFileError> {
    let Some(raw) = raw else { return Ok(None) };
    let (value, said) = raw.parts();
    let value = BytesPerSecond(value);
    if value == BytesPerSecond(0) || value > BANDWIDTH_MAX {
        return Err(MachineFileError::Absurd {
            field: field.to_owned(),
            value: value.0,
        });
    }
    Ok(Some(Sourced {
        value,
        source: source(field, said)?,
    }))
}

/// Unlike a size it may be nothing, and more than there is leaves nothing.
fn reserve(raw: Option<RawSourced>, total: Bytes) -> Result<Option<Sourced<Bytes>>, MachineFileError> {
    const FIELD: &str = "memory.reserveBytes";
    let Some(raw) = raw else { return Ok(None) };
    let (value, said) = raw.parts();
    if Bytes(value) > MEMORY_MAX {
        possible(FIELD, Bytes(value))?;
    }
    Ok(Some(Sourced {
        value: Bytes(value).min(total),
        source: source(FIELD, said)?,
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &serde_json::Value) -> Result<Machine, MachineFileError> {
        Machine::from_json(value.to_string().as_bytes())
    }

    #[test]
    fn the_least_that_a_file_may_say() {
        let machine = read(&json!({
            "memory": { "totalBytes": 17_179_869_184_u64 },
            "devices": [{ "kind": "discrete", "totalBytes": 8_589_934_592_u64, "backends": ["cuda", "warp"] }],
            "notes": [{ "code": "fromTheFuture", "params": { "x": 1 } }, { "code": "wsl", "params": {} }],
        }))
        .unwrap();
        assert_eq!(machine.memory.available, Bytes::gib(16));
        assert_eq!(machine.class, Class::Discrete);
        let device = &machine.devices[0];
        assert_eq!((device.id.as_str(), device.free), ("device-0", Bytes::gib(8)));
        assert_eq!(
            device.backends,
            [Backend::Cuda],
            "a backend of the future is left out"
        );
        assert_eq!(machine.notes, [Note::Wsl {}]);
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let machine = read(&json!({
            "os": { "name": "linux", "version": "12", "arch": "x86_64" },
            "cpu": { "name": "Ryzen", "physicalCores": 16, "logicalCores": 32, "features": ["avx2"] },
            "memory": { "totalBytes": 1 << 30, "availableBytes": 1 << 29, "source": "/proc/meminfo",
                        "bandwidthBytesPerS": { "value": 80_000_000_000_u64, "source": "table" } },
            "devices": [{ "id": "gpu", "name": "Radeon 8060S", "vendor": "AMD", "kind": "unified", "freeBytes": 1,
                          "totalBytes": 1 << 29, "dedicatedBytes": 1 << 28, "backends": ["vulkan", "rocm"],
                          "bandwidthBytesPerS": 256_000_000_000_u64 }],
            "class": "unified",
            "notes": [{ "code": "cpuLimited", "params": { "usable": 2, "logical": 32 } }],
        }))
        .unwrap();
        assert_eq!(machine.devices[0].shared_with_ram(), Bytes(1 << 28));
        let written = serde_json::to_vec(&machine).unwrap();
        assert_eq!(Machine::from_json(&written).unwrap(), machine);
        let text = String::from_utf8(written).unwrap();
        for field in [
            "totalBytes",
            "availableBytes",
            "bandwidthBytesPerS",
            "physicalCores",
            "\"class\":\"unified\"",
        ] {
            assert!(text.contains(field), "{field} in {text}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_name() {
        let gpu = |more: serde_json::Value| {
            let mut device = json!({ "kind": "unified", "totalBytes": 1 << 30 });
            device
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            json!({ "memory": { "totalBytes": 1_u64 << 31 }, "devices": [device] })
        };
        let table = [
            (
                json!({ "memory": { "totalBytes": 0 } }),
                "memory.totalBytes is 0, which no machine has",
            ),
            (
                json!({ "memory": { "totalBytes": 1_u64 << 60 } }),
                "memory.totalBytes is 1152921504606846976, which no",
            ),
            (json!({ "memory": { "totalBytes": -5 } }), "this is no machine"),
            (json!({ "memory": {} }), "this is no machine"),
            (json!([]), "this is no machine"),
            (
                json!({ "schema": 9, "memory": { "totalBytes": 1 } }),
                "the file has form 9, newer than 1",
            ),
            (
                json!({ "memory": { "totalBytes": 5, "availableBytes": 6 } }),
                "memory.availableBytes is 6 B, more than",
            ),
            (
                json!({ "cpu": { "logicalCores": 1_000_000 }, "memory": { "totalBytes": 5 } }),
                "cpu.logicalCores is 1000000",
            ),
            (
                gpu(json!({ "totalBytes": 1_u64 << 32 })),
                "devices[0].totalBytes is 4 GB, more than memory.totalBytes, 2 GB",
            ),
            (
                gpu(json!({ "freeBytes": 1_u64 << 31 })),
                "devices[0].freeBytes is 2 GB",
            ),
            (
                gpu(json!({ "bandwidthBytesPerS": 0 })),
                "devices[0].bandwidthBytesPerS is 0",
            ),
            (
                gpu(json!({ "name": "x".repeat(600) })),
                "devices[0].name is longer than 512",
            ),
            (gpu(json!({ "kind": "quantum" })), "this is no machine"),
            (
                json!({ "class": "discrete", "memory": { "totalBytes": 5 } }),
                "the class is said to be Discrete",
            ),
        ];
        for (file, why) in table {
            let error = read(&file).expect_err(&file.to_string()).to_string();
            assert!(error.starts_with(why), "{error:?} instead of {why:?}");
        }
        let twins = json!({ "id": "a", "kind": "discrete", "totalBytes": 5 });
        let twins = json!({ "memory": { "totalBytes": 5 }, "devices": [twins, twins] });
        assert!(matches!(read(&twins), Err(MachineFileError::TwoDevices { .. })));
    }
}
