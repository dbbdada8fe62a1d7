use std::sync::Arc;

use plimsoll_wire::{Machine, MakePlan, Plan, ReadMachine, Recommend, Recommendation};

use crate::app::App;
use crate::fault::Failed;
use crate::machine::{Freshness, RamSpeed};
use crate::to_wire;

pub(super) async fn read_machine(app: Arc<App>, call: ReadMachine) -> Result<Machine, Failed> {
    let freshness = if call.fresh {
        Freshness::Anew
    } else {
        Freshness::Known
    };
    let speed = if call.measure {
        RamSpeed::Measured
    } else {
        RamSpeed::AsKnown
    };
    Ok(to_wire::machine(&*app.machine.read(freshness, speed).await?))
}

pub(super) async fn make_plan(app: Arc<App>, call: MakePlan) -> Result<Plan, Failed> {
    app.planner.make(&app.models, call).await
}

pub(super) async fn recommend(app: Arc<App>, call: Recommend) -> Result<Recommendation, Failed> {
    app.planner.recommend(&app.models, call.machine).await
}
