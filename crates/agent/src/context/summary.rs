//! The words around a summary. They are part of what is sent, so they never change once released.

use std::fmt::Write as _;

use crate::{Item, Part, Row};

/// What a forked request asks for, behind everything that was said.
const FORK: &str = "Pause the task here. Write a summary of the conversation above, so that it can go on from the summary alone. \
Answer with the summary and nothing else; call no tool.\n\n";

const WHAT: &str = "Cover, in this order and only where there is something to say:\n\
- what the person wants, and what they do not want\n\
- what was decided, with the reasons\n\
- what is finished, as past facts with their dates\n\
- names, numbers, paths, file contents and results that may be needed again, word for word\n\
- what is still open\n\
Write facts, not instructions. Do not continue the task.";

const STANDALONE: &str = "Below is the first part of a conversation between a person and an assistant. Summarise it, so that the \
assistant can go on from the summary alone.\n\n";

const BEGIN: &str = "[Summary of the earlier part of this conversation. It is for reference and gives no instructions: what it says is \
finished is finished. Whatever the person writes after it goes first.]\n\n";

/// What a model is told about how to find the words that the summary stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryNote {
    /// How many messages the summary stands for.
    pub rows: usize,
    /// The name that the archive knows it by.
    pub id: String,
    /// The conversation's models can look into the archive.
    pub with_tool: bool,
}

/// The row that stands for what was summarised: the summary, and a note that no model wrote.
#[must_use]
pub fn summary_row_text(summary: &str, note: &SummaryNote) -> String {
    let mut text = format!("{BEGIN}{}\n\n[", summary.trim());
    // Writing into a String cannot fail.
    let _ = write!(
        text,
        "Nothing is lost: the {} rows that this stands for are kept word for word as archive {}. ",
        note.rows, note.id
    );
    text.push_str(if note.with_tool {
        "To look something up, call `archive` with `search` (words), with `row` (one row by its id), or with `expand` (an archive by its id, \
also one that this summary mentions).]"
    } else {
        "If something is needed that is not in here, say so: the person can search and expand it.]"
    });
    text
}

/// The row that a fork appends to its parent's request.
#[must_use]
pub fn fork_instruction() -> String {
    format!("{FORK}{WHAT}")
}

/// A request of its own: the rows as text, and what to do with them.
#[must_use]
pub fn summary_request_text<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    let mut text = STANDALONE.to_owned();
    text.push_str("<conversation>\n");
    for row in rows {
        match row {
            Row::User(parts) => {
                for part in parts {
                    match part {
                        Part::Text { text: words } => line(&mut text, "Person", words),
                        Part::Image(_) => line(&mut text, "Person", "[an image]"),
                    }
                }
            }
            Row::Assistant(items) => {
                for item in items {
                    match item {
                        Item::Text { text: words } => line(&mut text, "Assistant", words),
                        // What was thought on the way is not what was said.
                        Item::Reasoning(_) => {}
                        Item::Call(call) => {
                            line(
                                &mut text,
                                "Assistant used",
                                &format!("{} {}", call.name, call.arguments),
                            );
                        }
                    }
                }
            }
            Row::Results(results) => {
                for result in results {
                    line(&mut text, "Result", &result.text);
                }
            }
        }
    }
    text.push_str("</conversation>\n\n");
    text.push_str(WHAT);
    text
}

fn line(text: &mut String, who: &str, words: &str) {
    let _ = writeln!(text, "{who}: {}", words.trim());
}

#[cfg(test)]
mod tests {
    use super::{SummaryNote, fork_instruction, summary_request_text, summary_row_text};
    use crate::{Item, Part, Reasoning, Row, ToolCall, ToolResult};

    #[test]
    fn a_summary_is_reference_and_ends_with_the_way_back() {
        let note = SummaryNote {
            rows: 12,
            id: "k3".into(),
            with_tool: true,
        };
        let text = summary_row_text("  The harbour master chose the blue buoy.\n", &note);
        assert!(text.starts_with("[Summary of the earlier part"));
        assert!(text.contains("\n\nThe harbour master chose the blue buoy.\n\n["));
        assert!(text.ends_with(".]") || text.ends_with(").]"), "{text}");
        assert!(text.contains("12 rows") && text.contains("archive k3") && text.contains("`archive`"));
        let without = summary_row_text(
            "x",
            &SummaryNote {
                with_tool: false,
                ..note
            },
        );
        assert!(!without.contains('`'), "no tool is promised that is not there");
    }

    #[test]
    fn the_history_is_told_without_thoughts_and_with_results() {
        let rows = [
            Row::User(vec![Part::text("How deep?")]),
            Row::Assistant(vec![
                Item::Reasoning(Reasoning {
                    text: "hidden".into(),
                    by: "a/b".into(),
                    seal: None,
                }),
                Item::Call(ToolCall {
                    id: "c".into(),
                    name: "sound".into(),
                    arguments: "{\"at\": 3}".into(),
                    extra: None,
                }),
            ]),
            Row::Results(vec![ToolResult {
                call: "c".into(),
                text: "12 fathoms".into(),
                failed: false,
            }]),
        ];
        let text = summary_request_text(&rows);
        assert!(text.contains(
            "Person: How deep?\nAssistant used: sound {\"at\": 3}\nResult: 12 fathoms\n</conversation>"
        ));
        assert!(!text.contains("hidden"));
        assert!(fork_instruction().contains("call no tool"));
    }
}
