//! The way of the bytes from the network to the disk: one thread writes, one hashes behind it, and a task syncs
//! and writes down what is safe. The ledger only ever hears of bytes that were synced before.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes as Chunk;
use plimsoll_os::files::{FileError, PartFile};
use plimsoll_units::Bytes;
use sha2::digest::common::hazmat::{SerializableState, SerializedState};
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::board::Stage;
use super::{Event, Shared};
use crate::hex::hex;
use crate::ledger::{Marks, PartRecord};

/// Between two syncs; what a kill can cost is what came in this time.
const SYNC_EVERY: Duration = Duration::from_millis(400);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const READ: usize = 1 << 20;
/// The file's marks are as far apart as this, or farther where the file is so large that it would have too many.
const MARK_STEP: u64 = 64 << 20;
const MARKS_MAX: u64 = 1024;

/// An open part, as far as this crate goes. A trait, so that a test can lose power.
pub(super) trait Medium: Send + Sync {
    fn write_at(&self, at: Bytes, bytes: &[u8]) -> Result<(), FileError>;
    fn read_at(&self, at: Bytes, buffer: &mut [u8]) -> Result<usize, FileError>;
    /// What was written is on the disk when this returns.
    fn sync(&self) -> Result<(), FileError>;
}

impl Medium for PartFile {
    fn write_at(&self, at: Bytes, bytes: &[u8]) -> Result<(), FileError> {
        Self::write_at(self, at, bytes)
    }

    fn read_at(&self, at: Bytes, buffer: &mut [u8]) -> Result<usize, FileError> {
        Self::read_at(self, at, buffer)
    }

    fn sync(&self) -> Result<(), FileError> {
        self.sync_data()
    }
}

/// Bytes on their way to the disk.
pub(super) struct Piece {
    pub(super) file: usize,
    pub(super) era: u32,
    pub(super) at: u64,
    pub(super) chunk: Chunk,
    /// Given back when they are written: what waits has a limit.
    pub(super) _room: OwnedSemaphorePermit,
}

/// A hash on its way through one file.
#[derive(Debug, Clone, Default)]
pub(super) struct Hashing {
    pub(super) era: u32,
    pub(super) at: u64,
    hasher: Sha256,
    marks: Vec<u8>,
}

impl Hashing {
    pub(super) fn new(era: u32) -> Self {
        Self {
            era,
            ..Self::default()
        }
    }

    /// Goes on where an earlier run was; from the first byte when its record cannot be read.
    pub(super) fn resumed(record: &PartRecord, size: u64, here: u64) -> Self {
        let state = SerializedState::<Sha256>::try_from(record.hash.as_slice());
        let hasher = state.ok().and_then(|state| Sha256::deserialize(&state).ok());
        let marks_due = record.hashed.0 / mark_step(size);
        let marks_right = record.marks.len() as u64 == marks_due * state_bytes();
        match hasher {
            Some(hasher) if record.hashed.0 <= here && marks_right => Self {
                era: 0,
                at: record.hashed.0,
                hasher,
                marks: record.marks.clone(),
            },
            Some(_) | None => Self::default(),
        }
    }

    /// The hash, as if the file ended here.
    pub(super) fn sum(&self) -> String {
        hex(&self.hasher.clone().finalize())
    }

    pub(super) fn take_in(&mut self, bytes: &[u8], size: u64) {
        let step = mark_step(size);
        let mut rest = bytes;
        while !rest.is_empty() {
            let to_mark = usize::try_from(step - self.at % step).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at(rest.len().min(to_mark));
            self.hasher.update(now);
            self.at += now.len() as u64;
            if self.at.is_multiple_of(step) {
                self.marks.extend_from_slice(&self.hasher.serialize());
            }
            rest = later;
        }
    }
}

fn state_bytes() -> u64 {
    SerializedState::<Sha256>::default().len() as u64
}

