use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_engine as engine;
use plimsoll_units::Bytes;
use plimsoll_wire as wire;

use super::findings;
use crate::fault::ToFault;

pub(crate) fn engine_build(build: &engine::Engine, in_use: Option<&str>) -> wire::EngineBuild {
    let folder = build.folder();
    let missing = build.missing();
    let gone = (!missing.is_empty()).then(|| {
        engine::EngineError::EngineIncomplete {
            folder: folder.clone(),
            missing,
        }
        .to_fault()
    });
    wire::EngineBuild {
        id: build.id.clone(),
        version: build.version.clone(),
        backends: build.backends.clone(),
        folder: folder.display().to_string(),
        in_use: in_use == Some(build.id.as_str()),
        origin: match build.origin {
            engine::Origin::Added => "added",
            engine::Origin::Release => "release",
        }
        .to_owned(),
        instead_of: build
            .instead_of
            .iter()
            .map(|skipped| wire::SkippedEngine {
                flavour: skipped.flavour.clone(),
                problem: skipped.problem.clone(),
            })
            .collect(),
        fault: gone,
    }
}

pub(crate) fn check(check: &engine::Check) -> wire::Check {
    let steps = check.steps.iter().map(|step| wire::CheckStep {
        code: step.step.code().to_owned(),
        passed: step.passed,
        detail: step.detail.clone(),
    });
    wire::Check {
        engine: check.engine.clone(),
        steps: steps.collect(),
        passed: check.passed(),
    }
}

/// A plan that is being carried out.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: wire::Plan,
    /// What of it lies in the RAM right after the first words.
    pub(crate) host_after_loading: Bytes,
    /// What it was planned for, for what is learned from it.
    pub(crate) machine: String,
}

/// The plans that loads were asked with, by model id.
pub(crate) type Plans = BTreeMap<String, Arc<Planned>>;

pub(crate) fn router(state: &engine::RouterState, plans: &Plans) -> wire::Router {
    match state {
        engine::RouterState::Off => wire::Router::Off,
        engine::RouterState::Starting => wire::Router::Starting,
        engine::RouterState::Ready(ready) => wire::Router::Ready {
            engine: ready.engine.clone(),
            pid: ready.pid,
            models: ready
                .models
                .iter()
                .map(|model| loaded_model(model, plans))
                .collect(),
            owned: ready.owned,
        },
        engine::RouterState::Waiting { crashes, trouble } => wire::Router::Waiting {
            crashes: *crashes,
            fault: trouble.to_fault(),
        },
        engine::RouterState::Failed { trouble } => wire::Router::Failed {
            fault: trouble.to_fault(),
        },
    }
}

fn loaded_model(model: &engine::ModelState, plans: &Plans) -> wire::LoadedModel {
    let plan = plans.get(&model.id);
    wire::LoadedModel {
        id: model.id.clone(),
        name: model.name.clone(),
        status: match model.status {
            engine::ModelStatus::Unloaded => wire::ModelStatus::Unloaded,
            engine::ModelStatus::Loading => wire::ModelStatus::Loading,
            engine::ModelStatus::Proving => wire::ModelStatus::Proving,
            engine::ModelStatus::Ready => wire::ModelStatus::Ready,
            engine::ModelStatus::Failed => wire::ModelStatus::Failed,
        },
        progress: model.progress.as_ref().map(|progress| wire::LoadStage {
            stage: progress.stage.clone(),
            value: progress.value,
        }),
        context: model.context.map(|context| context.0),
        proof: model
            .proof
            .as_ref()
            .zip(plan)
            .and_then(|(measured, plan)| proof(measured, plan)),
        fault: model.trouble.as_ref().map(ToFault::to_fault),
    }
}

/// Planned beside measured. `None` while a part of the measurement is missing: half a comparison would mislead.
fn proof(measured: &engine::Proof, planned: &Planned) -> Option<wire::Proof> {
    let plan = &planned.plan;
    let parts = parts(&measured.buffers, &plan.memory);
    let resident = measured.resident.as_ref()?.resident;
    let decode = measured.decode?.get();
    let pools = pools(&measured.buffers, &plan.memory);
    let layers = layers(measured, &plan.settings);
    let findings = findings::of(&findings::Seen {
        planned,
        resident,
        decode,
        parts: &parts,
        pools: &pools,
        layers,
    });
    Some(wire::Proof {
        planned: plan.memory.clone(),
        // A process's resident memory does not show what lies on devices.
        planned_bytes: planned.host_after_loading.0,
        resident_bytes: resident.0,
        parts,
        first_token_ms: measured.first_token_ms,
        decode_tps: decode,
        planned_tps: plan.speed.as_ref().map(|speed| speed.decode_tps),
        pools,
        layers,
        findings,
    })
}

/// What the libraries of the engine take of the RAM: what is resident less what the plan has for everything else.
pub(crate) fn host_libraries(measured: &engine::Proof, planned: &Planned) -> Option<u64> {
    let parts = &planned.plan.memory.host.overhead_parts;
    let own: u64 = parts
        .iter()
        .filter(|part| part.code == BACKEND)
        .map(|part| part.bytes)
        .sum();
    let others = planned.host_after_loading.0.saturating_sub(own);
    Some(measured.resident.as_ref()?.resident.0.saturating_sub(others))
}

