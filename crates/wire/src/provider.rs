use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Who else than this computer can answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Providers {
    pub providers: Vec<ProviderEntry>,
    /// Where a key that is typed in now would be kept.
    pub keys_in: KeyPlace,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProviderEntry {
    pub id: String,
    pub name: String,
    pub protocol: ProviderProtocol,
    /// With its version part: `https://api.example.com/v1`.
    pub base_url: String,
    /// A server of the person's own: nothing leaves the house, and nothing costs.
    pub own_server: bool,
    /// Added by the person.
    pub custom: bool,
    pub key: KeyFrom,
    /// Answers without a key too.
    pub key_optional: bool,
    /// The environment variable that a key is read from, where none is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub key_variable: Option<String>,
    /// Those that the person chose for the picker.
    pub models: Vec<CloudModel>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ProviderProtocol {
    /// `/chat/completions`.
    OpenaiChat,
    /// `/responses`.
    OpenaiResponses,
    /// `/messages`.
    AnthropicMessages,
}

/// Where a provider's key comes from. The key itself never travels to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum KeyFrom {
    Nowhere,
    Environment,
    Keyring,
    /// Until the app ends: the system has no keyring.
    Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum KeyPlace {
    Keyring,
    Memory,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CloudModel {
    /// What a conversation is answered by: `@provider/model`.
    pub id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u32>,
    pub images: bool,
    pub tools: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<TokenPrices>,
}

/// In US dollars for a million tokens. What is missing is not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct TokenPrices {
    pub input: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    pub output: f64,
    /// The day of the price list.
    pub checked: String,
    pub source: String,
}

/// What a provider answered when it was asked for its models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProviderModels {
    pub models: Vec<String>,
}

/// What another model cannot take of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RouteLosses {
    pub images: u32,
    /// Sealed thoughts of another model.
    pub thoughts: u32,
    /// Calls of tools, which are sent as words.
    pub calls: u32,
    /// The conversation leaves this computer.
    pub leaves: bool,
}
