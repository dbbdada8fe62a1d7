use crate::{Extra, Item, Reasoning, Seal, ToolCall};

/// Puts an answer together while it comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    items: Vec<Item>,
}

impl Gathered {
    pub(super) fn text(&mut self, text: &str) {
        match self.items.last_mut() {
            Some(Item::Text { text: before }) => before.push_str(text),
            Some(_) | None => self.items.push(Item::text(text)),
        }
    }

    pub(super) fn reasoning(&mut self, text: &str, by: &str) {
        match self.items.last_mut() {
            Some(Item::Reasoning(before)) if before.seal.is_none() => before.text.push_str(text),
            Some(_) | None => self.thought(Reasoning {
                text: text.into(),
                by: by.into(),
                seal: None,
            }),
        }
    }

    pub(super) fn thought(&mut self, thought: Reasoning) {
        self.items.push(Item::Reasoning(thought));
    }

    /// Puts a seal on the last thought, or on an empty one of its own.
    pub(super) fn seal(&mut self, seal: Seal, by: &str) {
        let open = self.items.iter_mut().rev().find_map(|item| match item {
            Item::Reasoning(thought) if thought.seal.is_none() => Some(thought),
            Item::Reasoning(_) | Item::Text { .. } | Item::Call(_) => None,
        });
        match open {
            Some(thought) => thought.seal = Some(seal),
            None => self.thought(Reasoning {
                text: String::new(),
                by: by.into(),
                seal: Some(seal),
            }),
        }
    }

    pub(super) fn call(&mut self, call: ToolCall) {
        self.items.push(Item::Call(call));
    }

    pub(super) fn calls(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Call(_)))
    }

    pub(super) fn take(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.items)
    }
}

/// A call whose arguments come piece by piece.
#[derive(Debug, Default)]
pub(super) struct OpenCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) extra: Option<Extra>,
}

impl OpenCall {
    /// `number` names a call that its server gave no id.
    pub(super) fn close(self, number: usize) -> ToolCall {
        ToolCall {
            id: if self.id.is_empty() {
                format!("call_{number}")
            } else {
                self.id
            },
            name: self.name,
            // A tool without arguments is called with none at all by some servers.
            arguments: if self.arguments.trim().is_empty() {
                "{}".into()
            } else {
                self.arguments
            },
            extra: self.extra,
        }
    }
}
