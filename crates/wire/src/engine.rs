use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Fault, PlanMemory, Range, Reason};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EngineList {
    pub engines: Vec<EngineBuild>,
    /// The engine that was in use before, which one step brings back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub previous: Option<String>,
    /// Flavours that `engine install` could fetch for this machine, best first.
    pub available: Vec<String>,
    /// The same, each with why it is offered.
    pub offers: Vec<EngineOffer>,
    /// Builds for this system that are not offered, and why.
    pub passed: Vec<EnginePassed>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EngineOffer {
    /// `cuda-13.4`, `vulkan`, `cpu`, …
    pub flavour: String,
    pub why: Reason,
    /// To be fetched.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EnginePassed {
    /// The name of the file.
    pub name: String,
    pub why: Reason,
}

/// The newest official release, and what it has for this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NewestEngines {
    pub tag: String,
    /// A build of this release is in use already.
    pub in_use: bool,
    pub offers: Vec<EngineOffer>,
    pub passed: Vec<EnginePassed>,
}

/// A build that was tried first and did not work here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SkippedEngine {
    pub flavour: String,
    /// In the engine's words.
    pub problem: String,
}

/// One llama.cpp build that we know how to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EngineBuild {
    pub id: String,
    /// What the binary says of itself.
    pub version: String,
    /// `cpu`, `vulkan`, `cuda`, … as the libraries beside it say.
    pub backends: Vec<String>,
    pub folder: String,
    pub in_use: bool,
    /// `added` (the user's own) or `release` (downloaded by us).
    pub origin: String,
    /// Better ones that were tried before it.
    #[serde(default)]
    pub instead_of: Vec<SkippedEngine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub fault: Option<Fault>,
}

/// `engine check`: each step that an engine must pass before it may serve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub engine: String,
    pub steps: Vec<CheckStep>,
    pub passed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CheckStep {
    /// `files`, `version`, `devices`, `abilities`.
    pub code: String,
    pub passed: bool,
    /// What the engine printed, shortened.
    pub detail: String,
}

/// The running llama-server, as everybody sees it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "state")]
pub enum Router {
    #[default]
    Off,
    Starting,
    Ready {
        engine: String,
        pid: u32,
        models: Vec<LoadedModel>,
        /// This process owns it; else another process of ours does.
        owned: bool,
    },
    /// It died and will be started again.
    Waiting {
        crashes: u32,
        fault: Fault,
    },
    Failed {
        fault: Fault,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LoadedModel {
    pub id: String,
    pub name: String,
    pub status: ModelStatus,
    /// While loading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub progress: Option<LoadStage>,
    /// Tokens in one slot's window, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub context: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub proof: Option<Proof>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub fault: Option<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ModelStatus {
    Unloaded,
    Loading,
    /// Loaded; the tiny generation that proves it is running.
    Proving,
    Ready,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LoadStage {
    /// llama-server's own name: `text_model`, `mmproj_model`, `spec_model`.
    pub stage: String,
    /// 0 to 1.
    pub value: f64,
}

/// Planned beside measured, after the tiny generation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    pub planned: PlanMemory,
    pub planned_bytes: u64,
    /// Resident memory of the child that holds the model.
    pub resident_bytes: u64,
    /// Every part of the plan by name: llama.cpp's three kinds, then what they do not hold.
    pub parts: Vec<ProofPart>,
    pub first_token_ms: f64,
    pub decode_tps: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub planned_tps: Option<Range>,
    /// What the engine says it holds in each pool, by its own names; the host's pools come first.
    #[serde(default)]
    pub pools: Vec<ProofPool>,
    /// Layers on devices of all, the output counted as one, where the engine says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub layers: Option<ProofLayers>,
    /// What differs from the plan by more than 5 %, or runs elsewhere than planned, and what helps.
    #[serde(default)]
    pub findings: Vec<Reason>,
}

/// One pool of memory as the engine's log names it: `CPU_Mapped`, `CUDA0`, …
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProofPool {
    pub name: String,
    /// The machine's device; missing for the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub device: Option<String>,
    pub weights_bytes: u64,
    pub context_bytes: u64,
    pub compute_bytes: u64,
    /// What the plan has for this device, all three kinds together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub planned_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProofLayers {
    pub on_devices: u32,
    pub all: u32,
    pub planned: u32,
}

/// Measured at the engine: a long prompt that no cache has seen, then an answer; the median of some runs. Kept for
/// this machine and engine, and used by the next plans.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BenchReply {
    pub model: String,
    pub engine: String,
    pub prompt_tokens: u32,
    pub answer_tokens: u32,
    pub runs: u32,
    pub prefill_tps: f64,
    pub decode_tps: f64,
    /// As predicted before, for a prompt of this length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub planned_prefill_tps: Option<Range>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub planned_decode_tps: Option<Range>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProofPart {
    pub code: String,
    pub planned_bytes: u64,
    /// From the engine's own log, where it prints this part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub reported_bytes: Option<u64>,
}

/// What `plimsoll serve` prints in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Served {
    /// Base URL for other apps: ends in `/v1`.
    pub url: String,
    pub key: String,
    /// Of the router.
    pub pid: u32,
}
