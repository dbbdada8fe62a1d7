//! The rows of a conversation by their names, and what stands for them.

use plimsoll_agent::context::{Policy, Prune, PruneKind, RowFacts, RowKind, measure};
use plimsoll_agent::{Item, Part, Row, ToolResult, Transcript};
use serde::{Deserialize, Serialize};

/// A row with the name that it keeps for ever: its message's id and its place in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named {
    pub(crate) id: String,
    pub(crate) row: Row,
}

/// What the store keeps of a compaction: which rows something stands for, and what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct KeptCompaction {
    /// The rows that the summary stands for, by their names. Of an earlier compaction: `s:` and its id.
    pub(crate) sources: Vec<String>,
    /// The row that stands for them, word for word as it is sent.
    pub(crate) row: Option<String>,
    /// The summary alone.
    pub(crate) summary: String,
    /// Notes that stand in rows that stay.
    pub(crate) notes: Vec<Prune>,
    /// Tokens of the whole request before and after, estimated.
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// The model that wrote the summary.
    pub(crate) by: String,
    /// It went on from the conversation's own cached prompt.
    pub(crate) forked: bool,
}

/// One that holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Active {
    pub(crate) id: String,
    pub(crate) kept: KeptCompaction,
}

/// The name of the row that a compaction puts in the place of others.
pub(crate) fn summary_id(compaction: &str) -> String {
    format!("s:{compaction}")
}

pub(crate) fn is_summary(row: &str) -> bool {
    row.starts_with("s:")
}

/// The rows as they are sent. A compaction whose rows are not all there belongs to another branch, and is left
/// out.
pub(crate) fn assemble(rows: &[Named], active: &[Active]) -> Vec<Named> {
    let mut rows = rows.to_vec();
    for Active { id, kept } in active {
        let there = |wanted: &String| rows.iter().any(|row| row.id == *wanted);
        if !kept.sources.iter().all(there) {
            continue;
        }
        let notes_there = kept.notes.iter().all(|note| there(&note.row));
        if kept.sources.is_empty() && !notes_there {
            continue;
        }
        if let (Some(text), Some(first)) = (
            &kept.row,
            rows.iter().position(|row| kept.sources.contains(&row.id)),
        ) {
            rows.retain(|row| !kept.sources.contains(&row.id));
            let summary = Named {
                id: summary_id(id),
                row: Row::User(vec![Part::text(text.clone())]),
            };
            rows.insert(first.min(rows.len()), summary);
        }
        for note in &kept.notes {
            if let Some(row) = rows.iter_mut().find(|row| row.id == note.row) {
                put_note(row, note);
            }
        }
    }
    rows
}

fn put_note(named: &mut Named, note: &Prune) {
    let id = named.id.clone();
    match (&mut named.row, note.kind) {
        (Row::User(parts), PruneKind::Image) => {
            for part in parts {
                if matches!(part, Part::Image(_)) {
                    *part = Part::text(format!("[An image was here. It is kept as {id}.]"));
                }
            }
        }
        (Row::Results(results), PruneKind::Same | PruneKind::Short) => {
            let of_call = |result: &&mut ToolResult| Some(&result.call) == note.call.as_ref();
            if let Some(result) = results.iter_mut().find(of_call) {
                result.text = match note.kind {
                    PruneKind::Same => format!("[The same as a later result. It is kept as {id}.]"),
                    PruneKind::Short | PruneKind::Image => shortened(&result.text, note.keep_bytes, &id),
                };
            }
        }
        (Row::User(_), PruneKind::Same | PruneKind::Short)
        | (Row::Results(_), PruneKind::Image)
        | (Row::Assistant(_), _) => {}
    }
}

