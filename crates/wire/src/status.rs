use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Fault, Reason, Router, Setup};

/// Everything live, at once: what a page needs to catch up after it opened or lost events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub version: String,
    pub router: Router,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub setup: Option<Setup>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub sample: Option<Sample>,
    pub transfers: Vec<Transfer>,
    /// Conversations with a turn running.
    pub running: Vec<String>,
    /// What other programs ask of our endpoint now, by model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<EndpointUse>>", optional)]
    pub endpoint_uses: Vec<EndpointUse>,
    /// No model was ever set up here: the page shows the first start.
    pub first_start: bool,
    /// The model that a new conversation uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub default_model: Option<String>,
}

/// One reading of the machine for the status bar.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    pub taken_at: i64,
    /// 0 to 100, of all cores together.
    pub cpu_percent: f64,
    pub memory: DeviceUse,
    pub devices: Vec<DeviceUse>,
}

/// `this_app` + `others` + free = total.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeviceUse {
    /// Device id, or `memory` for RAM.
    pub id: String,
    pub name: String,
    pub total_bytes: u64,
    /// Our processes, llama-server included.
    pub app_bytes: u64,
    pub others_bytes: u64,
    /// The driver does not say whose memory it is; then all that is used is under `others`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(as = "Option<bool>", optional)]
    pub app_unknown: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Transfer {
    pub id: String,
    /// What is being fetched: a model id or an engine id.
    pub subject: String,
    pub state: Transferring,
    pub done_bytes: u64,
    pub total_bytes: u64,
    pub bytes_per_s: u64,
    /// What should be known and does not stop it: a file that is not what the catalog says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<Reason>>", optional)]
    pub notes: Vec<Reason>,
    /// For all that is left of it. Missing while no speed is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub seconds_left: Option<u64>,
    /// How far each file is, while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub files: Option<Vec<TransferFile>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub fault: Option<Fault>,
}

/// One file of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TransferFile {
    pub name: String,
    pub done_bytes: u64,
    pub total_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum Transferring {
    Running,
    Checking,
    Done,
    /// By a person; what came is kept, also over a restart, and asking again goes on.
    Stopped,
    /// By a person; nothing is kept, and it is not shown any more.
    Cancelled,
    Failed,
}

/// What a person can change. Missing in a write: left as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct Settings {
    /// `system`, `light` or `dark`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
    /// A language code of the language files, or `system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// `comfortable` or `compact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_bar: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// Offer the loopback endpoint to other apps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<bool>,
    /// How often the status bar is read, in milliseconds; 1500 when never set, from 250 to 60000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_every_ms: Option<u32>,
    /// Ask a model in a cloud for the title of a conversation that it answered in; yes when never set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub titles: Option<bool>,
    /// Minutes after which a model that nobody uses gives its memory back; 0 for never. Half an hour when missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_minutes: Option<u32>,
    /// Unload what nobody uses when the machine has slept. Off when missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_on_sleep: Option<bool>,
}

/// Our loopback front for other apps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Ends in `/v1`. Missing while nobody listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub url: Option<String>,
    pub key: String,
    /// Why nobody listens although somebody should, such as a taken port. `endpoint/open` tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub fault: Option<Fault>,
}

/// Requests of other programs that are under way at our endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EndpointUse {
    /// As it was asked for: one of a model's names.
    pub model: String,
    pub requests: u32,
}

/// The hub that models come from, as it is asked now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HubSite {
    /// Its address: what `HF_ENDPOINT` names, or the public hub.
    pub url: String,
    /// Nothing is asked of it (`HF_HUB_OFFLINE`).
    pub offline: bool,
    pub token: TokenFrom,
    /// Where a token is kept: the file that the hub's own tools read and write. Missing where there is no home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub token_file: Option<String>,
}

/// Where the hub's access token comes from. The token itself never travels to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum TokenFrom {
    Nowhere,
    /// `HF_TOKEN`: it goes before the file.
    Environment,
    File,
}
