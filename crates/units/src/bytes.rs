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

/// As a person says it: counted in 1024s and called KB, MB and GB, as memory is sold and as the page shows it, with
/// two digits where they matter: `5.1 GB`, `5 GB`, `398 MB`, `12 B`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
        if self.0 < 1000 {
            return write!(f, "{} B", self.0);
        }
        let mut value = self.as_f64() / 1024.0;
        let mut unit = UNITS[0];
        for next in &UNITS[1..] {
            // What would read as 1000 is one of the next.
            if value < 999.5 {
                break;
            }
            value /= 1024.0;
            unit = next;
        }
        let tenths = (value * 10.0).round();
        if value < 9.95 && tenths % 10.0 != 0.0 {
            write!(f, "{:.1} {unit}", tenths / 10.0)
        } else {
            write!(f, "{:.0} {unit}", value.round())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Bytes;

    /// The page's test reads the same file: one number is said in one way everywhere.
    #[test]
    fn prints_like_the_page() {
        let cases: Vec<(u64, String)> = serde_json::from_str(include_str!("../sizes.json")).unwrap();
        assert!(cases.len() > 20);
        for (bytes, said) in cases {
            assert_eq!(Bytes(bytes).to_string(), said, "{bytes}");
        }
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