/// The beginning and the end, and a note between them that says what is missing.
pub(crate) fn shortened(text: &str, keep_bytes: u64, id: &str) -> String {
    let keep = usize::try_from(keep_bytes).unwrap_or(usize::MAX);
    if text.len() <= keep {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(keep / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - keep / 4);
    let gone = tail - head;
    format!(
        "{}\n[{gone} bytes are left out here. All of it is kept as {id}.]\n{}",
        &text[..head],
        &text[tail..]
    )
}

/// The same without words, for the accounting.
pub(crate) fn facts(named: &Named, policy: &Policy) -> Option<RowFacts> {
    let mut facts = measure(&named.id, &named.row, policy)?;
    if is_summary(&named.id) {
        facts.kind = RowKind::Summary;
    }
    Some(facts)
}

/// As it is sent, with what differs from turn to turn behind it.
pub(crate) fn transcript(system: &str, rows: &[Named], dynamic: &[Row]) -> Transcript {
    let mut transcript = Transcript::new(system);
    for named in rows {
        transcript.push(named.row.clone());
    }
    // A new transcript has no marker yet.
    if !dynamic.is_empty() && transcript.begin_dynamic().is_ok() {
        for row in dynamic {
            transcript.push(row.clone());
        }
    }
    transcript
}

/// The words of a row, for search and for people.
pub(crate) fn words(row: &Row) -> String {
    let mut words: Vec<String> = Vec::new();
    match row {
        Row::User(parts) => words.extend(parts.iter().map(|part| match part {
            Part::Text { text } => text.clone(),
            Part::Image(_) => "[image]".to_owned(),
        })),
        Row::Assistant(items) => words.extend(items.iter().filter_map(|item| match item {
            Item::Text { text } => Some(text.clone()),
            Item::Call(call) => Some(format!("{} {}", call.name, call.arguments)),
            Item::Reasoning(_) => None,
        })),
        Row::Results(results) => words.extend(results.iter().map(|result| result.text.clone())),
    }
    words.join("\n\n")
}

#[cfg(test)]
mod tests {
    use plimsoll_agent::context::{Prune, PruneKind};
    use plimsoll_agent::{Item, Part, Row, ToolResult};

    use super::{Active, KeptCompaction, Named, assemble, shortened, words};

    fn user(id: &str, text: &str) -> Named {
        Named {
            id: id.into(),
            row: Row::User(vec![Part::text(text)]),
        }
    }

    fn answer(id: &str, text: &str) -> Named {
        Named {
            id: id.into(),
            row: Row::Assistant(vec![Item::text(text)]),
        }
    }

    fn active(id: &str, sources: &[&str]) -> Active {
        Active {
            id: id.into(),
            kept: KeptCompaction {
                sources: sources.iter().map(|id| (*id).to_owned()).collect(),
                row: Some(format!("summary {id}")),
                ..KeptCompaction::default()
            },
        }
    }

    fn ids(rows: &[Named]) -> Vec<&str> {
        rows.iter().map(|row| row.id.as_str()).collect()
    }

    #[test]
    fn a_summary_stands_in_the_place_of_its_rows_and_may_itself_be_summarised() {
        let rows = [
            user("a/0", "1"),
            answer("b/0", "2"),
            user("c/0", "3"),
            answer("d/0", "4"),
            user("e/0", "5"),
        ];
        let one = active("k1", &["a/0", "b/0"]);
        assert_eq!(
            ids(&assemble(&rows, std::slice::from_ref(&one))),
            ["s:k1", "c/0", "d/0", "e/0"]
        );
        let two = active("k2", &["s:k1", "c/0", "d/0"]);
        let sent = assemble(&rows, &[one, two]);
        assert_eq!(ids(&sent), ["s:k2", "e/0"]);
        assert_eq!(words(&sent[0].row), "summary k2");
    }

    #[test]
    fn another_branch_keeps_its_own_words() {
        let rows = [user("a/0", "1"), answer("x/0", "other")];
        assert_eq!(assemble(&rows, &[active("k1", &["a/0", "b/0"])]), rows);
    }

    #[test]
    fn notes_say_what_is_missing_and_where_it_is() {
        let long = "é".repeat(2_000);
        let rows = [Named {
            id: "b/1".into(),
            row: Row::Results(vec![ToolResult {
                call: "c".into(),
                text: long.clone(),
                failed: false,
            }]),
        }];
        let mut cut = active("k", &[]);
        cut.kept.row = None;
        cut.kept.notes = vec![Prune {
            row: "b/1".into(),
            call: Some("c".into()),
            kind: PruneKind::Short,
            keep_bytes: 401,
        }];
        let Row::Results(results) = &assemble(&rows, &[cut])[0].row else {
            panic!("results")
        };
        let text = &results[0].text;
        assert!(
            text.starts_with("éé") && text.ends_with("éé") && text.len() < 600,
            "{text}"
        );
        assert!(
            text.contains("bytes are left out here. All of it is kept as b/1."),
            "{text}"
        );
        assert_eq!(shortened("short", 10, "x"), "short");
    }
}
