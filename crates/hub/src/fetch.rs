//! Whole file sets into the library, and pinned archives into a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_os::files::{self, FileError, Lock};
use plimsoll_units::Bytes;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::layout::{PARTIAL, RepoFolder, is_commit};
use crate::library::sha256_of;
use crate::metadata::not_found;
use crate::transfer::{Brought, Report, Source, Traffic};
use crate::{Absent, Address, FileSet, FreshStart, Hub, HubError, Note, Pause, RemoteFile, Setting, Watcher};

/// Between two looks at a lock that another process holds.
const LOCK_LOOK: Duration = Duration::from_millis(250);

/// How a fetch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// Every file is in place and right; the paths are in the order of the set.
    Done { paths: Vec<PathBuf>, traffic: Traffic },
    /// Stopped on request. What came is kept, and the next fetch goes on from there.
    Stopped { traffic: Traffic },
}

/// A file outside the hub, such as an engine's release archive, known by size and hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    pub url: String,
    pub bytes: Bytes,
    pub sha256: String,
}

/// What is believed of files that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    AsItLies,
    Nothing,
}

enum Looked {
    Done,
    Stopped,
}

impl Hub {
    /// Brings every file of the set into the cache: checked, published by rename, with its pointer in the
    /// snapshot. Files that are there already cost nothing: they were checked when they came.
    pub async fn fetch(
        &self,
        set: &FileSet,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Fetched, HubError> {
        self.check_space(&self.config().cache, self.remaining(set)?)?;
        self.fetch_all(set, Trust::AsItLies, watcher, stop).await
    }

    /// The same, but files that are there are hashed first, and those whose bytes are wrong are brought again.
    pub async fn repair(
        &self,
        set: &FileSet,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Fetched, HubError> {
        self.fetch_all(set, Trust::Nothing, watcher, stop).await
    }

    async fn fetch_all(
        &self,
        set: &FileSet,
        trust: Trust,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Fetched, HubError> {
        let mut report = Report::new(watcher, set.bytes());
        let mut paths = Vec::new();
        for file in &set.files {
            let placed = match self.discard_if_wrong(file, trust, &mut report, stop).await? {
                Looked::Stopped => None,
                Looked::Done => {
                    let placed = self.fetch_file(file, &mut report, stop).await;
                    placed.map_err(|error| disk_full(error, &self.config().cache, self.remaining(set)))?
                }
            };
            let Some((path, bytes)) = placed else {
                return Ok(Fetched::Stopped {
                    traffic: report.traffic,
                });
            };
            paths.push(path);
            report.before = report.before.plus(bytes);
            report.at(Bytes::ZERO);
        }
        Ok(Fetched::Done {
            paths,
            traffic: report.traffic,
        })
    }

    /// Hashes a file that is there. A wrong one loses its name, which may be one of several: nothing is ever
    /// written into it, since the bytes may belong to the person's own file as well.
    async fn discard_if_wrong(
        &self,
        file: &RemoteFile,
        trust: Trust,
        report: &mut Report,
        stop: &CancellationToken,
    ) -> Result<Looked, HubError> {
        let blob = RepoFolder::new(&self.config().cache, &file.repo).blob(&file.etag);
        let Some(expected) = file
            .sha256()
            .filter(|_| trust == Trust::Nothing && is_whole(&blob, file.bytes))
        else {
            return Ok(Looked::Done);
        };
        report.watcher.noted(Note::Checking {
            file: file.path.clone(),
        });
        let (at, stop) = (blob.clone(), stop.clone());
        let hashed = self.jobs().start_blocking(move |own_stop| {
            sha256_of(
                &at,
                &|| stop.is_cancelled() || own_stop.is_cancelled(),
                &mut |_| {},
            )
        });
        match hashed.await?? {
            None => return Ok(Looked::Stopped),
            Some(found) if found == expected => {}
            Some(_) => {
                files::remove_file(&blob)?;
                report.started_over(&file.path, FreshStart::HashMismatch);
            }
        }
        Ok(Looked::Done)
    }

    /// Brings a pinned file to `to`, with its unfinished part beside it. No token of the hub goes along, and
    /// `HF_HUB_OFFLINE` says nothing about other sites.
    pub async fn fetch_url(
        &self,
        archive: &Archive,
        to: &Path,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Fetched, HubError> {
        let url = Url::parse(&archive.url).map_err(|_| HubError::BadSetting {
            what: Setting::Endpoint,
        })?;
        let name = to
            .file_name()
            .map_or_else(|| archive.url.clone(), |name| name.to_string_lossy().into_owned());
        let folder = to.parent().unwrap_or(Path::new("."));
        files::create_dir(folder)?;
        let part = folder.join(format!("{name}{PARTIAL}"));
        let mut report = Report::new(watcher, archive.bytes);
        let Some(lock) = self
            .lock(&folder.join(format!(".{name}.lock")), &name, &report, stop)
            .await?
        else {
            return Ok(Fetched::Stopped {
                traffic: report.traffic,
            });
        };
        // A finished one goes back to being a part: its hash is then checked like any other's.
        if to.is_file() && !part.exists() {
            files::publish(to, &part)?;
        }
        let missing = archive.bytes.less(length(&part));
        self.check_space(folder, missing)?;
        let absent = |_: &_| HubError::NotFound {
            repo: crate::http::host_of(&url),
            what: Absent::File,
            name: name.clone(),
        };
        let source = Source {
            url: url.clone(),
            token: None,
            file: &name,
            repo: url.host_str().unwrap_or_default(),
            bytes: archive.bytes,
            etag: None,
            sha256: Some(&archive.sha256),
            not_found: &absent,
        };
        let brought = self.bring(&source, &part, lock, &mut report, stop).await;
        match brought.map_err(|error| disk_full(error, folder, Ok(archive.bytes.less(length(&part)))))? {
            Brought::Stopped => Ok(Fetched::Stopped {
                traffic: report.traffic,
            }),
            Brought::Right(lock) => {
                self.publish(&part, to, lock).await?;
                Ok(Fetched::Done {
                    paths: vec![to.to_owned()],
                    traffic: report.traffic,
                })
            }
        }
    }

    /// One file, its identity asked for once more when the hub changed it under us. `None` when stopped.
    async fn fetch_file(
        &self,
        file: &RemoteFile,
        report: &mut Report,
        stop: &CancellationToken,
    ) -> Result<Option<(PathBuf, Bytes)>, HubError> {
        let changed = match self.fetch_version(file, report, stop).await {
            Err(error @ HubError::Changed { .. }) if file.pin.is_none() => error,
            other => return other,
        };
        // The old part belongs to a content that is gone; mixing is impossible, since parts are named by it.
        let folder = RepoFolder::new(&self.config().cache, &file.repo);
        files::remove_file(&folder.part(&file.etag))?;
        let address = Address {
            repo: file.repo.clone(),
            path: file.path.clone(),
            revision: file.revision.clone(),
        };
        let now = self.file_set_of(&[crate::Wanted { address, pin: None }]).await?;
        let Some(now) = now.files.first().filter(|now| now.etag != file.etag) else {
            return Err(changed);
        };
        report.total = report.total.less(file.bytes).plus(now.bytes);
        report.started_over(&file.path, FreshStart::Changed);
        self.fetch_version(now, report, stop).await
    }

    async fn fetch_version(
        &self,
        file: &RemoteFile,
        report: &mut Report,
        stop: &CancellationToken,
    ) -> Result<Option<(PathBuf, Bytes)>, HubError> {
        let folder = RepoFolder::new(&self.config().cache, &file.repo);
        let blob = folder.blob(&file.etag);
        if !is_whole(&blob, file.bytes) {
            if self.config().offline {
                return Err(HubError::Offline);
            }
            files::create_dir(&folder.blobs())?;
            let lock_at = folder.lock(&file.etag);
            if let Some(locks) = lock_at.parent() {
                files::create_dir(locks)?;
            }
            let Some(lock) = self.lock(&lock_at, &file.path, report, stop).await? else {
                return Ok(None);
            };
            // Another process may have finished it while we waited.
            if !is_whole(&blob, file.bytes) {
                let at = Address {
                    repo: file.repo.clone(),
                    path: file.path.clone(),
                    revision: file.commit.clone(),
                };
                let part = folder.part(&file.etag);
                let token = self.token();
                let source = Source {
                    url: self.resolve_url(&file.repo, &file.commit, &file.path),
                    token: token.as_ref(),
                    file: &file.path,
                    repo: file.repo.as_str(),
                    bytes: file.bytes,
                    etag: Some(&file.etag),
                    sha256: file.sha256(),
                    not_found: &|headers| not_found(headers, &at),
                };
                match self.bring(&source, &part, lock, report, stop).await? {
                    Brought::Stopped => return Ok(None),
                    Brought::Right(lock) => self.publish(&part, &blob, lock).await?,
                }
            }
        }
        let placed = file.clone();
        let pointer = self
            .jobs()
            .start_blocking(move |_| point(&folder, &placed))
            .await??;
        Ok(Some((pointer, file.bytes)))
    }

    /// The lock goes when the file is there under its name.
    async fn publish(&self, part: &Path, to: &Path, lock: Lock) -> Result<(), HubError> {
        let (part, to) = (part.to_owned(), to.to_owned());
        let published = self.jobs().start_blocking(move |_| {
            let _held = lock;
            files::publish(&part, &to)
        });
        Ok(published.await??)
    }

    /// Waits for a lock that another process may hold; `None` when stopped.
    async fn lock(
        &self,
        at: &Path,
        file: &str,
        report: &Report,
        stop: &CancellationToken,
    ) -> Result<Option<Lock>, HubError> {
        let mut told = false;
        loop {
            if let Some(lock) = Lock::try_exclusive(at)? {
                return Ok(Some(lock));
            }
            if !told {
                report.watcher.noted(Note::Paused {
                    file: file.to_owned(),
                    pause: Pause::OtherProcess,
                });
                told = true;
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(None),
                () = sleep(LOCK_LOOK) => {}
            }
        }
    }

    /// Bytes of the set that are not on this disk yet.
    pub(crate) fn remaining(&self, set: &FileSet) -> Result<Bytes, HubError> {
        let missing = |file: &RemoteFile| {
            let folder = RepoFolder::new(&self.config().cache, &file.repo);
            if is_whole(&folder.blob(&file.etag), file.bytes) {
                return Bytes::ZERO;
            }
            file.bytes.less(length(&folder.part(&file.etag)))
        };
        let sum = set
            .files
            .iter()
            .map(missing)
            .try_fold(Bytes::ZERO, Bytes::checked_add);
        sum.ok_or_else(|| HubError::DiskFull {
            folder: self.config().cache.clone(),
            needed: Bytes(u64::MAX),
            free: Bytes::ZERO,
        })
    }

    fn check_space(&self, folder: &Path, needed: Bytes) -> Result<(), HubError> {
        if needed == Bytes::ZERO {
            return Ok(());
        }
        let free = files::free_space(folder)?;
        // With what is left alone: a person who makes this much room gets the file.
        let needed = needed.plus(self.config().spare);
        if needed > free {
            return Err(HubError::DiskFull {
                folder: folder.to_owned(),
                needed,
                free,
            });
        }
        Ok(())
    }
}

/// A disk that filled up in the middle, told with the figures a person can act on.
fn disk_full(error: HubError, folder: &Path, needed: Result<Bytes, HubError>) -> HubError {
    if !matches!(error, HubError::File(FileError::DiskFull { .. })) {
        return error;
    }
    HubError::DiskFull {
        folder: folder.to_owned(),
        needed: needed.unwrap_or_default(),
        free: files::free_space(folder).unwrap_or_default(),
    }
}

/// The pointer in the snapshot, and the branch's name for the commit.
fn point(folder: &RepoFolder, file: &RemoteFile) -> Result<PathBuf, HubError> {
    let pointer = folder.pointer(&file.commit, &file.path);
    place_pointer(folder, &pointer, &file.path, &file.etag)?;
    if !is_commit(&file.revision) {
        let reference = folder.reference(&file.revision);
        if let Some(parent) = reference.parent() {
            files::create_dir(parent)?;
        }
        files::replace(&reference, file.commit.as_bytes())?;
    }
    Ok(pointer)
}

/// A relative symbolic link, as the hub's own tools make it; where the system has none to give, a second name
/// of the blob, else a copy.
pub(crate) fn place_pointer(
    folder: &RepoFolder,
    pointer: &Path,
    path: &str,
    etag: &crate::Etag,
) -> Result<(), FileError> {
    if let Some(parent) = pointer.parent() {
        files::create_dir(parent)?;
    }
    let target = RepoFolder::target(path, etag);
    if std::fs::read_link(pointer).is_ok_and(|there| there == target) {
        return Ok(());
    }
    match files::symlink(&target, pointer) {
        Ok(()) => Ok(()),
        Err(error) if error.is_disk_full() => Err(error),
        Err(_) => files::link_or_copy(&folder.blob(etag), pointer).map(drop),
    }
}

pub(crate) fn is_whole(path: &Path, bytes: Bytes) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() == bytes.0)
}

/// 0 for what is not there.
pub(crate) fn length(path: &Path) -> Bytes {
    Bytes(std::fs::metadata(path).map_or(0, |about| about.len()))
}
