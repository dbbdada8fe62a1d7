//! What an answer was made of, as the store keeps it and as the next question brings it back.

use plimsoll_agent::{Item, Row, ToolCall, ToolResult, Transcript};
use plimsoll_store::{Event, Message, Role};
use plimsoll_wire::{ToolOutcome, ToolUse};
use serde::{Deserialize, Serialize};

use crate::context::Named;

const ROW: &str = "row";

/// A whole row, and how long the answer's text was when it ended: what came later is not in it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptRow {
    row: Row,
    text_bytes: usize,
}

/// The event that keeps a row; none for a row that says nothing.
pub(super) fn row(row: &Row, text_bytes: usize) -> Option<Event> {
    if matches!(row, Row::Assistant(items) if items.is_empty()) {
        return None;
    }
    let kept = KeptRow {
        row: row.clone(),
        text_bytes,
    };
    Some(Event {
        kind: ROW.to_owned(),
        body: serde_json::to_string(&kept).ok()?,
    })
}

/// What was done on the way to an answer, as the page shows it.
pub(crate) fn tool_uses(events: &[Event]) -> Vec<ToolUse> {
    let mut uses = Vec::new();
    for event in events.iter().filter(|event| event.kind == ROW) {
        let Ok(KeptRow { row, .. }) = serde_json::from_str(&event.body) else {
            continue;
        };
        match row {
            Row::Assistant(items) => uses.extend(items.iter().filter_map(Item::call).map(tool_use)),
            Row::Results(results) => results.iter().for_each(|result| {
                add_result(&mut uses, result);
            }),
            Row::User(_) => {}
        }
    }
    uses
}

pub(super) fn tool_use(call: &ToolCall) -> ToolUse {
    ToolUse {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        result: None,
    }
}

pub(super) fn add_result(uses: &mut [ToolUse], result: &ToolResult) {
    if let Some(of) = uses.iter_mut().rev().find(|one| one.id == result.call) {
        of.result = Some(ToolOutcome {
            text: result.text.clone(),
            failed: result.failed,
        });
    }
}

/// A question with what was said before it, as it is sent.
pub(super) fn transcript(system: &str, before: &[Message], user: &Message) -> Transcript {
    gather(system, before.iter().chain([user]))
}

/// All that was said.
pub(crate) fn whole_transcript(system: &str, messages: &[Message]) -> Transcript {
    gather(system, messages)
}

/// Rows as they were, and what was cut off as the words that came.
fn gather<'a>(system: &str, messages: impl IntoIterator<Item = &'a Message>) -> Transcript {
    let mut transcript = Transcript::new(system);
    for message in messages {
        add(&mut transcript, message);
    }
    transcript
}

fn add(transcript: &mut Transcript, message: &Message) {
    match message.role {
        Role::User => transcript.user(&message.text),
        Role::Assistant => answer(transcript, message),
    }
}

/// Every row by the name of its message and its place in it.
pub(crate) fn named_rows<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Named> {
    let mut rows = Vec::new();
    for message in messages {
        let mut own = Transcript::new("");
        add(&mut own, message);
        rows.extend(own.stable().iter().enumerate().map(|(n, row)| Named {
            id: format!("{}/{n}", message.id),
            row: row.clone(),
        }));
    }
    rows
}

fn answer(transcript: &mut Transcript, message: &Message) {
    let mut in_rows = 0;
    for event in message.events.iter().filter(|event| event.kind == ROW) {
        // A row of a newer version is left out; its words are not.
        let Ok(KeptRow { row, text_bytes }) = serde_json::from_str(&event.body) else {
            continue;
        };
        in_rows = text_bytes;
        transcript.push(without_blank_text(row));
    }
    transcript.assistant(message.text.get(in_rows..).unwrap_or_default());
}

/// A text of nothing but space is none, as it always was.
fn without_blank_text(row: Row) -> Row {
    match row {
        Row::Assistant(items) => Row::Assistant(
            items
                .into_iter()
                .filter(|item| !matches!(item, Item::Text { text } if text.trim().is_empty()))
                .collect(),
        ),
        Row::User(_) | Row::Results(_) => row,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_agent::{Item, Part, Row};
    use plimsoll_store::{Message, Role};

    use super::{row, transcript};

    fn message(role: Role, text: &str) -> Message {
        Message {
            id: "m".into(),
            parent: None,
            role,
            text: text.into(),
            reasoning: String::new(),
            created_at: 1,
            ended_at: None,
            end: None,
            stats: None,
            fault: None,
            events: Vec::new(),
        }
    }

    #[test]
    fn what_was_cut_off_follows_the_rows_that_were_whole() {
        let whole = Row::Assistant(vec![Item::text("First.")]);
        let mut answer = message(Role::Assistant, "First. And then");
        answer.events = row(&whole, 6).into_iter().collect();
        let sent = transcript(
            "",
            &[message(Role::User, "Go on."), answer],
            &message(Role::User, "And?"),
        );
        assert_eq!(
            sent.stable(),
            [
                Row::User(vec![Part::text("Go on.")]),
                Row::Assistant(vec![Item::text("First.\n\n And then")]),
                Row::User(vec![Part::text("And?")]),
            ]
        );
    }

    #[test]
    fn a_row_that_cannot_be_read_leaves_its_words() {
        let mut answer = message(Role::Assistant, "Words.");
        answer.events = vec![plimsoll_store::Event {
            kind: "row".into(),
            body: "{\"from\": \"the future\"}".into(),
        }];
        let sent = transcript("", &[message(Role::User, "?"), answer], &message(Role::User, "!"));
        assert_eq!(sent.stable()[1], Row::Assistant(vec![Item::text("Words.")]));
    }
}
