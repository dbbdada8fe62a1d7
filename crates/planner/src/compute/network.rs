//! What the graph's builder must know of a model, of a batch and of the place.

use super::Backend;

/// The parts of a model that shape its graph.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether a family does one thing"
)]
pub(crate) struct Network {
    pub(crate) embedding: u64,
    pub(crate) vocabulary: u64,
    pub(crate) layers: Vec<Layer>,
    /// Token rows are scaled by a per-row input (Gemma).
    pub(crate) scaled_rows: bool,
    /// The logits pass through a soft cap.
    pub(crate) capped_logits: bool,
    /// The table of rotation frequencies, on the device of the first layer.
    pub(crate) rotation_factors: bool,
    /// Rows that give no output leave before the last feed-forward part; else before the last norm (gpt-oss).
    pub(crate) early_exit: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layer {
    pub(crate) heads: u64,
    pub(crate) kv_heads: u64,
    pub(crate) key_width: u64,
    pub(crate) value_width: u64,
    pub(crate) windowed: bool,
    pub(crate) attention: AttentionParts,
    pub(crate) feed_forward: FeedForward,
    pub(crate) fetched: LayerWeights,
}

/// Optional pieces of the attention part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether one tensor exists"
)]
pub(crate) struct AttentionParts {
    pub(crate) fused: bool,
    pub(crate) query_bias: bool,
    pub(crate) key_bias: bool,
    pub(crate) value_bias: bool,
    pub(crate) output_bias: bool,
    pub(crate) head_norms: bool,
    pub(crate) scaled_query: bool,
    pub(crate) sinks: bool,
    /// Gemma's norms after attention and after the feed-forward part.
    pub(crate) post_norms: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedForward {
    Dense {
        width: u64,
        gated: bool,
    },
    Experts {
        count: u64,
        used: u64,
        width: u64,
        biased: bool,
        gating: Gating,
        shared: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gating {
    /// Softmax over all experts, then the chosen ones are brought to a sum of 1.
    SoftmaxNormed,
    /// Softmax over the chosen ones only (gpt-oss).
    SoftmaxOfChosen,
}

/// Sizes of the matrices, for a device that fetches them from the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LayerWeights {
    pub(crate) query: u64,
    pub(crate) key: u64,
    pub(crate) value: u64,
    pub(crate) output: u64,
    pub(crate) gate: u64,
    pub(crate) up: u64,
    pub(crate) down: u64,
    pub(crate) router: u64,
}

/// What is asked of one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Tokens of one pass, a multiple of the streams.
    pub(crate) tokens: u64,
    pub(crate) outputs: u64,
    pub(crate) cells: u64,
    pub(crate) window_cells: u64,
    /// Separate caches, one a slot; 1 when the slots share one.
    pub(crate) streams: u64,
    /// Rotation matrices of a quantised cache: widths, 0 for none.
    pub(crate) key_rotation: u64,
    pub(crate) value_rotation: u64,
    pub(crate) windowed: bool,
    /// This release keeps a third way in, for batches of mixed tokens and embeddings.
    pub(crate) mixed_input: bool,
}

/// The backends of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) layer: Backend,
    /// Of its expert matrices.
    pub(crate) experts: Backend,
}

/// Which backend holds what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Where {
    pub(crate) layers: Vec<Seat>,
    pub(crate) output: Backend,
    pub(crate) host: Backend,
    /// The first operation of each norm is tied to its layer's device.
    pub(crate) pins_norms: bool,
    pub(crate) pipelined: bool,
}
