//! Brings the bytes of files, several ranges at a time, however often the line breaks.
//!
//! What one connection does stands in `line`, who fetches what in `board`, how many there are in `flow`, the way
//! to the disk in `disk`, and `run` keeps them together. Bytes are claimed in the ledger only after they were
//! synced; a file appears under its name only after its hash was right.

mod answer;
mod board;
mod disk;
mod ends;
mod flow;
mod line;
#[cfg(test)]
mod power;
mod ranges;
mod run;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use plimsoll_units::Bytes;
use reqwest::header::HeaderMap;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tracing::{info, warn};
use url::Url;

use crate::http::host_of;
use crate::layout::RepoFolder;
use crate::ledger::Marks;
use crate::metadata::not_found;
use crate::patience::Trouble;
use crate::{Absent, Address, Etag, FreshStart, Hub, HubError, Note, Pause, RemoteFile, Token, Watcher};

use board::{Board, Grant, Sizes};
use disk::{Hashing, Medium};
use line::Place;

pub(crate) use disk::stretches;
pub(crate) use ranges::Ranges;
pub(crate) use run::{Outcome, Problem, run};

/// Bytes that were received and are not written yet, over all connections: never more, and with small ranges an
/// eighth of one for each connection.
const WAITING_MAX: u64 = 8 << 20;
/// So near to its end a transfer is synced without a pause, so that its end has hardly anything left to wait for.
const LAST_STRETCH: u64 = 128 << 20;
/// One unit of the limit above.
const ROOM_UNIT: usize = 1 << 10;

/// What a transfer took, beyond the bytes it delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes of content that came over the network, the discarded ones included.
    pub received: Bytes,
    /// Bytes that earlier runs had left.
    pub kept: Bytes,
    /// Requests for content.
    pub connections: u32,
    pub fresh_starts: u32,
}

impl Traffic {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            received: self.received.plus(other.received),
            kept: self.kept.plus(other.kept),
            connections: self.connections.saturating_add(other.connections),
            fresh_starts: self.fresh_starts.saturating_add(other.fresh_starts),
        }
    }
}

/// One file: what it is, how to know that it is right, and where it goes.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) url: Url,
    pub(crate) token: Option<Token>,
    /// For messages.
    pub(crate) file: String,
    pub(crate) repo: String,
    /// At the hub; missing for files of other sites.
    pub(crate) address: Option<Address>,
    pub(crate) bytes: Bytes,
    /// What the site itself calls this content.
    pub(crate) etag: Option<Etag>,
    pub(crate) sha256: Option<String>,
    pub(crate) part: PathBuf,
    /// Where a part may lie that was filled from its first byte on: of an older version of ours or of another
    /// tool, or a finished file that has to be checked again.
    pub(crate) older: PathBuf,
    pub(crate) lock: PathBuf,
    pub(crate) to: PathBuf,
    /// What lies under the final name is right; it was checked when it came.
    pub(crate) trusted: bool,
    pub(crate) pointer: Option<(RepoFolder, RemoteFile)>,
}

impl Item {
    pub(crate) fn version(&self) -> String {
        let content = self
            .sha256
            .as_deref()
            .or(self.etag.as_ref().map(Etag::as_str))
            .unwrap_or_default();
        format!("{content} {}", self.bytes.0)
    }

    fn not_found(&self, headers: &HeaderMap) -> HubError {
        match &self.address {
            Some(address) => not_found(headers, address),
            None => HubError::NotFound {
                repo: host_of(&self.url),
                what: Absent::File,
                name: self.file.clone(),
            },
        }
    }
}

/// Something that the coordinator has to act on.
#[derive(Debug)]
enum Event {
    Hashed {
        file: usize,
        era: u32,
        sha256: String,
        marks: Marks,
    },
    /// Bytes that were written are no longer there.
    Lost {
        file: usize,
        era: u32,
    },
    Failed {
        file: usize,
        error: HubError,
    },
}

/// Tells progress, in an order that makes sense.
pub(crate) struct Report {
    watcher: Arc<dyn Watcher>,
    total: Bytes,
    // Taken before the board: a number that was read earlier is told earlier.
    order: Mutex<()>,
}

impl Report {
    pub(crate) fn new(watcher: Arc<dyn Watcher>, total: Bytes) -> Self {
        Self {
            watcher,
            total,
            order: Mutex::new(()),
        }
    }

    pub(crate) fn noted(&self, note: Note) {
        self.watcher.noted(note);
    }

    fn paused(&self, file: &str, pause: Pause) {
        self.noted(Note::Paused {
            file: file.to_owned(),
            pause,
        });
    }
}

