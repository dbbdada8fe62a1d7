//! Models that other programs keep: looked for again and again, never waited for long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_hub::{Elsewhere, Keeper, Library, Source};
use plimsoll_os::jobs::Scope;
use plimsoll_wire::{Event, FaultCode, Folders, OtherFolder};
use tokio::sync::watch;

use super::Models;
use crate::bus::Bus;
use crate::fault::{Failed, fault};
use crate::memo::Memo;
use crate::to_wire;

/// What was seen counts for so long; each question about a model would walk all folders otherwise.
const FRESH: Duration = Duration::from_secs(5);
/// A disk that sleeps or a share that hangs keeps nobody waiting longer; what it holds is told when it comes.
const WAIT_MAX: Duration = Duration::from_secs(3);

#[derive(Debug, Default)]
struct Seen {
    at: Option<Instant>,
    elsewhere: Arc<Elsewhere>,
    looking: bool,
}

pub(super) struct Others {
    fixed: Vec<Source>,
    memo: Memo,
    bus: Bus,
    jobs: Scope,
    seen: watch::Sender<Seen>,
}

impl Others {
    pub(super) fn new(fixed: Vec<Source>, memo: Memo, bus: Bus, jobs: Scope) -> Self {
        Self {
            fixed,
            memo,
            bus,
            jobs,
            seen: watch::Sender::new(Seen::default()),
        }
    }

    /// What lies elsewhere, as it was a moment ago.
    pub(super) async fn look(&self, library: &Library) -> Result<Arc<Elsewhere>, Failed> {
        let is_fresh = |seen: &Seen| seen.at.is_some_and(|at| at.elapsed() < FRESH);
        if !is_fresh(&self.seen.borrow()) {
            let sources = self.sources().await?;
            let mut mine = false;
            self.seen.send_if_modified(|seen| {
                mine = !seen.looking;
                seen.looking = true;
                false
            });
            if mine {
                self.start(library.clone(), sources);
            }
            let mut seen = self.seen.subscribe();
            let done = seen.wait_for(|seen| !seen.looking);
            if tokio::time::timeout(WAIT_MAX, done).await.is_err() {
                tracing::warn!("looking for models of other programs takes long");
            }
        }
        Ok(Arc::clone(&self.seen.borrow().elsewhere))
    }

    fn start(&self, library: Library, sources: Vec<Source>) {
        let (seen, bus) = (self.seen.clone(), self.bus.clone());
        self.jobs.keep(|_| async move {
            let begun = Instant::now();
            let found = library.elsewhere(sources).await;
            let late = begun.elapsed() >= WAIT_MAX;
            seen.send_modify(|seen| {
                seen.looking = false;
                seen.at = Some(Instant::now());
                match found {
                    Ok(found) => seen.elsewhere = Arc::new(found),
                    Err(error) => tracing::warn!(%error, "models of other programs were not looked for"),
                }
            });
            if late {
                bus.tell(Event::LibraryChanged);
            }
        });
    }

    /// The next question looks again.
    pub(super) fn forget(&self) {
        self.seen.send_modify(|seen| seen.at = None);
    }

    async fn sources(&self) -> Result<Vec<Source>, Failed> {
        let named = self.memo.model_folders().await?;
        let named = named.into_iter().map(|folder| Source {
            keeper: Keeper::Folder,
            folder: folder.into(),
        });
        Ok(self.fixed.iter().cloned().chain(named).collect())
    }
}

impl Models {
    /// Where models lie, after a look.
    pub(crate) async fn folders(&self) -> Result<Folders, Failed> {
        self.settle().await?;
        let library = self.library();
        let used = library
            .scan()
            .await?
            .models
            .iter()
            .map(|found| found.bytes.0)
            .sum();
        let named = self.memo.model_folders().await?;
        let elsewhere = self.others.look(&library).await?;
        let others = elsewhere.looked.iter().map(|looked| {
            let path = looked.source.folder.display().to_string();
            OtherFolder {
                keeper: to_wire::keeper(looked.source.keeper),
                models: u32::try_from(looked.models).unwrap_or(u32::MAX),
                bytes: looked.bytes.0,
                named: named.contains(&path),
                problems: looked.odd.iter().map(to_wire::odd).collect(),
                path,
            }
        });
        // A program that is not here needs no line.
        let others = others.filter(|other| other.named || other.models > 0 || !other.problems.is_empty());
        Ok(Folders {
            library: self.folder().display().to_string(),
            used_bytes: used,
            free_bytes: library.free_space()?.0,
            missing: self.is_gone(),
            moving_to: self.memo.library_move().await?.map(|plan| plan.to),
            others: others.collect(),
        })
    }

    /// Lists the models of a folder from now on.
    pub(crate) async fn add_folder(&self, path: &str) -> Result<Folders, Failed> {
        let path = path.trim();
        let unusable = || fault(FaultCode::FolderUnusable, [("path", path.into())]);
        let real = std::fs::canonicalize(path).map_err(|_| unusable())?;
        let library = std::fs::canonicalize(self.folder()).unwrap_or_else(|_| self.folder());
        // What is in the library is listed already.
        if std::fs::read_dir(&real).is_err() || real.starts_with(&library) {
            return Err(unusable().into());
        }
        let absolute = std::path::absolute(path).map_err(|_| unusable())?;
        let text = absolute.to_str().ok_or_else(unusable)?.to_owned();
        self.memo
            .change_model_folders(|all| {
                if !all.contains(&text) {
                    all.push(text);
                }
            })
            .await?;
        self.others.forget();
        self.folders().await
    }

    /// The folder itself stays as it is.
    pub(crate) async fn remove_folder(&self, path: &str) -> Result<Folders, Failed> {
        let absolute = std::path::absolute(path.trim()).map(|path| path.display().to_string());
        let is_it = |known: &String| known == path || absolute.as_ref().is_ok_and(|path| known == path);
        if !self.memo.model_folders().await?.iter().any(is_it) {
            return Err(fault(FaultCode::NotFound, [("path", path.into())]).into());
        }
        self.memo
            .change_model_folders(|all| all.retain(|known| !is_it(known)))
            .await?;
        self.others.forget();
        self.folders().await
    }
}
