use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::ConversationSummary;

/// Where a message stands among others in its place: questions asked differently, answers asked for again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Branch {
    /// From 1.
    pub place: u32,
    pub of: u32,
    /// The message before it, for `conversations/show`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub after: Option<String>,
}

/// How the models of a conversation are asked. What is missing is the model's own default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
#[ts(optional_fields)]
pub struct ChatSettings {
    /// Told to the model before everything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// From 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// The most tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_max: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingWish>,
}

/// Whether and how hard a model is to think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ThinkingWish {
    Off,
    Low,
    Medium,
    High,
}

/// One of the numbers of [`ChatSettings`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ChatSetting {
    Temperature,
    TopP,
    TopK,
    MinP,
    Seed,
    ReplyMax,
}

/// What the route to a model lets a person say about thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ThinkingChoice {
    None,
    /// On or off; one that does not think ignores it.
    Switch,
    Effort,
}

/// How a conversation is asked with one model, and what stands behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChatSettingsReply {
    /// Of the conversation alone.
    pub own: ChatSettings,
    /// What the person chose for every conversation with this model.
    pub model: ChatSettings,
    /// What the model's publisher advises.
    pub advice: ChatSettings,
    /// What the route takes; the rest is not sent.
    pub takes: Vec<ChatSetting>,
    pub thinking: ThinkingChoice,
}

/// A conversation in which every word was found, in its title or in one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FoundConversation {
    pub conversation: ConversationSummary,
    pub in_title: bool,
    /// Messages that hold every word.
    pub hits: u32,
    /// The newest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message: Option<String>,
    /// What stands around the words there.
    pub snippet: Vec<Snip>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FoundConversations {
    pub found: Vec<FoundConversation>,
    /// There are others that are not listed.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Snip {
    pub text: String,
    /// One of the words that were looked for.
    pub hit: bool,
}

/// The words of a Markdown export, in the language of whoever reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MarkdownWords {
    pub you: String,
    pub answer: String,
    pub thought: String,
    pub tool: String,
}

/// A conversation as a document: `docs/conversation-format.md`, or Markdown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Exported {
    /// A file name for it.
    pub name: String,
    /// Missing where it was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub text: Option<String>,
    /// Where it was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub path: Option<String>,
}

/// What the trash gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Emptied {
    pub conversations: u32,
}
