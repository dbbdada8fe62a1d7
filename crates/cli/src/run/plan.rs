use plimsoll_wire::{Anchor, Machine, MakePlan, Recommend};

use super::{Session, read};
use crate::args::{PlanArgs, RecommendArgs};
use crate::failure::Failure;
use crate::show;

pub(super) async fn plan(session: &Session, args: &PlanArgs) -> Result<(), Failure> {
    let machine: Option<Machine> = args.machine.as_deref().map(read).transpose()?;
    let anchors: Option<Vec<Anchor>> = args.anchors.as_deref().map(read).transpose()?;
    let call = MakePlan {
        model: args.model.clone(),
        wishes: args.wishes(),
        machine,
        anchors,
    };
    let plan = session.ask(call).await?;
    session.out.answer(&plan, show::plan);
    Ok(())
}

pub(super) async fn recommend(session: &Session, args: &RecommendArgs) -> Result<(), Failure> {
    let machine = args.machine.as_deref().map(read).transpose()?;
    let found = session.ask(Recommend { machine }).await?;
    session.out.answer(&found, show::recommendation);
    Ok(())
}
