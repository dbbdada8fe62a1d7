use plimsoll_units::Tokens;
use serde::{Deserialize, Serialize};

use super::{ContextReading, Weight};

/// When a gate is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Moment {
    BeforeTurn,
    BeforeCall,
    AfterTools,
    Idle,
    Display,
}

/// Who decides about compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    #[default]
    Automatic,
    /// It is proposed, never begun.
    Manual,
    Off,
}

/// What holds for a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateLimits {
    pub window: Option<Tokens>,
    /// Room for the reply.
    pub reserve: Tokens,
    /// The largest result that a tool is expected to give.
    pub tool_result: Tokens,
    /// `None`: [`default_threshold`].
    pub threshold: Option<Tokens>,
    /// The server counts a request without answering it.
    pub countable: bool,
    pub mode: Mode,
    /// The last message of the person: nothing can be cut from it.
    pub question: Option<(String, Weight)>,
}

/// From where on a conversation is compacted: `min(0.75 × window, window − reply − tool result)`.
#[must_use]
pub fn default_threshold(window: Tokens, reserve: Tokens, tool_result: Tokens) -> Tokens {
    let share = Tokens(window.0 / 4 * 3 + window.0 % 4 * 3 / 4);
    let room = window.0.saturating_sub(reserve.0).saturating_sub(tool_result.0);
    Tokens(share.0.min(room))
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    Send,
    /// Sent as it is; its real count decides.
    Wait,
    /// The server is asked for an exact count first.
    Count,
    Compact,
    /// Sent; the person is told that compacting would help.
    Suggest,
    /// Sent; the person is told once that it exceeds the window.
    Warn,
    /// Not sent.
    Refuse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GateReason {
    UnderThreshold,
    OverThreshold,
    /// The reply would not fit any more.
    NoRoomForReply,
    /// An estimate alone never compacts: it waits for one real count.
    RoughWaits,
    Waited,
    UsageOmitted,
    LastRealOver,
    Overflow,
    AfterOverflow,
    /// Still too long after the one pass.
    StillTooLong,
    /// Nothing describes the new conversation yet.
    QuietAfterCompaction,
    /// Two compactions did not help.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub moment: Moment,
    pub reading: ContextReading,
    pub window: Option<Tokens>,
    pub threshold: Option<Tokens>,
    pub verdict: Verdict,
    pub reason: GateReason,
    /// The row that cannot be sent.
    pub row: Option<String>,
}

/// How a compaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    Committed,
    /// There was nothing to cut.
    NoOp,
    DiscardedStale,
    RejectedLarger,
    TimedOut,
    Cancelled,
    ProviderError,
    Busy,
}
