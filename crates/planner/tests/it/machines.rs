//! Machines and models for tests.

use std::sync::OnceLock;

use plimsoll_gguf::{Array, Header, Metadata, Tensor, TensorType, Value};
use plimsoll_hardware::Machine;
use plimsoll_planner::{Plan, Shape, Situation, Wishes, plan};
use plimsoll_units::Bytes;
use serde_json::{Value as Json, json};

pub(crate) const GIB: u64 = 1 << 30;

pub(crate) fn machine(json: &Json) -> Machine {
    Machine::from_json(json.to_string().as_bytes()).unwrap()
}

/// A desktop with one card; sizes in MiB.
pub(crate) fn with_card(name: &str, total: u64, free: u64, ram_gib: u64) -> Machine {
    machine(&json!({
        "os": { "name": "linux", "version": "12", "arch": "x86_64" },
        "cpu": { "name": "some processor", "physicalCores": 8, "logicalCores": 16, "features": ["avx2"] },
        "memory": { "totalBytes": ram_gib * GIB, "availableBytes": ram_gib * GIB * 9 / 10,
                    "bandwidthBytesPerS": { "value": 60_000_000_000_u64, "source": "test" } },
        "devices": [{ "id": "gpu0", "name": name, "vendor": "NVIDIA", "kind": "discrete", "backends": ["cuda"],
                      "totalBytes": total << 20, "freeBytes": free << 20 }],
    }))
}

/// A machine without a device.
pub(crate) fn processor_only(ram_gib: u64, cores: u32, bandwidth: Option<u64>) -> Machine {
    let mut json = json!({
        "os": { "name": "linux", "version": "12", "arch": "x86_64" },
        "cpu": { "name": "some processor", "physicalCores": cores, "logicalCores": cores, "features": ["avx2"] },
        "memory": { "totalBytes": ram_gib * GIB, "availableBytes": ram_gib * GIB * 9 / 10 },
    });
    if let Some(bandwidth) = bandwidth {
        json["memory"]["bandwidthBytesPerS"] = json!({ "value": bandwidth, "source": "test" });
    }
    machine(&json)
}

pub(crate) fn make(shape: &Shape, machine: &Machine, wishes: &Wishes) -> Plan {
    plan(shape, &Situation::of(machine, None), wishes).unwrap()
}

pub(crate) fn codes(plan: &Plan) -> Vec<&'static str> {
    plan.why.iter().map(|why| why.say().0).collect()
}

pub(crate) fn context(context: u32) -> Wishes {
    Wishes {
        context: Some(context),
        ..Wishes::default()
    }
}

pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) json: Json,
}

/// The recorded answers, model by model.
pub(crate) fn fixtures() -> &'static [Fixture] {
    static FIXTURES: OnceLock<Vec<Fixture>> = OnceLock::new();
    FIXTURES.get_or_init(|| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/oracle");
        let mut paths: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        let read = |path: std::path::PathBuf| {
            let json: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            Fixture {
                name: json["model"].as_str().unwrap().to_owned(),
                json,
            }
        };
        paths.into_iter().map(read).collect()
    })
}

pub(crate) fn fixture(name: &str) -> &'static Fixture {
    fixtures()
        .iter()
        .find(|fixture| fixture.name.starts_with(name))
        .unwrap()
}

impl Fixture {
    pub(crate) fn shape(&self) -> Shape {
        Shape::from_header(&self.header()).unwrap()
    }

    /// The header as the file had it, but for words and templates.
    pub(crate) fn header(&self) -> Header {
        let mut metadata = Metadata::default();
        for (key, value) in self.json["metadata"].as_object().unwrap() {
            metadata.insert(key.clone(), value_of(value));
        }
        let mut tensors = Vec::new();
        for group in self.json["tensors"].as_array().unwrap() {
            let (name, layers) = (group[0].as_str().unwrap(), group[3].as_str().unwrap());
            let kind = TensorType::from_name(group[2].as_str().unwrap()).unwrap();
            let mut dims = [1; 4];
            for (dim, given) in dims.iter_mut().zip(group[1].as_array().unwrap()) {
                *dim = given.as_u64().unwrap();
            }
            let bytes = Tensor::size(name, dims, kind).unwrap();
            for layer in numbers(layers) {
                let name = name.replace('*', &layer);
                tensors.push(Tensor {
                    name,
                    dims,
                    kind,
                    offset: Bytes::ZERO,
                    bytes,
                    part: 0,
                });
            }
        }
        let file_bytes = Bytes(self.json["bytes"].as_u64().unwrap());
        Header {
            version: 3,
            metadata,
            tensors,
            data_offset: Bytes::ZERO,
            file_bytes,
        }
    }
}

fn value_of(json: &Json) -> Value {
    match json {
        Json::Bool(yes) => Value::Bool(*yes),
        Json::Number(n) => n
            .as_u64()
            .map_or_else(|| Value::Float(n.as_f64().unwrap()), Value::Unsigned),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::Array(Array {
            len: items.len() as u64,
            items: items.iter().map(value_of).collect(),
        }),
        Json::Object(counted) => Value::Array(Array {
            len: counted["items"].as_u64().unwrap(),
            items: Vec::new(),
        }),
        Json::Null => panic!("no metadata is null"),
    }
}

/// `0-2 5` → 0, 1, 2, 5; nothing → one empty name.
fn numbers(ranges: &str) -> Vec<String> {
    if ranges.is_empty() {
        return vec![String::new()];
    }
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        from.parse::<u32>().unwrap()..=to.parse::<u32>().unwrap()
    };
    ranges.split(' ').flat_map(range).map(|n| n.to_string()).collect()
}
