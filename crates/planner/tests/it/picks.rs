//! What is recommended where, as a table: a change of a rule shows here.

use std::fmt::Write as _;

use plimsoll_catalog::Catalog;
use plimsoll_hardware::Machine;
use plimsoll_planner::{Engine, Recommendation, Release, Situation, Verdict, Why, WhyParam, recommend};
use serde_json::json;

use crate::machines::{GIB, machine, processor_only, with_card};

fn devices(name: &str, count: usize, gib: u64, kind: &str, backend: &str, ram_gib: u64) -> Machine {
    let device = |number: usize| {
        json!({ "id": format!("d{number}"), "name": name, "kind": kind, "backends": [backend],
                "totalBytes": gib * GIB, "freeBytes": gib * GIB * 96 / 100 })
    };
    machine(&json!({
        "os": { "name": "linux", "version": "", "arch": "x86_64" },
        "cpu": { "name": "c", "physicalCores": 8, "logicalCores": 16, "features": ["avx2"] },
        "memory": { "totalBytes": ram_gib * GIB, "availableBytes": ram_gib * GIB * 9 / 10,
                    "bandwidthBytesPerS": 60_000_000_000_u64 },
        "devices": (0..count).map(device).collect::<Vec<_>>(),
    }))
}

fn ask(machine: &Machine, on_disk: &dyn Fn(&str, &str) -> bool) -> Recommendation {
    let catalog = Catalog::packaged().unwrap();
    recommend(&Situation::of(machine, Some(catalog)), catalog, on_disk)
}

