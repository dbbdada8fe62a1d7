use plimsoll_units::Tokens;
use serde::{Deserialize, Serialize};

use super::gate::GateState;
use super::{Chain, ContextReading, Digest, Rates, ReadingKind, RowFacts, Thoughts, Weight};

/// Half the width of what an estimate may really be, in ten-thousandths of it, until errors were seen.
const SPREAD_PART: u64 = 2_500;
const SPREAD_ROUGH: u64 = 5_000;

/// One part of what stands before every conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeadPart {
    pub digest: Digest,
    pub bytes: u64,
}

/// The instructions and the tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    pub system: HeadPart,
    pub tools: HeadPart,
}

impl Head {
    pub(super) const fn bytes(&self) -> u64 {
        self.system.bytes.saturating_add(self.tools.bytes)
    }
}

/// What a server counted, and of what: valid while the chain has the same hash there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Anchor {
    pub route: String,
    /// In the request.
    pub rows: usize,
    pub hash: Digest,
    pub head: Head,
    pub prompt: Tokens,
    /// Of the answer, with its thoughts. `None` where only the request was counted.
    pub completion: Option<Tokens>,
    /// Of the answer, what was thought.
    pub thought: Option<Tokens>,
    pub source: ReadingKind,
    /// Seconds since 1970.
    pub at: i64,
}

/// Why a count no longer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AnchorLost {
    /// Another model, provider, endpoint or protocol.
    RouteChanged,
    /// A row that was counted is no longer the same: edited, taken back, cut.
    RowsChanged,
}

/// What was known when a request was sent: what its answer is measured against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub(super) route: String,
    pub(super) rows: usize,
    pub(super) hash: Digest,
    pub(super) head: Head,
    pub(super) all: Weight,
    /// What it was thought to be, and how much of that was estimated.
    pub(super) predicted: Option<Predicted>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Predicted {
    /// Counted by a server.
    pub(super) base: u64,
    /// Estimated on top.
    pub(super) part: u64,
    /// What the estimate is of.
    pub(super) weight: Weight,
    pub(super) tools_changed: bool,
    pub(super) system_changed: bool,
}

/// A sum of counted and estimated tokens.
struct Sum {
    kind: ReadingKind,
    base: u64,
    part: u64,
    /// Error that comes on top of the spread of the estimate.
    doubt: u64,
    spread: u64,
    at: Option<i64>,
}

/// The context of one conversation on one route.
#[derive(Debug, Clone, Default)]
pub struct Account {
    pub(super) route: Option<String>,
    pub(super) thoughts: Thoughts,
    pub(super) chain: Chain,
    pub(super) head: Head,
    pub(super) anchor: Option<Anchor>,
    pub(super) rates: Rates,
    pub(super) gate: GateState,
    /// What a refusal said, where nobody else had.
    pub(super) learned_window: Option<Tokens>,
}

impl Account {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The way to the model from here on, with what is known of it. Another way ends what was counted on the
    /// last one, also when it comes back.
    pub fn set_route(&mut self, route: &str, thoughts: Thoughts, rates: Rates) -> Option<AnchorLost> {
        self.thoughts = thoughts;
        if self.route.as_deref() == Some(route) {
            return None;
        }
        let first = self.route.replace(route.to_owned()).is_none();
        self.rates = rates;
        self.learned_window = None;
        self.gate.route_changed();
        match &self.anchor {
            // One that was restored before the route was known.
            Some(anchor) if first && anchor.route == route => None,
            Some(_) => {
                self.anchor = None;
                Some(AnchorLost::RouteChanged)
            }
            None => None,
        }
    }

    /// The instructions and tools of the next request.
    pub fn set_head(&mut self, head: Head) {
        self.head = head;
    }

    /// All rows of the next request, in order. A count of rows that changed is gone.
    pub fn set_rows(&mut self, rows: &[RowFacts]) -> Option<AnchorLost> {
        self.chain.sync(rows);
        self.check_anchor()
    }

    /// One more row.
    pub fn add_row(&mut self, row: &RowFacts) {
        self.chain.push(row);
    }

