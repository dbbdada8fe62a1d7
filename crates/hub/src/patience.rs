//! What to do when something goes wrong on the way: pure, so that the rules can be read and tested.

use std::time::Duration;

use crate::Patience;

/// Why a connection brought less than it should. Everything here may be better next time; what may not is a
/// [`crate::HubError`] at once.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// No connection, or the request failed before an answer.
    Unreachable(reqwest::Error),
    /// The proxy did not let us through to anybody.
    Proxy(reqwest::Error),
    /// The body ended before its end.
    Cut,
    /// Silence.
    Stalled,
    /// 408, 425, 5xx.
    Server(u16),
    /// 429, with the pause the server wants.
    TooMany(Option<Duration>),
    /// The CDN no longer takes the signed link; a new one has to be asked for.
    LinkExpired(u16),
}

/// Attempts in a row without a byte, and what comes next.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fruitless(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    After(Duration),
    GiveUp,
}

impl Fruitless {
    pub(crate) fn forget(&mut self) {
        self.0 = 0;
    }

    /// Counts one more. `reached`: this transfer has had bytes. `chance` from 0 to 1 spreads the pauses of many
    /// clients.
    pub(crate) fn next(
        &mut self,
        trouble: &Trouble,
        patience: &Patience,
        reached: bool,
        chance: f64,
    ) -> Next {
        let before = self.0;
        self.0 = self.0.saturating_add(1);
        let nobody = !reached && matches!(trouble, Trouble::Unreachable(_) | Trouble::Proxy(_));
        let max = if nobody {
            patience.unreached_max.min(patience.fruitless_max)
        } else {
            patience.fruitless_max
        };
        if self.0 >= max {
            return Next::GiveUp;
        }
        let doubled = patience
            .first_pause
            .saturating_mul(1_u32.checked_shl(before).unwrap_or(u32::MAX))
            .min(patience.longest_pause);
        let spread = doubled.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
        let told = match trouble {
            Trouble::TooMany(told) => *told,
            // The line was good until now: the first attempt goes at once.
            Trouble::Cut | Trouble::Stalled | Trouble::LinkExpired(_) if before == 0 => {
                return Next::After(Duration::ZERO);
            }
            Trouble::Cut
            | Trouble::Stalled
            | Trouble::LinkExpired(_)
            | Trouble::Unreachable(_)
            | Trouble::Proxy(_)
            | Trouble::Server(_) => None,
        };
        match told {
            None => Next::After(spread),
            Some(told) if told > patience.longest_told_pause => Next::GiveUp,
            // What the server says, and a little more, so that not everybody is back at the same moment.
            Some(told) => Next::After(told.saturating_add(spread / 4)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::{Fruitless, Next, Trouble};
    use crate::Patience;

    fn pauses(trouble: &Trouble, chance: f64) -> Vec<Duration> {
        let (mut fruitless, patience) = (Fruitless::default(), Patience::default());
        std::iter::from_fn(|| match fruitless.next(trouble, &patience, true, chance) {
            Next::After(pause) => Some(pause),
            Next::GiveUp => None,
        })
        .collect()
    }

    #[test]
    fn pauses_grow_and_end() {
        let pauses = pauses(&Trouble::Server(503), 1.0);
        let seconds: Vec<f64> = pauses.iter().map(Duration::as_secs_f64).collect();
        assert_eq!(
            seconds,
            [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0],
            "and the ninth fruitless attempt is the last"
        );
    }

    #[test]
    fn a_cut_line_is_taken_up_again_at_once() {
        assert_eq!(pauses(&Trouble::Cut, 0.0)[0], Duration::ZERO);
        assert!(pauses(&Trouble::Cut, 0.0)[1] > Duration::ZERO);
    }

    #[test]
    fn a_server_that_names_a_pause_gets_it() {
        let told = Duration::from_secs(20);
        assert!(
            pauses(&Trouble::TooMany(Some(told)), 0.5)
                .iter()
                .all(|pause| *pause >= told)
        );
        let far = Duration::from_hours(1);
        assert!(
            pauses(&Trouble::TooMany(Some(far)), 0.5).is_empty(),
            "an hour is told to the person instead"
        );
    }

    #[test]
    fn a_line_that_was_never_there_is_told_soon() {
        // Any error of this type: building a request without a host fails.
        let error = || reqwest::Client::new().get("http://").build().unwrap_err();
        let attempts = |reached| {
            let (mut fruitless, patience) = (Fruitless::default(), Patience::default());
            let trouble = Trouble::Unreachable(error());
            (1..=100)
                .find(|_| fruitless.next(&trouble, &patience, reached, 0.5) == Next::GiveUp)
                .unwrap()
        };
        assert_eq!((attempts(false), attempts(true)), (5, 9));
    }

    #[test]
    fn progress_starts_the_count_again() {
        let (mut fruitless, patience) = (Fruitless::default(), Patience::default());
        for _ in 0..100 {
            assert_ne!(fruitless.next(&Trouble::Cut, &patience, true, 0.5), Next::GiveUp);
            fruitless.forget();
        }
    }

    proptest! {
        #[test]
        fn no_pause_is_longer_than_the_longest(chance in -1.0..2.0f64, tries in 1u32..100) {
            let patience = Patience { fruitless_max: u32::MAX, ..Patience::default() };
            let mut fruitless = Fruitless::default();
            for _ in 0..tries {
                match fruitless.next(&Trouble::Server(500), &patience, true, chance) {
                    Next::After(pause) => prop_assert!(pause <= patience.longest_pause),
                    Next::GiveUp => prop_assert!(false, "gave up early"),
                }
            }
        }
    }
}
