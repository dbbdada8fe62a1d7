//! The llama.cpp builds that we know: found, checked by running them, kept in one list.

mod abilities;
mod environment;
mod install;
mod probe;
mod registry;
mod unpack;

pub use abilities::Abilities;
pub use install::Release;
pub use probe::Checked;
pub use registry::{Check, Engine, Engines, Origin, Skipped};