    fn check_anchor(&mut self) -> Option<AnchorLost> {
        let anchor = self.anchor.as_ref()?;
        if self.chain.hash_at(anchor.rows) == Some(anchor.hash) {
            return None;
        }
        self.anchor = None;
        Some(AnchorLost::RowsChanged)
    }

    /// A count of an earlier run: taken when it is of this route and of these rows.
    pub fn restore(&mut self, anchor: Anchor) -> Result<(), AnchorLost> {
        if self.route.as_ref().is_some_and(|route| *route != anchor.route) {
            return Err(AnchorLost::RouteChanged);
        }
        self.anchor = Some(anchor);
        match self.check_anchor() {
            None => Ok(()),
            Some(lost) => Err(lost),
        }
    }

    /// The last count, to be kept with the conversation.
    #[must_use]
    pub const fn anchor(&self) -> Option<&Anchor> {
        self.anchor.as_ref()
    }

    #[must_use]
    pub const fn rates(&self) -> &Rates {
        &self.rates
    }

    /// For what was learned by other ways than an answer.
    pub const fn rates_mut(&mut self) -> &mut Rates {
        &mut self.rates
    }

    /// What is known of the window: told by a refusal.
    #[must_use]
    pub const fn learned_window(&self) -> Option<Tokens> {
        self.learned_window
    }

