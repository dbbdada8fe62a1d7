//! How many connections at once: pure, so that the rule can be read and tested.
//!
//! More of them as long as more of them bring more; then the number is held and tried again now and then, since
//! lines change. A server that objects halves it.

use std::time::{Duration, Instant};

/// A change shows its effect only when new connections are up to speed.
const SETTLE: Duration = Duration::from_millis(400);
const MEASURE: Duration = Duration::from_millis(500);
/// Growing has to pay by this much, or it is noise.
const WORTH_IT: f64 = 1.10;
const HOLD: Duration = Duration::from_secs(8);
const HOLD_AFTER_OBJECTION: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Flow {
    target: usize,
    most: usize,
    /// Where the present number began, and the bytes received then.
    since: Option<(Instant, u64)>,
    changed: Instant,
    /// The number before the last growth and what it brought a second.
    before: Option<(usize, f64)>,
    hold_until: Option<Instant>,
}

impl Flow {
    pub(super) fn new(first: usize, most: usize, now: Instant) -> Self {
        let most = most.max(1);
        Self {
            target: first.clamp(1, most),
            most,
            since: None,
            changed: now,
            before: None,
            hold_until: None,
        }
    }

    pub(super) const fn target(&self) -> usize {
        self.target
    }

    /// Takes in how much was received in all; `busy` says that every allowed connection had work.
    pub(super) fn at(&mut self, now: Instant, received: u64, busy: bool) {
        if self.hold_until.is_some_and(|until| now < until) {
            return;
        }
        if !busy {
            // What too few connections bring says nothing about more of them.
            self.since = None;
            self.changed = now;
            return;
        }
        if now.duration_since(self.changed) < SETTLE {
            return;
        }
        let (since, from) = *self.since.get_or_insert((now, received));
        let span = now.duration_since(since);
        if span < MEASURE {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a speed needs no more than 53 bits")]
        let speed = received.saturating_sub(from) as f64 / span.as_secs_f64();
        let paid = self.before.is_none_or(|(_, slower)| speed > slower * WORTH_IT);
        if paid && self.target < self.most {
            self.before = Some((self.target, speed));
            let more = if self.hold_until.is_some() {
                (self.target / 4).max(1)
            } else {
                self.target
            };
            self.change(self.target + more, now);
        } else {
            if let Some((fewer, _)) = self.before.take().filter(|_| !paid) {
                self.change(fewer, now);
            }
            self.since = None;
            self.hold_until = Some(now + HOLD);
        }
    }

    /// The server said that it is too much.
    pub(super) fn objected(&mut self, now: Instant) {
        self.before = None;
        self.change(self.target / 2, now);
        self.hold_until = Some(now + HOLD_AFTER_OBJECTION);
    }

    fn change(&mut self, target: usize, now: Instant) {
        self.target = target.clamp(1, self.most);
        self.changed = now;
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Flow;

    /// Where the number ends up on a line that gives `each` a connection up to `all`, in bytes a second.
    fn ends_at(each: u64, all: u64, seconds: u64) -> Vec<usize> {
        let start = Instant::now();
        let mut flow = Flow::new(4, 24, start);
        let (mut received, mut seen) = (0, vec![4]);
        for tenth in 1..seconds * 10 {
            received += (each * flow.target() as u64).min(all) / 10;
            flow.at(start + Duration::from_millis(tenth * 100), received, true);
            if seen.last() != Some(&flow.target()) {
                seen.push(flow.target());
            }
        }
        seen
    }

    #[test]
    fn a_limit_for_each_connection_is_met_with_more_of_them() {
        assert_eq!(ends_at(10_000_000, u64::MAX, 8), [4, 8, 16, 24]);
    }

    #[test]
    fn a_full_line_is_not_crowded() {
        assert_eq!(ends_at(100_000_000, 300_000_000, 7), [4, 8, 4]);
    }

    #[test]
    fn a_line_that_gets_better_is_noticed() {
        let start = Instant::now();
        let mut flow = Flow::new(4, 24, start);
        let mut received = 0;
        for tenth in 1..400_u64 {
            let all = if tenth < 100 { 40_000_000 } else { 400_000_000 };
            received += (20_000_000 * flow.target() as u64).min(all) / 10;
            flow.at(start + Duration::from_millis(tenth * 100), received, true);
        }
        assert!(flow.target() > 4, "{flow:?}");
    }

    #[test]
    fn an_objection_halves_and_lasts() {
        let start = Instant::now();
        let mut flow = Flow::new(8, 24, start);
        flow.objected(start);
        assert_eq!(flow.target(), 4);
        for second in 1..15 {
            flow.at(start + Duration::from_secs(second), second * 1_000_000_000, true);
        }
        assert_eq!(flow.target(), 4);
        for _ in 0..10 {
            flow.objected(start);
        }
        assert_eq!(flow.target(), 1);
    }

    #[test]
    fn idle_connections_prove_nothing() {
        let start = Instant::now();
        let mut flow = Flow::new(4, 24, start);
        for second in 1..20 {
            flow.at(start + Duration::from_secs(second), second * 1_000_000, false);
        }
        assert_eq!(flow.target(), 4);
    }
}
