use serde_json::Value;

use crate::Transcript;

/// One question to a model, in no provider's form.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The name that the server knows the model by.
    pub model: String,
    pub transcript: Transcript,
    /// In the order in which they are sent, which a conversation keeps.
    pub tools: Vec<ToolSpec>,
    pub tool_choice: ToolChoice,
    pub sampling: Sampling,
    /// Ends the answer where one of these comes.
    pub stop: Vec<String>,
    pub thinking: Thinking,
    /// Holds the answer to a form.
    pub format: Option<Format>,
    /// Of the conversation's root: requests with the same key look for the same cache.
    pub cache_key: Option<String>,
    /// The slot of llama-server to use, where reuse of its cache matters.
    pub slot: Option<u32>,
}

impl Request {
    /// With nothing asked for but an answer.
    #[must_use]
    pub fn new(model: &str, transcript: Transcript) -> Self {
        Self {
            model: model.into(),
            transcript,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            sampling: Sampling::default(),
            stop: Vec::new(),
            thinking: Thinking::Default,
            format: None,
            cache_key: None,
            slot: None,
        }
    }
}

/// How the next token is chosen. What is left out is the model's own default.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<u32>,
    pub min_p: Option<f64>,
    pub seed: Option<u32>,
    /// The most tokens that an answer may have.
    pub reply_max: Option<u32>,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// The JSON Schema of the arguments, an object.
    pub parameters: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolChoice {
    #[default]
    Auto,
    Required,
    None,
}

/// Whether and how hard a model thinks first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thinking {
    /// As the model does by itself.
    #[default]
    Default,
    Off,
    On(Effort),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    Low,
    Medium,
    High,
}

impl Effort {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The form of an answer, as a JSON Schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Format {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    pub schema: Value,
}
