use plimsoll_units::Tokens;
use serde::{Deserialize, Serialize};

/// Where a count comes from, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReadingKind {
    /// The server counted this very request.
    Exact,
    /// The usage of the last answer.
    Real,
    /// A refusal said how long the request was.
    Rejected,
    /// One of these, and an estimate of what came after it.
    Anchored,
    /// An estimate of the whole request.
    Rough,
    /// Nothing is known.
    Unknown,
}

impl ReadingKind {
    /// Whether gates act on it at once.
    #[must_use]
    pub const fn is_sure(self) -> bool {
        match self {
            Self::Exact | Self::Real | Self::Rejected | Self::Anchored => true,
            Self::Rough | Self::Unknown => false,
        }
    }
}

/// How full a conversation is, and how well that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextReading {
    pub kind: ReadingKind,
    /// `None` where the kind is unknown.
    pub tokens: Option<Tokens>,
    /// The median of what it may really be, by the errors seen on this route: for "compact now".
    pub typical: Option<Tokens>,
    /// What it is in nineteen of twenty cases at most: for "will it fit".
    pub high: Option<Tokens>,
    /// Half the width of nine of ten cases; 0 where a server counted all of it.
    pub error: Option<Tokens>,
    /// The route that it describes.
    pub route: String,
    /// Seconds since a server counted something of it.
    pub age_s: Option<u64>,
}

impl ContextReading {
    #[must_use]
    pub fn unknown(route: &str) -> Self {
        Self {
            kind: ReadingKind::Unknown,
            tokens: None,
            typical: None,
            high: None,
            error: None,
            route: route.to_owned(),
            age_s: None,
        }
    }
}
