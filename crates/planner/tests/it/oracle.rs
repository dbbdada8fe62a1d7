//! What `llama-fit-params -fitp on` of b11434 answered, recorded by `scripts/record-oracle`.

use std::fmt::Write as _;

use plimsoll_hardware::Cpu;
use plimsoll_planner::memory::{HostCpu, Kinds, Load, MemoryBackend, Pool, breakdown};
use plimsoll_planner::{Outputs, Release, Shape};
use plimsoll_units::Bytes;
use serde_json::Value as Json;

use crate::machines::{Fixture, fixtures};

fn number(json: &Json, key: &str) -> u32 {
    u32::try_from(json[key].as_u64().unwrap()).unwrap()
}

fn load_of(case: &Json) -> Load {
    Load {
        context: number(case, "context"),
        slots: number(case, "slots"),
        // llama-fit-params gives every slot a cache of its own, and cannot be told otherwise.
        unified: number(case, "slots") == 1,
        key_type: case["keys"].as_str().unwrap().parse().unwrap(),
        value_type: case["values"].as_str().unwrap().parse().unwrap(),
        batch: number(case, "batch"),
        ubatch: number(case, "ubatch"),
        flash_attention: case["flash"].as_bool().unwrap_or(true),
        outputs: Outputs::Bench,
        gpu_layers: case["gpuLayers"]
            .as_u64()
            .map_or(u32::MAX, |n| u32::try_from(n).unwrap()),
        tensor_split: case["split"].as_array().map_or_else(Vec::new, |shares| {
            shares.iter().map(|share| share.as_f64().unwrap()).collect()
        }),
        host_experts: case["hostExperts"]
            .as_u64()
            .map_or(0, |n| u32::try_from(n).unwrap()),
        rollback: 0,
    }
}

#[derive(Default)]
struct Worst {
    mib: f64,
    at: String,
}

impl Worst {
    fn hear(&mut self, off: f64, at: impl FnOnce() -> String) {
        if off.abs() > self.mib {
            self.mib = off.abs();
            self.at = at();
        }
    }
}

/// Printed figures are cut to whole MiB; the nearest value that would print so counts.
fn off(planned: Bytes, printed: &Json) -> f64 {
    let planned = planned.as_mib();
    let printed = printed.as_f64().unwrap();
    planned - planned.clamp(printed, printed + 0.999)
}

/// The processor that the answers were recorded on: it decides which weights are repacked.
fn processor(fixture: &Fixture) -> HostCpu {
    let features = fixture.json["cpu"].as_array().unwrap();
    let features = features
        .iter()
        .map(|feature| feature.as_str().unwrap().to_owned())
        .collect();
    HostCpu::of(
        &Cpu {
            features,
            ..Cpu::default()
        },
        "x86_64",
    )
}

#[test]
fn every_recorded_answer_is_met() {
    let mut table = String::new();
    let mut cases = 0;
    let mut beyond = Vec::new();
    let mut of_all: [Worst; 4] = Default::default();
    for fixture in fixtures() {
        let shape = fixture.shape();
        assert!(shape.is_known(), "{} is recorded and not claimed", fixture.name);
        let cpu = processor(fixture);
        let mut worst: [Worst; 5] = Default::default();
        for case in fixture.json["cases"].as_array().unwrap() {
            cases += 1;
            let told = compare(&shape, case, cpu, &mut worst);
            beyond.extend(told.into_iter().map(|text| format!("{}: {text}", fixture.name)));
        }
        for (all, own) in of_all.iter_mut().zip(&worst) {
            all.hear(own.mib, || format!("{} at {}", fixture.name, own.at));
        }
        let figures: Vec<String> = worst.iter().map(|worst| format!("{:7.3}", worst.mib)).collect();
        let name = fixture.name.trim_end_matches(".gguf");
        writeln!(
            table,
            "{:16} {name:32} {}  {}",
            shape.architecture,
            figures.join(" "),
            worst[4].at
        )
        .unwrap();
    }
    println!("{cases} answers of b11434; worst difference in MiB");
    println!(
        "{:49} weights context compute repack  compute to two decimals",
        ""
    );
    println!("{table}");
    for (kind, worst) in ["weights", "context", "compute", "repack"].iter().zip(&of_all) {
        println!("worst of all, {kind}: {:.3} MiB, {}", worst.mib, worst.at);
    }
    assert!(
        cases >= 2_000,
        "only {cases} answers are held against the planner"
    );
    assert!(
        beyond.is_empty(),
        "{} of {cases} beyond 0.1 % or 2 MiB:\n{}",
        beyond.len(),
        beyond.iter().take(400).cloned().collect::<Vec<_>>().join("\n")
    );
}

