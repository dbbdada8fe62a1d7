use plimsoll_wire::{FindServers, IgnoreServer, UseServer};

use super::Session;
use crate::args::ServersCommand;
use crate::failure::Failure;
use crate::show;

pub(super) async fn servers(session: &Session, args: ServersCommand) -> Result<(), Failure> {
    let servers = match args {
        ServersCommand::List => session.ask(FindServers {}).await?,
        ServersCommand::Use { id } => session.ask(UseServer { id }).await?,
        ServersCommand::Ignore { id } => session.ask(IgnoreServer { id, ignored: true }).await?,
        ServersCommand::Notice { id } => session.ask(IgnoreServer { id, ignored: false }).await?,
    };
    session.out.answer(&servers, show::servers);
    Ok(())
}
