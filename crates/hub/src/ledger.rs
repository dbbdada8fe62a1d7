use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use plimsoll_units::Bytes;

/// What is known of an unfinished file. A claim is only ever made for bytes that were synced before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartRecord {
    /// Names the content: its hash or `ETag`, and its size. A record of another version says nothing.
    pub version: String,
    /// What is on the disk: first byte and the byte after the last, in order, apart from each other.
    pub ranges: Vec<(Bytes, Bytes)>,
    /// How far the hash has come from the first byte on.
    pub hashed: Bytes,
    /// The hash's inner state there, in its own form; empty when it has not begun.
    pub hash: Vec<u8>,
    /// The inner state at every step of the way, one after the other; see [`Marks`].
    pub marks: Vec<u8>,
}

/// The inner states of a content's sha256 at regular places. With them every stretch of the file can be checked
/// by itself, so that a single bad stretch is found and fetched again instead of the whole file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Marks {
    /// Bytes between two marks.
    pub step: Bytes,
    pub states: Vec<u8>,
}

/// The record could not be read or written.
#[derive(Debug)]
pub struct LedgerError(Box<dyn Error + Send + Sync>);

impl LedgerError {
    pub fn new(source: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(source))
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ledger of transfers")
    }
}

impl Error for LedgerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.0.as_ref())
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, LedgerError>>;

/// Where finished ranges are written down while a transfer runs. What [`Self::keep`] took is there after a loss
/// of power.
pub trait Ledger: Send + Sync + fmt::Debug {
    fn find<'a>(&'a self, part: &'a Path) -> Answer<'a, Option<PartRecord>>;
    fn keep<'a>(&'a self, part: &'a Path, record: PartRecord) -> Answer<'a, ()>;
    fn forget<'a>(&'a self, part: &'a Path) -> Answer<'a, ()>;
    /// By the content's sha256.
    fn marks<'a>(&'a self, sha256: &'a str) -> Answer<'a, Option<Marks>>;
    fn keep_marks<'a>(&'a self, sha256: &'a str, marks: Marks) -> Answer<'a, ()>;
}

/// A ledger that ends with the program: for one-off use, and for tests. After a restart the parts begin anew.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    // A lock and no owner task: held for one look-up.
    parts: Mutex<HashMap<PathBuf, PartRecord>>,
    marks: Mutex<HashMap<String, Marks>>,
}

impl Ledger for MemoryLedger {
    fn find<'a>(&'a self, part: &'a Path) -> Answer<'a, Option<PartRecord>> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        ready(Ok(parts.get(part).cloned())).boxed()
    }

    fn keep<'a>(&'a self, part: &'a Path, record: PartRecord) -> Answer<'a, ()> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.insert(part.to_owned(), record);
        ready(Ok(())).boxed()
    }

    fn forget<'a>(&'a self, part: &'a Path) -> Answer<'a, ()> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.remove(part);
        ready(Ok(())).boxed()
    }

    fn marks<'a>(&'a self, sha256: &'a str) -> Answer<'a, Option<Marks>> {
        let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        ready(Ok(marks.get(sha256).cloned())).boxed()
    }

    fn keep_marks<'a>(&'a self, sha256: &'a str, kept: Marks) -> Answer<'a, ()> {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.insert(sha256.to_owned(), kept);
        ready(Ok(())).boxed()
    }
}
