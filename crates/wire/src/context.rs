use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Cost, CutPlan, ReplayRowKind};

/// Where a count of the context comes from, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ReadingKind {
    /// The server counted this very request.
    Exact,
    /// The usage of the last answer.
    Real,
    /// A refusal said how long the request was.
    Rejected,
    /// One of these, and an estimate of what came after it.
    Anchored,
    /// An estimate of the whole request.
    Rough,
    Unknown,
}

/// How full a conversation is, and how well that is known. Counts are tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ContextReading {
    pub kind: ReadingKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Half the width of nine of ten cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<u32>,
    /// The median by the errors seen on this route: decides about compacting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typical: Option<u32>,
    /// At most this in nineteen of twenty cases: decides whether it fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<u32>,
    /// Seconds since a server counted something of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_s: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum GateMoment {
    BeforeTurn,
    BeforeCall,
    AfterTools,
    Idle,
    Display,
}

/// Who decides about compaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum CompactionMode {
    #[default]
    Automatic,
    /// It is proposed, never begun.
    Manual,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum GateVerdict {
    Send,
    /// Sent as it is; its real count decides.
    Wait,
    /// The server is asked for an exact count first.
    Count,
    Compact,
    /// Sent; compacting would help.
    Suggest,
    /// Sent; said once: it exceeds the window.
    Warn,
    /// Not sent.
    Refuse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum GateReason {
    UnderThreshold,
    OverThreshold,
    NoRoomForReply,
    RoughWaits,
    Waited,
    UsageOmitted,
    LastRealOver,
    Overflow,
    AfterOverflow,
    StillTooLong,
    QuietAfterCompaction,
    Blocked,
    Probe,
    NothingToCut,
    RecentlyFailed,
    SummaryPending,
    IdleEnough,
    IdleTooLittleNew,
    NearThreshold,
    Manual,
    Off,
    OffWarned,
    MessageTooLarge,
    WindowUnknown,
    NothingKnown,
}

/// What a gate decided, and from what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct GateDecision {
    pub moment: GateMoment,
    pub verdict: GateVerdict,
    pub reason: GateReason,
    pub reading: ContextReading,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u32>,
    /// The row that cannot be sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
}

/// How a compaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum CompactionOutcome {
    Committed,
    /// There was nothing to cut.
    NoOp,
    /// The conversation changed meanwhile.
    DiscardedStale,
    /// The summary would have been longer than what it stands for.
    RejectedLarger,
    TimedOut,
    Cancelled,
    ProviderError,
    /// One is being made already.
    Busy,
}

/// How full a conversation is and what was done about it, for the meter and its lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ContextView {
    pub conversation: String,
    pub reading: ContextReading,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u32>,
    pub mode: CompactionMode,
    /// A summary is being made now.
    pub compacting: bool,
    /// One waits for the next turn.
    pub pending: bool,
    /// What the last gate decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<GateDecision>,
    /// Of all answers that are shown, as far as it is known of every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Of the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_cost: Option<Cost>,
    /// Tokens of an image, once a server has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_price: Option<u32>,
    pub compactions: Vec<CompactionLine>,
}

/// A compaction, where it stands in the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CompactionLine {
    pub id: String,
    pub made_at: i64,
    /// Rows that the summary stands for, with those of earlier compactions.
    pub rows: u32,
    /// Results and images that a note stands for.
    pub notes: u32,
    /// The message that it stands behind; missing where it belongs to another branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Empty where notes were enough.
    pub summary: String,
    /// Tokens of the whole request, estimated.
    pub before_tokens: u32,
    pub after_tokens: u32,
    /// The model that wrote the summary.
    pub by: String,
    /// It went on from the conversation's own cached prompt.
    pub forked: bool,
}

/// Rows of a conversation as they were said, whatever stands for them now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Archive {
    pub rows: Vec<ArchiveRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ArchiveRow {
    pub id: String,
    pub kind: ReplayRowKind,
    pub text: String,
    /// Something stands for it in what is sent.
    pub archived: bool,
}

/// What would be cut now, before anything is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct CutPreview {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<CutPlan>,
    /// Why nothing can be: `nothingToCut`, `messageTooLarge`, `windowUnknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Rows that stay word for word, by their first words.
    pub keep: Vec<ArchiveRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CompactionDone {
    pub outcome: CompactionOutcome,
    pub context: ContextView,
}
