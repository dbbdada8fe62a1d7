use std::sync::Arc;

use plimsoll_wire::{LoadModel, PlanWishes, ReadRouter, Router, StopRouter, UnloadModel};

use crate::app::App;
use crate::fault::Failed;

pub(super) async fn read_router(app: Arc<App>, _: ReadRouter) -> Result<Router, Failed> {
    Ok(app.router.read())
}

pub(super) async fn load_model(app: Arc<App>, call: LoadModel) -> Result<Router, Failed> {
    let wishes = Some(&call.wishes).filter(|wishes| **wishes != PlanWishes::default());
    app.make_ready(&call.model, wishes).await?;
    Ok(app.router.read())
}

pub(super) async fn unload_model(app: Arc<App>, call: UnloadModel) -> Result<Router, Failed> {
    let id = match app.models.find_on_disk(&call.model).await {
        Ok(on_disk) => on_disk.id,
        // Its file may be gone while it is still loaded.
        Err(_) => call.model,
    };
    app.router.desk.unload(&id).await?;
    Ok(app.router.read())
}

pub(super) async fn stop_router(app: Arc<App>, _: StopRouter) -> Result<Router, Failed> {
    app.router.desk.stop().await?;
    Ok(app.router.read())
}
