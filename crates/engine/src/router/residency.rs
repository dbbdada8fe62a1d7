//! How long a model stays in memory that nobody uses, and what else sends it away: pure, so that the rules can be read and
//! tested.

use std::time::Duration;

use plimsoll_units::Bytes;

use tokio::time::Instant;

/// How often the slots of models are looked at that may go. Each look costs a millisecond; while a model reads a prompt it
/// must not be asked more often than every 1.5 s.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(5);
/// One that somebody has just used comes back at once: sending it away would free nothing for long.
const UNUSED_LEAST: Duration = Duration::from_secs(30);
/// Between the word that a model is used and the request itself lies a moment in which it must not go.
const LEAST: Duration = Duration::from_secs(3);

/// What whoever uses a model says about its time afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stay {
    /// As set for all models.
    #[default]
    Usual,
    For(Duration),
    Always,
}

/// What is set for all models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keeping {
    /// How long one stays that nobody uses; for ever when it is missing.
    pub idle_max: Option<Duration>,
    /// Whether all that nobody uses go when the machine has slept.
    pub release_on_sleep: bool,
}

/// What a look at the slots is to find besides models that have stayed for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Wanted {
    #[default]
    Nothing,
    /// The one that was unused for longest, because other programs need the memory.
    OneIdle,
    AllIdle,
}

/// The host's memory as the system tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostMemory {
    pub available: Bytes,
    pub total: Bytes,
}

impl HostMemory {
    /// So little is left that the next thing that any program asks for sends something to the disk.
    pub(super) fn is_low(self) -> bool {
        let least = Bytes(self.total.0 / 32).max(Bytes::mib(256)).min(Bytes::gib(1));
        self.available < least
    }
}

/// Notices that the machine has slept: its own clock stood still while the world's went on, or nobody ran for longer than
/// any pause of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Awake {
    at: Instant,
    wall_ms: i64,
}

/// More than any correction of a clock, less than a sleep that matters to a driver.
const SLEPT_LEAST: Duration = Duration::from_secs(20);

impl Awake {
    pub(super) fn new(at: Instant, wall_ms: i64) -> Self {
        Self { at, wall_ms }
    }

    /// Whether it slept since the last time this was asked.
    pub(super) fn slept(&mut self, at: Instant, wall_ms: i64) -> bool {
        let ran = at.saturating_duration_since(self.at);
        let passed = u64::try_from(wall_ms.saturating_sub(self.wall_ms)).unwrap_or_default();
        *self = Self::new(at, wall_ms);
        Duration::from_millis(passed).max(ran) >= SLEPT_LEAST + LOOK_EVERY
    }
}

/// When a model was used last, and how long it stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rest {
    last_used: Option<Instant>,
    stay: Stay,
    /// Numbers of the work that its slots did last: other programs' requests do not come past us.
    work: Vec<Option<i64>>,
}

impl Rest {
    pub(super) fn last_used(&self) -> Option<Instant> {
        self.last_used
    }

    /// It is in use without a word about its time: what was said before stands.
    pub(super) fn touched(&mut self, now: Instant) {
        self.last_used = Some(now);
    }

    pub(super) fn used(&mut self, now: Instant, stay: Stay) {
        self.last_used = Some(now);
        self.stay = stay;
    }

    pub(super) fn has_limit(&self, usual: Option<Duration>) -> bool {
        self.most(usual).is_some()
    }

    fn most(&self, usual: Option<Duration>) -> Option<Duration> {
        let most = match self.stay {
            Stay::Usual => usual,
            Stay::For(time) => Some(time),
            Stay::Always => None,
        };
        most.map(|most| most.max(LEAST))
    }

    /// Nobody has used it for as long as it may stay; `usual` is what is set for all models, if anything is.
    pub(super) fn is_over(&self, now: Instant, usual: Option<Duration>) -> bool {
        match (self.most(usual), self.last_used) {
            (Some(most), Some(last)) => now.saturating_duration_since(last) >= most,
            (None, _) | (Some(_), None) => false,
        }
    }

    /// Whether it may go because other programs need its memory, or because the machine has slept.
    pub(super) fn may_go_early(&self, now: Instant, wanted: Wanted) -> bool {
        let unused = self
            .last_used
            .map_or(UNUSED_LEAST, |last| now.saturating_duration_since(last));
        match wanted {
            Wanted::Nothing => false,
            Wanted::OneIdle => unused >= UNUSED_LEAST && self.stay != Stay::Always,
            Wanted::AllIdle => unused >= LEAST,
        }
    }

