use std::sync::Arc;

use plimsoll_wire::{
    Event, Machine, MachineDetails, MakePlan, OverrideMachine, Plan, ReadMachine, ReadMachineDetails,
    Recommend, Recommendation,
};

use crate::app::App;
use crate::fault::Failed;
use crate::machine::{Freshness, RamSpeed};
use crate::to_wire;

pub(super) async fn read_machine(app: Arc<App>, call: ReadMachine) -> Result<Machine, Failed> {
    let (freshness, speed) = (freshness(call.fresh), speed(call.measure));
    Ok(to_wire::machine(&*app.machine.read(freshness, speed).await?))
}

pub(super) async fn read_machine_details(
    app: Arc<App>,
    call: ReadMachineDetails,
) -> Result<MachineDetails, Failed> {
    let details = app
        .machine
        .details(freshness(call.fresh), speed(call.measure))
        .await?;
    Ok(to_wire::machine_details(&details))
}

pub(super) async fn override_machine(app: Arc<App>, call: OverrideMachine) -> Result<MachineDetails, Failed> {
    app.machine
        .set_overrides(&to_wire::overrides_from(call.overrides))
        .await?;
    app.bus.tell(Event::MachineChanged);
    let details = app.machine.details(Freshness::Known, RamSpeed::AsKnown).await?;
    Ok(to_wire::machine_details(&details))
}

const fn freshness(fresh: bool) -> Freshness {
    if fresh { Freshness::Anew } else { Freshness::Known }
}

const fn speed(measure: bool) -> RamSpeed {
    if measure {
        RamSpeed::Measured
    } else {
        RamSpeed::AsKnown
    }
}

pub(super) async fn make_plan(app: Arc<App>, call: MakePlan) -> Result<Plan, Failed> {
    app.planner.make(&app.models, call).await
}

pub(super) async fn recommend(app: Arc<App>, call: Recommend) -> Result<Recommendation, Failed> {
    app.planner.recommend(&app.models, call.machine).await
}
