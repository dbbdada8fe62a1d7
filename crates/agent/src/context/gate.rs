use plimsoll_units::Tokens;

use super::decision::{Decision, GateLimits, GateReason, Mode, Moment, Outcome, Verdict, default_threshold};
use super::{Account, ContextReading, ReadingKind};

/// How long a blocked compaction waits for its one probe.
const PROBE_AFTER_S: i64 = 300;
/// How long after a failure it is not tried again by itself.
const RETRY_AFTER_S: i64 = 60;
const INEFFECTIVE_MOST: u8 = 2;

/// What gates remember from one to the next.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one thing that happened or did not"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GateState {
    waited: bool,
    usage_omitted: bool,
    last_real: Option<u64>,
    after_overflow: bool,
    /// The one pass after an overflow was begun.
    recovering: bool,
    quiet: bool,
    /// The next real count says whether the last compaction helped.
    judging: bool,
    ineffective: u8,
    probe_at: Option<i64>,
    /// There was nothing to cut: when it is tried again.
    cut_again: Option<CutAgain>,
    retry_at: Option<i64>,
    /// What the last pass left.
    left: Option<u64>,
    warned: bool,
    pending: bool,
    threshold: Option<u64>,
}

/// After a pass that found nothing to cut: it is tried again from so many tokens on, or with the next question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CutAgain {
    from: u64,
    step: u64,
    rows: usize,
}

impl GateState {
    pub(super) fn route_changed(&mut self) {
        *self = Self {
            // A summary that is being made is of the rows, not of the route.
            pending: self.pending,
            left: self.left,
            warned: self.warned,
            ..Self::default()
        };
    }

    pub(super) fn answered(&mut self, with_count: bool) {
        self.quiet = false;
        self.recovering = false;
        self.after_overflow = false;
        self.usage_omitted = !with_count;
        if with_count {
            self.waited = false;
        }
    }

    pub(super) fn overflowed(&mut self) {
        self.after_overflow = true;
    }

    pub(super) fn counted(&mut self, real: u64, now: i64) {
        self.last_real = Some(real);
        if !std::mem::take(&mut self.judging) {
            return;
        }
        self.left = Some(real);
        if self.threshold.is_some_and(|threshold| real >= threshold) {
            self.ineffective = self.ineffective.saturating_add(1);
            if self.ineffective >= INEFFECTIVE_MOST {
                self.probe_at = Some(now.saturating_add(PROBE_AFTER_S));
            }
        } else {
            self.ineffective = 0;
            self.probe_at = None;
        }
    }
}

/// What one gate looks at.
struct Look {
    kind: ReadingKind,
    tokens: u64,
    typical: u64,
    high: u64,
    window: u64,
    threshold: u64,
    reserve: u64,
}

impl Look {
    fn is_over(&self) -> bool {
        self.typical >= self.threshold
    }

    fn is_full(&self) -> bool {
        self.high.saturating_add(self.reserve) > self.window
    }

    /// Worth an exact count: close to the threshold, or only a guess that is not far below it.
    fn is_near(&self) -> bool {
        let near = self.tokens.saturating_mul(10) >= self.threshold.saturating_mul(7);
        match self.kind {
            ReadingKind::Rough => near,
            ReadingKind::Anchored => {
                near && self.tokens.saturating_mul(10) <= self.threshold.saturating_mul(13)
            }
            ReadingKind::Exact | ReadingKind::Real | ReadingKind::Rejected | ReadingKind::Unknown => false,
        }
    }
}

