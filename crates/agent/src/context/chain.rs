use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::{RowFacts, RowKind, Weight};

const BYTES: usize = 16;

/// The first half of a SHA-256: enough to tell rows apart, half of the room.
#[derive(Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Hash)]
pub struct Digest([u8; BYTES]);

impl Digest {
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::join(&[bytes])
    }

    /// Of several parts, each with its length: no two lists of parts are one.
    #[must_use]
    pub fn join(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        let mut digest = [0; BYTES];
        digest.copy_from_slice(&hash.finalize()[..BYTES]);
        Self(digest)
    }

    fn then(self, next: Self) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(next.0);
        let mut digest = [0; BYTES];
        digest.copy_from_slice(&hash.finalize()[..BYTES]);
        Self(digest)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Any text is a digest: what is none of ours is hashed, so that files written by hand may name rows as they like.
impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Self::read(&text))
    }
}

impl Digest {
    /// As it is written; of anything else, its hash.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut digest = [0; BYTES];
        if text.len() != 2 * BYTES || !text.is_ascii() {
            return Self::of(text.as_bytes());
        }
        for (n, byte) in digest.iter_mut().enumerate() {
            match text
                .get(2 * n..2 * n + 2)
                .map(|pair| u8::from_str_radix(pair, 16))
            {
                Some(Ok(value)) => *byte = value,
                Some(Err(_)) | None => return Self::of(text.as_bytes()),
            }
        }
        Self(digest)
    }
}

/// One row in its chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link {
    row: Digest,
    /// Of this row and all before it.
    hash: Digest,
    /// The same of what they weigh.
    sum: Weight,
    /// How many rows come up to and with the last question; 0 before the first.
    question: usize,
    answer: bool,
}

/// The rows of a conversation as hashes and sums: whether a prefix is still the same is one comparison, what
/// a stretch weighs is one subtraction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chain {
    links: Vec<Link>,
}

