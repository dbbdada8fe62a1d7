use std::io::IsTerminal;
use std::path::Path;

use plimsoll_wire::{
    FaultCode, ImportModel, Library, ListModels, PullLine, PullModel, ReadMachine, ReadModel, RefreshCatalog,
    RemoveModel, StopPull, VerifyModel,
};

use super::transfer::{self, Followed};
use super::{Session, turn};
use crate::args::{ModelsArgs, PullArgs, RemoveArgs};
use crate::failure::Failure;
use crate::interrupts::Interrupts;
use crate::lang::{clean, params};
use crate::out::Form;
use crate::show;

pub(super) async fn models(session: &Session, args: &ModelsArgs) -> Result<(), Failure> {
    if args.refresh {
        let reply = session.ask(RefreshCatalog {}).await?;
        session.out.answer(&reply, show::refreshed);
        return Ok(());
    }
    let library = session.ask(ListModels {}).await?;
    session.out.answer(&library, show::models);
    Ok(())
}

pub(super) async fn import(session: &Session, path: &Path) -> Result<(), Failure> {
    let waiting = session.out.spinner();
    waiting.set_message(session.out.lang.text("import.running").to_owned());
    let path = path.to_string_lossy().into_owned();
    let model = session.ask(ImportModel { path }).await;
    waiting.finish_and_clear();
    session.out.answer(&model?, show::imported);
    Ok(())
}

pub(super) async fn verify(session: &Session, id: String) -> Result<(), Failure> {
    let waiting = session.out.spinner();
    waiting.set_message(session.out.lang.text("verify.running").to_owned());
    let reply = session.ask(VerifyModel { id }).await;
    waiting.finish_and_clear();
    let reply = reply?;
    session.out.answer(&reply, show::verified);
    if reply.damaged.is_empty() {
        Ok(())
    } else {
        Err(Failure::Told)
    }
}

pub(super) async fn remove(session: &Session, args: RemoveArgs) -> Result<(), Failure> {
    let question = session
        .out
        .say("models.askRemove", &params! { id = clean(&args.id) });
    // A program that pipes into us has decided already.
    if !args.yes
        && session.out.form == Form::Person
        && std::io::stdin().is_terminal()
        && !agrees(session, &mut session.interrupts(), &question).await
    {
        return Ok(());
    }
    let reply = session.ask(RemoveModel { id: args.id }).await?;
    session.out.answer(&reply, show::removed);
    Ok(())
}

pub(super) async fn pull(session: &Session, args: PullArgs) -> Result<(), Failure> {
    let mut interrupts = session.interrupts();
    let mut hearing = session.app.hear();
    let call = PullModel {
        model: args.model.clone(),
        licence_accepted: args.accept_licence,
    };
    let started = match session.app.ask(call).await {
        Err(fault) if fault.code == FaultCode::LicenceNotAccepted && may_ask(session) => {
            let library = session.ask(ListModels {}).await?;
            if !agrees(session, &mut interrupts, &licence(session, &library, &args.model)).await {
                return Err(fault.into());
            }
            session
                .ask(PullModel {
                    model: args.model.clone(),
                    licence_accepted: true,
                })
                .await?
        }
        started => started?,
    };
    let moved = |transfer: &plimsoll_wire::Transfer| {
        session.out.json(&PullLine::Moved {
            done_bytes: transfer.done_bytes,
            total_bytes: transfer.total_bytes,
            bytes_per_s: transfer.bytes_per_s,
        });
    };
    let following = transfer::follow(session, &mut interrupts, &mut hearing, &started.id, moved);
    // What the model is to be planned for is found out meanwhile.
    let machine = session.app.ask(ReadMachine {
        fresh: false,
        measure: false,
    });
    let (followed, _) = tokio::join!(following, machine);
    match followed? {
        Followed::Done { subject } => {
            let model = session.ask(ReadModel { model: subject }).await?;
            match session.out.form {
                Form::Person => session.out.line(&show::imported(&session.out, &model)),
                Form::Json => session.out.json(&PullLine::Done {
                    model: Box::new(model),
                }),
            }
            Ok(())
        }
        Followed::Interrupted => {
            // What is on disk stays, and the next pull goes on from there.
            session.ask(StopPull { id: started.id }).await?;
            Err(Failure::Interrupted)
        }
    }
}

fn may_ask(session: &Session) -> bool {
    session.out.form == Form::Person && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

fn licence(session: &Session, library: &Library, model: &str) -> String {
    let id = model.split(':').next().unwrap_or(model);
    let entry = library.catalog.iter().find(|entry| entry.id == id);
    match entry {
        Some(entry) => session.out.say(
            "pull.askLicence",
            &params! {
                name = clean(&entry.name), publisher = clean(&entry.publisher),
                licence = clean(&entry.licence.name), url = clean(&entry.licence.url),
            },
        ),
        None => session.out.lang.text("pull.askSomeLicence").to_owned(),
    }
}

pub(super) async fn agrees(session: &Session, interrupts: &mut Interrupts, question: &str) -> bool {
    session
        .out
        .note(&format!("{question} {}", session.out.lang.text("word.yesNo")));
    let yes = session.out.lang.text("word.yes");
    tokio::select! {
        line = turn::line() => line.is_some_and(|line| {
            let said = line.trim().to_lowercase();
            said == "y" || said == "yes" || said == yes || yes.starts_with(&said) && !said.is_empty()
        }),
        () = interrupts.next() => false,
    }
}
