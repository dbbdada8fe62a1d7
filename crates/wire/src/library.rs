use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Fault, Plan, Reason};

/// What is on disk and what the catalog offers, side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Library {
    pub models: Vec<LibraryModel>,
    pub catalog: Vec<ModelEntry>,
    /// The folder the library lives in.
    pub folder: String,
    /// By the library, without what other programs keep.
    pub used_bytes: u64,
    pub free_bytes: u64,
}

/// A variant on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LibraryModel {
    /// `catalog-id:QUANT`, else `ORG/REPO/FILE`, or `KEEPER:PATH` for what another program keeps.
    pub id: String,
    pub name: String,
    pub quant: String,
    pub architecture: String,
    /// Who keeps it; missing for the library. What others keep is used in place and never changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub keeper: Option<Keeper>,
    pub bytes: u64,
    /// What deleting it would give back: less where other names share its bytes, nothing for what others keep.
    #[serde(default)]
    pub frees_bytes: u64,
    pub path: String,
    /// Names of the parts that are not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<String>>", optional)]
    pub missing: Vec<String>,
    pub state: LibraryState,
    /// The licence's name when the catalog knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub licence: Option<String>,
    /// A base model answers in nonsense: not offered for chat by itself.
    pub chat: bool,
    /// For this machine, with the settings that would be used. Missing when the file cannot be planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub plan: Option<Plan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub fault: Option<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum LibraryState {
    Ready,
    /// Some files of the set are missing or cut.
    Incomplete,
    /// Present, but not what its hash says.
    Damaged,
}

/// Another program that keeps models, or a folder that the person named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Keeper {
    LmStudio,
    Ollama,
    LlamaCpp,
    Jan,
    Gpt4All,
    Folder,
}

/// Where models lie on this computer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Folders {
    /// The library's own.
    pub library: String,
    pub used_bytes: u64,
    pub free_bytes: u64,
    /// It was chosen here and is not there now: a disk that was taken out, as a rule.
    #[serde(default)]
    #[ts(as = "Option<bool>", optional)]
    pub missing: bool,
    /// Where the library is being moved to, also while that stands still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub moving_to: Option<String>,
    /// Places of others that hold something, and every folder that was named.
    pub others: Vec<OtherFolder>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OtherFolder {
    pub keeper: Keeper,
    pub path: String,
    pub models: u32,
    pub bytes: u64,
    /// It was named here, so it can be taken away here.
    pub named: bool,
    /// What was passed over, each with its `path`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<Reason>>", optional)]
    pub problems: Vec<Reason>,
}

/// Contents that lie on this computer more than once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Duplicates {
    /// The largest saving first.
    pub same: Vec<Duplicate>,
    pub savable_bytes: u64,
    /// Files of equal size that nobody has compared yet.
    pub open_files: u32,
    pub open_bytes: u64,
    /// How far comparing them is, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub comparing: Option<Comparing>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Duplicate {
    pub sha256: String,
    /// Of one copy.
    pub bytes: u64,
    pub savable_bytes: u64,
    pub copies: Vec<DuplicateCopy>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DuplicateCopy {
    /// The model it belongs to.
    pub model: String,
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub keeper: Option<Keeper>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Comparing {
    pub done_bytes: u64,
    pub total_bytes: u64,
}

/// A catalog entry with what it would do on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelEntry {
    pub id: String,
    pub name: String,
    pub about: String,
    /// The same in other languages, by their two letters.
    #[serde(default)]
    pub about_in: BTreeMap<String, String>,
    pub publisher: String,
    pub licence: Licence,
    pub parameters: u64,
    pub active_parameters: u64,
    pub context_trained: u32,
    /// `chat`, `tools`, `vision`, `reasoning`, `code`, `base`.
    pub abilities: Vec<String>,
    /// Our own rank, 0 to 100, comparable within the catalog, and what it rests on.
    #[serde(default)]
    pub rank: u8,
    #[serde(default)]
    pub rank_reason: String,
    /// Names of facts that nobody confirmed: `parameters`, `contextTrained`, `shape`, …
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<String>>", optional)]
    pub unverified: Vec<String>,
    pub variants: Vec<Variant>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Licence {
    pub name: String,
    pub url: String,
    /// The person has to agree before the download.
    pub consent: bool,
    pub accepted: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Variant {
    pub quant: String,
    pub bytes: u64,
    /// Size or hash were not confirmed: the hub's own count, and a difference is told.
    #[serde(default)]
    #[ts(as = "Option<bool>", optional)]
    pub unverified: bool,
    pub state: VariantState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub plan: Option<Plan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum VariantState {
    Absent,
    Partial,
    OnDisk,
}

/// A newer catalog was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CatalogReply {
    pub serial: u64,
    /// `YYYY-MM-DD`.
    pub issued: String,
    pub models: u32,
    pub models_in_use: u32,
    /// Entries that this version cannot read.
    pub left_out: Vec<String>,
    /// It is newer than what was there, and is used from the next start on.
    pub newer: bool,
}

/// One JSON line of `plimsoll pull --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum PullLine {
    Moved {
        done_bytes: u64,
        total_bytes: u64,
        bytes_per_s: u64,
    },
    Done {
        model: Box<LibraryModel>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReply {
    pub id: String,
    /// Names of the files whose bytes are not what they should be; empty when all is right.
    pub damaged: Vec<String>,
    /// Files without a known hash: only their size and header were checked.
    pub unpinned: Vec<String>,
}
