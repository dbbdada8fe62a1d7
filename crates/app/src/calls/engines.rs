use std::path::Path;
use std::sync::Arc;

use plimsoll_engine::RouterState;
use plimsoll_wire::{
    AddEngine, Check, CheckEngine, EngineList, Event, FaultCode, InstallEngine, ListEngines, NewestEngines,
    ReadNewestEngines, RemoveEngine, RollBackEngine, Started, UseEngine,
};

use crate::app::App;
use crate::fault::{Failed, fault};
use crate::machine::{Freshness, RamSpeed};
use crate::to_wire;

pub(super) async fn list_engines(app: Arc<App>, _: ListEngines) -> Result<EngineList, Failed> {
    list(&app).await
}

pub(super) async fn add_engine(app: Arc<App>, call: AddEngine) -> Result<EngineList, Failed> {
    app.engines.kept.add(Path::new(&call.path)).await?;
    app.bus.tell(Event::EnginesChanged);
    list(&app).await
}

pub(super) async fn use_engine(app: Arc<App>, call: UseEngine) -> Result<EngineList, Failed> {
    // The router that runs keeps its engine until it ends.
    if running_engine(&app).is_some_and(|running| running != call.id) {
        end_router(&app).await?;
    }
    app.engines.kept.choose(&call.id).await?;
    app.bus.tell(Event::EnginesChanged);
    list(&app).await
}

pub(super) async fn newest_engines(app: Arc<App>, _: ReadNewestEngines) -> Result<NewestEngines, Failed> {
    let machine = app.machine.read(Freshness::Known, RamSpeed::AsKnown).await?;
    app.engines.newest(&machine).await
}

pub(super) async fn roll_back_engine(app: Arc<App>, _: RollBackEngine) -> Result<EngineList, Failed> {
    let to = app.engines.kept.previous()?;
    if running_engine(&app).is_some_and(|running| Some(running) != to) {
        end_router(&app).await?;
    }
    app.engines.kept.roll_back().await?;
    app.bus.tell(Event::EnginesChanged);
    list(&app).await
}

pub(super) async fn remove_engine(app: Arc<App>, call: RemoveEngine) -> Result<EngineList, Failed> {
    if running_engine(&app).is_some_and(|running| running == call.id) {
        end_router(&app).await?;
    }
    app.engines.kept.remove(&call.id).await?;
    app.bus.tell(Event::EnginesChanged);
    list(&app).await
}

pub(super) async fn check_engine(app: Arc<App>, call: CheckEngine) -> Result<Check, Failed> {
    Ok(to_wire::check(&app.engines.kept.check(&call.id).await?))
}

pub(super) async fn install_engine(app: Arc<App>, call: InstallEngine) -> Result<Started, Failed> {
    let machine = app.machine.read(Freshness::Known, RamSpeed::AsKnown).await?;
    let flavour = call.flavour.as_deref();
    let choice = if call.newest == Some(true) {
        app.engines.newest_choice(&machine, flavour)?
    } else {
        app.engines.choice(&machine, flavour)?
    };
    Ok(Started {
        id: app.fetch_engine(choice),
    })
}

async fn list(app: &App) -> Result<EngineList, Failed> {
    let machine = app.machine.read(Freshness::Known, RamSpeed::AsKnown).await?;
    app.engines.list(&machine)
}

fn running_engine(app: &App) -> Option<String> {
    match &*app.router.desk.state().borrow() {
        RouterState::Ready(ready) => Some(ready.engine.clone()),
        RouterState::Off
        | RouterState::Starting
        | RouterState::Waiting { .. }
        | RouterState::Failed { .. } => None,
    }
}

/// Never under somebody's answer.
async fn end_router(app: &App) -> Result<(), Failed> {
    if let Some(conversation) = app.turns.running().first() {
        return Err(fault(FaultCode::Busy, [("conversation", conversation.as_str().into())]).into());
    }
    Ok(app.router.desk.stop().await?)
}
