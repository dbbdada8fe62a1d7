//! Composition without a window: the owners of live state, the use cases, and the one table of calls.
//!
//! Hosts (the desktop shell, the loopback HTTP host, the terminal) start an [`App`], put calls in with
//! [`App::call`] or [`App::ask`] and listen with [`App::hear`]; that is all they can do. This is the only
//! place where wire types meet the domain: errors become faults in `faults`, values in `to_wire`.
//!
//! Never draws a window, never knows which host it serves, never builds a sentence for the screen.

mod app;
mod beside;
mod bus;
mod calls;
mod chat_settings;
mod config;
mod context;
mod endpoint;
mod engines;
mod facts;
mod fault;
mod fetching;
mod learned;
mod machine;
mod memo;
mod models;
mod moving;
mod noticing;
mod plans;
mod portable;
mod refresh;
mod router;
mod routes;
mod sampler;
mod setup;
mod slots;
mod stay;
mod table;
mod titles;
mod to_wire;
mod transfers;
mod turns;

pub use app::{App, RouterTarget};
pub use bus::Hearing;
pub use config::Config;
pub use context::replay;
pub use endpoint::OutsideRequest;
pub use facts::{Judged, judge_facts};
pub use plimsoll_engine::Stay;
/// For `main` to call first, in programs that let drivers be asked in a child: see
/// [`Config::with_driver_child`].
pub use plimsoll_hardware::facts::driver_child_main as driver_child;