/// 0.1 % of what was printed, at least 2 MiB.
fn allowed(printed: &Json) -> f64 {
    (printed.as_f64().unwrap() / 1e3).max(2.0)
}

fn compare(shape: &Shape, case: &Json, cpu: HostCpu, worst: &mut [Worst; 5]) -> Vec<String> {
    let free = case["devices"].as_array().unwrap();
    let pools: Vec<Pool> = free
        .iter()
        .map(|free| Pool {
            backend: MemoryBackend::Rpc,
            free: Bytes::mib(free.as_u64().unwrap()),
        })
        .collect();
    let told = breakdown(shape, &load_of(case), &pools, cpu, Release::CHECKED);
    let rows: Vec<&Kinds> = told.devices.iter().chain([&told.host]).collect();
    let mut beyond = Vec::new();
    let setting = || {
        let mut case = case.clone();
        case.as_object_mut()
            .unwrap()
            .retain(|key, _| key != "rows" && key != "compute" && key != "repacked");
        case.to_string()
    };
    for (place, (planned, printed)) in rows.iter().zip(case["rows"].as_array().unwrap()).enumerate() {
        for (kind, bytes) in [planned.weights, planned.context, planned.compute]
            .into_iter()
            .enumerate()
        {
            let off = off(bytes, &printed[kind]);
            worst[kind].hear(off, setting);
            if off.abs() > allowed(&printed[kind]) {
                beyond.push(format!(
                    "place {place}, kind {kind}: {} for {printed} at {}",
                    bytes.as_mib(),
                    setting()
                ));
            }
        }
        let exact = planned.compute.as_mib() - case["compute"][place].as_f64().unwrap();
        worst[4].hear(exact, || format!("{exact:+.3} at {}", setting()));
    }
    let off = off(told.repacked, &case["repacked"]);
    worst[3].hear(off, setting);
    // Two buffer types are printed cut to whole MiB each.
    if off.abs() > 2.0 {
        beyond.push(format!(
            "repacked: {} for {} at {}",
            told.repacked.as_mib(),
            case["repacked"],
            setting()
        ));
    }
    beyond
}

/// Seen in the logs of llama-server itself, with the real files and every kind of slot: (build, model, context,
/// slots, cache type, KV, compute) in MiB, batch 128, on the host.
#[test]
fn a_real_server_allocates_what_is_planned() {
    let seen = [
        (11_434, "SmolLM2", 4096, 1, "f16", 90.0, 4.66),
        (11_434, "Qwen2.5-Coder", 4096, 1, "f16", 48.0, 10.32),
        (11_434, "gemma-3-270m", 4096, 1, "f16", 23.25, 5.76),
        (10_434, "SmolLM2", 4096, 1, "f16", 90.0, 4.38),
        (10_434, "Qwen2.5-Coder", 4096, 1, "f16", 48.0, 9.88),
        (10_434, "gemma-3-270m", 4096, 1, "f16", 23.25, 5.63),
        (10_434, "SmolLM2", 16_384, 4, "q8_0", 191.25, 7.13),
        (10_434, "Qwen2.5-Coder", 16_384, 4, "q8_0", 102.0, 12.47),
        (10_434, "gemma-3-270m", 16_384, 4, "q8_0", 43.43, 9.54),
    ];
    for (build, model, context, slots, kind, kv, compute) in seen {
        let load = Load {
            context,
            slots,
            unified: true,
            key_type: kind.parse().unwrap(),
            value_type: kind.parse().unwrap(),
            batch: 128,
            ubatch: 128,
            flash_attention: true,
            outputs: Outputs::Server,
            gpu_layers: 0,
            tensor_split: Vec::new(),
            host_experts: 0,
            rollback: 0,
        };
        let shape = crate::machines::fixture(model).shape();
        let told = breakdown(&shape, &load, &[], HostCpu::plain(), Release { build }).host;
        assert!(
            (told.context.as_mib() - kv).abs() < 0.01,
            "{model} {context} {slots}: {}",
            told.context.as_mib()
        );
        assert!(
            (told.compute.as_mib() - compute).abs() < 0.01,
            "{model} {build}: {}",
            told.compute.as_mib()
        );
    }
}
