//! llama.cpp builds and the one llama-server that all our processes share.
//!
//! [`Engines`] keeps builds: each is run and looked at before it may serve. [`Desk`] is where a process asks
//! for a model: behind it the router is started or found, the model loaded, and proved by a few tokens.
//! Whoever holds the lock owns the router; it dies with its owner, and the next that needs it owns the next.
//!
//! Never loads what nobody asked for, never touches a llama-server that is not ours, never takes `/health`
//! for readiness, never puts the key on a command line or into a log, never calls a model's memory by its
//! plan when it can be measured, and never plans: it is given arguments and a number of bytes.

mod engines;
mod error;
mod log;
mod others;
mod releases;
mod router;

pub use engines::{Abilities, Check, Checked, Engine, Engines, Origin, Release, Skipped};
pub use error::{ArchiveProblem, EngineError, Step, Trouble};
pub use log::{
    Buffer, BufferKind, Cause, FileProblem, GpuProblem, Memory, OptionProblem, Part, cause, held_back,
};
pub use others::{Other, OtherServer, other_servers};
pub use releases::{
    AssetName, Backing, Build, Choices, LIST_BYTES_MAX, ListError, Misfit, NoChoice, Offer, Passed,
    ReleaseAsset, ReleaseList, Toolkit, Why, choose,
};
pub use router::{
    Client, Desk, DeskConfig, Front, HostMemory, Keeping, Loaded, MemoryReader, ModelPlan, ModelState,
    ModelStatus, Ports, Progress, Proof, Ready, RouterState, Slot, Stay, Target, Timing, router_id,
};

/// Bytes as people and file names can hold them.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
