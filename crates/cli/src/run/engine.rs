use plimsoll_wire::{
    AddEngine, CheckEngine, Fault, FaultCode, Fix, InstallEngine, ListEngines, Params, ReadNewestEngines,
    RemoveEngine, RollBackEngine, StopPull, UseEngine,
};

use super::transfer::{self, Followed};
use super::{Session, or_interrupted};
use crate::args::EngineCommand;
use crate::failure::Failure;
use crate::show;

pub(super) async fn engine(session: &Session, command: EngineCommand) -> Result<(), Failure> {
    match command {
        EngineCommand::List => or_interrupted(session, list(session)).await,
        EngineCommand::Install { flavour, newest } => install(session, flavour, newest).await,
        EngineCommand::Newest => {
            or_interrupted(session, async {
                let newest = session.ask(ReadNewestEngines {}).await?;
                session.out.answer(&newest, show::newest_engines);
                Ok(())
            })
            .await
        }
        EngineCommand::Add { path } => {
            or_interrupted(session, async {
                let path = path.to_string_lossy().into_owned();
                let engines = session.ask(AddEngine { path }).await?;
                session.out.answer(&engines, show::engines);
                Ok(())
            })
            .await
        }
        EngineCommand::Use { id } => {
            or_interrupted(session, async {
                let engines = session.ask(UseEngine { id }).await?;
                session.out.answer(&engines, show::engines);
                Ok(())
            })
            .await
        }
        EngineCommand::Back => {
            or_interrupted(session, async {
                let engines = session.ask(RollBackEngine {}).await?;
                session.out.answer(&engines, show::engines);
                Ok(())
            })
            .await
        }
        EngineCommand::Remove { id } => {
            or_interrupted(session, async {
                let engines = session.ask(RemoveEngine { id }).await?;
                session.out.answer(&engines, show::engines);
                Ok(())
            })
            .await
        }
        EngineCommand::Check { id } => or_interrupted(session, check(session, id)).await,
    }
}

async fn list(session: &Session) -> Result<(), Failure> {
    let engines = session.ask(ListEngines {}).await?;
    session.out.answer(&engines, show::engines);
    Ok(())
}

async fn install(session: &Session, flavour: Option<String>, newest: bool) -> Result<(), Failure> {
    let mut hearing = session.app.hear();
    if newest {
        // Which one that is has to be asked first.
        session.ask(ReadNewestEngines {}).await?;
    }
    let started = session
        .ask(InstallEngine {
            flavour,
            newest: newest.then_some(true),
        })
        .await?;
    let moved = |transfer: &plimsoll_wire::Transfer| session.out.json(transfer);
    match transfer::follow(
        session,
        &mut session.interrupts(),
        &mut hearing,
        &started.id,
        moved,
    )
    .await?
    {
        Followed::Done { .. } => list(session).await,
        Followed::Interrupted => {
            session.ask(StopPull { id: started.id }).await?;
            Err(Failure::Interrupted)
        }
    }
}

/// Without an id: the engine in use.
async fn check(session: &Session, id: Option<String>) -> Result<(), Failure> {
    let id = if let Some(id) = id {
        id
    } else {
        let list = session.ask(ListEngines {}).await?;
        list.engines
            .into_iter()
            .find(|engine| engine.in_use)
            .map(|engine| engine.id)
            .ok_or_else(none)?
    };
    let reply = session.ask(CheckEngine { id }).await?;
    session.out.answer(&reply, show::check);
    if reply.passed { Ok(()) } else { Err(Failure::Told) }
}

fn none() -> Failure {
    let fixes = vec![Fix::ReinstallEngine, Fix::AddEngine];
    Fault {
        code: FaultCode::NoEngine,
        params: Params::new(),
        trace: Vec::new(),
        fixes,
    }
    .into()
}
