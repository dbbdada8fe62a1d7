mod fit;
mod repair;
mod row;

pub use fit::{Losses, losses};
pub use row::{Extra, Image, ImageFormat, Item, Part, Reasoning, Row, Seal, ToolCall, ToolResult};

pub(crate) use fit::{Fitted, fit, goes_back};

/// Stands before every conversation. Short, and the same for ever: a word that varies here would make the
/// server read every prompt anew.
pub const SYSTEM_PROMPT: &str = "You are a helpful assistant that runs on the user's own computer. \
                                 Answer in the language of the user. Be accurate; say so when you do not know.";

/// A conversation as a model gets it.
///
/// Questions that follow each other become one and an answer that never got a word is left out, because many
/// chat templates want the rows to alternate. What differs from turn to turn (the clock, progress) lives in
/// rows after one marker; rows before it depend on themselves alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    system: String,
    rows: Vec<Row>,
    /// The marker: rows from here on are dynamic.
    dynamic_from: Option<usize>,
}

/// There is one marker, and it was set already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the dynamic context of a transcript begins once")]
pub struct SecondMarker;

impl Transcript {
    /// `system`: empty for a model that knows no such role.
    #[must_use]
    pub fn new(system: &str) -> Self {
        Self {
            system: system.into(),
            rows: Vec::new(),
            dynamic_from: None,
        }
    }

    pub fn user(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.push(Row::User(vec![Part::text(text)]));
        }
    }

    /// Also for an answer that was stopped: the person has read it.
    pub fn assistant(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.push(Row::Assistant(vec![Item::text(text)]));
        }
    }

    /// Rows of one kind that follow each other become one, within their side of the marker.
    pub fn push(&mut self, row: Row) {
        if row.is_empty() {
            return;
        }
        let own_side = self.dynamic_from.unwrap_or_default();
        match (self.rows.get_mut(own_side..).and_then(<[Row]>::last_mut), row) {
            (Some(Row::User(last)), Row::User(more)) => join_parts(last, more),
            (Some(Row::Assistant(last)), Row::Assistant(more)) => join_items(last, more),
            (Some(Row::Results(last)), Row::Results(more)) => last.extend(more),
            (_, row) => self.rows.push(row),
        }
    }

    /// Before the marker, wherever it is: an answer and its results last, the clock beside them does not.
    pub(crate) fn push_stable(&mut self, row: Row) {
        let dynamic = self.dynamic_from.map(|from| self.rows.split_off(from));
        let marker = self.dynamic_from.take();
        self.push(row);
        if let Some(dynamic) = dynamic {
            self.dynamic_from = marker.map(|_| self.rows.len());
            self.rows.extend(dynamic);
        }
    }

    /// What is pushed from here on differs from turn to turn.
    pub fn begin_dynamic(&mut self) -> Result<(), SecondMarker> {
        if self.dynamic_from.is_some() {
            return Err(SecondMarker);
        }
        self.dynamic_from = Some(self.rows.len());
        Ok(())
    }

    #[must_use]
    pub fn system(&self) -> &str {
        &self.system
    }

    /// Before the marker.
    #[must_use]
    pub fn stable(&self) -> &[Row] {
        &self.rows[..self.dynamic_from.unwrap_or(self.rows.len())]
    }

    /// After the marker.
    #[must_use]
    pub fn dynamic(&self) -> &[Row] {
        &self.rows[self.dynamic_from.unwrap_or(self.rows.len())..]
    }
}

impl Row {
    fn is_empty(&self) -> bool {
        match self {
            Self::User(parts) => parts.is_empty(),
            Self::Assistant(items) => items.is_empty(),
            Self::Results(results) => results.is_empty(),
        }
    }
}

fn join_parts(last: &mut Vec<Part>, more: Vec<Part>) {
    for part in more {
        match (last.last_mut(), part) {
            (Some(Part::Text { text: before }), Part::Text { text }) => {
                before.push_str("\n\n");
                before.push_str(&text);
            }
            (_, part) => last.push(part),
        }
    }
}

fn join_items(last: &mut Vec<Item>, more: Vec<Item>) {
    for item in more {
        match (last.last_mut(), item) {
            (Some(Item::Text { text: before }), Item::Text { text }) => {
                before.push_str("\n\n");
                before.push_str(&text);
            }
            (_, item) => last.push(item),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Item, Part, Row, SYSTEM_PROMPT, SecondMarker, Transcript};

    fn user(text: &str) -> Row {
        Row::User(vec![Part::text(text)])
    }

    fn assistant(text: &str) -> Row {
        Row::Assistant(vec![Item::text(text)])
    }

    #[test]
    fn a_failed_answer_leaves_no_empty_row_and_no_two_questions() {
        let mut transcript = Transcript::new("s");
        transcript.user("first");
        transcript.assistant("");
        transcript.user("again");
        transcript.assistant("answer");
        transcript.user("next");
        assert_eq!(transcript.system(), "s");
        assert_eq!(
            transcript.stable(),
            [user("first\n\nagain"), assistant("answer"), user("next")]
        );
    }

    #[test]
    fn the_dynamic_context_begins_once_and_joins_nothing_before_it() {
        let mut transcript = Transcript::new("");
        transcript.user("question");
        assert_eq!(transcript.begin_dynamic(), Ok(()));
        transcript.user("noon");
        transcript.user("rain");
        assert_eq!(transcript.begin_dynamic(), Err(SecondMarker));
        assert_eq!(transcript.stable(), [user("question")]);
        assert_eq!(transcript.dynamic(), [user("noon\n\nrain")]);
    }

    #[test]
    fn what_lasts_goes_before_the_marker() {
        let mut transcript = Transcript::new("");
        transcript.user("question");
        transcript.begin_dynamic().unwrap();
        transcript.user("noon");
        transcript.push_stable(assistant("answer"));
        assert_eq!(transcript.stable(), [user("question"), assistant("answer")]);
        assert_eq!(transcript.dynamic(), [user("noon")]);
    }

    proptest! {
        /// What was sent stays a prefix of what is sent next: appending an answer and a question changes no
        /// earlier row.
        #[test]
        fn growing_keeps_the_prefix(texts in prop::collection::vec("[a-z ]{0,8}", 1..12)) {
            let mut transcript = Transcript::new(SYSTEM_PROMPT);
            let mut sent: Vec<Vec<Row>> = Vec::new();
            for (n, text) in texts.iter().enumerate() {
                transcript.user(&format!("question {n}"));
                sent.push(transcript.stable().to_vec());
                transcript.assistant(text);
            }
            let text_of = |row: &Row| {
                let Row::User(parts) = row else { panic!("a question: {row:?}") };
                let [Part::Text { text }] = &parts[..] else { panic!("one text: {row:?}") };
                text.clone()
            };
            for pair in sent.windows(2) {
                let before = &pair[0];
                let kept = before.len() - 1;
                prop_assert_eq!(&pair[1][..kept], &before[..kept]);
                prop_assert!(text_of(&pair[1][kept]).starts_with(&text_of(&before[kept])));
            }
            for rows in &sent {
                for pair in rows.windows(2) {
                    let is_user = |row: &Row| matches!(row, Row::User(_));
                    prop_assert_ne!(is_user(&pair[0]), is_user(&pair[1]), "rows alternate");
                }
                prop_assert!(matches!(rows.last(), Some(Row::User(_))));
            }
        }
    }
}