/// What all parts of one transfer know. The board is behind a lock and no task owns it, since the threads that
/// write and hash look at it for every piece; it is held for a few lines of plain code.
pub(crate) struct Shared {
    hub: Hub,
    items: Vec<Item>,
    board: Mutex<Board>,
    /// Rings when the board has moved on: for the threads, which cannot await.
    moved: Condvar,
    places: Vec<tokio::sync::Mutex<Place>>,
    media: Vec<OnceLock<Arc<dyn Medium>>>,
    hashes: Vec<Mutex<Hashing>>,
    /// Whoever writes or voids the claims of a file holds its lock.
    records: Vec<tokio::sync::Mutex<()>>,
    room: Arc<Semaphore>,
    /// How many units that room has.
    room_units: usize,
    report: Report,
    /// The server wants nothing to be asked before.
    hold: Mutex<Option<Instant>>,
    received: AtomicU64,
    connections: AtomicU64,
    fresh_starts: AtomicU64,
    kept: AtomicU64,
    /// What one connection brings in the time that a range should last.
    usual: AtomicU64,
    working: AtomicUsize,
    wanted: AtomicUsize,
    objected: AtomicBool,
    /// The writer has failed: nothing waits for it any more.
    broken: AtomicBool,
    events: mpsc::Sender<Event>,
    wake: Notify,
    sync_now: Notify,
}