impl Account {
    /// Decides what happens next. Only the display changes nothing.
    pub fn gate(&mut self, moment: Moment, limits: &GateLimits, now: i64) -> Decision {
        let reading = self.reading(now);
        let told = limits.window;
        let window = match (told, self.learned_window) {
            (Some(told), Some(learned)) => Some(told.min(learned)),
            (told, learned) => told.or(learned),
        };
        let threshold = limits
            .threshold
            .or_else(|| Some(default_threshold(window?, limits.reserve, limits.tool_result)));
        let (verdict, reason) = match (window, threshold, reading.tokens, reading.typical, reading.high) {
            (Some(window), Some(threshold), Some(tokens), Some(typical), Some(high)) => {
                let look = Look {
                    kind: reading.kind,
                    tokens: tokens.0.into(),
                    typical: typical.0.into(),
                    high: high.0.into(),
                    window: window.0.into(),
                    threshold: threshold.0.into(),
                    reserve: limits.reserve.0.into(),
                };
                self.gate.threshold = Some(look.threshold);
                self.weigh(moment, limits, &look, now)
            }
            (None, ..) => (Verdict::Send, GateReason::WindowUnknown),
            _ => (Verdict::Send, GateReason::NothingKnown),
        };
        if moment != Moment::Display {
            self.remember(verdict, reason, &reading, window);
        }
        let row = (reason == GateReason::MessageTooLarge)
            .then(|| limits.question.as_ref().map(|(id, _)| id.clone()))
            .flatten();
        Decision {
            moment,
            reading,
            window,
            threshold,
            verdict,
            reason,
            row,
        }
    }

    fn weigh(&self, moment: Moment, limits: &GateLimits, look: &Look, now: i64) -> (Verdict, GateReason) {
        let state = &self.gate;
        let asking = matches!(
            moment,
            Moment::BeforeTurn | Moment::BeforeCall | Moment::AfterTools
        );
        if asking && self.question_is_too_large(limits, look) {
            return (Verdict::Refuse, GateReason::MessageTooLarge);
        }
        if asking && limits.countable && look.is_near() {
            return (Verdict::Count, GateReason::NearThreshold);
        }
        if limits.mode == Mode::Off {
            return match (look.tokens > look.window, state.warned) {
                (true, true) => (Verdict::Send, GateReason::OffWarned),
                (true, false) if asking => (Verdict::Warn, GateReason::Off),
                (true | false, _) => (Verdict::Send, GateReason::Off),
            };
        }
        if state.recovering && asking {
            // The one pass was made: what is still too long is not sent.
            if look.is_full() {
                return (Verdict::Refuse, GateReason::StillTooLong);
            }
        } else if state.quiet && look.kind == ReadingKind::Exact && look.is_full() {
            return (Verdict::Refuse, GateReason::NoRoomForReply);
        }
        if state.quiet {
            return (Verdict::Send, GateReason::QuietAfterCompaction);
        }
        if moment == Moment::Idle {
            return self.weigh_idle(limits, look, now);
        }
        if !look.is_over() && !look.is_full() {
            return (Verdict::Send, GateReason::UnderThreshold);
        }
        if limits.mode == Mode::Manual {
            return (Verdict::Suggest, GateReason::Manual);
        }
        if look.kind == ReadingKind::Rejected {
            return (Verdict::Compact, GateReason::Overflow);
        }
        // What certainly does not fit is not sent, also when cutting it is no way at the moment.
        let held = |reason| {
            if look.kind.is_sure() && look.is_full() {
                (Verdict::Refuse, reason)
            } else {
                (Verdict::Send, reason)
            }
        };
        if state.pending {
            return held(GateReason::SummaryPending);
        }
        if state.ineffective >= INEFFECTIVE_MOST {
            return if state.probe_at.is_some_and(|at| now < at) {
                held(GateReason::Blocked)
            } else {
                (Verdict::Compact, GateReason::Probe)
            };
        }
        if self.is_backing_off(look) {
            return held(GateReason::NothingToCut);
        }
        if state.retry_at.is_some_and(|at| now < at) {
            return held(GateReason::RecentlyFailed);
        }
        if look.kind.is_sure() {
            return if look.is_over() {
                (Verdict::Compact, GateReason::OverThreshold)
            } else {
                (Verdict::Compact, GateReason::NoRoomForReply)
            };
        }
        if state.after_overflow {
            (Verdict::Compact, GateReason::AfterOverflow)
        } else if state.last_real.is_some_and(|real| real >= look.threshold) {
            (Verdict::Compact, GateReason::LastRealOver)
        } else if state.usage_omitted {
            (Verdict::Compact, GateReason::UsageOmitted)
        } else if state.waited {
            (Verdict::Compact, GateReason::Waited)
        } else {
            (Verdict::Wait, GateReason::RoughWaits)
        }
    }

