//! Keeps a transfer together: opens files, starts connections, publishes what is right, ends everything.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt as _, OptionFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use plimsoll_os::files::{self, Lock};
use plimsoll_os::jobs::{Job, Scope};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::board::Grant;
use super::disk;
use super::ends::{Opened, open, publish};
use super::flow::Flow;
use super::line::{self, Stumble};
use super::{Event, Item, Shared, Traffic};
use crate::ledger::Marks;
use crate::{FreshStart, Hub, HubError, Note, Watcher};

const TICK: Duration = Duration::from_millis(100);
/// A range should last this long: short enough to be lost, long enough to be worth a request.
const RANGE_LASTS_S: u64 = 2;
/// Open parts at once. Sets can have hundreds of files.
const OPEN_MAX: usize = 8;
const PIECES_WAITING_MAX: usize = 512;
const EVENTS_WAITING_MAX: usize = 16;

/// How a transfer ended when nothing went wrong. Being stopped is no error.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Every file is right and in its place.
    All(Vec<PathBuf>),
    Stopped,
}

/// What went wrong, and with which file.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) file: usize,
    pub(crate) error: HubError,
}

/// Brings all items. What came is on the disk and written down when this returns, however it ends.
pub(crate) async fn run(
    hub: &Hub,
    items: Vec<Item>,
    watcher: Arc<dyn Watcher>,
    stop: &CancellationToken,
) -> (Traffic, Result<Outcome, Problem>) {
    let (events, mut heard) = mpsc::channel(EVENTS_WAITING_MAX);
    let shared = Arc::new(Shared::new(hub.clone(), items, watcher, events));
    let jobs = hub.jobs();
    let (pieces, mut incoming) = mpsc::channel(PIECES_WAITING_MAX);
    let for_writer = Arc::clone(&shared);
    let writer = jobs.start_blocking(move |_| disk::write(&for_writer, &mut incoming));
    let for_hasher = Arc::clone(&shared);
    let hasher = jobs.start_blocking(move |stop| disk::hash(&for_hasher, &stop));
    let closed = CancellationToken::new();
    let (for_syncer, until) = (Arc::clone(&shared), closed.clone());
    let syncer = jobs.start(move |stop| disk::keep_safe(for_syncer, until, stop));

    let mut course = Course {
        shared: Arc::clone(&shared),
        flow: Flow::new(hub.config().lanes.first, hub.config().lanes.most, Instant::now()),
        jobs: jobs.clone(),
        lines: FuturesUnordered::new(),
        locks: (0..shared.items.len()).map(|_| None).collect(),
        paths: shared.items.iter().map(|item| item.to.clone()).collect(),
        wrong: vec![false; shared.items.len()],
        speed: (Instant::now(), 0),
    };
    let ended = course.steer(&pieces, &mut heard, stop).await;

    for line in &course.lines {
        line.ask_to_stop();
    }
    while course.lines.next().await.is_some() {}
    drop(pieces);
    // What the threads still have to say does not matter any more, and must not hold them.
    heard.close();
    while heard.recv().await.is_some() {}
    hasher.ask_to_stop();
    shared.moved.notify_all();
    let _ = writer.await;
    let _ = hasher.await;
    closed.cancel();
    let _ = syncer.await;
    (
        shared.traffic(),
        ended.map(|outcome| match outcome {
            Outcome::All(_) => Outcome::All(course.paths),
            Outcome::Stopped => Outcome::Stopped,
        }),
    )
}

struct Course {
    shared: Arc<Shared>,
    flow: Flow,
    jobs: Scope,
    lines: FuturesUnordered<Job<Result<(), Stumble>>>,
    locks: Vec<Option<Lock>>,
    paths: Vec<PathBuf>,
    /// Found wrong once already.
    wrong: Vec<bool>,
    speed: (Instant, u64),
}

type Opening = BoxFuture<'static, (usize, Result<Opened, HubError>)>;
type Publishing = BoxFuture<'static, (usize, Result<PathBuf, HubError>)>;

impl Course {
    async fn steer(
        &mut self,
        pieces: &mpsc::Sender<disk::Piece>,
        heard: &mut mpsc::Receiver<Event>,
        stop: &CancellationToken,
    ) -> Result<Outcome, Problem> {
        let shared = Arc::clone(&self.shared);
        let files = shared.items.len();
        let mut next = 0;
        let mut opening: OptionFuture<Opening> = None.into();
        let mut is_opening = false;
        let mut publishing: FuturesUnordered<Publishing> = FuturesUnordered::new();
        let mut published = 0;
        let mut tick = tokio::time::interval(TICK);
        loop {
            if !is_opening && next < files && self.wants_another_file() {
                opening = Some(open(Arc::clone(&shared), next, stop.clone()).boxed()).into();
                (is_opening, next) = (true, next + 1);
            }
            self.start_lines(pieces);
            if published == files {
                return Ok(Outcome::All(Vec::new()));
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(Outcome::Stopped),
                Some(event) = heard.recv() => {
                    if let Some((file, marks)) = self.hear(event).await? {
                        let lock = self.locks.get_mut(file).and_then(Option::take);
                        publishing.push(publish(Arc::clone(&shared), file, lock, marks).boxed());
                    }
                }
                Some((file, opened)) = &mut opening, if is_opening => {
                    is_opening = false;
                    match opened.map_err(|error| Problem { file, error })? {
                        Opened::Part(lock) => {
                            if let Some(place) = self.locks.get_mut(file) {
                                *place = Some(lock);
                            }
                        }
                        Opened::AlreadyRight => publishing.push(publish(Arc::clone(&shared), file, None, None).boxed()),
                        Opened::Stopped => return Ok(Outcome::Stopped),
                    }
                }
                Some((file, path)) = publishing.next(), if !publishing.is_empty() => {
                    let path = path.map_err(|error| Problem { file, error })?;
                    if let Some(place) = self.paths.get_mut(file) {
                        *place = path;
                    }
                    published += 1;
                }
                Some(ended) = self.lines.next(), if !self.lines.is_empty() => {
                    shared.working.store(self.lines.len(), Ordering::Relaxed);
                    let ended = ended.map_err(|error| Problem { file: 0, error: error.into() })?;
                    ended.map_err(|Stumble { file, error }| Problem { file, error })?;
                }
                () = shared.wake.notified() => {}
                _ = tick.tick() => self.measure(),
            }
        }
    }

