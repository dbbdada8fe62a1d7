use plimsoll_wire::ReadMachine;

use super::Session;
use crate::args::ProbeArgs;
use crate::failure::Failure;
use crate::show;

pub(super) async fn probe(session: &Session, _args: ProbeArgs) -> Result<(), Failure> {
    let machine = session.ask(ReadMachine { fresh: true }).await?;
    session.out.answer(&machine, show::machine);
    Ok(())
}
