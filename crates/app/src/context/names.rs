//! Names of the accounting as names of the wire, and back.

use plimsoll_agent::context as ours;
use plimsoll_wire as wire;

/// Two enums of the same names.
macro_rules! same {
    ($ours:ident from $from:ident $wire:ident { $($name:ident),* $(,)? }) => {
        pub(crate) const fn $from(value: wire::$wire) -> ours::$ours {
            match value { $(wire::$wire::$name => ours::$ours::$name),* }
        }
    };
    ($to:ident $ours:ident = $wire:ident { $($name:ident),* $(,)? }) => {
        pub(crate) const fn $to(value: ours::$ours) -> wire::$wire {
            match value { $(ours::$ours::$name => wire::$wire::$name),* }
        }
    };
}

same!(kind ReadingKind = ReadingKind { Exact, Real, Rejected, Anchored, Rough, Unknown });
same!(moment Moment = GateMoment { BeforeTurn, BeforeCall, AfterTools, Idle, Display });
same!(Moment from our_moment GateMoment { BeforeTurn, BeforeCall, AfterTools, Idle, Display });
same!(verdict Verdict = GateVerdict { Send, Wait, Count, Compact, Suggest, Warn, Refuse });
same!(Mode from our_mode CompactionMode { Automatic, Manual, Off });
same!(thoughts Thoughts = ReplayThoughts { Never, InTurn, Always });
same!(Thoughts from our_thoughts ReplayThoughts { Never, InTurn, Always });
same!(row_kind RowKind = ReplayRowKind { User, Answer, Results, Summary });
same!(RowKind from our_row_kind ReplayRowKind { User, Answer, Results, Summary });
same!(Outcome from our_outcome CompactionOutcome {
    Committed, NoOp, DiscardedStale, RejectedLarger, TimedOut, Cancelled, ProviderError, Busy,
});
same!(reason GateReason = GateReason {
    UnderThreshold, OverThreshold, NoRoomForReply, RoughWaits, Waited, UsageOmitted, LastRealOver, Overflow,
    AfterOverflow, StillTooLong, QuietAfterCompaction, Blocked, Probe, NothingToCut, RecentlyFailed,
    SummaryPending, IdleEnough, IdleTooLittleNew, NearThreshold, Manual, Off, OffWarned, MessageTooLarge,
    WindowUnknown, NothingKnown,
});

pub(crate) fn reading(reading: &ours::ContextReading) -> wire::ContextReading {
    let count = |tokens: Option<plimsoll_units::Tokens>| tokens.map(|tokens| tokens.0);
    wire::ContextReading {
        kind: kind(reading.kind),
        tokens: count(reading.tokens),
        error: count(reading.error),
        typical: count(reading.typical),
        high: count(reading.high),
        age_s: reading.age_s,
    }
}

pub(crate) fn decision(decision: &ours::Decision) -> wire::GateDecision {
    wire::GateDecision {
        moment: moment(decision.moment),
        verdict: verdict(decision.verdict),
        reason: reason(decision.reason),
        reading: reading(&decision.reading),
        window: decision.window.map(|tokens| tokens.0),
        threshold: decision.threshold.map(|tokens| tokens.0),
        row: decision.row.clone(),
    }
}

/// The name of a unit variant, as the wire writes it.
pub(crate) fn name<T: serde::Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(_) | Err(_) => String::new(),
    }
}

pub(crate) fn plan(plan: &ours::CutPlan) -> wire::CutPlan {
    wire::CutPlan {
        summarise: plan.summarise.clone(),
        keep: plan.keep.clone(),
        notes: plan
            .prunes
            .iter()
            .map(|prune| wire::CutNote {
                row: prune.row.clone(),
                call: prune.call.clone(),
                kind: name(prune.kind),
                keep_bytes: prune.keep_bytes,
            })
            .collect(),
        before: small(plan.before),
        after: small(plan.after),
        squeezed: plan.squeezed,
    }
}

pub(crate) fn small(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

pub(crate) fn row(facts: &ours::RowFacts) -> wire::ReplayRow {
    let images = ours::SizeClass::ALL
        .into_iter()
        .map(|class| (name(class), facts.weight.images.of(class)))
        .filter(|(_, count)| *count > 0)
        .collect();
    wire::ReplayRow {
        id: facts.id.clone(),
        kind: row_kind(facts.kind),
        bytes: facts.weight.text_bytes,
        thought_bytes: facts.weight.thought_bytes,
        opaque_bytes: 0,
        images,
        digest: Some(facts.digest.to_string()),
        calls: facts.calls,
        results: facts
            .results
            .iter()
            .map(|result| wire::ReplayResult {
                call: result.call.clone(),
                bytes: result.bytes,
                digest: Some(result.digest.to_string()),
            })
            .collect(),
    }
}

pub(crate) fn our_row(row: &wire::ReplayRow) -> ours::RowFacts {
    let mut images = ours::Images::default();
    for (size, count) in &row.images {
        images.add(size_class(size), *count);
    }
    ours::RowFacts {
        id: row.id.clone(),
        kind: our_row_kind(row.kind),
        digest: ours::Digest::read(row.digest.as_deref().unwrap_or(&row.id)),
        weight: ours::Weight {
            rows: 1,
            text_bytes: row.bytes,
            thought_bytes: row.thought_bytes,
            images,
        },
        calls: row.calls,
        results: row
            .results
            .iter()
            .map(|result| ours::ResultFacts {
                call: result.call.clone(),
                bytes: result.bytes,
                digest: ours::Digest::read(result.digest.as_deref().unwrap_or(&result.call)),
            })
            .collect(),
    }
}

pub(crate) fn size_class(name: &str) -> ours::SizeClass {
    match name {
        "small" => ours::SizeClass::Small,
        "medium" => ours::SizeClass::Medium,
        "large" => ours::SizeClass::Large,
        _ => ours::SizeClass::Unknown,
    }
}
