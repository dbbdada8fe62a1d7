//! One function a command. A command asks the app, shows what comes and ends it again.

mod ask;
mod bench;
mod chat;
mod context;
mod conversations;
mod engine;
mod folders;
mod library;
mod machine;
mod memory;
mod news;
mod plan;
mod replay;
mod search;
mod serve;
mod servers;
mod transfer;
mod turn;
mod web;

use std::path::Path;
use std::sync::Arc;

use plimsoll_app::{App, Config};
use plimsoll_os::environment::Environment;
use plimsoll_os::files;
use plimsoll_os::jobs::Root;
use plimsoll_units::Bytes;
use plimsoll_wire::Call;
use serde::de::DeserializeOwned;

use crate::args::{Cli, Command};
use crate::failure::{Failure, bad_file, unreadable};
use crate::interrupts::Interrupts;
use crate::out::Out;

/// A described machine or a list of measured runs; the largest real one has some kilobytes.
const FILE_BYTES_MAX: Bytes = Bytes::mib(4);

/// What every command works with.
pub(crate) struct Session {
    pub(crate) app: Arc<App>,
    pub(crate) out: Out,
    interrupts: Interrupts,
    _root: Root,
}

impl Session {
    /// A listener for one command: it hears what came since the command started.
    pub(crate) fn interrupts(&self) -> Interrupts {
        self.interrupts.clone()
    }

    pub(crate) async fn ask<C: Call>(&self, call: C) -> Result<C::Reply, Failure>
    where
        C::Reply: Send + 'static,
    {
        Ok(self.app.ask(call).await?)
    }
}

pub(crate) async fn run(cli: Cli, environment: &Environment, out: Out) -> (Out, Result<(), Failure>) {
    let root = Root::new();
    let interrupts = Interrupts::listen(&root.scope());
    let app = match start(environment).await {
        Ok(app) => app,
        Err(failure) => return (out, Err(failure)),
    };
    let session = Session {
        app,
        out,
        interrupts,
        _root: root,
    };
    let done = command(cli.command, &session).await;
    session.app.end().await;
    (session.out, done)
}

async fn start(environment: &Environment) -> Result<Arc<App>, Failure> {
    let mut config = Config::from(environment)?;
    // A graphics driver that crashes takes a child with it and not the command.
    if let Ok(program) = std::env::current_exe() {
        config = config.with_driver_child(program);
    }
    Ok(App::start(config).await?)
}

async fn command(command: Command, session: &Session) -> Result<(), Failure> {
    match command {
        // These listen for the interrupt themselves: something has to be stopped first.
        Command::Pull(args) => library::pull(session, args).await,
        Command::Folder(args) => folders::folder(session, args).await,
        Command::Duplicates(args) => folders::duplicates(session, &args).await,
        Command::Engine(args) => engine::engine(session, args).await,
        Command::Serve { model } => serve::serve(session, model).await,
        Command::Chat(args) => chat::chat(session, args).await,
        Command::Conversation(args) => {
            or_interrupted(session, conversations::conversation(session, args)).await
        }
        Command::Web(args) => web::web(session, &args).await,
        Command::Ask(args) => ask::ask(session, args).await,
        Command::Bench(args) => or_interrupted(session, bench::bench(session, args)).await,
        Command::Context(args) => or_interrupted(session, context::context(session, args)).await,
        Command::Replay { file } => replay::replay(session, &file),
        Command::Probe(args) => or_interrupted(session, machine::probe(session, args)).await,
        Command::Memory(args) => or_interrupted(session, memory::memory(session, &args)).await,
        Command::Servers(args) => or_interrupted(session, servers::servers(session, args)).await,
        Command::Plan(args) => or_interrupted(session, plan::plan(session, &args)).await,
        Command::Recommend(args) => or_interrupted(session, plan::recommend(session, &args)).await,
        Command::Models(args) => or_interrupted(session, library::models(session, &args)).await,
        Command::Search(args) => or_interrupted(session, search::search(session, &args)).await,
        Command::Import { path } => or_interrupted(session, library::import(session, &path)).await,
        Command::Verify { id } => or_interrupted(session, library::verify(session, id)).await,
        Command::Remove(args) => or_interrupted(session, library::remove(session, args)).await,
    }
}

async fn or_interrupted(
    session: &Session,
    body: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    let mut interrupts = session.interrupts();
    tokio::select! {
        done = body => done,
        () = interrupts.next() => Err(Failure::Interrupted),
    }
}

/// A JSON file that was named on the command line.
fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let bytes = files::read_up_to(path, FILE_BYTES_MAX).map_err(|error| unreadable(path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| bad_file(path, &error))
}
