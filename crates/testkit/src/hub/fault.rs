use std::collections::{BTreeMap, VecDeque};

/// Where a request arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    /// The JSON interface: repository info, trees.
    Api,
    /// `HEAD` of a file's address.
    Head,
    /// `GET` of a file's address at the hub: redirects for large files, answers for small ones.
    Resolve,
    /// `GET` of the bytes: at the CDN, or at the hub for a small file.
    Data,
}

/// How an answer goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing goes wrong: lets requests pass before a later fault in the queue.
    None,
    /// The connection ends after this many bytes of the body.
    CutAfter(u64),
    /// The body stops after this many bytes; the connection stays open.
    StallAfter(u64),
    /// The connection is taken and nothing comes.
    NoAnswer,
    /// 200 with the whole file, whatever range was asked for.
    IgnoreRange,
    /// The same, and the connection ends after this many bytes.
    IgnoreRangeAndCutAfter(u64),
    /// 416, whatever range was asked for.
    RangeRefused,
    /// 429, with `Retry-After` in seconds or without.
    TooMany(Option<u64>),
    /// A bare status, such as 503.
    Status(u16),
    /// The byte at this place of the file is another one.
    WrongByteAt(u64),
    /// The server has another file of the same size under this address: other bytes, other `ETag`.
    OtherFile,
    /// The `ETag` of the answer is another one, as after an upload of a new version.
    OtherEtag,
    /// Headers that a hub always sends are missing.
    NoMetadata,
    /// The hub says that the file has so many bytes.
    Claims(u64),
}

/// What goes wrong where: the next requests first, then what always goes wrong.
#[derive(Debug, Default)]
pub(super) struct Script {
    next: BTreeMap<At, VecDeque<Fault>>,
    always: BTreeMap<At, Fault>,
    at_bytes: Vec<(u64, Fault)>,
}

impl Script {
    pub(super) fn next(&mut self, at: At, fault: Fault) {
        self.next.entry(at).or_default().push_back(fault);
    }

    pub(super) fn always(&mut self, at: At, fault: Fault) {
        self.always.insert(at, fault);
    }

    pub(super) fn at_byte(&mut self, byte: u64, fault: Fault) {
        self.at_bytes.push((byte, fault));
    }

    /// The fault for an answer with these bytes of a file, once.
    pub(super) fn take_in(&mut self, from: u64, end: u64) -> Option<Fault> {
        let place = self
            .at_bytes
            .iter()
            .position(|(byte, _)| (from..end).contains(byte))?;
        Some(self.at_bytes.swap_remove(place).1)
    }

    pub(super) fn clear(&mut self) {
        self.at_bytes.clear();
        self.next.clear();
        self.always.clear();
    }

    pub(super) fn take(&mut self, at: At) -> Option<Fault> {
        let queued = self.next.get_mut(&at).and_then(VecDeque::pop_front);
        queued
            .or_else(|| self.always.get(&at).copied())
            .filter(|fault| *fault != Fault::None)
    }
}
