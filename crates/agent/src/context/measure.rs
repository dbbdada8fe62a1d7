use plimsoll_catalog::{Dialect, Protocol, Replay};

use super::image::size_class;
use super::{Digest, Head, HeadPart, ResultFacts, RowFacts, RowKind, Thoughts, Weight};
use crate::sorted::Sorted;
use crate::transcript::goes_back;
use crate::{Item, Part, Route, Row, Seal, ToolSpec};

/// What of a conversation reaches the wire on a route.
#[derive(Debug, Clone)]
pub struct Policy {
    dialect: Dialect,
    origin: String,
    /// Whether the protocol says that a result is an error.
    tells_failures: bool,
}

impl Policy {
    #[must_use]
    pub fn new(route: &Route, model: &str) -> Self {
        Self {
            dialect: route.dialect.clone(),
            origin: format!("{}/{model}", route.provider),
            tells_failures: route.protocol == Protocol::AnthropicMessages,
        }
    }

    #[must_use]
    pub fn thoughts(&self) -> Thoughts {
        match self.dialect.replay {
            Replay::Never => Thoughts::Never,
            Replay::InTurn => Thoughts::InTurn,
            Replay::Always => Thoughts::Always,
        }
    }
}

/// A row without its words; `None` for one of which nothing reaches the wire.
#[must_use]
pub fn measure(id: &str, row: &Row, policy: &Policy) -> Option<RowFacts> {
    let mut facts = RowFacts {
        id: id.to_owned(),
        kind: RowKind::User,
        digest: Digest::default(),
        weight: Weight {
            rows: 1,
            ..Weight::default()
        },
        calls: 0,
        results: Vec::new(),
    };
    let mut hashed: Vec<Vec<u8>> = Vec::new();
    match row {
        Row::User(parts) => user(parts, policy, &mut facts, &mut hashed),
        Row::Assistant(items) => answer(items, policy, &mut facts, &mut hashed),
        Row::Results(results) => {
            facts.kind = RowKind::Results;
            for result in results {
                facts.weight.text_bytes += length(&result.text);
                let failed: &[u8] = if policy.tells_failures && result.failed {
                    b"failed"
                } else {
                    b""
                };
                hashed.push(result.call.clone().into_bytes());
                hashed.push(failed.to_vec());
                hashed.push(result.text.clone().into_bytes());
                facts.results.push(ResultFacts {
                    call: result.call.clone(),
                    bytes: length(&result.text),
                    digest: Digest::of(result.text.as_bytes()),
                });
            }
        }
    }
    if hashed.is_empty() {
        return None;
    }
    let parts: Vec<&[u8]> = hashed.iter().map(Vec::as_slice).collect();
    facts.digest = Digest::join(&parts);
    Some(facts)
}

fn user(parts: &[Part], policy: &Policy, facts: &mut RowFacts, hashed: &mut Vec<Vec<u8>>) {
    for part in parts {
        match part {
            Part::Text { text } => {
                facts.weight.text_bytes += length(text);
                hashed.push(text.clone().into_bytes());
            }
            Part::Image(image) if policy.dialect.images => {
                facts.weight.images.add(size_class(image), 1);
                hashed.push(Digest::of(image.data.as_bytes()).to_string().into_bytes());
            }
            // A few words stand for it.
            Part::Image(_) => {
                facts.weight.text_bytes += NO_IMAGE_BYTES;
                hashed.push(b"no image".to_vec());
            }
        }
    }
}

/// Of the words that stand for an image where the route takes none.
const NO_IMAGE_BYTES: u64 = 52;

