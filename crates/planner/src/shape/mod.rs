//! What a plan must know of a model: its layers, its matrices and their types. No weights are ever read.

mod family;
mod from_catalog;
mod from_header;
mod numbers;
mod role;
mod tensors;

use plimsoll_gguf::TensorType;
use plimsoll_units::Bytes;

use crate::compute::Look;
use crate::memory::{Memo, Tally};

pub(crate) use family::{Exit, Family, GraphKind, Sections, Turn};
pub(crate) use role::{ROLES, Role};

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
    pub(crate) family: &'static Family,
    pub(crate) vocabulary: u32,
    pub(crate) embedding: u32,
    /// Tokens that a windowed layer looks back; 0 for none.
    pub(crate) window: u32,
    pub(crate) expert_count: u32,
    pub(crate) experts_used: u32,
    pub(crate) traits: Traits,
    pub(crate) state: StateSize,
    /// Words and merge rules of the tokenizer, which the engine keeps in memory.
    pub(crate) tokenizer_words: u32,
    pub(crate) tokenizer_merges: u32,
    /// Rows of the input, never computed with: always on the host.
    pub(crate) input: Vec<Weight>,
    /// The output matrix, its norm and what else lies with it; the matrix is the embedding once more when tied.
    pub(crate) output: Vec<Weight>,
    /// Tables of rotation frequencies: one copy on each device that has layers.
    pub(crate) rotation_factors: Vec<Weight>,
    pub(crate) layers: Vec<Layer>,
    /// Layers at the end that only draft: llama.cpp counts them when it divides layers over devices, and leaves
    /// their weights out unless it drafts with them.
    pub(crate) drafting: Vec<Layer>,
    pub(crate) tied_output: bool,
    pub(crate) tally: Tally,
    /// By layer.
    pub(crate) looks: Vec<Look>,
    pub(crate) memo: Memo,
}

/// Numbers of a header that add or leave out operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether the graph has one operation"
)]
pub(crate) struct Traits {
    pub(crate) sections: bool,
    /// The layers of [`Turn::IfSaid`] have a rotary position.
    pub(crate) turned: bool,
    /// The query is scaled by its position.
    pub(crate) temperature: bool,
    pub(crate) scaled_embedding: bool,
    pub(crate) scaled_residual: bool,
    pub(crate) scaled_logits: bool,
    /// The logits pass through a soft cap.
    pub(crate) capped_logits: bool,
    pub(crate) experts_scaled: bool,
    pub(crate) experts_normed: bool,
    /// Experts are chosen by groups; 0 or 1 for not.
    pub(crate) expert_groups: u32,
    pub(crate) expert_groups_used: u32,
    /// Rows that a picture adds beside each token's.
    pub(crate) deep_rows: u32,
    /// Norms without weights on query and key (Llama 4).
    pub(crate) bare_norms: bool,
    /// Layers of Gemma 3n with a sparse activation.
    pub(crate) sparse_layers: u32,
}

/// Recurrent state, in values per sequence and layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StateSize {
    pub(crate) groups: u64,
    pub(crate) width: u64,
    pub(crate) inner: u64,
    /// Heads of the state (`time_step_rank`).
    pub(crate) heads: u64,
    /// Inputs of the convolution that are kept (`n_embd_r`).
    pub(crate) rows: u64,
    /// The state itself (`n_embd_s`).
    pub(crate) values: u64,
}

/// A layer and what it keeps of the past.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layer {
    pub(crate) heads: u32,
    pub(crate) kv_heads: u32,
    pub(crate) key_width: u32,
    pub(crate) value_width: u32,
    pub(crate) windowed: bool,
    /// Has keys and values of its own.
    pub(crate) cached: bool,
    /// Reads the cache of this layer instead.
    pub(crate) reads_from: Option<u32>,
    /// Has recurrent state.
    pub(crate) stateful: bool,
    pub(crate) weights: Vec<Weight>,
    /// Place in `weights` by role.
    index: [u8; ROLES],
    /// Equal for layers with equal graphs.
    pub(crate) likeness: u64,
    /// Equal for layers that differ in nothing but how far they look back.
    pub(crate) kinship: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) role: Role,
    pub(crate) kind: TensorType,
    /// Length of a row, number of rows, number of matrices.
    pub(crate) dims: [u64; 3],
    pub(crate) bytes: Bytes,
}