    /// Files are opened in their order, a little ahead of the connections.
    fn wants_another_file(&self) -> bool {
        let board = self.shared.board();
        let ahead = self.shared.hub.config().lanes.range_most.0.saturating_mul(2);
        board.open_files() < OPEN_MAX && board.unassigned() < ahead
    }

    fn start_lines(&mut self, pieces: &mpsc::Sender<disk::Piece>) {
        let shared = &self.shared;
        let sizes = shared.sizes();
        while self.lines.len() < self.flow.target() {
            let Some(grant) = shared.board().take(Instant::now(), sizes) else {
                break;
            };
            let (for_line, pieces) = (Arc::clone(shared), pieces.clone());
            let line = self
                .jobs
                .start(move |stop| line::work(for_line, grant, pieces, stop));
            self.lines.push(line);
            shared.working.store(self.lines.len(), Ordering::Relaxed);
        }
    }

    /// How fast it goes decides how many connections there are and how long their ranges.
    fn measure(&mut self) {
        let shared = &self.shared;
        let now = Instant::now();
        if shared.objected.swap(false, Ordering::Relaxed) {
            self.flow.objected(now);
        }
        let received = shared.received.load(Ordering::Relaxed);
        let busy = self.lines.len() >= self.flow.target() && shared.board().unassigned() > 0;
        self.flow.at(now, received, busy);
        shared.wanted.store(self.flow.target(), Ordering::Relaxed);
        let (since, before) = self.speed;
        let millis = now.duration_since(since).as_millis();
        if millis >= 500 {
            let each = received.saturating_sub(before) / (self.lines.len() as u64).max(1);
            let usual = u128::from(each) * 1000 * u128::from(RANGE_LASTS_S) / millis;
            let usual = u64::try_from(usual).unwrap_or(u64::MAX);
            shared.usual.store(usual, Ordering::Relaxed);
            self.speed = (now, received);
        }
    }

    /// Gives the file that is to be published.
    async fn hear(&mut self, event: Event) -> Result<Option<(usize, Option<Marks>)>, Problem> {
        let shared = Arc::clone(&self.shared);
        match event {
            Event::Failed { file, error } => Err(Problem { file, error }),
            Event::Lost { file, era } => self.anew(file, era).await.map(|()| None),
            Event::Hashed {
                file,
                era,
                sha256,
                marks,
            } => {
                let Some(item) = shared.items.get(file) else {
                    return Ok(None);
                };
                if !shared.board().is_current(file, era) {
                    return Ok(None);
                }
                let expected = item.sha256.as_deref();
                if expected.is_none_or(|expected| expected == sha256) {
                    shared.report.noted(Note::Checking {
                        file: item.file.clone(),
                    });
                    shared.board().right(file);
                    shared.moved.notify_all();
                    return Ok(Some((file, expected.map(|_| marks))));
                }
                // One clean stretch from one answer can only be wrong at the hub.
                let clean =
                    shared.board().came_in_one_piece(file) && shared.kept.load(Ordering::Relaxed) == 0;
                let again = self.wrong.get(file).copied().unwrap_or(true);
                if !clean && !again {
                    return self.anew(file, era).await.map(|()| None);
                }
                let error = HubError::HashMismatch {
                    file: item.file.clone(),
                    expected: expected.unwrap_or_default().to_owned(),
                    found: sha256,
                };
                match self.discard(file, era).await {
                    Ok(()) => Err(Problem { file, error }),
                    Err(failed) => Err(Problem { file, error: failed }),
                }
            }
        }
    }

    /// Nothing is kept of bytes that are wrong at the hub itself.
    async fn discard(&self, file: usize, era: u32) -> Result<(), HubError> {
        let shared = &self.shared;
        let (Some(item), Some(record)) = (shared.items.get(file), shared.records.get(file)) else {
            return Ok(());
        };
        let _held = record.lock().await;
        if shared.board().is_current(file, era) {
            let _ = shared.board().start_over(file, true, Instant::now());
        }
        if let Err(error) = shared.hub.ledger().forget(&item.part).await {
            warn!(%error, file = item.file, "the claims of a wrong part could not be removed");
        }
        Ok(files::remove_file(&item.part)?)
    }

    /// The bytes of a file are not the right ones: all of them again, in one piece.
    async fn anew(&mut self, file: usize, era: u32) -> Result<(), Problem> {
        if let Some(wrong) = self.wrong.get_mut(file) {
            *wrong = true;
        }
        let grant = Grant { file, era, id: 0 };
        let begun = self
            .shared
            .start_over(grant, FreshStart::HashMismatch, true)
            .await;
        if let Some(whole) = begun.map_err(|error| Problem { file, error })? {
            self.shared.board().give_back(whole);
        }
        Ok(())
    }
}
