//! The library's move to another folder: copied and checked first, then used, then cleared at the old place. An end
//! at any moment leaves one whole library in use, and the next start goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_hub::{Library, Relocated};
use plimsoll_os::files;
use plimsoll_units::Bytes;
use plimsoll_wire::{Event, FaultCode, Removed, Started, Transferring};
use serde::{Deserialize, Serialize};

use crate::App;
use crate::fault::{Failed, fault};
use crate::transfers::Brought;

/// The move is a transfer of this name: no model or engine is called so.
pub(crate) const MOVE: &str = "moveLibrary";

/// What was begun, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MovePlan {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Nobody's models lay at the new place, so all that lies there now is ours to take away again.
    was_empty: bool,
    /// The new place is in use, and the old one is being cleared.
    switched: bool,
}

impl MovePlan {
    /// The new place is in use: whatever arrives, arrives there.
    pub(crate) const fn is_switched(&self) -> bool {
        self.switched
    }
}

impl App {
    /// Starts the move, or goes on with the one to the same place.
    pub(crate) async fn move_library(self: &Arc<Self>, path: &str) -> Result<Started, Failed> {
        let started = Started { id: MOVE.to_owned() };
        let unusable = || fault(FaultCode::FolderUnusable, [("path", path.into())]);
        let typed = Path::new(path.trim());
        let to = std::path::absolute(typed).map_err(|_| unusable())?;
        let to = to
            .to_str()
            .filter(|_| !path.trim().is_empty())
            .ok_or_else(unusable)?
            .to_owned();
        self.models.settle().await?;
        let busy = |what: &str| fault(FaultCode::Busy, [("what", what.into())]);
        if let Some(begun) = self.memo.library_move().await? {
            if begun.to != to {
                return Err(busy("moveLibrary").into());
            }
            self.start_move(begun);
            return Ok(started);
        }
        // What is fetched just now would arrive at the old place.
        let fetching = self.transfers.list().into_iter().find(|transfer| {
            matches!(transfer.state, Transferring::Running | Transferring::Checking) && transfer.id != MOVE
        });
        if let Some(fetching) = fetching {
            return Err(busy(&fetching.id).into());
        }
        files::create_dir(Path::new(&to))?;
        let plan = MovePlan {
            from: self.models.folder().display().to_string(),
            was_empty: Library::is_unused(Path::new(&to)),
            switched: false,
            to,
        };
        if plan.from == plan.to {
            return Err(unusable().into());
        }
        self.memo.keep_library_move(Some(&plan)).await?;
        self.start_move(plan);
        Ok(started)
    }

    /// After the program was cut off in the middle.
    pub(crate) async fn resume_move(self: &Arc<Self>) {
        match self.memo.library_move().await {
            Ok(Some(plan)) => self.start_move(plan),
            Ok(None) => self.transfers.forget(MOVE).await,
            Err(error) => tracing::warn!(%error, "the move of the library waits for a click"),
        }
    }

    fn start_move(self: &Arc<Self>, mut plan: MovePlan) {
        let app = Arc::clone(self);
        self.transfers.start(MOVE, move |watcher, stop| async move {
            let (from, to) = (PathBuf::from(&plan.from), PathBuf::from(&plan.to));
            let old = Library::new(from.clone());
            if !plan.switched {
                match old.copy_to(&to, watcher, &stop).await.map_err(Failed::from)? {
                    Relocated::Stopped => return Ok(Brought::Stopped),
                    Relocated::Done { .. } => {}
                }
                app.switch(&from, &mut plan).await?;
            }
            let (freed, stayed) = old.clear_after(&to).await.map_err(Failed::from)?;
            tracing::info!(%freed, stayed, to = plan.to, "the library was moved");
            app.memo.keep_library_move(None).await.map_err(Failed::from)?;
            app.bus.tell(Event::LibraryChanged);
            Ok(Brought::All)
        });
        self.bus.tell(Event::LibraryChanged);
    }

    /// From here on the new place is the library.
    async fn switch(&self, from: &Path, plan: &mut MovePlan) -> Result<(), Failed> {
        let usual = self.models.usual() == Path::new(&plan.to);
        self.memo
            .keep_library_folder(Some(plan.to.as_str()).filter(|_| !usual))
            .await?;
        plan.switched = true;
        self.memo.keep_library_move(Some(plan)).await?;
        self.models.settle().await?;
        self.models.hub().take_over_parts(from).await;
        self.bus.tell(Event::LibraryChanged);
        self.bus.tell(Event::SettingsChanged);
        Ok(())
    }

    /// Takes back what a move that stands still has copied.
    pub(crate) async fn give_up_move(&self) -> Result<Removed, Failed> {
        let mut freed = Bytes::ZERO;
        if let Some(plan) = self.memo.library_move().await?.filter(|plan| !plan.switched) {
            let old = Library::new(PathBuf::from(&plan.from));
            freed = old.give_up_copy(Path::new(&plan.to), plan.was_empty).await?;
            self.memo.keep_library_move(None).await?;
        }
        self.transfers.forget(MOVE).await;
        self.bus.tell(Event::LibraryChanged);
        Ok(Removed { freed_bytes: freed.0 })
    }
}
