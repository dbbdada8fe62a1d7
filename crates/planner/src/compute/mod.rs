//! The third of llama.cpp's three kinds of memory: the buffers it computes in.
//!
//! There is no formula that is right for all cases: the size is what ggml's scheduler and allocator make of the
//! graph. So the graph is built here as llama.cpp builds it, without data, and both are followed on sizes.

mod allocate;
mod build;
mod graph;
pub(crate) mod network;
mod schedule;

pub(crate) use network::{Batch, Network, Seat, Where};
use schedule::Copies;

/// A backend of the scheduler: the devices in order, the host last.
pub(crate) type Backend = u8;

/// What the allocator and the scheduler must know of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackendTraits {
    pub(crate) alignment: u64,
    /// Largest single buffer.
    pub(crate) buffer_max: u64,
    /// Copies weights from the host to run a large batch itself.
    pub(crate) fetches_weights: bool,
}

/// Bytes of compute buffer on each backend.
pub(crate) fn buffers(
    network: &Network,
    batch: &Batch,
    place: &Where,
    backends: &[BackendTraits],
) -> Vec<u64> {
    let mut graph = build::build(network, batch, place);
    let copies = if place.pipelined {
        Copies::Four
    } else {
        Copies::One
    };
    // llama.cpp hands host weights to a device from 32 tokens on.
    let schedule = schedule::schedule(&mut graph, backends, batch.tokens >= 32, copies);
    allocate::buffer_sizes(&graph, &schedule.leafs, &schedule.nodes, backends)
}
