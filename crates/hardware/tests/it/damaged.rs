//! Whatever happened to a recording on its way, judging it ends, and never in more memory than the machine has.

use plimsoll_hardware::{Facts, Machine, judge};
use plimsoll_units::Bytes;
use proptest::prelude::*;
use serde_json::Value;

use crate::recordings::all;
use crate::reports::reports;

/// What may happen to one place of a record.
#[derive(Debug, Clone)]
enum Damage {
    Gone,
    Cut(usize),
    Huge(u64),
    Text(String),
    Null,
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        Just(Damage::Gone),
        (0usize..20).prop_map(Damage::Cut),
        // What is too large to be true; a wrong number that could be true cannot be told from a right one.
        (1u64 << 51..=u64::MAX).prop_map(Damage::Huge),
        "\\PC{0,24}".prop_map(Damage::Text),
        Just(Damage::Null),
    ]
}

/// Every leaf and branch of the document, by number.
fn damage_place(value: &mut Value, place: &mut usize, damage: &Damage) -> bool {
    if *place == 0 {
        *value = match (damage, value.take()) {
            (Damage::Gone | Damage::Null, _) => Value::Null,
            (Damage::Cut(n), Value::String(text)) => Value::String(text.chars().take(*n).collect()),
            (Damage::Cut(n), Value::Array(mut list)) => {
                list.truncate(*n / 4);
                Value::Array(list)
            }
            (Damage::Cut(_), Value::Number(number)) => (number.as_u64().unwrap_or(0) / 10).into(),
            (Damage::Huge(n), Value::String(text)) => {
                let digits = |c: char| c.is_ascii_digit();
                let at = text.find(digits);
                // The first number of the line, with its unit, as a bit flip or a new format would change it.
                Value::String(at.map_or_else(
                    || n.to_string(),
                    |at| format!("{}{n}{}", &text[..at], text[at..].trim_start_matches(digits)),
                ))
            }
            (Damage::Huge(n), Value::Number(_)) => (*n).into(),
            (Damage::Text(text), Value::String(_)) => Value::String(text.clone()),
            (_, other) => other,
        };
        return true;
    }
    *place -= 1;
    match value {
        Value::Array(list) => list.iter_mut().any(|inner| damage_place(inner, place, damage)),
        Value::Object(map) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            for key in keys {
                if *place == 0 && matches!(damage, Damage::Gone) {
                    map.remove(&key);
                    return true;
                }
                if map
                    .get_mut(&key)
                    .is_some_and(|inner| damage_place(inner, place, damage))
                {
                    return true;
                }
            }
            false
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// RAM and the largest device, before any damage; the RAM without the limit of a group. A report's sources round
/// differently, and where one is gone another counts.
fn truth(facts: &Facts) -> (Bytes, Bytes) {
    let mut free_of_groups = facts.clone();
    free_of_groups
        .facts
        .retain(|key, _| !key.starts_with("/sys/fs/cgroup"));
    // A container's limit stands in a line of its tool.
    for lines in free_of_groups.facts.values_mut() {
        lines.retain(|line| !line.contains("docker"));
    }
    free_of_groups.variables.clear();
    let machine = judge(&free_of_groups);
    let largest = machine
        .devices
        .iter()
        .map(|device| device.total)
        .max()
        .unwrap_or_default();
    let slack = |bytes: Bytes| {
        if facts.schema == 0 {
            Bytes(bytes.0 / 8 * 9)
        } else {
            bytes
        }
    };
    (
        slack(machine.memory.total),
        slack(largest.max(machine.memory.total)),
    )
}

fn reads_back(machine: &Machine) -> bool {
    machine.memory.total == Bytes::ZERO
        || Machine::from_json(&serde_json::to_vec(machine).unwrap()).is_ok_and(|read| read == *machine)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_damage_makes_memory(which: prop::sample::Index, hits in prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..6)) {
        let all = all_cached();
        let (name, facts, (ram, largest)) = &all[which.index(all.len())];
        let mut document = serde_json::to_value(facts).unwrap();
        for (place, damage) in &hits {
            damage_place(&mut document, &mut place.index(160), damage);
        }
        if let Ok(facts) = serde_json::from_value::<Facts>(document) {
            let machine = judge(&facts);
            prop_assert!(reads_back(&machine), "{name}: {machine:?}");
            // A report without the size of the RAM has no truth to hold this against.
            if *ram > Bytes::ZERO {
                prop_assert!(machine.memory.total <= *ram, "{name}: RAM {} of {ram}", machine.memory.total);
                for device in &machine.devices {
                    prop_assert!(device.total <= *largest, "{name}: {} of {largest}", device.total);
                }
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(facts in prop::collection::btree_map(
        "/sys/bus/pci/devices/0000:01:00.0/(vendor|device|class|driver|render|resource|mem_info_vram_total|mem_info_gtt_total)|/proc/(meminfo|cpuinfo)|/sys/fs/cgroup/memory.(max|stat|current)|lscpu|vulkaninfo --summary|vulkaninfo|nvidia-smi|nvidia-smi -q|rocminfo|log|dxdiag|dmidecode -t 17|free -h|docker inspect",
        prop::collection::vec("\\PC{0,30}|\\| +0 +NVIDIA \\PC{0,9} Off \\| 0000:01:00.0 Off \\||Device 0: \\PC{0,9}, VRAM: [0-9]{0,25} MiB|Vulkan0: \\PC{0,9} \\([0-9]{0,25} MiB, [0-9]{0,9} MiB free\\)|\\PC{0,9}RTX 3090 \\PC{0,9}GB RAM\\PC{0,9}|memoryHeaps\\[[0-9]{1,25}\\]:|size = [0-9]{1,25} \\(|GPU\\[[0-9]{1,12}\\]: VRAM Total Memory \\(B\\): [0-9]{1,25}|0x(1002|8086|10de|e20b|1586)|MemTotal: [0-9]{0,25} kB|[0-9]{0,25}|amdgpu|xe", 0..4), 0..12)) {
        let facts = Facts { os: "linux".into(), facts, ..Facts::default() };
        prop_assert!(reads_back(&judge(&facts)));
    }
}

type Known = (String, Facts, (Bytes, Bytes));

fn all_cached() -> &'static [Known] {
    static ALL: std::sync::OnceLock<Vec<Known>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| {
        let with_truth = |(name, facts)| {
            let truth = truth(&facts);
            (name, facts, truth)
        };
        let reports = reports().into_iter().map(|(report, facts)| (report.id, facts));
        all().into_iter().chain(reports).map(with_truth).collect()
    })
}
