//! What a proof shows that the plan did not say, each with its cause and what helps.

use std::collections::BTreeMap;

use plimsoll_units::Bytes;
use plimsoll_wire::{Param, ProofLayers, ProofPart, ProofPool, Reason};

use super::Planned;

/// Below this share, plan and fact count as the same.
const TOLD_FROM: f64 = 0.05;
/// A difference that nobody would notice, however small the part.
const UNNOTICED: Bytes = Bytes::mib(8);

pub(super) struct Seen<'a> {
    pub(super) planned: &'a Planned,
    pub(super) resident: Bytes,
    pub(super) decode: f64,
    pub(super) parts: &'a [ProofPart],
    pub(super) pools: &'a [ProofPool],
    pub(super) layers: Option<ProofLayers>,
}

pub(super) fn of(seen: &Seen) -> Vec<Reason> {
    let mut found = Vec::new();
    placement(seen, &mut found);
    memory(seen, &mut found);
    speed(seen, &mut found);
    found
}

/// A device that was planned and is not used is the one thing that must never pass in silence.
fn placement(seen: &Seen, found: &mut Vec<Reason>) {
    let devices = &seen.planned.plan.memory.devices;
    let on_device = |pool: &ProofPool| pool.device.is_some() && pool.weights_bytes > 0;
    let none_used =
        !seen.pools.iter().any(on_device) && seen.layers.is_none_or(|layers| layers.on_devices == 0);
    // Without a word of the engine nothing is known, and nothing is claimed.
    if let Some(device) = devices.first()
        && none_used
        && !seen.pools.is_empty()
    {
        found.push(reason("cpuFallback", [("device", device.id.as_str().into())]));
        return;
    }
    if let Some(layers) = seen.layers.filter(|layers| layers.on_devices < layers.planned) {
        found.push(reason(
            "fewerLayers",
            [
                ("onDevices", layers.on_devices.into()),
                ("planned", layers.planned.into()),
            ],
        ));
    }
}

fn memory(seen: &Seen, found: &mut Vec<Reason>) {
    let (planned, resident) = (seen.planned.host_after_loading.0, seen.resident.0);
    if differs(planned, resident) {
        let code = if resident > planned {
            "memoryMore"
        } else {
            "memoryLess"
        };
        let params = [
            ("plannedBytes", planned.into()),
            ("residentBytes", resident.into()),
        ];
        found.push(reason(code, params));
    }
    for part in seen.parts {
        let Some(reported) = part
            .reported_bytes
            .filter(|&bytes| differs(part.planned_bytes, bytes))
        else {
            continue;
        };
        found.push(reason(
            "partDiffers",
            [
                ("part", part.code.as_str().into()),
                ("plannedBytes", part.planned_bytes.into()),
                ("reportedBytes", reported.into()),
            ],
        ));
    }
    for pool in seen.pools {
        let holds = pool.weights_bytes + pool.context_bytes + pool.compute_bytes;
        if let Some(planned) = pool.planned_bytes.filter(|&planned| differs(planned, holds)) {
            let params = [
                ("pool", pool.name.as_str().into()),
                ("plannedBytes", planned.into()),
                ("reportedBytes", holds.into()),
            ];
            found.push(reason("poolDiffers", params));
        }
    }
}

fn speed(seen: &Seen, found: &mut Vec<Reason>) {
    let Some(planned) = seen.planned.plan.speed.as_ref().map(|speed| speed.decode_tps) else {
        return;
    };
    let code = if seen.decode < planned.low {
        "slowerThanPlanned"
    } else if seen.decode > planned.high {
        "quickerThanPlanned"
    } else {
        return;
    };
    found.push(reason(
        code,
        [
            ("tps", seen.decode.into()),
            ("low", planned.low.into()),
            ("high", planned.high.into()),
        ],
    ));
}

fn differs(planned: u64, fact: u64) -> bool {
    let apart = planned.abs_diff(fact);
    apart > UNNOTICED.0 && Bytes(apart).as_f64() > TOLD_FROM * Bytes(planned).as_f64()
}

