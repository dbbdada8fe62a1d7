use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{
    Branch, ChatEnd, Comparing, ConversationSummary, EndpointUse, Fault, Message, Router, Sample, Setup,
    ToolEffect, ToolUse, Transfer, TurnStats,
};

/// What happened. A turn's events come in order; every started turn ends with exactly one `turnEnded`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum Event {
    RouterChanged {
        router: Router,
    },
    SetupMoved {
        setup: Setup,
    },
    TransferMoved {
        transfer: Transfer,
    },
    Sampled {
        sample: Sample,
    },
    LibraryChanged,
    /// Files of equal size are being compared; the end is a `libraryChanged`.
    Compared {
        comparing: Comparing,
    },
    EnginesChanged,
    SettingsChanged,
    /// Other programs began or ended requests at our endpoint.
    EndpointUsed {
        uses: Vec<EndpointUse>,
    },
    /// The person changed a number of the machine, or took it back.
    MachineChanged,
    ConversationChanged {
        conversation: ConversationSummary,
    },
    /// `turn` is also the id of the answer's message.
    TurnStarted {
        conversation: String,
        turn: String,
        /// The question. What was shown behind the message that it follows, or behind itself, no longer is.
        user: Box<Message>,
        /// Where the answer stands among others to this question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        branch: Option<Branch>,
    },
    /// The provider asked for patience: the question is sent again after this time.
    TurnWaiting {
        conversation: String,
        turn: String,
        after_ms: u64,
        fault: Fault,
    },
    /// The prompt is being read: `done` of `total` tokens.
    PromptRead {
        conversation: String,
        turn: String,
        done: u32,
        total: u32,
    },
    TextAdded {
        conversation: String,
        turn: String,
        text: String,
    },
    ReasoningAdded {
        conversation: String,
        turn: String,
        text: String,
    },
    /// Tools that are called, and then their results, by the call's id.
    ToolsMoved {
        conversation: String,
        turn: String,
        tools: Vec<ToolUse>,
    },
    /// A call waits for the person: `tools/answer`.
    ToolAsked {
        conversation: String,
        turn: String,
        call: String,
        tool: String,
        effect: ToolEffect,
    },
    TurnEnded {
        conversation: String,
        turn: String,
        end: ChatEnd,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        stats: Option<TurnStats>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        fault: Option<Fault>,
    },
    /// Something about the context of a conversation: read it again. `compacting`: a summary is being made.
    ContextChanged {
        conversation: String,
        compacting: bool,
    },
    /// The listener was too slow and missed events: read the status and the open conversation again.
    Missed,
}
