use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One row of a conversation, in no provider's form. Kept by the store as it is here, so that an equal
/// conversation is equal bytes on the wire for ever.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type", content = "content")]
pub enum Row {
    User(Vec<Part>),
    /// What one answer of a model brought, in its order.
    Assistant(Vec<Item>),
    /// What became of the calls of the row before.
    Results(Vec<ToolResult>),
}

/// A part of a person's message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Part {
    Text { text: String },
    Image(Image),
}

impl Part {
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    pub format: ImageFormat,
    /// Base64, as every protocol wants it.
    pub data: String,
}

/// The formats that every protocol takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImageFormat {
    Jpeg,
    Png,
    Gif,
    Webp,
}

impl ImageFormat {
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Item {
    Text { text: String },
    Reasoning(Reasoning),
    Call(ToolCall),
}

impl Item {
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    #[must_use]
    pub const fn call(&self) -> Option<&ToolCall> {
        match self {
            Self::Call(call) => Some(call),
            Self::Text { .. } | Self::Reasoning(_) => None,
        }
    }
}

/// What a model thought. Only the model that thought it gets it back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reasoning {
    pub text: String,
    /// `provider/model`.
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
}

/// What a provider wants back unread and unchanged. Opaque: it costs no tokens by its length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "form")]
pub enum Seal {
    /// Anthropic, over the text.
    Signature { signature: String },
    /// Anthropic, instead of the text.
    Redacted { data: String },
    /// OpenAI Responses: an item, whose summary is the text.
    Encrypted { id: String, content: String },
    /// OpenRouter's `reasoning_details`.
    Details { details: Vec<Value> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON as the model wrote it, which may be no JSON at all.
    pub arguments: String,
    /// Gemini's `extra_content`, which has to come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Extra>,
}

/// Something sealed on a call, and who sealed it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Extra {
    pub by: String,
    pub content: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The id of the call.
    pub call: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}
