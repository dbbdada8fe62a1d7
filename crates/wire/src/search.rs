use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Fault, Plan, VariantState};

/// What a search at the hub found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HubSearch {
    /// The most fetched first.
    pub repos: Vec<HubRepo>,
    /// There are more; other words find them.
    pub more: bool,
}

/// A repository with GGUF files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HubRepo {
    /// `ORG/NAME`.
    pub id: String,
    /// Of the last thirty days.
    pub downloads: u64,
    pub likes: u64,
    pub gate: HubGate,
    /// As the hub's tag says it: `apache-2.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub licence: Option<String>,
    /// `YYYY-MM-DD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub changed: Option<String>,
    /// As far as file names say them.
    pub quants: Vec<String>,
}

/// Whether terms have to be accepted on the hub's site before anything is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum HubGate {
    Open,
    /// Whoever accepts is let in at once.
    Automatic,
    /// The owner lets people in one by one.
    Manual,
}

/// What one repository holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HubVariants {
    pub repo: String,
    pub commit: String,
    /// Its page.
    pub url: String,
    pub gate: HubGate,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub licence: Option<String>,
    /// The smallest first.
    pub variants: Vec<HubVariant>,
}

/// One quantisation: a file, or all parts of a split one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HubVariant {
    /// What `models/pull` takes, and the model's id once it is here: `ORG/NAME/PATH`, or the catalog's own id.
    pub id: String,
    /// As the file's name says it; empty when it does not.
    pub quant: String,
    /// Of the first part, inside the repository.
    pub path: String,
    pub files: u32,
    /// Of all parts.
    pub bytes: u64,
    /// Of the projector that goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub projector_bytes: Option<u64>,
    /// Names of parts that the repository should have and has not: it cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<String>>", optional)]
    pub missing: Vec<String>,
    pub state: VariantState,
    /// Read from the file's own header; only where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub fit: Option<HubFit>,
}

/// What a variant would do on this machine, from its real header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HubFit {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub plan: Option<Plan>,
    /// The same with its projector loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub with_projector: Option<Plan>,
    /// Why there is no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub fault: Option<Fault>,
    /// What reading the header took.
    pub fetched_bytes: u64,
}
