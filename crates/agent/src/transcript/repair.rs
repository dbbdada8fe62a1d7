use std::collections::BTreeSet;

use super::{Item, Row, ToolCall, ToolResult};

/// What a model reads where a call was made and its result never came.
const NO_RESULT: &str = "There is no result: the work was interrupted.";

/// Makes every call and its result a pair, whatever happened to the conversation: no protocol takes half a
/// pair. A call that got no result gets one that says so, a result without its call is left out.
pub(super) fn pairs(rows: &[Row]) -> Vec<Row> {
    let mut whole: Vec<Row> = Vec::with_capacity(rows.len());
    let mut rows = rows.iter().peekable();
    while let Some(row) = rows.next() {
        match row {
            Row::Assistant(items) => {
                let calls: Vec<&ToolCall> = items.iter().filter_map(Item::call).collect();
                whole.push(row.clone());
                if calls.is_empty() {
                    continue;
                }
                let given = match rows.peek() {
                    Some(Row::Results(results)) => {
                        rows.next();
                        &results[..]
                    }
                    Some(_) | None => &[],
                };
                whole.push(Row::Results(results_for(&calls, given)));
            }
            // Its call is not before it.
            Row::Results(_) => {}
            Row::User(_) => whole.push(row.clone()),
        }
    }
    whole
}

fn results_for(calls: &[&ToolCall], given: &[ToolResult]) -> Vec<ToolResult> {
    let mut seen = BTreeSet::new();
    calls
        .iter()
        .filter(|call| seen.insert(call.id.as_str()))
        .map(|call| {
            let result = given.iter().find(|result| result.call == call.id);
            result.cloned().unwrap_or_else(|| ToolResult {
                call: call.id.clone(),
                text: NO_RESULT.into(),
                failed: true,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{NO_RESULT, pairs};
    use crate::{Item, Part, Row, ToolCall, ToolResult};

    fn calls(ids: &[&str]) -> Row {
        Row::Assistant(
            ids.iter()
                .map(|id| {
                    Item::Call(ToolCall {
                        id: (*id).into(),
                        name: "look".into(),
                        arguments: "{}".into(),
                        extra: None,
                    })
                })
                .collect(),
        )
    }

    fn results(ids: &[&str]) -> Row {
        Row::Results(
            ids.iter()
                .map(|id| ToolResult {
                    call: (*id).into(),
                    text: format!("of {id}"),
                    failed: false,
                })
                .collect(),
        )
    }

    #[test]
    fn what_is_missing_is_said_and_what_is_left_over_goes() {
        let whole = pairs(&[
            results(&["z"]),
            calls(&["a", "b"]),
            results(&["b", "q"]),
            Row::User(vec![Part::text("and?")]),
            calls(&["c"]),
        ]);
        let Row::Results(first) = &whole[1] else {
            panic!("{whole:?}")
        };
        assert_eq!(
            first
                .iter()
                .map(|result| result.text.as_str())
                .collect::<Vec<_>>(),
            [NO_RESULT, "of b"]
        );
        assert!(first[0].failed && !first[1].failed);
        assert!(matches!(&whole[4], Row::Results(last) if last[0].call == "c" && last[0].failed));
        assert_eq!(whole.len(), 5);
    }

    proptest! {
        /// Whatever is left of a conversation: every call is followed by its result, and every result has its call.
        #[test]
        fn pairs_are_always_whole(kinds in prop::collection::vec((0_u8..3, prop::collection::vec(0_u8..4, 1..4)), 0..12)) {
            let rows: Vec<Row> = kinds.iter().map(|(kind, ids)| {
                let ids: Vec<String> = ids.iter().map(|id| format!("c{id}")).collect();
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                match kind {
                    0 => calls(&ids),
                    1 => results(&ids),
                    _ => Row::User(vec![Part::text("x")]),
                }
            }).collect();
            let whole = pairs(&rows);
            for (n, row) in whole.iter().enumerate() {
                match row {
                    Row::Assistant(items) => {
                        let Some(Row::Results(results)) = whole.get(n + 1) else { return Err(TestCaseError::fail("no results")) };
                        for item in items {
                            let Item::Call(call) = item else { continue };
                            prop_assert_eq!(results.iter().filter(|result| result.call == call.id).count(), 1);
                        }
                    }
                    Row::Results(_) => prop_assert!(n > 0 && matches!(whole[n - 1], Row::Assistant(_))),
                    Row::User(_) => {}
                }
            }
        }
    }
}
