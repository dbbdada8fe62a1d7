/// What a model said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Reasoning,
}

/// Pieces of an answer that wait to be passed on together: a page need not be woken for each token, and a
/// database need not be written for it.
#[derive(Debug, Default)]
pub(super) struct Batch(Vec<(Kind, String)>);

impl Batch {
    pub(super) fn add(&mut self, kind: Kind, text: &str) {
        match self.0.last_mut() {
            Some((last, waiting)) if *last == kind => waiting.push_str(text),
            Some(_) | None => self.0.push((kind, text.to_owned())),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that waits, in order.
    pub(super) fn take(&mut self) -> Vec<(Kind, String)> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Batch, Kind};

    #[test]
    fn pieces_join_and_keep_their_order() {
        let mut batch = Batch::default();
        for (kind, text) in [
            (Kind::Reasoning, "hm"),
            (Kind::Reasoning, "m"),
            (Kind::Text, "Hel"),
            (Kind::Text, "lo"),
        ] {
            batch.add(kind, text);
        }
        assert_eq!(
            batch.take(),
            [(Kind::Reasoning, "hmm".into()), (Kind::Text, "Hello".into())]
        );
        assert!(batch.is_empty());
    }
}
