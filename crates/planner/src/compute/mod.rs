//! The third of llama.cpp's three kinds of memory: the buffers it computes in.
//!
//! There is no formula that is right for all cases: the size is what ggml's scheduler and allocator make of the
//! graph. So the graph is built here as llama.cpp builds it, without data, and both are followed on sizes.

mod allocate;
mod attention;
mod build;
mod delta;
mod feed;
mod gemma;
mod graph;
mod latent;
mod schedule;
mod shorten;
mod state;
mod transformer;

pub(crate) use build::{Batch, CacheSize, Where};
use schedule::Copies;
pub(crate) use shorten::{Kept, Look, is_staged, kept};

use crate::Shape;

/// A backend of the scheduler: the devices in order, the host last.
pub(crate) type Backend = u8;

/// What the allocator and the scheduler must know of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackendTraits {
    pub(crate) alignment: u64,
    /// Largest single buffer.
    pub(crate) buffer_max: u64,
    pub(crate) fetches: Fetches,
}

/// Which operations on the host's weights a device takes over for a large batch, with a copy of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fetches {
    Nothing,
    /// Matrix products (Metal).
    Products,
    /// All but rows of a table (CUDA, HIP, Vulkan, SYCL).
    Everything,
}

/// Bytes of compute buffer on each backend; `None` when more layers have to be built to tell, which is never so when
/// none was left out.
pub(crate) fn buffers(
    shape: &Shape,
    kept: &Kept,
    batch: &Batch,
    place: &Where,
    backends: &[BackendTraits],
) -> Option<Vec<u64>> {
    let (mut graph, made) = build::build(shape, &kept.layers, batch, place);
    let copies = if place.pipelined {
        Copies::Four
    } else {
        Copies::One
    };
    let schedule = schedule::schedule(&mut graph, backends, copies);
    let watched = kept.watched();
    let marks: Option<Vec<_>> = watched.iter().map(|&at| made.get(at).copied()).collect();
    let allocated = allocate::allocate(&graph, &schedule, backends, &marks?);
    kept.settled(&watched, &allocated.states)
        .then_some(allocated.sizes)
}
