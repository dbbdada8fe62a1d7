use std::path::Path;
use std::sync::Arc;

use plimsoll_hub::{Checked, Imported, Unwatched};
use plimsoll_os::clock;
use plimsoll_units::Bytes;
use plimsoll_wire::{
    CancelPull, CatalogReply, Done, Event, FaultCode, ImportModel, Library, LibraryModel, ListModels,
    PullModel, ReadModel, RefreshCatalog, RemoveModel, Removed, Started, StopPull, VerifyModel, VerifyReply,
};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::fault::{Failed, fault};
use crate::machine::{Freshness, RamSpeed};
use crate::models::OnDisk;
use crate::moving::MOVE;
use crate::plans::RECENT;

pub(super) async fn list_models(app: Arc<App>, _: ListModels) -> Result<Library, Failed> {
    app.planner.library(&app.models).await
}

pub(super) async fn read_model(app: Arc<App>, call: ReadModel) -> Result<LibraryModel, Failed> {
    let model = app.models.find_on_disk(&call.model).await?;
    app.planner
        .library_model(&app.models, &model, Freshness::Known, RamSpeed::AsKnown)
        .await
}

pub(super) async fn refresh_catalog(app: Arc<App>, _: RefreshCatalog) -> Result<CatalogReply, Failed> {
    app.refresh_catalog().await
}

pub(super) async fn pull_model(app: Arc<App>, call: PullModel) -> Result<Started, Failed> {
    let order = app.models.order(&call.model).await?;
    app.models.check_licence(&order, call.licence_accepted).await?;
    app.models.check_there().await?;
    Ok(Started {
        id: app.fetch_model(order),
    })
}

pub(super) async fn stop_pull(app: Arc<App>, call: StopPull) -> Result<Done, Failed> {
    if app.transfers.find(&call.id).is_none() {
        return Err(fault(FaultCode::NotFound, [("transfer", call.id.into())]).into());
    }
    app.transfers.stop(&call.id);
    Ok(Done {})
}

pub(super) async fn cancel_pull(app: Arc<App>, call: CancelPull) -> Result<Removed, Failed> {
    if app.transfers.find(&call.id).is_none() {
        return Err(fault(FaultCode::NotFound, [("transfer", call.id.into())]).into());
    }
    app.transfers.stop(&call.id);
    app.transfers.ended(&call.id).await;
    if call.id == MOVE {
        return app.give_up_move().await;
    }
    // An engine's archive is small and is checked by the next download of it.
    let freed = match app.models.order(&call.id).await {
        Ok(order) => app.models.discard(&order).await?,
        Err(_) => Bytes::ZERO,
    };
    app.transfers.forget(&call.id).await;
    app.bus.tell(Event::LibraryChanged);
    Ok(Removed { freed_bytes: freed.0 })
}

pub(super) async fn import_model(app: Arc<App>, call: ImportModel) -> Result<LibraryModel, Failed> {
    app.models.check_there().await?;
    let known = app.models.home_of();
    let stop = CancellationToken::new();
    let imported = app
        .models
        .library()
        .import(Path::new(&call.path), known, Arc::new(Unwatched), &stop)
        .await?;
    let found = match imported {
        Imported::Done(found) => found,
        // Only the app's end stops it, and then nobody waits for this.
        Imported::Stopped => return Err(fault(FaultCode::Busy, []).into()),
    };
    let model = app.models.named(*found).await?;
    app.memo.set_damaged(&model.id, false).await?;
    app.bus.tell(Event::LibraryChanged);
    app.planner
        .library_model(
            &app.models,
            &OnDisk {
                damaged: false,
                ..model
            },
            RECENT,
            RamSpeed::Measured,
        )
        .await
}

pub(super) async fn verify_model(app: Arc<App>, call: VerifyModel) -> Result<VerifyReply, Failed> {
    let model = app.models.find_on_disk(&call.id).await?;
    let stop = CancellationToken::new();
    let (damaged, unpinned) = match app
        .models
        .library()
        .verify(&model.found, Arc::new(Unwatched), &stop)
        .await?
    {
        Checked::Done { damaged, unpinned } => (damaged, unpinned),
        Checked::Stopped => return Err(fault(FaultCode::Busy, []).into()),
    };
    app.memo.set_damaged(&model.id, !damaged.is_empty()).await?;
    app.bus.tell(Event::LibraryChanged);
    tracing::info!(
        model = model.id,
        ?damaged,
        at = clock::now_s(),
        "a model was verified"
    );
    Ok(VerifyReply {
        id: model.id,
        damaged,
        unpinned,
    })
}

pub(super) async fn remove_model(app: Arc<App>, call: RemoveModel) -> Result<Removed, Failed> {
    let model = app.models.find_on_disk(&call.id).await?;
    // Before anything is stopped for it.
    model.check_ours()?;
    app.transfers.stop(&model.id);
    app.transfers.ended(&model.id).await;
    app.turns.stop_on(&model.id).await;
    // A file that is mapped into a running child is not gone when it is deleted.
    app.router.desk.unload(&model.id).await?;
    let freed = app.models.library().remove(&model.found).await?;
    app.memo.set_damaged(&model.id, false).await?;
    app.transfers.forget(&model.id).await;
    app.bus.tell(Event::LibraryChanged);
    Ok(Removed { freed_bytes: freed.0 })
}
