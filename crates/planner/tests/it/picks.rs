//! What is recommended where, as a table: a change of a rule shows here.

use std::fmt::Write as _;

use plimsoll_catalog::Catalog;
use plimsoll_hardware::Machine;
use plimsoll_planner::{Recommendation, Situation, Verdict, Why, recommend};
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

fn codes(why: &[Why]) -> String {
    why.iter().map(|why| why.say().0).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_class_of_machine_gets_a_sensible_pick() {
    let machines = [
        ("1 GiB, 1 core", processor_only(1, 1, Some(5_000_000_000))),
        ("4 GiB, 2 cores", processor_only(4, 2, Some(12_000_000_000))),
        ("8 GiB, 4 cores", processor_only(8, 4, Some(30_000_000_000))),
        ("24 GiB, 2 cores", processor_only(24, 2, Some(15_000_000_000))),
        ("24 GiB, 2 cores, not measured", processor_only(24, 2, None)),
        ("32 GiB, 8 cores", processor_only(32, 8, Some(60_000_000_000))),
        ("64 GiB, 16 cores", processor_only(64, 16, Some(80_000_000_000))),
        ("GTX 1650", with_card("NVIDIA GeForce GTX 1650", 4096, 3800, 16)),
        ("RTX 4060", with_card("NVIDIA GeForce RTX 4060", 8188, 7700, 32)),
        (
            "RTX 4060, little RAM",
            with_card("NVIDIA GeForce RTX 4060", 8188, 7700, 8),
        ),
        (
            "RTX 3060",
            with_card("NVIDIA GeForce RTX 3060", 12_288, 11_700, 32),
        ),
        (
            "RTX 4080",
            with_card("NVIDIA GeForce RTX 4080", 16_376, 15_700, 64),
        ),
        (
            "RTX 4090",
            with_card("NVIDIA GeForce RTX 4090", 24_564, 23_900, 64),
        ),
        (
            "two RTX 3090",
            devices("NVIDIA GeForce RTX 3090", 2, 24, "discrete", "cuda", 64),
        ),
        (
            "RX 7900 XTX",
            devices("AMD Radeon RX 7900 XTX", 1, 24, "discrete", "vulkan", 32),
        ),
        ("M1, 8 GiB", devices("Apple M1", 1, 5, "unified", "metal", 8)),
        (
            "M3 Max, 64 GiB",
            devices("Apple M3 Max", 1, 48, "unified", "metal", 64),
        ),
        (
            "Strix Halo, 128 GiB",
            devices("AMD Radeon 8060S", 1, 120, "unified", "vulkan", 128),
        ),
        (
            "eight H200",
            devices("NVIDIA H200", 8, 141, "discrete", "cuda", 1024),
        ),
    ];
    let mut table = String::new();
    for (name, machine) in &machines {
        let told = ask(machine, &|_, _| false);
        let pick = told.pick.as_ref().unwrap();
        assert_ne!(pick.plan.verdict, Verdict::TooBig, "{name}");
        let settings = &pick.plan.settings;
        writeln!(
            table,
            "{name}: {} {} {:?} {} {} | {}",
            pick.model,
            pick.quant,
            pick.plan.verdict,
            settings.context,
            settings.key_type,
            codes(&told.why)
        )
        .unwrap();
    }
    insta::assert_snapshot!(table, @r"
    1 GiB, 1 core: lfm2.5-vl-450m Q4_K_M Fits 8192 f16 | bestFit turnTime
    4 GiB, 2 cores: gemma-3-1b-it Q4_K_M Fits 32768 f16 | bestFit turnTime
    8 GiB, 4 cores: granite-4.0-h-tiny Q4_K_M Fits 32768 f16 | bestFit turnTime
    24 GiB, 2 cores: granite-4.0-h-tiny Q4_K_M Fits 32768 f16 | bestFit turnTime
    24 GiB, 2 cores, not measured: granite-4.0-h-tiny Q4_K_M Fits 32768 f16 | bestFit
    32 GiB, 8 cores: qwen3.6-35b-a3b UD-Q4_K_M Fits 32768 f16 | bestFit turnTime
    64 GiB, 16 cores: qwen3-coder-next Q4_K_M Fits 32768 f16 | bestFit turnTime
    GTX 1650: qwen3-30b-a3b-instruct-2507 Q3_K_M Spills 16384 f16 | bestFit turnTime
    RTX 4060: qwen3.6-35b-a3b UD-Q4_K_M Spills 32768 f16 | bestFit turnTime
    RTX 4060, little RAM: qwen3.5-9b IQ4_XS Fits 32768 f16 | bestFit turnTime
    RTX 3060: qwen3.6-35b-a3b UD-Q4_K_M Spills 32768 f16 | bestFit turnTime
    RTX 4080: qwen3.6-35b-a3b UD-Q4_K_M Spills 32768 f16 | bestFit turnTime
    RTX 4090: qwen3.6-35b-a3b UD-Q4_K_M Fits 32768 f16 | bestFit turnTime
    two RTX 3090: qwen3.6-35b-a3b UD-Q4_K_M Fits 32768 f16 | bestFit turnTime
    RX 7900 XTX: qwen3.6-35b-a3b UD-Q4_K_M Fits 32768 f16 | bestFit turnTime
    M1, 8 GiB: qwen3-4b-instruct-2507 Q4_0 Fits 24576 q8_0 | bestFit turnTime
    M3 Max, 64 GiB: qwen3.6-35b-a3b UD-Q4_K_M Fits 32768 f16 | bestFit turnTime
    Strix Halo, 128 GiB: qwen3.6-35b-a3b UD-Q4_K_M Fits 32768 f16 | bestFit turnTime
    eight H200: deepseek-v4-flash UD-Q4_K_XL Fits 32768 f16 | bestFit turnTime
    ");
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
    // Only the tail of a long list of alternatives is left out.
    let missing = Catalog::packaged()
        .unwrap()
        .models()
        .filter(|model| !seen.contains(&model.id.as_str()));
    assert!(missing.count() == 0 || told.alternatives.len() == 6);
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
    assert!(!told.why.iter().any(|why| matches!(why, Why::TurnTime { .. })));
}