    /// Takes in what its slots say. Whether somebody has used it since they were looked at last.
    pub(super) fn seen(&mut self, now: Instant, busy: bool, work: Vec<Option<i64>>) -> bool {
        let moved = busy || (!self.work.is_empty() && self.work != work);
        // The first look has nothing to compare with; what is set counts from the last use we know of.
        self.work = work;
        if moved || self.last_used.is_none() {
            self.touched(now);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_HOUR: Option<Duration> = Some(Duration::from_mins(30));

    #[test]
    fn it_stays_as_long_as_is_set_or_as_its_user_said() {
        let start = Instant::now();
        let after = |minutes| start + Duration::from_mins(minutes);
        let mut rest = Rest::default();
        assert!(!rest.is_over(after(600), HALF_HOUR), "nobody knows since when");
        rest.used(start, Stay::Usual);
        assert!(!rest.is_over(after(29), HALF_HOUR) && rest.is_over(after(30), HALF_HOUR));
        assert!(!rest.is_over(after(6_000), None), "nothing is set");
        rest.used(start, Stay::For(Duration::from_mins(5)));
        assert!(rest.is_over(after(5), None));
        rest.used(start, Stay::For(Duration::ZERO));
        assert!(!rest.is_over(start, HALF_HOUR) && rest.is_over(start + LEAST, HALF_HOUR));
        rest.used(start, Stay::Always);
        assert!(!rest.is_over(after(6_000), HALF_HOUR));
    }

    #[test]
    fn a_sleep_is_seen_by_the_clock_that_went_on() {
        let start = Instant::now();
        let mut awake = Awake::new(start, 1_000_000);
        let after = |s| start + Duration::from_secs(s);
        assert!(!awake.slept(after(5), 1_005_000));
        assert!(!awake.slept(after(10), 1_021_000), "a clock was set");
        assert!(
            awake.slept(after(15), 4_621_000),
            "an hour went by in five seconds"
        );
        assert!(!awake.slept(after(20), 4_626_000));
        assert!(!awake.slept(after(25), 1_000), "set back");
        assert!(
            awake.slept(after(85), 61_000),
            "where the machine's clock goes on too"
        );
    }

    #[test]
    fn memory_is_low_by_a_share_of_it_within_bounds() {
        let low = |available, total| HostMemory { available, total }.is_low();
        assert!(low(Bytes::mib(200), Bytes::gib(4)) && !low(Bytes::mib(300), Bytes::gib(4)));
        assert!(low(Bytes::mib(500), Bytes::gib(16)) && !low(Bytes::mib(600), Bytes::gib(16)));
        assert!(low(Bytes::mib(1_000), Bytes::gib(512)) && !low(Bytes::mib(1_100), Bytes::gib(512)));
    }

    #[test]
    fn only_what_was_unused_for_a_while_goes_for_others() {
        let start = Instant::now();
        let after = |s| start + Duration::from_secs(s);
        let mut rest = Rest::default();
        assert!(rest.may_go_early(start, Wanted::OneIdle), "nobody knows of a use");
        rest.used(start, Stay::Usual);
        assert!(
            !rest.may_go_early(after(29), Wanted::OneIdle) && rest.may_go_early(after(30), Wanted::OneIdle)
        );
        assert!(
            rest.may_go_early(after(5), Wanted::AllIdle) && !rest.may_go_early(after(1), Wanted::AllIdle)
        );
        assert!(!rest.may_go_early(after(99), Wanted::Nothing));
        rest.used(start, Stay::Always);
        assert!(
            !rest.may_go_early(after(99), Wanted::OneIdle),
            "its user wants it to stay"
        );
    }

    #[test]
    fn work_that_did_not_come_past_us_counts() {
        let start = Instant::now();
        let after = |minutes| start + Duration::from_mins(minutes);
        let mut rest = Rest::default();
        rest.used(start, Stay::Usual);
        assert!(!rest.seen(after(10), false, vec![Some(3), None]));
        assert!(!rest.seen(after(20), false, vec![Some(3), None]));
        assert!(rest.is_over(after(30), HALF_HOUR));
        assert!(
            rest.seen(after(31), false, vec![Some(3), Some(9)]),
            "another program's"
        );
        assert!(!rest.is_over(after(60), HALF_HOUR));
        assert!(rest.seen(after(65), true, vec![Some(3), Some(9)]), "still at it");
        assert!(!rest.is_over(after(94), HALF_HOUR) && rest.is_over(after(95), HALF_HOUR));
    }
}
