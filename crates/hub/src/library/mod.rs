//! What is on disk.

mod check;
mod elsewhere;
mod found;
mod group;
mod import;
mod relocate;
mod remove;
mod same;
mod scan;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_os::files;
use plimsoll_os::jobs::Root;
use plimsoll_units::Bytes;
use tokio_util::sync::CancellationToken;

pub use check::Checked;
pub use elsewhere::{Elsewhere, Looked, OtherPlaces};
pub use found::{Found, FoundFile, FoundState, Keeper, Odd, OddReason, Place, Source};
pub(crate) use group::{is_companion, is_projector, parts_of, split};
pub use import::{Home, Imported};
pub use relocate::Relocated;
pub(crate) use relocate::parts_below;
pub(crate) use remove::{names_of, remove_parts};
pub use same::{Comparison, CopyOf, FileStamp, Same, compare};
pub use scan::Scan;

use crate::fetch::allocated;
use crate::layout::RepoFolder;
use crate::{Etag, HubError, RepoId, Watcher};

/// The models in a Hugging Face cache, whoever put them there. Clones are the same library.
#[derive(Debug, Clone)]
pub struct Library {
    cache: PathBuf,
    /// Space that is left alone when a copy is made.
    spare: Bytes,
    /// Reading and hashing; ends with the last clone.
    jobs: Arc<Root>,
}

impl Library {
    #[must_use]
    pub fn new(cache: PathBuf) -> Self {
        Self {
            cache,
            spare: Bytes::mib(64),
            jobs: Arc::new(Root::new()),
        }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.cache
    }

    pub fn free_space(&self) -> Result<Bytes, HubError> {
        Ok(files::free_space(&self.cache)?)
    }

    /// Every model, in the order of their ids. What cannot be read is told in the same answer and stops nothing.
    pub async fn scan(&self) -> Result<Scan, HubError> {
        let cache = self.cache.clone();
        Ok(self
            .jobs
            .scope()
            .start_blocking(move |stop| scan::scan(&cache, &stop))
            .await?)
    }

    /// The models in other programs' places, read only. What cannot be read is told in the same answer.
    pub async fn elsewhere(&self, sources: Vec<Source>) -> Result<Elsewhere, HubError> {
        let cache = self.cache.clone();
        Ok(self
            .jobs
            .scope()
            .start_blocking(move |stop| elsewhere::look(&sources, &cache, &|| stop.is_cancelled()))
            .await?)
    }

    /// The sha256 of a file, wherever it lies; `None` when stopped on the way.
    pub async fn sha256(
        &self,
        path: &Path,
        moved: impl Fn(Bytes) + Send + 'static,
        stop: &CancellationToken,
    ) -> Result<Option<String>, HubError> {
        let (path, stop) = (path.to_owned(), stop.clone());
        let work = move |own_stop: CancellationToken| {
            let stops = || stop.is_cancelled() || own_stop.is_cancelled();
            check::sha256_of(&path, &stops, &mut |here| moved(here))
        };
        self.jobs.scope().start_blocking(work).await?
    }

    /// The model with this id, as [`Self::scan`] names it.
    pub async fn find(&self, id: &str) -> Result<Found, HubError> {
        let found = self.scan().await?.models.into_iter().find(|found| found.id == id);
        found.ok_or_else(|| HubError::NotInLibrary { id: id.to_owned() })
    }

    /// Space that an unfinished download of this content takes; `None` when there is none.
    #[must_use]
    pub fn begun(&self, repo: &RepoId, sha256: &str) -> Option<Bytes> {
        let etag = Etag::parse(sha256)?;
        let folder = RepoFolder::new(&self.cache, repo);
        [folder.part(&etag), folder.older_part(&etag)]
            .iter()
            .find(|part| part.is_file())
            .map(|part| allocated(part))
    }