fn reason<const N: usize>(code: &str, params: [(&str, Param); N]) -> Reason {
    let params: BTreeMap<String, Param> = params
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    Reason {
        code: code.to_owned(),
        params,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_units::Bytes;
    use plimsoll_wire::{
        DeviceMemory, MemoryNeed, Plan, PlanMemory, PlanModel, PlanSettings, ProofLayers, ProofPart,
        ProofPool, Verdict,
    };

    use super::{Planned, Seen, of};

    const GIB: u64 = 1 << 30;

    fn planned(on_device: bool) -> Planned {
        let need = MemoryNeed {
            weights_bytes: 4 * GIB,
            ..MemoryNeed::default()
        };
        let device = DeviceMemory {
            id: "gpu0".into(),
            need: need.clone(),
        };
        let memory = PlanMemory {
            devices: on_device.then_some(device).into_iter().collect(),
            host: need,
            low_bytes: 0,
            high_bytes: 0,
        };
        Planned {
            plan: Plan {
                model: PlanModel {
                    id: "m".into(),
                    quant: String::new(),
                    architecture: String::new(),
                    parameters: 1,
                    active_parameters: 1,
                    file_bytes: 1,
                    context_trained: 1,
                    drafting_layers: 0,
                },
                settings: PlanSettings {
                    context: 1,
                    slots: 1,
                    kv_type_k: String::new(),
                    kv_type_v: String::new(),
                    batch: 1,
                    ubatch: 1,
                    cache_ram_mib: 0,
                    flash_attention: true,
                    gpu_layers: 33,
                    tensor_split: Vec::new(),
                    host_expert_layers: 0,
                    arguments: Vec::new(),
                },
                verdict: Verdict::Fits,
                why: Vec::new(),
                memory,
                speed: None,
            },
            host_after_loading: Bytes(GIB),
            machine: String::new(),
        }
    }

    fn pool(name: &str, device: Option<&str>, weights: u64) -> ProofPool {
        ProofPool {
            name: name.into(),
            device: device.map(str::to_owned),
            weights_bytes: weights,
            context_bytes: 0,
            compute_bytes: 0,
            planned_bytes: device.map(|_| 4 * GIB),
        }
    }

    fn codes(
        planned: &Planned,
        resident: u64,
        pools: &[ProofPool],
        layers: Option<ProofLayers>,
    ) -> Vec<String> {
        let seen = Seen {
            planned,
            resident: Bytes(resident),
            decode: 10.0,
            parts: &[],
            pools,
            layers,
        };
        of(&seen).into_iter().map(|reason| reason.code).collect()
    }

    #[test]
    fn a_device_that_is_not_used_is_told() {
        let plan = planned(true);
        let processor = [pool("CPU", None, 4 * GIB)];
        assert_eq!(codes(&plan, GIB, &processor, None), ["cpuFallback"]);
        let device = [pool("CPU", None, GIB / 8), pool("CUDA0", Some("gpu0"), 4 * GIB)];
        assert!(codes(&plan, GIB, &device, None).is_empty());
        assert!(
            codes(&plan, GIB, &[], None).is_empty(),
            "nothing known, nothing claimed"
        );
        assert!(codes(&planned(false), GIB, &processor, None).is_empty());
    }

    #[test]
    fn fewer_layers_and_more_memory_than_planned_are_told() {
        let plan = planned(true);
        let layers = Some(ProofLayers {
            on_devices: 20,
            all: 33,
            planned: 33,
        });
        let half = [pool("CUDA0", Some("gpu0"), 2 * GIB)];
        assert_eq!(codes(&plan, GIB, &half, layers), ["fewerLayers", "poolDiffers"]);
        let none = planned(false);
        assert_eq!(codes(&none, GIB + GIB / 10, &[], None), ["memoryMore"]);
        assert!(codes(&none, GIB + GIB / 25, &[], None).is_empty());
    }

    #[test]
    fn a_part_that_the_engine_reports_otherwise_is_named() {
        let plan = planned(false);
        let part = |reported_bytes| ProofPart {
            code: "context".into(),
            planned_bytes: GIB,
            reported_bytes,
        };
        let found = |parts: &[ProofPart]| {
            of(&Seen {
                planned: &plan,
                resident: Bytes(GIB),
                decode: 1.0,
                parts,
                pools: &[],
                layers: None,
            })
        };
        assert_eq!(found(&[part(Some(GIB / 2))])[0].code, "partDiffers");
        assert!(found(&[part(Some(GIB)), part(None)]).is_empty());
    }
}
