use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Servers of other programs that run on this computer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ForeignServers {
    pub servers: Vec<ForeignServer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ForeignServer {
    /// Kind and port.
    pub id: String,
    pub kind: ServerKind,
    pub port: u16,
    /// Missing where its process cannot be seen, as in a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What it and its children hold in the RAM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// What it says to hold on devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
    pub models: Vec<String>,
    /// It wants a key: the person sets it beside the provider.
    pub wants_key: bool,
    /// Its models are offered in the picker.
    pub used: bool,
    pub ignored: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ServerKind {
    LlamaServer,
    Ollama,
    LmStudio,
}