impl Shared {
    fn new(hub: Hub, items: Vec<Item>, watcher: Arc<dyn Watcher>, events: mpsc::Sender<Event>) -> Self {
        let total: Bytes = items.iter().map(|item| item.bytes).sum();
        let lanes = hub.config().lanes;
        let waiting = WAITING_MAX.min((lanes.range_most.0 / 8).saturating_mul(lanes.most as u64));
        let room = usize::try_from(waiting).map_or(1, |waiting| (waiting / ROOM_UNIT).max(1));
        Self {
            board: Mutex::new(Board::new(items.iter().map(|item| item.bytes.0))),
            moved: Condvar::new(),
            places: items.iter().map(|_| tokio::sync::Mutex::default()).collect(),
            media: items.iter().map(|_| OnceLock::new()).collect(),
            hashes: items.iter().map(|_| Mutex::default()).collect(),
            records: items.iter().map(|_| tokio::sync::Mutex::default()).collect(),
            room: Arc::new(Semaphore::new(room)),
            room_units: room,
            report: Report::new(watcher, total),
            hold: Mutex::new(None),
            received: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            fresh_starts: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            usual: AtomicU64::new(lanes.range_least.0.saturating_mul(2)),
            working: AtomicUsize::new(0),
            wanted: AtomicUsize::new(lanes.first),
            objected: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            events,
            wake: Notify::new(),
            sync_now: Notify::new(),
            hub,
            items,
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the board to move on, or a moment.
    fn wait(&self, most: Duration) {
        let board = self.board();
        drop(self.moved.wait_timeout(board, most));
    }

    fn medium(&self, file: usize) -> Option<Arc<dyn Medium>> {
        self.media.get(file)?.get().cloned()
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "one for each file, and files are counted once"
    )]
    fn hashing(&self, file: usize) -> MutexGuard<'_, Hashing> {
        self.hashes[file].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unsafe_of(&self, file: usize) -> u64 {
        self.board().unsafe_of(file)
    }

    fn sizes(&self) -> Sizes {
        let config = self.hub.config();
        Sizes {
            least: config.lanes.range_least.0.max(1),
            // The other half is what is written and not safe yet: together they are what a kill can cost.
            most: (config.lanes.range_most.0 / 2).max(1),
            usual: self.usual.load(Ordering::Relaxed),
            connections: self.wanted.load(Ordering::Relaxed) as u64,
            silence: config.patience.stall / 6,
        }
    }

    fn is_crowded(&self) -> bool {
        self.working.load(Ordering::Relaxed) > self.wanted.load(Ordering::Relaxed)
    }

    async fn room_for(&self, bytes: usize) -> Result<OwnedSemaphorePermit, tokio::sync::AcquireError> {
        let units = bytes.div_ceil(ROOM_UNIT).clamp(1, self.room_units);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        Arc::clone(&self.room).acquire_many_owned(units).await
    }

    /// Bytes are in the file.
    fn wrote(&self, file: usize, era: u32, range: Range<u64>) {
        let order = self.report.order.lock().unwrap_or_else(PoisonError::into_inner);
        self.board().written(file, era, range);
        let all = self.tell_progress(file);
        drop(order);
        self.moved.notify_all();
        if self.report.total.0.saturating_sub(all) < LAST_STRETCH {
            self.sync_now.notify_one();
        }
    }

    /// With the order of the report held. Gives how much of all is here.
    fn tell_progress(&self, file: usize) -> u64 {
        let (here, all) = self.board().done(file);
        if let Some(item) = self.items.get(file) {
            self.report.watcher.moved_in(&item.file, Bytes(here), item.bytes);
        }
        self.report.watcher.moved(Bytes(all), self.report.total);
        all
    }

    /// A file is open, or needs nothing.
    fn opened(&self, file: usize, here: Option<Ranges>) {
        let order = self.report.order.lock().unwrap_or_else(PoisonError::into_inner);
        match here {
            Some(here) => {
                self.kept.fetch_add(here.total(), Ordering::Relaxed);
                self.board().open(file, here);
            }
            None => self.board().right(file),
        }
        self.tell_progress(file);
        drop(order);
        self.moved.notify_all();
    }

    /// Holds the writer back when the disk does not keep up with the line: what a kill can cost has a limit.
    fn wait_for_sync(&self) {
        let lanes = self.hub.config().lanes;
        let connections = self.wanted.load(Ordering::Relaxed) as u64;
        // Of one range for each connection: half may be on its way, an eighth waits to be written.
        let most = (lanes.range_most.0 / 8 * 3).saturating_mul(connections.max(1));
        let mut board = self.board();
        if board.all_unsafe() >= most / 2 {
            self.sync_now.notify_one();
        }
        while board.all_unsafe() > most && !self.broken.load(Ordering::Relaxed) {
            self.sync_now.notify_one();
            board = match self.moved.wait_timeout(board, Duration::from_millis(50)) {
                Ok((board, _)) => board,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Begins a file anew, if it still is what the grant was given for. Gives the grant for all of it.
    async fn start_over(
        &self,
        grant: Grant,
        why: FreshStart,
        single: bool,
    ) -> Result<Option<Grant>, HubError> {
        let (Some(item), Some(record)) = (self.items.get(grant.file), self.records.get(grant.file)) else {
            return Ok(None);
        };
        let _held = record.lock().await;
        if !self.board().is_current(grant.file, grant.era) {
            return Ok(None);
        }
        // The claims go before the bytes do.
        if let Err(error) = self.hub.ledger().forget(&item.part).await {
            warn!(%error, file = item.file, "the old claims could not be removed");
        }
        let order = self.report.order.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = self.board().start_over(grant.file, single, Instant::now());
        let Some((whole, times, lost)) = begun else {
            return Ok(None);
        };
        if lost {
            self.fresh_starts.fetch_add(1, Ordering::Relaxed);
            info!(file = item.file, ?why, "fetching a file from its beginning again");
            self.report.noted(Note::StartedOver {
                file: item.file.clone(),
                why,
            });
            self.tell_progress(grant.file);
        }
        drop(order);
        self.moved.notify_all();
        if times > self.hub.config().patience.fresh_starts_max {
            let progress = (Bytes::ZERO, item.bytes);
            return Err(self.hub.gave_up(Trouble::Cut, &item.file, &item.url, progress));
        }
        Ok(Some(whole))
    }

    fn hold_for(&self, pause: Duration) {
        let until = Instant::now() + pause;
        let mut hold = self.hold.lock().unwrap_or_else(PoisonError::into_inner);
        *hold = Some(hold.map_or(until, |known| known.max(until)));
    }

    async fn wait_while_held(&self) {
        loop {
            let until = *self.hold.lock().unwrap_or_else(PoisonError::into_inner);
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                Some(_) | None => return,
            }
        }
    }

    /// From a thread. Nobody listens after the end, which is fine.
    fn tell(&self, event: Event) {
        if matches!(event, Event::Failed { .. }) {
            self.broken.store(true, Ordering::Relaxed);
        }
        let _ = self.events.blocking_send(event);
    }

    async fn tell_async(&self, event: Event) {
        if matches!(event, Event::Failed { .. }) {
            self.broken.store(true, Ordering::Relaxed);
        }
        let _ = self.events.send(event).await;
    }

    fn traffic(&self) -> Traffic {
        let small = |number: &AtomicU64| u32::try_from(number.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        Traffic {
            received: Bytes(self.received.load(Ordering::Relaxed)),
            kept: Bytes(self.kept.load(Ordering::Relaxed)),
            connections: small(&self.connections),
            fresh_starts: small(&self.fresh_starts),
        }
    }
}
