//! Whole file sets into the library, and pinned archives into a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use plimsoll_os::files::{self, FileError};
use plimsoll_units::Bytes;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::layout::{OLDER_PARTIAL, PARTIAL, RepoFolder, is_commit};
use crate::metadata::fully_pinned;
use crate::transfer::{Item, Outcome, Problem, Traffic, run};
use crate::{Address, FileSet, FreshStart, Hub, HubError, Note, RemoteFile, Setting, Wanted, Watcher};

/// Questions about pinned files at once. Sets can have hundreds of files.
const ASKED_AT_ONCE: usize = 8;

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

impl Hub {
    /// Brings every file of the set into the cache: checked, published by rename, with its pointer in the
    /// snapshot. Files that are there already cost nothing: they were checked when they came. Before the first
    /// byte the hub is asked whether it still means the same by every file that is pinned, and the disk whether
    /// all that is under way has room on it.
    pub async fn fetch(
        &self,
        set: &FileSet,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Fetched, HubError> {
        let mut set = set.clone();
        let mut traffic = Traffic::default();
        tokio::select! { biased;
            () = stop.cancelled() => return Ok(Fetched::Stopped { traffic }),
            confirmed = self.confirm(&set) => confirmed?,
        }
        loop {
            let (hub, of) = (self.clone(), set.clone());
            let promise = self.promise(&self.config().cache, move || {
                hub.remaining(&of).unwrap_or_default()
            });
            self.check_space(
                &[(self.config().cache.clone(), self.remaining(&set)?)],
                Some(&promise),
            )?;
            let items = set.files.iter().map(|file| self.item(file)).collect();
            let (took, ended) = run(self, items, Arc::clone(&watcher), stop).await;
            drop(promise);
            traffic = traffic.and(took);
            let problem = match ended {
                Ok(Outcome::All(paths)) => return Ok(Fetched::Done { paths, traffic }),
                Ok(Outcome::Stopped) => return Ok(Fetched::Stopped { traffic }),
                Err(problem) => problem,
            };
            let Some(number) = self.follow_change(&mut set, &problem).await? else {
                let left = self.remaining(&set);
                return Err(disk_full(problem.error, &self.config().cache, left));
            };
            if let Some(file) = set.files.get(number) {
                watcher.noted(Note::StartedOver {
                    file: file.path.clone(),
                    why: FreshStart::Changed,
                });
            }
        }
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
        let beside = |ending: &str| folder.join(format!("{name}{ending}"));
        let (part, mut older) = (beside(PARTIAL), beside(OLDER_PARTIAL));
        if to.is_file() {
            // A finished one goes back to being a part: its hash is then checked like any other's.
            older = to.to_owned();
        }
        let (of, at) = (archive.clone(), to.to_owned());
        let promise = self.promise(folder, move || remaining_of(&of, &at));
        self.check_space(&[(folder.to_owned(), remaining_of(archive, to))], Some(&promise))?;
        let item = Item {
            repo: url.host_str().unwrap_or_default().to_owned(),
            url,
            token: None,
            address: None,
            bytes: archive.bytes,
            etag: None,
            sha256: Some(archive.sha256.clone()),
            part: part.clone(),
            older,
            lock: folder.join(format!(".{name}.lock")),
            to: to.to_owned(),
            trusted: false,
            pointer: None,
            file: name,
        };
        let (traffic, ended) = run(self, vec![item], watcher, stop).await;
        drop(promise);
        match ended {
            Ok(Outcome::All(paths)) => Ok(Fetched::Done { paths, traffic }),
            Ok(Outcome::Stopped) => Ok(Fetched::Stopped { traffic }),
            Err(problem) => {
                let left = archive.bytes.less(allocated(&part));
                Err(disk_full(problem.error, folder, Ok(left)))
            }
        }
    }

    fn item(&self, file: &RemoteFile) -> Item {
        let folder = RepoFolder::new(&self.config().cache, &file.repo);
        Item {
            url: self.resolve_url(&file.repo, &file.commit, &file.path),
            token: self.token(),
            file: file.path.clone(),
            repo: file.repo.to_string(),
            address: Some(file.address()),
            bytes: file.bytes,
            etag: Some(file.etag.clone()),
            sha256: file.sha256().map(str::to_owned),
            part: folder.part(&file.etag),
            older: folder.older_part(&file.etag),
            lock: folder.lock(&file.etag),
            to: folder.blob(&file.etag),
            trusted: true,
            pointer: Some((folder, file.clone())),
        }
    }

    /// A file that nobody pinned and that the hub has replaced is fetched as it is now. Gives its place in the
    /// set; `None` when the problem is another one.
    async fn follow_change(&self, set: &mut FileSet, problem: &Problem) -> Result<Option<usize>, HubError> {
        if !matches!(problem.error, HubError::Changed { .. }) {
            return Ok(None);
        }
        let Some(file) = set.files.get_mut(problem.file).filter(|file| file.pin.is_none()) else {
            return Ok(None);
        };
        let address = Address {
            repo: file.repo.clone(),
            path: file.path.clone(),
            revision: file.revision.clone(),
        };
        let now = self.file_set_of(&[Wanted { address, pin: None }]).await?;
        let Some(now) = now.files.into_iter().next().filter(|now| now.etag != file.etag) else {
            return Ok(None);
        };
        // The old part belongs to a content that is gone; mixing is impossible, since parts are named by it.
        let part = RepoFolder::new(&self.config().cache, &file.repo).part(&file.etag);
        files::remove_file(&part)?;
        if let Err(error) = self.ledger().forget(&part).await {
            tracing::warn!(%error, "a part that is gone is still in the ledger");
        }
        *file = now;
        Ok(Some(problem.file))
    }

    /// Throws away what a fetch of this set has left unfinished, and says how much space that gave back. Parts
    /// that another process fills just now stay.
    pub async fn discard(&self, set: &FileSet) -> Result<Bytes, HubError> {
        let mut freed = Bytes::ZERO;
        for file in &set.files {
            let folder = RepoFolder::new(&self.config().cache, &file.repo);
            let etag = file.etag.clone();
            let part = folder.part(&etag);
            let removed = self
                .jobs()
                .start_blocking(move |_| crate::library::remove_parts(&folder, &etag));
            freed = freed.plus(removed.await??);
            if !part.exists()
                && let Err(error) = self.ledger().forget(&part).await
            {
                tracing::warn!(%error, "a part that is gone is still in the ledger");
            }
        }
        Ok(freed)
    }

    /// Bytes of the set that have no place on this disk yet.
    pub(crate) fn remaining(&self, set: &FileSet) -> Result<Bytes, HubError> {
        let missing = |file: &RemoteFile| {
            let folder = RepoFolder::new(&self.config().cache, &file.repo);
            if is_whole(&folder.blob(&file.etag), file.bytes) {
                return Bytes::ZERO;
            }
            let part = allocated(&folder.part(&file.etag));
            file.bytes.less(part.max(length(&folder.older_part(&file.etag))))
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

    /// Asks about the files that are pinned by commit and still to come, all of the set before the first byte of
    /// any: a catalog that is wrong about one of them, or a commit that is gone, is told then.
    async fn confirm(&self, set: &FileSet) -> Result<(), HubError> {
        let mut missing = Vec::new();
        for file in &set.files {
            let (at, blob) = (
                file.address(),
                RepoFolder::new(&self.config().cache, &file.repo).blob(&file.etag),
            );
            if fully_pinned(&at, file.pin.as_ref()).is_some() && !is_whole(&blob, file.bytes) {
                missing.push((self.clone(), at, file.pin.clone()));
            }
        }
        stream::iter(missing)
            .map(|(hub, at, pin)| async move { hub.ask(&at, pin.as_ref()).await.map(drop) }.boxed())
            .buffered(ASKED_AT_ONCE)
            .try_collect()
            .await
    }
}

/// Bytes of an archive that have no place on this disk yet. One that is there and has to be checked again has.
pub(crate) fn remaining_of(archive: &Archive, to: &Path) -> Bytes {
    let beside = |ending: &str| {
        let mut name = to.file_name().unwrap_or_default().to_owned();
        name.push(ending);
        to.with_file_name(name)
    };
    let older = if to.is_file() {
        to.to_owned()
    } else {
        beside(OLDER_PARTIAL)
    };
    let here = allocated(&beside(PARTIAL)).max(length(&older).min(archive.bytes));
    archive.bytes.less(here)
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
pub(crate) fn point(folder: &RepoFolder, file: &RemoteFile) -> Result<PathBuf, HubError> {
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

/// Space that a part takes on the disk, which a part with gaps takes less of than its length says.
pub(crate) fn allocated(path: &Path) -> Bytes {
    files::allocated(path).unwrap_or_default()
}
