use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Reason, fault::Params};

/// What a person asks of a plan; everything left out is chosen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct PlanWishes {
    /// `balanced` (default), `longestContext` or `fastest`: what matters most where not everything can be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// Several slots where they cost nothing that the goal is about. Of no effect beside `slots`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choose_slots: Option<bool>,
    /// `f16`, `q8_0` or `q4_0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ubatch: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_ram_mib: Option<u32>,
    /// `server` (default) or `bench`: how many rows of logits are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_layers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor_split: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_experts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projector: Option<String>,
    /// Guesses ahead: `own` for layers that the model's file brings, or another model by any of its names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u32>,
}

/// One measured run on the machine that is planned for: the file format of `--anchors` is a list of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Anchor {
    /// A GGUF path, or an id as `plan/make` takes it.
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub decode_tps: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub prefill_tps: Option<f64>,
}

/// Model + machine + wishes → settings, memory, speed, reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub model: PlanModel,
    pub settings: PlanSettings,
    pub verdict: Verdict,
    pub why: Vec<Reason>,
    pub memory: PlanMemory,
    /// Missing when no bandwidth is known for a part that the model would use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub speed: Option<PlanSpeed>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PlanModel {
    /// Catalog id, or the path that was given.
    pub id: String,
    pub quant: String,
    pub architecture: String,
    pub parameters: u64,
    pub active_parameters: u64,
    pub file_bytes: u64,
    pub context_trained: u32,
    /// Layers of its own that guess ahead when they are asked to.
    #[serde(default)]
    pub drafting_layers: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PlanSettings {
    pub context: u32,
    pub slots: u32,
    pub kv_type_k: String,
    pub kv_type_v: String,
    pub batch: u32,
    pub ubatch: u32,
    pub cache_ram_mib: u32,
    pub flash_attention: bool,
    pub gpu_layers: u32,
    pub tensor_split: Vec<f64>,
    pub host_expert_layers: u32,
    /// For llama-server, without model, host, port and key.
    pub arguments: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    Fits,
    Spills,
    TooBig,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PlanMemory {
    pub devices: Vec<DeviceMemory>,
    pub host: MemoryNeed,
    /// Everything together, at the least and at the most.
    pub low_bytes: u64,
    pub high_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeviceMemory {
    pub id: String,
    #[serde(flatten)]
    pub need: MemoryNeed,
}

/// Weights, context and compute are llama.cpp's own three kinds (`llama-fit-params -fitp on`); the rest lies
/// outside them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MemoryNeed {
    pub weights_bytes: u64,
    pub context_bytes: u64,
    pub compute_bytes: u64,
    pub projector_bytes: u64,
    pub overhead_bytes: u64,
    /// What `overhead` is made of.
    #[serde(default)]
    pub overhead_parts: Vec<OverheadPart>,
    pub total_bytes: u64,
    /// What may be used here: the line on the hull.
    pub budget_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OverheadPart {
    /// `repack`, `draft`, `promptCache`, `checkpoints`, `outputs`, `backend`, `process`.
    pub code: String,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Range {
    pub low: f64,
    pub mid: f64,
    pub high: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PlanSpeed {
    /// Tokens per second while answering.
    pub decode_tps: Range,
    /// Tokens per second while reading the prompt.
    pub prefill_tps: Range,
    pub first_token_s: FirstToken,
    /// The same prompt, answered at the usual length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub turn_s: Option<Turn>,
    pub basis: SpeedBasis,
}

/// Seconds from sending a prompt to the end of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    pub prompt_tokens: u32,
    pub answer_tokens: u32,
    pub low: f64,
    pub mid: f64,
    pub high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FirstToken {
    pub prompt_tokens: u32,
    pub low: f64,
    pub mid: f64,
    pub high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum SpeedBasis {
    Table,
    Measured,
}

/// What Plimsoll would run here, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Recommendation {
    /// Missing when nothing fits: `why` says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub pick: Option<Pick>,
    pub why: Vec<Reason>,
    pub alternatives: Vec<Alternative>,
    pub rejected: Vec<Rejected>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Pick {
    pub model: String,
    pub quant: String,
    pub name: String,
    /// Of all files, to download.
    pub download_bytes: u64,
    pub on_disk: bool,
    pub plan: Plan,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Alternative {
    #[serde(flatten)]
    pub pick: Pick,
    pub why: Vec<Reason>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Rejected {
    pub model: String,
    pub quant: String,
    pub name: String,
    pub code: String,
    #[serde(default)]
    pub params: Params,
}
