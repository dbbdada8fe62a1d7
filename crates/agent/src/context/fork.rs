use serde::{Deserialize, Serialize};

use crate::{Item, ToolCall};

/// The one call that a summary may come as.
pub const SUMMARY_TOOL: &str = "return_result";
/// Below this share of the parent's prompt, in percent, a fork was a miss.
const CACHED_LEAST: u64 = 75;

/// What decides how a summary is asked for. Tokens, and prices in any one unit for a token.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a reason of its own against a fork"
)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ForkFacts {
    /// Of the parent's last request, and what a fork appends.
    pub parent: u64,
    pub appended: u64,
    /// Of a request with the history under its own prompt.
    pub standalone: u64,
    pub input_price: u64,
    pub cached_price: u64,
    pub switched_off: bool,
    /// Another model makes summaries.
    pub other_model: bool,
    /// The history that is summarised is not that of the last request.
    pub filtered: bool,
    /// The conversation holds its answers to a form.
    pub structured: bool,
    /// The common prefix could not be proved.
    pub unproved: bool,
    /// A fork of this model, template and build was not cached.
    pub missed: bool,
    /// The appended instruction would not fit into the window.
    pub no_room: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WhyStandalone {
    SwitchedOff,
    OtherModel,
    Filtered,
    Structured,
    Unproved,
    Missed,
    NoRoom,
    Cheaper,
}

/// How a summary is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The parent's own last request and one instruction more.
    Fork,
    /// The history under a prompt of its own.
    Standalone(WhyStandalone),
}

/// The fork wins where its prefix is proved and it costs less: `P·cached + new·input < S·input`.
#[must_use]
pub fn choose_way(facts: ForkFacts) -> Way {
    let against = [
        (facts.switched_off, WhyStandalone::SwitchedOff),
        (facts.other_model, WhyStandalone::OtherModel),
        (facts.filtered, WhyStandalone::Filtered),
        (facts.structured, WhyStandalone::Structured),
        (facts.missed, WhyStandalone::Missed),
        (facts.no_room, WhyStandalone::NoRoom),
        (facts.unproved, WhyStandalone::Unproved),
    ];
    if let Some((_, why)) = against.into_iter().find(|(is_so, _)| *is_so) {
        return Way::Standalone(why);
    }
    let fork = facts
        .parent
        .saturating_mul(facts.cached_price)
        .saturating_add(facts.appended.saturating_mul(facts.input_price));
    if fork < facts.standalone.saturating_mul(facts.input_price) {
        Way::Fork
    } else {
        Way::Standalone(WhyStandalone::Cheaper)
    }
}

/// Whether a fork found its parent's prompt in the cache.
#[must_use]
pub fn is_cached_enough(cached: u64, parent: u64) -> bool {
    cached.saturating_mul(100) >= parent.saturating_mul(CACHED_LEAST)
}

/// Why an answer is no summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error("the answer is empty")]
    Empty,
    #[error("the answer calls a tool")]
    Calls,
    #[error("the call's result is no text")]
    NotText,
}

/// The summary in an answer: prose, or exactly one call that returns it. Whatever else it calls is not done.
pub fn read_summary(items: &[Item]) -> Result<String, Unusable> {
    let calls: Vec<&ToolCall> = items.iter().filter_map(Item::call).collect();
    let text: String = items
        .iter()
        .filter_map(|item| match item {
            Item::Text { text } => Some(text.as_str()),
            Item::Reasoning(_) | Item::Call(_) => None,
        })
        .collect();
    match calls[..] {
        [] => {
            let text = text.trim();
            if text.is_empty() {
                Err(Unusable::Empty)
            } else {
                Ok(text.to_owned())
            }
        }
        [call] if call.name == SUMMARY_TOOL => {
            #[derive(Deserialize)]
            struct Returned {
                result: String,
            }
            let returned: Returned = serde_json::from_str(&call.arguments).map_err(|_| Unusable::NotText)?;
            let result = returned.result.trim();
            if result.is_empty() {
                Err(Unusable::Empty)
            } else {
                Ok(result.to_owned())
            }
        }
        _ => Err(Unusable::Calls),
    }
}

#[cfg(test)]
mod tests {
    use super::{ForkFacts, Unusable, Way, WhyStandalone, choose_way, is_cached_enough, read_summary};
    use crate::{Item, ToolCall};

    fn call(name: &str, arguments: &str) -> Item {
        Item::Call(ToolCall {
            id: "c".into(),
            name: name.into(),
            arguments: arguments.into(),
            extra: None,
        })
    }

    #[test]
    fn a_summary_is_prose_or_one_returned_text() {
        assert_eq!(read_summary(&[Item::text(" All of it. ")]).unwrap(), "All of it.");
        assert_eq!(
            read_summary(&[call("return_result", r#"{"result": "All."}"#)]).unwrap(),
            "All."
        );
        for (items, why) in [
            (vec![], Unusable::Empty),
            (vec![Item::text("  \n")], Unusable::Empty),
            (vec![call("return_result", r#"{"result": ""}"#)], Unusable::Empty),
            (vec![call("return_result", r#"{"result": 7}"#)], Unusable::NotText),
            (vec![call("return_result", "not json")], Unusable::NotText),
            (
                vec![Item::text("Let me look."), call("read", "{}")],
                Unusable::Calls,
            ),
            (
                vec![
                    call("return_result", r#"{"result": "a"}"#),
                    call("return_result", r#"{"result": "b"}"#),
                ],
                Unusable::Calls,
            ),
        ] {
            assert_eq!(read_summary(&items), Err(why), "{items:?}");
        }
    }

    #[test]
    fn the_cheaper_way_is_taken_unless_something_forbids_the_fork() {
        let cloud = ForkFacts {
            parent: 100_000,
            appended: 200,
            standalone: 60_000,
            input_price: 10,
            cached_price: 1,
            ..ForkFacts::default()
        };
        assert_eq!(choose_way(cloud), Way::Fork);
        let no_discount = ForkFacts {
            cached_price: 10,
            ..cloud
        };
        assert_eq!(choose_way(no_discount), Way::Standalone(WhyStandalone::Cheaper));
        let missed = ForkFacts {
            missed: true,
            ..cloud
        };
        assert_eq!(choose_way(missed), Way::Standalone(WhyStandalone::Missed));
    }

    #[test]
    fn three_quarters_of_the_parent_are_enough() {
        assert!(is_cached_enough(75, 100) && !is_cached_enough(74, 100));
    }
}
