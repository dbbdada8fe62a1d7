//! The two ends of a file's way: taking up what an earlier run left of it, and giving it its name.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_os::files::{self, FileError, Lock, PartFile};
use plimsoll_units::Bytes;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::board::Stage;
use super::disk::Hashing;
use super::ranges::Ranges;
use super::{Item, Shared};
use crate::fetch::{is_whole, length, point};
use crate::ledger::{Marks, PartRecord};
use crate::{HubError, Pause};

/// Between two looks at a lock that another process holds.
const LOCK_LOOK: Duration = Duration::from_millis(250);

/// What opening a file found.
pub(super) enum Opened {
    /// With its lock, which is held until the file is published.
    Part(Lock),
    AlreadyRight,
    Stopped,
}

/// Takes the lock of a file and what an earlier run left of it.
pub(super) async fn open(
    shared: Arc<Shared>,
    file: usize,
    stop: CancellationToken,
) -> (usize, Result<Opened, HubError>) {
    let opened = match shared.items.get(file) {
        Some(item) => open_item(&shared, item, file, &stop).await,
        None => Ok(Opened::AlreadyRight),
    };
    (file, opened)
}

async fn open_item(
    shared: &Shared,
    item: &Item,
    file: usize,
    stop: &CancellationToken,
) -> Result<Opened, HubError> {
    let right = |shared: &Shared| {
        shared.opened(file, None);
        Ok(Opened::AlreadyRight)
    };
    if item.trusted && is_whole(&item.to, item.bytes) {
        return right(shared);
    }
    if item.address.is_some() && shared.hub.config().offline {
        return Err(HubError::Offline);
    }
    for at in [&item.part, &item.lock] {
        if let Some(folder) = at.parent() {
            files::create_dir(folder)?;
        }
    }
    let Some(lock) = lock(shared, item, stop).await? else {
        return Ok(Opened::Stopped);
    };
    // Another process may have finished it while we waited.
    if item.trusted && is_whole(&item.to, item.bytes) {
        return right(shared);
    }
    let record = adopt(shared, item).await?;
    let (path, size) = (item.part.clone(), item.bytes);
    let opened = shared.hub.jobs().start_blocking(move |_| {
        let part = PartFile::open(&path)?;
        let mut here = record
            .as_ref()
            .map(|record| {
                record
                    .ranges
                    .iter()
                    .map(|(from, end)| from.0..end.0)
                    .collect::<Ranges>()
            })
            .unwrap_or_default();
        let hashing = match &record {
            // Cut by somebody, or of another size: nothing of it is believed.
            Some(record) if here.last_end() <= part.len()?.0.min(size.0) => {
                Hashing::resumed(record, size.0, here.prefix())
            }
            Some(_) | None => {
                here = Ranges::default();
                Hashing::default()
            }
        };
        if part.len()? > size {
            part.set_len(size)?;
        }
        part.preallocate(size)?;
        Ok::<_, FileError>((part, here, hashing))
    });
    let (part, here, hashing) = opened.await??;
    if here == Ranges::default()
        && let Err(error) = shared.hub.ledger().forget(&item.part).await
    {
        warn!(%error, file = item.file, "old claims could not be removed");
    }
    *shared.hashing(file) = hashing;
    if let Some(place) = shared.media.get(file) {
        let _ = place.set(Arc::new(part));
    }
    shared.opened(file, Some(here));
    Ok(Opened::Part(lock))
}

/// What is known of the part. One that was filled from its first byte on, by an older version of ours or by
/// another tool, becomes ours first.
async fn adopt(shared: &Shared, item: &Item) -> Result<Option<PartRecord>, HubError> {
    let ledger = shared.hub.ledger();
    if item.part.is_file() {
        let known = ledger.find(&item.part).await.unwrap_or_else(|error| {
            warn!(%error, file = item.file, "what is here is not known");
            None
        });
        return Ok(known.filter(|record| record.version == item.version()));
    }
    let length = length(&item.older);
    if length == Bytes::ZERO || !item.older.is_file() {
        return Ok(None);
    }
    if length > item.bytes {
        files::remove_file(&item.older)?;
        return Ok(None);
    }
    let (from, to) = (item.older.clone(), item.part.clone());
    let moved = shared
        .hub
        .jobs()
        .start_blocking(move |_| files::publish(&from, &to));
    moved.await??;
    let record = PartRecord {
        version: item.version(),
        ranges: vec![(Bytes::ZERO, length)],
        ..PartRecord::default()
    };
    if let Err(error) = ledger.keep(&item.part, record.clone()).await {
        warn!(%error, file = item.file, "what is here is not written down");
    }
    Ok(Some(record))
}

/// Waits for a lock that another process may hold; `None` when stopped.
async fn lock(shared: &Shared, item: &Item, stop: &CancellationToken) -> Result<Option<Lock>, HubError> {
    let mut told = false;
    loop {
        if let Some(lock) = Lock::try_exclusive(&item.lock)? {
            return Ok(Some(lock));
        }
        if !told {
            shared.report.paused(&item.file, Pause::OtherProcess);
            told = true;
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(None),
            () = sleep(LOCK_LOOK) => {}
        }
    }
}

/// Gives a file that is right its name. The lock goes when it is there.
pub(super) async fn publish(
    shared: Arc<Shared>,
    file: usize,
    lock: Option<Lock>,
    marks: Option<Marks>,
) -> (usize, Result<PathBuf, HubError>) {
    let published = match shared.items.get(file) {
        Some(item) => publish_item(&shared, item, file, lock, marks).await,
        None => Ok(PathBuf::new()),
    };
    (file, published)
}

async fn publish_item(
    shared: &Shared,
    item: &Item,
    file: usize,
    lock: Option<Lock>,
    marks: Option<Marks>,
) -> Result<PathBuf, HubError> {
    // A sync of this file that is under way ends first, so that its claim does not outlive the part.
    let record = shared.records.get(file);
    let _held = match record {
        Some(record) => Some(record.lock().await),
        None => None,
    };
    let from_part = lock.is_some();
    let (part, to, pointer) = (item.part.clone(), item.to.clone(), item.pointer.clone());
    let (size, is_open) = (item.bytes, shared.board().stage(file) == Stage::Right);
    let placed = shared.hub.jobs().start_blocking(move |_| {
        let _until_it_is_there = lock;
        if from_part && is_open {
            finish(&part, &to, size)?;
        }
        match pointer {
            Some((folder, file)) => point(&folder, &file),
            None => Ok(to),
        }
    });
    let path = placed.await??;
    if from_part {
        let ledger = shared.hub.ledger();
        let written = match (&item.sha256, marks) {
            (Some(sha256), Some(marks)) => ledger.keep_marks(sha256, marks).await,
            (Some(_) | None, _) => Ok(()),
        };
        let forgotten = ledger.forget(&item.part).await;
        if let Err(error) = written.and(forgotten) {
            warn!(%error, file = item.file, "a finished file is still in the ledger");
        }
    }
    Ok(path)
}

fn finish(part: &Path, to: &Path, size: Bytes) -> Result<(), HubError> {
    // Reserved space behind the end would be part of the file.
    let file = PartFile::open(part)?;
    if file.len()? != size {
        file.set_len(size)?;
    }
    drop(file);
    Ok(files::publish(part, to)?)
}
