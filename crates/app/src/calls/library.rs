//! What lies elsewhere, what lies here twice, and what the hub has.

use std::sync::Arc;

use plimsoll_wire::{
    AddFolder, Duplicates, Event, FindDuplicates, FitVariant, Folders, HubFit, HubSearch, HubVariants,
    ListVariants, MoveLibrary, ReadFolders, RemoveFolder, SearchHub, Started, StopComparing,
};

use crate::app::App;
use crate::fault::Failed;

pub(super) async fn find_duplicates(app: Arc<App>, call: FindDuplicates) -> Result<Duplicates, Failed> {
    app.models.duplicates(call.compare).await
}

pub(super) async fn stop_comparing(app: Arc<App>, _: StopComparing) -> Result<Duplicates, Failed> {
    app.models.stop_comparing();
    app.models.duplicates(false).await
}

pub(super) async fn read_folders(app: Arc<App>, _: ReadFolders) -> Result<Folders, Failed> {
    app.models.folders().await
}

pub(super) async fn add_folder(app: Arc<App>, call: AddFolder) -> Result<Folders, Failed> {
    let folders = app.models.add_folder(&call.path).await?;
    app.bus.tell(Event::LibraryChanged);
    Ok(folders)
}

pub(super) async fn remove_folder(app: Arc<App>, call: RemoveFolder) -> Result<Folders, Failed> {
    let folders = app.models.remove_folder(&call.path).await?;
    app.bus.tell(Event::LibraryChanged);
    Ok(folders)
}

pub(super) async fn move_library(app: Arc<App>, call: MoveLibrary) -> Result<Started, Failed> {
    app.move_library(&call.path).await
}

pub(super) async fn search_hub(app: Arc<App>, call: SearchHub) -> Result<HubSearch, Failed> {
    app.models.search(&call.words).await
}

pub(super) async fn list_variants(app: Arc<App>, call: ListVariants) -> Result<HubVariants, Failed> {
    app.models.hub_variants(&call.repo).await
}

pub(super) async fn fit_variant(app: Arc<App>, call: FitVariant) -> Result<HubFit, Failed> {
    app.planner.at_hub(&app.models, &call.repo, &call.path).await
}
