use plimsoll_catalog::Prices;
use plimsoll_units::{PicoDollars, Tokens, TokensPerSecond};

/// What an answer took, as the server counted it, in one form for all protocols. What was not given is
/// missing, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Gross: with what came from the cache and what was written to it.
    pub input: Option<Tokens>,
    /// Of the input, what came from a cache.
    pub cached: Option<Tokens>,
    /// Of the input, what was written to a cache.
    pub cache_write: Option<Tokens>,
    /// With the thoughts.
    pub output: Option<Tokens>,
    /// Of the output, what was thought.
    pub reasoning: Option<Tokens>,
    pub total: Option<Tokens>,
    pub cost: Cost,
    /// The server told parts of the input that do not add up to it.
    pub disputed: bool,
}

/// What an answer cost, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cost {
    #[default]
    Unknown,
    /// By the provider.
    Reported(PicoDollars),
    /// From the counts and a price list.
    Computed(PicoDollars),
}

impl Cost {
    #[must_use]
    pub const fn amount(self) -> Option<PicoDollars> {
        match self {
            Self::Unknown => None,
            Self::Reported(amount) | Self::Computed(amount) => Some(amount),
        }
    }

    /// Of both together; unknown when one of them is.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Reported(one), Self::Reported(two)) => one.plus(two).map_or(Self::Unknown, Self::Reported),
            (Self::Reported(one) | Self::Computed(one), Self::Reported(two) | Self::Computed(two)) => {
                one.plus(two).map_or(Self::Unknown, Self::Computed)
            }
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
        }
    }
}

/// Counts as a protocol gives them, before they are one form.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Counts {
    pub(crate) input: Input,
    pub(crate) cached: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) total: Option<u64>,
    /// In US dollars.
    pub(crate) cost: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Input {
    #[default]
    Unknown,
    Gross(u64),
    /// Anthropic: without what came from the cache and what was written to it.
    Net(u64),
}

impl Usage {
    /// The 0/0 of a stream that counted nothing is unknown, and so is everything that came with it.
    pub(crate) fn from_counts(counts: Counts, prices: Option<&Prices>) -> Self {
        let gross = match counts.input {
            Input::Unknown => None,
            Input::Gross(tokens) => Some(tokens),
            Input::Net(tokens) => Some(
                tokens
                    .saturating_add(counts.cached.unwrap_or_default())
                    .saturating_add(counts.cache_write.unwrap_or_default()),
            ),
        };
        let Some(input) = gross.filter(|tokens| *tokens > 0) else {
            return Self {
                cost: reported(counts.cost).unwrap_or_default(),
                ..Self::default()
            };
        };
        // More from the cache than there is prompt is a server's slip, not a fact; so with the others.
        let within = |part: Option<u64>, whole: Option<u64>| {
            part.filter(|part| whole.is_none_or(|whole| *part <= whole))
                .and_then(tokens)
        };
        let mut usage = Self {
            input: tokens(input),
            cached: within(counts.cached, Some(input)),
            cache_write: within(counts.cache_write, Some(input)),
            output: counts.output.and_then(tokens),
            reasoning: within(counts.reasoning, counts.output),
            total: counts
                .total
                .filter(|total| *total >= input)
                .or_else(|| input.checked_add(counts.output?))
                .and_then(tokens),
            cost: Cost::Unknown,
            disputed: false,
        };
        usage.cost = reported(counts.cost)
            .or_else(|| usage.computed(prices?).map(Cost::Computed))
            .unwrap_or_default();
        usage
    }

    /// Only where every part that was used has a price.
    fn computed(&self, prices: &Prices) -> Option<PicoDollars> {
        let amount = |tokens: Tokens, price: Option<PicoDollars>| {
            if tokens == Tokens(0) {
                return Some(PicoDollars(0));
            }
            price?.times(tokens)
        };
        let input = self.input?;
        let cached = self.cached.unwrap_or_default();
        let written = self.cache_write.unwrap_or_default();
        let plain = Tokens(input.0.checked_sub(cached.0.checked_add(written.0)?)?);
        amount(plain, Some(prices.input))?
            .plus(amount(cached, prices.cached)?)?
            // Where no price is named for it, what is written costs what any input does.
            .plus(amount(written, prices.cache_write.or(Some(prices.input)))?)?
            .plus(amount(self.output?, Some(prices.output))?)
    }
}

