use std::time::Duration;

use tokio::time::Instant;

/// After so many deaths in a row nobody starts it again by itself.
pub(super) const CRASHES_MAX: u32 = 5;
/// A router that lived this long was no failure: what kills it later is counted anew.
pub(super) const SETTLED_AFTER: Duration = Duration::from_mins(1);

/// The life of the router as one process sees it. Changes only in [`next`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Off,
    /// Looking for another owner's router, or starting one of our own.
    Starting {
        crashes: u32,
    },
    /// Ours, and it answers.
    Owning {
        crashes: u32,
        since: Instant,
    },
    /// Another process's, and it answers.
    Following,
    /// It died; started again at this time.
    Waiting {
        crashes: u32,
        until: Instant,
    },
    /// It died too often, or in a way that no new start mends.
    GaveUp {
        crashes: u32,
    },
}

/// What can happen to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happened {
    /// Someone needs it.
    Wanted,
    /// A person or the end of the program says stop.
    Unwanted,
    /// Our router answers.
    Answered,
    /// Another owner's router answers.
    FoundOther,
    /// A model of it answered: it works.
    Proved,
    Died(Death),
    /// The other owner's router is gone.
    OtherGone,
    TimerFired,
}

/// How our router ended, or why it did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Death {
    /// May go better next time.
    Crash,
    /// The same would happen again: a missing library, an unknown option.
    Hopeless,
    /// Asked to end by someone else and did so in order, as another of our processes does.
    InOrder,
}

#[must_use]
pub(super) fn next(now: Life, happened: Happened, at: Instant) -> Life {
    use Happened::{Answered, Died, FoundOther, OtherGone, Proved, TimerFired, Unwanted, Wanted};
    use Life::{Following, GaveUp, Off, Owning, Starting, Waiting};
    match (now, happened) {
        (_, Unwanted) | (Following, OtherGone) => Off,
        (Off | GaveUp { .. }, Wanted) => Starting { crashes: 0 },
        // A person who asks does not wait for the timer.
        (Waiting { crashes, .. }, TimerFired | Wanted) => Starting { crashes },
        (Starting { crashes }, Answered) => Owning { crashes, since: at },
        (Starting { .. } | Off, FoundOther) => Following,
        (Owning { since, .. }, Proved) => Owning { crashes: 0, since },
        (Starting { crashes }, Died(death)) => after(crashes, death, at),
        (Owning { crashes, since }, Died(death)) => {
            let settled = at.saturating_duration_since(since) >= SETTLED_AFTER;
            after(if settled { 0 } else { crashes }, death, at)
        }
        (same, Wanted | Answered | FoundOther | Proved | Died(_) | OtherGone | TimerFired) => same,
    }
}

fn after(crashes: u32, death: Death, at: Instant) -> Life {
    let crashes = crashes.saturating_add(1);
    match death {
        Death::InOrder => Life::Off,
        Death::Crash if crashes < CRASHES_MAX => Life::Waiting {
            crashes,
            until: at + backoff(crashes),
        },
        Death::Crash | Death::Hopeless => Life::GaveUp { crashes },
    }
}

/// A quarter of a second, then twice as long each time.
fn backoff(crashes: u32) -> Duration {
    Duration::from_millis(250) * 2u32.saturating_pow(crashes.saturating_sub(1).min(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Instant {
        // Any fixed moment; the runtime's clock needs no runtime.
        Instant::now()
    }

    fn run(from: Life, all: &[Happened], at: Instant) -> Life {
        all.iter().fold(from, |life, &happened| next(life, happened, at))
    }

    const CRASH: Happened = Happened::Died(Death::Crash);

    #[test]
    fn it_gives_up_after_so_many_crashes_and_waits_longer_each_time() {
        let at = at();
        let mut life = next(Life::Off, Happened::Wanted, at);
        let mut waits = Vec::new();
        for _ in 1..CRASHES_MAX {
            life = next(life, CRASH, at);
            let Life::Waiting { until, .. } = life else {
                panic!("{life:?}")
            };
            waits.push(until - at);
            life = run(life, &[Happened::TimerFired, Happened::Answered], at);
        }
        assert!(waits.is_sorted_by(|a, b| a < b), "{waits:?}");
        assert_eq!(next(life, CRASH, at), Life::GaveUp { crashes: CRASHES_MAX });
        assert_eq!(
            run(life, &[CRASH, Happened::TimerFired], at),
            Life::GaveUp { crashes: CRASHES_MAX }
        );
        assert_eq!(
            run(life, &[CRASH, Happened::Wanted], at),
            Life::Starting { crashes: 0 }
        );
    }

    #[test]
    fn a_proof_or_a_long_life_clears_the_count() {
        let at = at();
        let crashed = run(
            Life::Off,
            &[Happened::Wanted, CRASH, Happened::TimerFired, Happened::Answered],
            at,
        );
        assert_eq!(
            crashed,
            Life::Owning {
                crashes: 1,
                since: at
            }
        );
        assert_eq!(
            next(crashed, Happened::Proved, at),
            Life::Owning {
                crashes: 0,
                since: at
            }
        );
        let later = at + SETTLED_AFTER;
        let Life::Waiting { crashes, .. } = next(crashed, CRASH, later) else {
            panic!()
        };
        assert_eq!(crashes, 1, "the first crash of a new count");
    }

    #[test]
    fn what_cannot_go_better_is_not_tried_again() {
        let starting = Life::Starting { crashes: 0 };
        assert_eq!(
            next(starting, Happened::Died(Death::Hopeless), at()),
            Life::GaveUp { crashes: 1 }
        );
    }

    #[test]
    fn an_orderly_end_is_no_crash() {
        let at = at();
        let owning = Life::Owning {
            crashes: 0,
            since: at,
        };
        assert_eq!(next(owning, Happened::Died(Death::InOrder), at), Life::Off);
    }

    #[test]
    fn a_router_that_was_not_wanted_does_not_come_back() {
        let at = at();
        for late in [
            CRASH,
            Happened::Answered,
            Happened::TimerFired,
            Happened::Proved,
            Happened::OtherGone,
        ] {
            assert_eq!(
                run(Life::Starting { crashes: 2 }, &[Happened::Unwanted, late], at),
                Life::Off,
                "{late:?}"
            );
        }
    }

    #[test]
    fn another_owner_is_followed_until_it_is_gone() {
        let at = at();
        assert_eq!(
            run(Life::Off, &[Happened::Wanted, Happened::FoundOther], at),
            Life::Following
        );
        assert_eq!(next(Life::Off, Happened::FoundOther, at), Life::Following);
        assert_eq!(
            run(Life::Following, &[CRASH], at),
            Life::Following,
            "not ours to start again"
        );
        assert_eq!(
            run(Life::Following, &[Happened::OtherGone, Happened::Wanted], at),
            Life::Starting { crashes: 0 }
        );
    }
}
