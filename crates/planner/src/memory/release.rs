//! What moved between llama.cpp's releases, in one table by build number.

/// A llama.cpp build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// The number of `b11434`.
    pub build: u32,
}

/// Figures of one range of builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Constants {
    /// The first build of the range, as far as is known: where only two ends were looked at, the larger figure
    /// counts in between.
    since: u32,
    /// A third way into the graph, for batches of tokens and embeddings together. Seen: not in b10434, in b11434.
    pub(crate) mixed_input: bool,
}

/// In rising order.
const TABLE: [Constants; 2] = [
    Constants {
        since: 0,
        mixed_input: false,
    },
    Constants {
        since: 10_435,
        mixed_input: true,
    },
];

impl Release {
    /// The build that the planner is held against.
    pub const CHECKED: Self = Self { build: 11_434 };

    pub(crate) fn constants(self) -> Constants {
        let known = TABLE.iter().rev().find(|range| range.since <= self.build);
        *known.unwrap_or(&TABLE[0])
    }
}