fn layers(measured: &engine::Proof, settings: &wire::PlanSettings) -> Option<wire::ProofLayers> {
    let (on_devices, all) = measured.offloaded?;
    Some(wire::ProofLayers {
        on_devices,
        all,
        // More than there are means all.
        planned: settings.gpu_layers.min(all),
    })
}

/// The engine's pools, the host's first. llama.cpp numbers the devices of a backend in its own order, which the plan
/// follows.
fn pools(buffers: &[engine::Buffer], memory: &wire::PlanMemory) -> Vec<wire::ProofPool> {
    let mut names: Vec<&str> = buffers.iter().map(|buffer| buffer.pool.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let (host, devices): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| is_host(name));
    let pool = |name: &str, of: Option<&wire::DeviceMemory>| {
        let sum = |kind: engine::BufferKind| {
            let own = buffers
                .iter()
                .filter(|buffer| buffer.pool == name && buffer.kind == kind);
            own.map(|buffer| buffer.bytes.0).sum()
        };
        wire::ProofPool {
            name: name.to_owned(),
            device: of.map(|device| device.id.clone()),
            weights_bytes: sum(engine::BufferKind::Weights),
            context_bytes: sum(engine::BufferKind::Context),
            compute_bytes: sum(engine::BufferKind::Compute),
            planned_bytes: of.map(|device| {
                let need = &device.need;
                need.weights_bytes + need.context_bytes + need.compute_bytes
            }),
        }
    };
    let of_host = host.into_iter().map(|name| pool(name, None));
    let mut planned = memory.devices.iter();
    let of_devices: Vec<wire::ProofPool> = devices
        .into_iter()
        .map(|name| pool(name, planned.next()))
        .collect();
    of_host.chain(of_devices).collect()
}

/// Pools in the RAM: `CPU`, `CPU_Mapped`, `CPU_REPACK`, `AMX`, and the pinned memory of a device, `CUDA_Host`.
fn is_host(pool: &str) -> bool {
    pool.starts_with("CPU") || pool == "AMX" || pool.ends_with("_Host")
}

/// llama.cpp's three kinds first, then everything that the plan adds to them, by its own name.
fn parts(buffers: &[engine::Buffer], memory: &wire::PlanMemory) -> Vec<wire::ProofPart> {
    let needs = || {
        memory
            .devices
            .iter()
            .map(|device| &device.need)
            .chain([&memory.host])
    };
    let planned = |code: &str, planned: fn(&wire::MemoryNeed) -> u64| wire::ProofPart {
        code: code.to_owned(),
        planned_bytes: needs().map(planned).sum(),
        reported_bytes: reported(buffers, code),
    };
    let mut parts = vec![
        planned(WEIGHTS, |need| need.weights_bytes),
        planned(CONTEXT, |need| need.context_bytes),
        planned(COMPUTE, |need| need.compute_bytes),
    ];
    let projector = planned("projector", |need| need.projector_bytes);
    parts.extend(Some(projector).filter(|part| part.planned_bytes > 0));
    let mut beyond: BTreeMap<&str, u64> = BTreeMap::new();
    for part in needs().flat_map(|need| &need.overhead_parts) {
        *beyond.entry(&part.code).or_default() += part.bytes;
    }
    parts.extend(beyond.into_iter().map(|(code, planned_bytes)| wire::ProofPart {
        code: code.to_owned(),
        planned_bytes,
        reported_bytes: reported(buffers, code),
    }));
    parts
}

const BACKEND: &str = "backend";
const WEIGHTS: &str = "weights";
const CONTEXT: &str = "context";
const COMPUTE: &str = "compute";
const OUTPUTS: &str = "outputs";
const REPACK: &str = "repack";
/// Pools that hold weights a second time, in the order that the processor's vector units want.
const REPACKED: [&str; 2] = ["REPACK", "AMX"];

/// The name of the plan's part that a buffer of the engine's log belongs to.
fn part_of(buffer: &engine::Buffer) -> &'static str {
    match buffer.kind {
        engine::BufferKind::Weights if REPACKED.iter().any(|pool| buffer.pool.contains(pool)) => REPACK,
        engine::BufferKind::Weights => WEIGHTS,
        engine::BufferKind::Context => CONTEXT,
        engine::BufferKind::Compute => COMPUTE,
        engine::BufferKind::Output => OUTPUTS,
    }
}

/// `None` for a part that the engine does not print.
fn reported(buffers: &[engine::Buffer], part: &str) -> Option<u64> {
    let mut found = buffers.iter().filter(|buffer| part_of(buffer) == part).peekable();
    found
        .peek()
        .is_some()
        .then(|| found.map(|buffer| buffer.bytes.0).sum())
}

#[cfg(test)]
mod tests {
    use plimsoll_engine::{Buffer, BufferKind};
    use plimsoll_units::Bytes;

    use super::{COMPUTE, REPACK, WEIGHTS, reported};

    #[test]
    fn weights_in_another_order_are_a_part_of_their_own() {
        let buffer = |pool: &str, mib| Buffer {
            pool: pool.into(),
            kind: BufferKind::Weights,
            bytes: Bytes::mib(mib),
        };
        let buffers = [
            buffer("CPU", 20),
            buffer("CPU_Mapped", 9),
            buffer("AMX", 90),
            buffer("CPU_REPACK", 5),
        ];
        assert_eq!(reported(&buffers, WEIGHTS), Some(29 << 20));
        assert_eq!(reported(&buffers, REPACK), Some(95 << 20));
        assert_eq!(reported(&buffers, COMPUTE), None, "not printed is not 0");
    }
}
