use plimsoll_wire::{
    AddFolder, Duplicates, FindDuplicates, Folders, MoveLibrary, PullLine, ReadFolders, RemoveFolder,
    StopComparing, StopPull,
};

use super::Session;
use super::news::News;
use super::transfer::{self, Followed};
use crate::args::{DuplicatesArgs, FolderCommand};
use crate::failure::Failure;
use crate::show;

pub(super) async fn folder(session: &Session, args: FolderCommand) -> Result<(), Failure> {
    let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    let folders = match args {
        FolderCommand::List => session.ask(ReadFolders {}).await?,
        FolderCommand::Add { path } => session.ask(AddFolder { path: text(path) }).await?,
        FolderCommand::Remove { path } => session.ask(RemoveFolder { path: text(path) }).await?,
        FolderCommand::Move { path } => move_to(session, text(path)).await?,
    };
    session.out.answer(&folders, show::folders);
    Ok(())
}

/// Stays until it is done. An interrupt lets it stand still; the same command goes on.
async fn move_to(session: &Session, path: String) -> Result<Folders, Failure> {
    let mut interrupts = session.interrupts();
    let mut hearing = session.app.hear();
    // A person means the folder from where they stand.
    let path = std::path::absolute(&path).map_or(path, |path| path.to_string_lossy().into_owned());
    let started = session.ask(MoveLibrary { path }).await?;
    let moved = |transfer: &plimsoll_wire::Transfer| {
        session.out.json(&PullLine::Moved {
            done_bytes: transfer.done_bytes,
            total_bytes: transfer.total_bytes,
            bytes_per_s: transfer.bytes_per_s,
        });
    };
    match transfer::follow(session, &mut interrupts, &mut hearing, &started.id, moved).await? {
        Followed::Done { .. } => session.ask(ReadFolders {}).await,
        Followed::Interrupted => {
            session.ask(StopPull { id: started.id }).await?;
            Err(Failure::Interrupted)
        }
    }
}

/// What is known at once; with `--compare`, what is known when every file of equal size was hashed.
pub(super) async fn duplicates(session: &Session, args: &DuplicatesArgs) -> Result<(), Failure> {
    let mut interrupts = session.interrupts();
    let mut hearing = session.app.hear();
    let mut found = session
        .ask(FindDuplicates {
            compare: args.compare,
        })
        .await?;
    if args.compare && (found.open_files > 0 || found.comparing.is_some()) {
        let bar = session.out.bar(found.open_bytes);
        bar.set_message(session.out.lang.text("duplicates.running").to_owned());
        loop {
            let event = tokio::select! {
                event = hearing.next() => event,
                () = interrupts.next() => {
                    session.ask(StopComparing {}).await?;
                    bar.finish_and_clear();
                    return Err(Failure::Interrupted);
                }
            };
            match event.map(News::from) {
                Some(News::Compared(comparing)) => bar.set_position(comparing.done_bytes),
                Some(News::Missed | News::Other | News::Transfer(_) | News::Router) => {
                    found = known(session).await?;
                    if found.comparing.is_none() {
                        break;
                    }
                }
                None => break,
            }
        }
        bar.finish_and_clear();
    }
    session.out.answer(&found, show::duplicates);
    Ok(())
}

async fn known(session: &Session) -> Result<Duplicates, Failure> {
    session.ask(FindDuplicates { compare: false }).await
}