const NOWHERE: u8 = u8::MAX;

/// A step of FNV-1a.
pub(crate) const fn mixed(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3)
}

impl Layer {
    pub(crate) fn new(heads: u32, kv_heads: u32, widths: [u32; 2]) -> Self {
        Self {
            heads,
            kv_heads,
            key_width: widths[0],
            value_width: widths[1],
            windowed: false,
            cached: kv_heads > 0,
            reads_from: None,
            stateful: false,
            weights: Vec::new(),
            index: [NOWHERE; ROLES],
            likeness: 0,
            kinship: 0,
        }
    }

    /// Keys of one token.
    pub(crate) fn key_row(&self) -> u64 {
        u64::from(self.kv_heads) * u64::from(self.key_width)
    }

    /// Values of one token.
    pub(crate) fn value_row(&self) -> u64 {
        u64::from(self.kv_heads) * u64::from(self.value_width)
    }

    pub(crate) fn has(&self, role: Role) -> bool {
        self.index[role as usize] != NOWHERE
    }

    pub(crate) fn find(&self, role: Role) -> Option<&Weight> {
        self.weights.get(usize::from(self.index[role as usize]))
    }

    /// To be called once all weights are there. `more` tells layers apart that have the same weights.
    fn settle(&mut self, more: u64) {
        self.index = [NOWHERE; ROLES];
        // FNV-1a over what shapes the graph; types and sizes of weights do not.
        let mut likeness = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |value: u64| likeness = mixed(likeness, value);
        mix(more);
        let flags = [self.cached, self.reads_from.is_some(), self.stateful];
        for value in [self.heads, self.kv_heads, self.key_width, self.value_width] {
            mix(value.into());
        }
        for flag in flags {
            mix(flag.into());
        }
        for (place, weight) in (0u8..NOWHERE).zip(&self.weights) {
            let slot = &mut self.index[weight.role as usize];
            if *slot == NOWHERE {
                *slot = place;
            }
            mix(weight.role as u64);
            weight.dims.into_iter().for_each(&mut mix);
        }
        self.kinship = likeness;
        self.likeness = mixed(likeness, self.windowed.into());
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
        self.family.checked
    }

    /// The output matrix is the embedding.
    pub(crate) const fn tied(&self) -> bool {
        self.tied_output
    }

    #[must_use]
    pub fn has_experts(&self) -> bool {
        self.expert_count > 0
    }

    /// Whether earlier states must be saved to go back: a window or recurrent state cannot be cut at a token.
    pub(crate) fn forgets(&self) -> bool {
        self.window > 0 || self.layers.iter().any(|layer| layer.stateful)
    }

    /// Whether every layer has rows of its own beside the state (Gemma 3n and 4).
    pub(crate) fn has_layer_inputs(&self) -> bool {
        let first = self.layers.first();
        first.is_some_and(|layer| layer.has(Role::LayerInputs))
    }

    /// The drafting layers as a model of their own.
    pub(crate) fn drafting_only(&self) -> Self {
        let alone = Self {
            layers: self.drafting.clone(),
            drafting: Vec::new(),
            ..self.clone()
        };
        alone.summed()
    }

    /// The last step of making one: what plans ask for again and again is summed up once.
    fn summed(mut self) -> Self {
        self.tally = Tally::of(&self);
        self.looks = Look::of_layers(&self);
        self.memo = Memo::default();
        self
    }

    /// Layers in llama.cpp's count, with those that only draft.
    pub(crate) fn layers_all(&self) -> u32 {
        u32::try_from(self.layers.len() + self.drafting.len()).unwrap_or(u32::MAX)
    }
}
