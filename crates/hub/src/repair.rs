//! Bringing back what went wrong on the disk: the bad stretches where it is known which they are, else the file.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use plimsoll_os::files::{self, PartFile};
use plimsoll_units::Bytes;
use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::fetch::is_whole;
use crate::hex::hex;
use crate::layout::RepoFolder;
use crate::ledger::{Marks, PartRecord};
use crate::library::names_of;
use crate::transfer::{Ranges, Traffic, stretches};
use crate::{Fetched, FileSet, Hub, HubError, Note, RemoteFile, Watcher};

const READ: usize = 1 << 20;

/// What hashing a file again found.
enum Looked {
    Right,
    /// The stretches that are right; none when that is not known.
    Wrong(Vec<Range<u64>>),
    Stopped,
}

impl Hub {
    /// Like [`Hub::fetch`], but files that are there are hashed first, and what is wrong is brought again: only
    /// the bad stretches of a file that we fetched ourselves, else the file.
    pub async fn repair(
        &self,
        set: &FileSet,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Fetched, HubError> {
        for file in &set.files {
            let blob = RepoFolder::new(&self.config().cache, &file.repo).blob(&file.etag);
            if file.sha256().is_none() || !is_whole(&blob, file.bytes) {
                continue;
            }
            watcher.noted(Note::Checking {
                file: file.path.clone(),
            });
            match self.look(file, &blob, stop).await? {
                Looked::Right => {}
                Looked::Wrong(good) => self.take_back(file, &blob, good).await?,
                Looked::Stopped => {
                    return Ok(Fetched::Stopped {
                        traffic: Traffic::default(),
                    });
                }
            }
        }
        self.fetch(set, watcher, stop).await
    }

    async fn look(
        &self,
        file: &RemoteFile,
        blob: &Path,
        stop: &CancellationToken,
    ) -> Result<Looked, HubError> {
        let Some(sha256) = file.sha256().map(str::to_owned) else {
            return Ok(Looked::Right);
        };
        let marks = self.ledger().marks(&sha256).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "which stretch is wrong will not be known");
            None
        });
        let (at, size, stop) = (blob.to_owned(), file.bytes.0, stop.clone());
        let looking = self.jobs().start_blocking(move |own_stop| {
            let stops = || stop.is_cancelled() || own_stop.is_cancelled();
            check(&at, size, &sha256, marks.as_ref(), &stops)
        });
        looking.await?
    }

    /// Makes a file that is wrong a part again, with what of it is right. One that has another name as well
    /// only loses this one: nothing is ever written into it, since the bytes may be the person's own, or shared by
    /// several repositories, as the hub's own client does by a link.
    async fn take_back(&self, file: &RemoteFile, blob: &Path, good: Vec<Range<u64>>) -> Result<(), HubError> {
        let part = RepoFolder::new(&self.config().cache, &file.repo).part(&file.etag);
        let shared = blob
            .symlink_metadata()
            .is_ok_and(|about| about.is_symlink() || names_of(&about) > 1);
        if good.is_empty() || shared {
            return Ok(files::remove_file(blob)?);
        }
        let record = PartRecord {
            version: format!("{} {}", file.etag, file.bytes.0),
            ranges: good
                .into_iter()
                .collect::<Ranges>()
                .iter()
                .map(|range| (Bytes(range.start), Bytes(range.end)))
                .collect(),
            ..PartRecord::default()
        };
        let (from, to) = (blob.to_owned(), part.clone());
        let moved = self.jobs().start_blocking(move |_| files::publish(&from, &to));
        moved.await??;
        if let Err(error) = self.ledger().keep(&part, record).await {
            tracing::warn!(%error, file = file.path, "the whole file has to be fetched again");
        }
        Ok(())
    }
}

/// Hashes a file, stretch by stretch where there are marks.
fn check(
    path: &Path,
    size: u64,
    sha256: &str,
    marks: Option<&Marks>,
    stops: &dyn Fn() -> bool,
) -> Result<Looked, HubError> {
    let file = PartFile::open_to_read(path)?;
    let mut all = marks.map(|marks| stretches(marks, size)).unwrap_or_default();
    if all.is_empty() {
        all.push((0, size, Sha256::new(), Vec::new()));
    }
    let mut good = Vec::new();
    let mut wrong = false;
    for (from, end, before, after) in all {
        let Some(found) = stretch(&file, from, end, before, stops)? else {
            return Ok(Looked::Stopped);
        };
        // The last one ends with the file: its hash is known.
        let right = if end == size && after.is_empty() {
            hex(&found.finalize()) == sha256
        } else {
            found.serialize().as_slice() == after.as_slice()
                && (end < size || hex(&found.finalize()) == sha256)
        };
        if right {
            good.push(from..end);
        } else {
            wrong = true;
        }
    }
    Ok(if wrong { Looked::Wrong(good) } else { Looked::Right })
}

fn stretch(
    file: &PartFile,
    from: u64,
    end: u64,
    mut hasher: Sha256,
    stops: &dyn Fn() -> bool,
) -> Result<Option<Sha256>, HubError> {
    let mut buffer = vec![0; READ];
    let mut at = from;
    while at < end {
        if stops() {
            return Ok(None);
        }
        let length = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        let got = file.read_at(Bytes(at), &mut buffer[..length])?;
        if got == 0 {
            break;
        }
        hasher.update(&buffer[..got]);
        at += got as u64;
    }
    Ok(Some(hasher))
}