    /// While the person reads: only with something sure, and enough that is new since the last pass.
    fn weigh_idle(&self, limits: &GateLimits, look: &Look, now: i64) -> (Verdict, GateReason) {
        let soon = look.threshold / 10 * 8;
        if !look.kind.is_sure() || look.typical < soon {
            return (Verdict::Send, GateReason::UnderThreshold);
        }
        let state = &self.gate;
        if state
            .left
            .is_some_and(|left| look.typical < left.saturating_add(self.floor()))
        {
            return (Verdict::Send, GateReason::IdleTooLittleNew);
        }
        if limits.mode == Mode::Manual {
            return (Verdict::Suggest, GateReason::Manual);
        }
        if state.pending {
            return (Verdict::Send, GateReason::SummaryPending);
        }
        if state.ineffective >= INEFFECTIVE_MOST {
            return (Verdict::Send, GateReason::Blocked);
        }
        if self.is_backing_off(look) {
            return (Verdict::Send, GateReason::NothingToCut);
        }
        if state.retry_at.is_some_and(|at| now < at) {
            return (Verdict::Send, GateReason::RecentlyFailed);
        }
        (Verdict::Compact, GateReason::IdleEnough)
    }

    /// The last pass found nothing to cut, and little has come since.
    fn is_backing_off(&self, look: &Look) -> bool {
        self.gate
            .cut_again
            .is_some_and(|again| look.tokens < again.from && !self.chain.asked_after(again.rows))
    }

    /// Estimates may be two and a half times high: a message is only named when it is too large all the same.
    fn question_is_too_large(&self, limits: &GateLimits, look: &Look) -> bool {
        let Some((_, weight)) = &limits.question else {
            return false;
        };
        let estimate = self.rates.estimate(*weight);
        let least = if self.rates.learned_per_byte().is_some() {
            estimate / 10 * 7
        } else {
            estimate / 10 * 4
        };
        least > look.window.saturating_sub(look.reserve.min(look.window / 2))
    }

    fn remember(
        &mut self,
        verdict: Verdict,
        reason: GateReason,
        reading: &ContextReading,
        window: Option<Tokens>,
    ) {
        let state = &mut self.gate;
        match verdict {
            Verdict::Wait => state.waited = true,
            Verdict::Warn => state.warned = true,
            Verdict::Compact => {
                if matches!(reason, GateReason::Overflow | GateReason::AfterOverflow) {
                    state.recovering = true;
                }
            }
            Verdict::Send | Verdict::Count | Verdict::Suggest | Verdict::Refuse => {}
        }
        if let (Some(tokens), Some(window)) = (reading.tokens, window)
            && tokens <= window
        {
            state.warned = false;
        }
    }

    /// A summary is being made. `false`: one is already, and there is only ever one.
    pub fn begin_compaction(&mut self) -> bool {
        !std::mem::replace(&mut self.gate.pending, true)
    }

    /// How it ended. `left`: tokens of what is sent from now on, estimated.
    pub fn end_compaction(&mut self, outcome: Outcome, left: Option<u64>, now: i64) {
        let tokens = self.reading(now).tokens.map_or(0, |tokens| u64::from(tokens.0));
        let state = &mut self.gate;
        state.pending = false;
        match outcome {
            Outcome::Committed => {
                self.anchor = None;
                state.quiet = true;
                state.judging = true;
                state.left = left;
                state.last_real = None;
                state.waited = false;
                state.cut_again = None;
                state.retry_at = None;
            }
            Outcome::NoOp | Outcome::RejectedLarger => {
                // Each time twice as much has to be new.
                let step = state
                    .cut_again
                    .map_or((tokens / 16).max(256), |again| again.step.saturating_mul(2));
                state.cut_again = Some(CutAgain {
                    from: tokens.saturating_add(step),
                    step,
                    rows: self.chain.len(),
                });
                state.probe_at = state.probe_at.map(|_| now.saturating_add(PROBE_AFTER_S));
            }
            Outcome::TimedOut | Outcome::ProviderError => {
                state.retry_at = Some(now.saturating_add(RETRY_AFTER_S));
            }
            Outcome::DiscardedStale | Outcome::Cancelled | Outcome::Busy => {}
        }
    }

    /// The person took a compaction back, or asked for one: what gates held back is forgotten.
    pub fn unblock(&mut self) {
        self.anchor = None;
        self.gate = GateState {
            pending: self.gate.pending,
            usage_omitted: self.gate.usage_omitted,
            ..GateState::default()
        };
    }
}
