//! What is on disk.

mod check;
mod import;
mod remove;
mod scan;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_os::files;
use plimsoll_os::jobs::Root;
use plimsoll_units::Bytes;
use tokio_util::sync::CancellationToken;

pub use check::Checked;
pub use import::{Home, Imported};
pub(crate) use remove::{names_of, remove_parts};
pub use scan::{Found, FoundFile, FoundState, Odd, OddReason, Scan};

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
