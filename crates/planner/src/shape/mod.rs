//! What a plan must know of a model: its layers, its matrices and their types. No weights are ever read.

mod family;
mod from_catalog;
mod from_header;

use plimsoll_gguf::TensorType;
use plimsoll_units::Bytes;

pub(crate) use family::Family;

/// A model, as far as memory and speed go. Made from a file's header or from a catalog entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// `general.architecture`: `llama`, `qwen3`, …
    pub architecture: String,
    /// The mix of tensor types: `Q4_K_M`, `MXFP4`, …
    pub quant: String,
    pub parameters: u64,
    /// Used for one token: fewer than all when there are experts.
    pub active_parameters: u64,
    pub file_bytes: Bytes,
    pub context_trained: u32,
    /// Made from catalog facts by the usual rules of quantising, not read from the file.
    pub estimated: bool,
    pub(crate) family: Family,
    pub(crate) vocabulary: u32,
    pub(crate) embedding: u32,
    /// Tokens that a windowed layer looks back; 0 for none.
    pub(crate) window: u32,
    pub(crate) capped_logits: bool,
    pub(crate) expert_count: u32,
    pub(crate) experts_used: u32,
    /// Words and merge rules of the tokenizer, which the engine keeps in memory.
    pub(crate) tokenizer_words: u32,
    pub(crate) tokenizer_merges: u32,
    /// Rows of the input, never computed with: always on the host.
    pub(crate) input: Vec<Weight>,
    /// The output matrix and its norm; the matrix is the embedding once more when they are tied.
    pub(crate) output: Vec<Weight>,
    /// Belongs to the first layer (`rope_freqs`).
    pub(crate) rotation_factors: Option<Weight>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) tied_output: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layer {
    pub(crate) heads: u32,
    pub(crate) kv_heads: u32,
    pub(crate) key_width: u32,
    pub(crate) value_width: u32,
    pub(crate) windowed: bool,
    pub(crate) weights: Vec<Weight>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) role: Role,
    pub(crate) kind: TensorType,
    /// Length of a row, number of rows, number of matrices.
    pub(crate) dims: [u64; 3],
    pub(crate) bytes: Bytes,
}

/// What a weight is for, as far as that decides where it lies and how large the graph is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Rows,
    Query,
    Key,
    Value,
    FusedQkv,
    AttentionOutput,
    Gate,
    Up,
    Down,
    Router,
    GateExperts,
    UpExperts,
    DownExperts,
    SharedGate,
    SharedUp,
    SharedDown,
    Logits,
    QueryBias,
    KeyBias,
    ValueBias,
    OutputBias,
    RouterBias,
    ExpertBias,
    HeadNorm,
    PostNorm,
    Sinks,
    /// A matrix of a family that is not known in detail.
    Matrix,
    /// Norms, biases and whatever else is small.
    Small,
}

impl Role {
    /// One matrix an expert, of which a token reads few.
    pub(crate) const fn is_expert(self) -> bool {
        matches!(self, Self::GateExperts | Self::UpExperts | Self::DownExperts)
    }

    /// What llama-server's `--n-cpu-moe` keeps on the host.
    pub(crate) const fn stays_with_experts(self) -> bool {
        self.is_expert() || matches!(self, Self::ExpertBias)
    }

    /// Multiplied with the activations; the rest is added, scaled or looked up.
    pub(crate) const fn is_matrix(self) -> bool {
        match self {
            Self::Query
            | Self::Key
            | Self::Value
            | Self::FusedQkv
            | Self::AttentionOutput
            | Self::Gate
            | Self::Up
            | Self::Down
            | Self::Router
            | Self::GateExperts
            | Self::UpExperts
            | Self::DownExperts
            | Self::SharedGate
            | Self::SharedUp
            | Self::SharedDown
            | Self::Logits
            | Self::Matrix => true,
            Self::Rows
            | Self::QueryBias
            | Self::KeyBias
            | Self::ValueBias
            | Self::OutputBias
            | Self::RouterBias
            | Self::ExpertBias
            | Self::HeadNorm
            | Self::PostNorm
            | Self::Sinks
            | Self::Small => false,
        }
    }
}

impl Layer {
    pub(crate) fn has(&self, role: Role) -> bool {
        self.weights.iter().any(|weight| weight.role == role)
    }

    pub(crate) fn find(&self, role: Role) -> Option<&Weight> {
        self.weights.iter().find(|weight| weight.role == role)
    }

    pub(crate) fn bytes_of(&self, role: Role) -> u64 {
        self.find(role).map_or(0, |weight| weight.bytes.0)
    }
}

impl Shape {
    /// Bytes of weights that one generated token reads: all matrices, of the experts only those in use.
    pub(crate) fn bytes_read(&self) -> Bytes {
        let layers = self.layers.iter().flat_map(|layer| &layer.weights);
        layers
            .chain(&self.output)
            .map(|weight| self.read_of(weight))
            .sum()
    }

    pub(crate) fn read_of(&self, weight: &Weight) -> Bytes {
        if weight.role.is_expert() && self.expert_count > 0 {
            Bytes(weight.bytes.0 / u64::from(self.expert_count) * u64::from(self.experts_used))
        } else {
            weight.bytes
        }
    }

    /// Whether the memory of this architecture was held against llama.cpp's own dry run.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.family != Family::General
    }

    /// The output matrix is the embedding.
    pub(crate) const fn tied(&self) -> bool {
        self.tied_output
    }

    #[must_use]
    pub fn has_experts(&self) -> bool {
        self.expert_count > 0
    }
}