    /// Tokens of instructions and tools, estimated.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.rates.text(self.head.bytes())
    }

    #[must_use]
    pub fn rows(&self) -> usize {
        self.chain.len()
    }

    fn sum(&self) -> Option<Sum> {
        self.route.as_ref()?;
        if let Some(anchor) = &self.anchor {
            return Some(self.anchored(anchor));
        }
        if self.chain.is_empty() && self.head.bytes() == 0 {
            return None;
        }
        let rows = self.rates.estimate(self.chain.weight_from(0, self.thoughts));
        Some(Sum {
            kind: ReadingKind::Rough,
            base: 0,
            part: rows.saturating_add(self.floor()),
            doubt: 0,
            spread: if self.rates.learned_per_byte().is_some() {
                SPREAD_PART
            } else {
                SPREAD_ROUGH
            },
            at: None,
        })
    }

    fn anchored(&self, anchor: &Anchor) -> Sum {
        let mut base = u64::from(anchor.prompt.0);
        let mut from = anchor.rows;
        if let Some(completion) = anchor.completion {
            base += u64::from(self.answer_goes_back(anchor, completion));
            // The first answer after the request is what the completion counted.
            if self.chain.is_answer(from) {
                from += 1;
            }
        }
        let gone = self
            .rates
            .text(self.chain.thoughts_gone(anchor.rows, self.thoughts));
        base = base.saturating_sub(gone);
        let mut doubt = gone / 2;
        let mut part = self.rates.estimate(self.chain.weight_from(from, self.thoughts));
        let parts = [
            (anchor.head.system, self.head.system),
            (anchor.head.tools, self.head.tools),
        ];
        let mut changed = false;
        for (then, now) in parts {
            if then.digest == now.digest {
                continue;
            }
            changed = true;
            let (then, now) = (self.rates.text(then.bytes), self.rates.text(now.bytes));
            // What grew is estimated anew; what shrank leaves the base, with as much doubt.
            part = part.saturating_add(now.saturating_sub(then));
            base = base.saturating_sub(then.saturating_sub(now));
            doubt = doubt.saturating_add(now.abs_diff(then) / 2);
        }
        Sum {
            kind: if part == 0 && gone == 0 && !changed {
                anchor.source
            } else {
                ReadingKind::Anchored
            },
            base,
            part,
            doubt,
            spread: SPREAD_PART,
            at: Some(anchor.at),
        }
    }

    /// Of an answer, what is in the next request: thoughts only where the route wants them back.
    fn answer_goes_back(&self, anchor: &Anchor, completion: Tokens) -> u32 {
        let stays = match self.thoughts {
            Thoughts::Always => true,
            Thoughts::InTurn => !self.chain.asked_after(anchor.rows),
            Thoughts::Never => false,
        };
        let thought = if stays {
            0
        } else {
            anchor.thought.map_or(0, |thought| thought.0)
        };
        completion.0.saturating_sub(thought)
    }

    /// How full the conversation is, for every gate and for the meter.
    #[must_use]
    pub fn reading(&self, now: i64) -> ContextReading {
        let route = self.route.as_deref().unwrap_or_default();
        let Some(sum) = self.sum() else {
            return ContextReading::unknown(route);
        };
        let share = |of: u64, error: i64| -> u64 {
            let part = i64::try_from(of).unwrap_or(i64::MAX / 100_000);
            let moved = part.saturating_add(part.saturating_mul(error) / 10_000);
            u64::try_from(moved).unwrap_or(0)
        };
        let errors = &self.rates.part_errors;
        let spread = i64::try_from(sum.spread).unwrap_or_default();
        let rough = sum.kind == ReadingKind::Rough;
        // The errors seen are those of parts after an anchor; a whole estimate is worse than they say.
        let seen = |percent| errors.at(percent).filter(|_| !rough).map(i64::from);
        let typical = share(sum.part, seen(50).unwrap_or(0));
        let high = share(sum.part, seen(95).unwrap_or(spread)).max(typical);
        let width = errors
            .size_at(90)
            .filter(|_| !rough)
            .map_or(spread, i64::from)
            .min(100_000);
        let error = share(sum.part, width).saturating_sub(sum.part);
        let tokens = |count: u64| Some(Tokens(u32::try_from(count).unwrap_or(u32::MAX)));
        ContextReading {
            kind: sum.kind,
            tokens: tokens(sum.base.saturating_add(sum.part)),
            typical: tokens(sum.base.saturating_add(typical)),
            high: tokens(sum.base.saturating_add(high).saturating_add(sum.doubt)),
            error: tokens(error.saturating_add(sum.doubt)),
            route: route.to_owned(),
            age_s: sum
                .at
                .map(|at| u64::try_from(now.saturating_sub(at)).unwrap_or(0)),
        }
    }

    /// What is being sent now. Taken before every request, given back with its answer. Side calls (titles,
    /// summaries) take none, and so can never anchor.
    #[must_use]
    pub fn sent(&self) -> Sent {
        let predicted = self.anchor.as_ref().map(|anchor| {
            let Sum { base, part, .. } = self.anchored(anchor);
            let answered = anchor.completion.is_some() && self.chain.is_answer(anchor.rows);
            let from = anchor.rows + usize::from(answered);
            Predicted {
                base,
                part,
                weight: self.chain.weight_from(from, self.thoughts),
                tools_changed: anchor.head.tools.digest != self.head.tools.digest,
                system_changed: anchor.head.system.digest != self.head.system.digest,
            }
        });
        Sent {
            route: self.route.clone().unwrap_or_default(),
            rows: self.chain.len(),
            hash: self.chain.hash_at(self.chain.len()).unwrap_or_default(),
            head: self.head,
            all: self.chain.weight_from(0, self.thoughts),
            predicted,
        }
    }
}

/// The name of a way to a model: a rotated key, the host's letters, a default port or a slash at the end make
/// no other way, everything else does.
#[must_use]
pub fn route_key(protocol: &str, base_url: &str, model: &str) -> String {
    // A parsed URL has its host in lower case and no default port.
    let address = reqwest::Url::parse(base_url).map_or_else(|_| base_url.to_owned(), |url| url.to_string());
    format!("{protocol} {} {model}", address.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::route_key;

    #[test]
    fn only_what_matters_makes_another_route() {
        let same = [
            "https://API.example.com/v1",
            "https://api.example.com:443/v1/",
            "https://api.example.com/v1",
        ];
        let keys = same.map(|url| route_key("openaiChat", url, "m"));
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        let others = [
            ("openaiResponses", same[0], "m"),
            ("openaiChat", "https://api.example.com/v2", "m"),
            ("openaiChat", "https://api.example.com:8443/v1", "m"),
            ("openaiChat", same[0], "n"),
        ];
        for (protocol, url, model) in others {
            assert_ne!(route_key(protocol, url, model), keys[0]);
        }
    }
}
