use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// A number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub u32);

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A bandwidth or a download speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BytesPerSecond(pub u64);

impl BytesPerSecond {
    /// Decimal gigabytes per second, as data sheets give them.
    #[must_use]
    pub const fn gb(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000_000))
    }
    /// Bytes per second as a floating-point number, for ratios.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        Bytes(self.0).as_f64()
    }
    /// Seconds to move `bytes`; `None` for a rate of 0.
    #[must_use]
    pub fn seconds_for(self, bytes: Bytes) -> Option<f64> {
        (self.0 > 0).then(|| bytes.as_f64() / Bytes(self.0).as_f64())
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", Bytes(self.0))
    }
}

/// How fast a model reads or writes. Always finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokensPerSecond(f64);

impl TokensPerSecond {
    /// `None` for a number that is no speed (negative, infinite, NaN).
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (value.is_finite() && value >= 0.0).then_some(Self(value))
    }
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}
