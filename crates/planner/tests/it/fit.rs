//! Two hundred random machines: what the plan takes is there, and it spills no more than llama.cpp's own `--fit`.

use plimsoll_hardware::Machine;
use plimsoll_planner::memory::{Breakdown, HostCpu, Load, MemoryBackend, Pool, breakdown};
use plimsoll_planner::{DeviceUse, Outputs, Plan, Release, Shape, Situation, Verdict, Wishes, plan};
use plimsoll_units::Bytes;
use serde_json::{Value as Json, json};

use crate::machines::{fixture, machine};

/// Devices as the stand-in has them: remote ones, because that is what speaks its protocol.
fn place(row: &Json) -> Machine {
    let devices: Vec<Json> = row["devices"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(number, free)| {
            let bytes = free.as_u64().unwrap() << 20;
            json!({ "id": format!("remote{number}"), "name": "stand-in", "vendor": "", "kind": "remote",
                    "backends": ["rpc"], "totalBytes": bytes, "freeBytes": bytes,
                    "bandwidthBytesPerS": 400_000_000_000_u64 })
        })
        .collect();
    machine(&json!({
        "os": { "name": "linux", "version": "12", "arch": "x86_64" },
        "cpu": { "name": "some processor", "physicalCores": 16, "logicalCores": 32, "features": ["avx2"] },
        "memory": { "totalBytes": 256_u64 << 30, "bandwidthBytesPerS": 60_000_000_000_u64 },
        "devices": devices,
    }))
}

/// What the plan's own settings take, by llama.cpp's rules.
fn taken(shape: &Shape, plan: &Plan, free: &[Bytes]) -> Breakdown {
    let settings = &plan.settings;
    let pools: Vec<Pool> = match settings.devices {
        DeviceUse::None => Vec::new(),
        DeviceUse::One(number) => vec![free[number as usize]],
        DeviceUse::All => free.to_vec(),
    }
    .into_iter()
    .map(|free| Pool {
        backend: MemoryBackend::Rpc,
        free,
    })
    .collect();
    let load = Load {
        context: settings.context,
        slots: settings.slots,
        unified: true,
        key_type: settings.key_type,
        value_type: settings.value_type,
        batch: settings.batch,
        ubatch: settings.ubatch,
        flash_attention: true,
        outputs: Outputs::Server,
        gpu_layers: settings.gpu_layers,
        tensor_split: settings.tensor_split.clone(),
        host_experts: settings.host_expert_layers,
        rollback: 0,
    };
    breakdown(shape, &load, &pools, HostCpu::plain(), Release::CHECKED)
}

#[test]
fn no_plan_fits_that_does_not_and_none_spills_more_than_fit() {
    let rows: Vec<Json> = serde_json::from_slice(include_bytes!("../fixtures/fit.json")).unwrap();
    assert_eq!(rows.len(), 200);
    let (mut planned, mut better, mut equal) = (0, 0, 0);
    let mut worse = Vec::new();
    for row in &rows {
        let shape = fixture(row["model"].as_str().unwrap()).shape();
        let here = place(row);
        let context = row["context"].as_u64().map(|n| u32::try_from(n).unwrap());
        let wishes = Wishes {
            context,
            ..Wishes::default()
        };
        let plan = plan(&shape, &Situation::of(&here, None), &wishes).unwrap();
        let free: Vec<Bytes> = row["devices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|mib| Bytes::mib(mib.as_u64().unwrap()))
            .collect();
        if plan.verdict == Verdict::TooBig {
            continue;
        }
        planned += 1;
        let took = taken(&shape, &plan, &free);
        let used: Vec<Bytes> = match plan.settings.devices {
            DeviceUse::None => Vec::new(),
            DeviceUse::One(number) => vec![free[number as usize]],
            DeviceUse::All => free.clone(),
        };
        for (kinds, &free) in took.devices.iter().zip(&used) {
            assert!(
                kinds.total() <= free,
                "{} of {free} in {:?} for {row}",
                kinds.total(),
                plan.settings
            );
        }
        let Some(rows) = row["fit"]["rows"].as_array() else {
            continue;
        };
        // What is not on devices is on the host, part of it repacked and not in its row.
        let on_devices = rows.split_last().unwrap().1.iter();
        let theirs: u64 = on_devices.map(|row| row[0].as_u64().unwrap()).sum();
        let ours = took
            .devices
            .iter()
            .map(|kinds| kinds.weights.0 >> 20)
            .sum::<u64>();
        let their_context = u32::try_from(row["fit"]["context"].as_u64().unwrap()).unwrap();
        // Ours is no longer than useful unless asked for; within that it may not be shorter.
        let wanted = their_context.min(32_768);
        let spills_less = ours > theirs + 8;
        let spills_more = ours + ours / 50 + 8 < theirs;
        if !spills_more && plan.settings.context >= wanted {
            if spills_less || plan.settings.context > their_context {
                better += 1;
            } else {
                equal += 1;
            }
        } else if spills_less || plan.settings.context > their_context {
            // One is given for the other: a context that can be used, or layers that stay.
            better += 1;
        } else {
            worse.push(format!(
                "{row}: {} MiB on devices for {theirs}, context {} for {their_context}, {:?}",
                ours, plan.settings.context, plan.settings
            ));
        }
    }
    println!(
        "{planned} of 200 planned: {equal} like --fit, {better} better, {} worse",
        worse.len()
    );
    assert!(planned > 150, "{planned}");
    assert!(
        worse.len() <= planned / 20,
        "{} worse:\n{}",
        worse.len(),
        worse.join("\n")
    );
}
