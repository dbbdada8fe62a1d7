//! The running llama-server: one for all our processes, owned by one of them.
//!
//! [`Desk`] is the way in. Behind it one task owns the state; what it does next is decided by the pure
//! [`life`], [`admission`] and [`sighting`], and done by jobs that report back.

mod admission;
mod alone;
mod client;
mod desk;
mod diagnose;
mod find;
mod life;
mod listen;
mod load;
mod models;
mod owner;
mod place;
mod port;
mod preset;
mod proof;
mod residency;
mod sighting;
mod start;
mod state;
mod timing;

pub(crate) use alone::{MODEL as TRIAL_MODEL, try_out};
pub use client::{Client, Slot, Target};
pub use desk::{Desk, DeskConfig, MemoryReader};
pub use place::Front;
pub use preset::{ModelPlan, router_id};
pub use residency::{HostMemory, Keeping, Stay};
pub use sighting::Progress;
pub use start::Ports;
pub use state::{Loaded, ModelState, ModelStatus, Proof, Ready, RouterState};
pub use timing::Timing;