fn tokens(count: u64) -> Option<Tokens> {
    u32::try_from(count).ok().map(Tokens)
}

fn reported(dollars: Option<f64>) -> Option<Cost> {
    PicoDollars::from_dollars(dollars?).map(Cost::Reported)
}

/// How fast the server says it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    pub prefill: Option<TokensPerSecond>,
    pub decode: Option<TokensPerSecond>,
}

#[cfg(test)]
mod tests {
    use plimsoll_catalog::Prices;
    use plimsoll_units::{PicoDollars, Tokens};
    use proptest::prelude::*;

    use super::{Cost, Counts, Input, Usage};

    fn prices() -> Prices {
        Prices {
            input: PicoDollars(3_000_000),
            cached: Some(PicoDollars(300_000)),
            cache_write: None,
            output: PicoDollars(15_000_000),
            source: "a list".into(),
            checked: "2026-12-01".into(),
        }
    }

    #[test]
    fn a_stream_that_counted_nothing_is_unknown() {
        let counts = Counts {
            input: Input::Gross(0),
            cached: Some(0),
            output: Some(0),
            total: Some(0),
            ..Counts::default()
        };
        assert_eq!(Usage::from_counts(counts, Some(&prices())), Usage::default());
    }

    #[test]
    fn cached_tokens_are_inside_the_prompt() {
        let counts = |cached| Counts {
            input: Input::Gross(184_704),
            cached: Some(cached),
            output: Some(12),
            ..Counts::default()
        };
        let usage = Usage::from_counts(counts(183_936), None);
        assert_eq!(usage.input, Some(Tokens(184_704)), "gross, not the sum");
        assert_eq!(usage.cached, Some(Tokens(183_936)));
        assert_eq!(usage.total, Some(Tokens(184_716)));
        assert_eq!(Usage::from_counts(counts(184_705), None).cached, None);
    }

    #[test]
    fn anthropics_net_input_becomes_gross() {
        let counts = Counts {
            input: Input::Net(21),
            cached: Some(1_000),
            cache_write: Some(300),
            output: Some(5),
            ..Counts::default()
        };
        let usage = Usage::from_counts(counts, Some(&prices()));
        assert_eq!(usage.input, Some(Tokens(1_321)));
        // 21 and 300 at 3, 1,000 at 0.3, 5 at 15 millionths of a dollar.
        let cost = PicoDollars(321 * 3_000_000 + 1_000 * 300_000 + 5 * 15_000_000);
        assert_eq!(usage.cost, Cost::Computed(cost));
    }

    #[test]
    fn a_cost_without_every_price_is_unknown_and_a_reported_one_goes_first() {
        let counts = Counts {
            input: Input::Gross(100),
            cached: Some(50),
            output: Some(1),
            ..Counts::default()
        };
        let no_cached = Prices {
            cached: None,
            ..prices()
        };
        assert_eq!(Usage::from_counts(counts, Some(&no_cached)).cost, Cost::Unknown);
        let told = Counts {
            cost: Some(0.25),
            ..counts
        };
        assert_eq!(
            Usage::from_counts(told, Some(&prices())).cost,
            Cost::Reported(PicoDollars(250_000_000_000))
        );
        let nonsense = Counts {
            cost: Some(f64::NAN),
            ..counts
        };
        assert_eq!(Usage::from_counts(nonsense, None).cost, Cost::Unknown);
    }

    proptest! {
        /// Whatever a server counts: parts are within their whole, nothing overflows.
        #[test]
        fn parts_are_within_their_whole(input in any::<u64>(), net in any::<bool>(), parts in any::<[Option<u64>; 5]>()) {
            let [cached, cache_write, output, reasoning, total] = parts;
            let input = if net { Input::Net(input) } else { Input::Gross(input) };
            let usage = Usage::from_counts(Counts { input, cached, cache_write, output, reasoning, total, cost: None }, Some(&prices()));
            if let (Some(cached), Some(input)) = (usage.cached, usage.input) {
                prop_assert!(cached <= input);
            }
            if let (Some(reasoning), Some(output)) = (usage.reasoning, usage.output) {
                prop_assert!(reasoning <= output);
            }
        }
    }
}
