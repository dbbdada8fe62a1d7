//! The context of conversations: the accounting of `agent` fed with what happens, and with what was written
//! down of it; compactions, made and taken back.

mod driver;
mod expected;
mod gated;
mod live;
mod names;
mod owner;
mod replay;
mod rows;
mod summarise;
pub(crate) mod view;

use plimsoll_wire::CompactionMode;

pub(crate) use crate::turns::named_rows;
pub(crate) use gated::{GatedModel, compact};
pub(crate) use live::Terms;
pub(crate) use owner::{Contexts, Shared};
pub use replay::replay;
pub(crate) use rows::Named;
pub(crate) use summarise::Summariser;

/// As the store keeps it.
pub(crate) fn mode_name(mode: CompactionMode) -> String {
    names::name(mode)
}
