use plimsoll_units::{PicoDollars, Tokens};
use serde::Deserialize;

/// Somebody who answers over the network: a cloud, or a server that a person runs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    pub id: String,
    pub name: String,
    pub protocol: Protocol,
    /// With its version part: `https://api.example.com/v1`.
    pub base_url: String,
    /// The person's own machine or network answers there: nothing leaves the house, and nothing costs.
    #[serde(default)]
    pub own_server: bool,
    pub key: KeyNeed,
    pub dialect: Dialect,
    /// Models of which something is known. Others may be asked all the same.
    #[serde(default)]
    pub models: Vec<CloudModel>,
    pub source: String,
    /// The day on which the source said so.
    pub checked: String,
    /// Held against the provider's own published types, or against the real server.
    pub verified: bool,
}

impl Provider {
    #[must_use]
    pub fn model(&self, id: &str) -> Option<&CloudModel> {
        self.models.iter().find(|model| model.id == id)
    }

    /// How this model is spoken to. One that is not in the list is spoken to as its provider is.
    #[must_use]
    pub fn dialect_of(&self, model: &str) -> Dialect {
        let mut dialect = self.dialect.clone();
        if let Some(known) = self.model(model) {
            dialect.images = known.images.unwrap_or(dialect.images);
            dialect.cache = known.cache.unwrap_or(dialect.cache);
            dialect.reasoning = known.reasoning.unwrap_or(dialect.reasoning);
        }
        dialect
    }

    pub(crate) fn problem(&self) -> Option<&'static str> {
        let web = self.base_url.starts_with("https://");
        if self.id.is_empty() || !self.id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            Some("an id of letters, digits and hyphens")
        } else if !(web || self.own_server && self.base_url.starts_with("http://127.0.0.1:")) {
            Some("a provider is asked over https, a server of one's own on loopback")
        } else if self.base_url.ends_with('/') {
            Some("a base URL ends without a slash")
        } else if self.source.is_empty() || self.checked.len() != 10 {
            Some("a source and its day")
        } else if self.models.iter().any(|model| {
            model
                .prices
                .as_ref()
                .is_some_and(|prices| prices.source.is_empty() || prices.checked.len() != 10)
        }) {
            Some("a price has a source and its day")
        } else if self.protocol == Protocol::AnthropicMessages && self.dialect.reply_default.is_none() {
            Some("Anthropic's protocol wants a reply limit in every request")
        } else {
            None
        }
    }
}

/// The form of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Protocol {
    /// `POST {base}/chat/completions`.
    OpenaiChat,
    /// `POST {base}/responses`.
    OpenaiResponses,
    /// `POST {base}/messages`.
    AnthropicMessages,
}

/// How a provider wants to see its key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyNeed {
    pub header: KeyHeader,
    /// Answers without a key too.
    #[serde(default)]
    pub optional: bool,
    /// Environment variables that other tools read it from, best first.
    #[serde(default)]
    pub environment: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyHeader {
    /// `Authorization: Bearer …`.
    Bearer,
    /// `x-api-key: …`.
    XApiKey,
}

/// What of a protocol a provider speaks, and how. Nothing here is inferred from a name.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether one field may be sent"
)]
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Dialect {
    pub cache: CacheMapping,
    /// Takes `prompt_cache_key`.
    pub cache_key: bool,
    pub reasoning: ReasoningCarrier,
    pub replay: Replay,
    pub effort: EffortField,
    pub reply_limit: ReplyLimit,
    /// Sent where nobody asked for a limit, because the protocol wants one.
    pub reply_default: Option<Tokens>,
    /// Fields of sampling that are taken; others are not sent.
    pub sampling: Vec<SamplingField>,
    pub structured: Structured,
    /// The instructions come as `developer` and not as `system`.
    pub developer_role: bool,
    pub images: bool,
    pub tools: bool,
    /// The most tools in a request.
    pub tools_max: Option<usize>,
    /// Takes `parallel_tool_calls` (or `disable_parallel_tool_use`).
    pub parallel_field: bool,
    /// Counts only when asked: `stream_options.include_usage`.
    pub usage_option: bool,
    /// llama-server's `return_progress`.
    pub progress: bool,
    /// llama-server's `id_slot`.
    pub slot: bool,
    /// Tool calls carry something sealed that has to come back: `extra_content`.
    pub call_extras: bool,
    /// Chat templates behind it want user and assistant to alternate.
    pub strict_turns: bool,
}

/// How a request marks what may be cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CacheMapping {
    /// Caches by itself, or not at all.
    #[default]
    None,
    /// `prompt_cache_breakpoint` and explicit mode.
    OpenaiBreakpoints,
    /// `cache_control`.
    AnthropicMarks,
}

/// In which form thoughts come, and go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReasoningCarrier {
    /// Thoughts come as `reasoning_content` or `reasoning` or not at all, and never go back.
    #[default]
    None,
    /// `reasoning_content` beside the content.
    ReasoningContent,
    /// `reasoning` beside the content.
    Reasoning,
    /// OpenRouter's `reasoning_details`, sealed.
    ReasoningDetails,
    /// Responses: items with `encrypted_content`.
    EncryptedItems,
    /// Anthropic: blocks with a signature.
    Signatures,
}

/// When thoughts go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Replay {
    #[default]
    Never,
    /// While the same question is worked on: between a tool's result and the next call.
    InTurn,
    Always,
}

/// How the effort of thinking is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EffortField {
    #[default]
    None,
    /// Chat: `reasoning_effort`. Responses: `reasoning.effort`.
    ReasoningEffort,
    /// OpenRouter: `reasoning: {effort}`.
    ReasoningObject,
    /// Anthropic: `thinking` adaptive and `output_config.effort`.
    Adaptive,
    /// llama.cpp, vLLM, SGLang: `chat_template_kwargs.enable_thinking`.
    TemplateSwitch,
}

/// The name of the reply limit on Chat Completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplyLimit {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SamplingField {
    Temperature,
    TopP,
    TopK,
    MinP,
    Seed,
    Stop,
}

/// How an answer can be held to a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Structured {
    #[default]
    None,
    /// Some JSON object, whatever its form.
    JsonObject,
    JsonSchema,
}

/// What is known of one model of a provider.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CloudModel {
    pub id: String,
    #[serde(default)]
    pub context: Option<Tokens>,
    #[serde(default)]
    pub output: Option<Tokens>,
    /// Where the model differs from its provider.
    #[serde(default)]
    pub images: Option<bool>,
    #[serde(default)]
    pub cache: Option<CacheMapping>,
    #[serde(default)]
    pub reasoning: Option<ReasoningCarrier>,
    #[serde(default)]
    pub prices: Option<Prices>,
}

/// Prices of one token. What is not known is missing: a cost is computed only where every part has a price.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prices {
    /// Of what was not cached.
    pub input: PicoDollars,
    #[serde(default)]
    pub cached: Option<PicoDollars>,
    #[serde(default)]
    pub cache_write: Option<PicoDollars>,
    pub output: PicoDollars,
    pub source: String,
    pub checked: String,
}
