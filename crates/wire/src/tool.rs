use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What the models of a conversation may do besides talking.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolSettings {
    pub on: bool,
    /// Where files may be read and written. None: no file tools.
    pub folders: Vec<String>,
    /// Tools whose calls are done in this conversation without asking.
    pub allowed: Vec<String>,
}

/// A call of a tool in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolUse {
    pub id: String,
    pub name: String,
    /// JSON as the model wrote it.
    pub arguments: String,
    /// Missing while it is being done, or when the answer was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub result: Option<ToolOutcome>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutcome {
    pub text: String,
    pub failed: bool,
}

/// What a call would do to the world, shown before it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "kind")]
pub enum ToolEffect {
    Nothing,
    Reads {
        path: String,
    },
    Writes {
        path: String,
        /// Missing for a new file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        before: Option<String>,
        after: String,
    },
    Fetches {
        url: String,
    },
}

/// What the person says to a call that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ToolAnswer {
    No,
    Once,
    /// And every later call of this tool in this conversation.
    Tool,
    /// And every later call of any tool in this conversation.
    Conversation,
}
