use std::collections::VecDeque;
use std::time::{Duration, Instant};

use plimsoll_units::Bytes;

/// The speed is that of the last seconds: an average since the start would hide that the line has slowed down.
const WINDOW: Duration = Duration::from_secs(4);
const MARKS_MAX: usize = 64;
const MARK_EVERY: Duration = Duration::from_millis(100);

/// How fast a transfer has been of late.
#[derive(Debug, Default)]
pub(super) struct Rate(VecDeque<(Instant, Bytes)>);

impl Rate {
    /// Takes in how far it is; gives bytes a second, 0 while nothing is known.
    pub(super) fn at(&mut self, now: Instant, done: Bytes) -> u64 {
        if self.0.back().is_some_and(|(_, last)| done < *last) {
            // Started over: what was before says nothing.
            self.0.clear();
        }
        while self.0.len() > 1
            && self
                .0
                .front()
                .is_some_and(|(at, _)| now.duration_since(*at) > WINDOW)
        {
            self.0.pop_front();
        }
        if self.0.len() < MARKS_MAX
            && self
                .0
                .back()
                .is_none_or(|(at, _)| now.duration_since(*at) >= MARK_EVERY)
        {
            self.0.push_back((now, done));
        }
        let Some((since, from)) = self.0.front() else {
            return 0;
        };
        let millis = now.duration_since(*since).as_millis();
        if millis < MARK_EVERY.as_millis() {
            return 0;
        }
        let rate = u128::from(done.less(*from).0).saturating_mul(1000) / millis;
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use plimsoll_units::Bytes;

    use super::Rate;

    #[test]
    fn the_speed_is_that_of_the_last_seconds() {
        let start = Instant::now();
        let at = |tenths: u64| start + Duration::from_millis(tenths * 100);
        let mut rate = Rate::default();
        assert_eq!(rate.at(at(0), Bytes::ZERO), 0, "nothing known yet");
        let fast = (1..=100).map(|n| rate.at(at(n), Bytes(n * 1_000))).next_back();
        assert_eq!(fast, Some(10_000));
        let slow = (101..=200)
            .map(|n| rate.at(at(n), Bytes(100_000 + (n - 100) * 10)))
            .next_back();
        assert_eq!(slow, Some(100));
        assert_eq!(rate.at(at(201), Bytes(5)), 0, "started over");
    }
}