/// Bytes between two marks of a file of this size.
pub(crate) fn mark_step(size: u64) -> u64 {
    MARK_STEP * (size / (MARK_STEP * MARKS_MAX) + 1)
}

/// The stretches of a content that its marks can check: where each begins and ends, with the hash before it and
/// the state after it.
pub(crate) fn stretches(marks: &Marks, size: u64) -> Vec<(u64, u64, Sha256, Vec<u8>)> {
    let width = SerializedState::<Sha256>::default().len();
    let mut before = Sha256::new();
    let mut all = Vec::new();
    let mut from = 0;
    for after in marks.states.chunks_exact(width) {
        let end = from + marks.step.0;
        let Ok(state) = SerializedState::<Sha256>::try_from(after) else {
            return Vec::new();
        };
        let Ok(next) = Sha256::deserialize(&state) else {
            return Vec::new();
        };
        if end > size || end <= from {
            return Vec::new();
        }
        all.push((from, end, before, after.to_vec()));
        (from, before) = (end, next);
    }
    if from < size {
        all.push((from, size, before, Vec::new()));
    }
    all
}

/// Writes what comes until nobody can send any more.
pub(super) fn write(shared: &Shared, incoming: &mut mpsc::Receiver<Piece>) {
    while let Some(piece) = incoming.blocking_recv() {
        let Some(medium) = shared.medium(piece.file) else {
            continue;
        };
        if !shared.board().is_current(piece.file, piece.era) {
            continue;
        }
        if let Err(error) = medium.write_at(Bytes(piece.at), &piece.chunk) {
            shared.tell(Event::Failed {
                file: piece.file,
                error: error.into(),
            });
            return;
        }
        let range = piece.at..piece.at + piece.chunk.len() as u64;
        shared.wrote(piece.file, piece.era, range);
        drop(piece);
        shared.wait_for_sync();
    }
}

/// Follows the writing of each file and hashes what has become contiguous; tells when a file is through.
pub(super) fn hash(shared: &Shared, stop: &CancellationToken) {
    let mut buffer = vec![0; READ];
    for file in 0..shared.items.len() {
        let size = shared.items.get(file).map_or(0, |item| item.bytes.0);
        loop {
            let Some(mut hashing) = begin(shared, file, stop) else {
                if stop.is_cancelled() {
                    return;
                }
                break;
            };
            match through(shared, file, size, &mut hashing, &mut buffer, stop) {
                Ok(Through::Stopped) => return,
                Ok(Through::Reset) => {}
                Ok(Through::End) => {
                    let era = hashing.era;
                    shared.tell(Event::Hashed {
                        file,
                        era,
                        sha256: hashing.sum(),
                        marks: Marks {
                            step: Bytes(mark_step(size)),
                            states: hashing.marks,
                        },
                    });
                    // Right, or begun anew: both are somebody else's decision.
                    while shared.board().is_current(file, era) {
                        if stop.is_cancelled() {
                            return;
                        }
                        shared.wait(LOOK_EVERY);
                    }
                }
                Err(error) => {
                    shared.tell(Event::Failed {
                        file,
                        error: error.into(),
                    });
                    return;
                }
            }
        }
    }
}

enum Through {
    End,
    Reset,
    Stopped,
}

/// Waits until the file is open; `None` when it needs no hash any more, or at a stop.
fn begin(shared: &Shared, file: usize, stop: &CancellationToken) -> Option<Hashing> {
    loop {
        let (stage, era) = {
            let board = shared.board();
            (board.stage(file), board.era(file))
        };
        match stage {
            Stage::Right => return None,
            Stage::Open => {
                let known = shared.hashing(file).clone();
                return Some(if known.era == era {
                    known
                } else {
                    Hashing::new(era)
                });
            }
            Stage::Closed if stop.is_cancelled() => return None,
            Stage::Closed => shared.wait(LOOK_EVERY),
        }
    }
}

