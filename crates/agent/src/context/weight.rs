use serde::{Deserialize, Serialize};

use super::Digest;

/// How large an image is, because some routes charge by size. The price of one class says little about another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SizeClass {
    /// Up to 512 × 512 pixels.
    Small,
    /// Up to 1,024 × 1,024.
    Medium,
    /// More.
    Large,
    /// It does not say.
    Unknown,
}

impl SizeClass {
    pub const ALL: [Self; 4] = [Self::Small, Self::Medium, Self::Large, Self::Unknown];

    pub(super) const fn index(self) -> usize {
        match self {
            Self::Small => 0,
            Self::Medium => 1,
            Self::Large => 2,
            Self::Unknown => 3,
        }
    }
}

/// Images by size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Images([u32; 4]);

impl Images {
    #[must_use]
    pub fn one(class: SizeClass) -> Self {
        let mut images = Self::default();
        images.add(class, 1);
        images
    }

    pub fn add(&mut self, class: SizeClass, count: u32) {
        if let Some(of) = self.0.get_mut(class.index()) {
            *of = of.saturating_add(count);
        }
    }

    #[must_use]
    pub fn of(&self, class: SizeClass) -> u32 {
        self.0.get(class.index()).copied().unwrap_or_default()
    }

    #[must_use]
    pub fn total(&self) -> u32 {
        self.0.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The one size that all have; `None` when there are none or several.
    #[must_use]
    pub fn only(&self) -> Option<SizeClass> {
        let mut there = SizeClass::ALL.into_iter().filter(|class| self.of(*class) > 0);
        match (there.next(), there.next()) {
            (Some(class), None) => Some(class),
            _ => None,
        }
    }

    fn zip(self, other: Self, with: fn(u32, u32) -> u32) -> Self {
        let mut sum = Self::default();
        for class in SizeClass::ALL {
            sum.add(class, with(self.of(class), other.of(class)));
        }
        sum
    }
}

/// What rows weigh on the wire. Bytes are those of readable text, never of Base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Weight {
    pub rows: u32,
    /// Words, calls and results.
    pub text_bytes: u64,
    /// Thoughts that go back while the same question is worked on.
    pub thought_bytes: u64,
    pub images: Images,
}

impl Weight {
    /// Of one row of text.
    #[must_use]
    pub fn text(bytes: u64) -> Self {
        Self {
            rows: 1,
            text_bytes: bytes,
            ..Self::default()
        }
    }

    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            rows: self.rows.saturating_add(more.rows),
            text_bytes: self.text_bytes.saturating_add(more.text_bytes),
            thought_bytes: self.thought_bytes.saturating_add(more.thought_bytes),
            images: self.images.zip(more.images, u32::saturating_add),
        }
    }

    #[must_use]
    pub fn less(self, before: Self) -> Self {
        Self {
            rows: self.rows.saturating_sub(before.rows),
            text_bytes: self.text_bytes.saturating_sub(before.text_bytes),
            thought_bytes: self.thought_bytes.saturating_sub(before.thought_bytes),
            images: self.images.zip(before.images, u32::saturating_sub),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RowKind {
    User,
    Answer,
    Results,
    /// A summary that stands for earlier rows: no message of a person.
    Summary,
}

/// What became of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultFacts {
    /// The id of the call.
    pub call: String,
    pub bytes: u64,
    pub digest: Digest,
}

/// A row without its words: enough to account for it and to say what may be cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowFacts {
    /// The caller's own, for ever the same for the same row.
    pub id: String,
    pub kind: RowKind,
    /// Of all fields that reach the wire.
    pub digest: Digest,
    pub weight: Weight,
    /// How many tools it calls.
    #[serde(default)]
    pub calls: u32,
    #[serde(default)]
    pub results: Vec<ResultFacts>,
}