/// The reasons with their parameters, short enough for a table.
fn said(why: &[Why]) -> String {
    let one = |why: &Why| {
        let (code, params) = why.say();
        let params: Vec<String> = params
            .into_iter()
            .map(|(name, value)| match value {
                WhyParam::Whole(n) => format!("{name} {n}"),
                WhyParam::Number(n) => format!("{name} {n:.0}"),
                WhyParam::Text(text) => format!("{name} {text}"),
            })
            .collect();
        if params.is_empty() {
            code.to_owned()
        } else {
            format!("{code}({})", params.join(", "))
        }
    };
    why.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// What decides, of the plan's own reasons.
fn of_plan(why: &[Why]) -> Vec<Why> {
    let decides = |why: &&Why| {
        matches!(
            why,
            Why::ExpertsSpill { .. }
                | Why::LayersSpill { .. }
                | Why::ContextReduced { .. }
                | Why::CacheQuantised { .. }
                | Why::BandwidthUnknown { .. }
        )
    };
    why.iter().filter(decides).cloned().collect()
}

fn cards() -> Vec<(&'static str, Machine)> {
    let card = |name: &str, gib: u64, ram: u64| with_card(name, gib * 1024, gib * 1024 * 96 / 100, ram);
    let nvidia = [
        ("NVIDIA GeForce GTX 1050 Ti", 4, 16),
        ("NVIDIA GeForce GTX 1650", 4, 16),
        ("NVIDIA GeForce GTX 1060", 6, 16),
        ("NVIDIA GeForce RTX 3050", 8, 16),
        ("NVIDIA GeForce RTX 2080", 8, 32),
        ("NVIDIA GeForce RTX 4060", 8, 32),
        ("NVIDIA GeForce RTX 4060", 8, 8),
        ("NVIDIA GeForce RTX 3060", 12, 32),
        ("NVIDIA GeForce RTX 4070", 12, 32),
        ("NVIDIA GeForce RTX 5070", 12, 64),
        ("NVIDIA GeForce RTX 4060 Ti", 16, 32),
        ("NVIDIA GeForce RTX 4080", 16, 64),
        ("NVIDIA GeForce RTX 5080", 16, 64),
        ("NVIDIA GeForce RTX 3090", 24, 64),
        ("NVIDIA GeForce RTX 4090", 24, 64),
        ("NVIDIA GeForce RTX 5090", 32, 96),
        ("NVIDIA RTX PRO 6000", 96, 128),
        ("NVIDIA A100", 80, 256),
        ("NVIDIA H100", 80, 512),
    ];
    nvidia
        .into_iter()
        .map(|(name, gib, ram)| (name, card(name, gib, ram)))
        .collect()
}

fn table_of_machines() -> Vec<(String, Machine)> {
    let processor = |ram, cores, gbs: u64| {
        (
            format!("{ram} GiB, {cores} cores, {gbs} GB/s"),
            processor_only(ram, cores, Some(gbs * 1_000_000_000)),
        )
    };
    let mut all = vec![
        processor(1, 1, 5),
        processor(4, 2, 12),
        processor(4, 4, 20),
        processor(8, 4, 17),
        processor(8, 4, 30),
        processor(16, 8, 50),
        processor(24, 2, 15),
        (
            "24 GiB, 2 cores, not measured".to_owned(),
            processor_only(24, 2, None),
        ),
        processor(32, 8, 60),
        processor(64, 16, 80),
        processor(128, 32, 200),
        processor(512, 64, 400),
    ];
    for (name, machine) in cards() {
        let ram = machine.memory.total.0 / GIB;
        all.push((format!("{name}, {ram} GiB RAM"), machine));
    }
    let others: [(&str, usize, u64, &str, &str, u64); 20] = [
        ("NVIDIA GeForce RTX 3090", 2, 24, "discrete", "cuda", 64),
        ("NVIDIA GeForce RTX 3090", 4, 24, "discrete", "cuda", 128),
        ("NVIDIA H100", 8, 80, "discrete", "cuda", 1024),
        ("NVIDIA H200", 8, 141, "discrete", "cuda", 1024),
        ("NVIDIA GB10", 1, 120, "unified", "cuda", 128),
        ("AMD Radeon RX 6600", 1, 8, "discrete", "vulkan", 16),
        ("AMD Radeon RX 6700 XT", 1, 12, "discrete", "vulkan", 32),
        ("AMD Radeon RX 7800 XT", 1, 16, "discrete", "vulkan", 32),
        ("AMD Radeon RX 7900 XTX", 1, 24, "discrete", "vulkan", 32),
        ("AMD Radeon RX 9070 XT", 1, 16, "discrete", "vulkan", 64),
        ("Intel Arc B580", 1, 12, "discrete", "vulkan", 32),
        ("Intel Arc A770", 1, 16, "discrete", "vulkan", 32),
        ("AMD Radeon 8060S", 1, 60, "unified", "vulkan", 64),
        ("AMD Radeon 8060S", 1, 120, "unified", "vulkan", 128),
        ("Apple M1", 1, 5, "unified", "metal", 8),
        ("Apple M2", 1, 11, "unified", "metal", 16),
        ("Apple M3 Pro", 1, 27, "unified", "metal", 36),
        ("Apple M4 Pro", 1, 36, "unified", "metal", 48),
        ("Apple M4 Max", 1, 96, "unified", "metal", 128),
        ("Apple M2 Ultra", 1, 144, "unified", "metal", 192),
    ];
    for (name, count, gib, kind, backend, ram) in others {
        let many = if count > 1 {
            format!("{count} x ")
        } else {
            String::new()
        };
        all.push((
            format!("{many}{name}, {ram} GiB RAM"),
            devices(name, count, gib, kind, backend, ram),
        ));
    }
    all
}

#[test]
fn every_class_of_machine_gets_a_sensible_pick() {
    let machines = table_of_machines();
    assert!(machines.len() >= 50);
    let mut table = String::new();
    for (name, machine) in &machines {
        let told = ask(machine, &|_, _| false);
        let pick = told.pick.as_ref().unwrap();
        let plan = &pick.plan;
        assert_ne!(plan.verdict, Verdict::TooBig, "{name}");
        // A dense model in slower memory is never our own idea.
        let dense = plan.model.active_parameters == plan.model.parameters;
        assert!(
            plan.verdict == Verdict::Fits || !dense || plan.memory.devices.is_empty(),
            "{name}"
        );
        writeln!(
            table,
            "{name}\n    {}:{} {:?}, context {}, {}\n    {}\n    {}",
            pick.model,
            pick.quant,
            plan.verdict,
            plan.settings.context,
            plan.settings.key_type,
            said(&told.why),
            said(&of_plan(&plan.why)),
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn nothing_fits_where_nothing_can() {
    let told = ask(
        &machine(&json!({ "memory": { "totalBytes": 200 << 20 } })),
        &|_, _| false,
    );
    assert!(told.pick.is_none() && told.alternatives.is_empty());
    let Why::NothingFits { smallest, budget } = told.why[0] else {
        panic!("{:?}", told.why)
    };
    assert!(smallest > budget);
    assert!(matches!(told.why[1], Why::CloudIsBetter { .. }));
    assert!(
        told.rejected
            .iter()
            .any(|rejected| rejected.why == Why::NotForChat),
        "the base model, by its own reason"
    );
}

#[test]
fn what_is_here_already_is_offered_first() {
    let here = |id: &str, _: &str| id == "qwen2.5-coder-0.5b-instruct";
    let told = ask(&with_card("NVIDIA GeForce RTX 4090", 24_564, 23_900, 64), &here);
    let first = &told.alternatives[0];
    assert!(first.pick.on_disk && first.pick.model == "qwen2.5-coder-0.5b-instruct");
    assert_eq!(first.why[0], Why::AlreadyHere);
    assert!(!told.pick.unwrap().on_disk, "better is picked all the same");
}

#[test]
fn every_entry_is_picked_offered_or_rejected_with_a_reason() {
    let told = ask(&with_card("NVIDIA GeForce RTX 4060", 8188, 7700, 16), &|_, _| {
        false
    });
    let mut seen: Vec<&str> = told
        .rejected
        .iter()
        .map(|rejected| rejected.model.as_str())
        .collect();
    seen.extend(
        told.alternatives
            .iter()
            .map(|alternative| alternative.pick.model.as_str()),
    );
    seen.extend(told.pick.iter().map(|pick| pick.model.as_str()));
    let missing: Vec<&str> = Catalog::packaged()
        .unwrap()
        .models()
        .map(|model| model.id.as_str())
        .filter(|id| !seen.contains(id))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(told.alternatives.len() <= 6);
    for rejected in &told.rejected {
        if let Why::WouldSpill { missing } = rejected.why {
            assert!(missing.0 > 0, "{}", rejected.model);
        }
    }
}

#[test]
fn a_speed_that_rests_on_an_assumption_is_not_told() {
    let told = ask(&processor_only(24, 2, None), &|_, _| false);
    let pick = told.pick.unwrap();
    assert_eq!(pick.plan.speed, None);
    assert!(
        pick.plan
            .why
            .iter()
            .any(|why| matches!(why, Why::BandwidthUnknown { .. }))
    );
    assert!(
        !told
            .why
            .iter()
            .any(|why| matches!(why, Why::TurnTime { .. } | Why::StartTime { .. }))
    );
}

#[test]
fn waiting_counts_prefill_included() {
    // Case 22: plenty of memory, but a prompt is read slowly.
    let slow = processor_only(64, 2, Some(40_000_000_000));
    let told = ask(&slow, &|_, _| false);
    let too_slow = |why: &Why| matches!(why, Why::TooSlow { .. } | Why::SlowStart { .. });
    assert!(told.rejected.iter().any(|one| too_slow(&one.why)));
    let pick = told.pick.unwrap();
    let speed = pick.plan.speed.unwrap();
    let turn = speed.turn_seconds(1_024, 256);
    let answer_only = 256.0 / speed.decode.mid;
    assert!(
        turn > answer_only,
        "the prompt counts: {turn} against {answer_only}"
    );
}

#[test]
fn a_model_that_the_engine_does_not_know_yet_is_not_picked() {
    let card = with_card("NVIDIA GeForce RTX 4090", 24_564, 23_900, 64);
    let catalog = Catalog::packaged().unwrap();
    let situation = Situation {
        engine: Engine {
            release: Release { build: 8_000 },
            backends: None,
        },
        ..Situation::of(&card, Some(catalog))
    };
    let told = recommend(&situation, catalog, &|_, _| false);
    let gemma = told
        .rejected
        .iter()
        .find(|one| one.model == "gemma-4-12b-it")
        .unwrap();
    assert_eq!(
        gemma.why,
        Why::NeedsEngine {
            needed: 8_660,
            have: 8_000
        }
    );
}
