use plimsoll_catalog::{Dialect, ReasoningCarrier, Replay};

use super::repair::pairs;
use super::{Item, Part, Reasoning, Row, Seal, Transcript};

/// Stands where an image was that the route cannot take.
const NO_IMAGE: &str = "[An image was here. This model cannot see images.]";

/// What a route cannot take of a conversation: told before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    pub images: usize,
    /// Thoughts of another model, or that this route has no place for.
    pub thoughts: usize,
    /// Calls of tools, which are sent as words.
    pub calls: usize,
}

/// A transcript as one route takes it.
pub(crate) struct Fitted {
    pub(crate) stable: Vec<Row>,
    pub(crate) dynamic: Vec<Row>,
}

/// `origin` is the route's `provider/model`.
pub(crate) fn fit(transcript: &Transcript, dialect: &Dialect, origin: &str) -> Fitted {
    Fitted {
        stable: side(transcript.stable(), dialect, origin),
        dynamic: side(transcript.dynamic(), dialect, origin),
    }
}

/// What would be lost if this conversation went over this route.
#[must_use]
pub fn losses(transcript: &Transcript, dialect: &Dialect, origin: &str) -> Losses {
    let mut losses = Losses::default();
    for row in transcript.stable() {
        match row {
            Row::User(parts) => {
                if !dialect.images {
                    losses.images += parts.iter().filter(|part| matches!(part, Part::Image(_))).count();
                }
            }
            Row::Assistant(items) => {
                for item in items {
                    match item {
                        // What this model would not get back anyway is no loss.
                        Item::Reasoning(thought) => {
                            let own = thought.by == origin;
                            losses.thoughts += usize::from(!own && thought.seal.is_some());
                        }
                        Item::Call(_) => losses.calls += usize::from(!dialect.tools),
                        Item::Text { .. } => {}
                    }
                }
            }
            Row::Results(_) => {}
        }
    }
    losses
}

fn side(rows: &[Row], dialect: &Dialect, origin: &str) -> Vec<Row> {
    let rows = pairs(rows);
    let question = rows.iter().rposition(|row| matches!(row, Row::User(_)));
    let mut fitted = Transcript::new("");
    for (n, row) in rows.into_iter().enumerate() {
        let in_turn = question.is_none_or(|question| n > question);
        match row {
            Row::User(parts) => fitted.push(Row::User(
                parts
                    .into_iter()
                    .map(|part| match part {
                        Part::Image(_) if !dialect.images => Part::text(NO_IMAGE),
                        Part::Image(_) | Part::Text { .. } => part,
                    })
                    .collect(),
            )),
            Row::Assistant(items) => {
                let kept = items.into_iter().filter_map(|item| match item {
                    Item::Reasoning(thought) => {
                        goes_back(&thought, dialect, origin, in_turn).then_some(Item::Reasoning(thought))
                    }
                    Item::Call(call) if !dialect.tools => {
                        Some(Item::text(format!("[Used {}: {}]", call.name, call.arguments)))
                    }
                    Item::Call(mut call) => {
                        call.extra = call
                            .extra
                            .filter(|extra| dialect.call_extras && extra.by == origin);
                        Some(Item::Call(call))
                    }
                    Item::Text { .. } => Some(item),
                });
                let kept: Vec<Item> = kept.collect();
                // Thoughts alone are no answer.
                if kept.iter().any(|item| !matches!(item, Item::Reasoning(_))) {
                    fitted.push(Row::Assistant(kept));
                }
            }
            Row::Results(results) if !dialect.tools => {
                for result in results {
                    fitted.push(Row::User(vec![Part::text(format!("[Result: {}]", result.text))]));
                }
            }
            Row::Results(_) => fitted.push(row),
        }
    }
    fitted.rows
}

/// Whether a thought reaches the wire. The one place that answers this, also for whoever counts.
pub(crate) fn goes_back(thought: &Reasoning, dialect: &Dialect, origin: &str, in_turn: bool) -> bool {
    let now = match dialect.replay {
        Replay::Never => false,
        Replay::InTurn => in_turn,
        Replay::Always => true,
    };
    let form = match (dialect.reasoning, &thought.seal) {
        (ReasoningCarrier::ReasoningContent | ReasoningCarrier::Reasoning, _) => !thought.text.is_empty(),
        (ReasoningCarrier::ReasoningDetails, Some(Seal::Details { .. }))
        | (ReasoningCarrier::EncryptedItems, Some(Seal::Encrypted { .. }))
        | (ReasoningCarrier::Signatures, Some(Seal::Signature { .. } | Seal::Redacted { .. })) => true,
        (
            ReasoningCarrier::None
            | ReasoningCarrier::ReasoningDetails
            | ReasoningCarrier::EncryptedItems
            | ReasoningCarrier::Signatures,
            _,
        ) => false,
    };
    now && form && thought.by == origin
}