fn answer(items: &[Item], policy: &Policy, facts: &mut RowFacts, hashed: &mut Vec<Vec<u8>>) {
    facts.kind = RowKind::Answer;
    let mut thoughts: Vec<Vec<u8>> = Vec::new();
    for item in items {
        match item {
            Item::Text { text } if text.trim().is_empty() => {}
            Item::Text { text } => {
                facts.weight.text_bytes += length(text);
                hashed.push(text.clone().into_bytes());
            }
            Item::Call(call) => {
                facts.weight.text_bytes += length(&call.name) + length(&call.arguments);
                facts.calls += 1;
                hashed.extend([&call.id, &call.name, &call.arguments].map(|text| text.clone().into_bytes()));
                if let Some(extra) = call
                    .extra
                    .as_ref()
                    .filter(|extra| policy.dialect.call_extras && extra.by == policy.origin)
                {
                    hashed.push(serde_json::to_vec(&Sorted(&extra.content)).unwrap_or_default());
                }
            }
            // The one place that says whether a thought goes back. A seal is opaque: it costs nothing by its
            // length, and the text that it seals is counted once.
            Item::Reasoning(thought) if goes_back(thought, &policy.dialect, &policy.origin, true) => {
                facts.weight.thought_bytes += match &thought.seal {
                    Some(Seal::Redacted { .. }) => 0,
                    Some(Seal::Signature { .. } | Seal::Encrypted { .. } | Seal::Details { .. }) | None => {
                        length(&thought.text)
                    }
                };
                thoughts.push(thought.text.clone().into_bytes());
            }
            Item::Reasoning(_) => {}
        }
    }
    // Thoughts alone are no answer; and those that leave with the next question are not what a prefix is
    // compared by.
    if !hashed.is_empty() && policy.dialect.replay == Replay::Always {
        hashed.push(b"thoughts".to_vec());
        hashed.append(&mut thoughts);
    }
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// What stands before the rows.
#[must_use]
pub fn measure_head(system: &str, tools: &[ToolSpec]) -> Head {
    let mut bytes = 0;
    let mut hashed: Vec<Vec<u8>> = Vec::new();
    for tool in tools {
        let schema = serde_json::to_vec(&Sorted(&tool.parameters)).unwrap_or_default();
        bytes +=
            length(&tool.name) + length(&tool.description) + u64::try_from(schema.len()).unwrap_or(u64::MAX);
        hashed.extend([
            tool.name.clone().into_bytes(),
            tool.description.clone().into_bytes(),
            schema,
        ]);
    }
    let parts: Vec<&[u8]> = hashed.iter().map(Vec::as_slice).collect();
    Head {
        system: HeadPart {
            digest: Digest::of(system.as_bytes()),
            bytes: length(system),
        },
        tools: HeadPart {
            digest: Digest::join(&parts),
            bytes,
        },
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_catalog::{Dialect, ReasoningCarrier, Replay};

    use super::{Policy, measure};
    use crate::context::Rates;
    use crate::{Item, Part, Reasoning, Row, Seal};

    fn policy(reasoning: ReasoningCarrier, replay: Replay) -> Policy {
        Policy {
            dialect: Dialect {
                reasoning,
                replay,
                ..Dialect::default()
            },
            origin: "a/m".into(),
            tells_failures: false,
        }
    }

    fn thinking(text: &str, seal: Option<Seal>) -> Row {
        Row::Assistant(vec![
            Item::Reasoning(Reasoning {
                text: text.into(),
                by: "a/m".into(),
                seal,
            }),
            Item::text("Done."),
        ])
    }

    #[test]
    fn ciphertext_costs_nothing_by_its_length() {
        let sealed = Seal::Encrypted {
            id: "r".into(),
            content: "x".repeat(5_170_000),
        };
        let facts = measure(
            "r",
            &thinking("", Some(sealed)),
            &policy(ReasoningCarrier::EncryptedItems, Replay::Always),
        )
        .unwrap();
        assert_eq!(facts.weight.thought_bytes, 0);
        assert_eq!(
            Rates::default().estimate(facts.weight),
            4 + 2,
            "the frame and the word"
        );
    }

    #[test]
    fn a_signed_thought_counts_its_text_once() {
        let signature = Seal::Signature {
            signature: "s".repeat(400 << 10),
        };
        let facts = measure(
            "r",
            &thinking(&"t".repeat(1_000), Some(signature)),
            &policy(ReasoningCarrier::Signatures, Replay::Always),
        )
        .unwrap();
        assert_eq!((facts.weight.thought_bytes, facts.weight.text_bytes), (1_000, 5));
    }

    #[test]
    fn only_what_reaches_the_wire_is_hashed() {
        let stays = policy(ReasoningCarrier::ReasoningContent, Replay::Always);
        let leaves = policy(ReasoningCarrier::ReasoningContent, Replay::InTurn);
        let never = policy(ReasoningCarrier::None, Replay::Never);
        let digest =
            |text: &str, policy: &Policy| measure("r", &thinking(text, None), policy).unwrap().digest;
        assert_ne!(digest("one", &stays), digest("two", &stays));
        assert_eq!(digest("one", &leaves), digest("two", &leaves));
        assert_eq!(digest("one", &never), digest("two", &never));
        let only_thoughts = Row::Assistant(vec![Item::Reasoning(Reasoning {
            text: "Hm.".into(),
            by: "a/m".into(),
            seal: None,
        })]);
        assert_eq!(measure("r", &only_thoughts, &stays), None);
        assert_eq!(measure("r", &Row::User(vec![]), &stays), None);
        assert!(measure("r", &Row::User(vec![Part::text("?")]), &stays).is_some());
    }
}
