use serde::{Deserialize, Serialize};
use ts_rs::TS;

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