impl Chain {
    #[must_use]
    pub fn len(&self) -> usize {
        self.links.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    pub fn push(&mut self, row: &RowFacts) {
        let last = self.links.last();
        let hash = last.map_or(Digest::default(), |last| last.hash).then(row.digest);
        let sum = last.map_or(Weight::default(), |last| last.sum).plus(row.weight);
        let question = match row.kind {
            RowKind::User => self.links.len() + 1,
            RowKind::Answer | RowKind::Results | RowKind::Summary => last.map_or(0, |last| last.question),
        };
        let answer = row.kind == RowKind::Answer;
        self.links.push(Link {
            row: row.digest,
            hash,
            sum,
            question,
            answer,
        });
    }

    /// Makes the chain that of these rows. What did not change is not hashed again.
    pub fn sync(&mut self, rows: &[RowFacts]) {
        let same = self
            .links
            .iter()
            .zip(rows)
            .take_while(|(link, row)| link.row == row.digest)
            .count();
        self.links.truncate(same);
        for row in &rows[same..] {
            self.push(row);
        }
    }

    /// Of the first `rows` rows; `None` when there are not so many.
    #[must_use]
    pub fn hash_at(&self, rows: usize) -> Option<Digest> {
        match rows.checked_sub(1) {
            None => Some(Digest::default()),
            Some(last) => self.links.get(last).map(|link| link.hash),
        }
    }

    /// Of rows `from..`. Thoughts count only where they still go back.
    #[must_use]
    pub fn weight_from(&self, from: usize, thoughts: Thoughts) -> Weight {
        let Some(last) = self.links.last() else {
            return Weight::default();
        };
        let sum_at = |rows: usize| {
            rows.checked_sub(1)
                .and_then(|last| self.links.get(last))
                .map_or(Weight::default(), |link| link.sum)
        };
        let mut weight = last.sum.less(sum_at(from));
        if thoughts == Thoughts::InTurn {
            let since = from.max(last.question);
            weight.thought_bytes = last.sum.less(sum_at(since)).thought_bytes;
        }
        weight
    }

    /// Of the last `rows..` thoughts that a question after them took off the wire.
    #[must_use]
    pub(super) fn thoughts_gone(&self, rows: usize, thoughts: Thoughts) -> u64 {
        if thoughts != Thoughts::InTurn {
            return 0;
        }
        let Some(last) = self.links.last() else { return 0 };
        if last.question <= rows {
            return 0;
        }
        let base = rows.checked_sub(1).and_then(|n| self.links.get(n));
        let Some(base) = base else { return 0 };
        let before = base
            .question
            .checked_sub(1)
            .and_then(|n| self.links.get(n))
            .map_or(0, |link| link.sum.thought_bytes);
        base.sum.thought_bytes.saturating_sub(before)
    }

    #[must_use]
    pub(super) fn is_answer(&self, row: usize) -> bool {
        self.links.get(row).is_some_and(|link| link.answer)
    }

    /// Whether a person said something after the first `rows` rows.
    #[must_use]
    pub(super) fn asked_after(&self, rows: usize) -> bool {
        self.links.last().is_some_and(|last| last.question > rows)
    }
}

/// When thoughts go back, as far as counting is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Thoughts {
    #[default]
    Never,
    /// Until the next question.
    InTurn,
    Always,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Chain, Digest, Thoughts};
    use crate::context::{RowFacts, RowKind, Weight};

    fn row(name: &str, kind: RowKind, weight: Weight) -> RowFacts {
        RowFacts {
            id: name.into(),
            kind,
            digest: Digest::of(name.as_bytes()),
            weight,
            calls: 0,
            results: Vec::new(),
        }
    }

    #[test]
    fn a_changed_row_changes_every_hash_after_it_and_none_before() {
        let rows: Vec<_> = ["a", "b", "c"]
            .map(|name| row(name, RowKind::User, Weight::text(4)))
            .into();
        let mut chain = Chain::default();
        chain.sync(&rows);
        let before: Vec<_> = (0..=3).map(|n| chain.hash_at(n).unwrap()).collect();
        let mut changed = rows.clone();
        changed[1].digest = Digest::of(b"other");
        chain.sync(&changed);
        let after: Vec<_> = (0..=3).map(|n| chain.hash_at(n).unwrap()).collect();
        assert_eq!(before[..2], after[..2]);
        assert_ne!(before[2], after[2]);
        assert_ne!(before[3], after[3]);
        assert_eq!(chain.hash_at(4), None);
    }

    #[test]
    fn a_digest_reads_back_and_anything_else_is_hashed() {
        let digest = Digest::of(b"x");
        assert_eq!(Digest::read(&digest.to_string()), digest);
        assert_eq!(Digest::read("row-3"), Digest::of(b"row-3"));
        assert_ne!(Digest::join(&[b"ab", b"c"]), Digest::join(&[b"a", b"bc"]));
    }

    #[test]
    fn thoughts_leave_the_wire_with_the_next_question() {
        let thought = Weight {
            rows: 1,
            thought_bytes: 100,
            ..Weight::default()
        };
        let mut chain = Chain::default();
        chain.push(&row("q", RowKind::User, Weight::text(1)));
        chain.push(&row("a", RowKind::Answer, thought));
        assert_eq!(chain.weight_from(0, Thoughts::InTurn).thought_bytes, 100);
        assert_eq!(chain.thoughts_gone(2, Thoughts::InTurn), 0);
        chain.push(&row("q2", RowKind::User, Weight::text(1)));
        assert_eq!(chain.weight_from(0, Thoughts::InTurn).thought_bytes, 0);
        assert_eq!(chain.weight_from(0, Thoughts::Always).thought_bytes, 100);
        assert_eq!(chain.thoughts_gone(2, Thoughts::InTurn), 100);
    }

    proptest! {
        /// Growing a chain row by row is the same as making it at once, and sums are those of the rows.
        #[test]
        fn growing_is_making(sizes in prop::collection::vec(0_u64..5_000, 0..40), cut in 0_usize..40) {
            let rows: Vec<_> = sizes.iter().enumerate()
                .map(|(n, bytes)| row(&n.to_string(), RowKind::User, Weight::text(*bytes))).collect();
            let mut grown = Chain::default();
            for end in 0..=rows.len() {
                grown.sync(&rows[..end]);
            }
            let mut made = Chain::default();
            made.sync(&rows);
            prop_assert_eq!(&grown, &made);
            let from = cut.min(rows.len());
            let sum: u64 = sizes[from..].iter().sum();
            prop_assert_eq!(made.weight_from(from, Thoughts::Always).text_bytes, sum);
        }
    }
}
