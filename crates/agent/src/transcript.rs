/// Stands before every conversation. Short, and the same for ever: a word that varies here would make the
/// server read every prompt anew.
pub const SYSTEM_PROMPT: &str = "You are a helpful assistant that runs on the user's own computer. \
                                 Answer in the language of the user. Be accurate; say so when you do not know.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
}

/// One row of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub role: Role,
    pub text: String,
}

/// A conversation as a model gets it.
///
/// Rows only ever alternate, because many chat templates refuse anything else: an answer that never got a
/// word is left out, and questions that follow each other become one. Reasoning of earlier answers is not
/// sent back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    rows: Vec<Row>,
}

impl Transcript {
    /// `system`: empty for a model that knows no such role.
    #[must_use]
    pub fn new(system: &str) -> Self {
        let rows = if system.is_empty() {
            Vec::new()
        } else {
            vec![Row {
                role: Role::System,
                text: system.into(),
            }]
        };
        Self { rows }
    }

    pub fn user(&mut self, text: &str) {
        self.add(Role::User, text);
    }

    /// Also for an answer that was stopped: the person has read it.
    pub fn assistant(&mut self, text: &str) {
        self.add(Role::Assistant, text);
    }

    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    #[must_use]
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    fn add(&mut self, role: Role, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        match self.rows.last_mut() {
            Some(last) if last.role == role => {
                last.text.push_str("\n\n");
                last.text.push_str(text);
            }
            Some(_) | None => self.rows.push(Row {
                role,
                text: text.into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Role, Row, SYSTEM_PROMPT, Transcript};

    fn row(role: Role, text: &str) -> Row {
        Row {
            role,
            text: text.into(),
        }
    }

    #[test]
    fn a_failed_answer_leaves_no_empty_row_and_no_two_questions() {
        let mut transcript = Transcript::new("s");
        transcript.user("first");
        transcript.assistant("");
        transcript.user("again");
        transcript.assistant("answer");
        transcript.user("next");
        assert_eq!(
            transcript.rows(),
            [
                row(Role::System, "s"),
                row(Role::User, "first\n\nagain"),
                row(Role::Assistant, "answer"),
                row(Role::User, "next"),
            ]
        );
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
                sent.push(transcript.rows().to_vec());
                transcript.assistant(text);
            }
            for pair in sent.windows(2) {
                let before = &pair[0];
                let kept = before.len() - 1;
                prop_assert_eq!(&pair[1][..kept], &before[..kept]);
                prop_assert!(pair[1][kept].text.starts_with(&before[kept].text));
            }
            for rows in &sent {
                for pair in rows.windows(2) {
                    prop_assert_ne!(pair[0].role, pair[1].role, "rows alternate");
                }
                prop_assert_eq!(rows.last().map(|row| row.role), Some(Role::User));
            }
        }
    }
}
