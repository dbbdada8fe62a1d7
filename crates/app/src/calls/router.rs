use std::sync::Arc;

use plimsoll_wire::{FaultCode, LoadModel, PlanWishes, ReadRouter, Router, StopRouter, UnloadModel};

use crate::app::App;
use crate::fault::{Failed, fault};

pub(super) async fn read_router(app: Arc<App>, _: ReadRouter) -> Result<Router, Failed> {
    Ok(app.router.read())
}

pub(super) async fn load_model(app: Arc<App>, call: LoadModel) -> Result<Router, Failed> {
    let wishes = Some(&call.wishes).filter(|wishes| **wishes != PlanWishes::default());
    if wishes.is_some() {
        // Another plan means another load, which would end an answer in the middle.
        let id = app.models.find_on_disk(&call.model).await?.id;
        if let Some(conversation) = app.turns.running_on(&id).first() {
            return Err(fault(FaultCode::Busy, [("conversation", conversation.as_str().into())]).into());
        }
    }
    app.make_ready(&call.model, wishes).await?;
    Ok(app.router.read())
}

pub(super) async fn unload_model(app: Arc<App>, call: UnloadModel) -> Result<Router, Failed> {
    let id = match app.models.find_on_disk(&call.model).await {
        Ok(on_disk) => on_disk.id,
        // Its file may be gone while it is still loaded.
        Err(_) => call.model,
    };
    app.turns.stop_on(&id).await;
    app.router.desk.unload(&id).await?;
    app.slots.forget(&id);
    Ok(app.router.read())
}

pub(super) async fn stop_router(app: Arc<App>, _: StopRouter) -> Result<Router, Failed> {
    app.router.desk.stop().await?;
    Ok(app.router.read())
}