fn through(
    shared: &Shared,
    file: usize,
    size: u64,
    hashing: &mut Hashing,
    buffer: &mut [u8],
    stop: &CancellationToken,
) -> Result<Through, FileError> {
    let Some(medium) = shared.medium(file) else {
        return Ok(Through::Stopped);
    };
    while hashing.at < size {
        if stop.is_cancelled() {
            return Ok(Through::Stopped);
        }
        let frontier = {
            let board = shared.board();
            if !board.is_current(file, hashing.era) {
                return Ok(Through::Reset);
            }
            board.frontier(file)
        };
        if shared.items.get(file).is_none_or(|item| item.sha256.is_none()) {
            // Nobody knows what its hash should be.
            hashing.at = frontier;
            if frontier < size {
                shared.wait(LOOK_EVERY);
            }
            continue;
        }
        let want = frontier.saturating_sub(hashing.at);
        // A whole buffer, or the end: small reads cost more than they bring.
        if want == 0 || (want < READ as u64 && frontier < size) {
            shared.wait(LOOK_EVERY);
            continue;
        }
        let length = buffer.len().min(usize::try_from(want).unwrap_or(usize::MAX));
        let got = medium.read_at(Bytes(hashing.at), &mut buffer[..length])?;
        if got == 0 {
            // Somebody cut the file under our hands.
            shared.tell(Event::Lost {
                file,
                era: hashing.era,
            });
            return Ok(Through::Stopped);
        }
        hashing.take_in(&buffer[..got], size);
        shared.hashing(file).clone_from(hashing);
    }
    Ok(Through::End)
}

/// Syncs and writes down until `closed` or left alone, and once more then.
pub(super) async fn keep_safe(shared: Arc<Shared>, closed: CancellationToken, stop: CancellationToken) {
    loop {
        let last = closed.is_cancelled() || stop.is_cancelled();
        for file in 0..shared.items.len() {
            if shared.unsafe_of(file) > 0 {
                secure(&shared, file).await;
            }
        }
        if last {
            return;
        }
        tokio::select! {
            () = closed.cancelled() => {}
            () = stop.cancelled() => {}
            () = shared.sync_now.notified() => {}
            () = tokio::time::sleep(SYNC_EVERY) => {}
        }
    }
}

/// First the bytes, then the claim.
async fn secure(shared: &Arc<Shared>, file: usize) {
    let Some(medium) = shared.medium(file) else { return };
    let Some(item) = shared.items.get(file) else {
        return;
    };
    // Nobody begins the file anew between the bytes and the claim.
    let Some(record) = shared.records.get(file) else {
        return;
    };
    let _held = record.lock().await;
    let (era, written) = {
        let board = shared.board();
        if board.stage(file) != Stage::Open {
            return;
        }
        board.written_of(file)
    };
    let hashing = {
        let hashing = shared.hashing(file);
        (hashing.era == era && hashing.at <= written.prefix()).then(|| hashing.clone())
    };
    let synced = shared.hub.jobs().start_blocking(move |_| medium.sync()).await;
    let synced = synced
        .map_err(crate::HubError::from)
        .and_then(|synced| Ok(synced?));
    if let Err(error) = synced {
        return shared.tell_async(Event::Failed { file, error }).await;
    }
    let record = PartRecord {
        version: item.version(),
        ranges: written
            .iter()
            .map(|range| (Bytes(range.start), Bytes(range.end)))
            .collect(),
        hashed: Bytes(hashing.as_ref().map_or(0, |hashing| hashing.at)),
        hash: hashing
            .as_ref()
            .map(|hashing| hashing.hasher.serialize().to_vec())
            .unwrap_or_default(),
        marks: hashing.map(|hashing| hashing.marks).unwrap_or_default(),
    };
    // A ledger that cannot be written costs the next run some bytes, not this one its file.
    if let Err(error) = shared.hub.ledger().keep(&item.part, record).await {
        warn!(%error, file = item.file, "what is here is not written down");
    }
    shared.board().safe(file, era, written);
    shared.moved.notify_all();
}
