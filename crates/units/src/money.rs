use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Tokens;

const PER_DOLLAR: f64 = 1e12;

/// An amount in millionths of a millionth of a US dollar: the price of a single token stays whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PicoDollars(pub u64);

impl PicoDollars {
    /// `None` for what is no amount: negative, infinite, NaN, or more than fits.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "checked against the range first"
    )]
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let amount = (dollars * PER_DOLLAR).round();
        (amount.is_finite() && amount >= 0.0 && amount < u64::MAX as f64).then_some(Self(amount as u64))
    }

    /// For showing and for the wire.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for showing only")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PER_DOLLAR
    }

    /// This price of one token, so many times. `None` where that does not fit.
    #[must_use]
    pub fn times(self, tokens: Tokens) -> Option<Self> {
        self.0.checked_mul(tokens.0.into()).map(Self)
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }
}

impl fmt::Display for PicoDollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.6}", self.dollars())
    }
}

#[cfg(test)]
mod tests {
    use super::PicoDollars;
    use crate::Tokens;

    #[test]
    fn a_million_tokens_cost_what_the_price_list_says() {
        // $0.028 for a million is 28,000 for one.
        let price = PicoDollars(28_000);
        assert_eq!(price.times(Tokens(1_000_000)), PicoDollars::from_dollars(0.028));
        assert_eq!(price.to_string(), "$0.000000");
    }

    #[test]
    fn what_is_no_amount_is_none() {
        for dollars in [-0.1, f64::NAN, f64::INFINITY, 1e9] {
            assert_eq!(PicoDollars::from_dollars(dollars), None, "{dollars}");
        }
        assert_eq!(PicoDollars(u64::MAX).times(Tokens(2)), None);
        assert_eq!(PicoDollars(u64::MAX).plus(PicoDollars(1)), None);
    }
}
