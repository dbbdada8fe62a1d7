use std::fmt;
use std::iter::Sum;

use serde::{Deserialize, Serialize};

/// A size in memory or on disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    pub const ZERO: Self = Self(0);

    #[must_use]
    pub const fn kib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 10))
    }
    #[must_use]
    pub const fn mib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 20))
    }
    #[must_use]
    pub const fn gib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 30))
    }

    /// The sum, or `None` when it does not fit: for sums that decide something.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
    /// What is left after taking `other` away; zero when nothing is.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    #[must_use]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
    /// Rounded up to a multiple of `step` bytes; unchanged for a step of 0.
    #[must_use]
    pub const fn round_up(self, step: u64) -> Self {
        match self.0.checked_next_multiple_of(step) {
            Some(n) => Self(n),
            None if step == 0 => self,
            None => Self(u64::MAX),
        }
    }
    /// For rates and shares only, never for sums.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more than 53 bits")]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// Whole and fractional MiB, as llama.cpp prints them.
    #[must_use]
    pub fn as_mib(self) -> f64 {
        self.as_f64() / f64::from(1 << 20)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Self::plus)
    }
}

/// In binary units with at most three significant digits: `5.1 GiB`, `398 MiB`, `12 B`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1 << 10 {
            return write!(f, "{} B", self.0);
        }
        let mut value = self.as_f64() / 1024.0;
        let mut unit = UNITS[0];
        for next in &UNITS[1..] {
            if value < 1023.5 {
                break;
            }
            value /= 1024.0;
            unit = next;
        }
        if value < 9.95 {
            write!(f, "{value:.1} {unit}")
        } else {
            write!(f, "{value:.0} {unit}")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Bytes;

    #[test]
    fn prints_like_a_person_would_say_it() {
        let shown: Vec<String> = [
            0,
            12,
            1023,
            1024,
            1536,
            10 << 20,
            (1 << 30) - 1,
            5 << 30,
            u64::MAX,
        ]
        .iter()
        .map(|&n| Bytes(n).to_string())
        .collect();
        assert_eq!(
            shown,
            [
                "0 B",
                "12 B",
                "1023 B",
                "1.0 KiB",
                "1.5 KiB",
                "10 MiB",
                "1.0 GiB",
                "5.0 GiB",
                "16384 PiB"
            ]
        );
    }

    proptest! {
        #[test]
        fn nothing_wraps(a: u64, b: u64, step: u64) {
            prop_assert!(Bytes(a).plus(Bytes(b)) >= Bytes(a));
            prop_assert!(Bytes(a).less(Bytes(b)) <= Bytes(a));
            prop_assert!(Bytes(a).round_up(step) >= Bytes(a));
        }
    }
}