    /// Takes a local model in: a second name where the volume allows it, else a copy. Any part of a split model
    /// stands for all of them. `known` says where a content belongs; the rest lies under `local/NAME`.
    pub async fn import(
        &self,
        path: &Path,
        known: impl Fn(&str) -> Option<Home> + Send + 'static,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Imported, HubError> {
        let (cache, spare, path, stop) = (self.cache.clone(), self.spare, path.to_owned(), stop.clone());
        let work = move |own_stop: CancellationToken| {
            let stops = || stop.is_cancelled() || own_stop.is_cancelled();
            import::import(&cache, spare, &path, &known, watcher.as_ref(), &stops)
        };
        self.jobs.scope().start_blocking(work).await?
    }

    /// Hashes every file of a model again.
    pub async fn verify(
        &self,
        found: &Found,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Checked, HubError> {
        let (found, stop) = (found.clone(), stop.clone());
        let work = move |own_stop: CancellationToken| {
            let stops = || stop.is_cancelled() || own_stop.is_cancelled();
            check::check(&found, watcher.as_ref(), &stops)
        };
        Ok(self.jobs.scope().start_blocking(work).await?)
    }

    /// Copies everything to another folder, on this disk or another, where each file is read again. Nothing here
    /// changes. Stopped or killed, it goes on where it was with the next call.
    pub async fn copy_to(
        &self,
        to: &Path,
        watcher: Arc<dyn Watcher>,
        stop: &CancellationToken,
    ) -> Result<Relocated, HubError> {
        let (from, to, spare, stop) = (self.cache.clone(), to.to_owned(), self.spare, stop.clone());
        let work = move |own_stop: CancellationToken| {
            let stops = || stop.is_cancelled() || own_stop.is_cancelled();
            relocate::copy(&from, &to, spare, watcher.as_ref(), &stops)
        };
        self.jobs.scope().start_blocking(work).await?
    }

    /// Removes what was copied to the other folder. Says how much space that gave back, and how many files that
    /// came meanwhile stayed.
    pub async fn clear_after(&self, to: &Path) -> Result<(Bytes, u64), HubError> {
        let (from, to) = (self.cache.clone(), to.to_owned());
        self.jobs
            .scope()
            .start_blocking(move |_| relocate::clear(&from, &to))
            .await?
    }

    /// Removes what a copy that is given up left at the other folder; whole files only when no model was there
    /// before.
    pub async fn give_up_copy(&self, to: &Path, was_empty: bool) -> Result<Bytes, HubError> {
        let (from, to) = (self.cache.clone(), to.to_owned());
        self.jobs
            .scope()
            .start_blocking(move |_| relocate::give_up(&from, &to, was_empty))
            .await?
    }

    /// Whether nothing of anybody's models lies in a folder.
    #[must_use]
    pub fn is_unused(folder: &Path) -> bool {
        relocate::is_empty(folder)
    }

    /// Whether a folder was made a library's by a move. Without the mark a disk that is not there would look like
    /// an empty library.
    #[must_use]
    pub fn is_marked(folder: &Path) -> bool {
        folder.join(relocate::MARK).is_file()
    }

    /// What removing these models, each alone, would give back: nothing for bytes that another model or a name
    /// outside the library still uses, and nothing for what others keep.
    pub async fn frees(&self, models: Vec<Found>) -> Result<Vec<Bytes>, HubError> {
        let cache = self.cache.clone();
        Ok(self
            .jobs
            .scope()
            .start_blocking(move |_| models.iter().map(|found| remove::frees(&cache, found)).collect())
            .await?)
    }

    /// Removes a model with all its revisions and says how much space that gave back. Bytes that another model
    /// or a name outside the library still uses stay.
    pub async fn remove(&self, found: &Found) -> Result<Bytes, HubError> {
        let (cache, found) = (self.cache.clone(), found.clone());
        self.jobs
            .scope()
            .start_blocking(move |_| remove::remove(&cache, &found))
            .await?
    }
}
