use plimsoll_wire::{ReadSettings, Settings, WriteSettings};

use super::Session;
use crate::args::MemoryArgs;
use crate::failure::Failure;
use crate::show;

/// How long models stay in memory that nobody uses. A running app takes a change in with the next question.
pub(super) async fn memory(session: &Session, args: &MemoryArgs) -> Result<(), Failure> {
    let change = Settings {
        idle_minutes: args.idle_minutes,
        release_on_sleep: args.release_on_sleep,
        ..Settings::default()
    };
    let settings = if change == Settings::default() {
        session.ask(ReadSettings {}).await?
    } else {
        session.ask(WriteSettings { settings: change }).await?
    };
    session.out.answer(&settings, show::memory);
    Ok(())
}
