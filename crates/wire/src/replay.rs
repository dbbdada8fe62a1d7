use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

use crate::{
    CompactionMode, CompactionOutcome, ContextReading, GateDecision, GateMoment, GateReason, GateVerdict,
    ReadingKind,
};

/// A conversation as facts about its context, without a word of it: what was sent, what servers counted, and
/// what was decided. docs/replay.md describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// 1.
    pub schema: u32,
    #[serde(default)]
    pub about: String,
    pub steps: Vec<ReplayStep>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReplayStep {
    /// The clock from here on, in seconds since any day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub at: Option<i64>,
    #[serde(flatten)]
    pub fact: ReplayFact,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub expect: Option<ReplayExpected>,
}

/// One thing that happened, or one question to the accounting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "do")]
pub enum ReplayFact {
    /// The way to the model from here on.
    Route {
        route: String,
        #[serde(default)]
        thoughts: ReplayThoughts,
        /// What was learned about it before, as the store keeps it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(type = "unknown", optional)]
        rates: Option<Value>,
    },
    /// What holds for requests from here on. What is left out is not known.
    Limits {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        window: Option<u32>,
        #[serde(default)]
        reserve: u32,
        #[serde(default)]
        tool_result: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        threshold: Option<u32>,
        #[serde(default)]
        countable: bool,
        #[serde(default)]
        mode: CompactionMode,
    },
    /// Instructions and tools of the requests from here on.
    Head {
        system: ReplayPart,
        tools: ReplayPart,
    },
    /// More rows; with `replace` these are all rows.
    Rows {
        rows: Vec<ReplayRow>,
        #[serde(default)]
        replace: bool,
    },
    /// A request goes out with all rows.
    Send,
    /// Its answer came. Without `usage` the server counted nothing. The answer's row follows as `rows`.
    Answer {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        usage: Option<ReplayUsage>,
    },
    /// It failed on the way; nothing was counted.
    Fail,
    /// It was too long.
    Reject {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        prompt: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        window: Option<u32>,
    },
    /// The server counted what would be sent now.
    Count {
        tokens: u32,
    },
    /// The difference of two counts: what an image costs.
    ImageCounted {
        size: String,
        with: u32,
        without: u32,
    },
    Gate {
        moment: GateMoment,
    },
    /// A compaction begins.
    Begin,
    /// It ended. `left`: tokens of what is sent from then on, estimated; the rows follow with `replace`.
    End {
        outcome: CompactionOutcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        left: Option<u32>,
    },
    /// The person took a compaction back, or asked for one.
    Unblock,
    /// What would be cut now?
    Plan,
    /// Can a conversation with these tools work at all?
    Floor {
        system: u32,
        tools: Vec<ReplayTool>,
    },
    /// The app starts anew. Without `anchor` it finds what it had stored. The rows follow.
    Restart {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(type = "unknown", optional)]
        anchor: Option<Value>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ReplayThoughts {
    /// Thoughts never go back to the model.
    #[default]
    Never,
    /// Until the next question.
    InTurn,
    Always,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReplayPart {
    pub bytes: u64,
    /// Of the bytes; any name that is the same for the same bytes. Missing: one that follows from their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub digest: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReplayTool {
    pub name: String,
    pub tokens: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ReplayRowKind {
    User,
    Answer,
    Results,
    Summary,
}

/// A row without its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReplayRow {
    pub id: String,
    pub kind: ReplayRowKind,
    /// Of the text that reaches the wire, with calls and results, without images.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(as = "Option<u64>", optional)]
    pub bytes: u64,
    /// Of thoughts that go back.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(as = "Option<u64>", optional)]
    pub thought_bytes: u64,
    /// Of what is sent unread: seals and the like. They cost nothing by their length.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(as = "Option<u64>", optional)]
    pub opaque_bytes: u64,
    /// How many, by size: `small`, `medium`, `large`, `unknown`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[ts(as = "Option<BTreeMap<String, u32>>", optional)]
    pub images: BTreeMap<String, u32>,
    /// Missing: the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub digest: Option<String>,
    /// Tools that it calls.
    #[serde(default, skip_serializing_if = "is_none")]
    #[ts(as = "Option<u32>", optional)]
    pub calls: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<ReplayResult>>", optional)]
    pub results: Vec<ReplayResult>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReplayResult {
    pub call: String,
    pub bytes: u64,
    /// Missing: the call's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub digest: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
const fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
const fn is_none(count: &u32) -> bool {
    *count == 0
}

/// What a server counted of a request and its answer, in tokens. All zero is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ReplayUsage {
    /// Gross: with what came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u32>,
    /// Of the prompt, what came from a cache. It is in it, and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<u32>,
    /// Of the completion, what was thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<u32>,
    /// Bytes of the answer's words and of its thoughts.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(as = "Option<u64>", optional)]
    pub answer_bytes: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    #[ts(as = "Option<u64>", optional)]
    pub thought_bytes: u64,
    /// The parts of the count do not add up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(as = "Option<bool>", optional)]
    pub not_provable: bool,
    /// An image of the conversation was not sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(as = "Option<bool>", optional)]
    pub image_dropped: bool,
}

/// What a step should come to. What is left out is not compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[ts(optional_fields)]
pub struct ReplayExpected {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ReadingKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Percent that `tokens` and `image` may be off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<GateVerdict>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<GateReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// Whether a count holds from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchored: Option<bool>,
    /// The price of an image that was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<u32>,
    /// Why nothing was learned, or why a count does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Why a stored count is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<bool>,
    /// How many rows a plan would summarise, and how many notes it would make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarised: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<u32>,
    /// Of a plan, at most this many tokens after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave_out: Option<Vec<String>>,
}

/// What was made of a count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ReplayHeard {
    pub anchored: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<u32>,
    /// Millionths of a token for a byte, where text was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<u64>,
    /// The price of an image, where one was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What would be cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CutPlan {
    /// Rows that a summary would stand for.
    pub summarise: Vec<String>,
    /// Rows that stay word for word.
    pub keep: Vec<String>,
    pub notes: Vec<CutNote>,
    /// Tokens of the whole request, estimated.
    pub before: u32,
    pub after: u32,
    /// Also the newest results would have to be shortened.
    pub squeezed: bool,
}

/// Something of a row that a note would stand for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CutNote {
    pub row: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub call: Option<String>,
    /// `same`, `short` or `image`.
    pub kind: String,
    pub keep_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FloorReport {
    /// Tokens of instructions and tools.
    pub floor: u32,
    pub fits: bool,
    /// Tools to leave out so that it fits.
    pub leave_out: Vec<String>,
}

/// What one step came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ReplayLine {
    /// From 1.
    pub step: u32,
    pub at: i64,
    /// The step's name.
    pub does: String,
    pub reading: ContextReading,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<GateDecision>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<ReplayHeard>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<CutPlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<FloorReport>,
    /// Why the last count is gone, or why nothing can be cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<bool>,
    /// What is not as the file expects it: `field: expected, found`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<String>>", optional)]
    pub wrong: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReplayReport {
    pub about: String,
    pub lines: Vec<ReplayLine>,
    /// How many expectations were not met.
    pub wrong: u32,
}
