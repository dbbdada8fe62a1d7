use std::time::Duration;

use plimsoll_units::Bytes;

/// Why a file is fetched again from its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreshStart {
    /// The server does not give parts of files.
    NoRanges,
    /// The hub has another file under this name since.
    Changed,
    /// What was put together over several connections does not match the hash.
    HashMismatch,
}

/// Why nothing moves for a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// The line broke or the server failed; this is the pause before the next attempt.
    Retry(Duration),
    /// The server asked for this pause.
    TooManyRequests(Duration),
    /// Another process fetches the same file.
    OtherProcess,
}

/// Something worth a word beside the bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    Paused {
        file: String,
        pause: Pause,
    },
    /// From here on progress may be less than it was.
    StartedOver {
        file: String,
        why: FreshStart,
    },
    /// All bytes are here; the last ones are hashed and the file is published.
    Checking {
        file: String,
    },
    /// An import gets its place in the library, which is a copy where the volume cannot link.
    Placing {
        file: String,
    },
}

/// Hears how a transfer, an import or a check gets on. Called often and from any thread: be quick.
pub trait Watcher: Send + Sync {
    /// Bytes of the whole plan that are here, of all there are.
    fn moved(&self, done: Bytes, total: Bytes);
    /// The same of one file of the plan, before [`Self::moved`] is told of it.
    fn moved_in(&self, file: &str, done: Bytes, total: Bytes) {
        let _ = (file, done, total);
    }
    fn noted(&self, note: Note) {
        let _ = note;
    }
}

/// For callers that do not look.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn moved(&self, _: Bytes, _: Bytes) {}
}
