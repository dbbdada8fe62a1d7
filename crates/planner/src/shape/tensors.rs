//! The tensors of a layer, from the catalog's numbers: what a converter and llama-quantize would write.

use plimsoll_catalog::ShapeFacts;
use plimsoll_gguf::TensorType;
use plimsoll_units::Bytes;

use super::from_catalog::{Mix, fitting, window};
use super::numbers::StateNumbers;
use super::{Family, GraphKind, Layer, Role, Weight};

/// Width of each layer's own input in Gemma 3n and 4 (`hidden_size_per_layer_input`).
const LAYER_INPUT: u64 = 256;

impl Weight {
    pub(super) fn of(role: Role, kind: TensorType, dims: [u64; 3]) -> Self {
        let kind = if dims[1] > 1 { fitting(kind, dims[0]) } else { kind };
        let bytes = Bytes(kind.row_bytes(dims[0])).times(dims[1]).times(dims[2]);
        Self {
            role,
            kind,
            dims,
            bytes,
        }
    }
}

/// Layers whose sensitive matrices get more bits.
fn more_bits(layer: u32, layers: u32) -> bool {
    let eighth = layers / 8;
    layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2
}

/// Collects the weights of one layer.
struct Maker<'a> {
    facts: &'a ShapeFacts,
    family: &'static Family,
    mix: Mix,
    /// The layer's sensitive matrices get more bits.
    fine: TensorType,
    out: Vec<Weight>,
}

impl Maker<'_> {
    fn d(&self) -> u64 {
        self.facts.embedding.into()
    }

    fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.facts.architecture.as_str())
    }

    fn small(&mut self, role: Role, values: u64) {
        self.out.push(Weight::of(role, TensorType::F32, [values, 1, 1]));
    }

    fn table(&mut self, role: Role, row: u64, rows: u64) {
        self.out.push(Weight {
            role,
            ..Weight::of(Role::Small, TensorType::F32, [row, rows, 1])
        });
    }

    fn matrix(&mut self, role: Role, row: u64, rows: u64) {
        self.out.push(Weight::of(role, self.mix.base, [row, rows, 1]));
    }

    fn sensitive(&mut self, role: Role, row: u64, rows: u64) {
        self.out.push(Weight::of(role, self.fine, [row, rows, 1]));
    }

    fn attention(&mut self, layer: &Layer) {
        let d = self.d();
        let (head, value) = (u64::from(layer.key_width), u64::from(layer.value_width));
        let (heads, kv_heads) = (u64::from(layer.heads), u64::from(layer.kv_heads));
        let (queries, keys) = (heads * head, kv_heads * head);
        if self.family.graph == GraphKind::Latent {
            return self.latent(heads);
        }
        let delta = self.family.graph == GraphKind::DeltaNet;
        if self.is(&["phi3"]) {
            self.out.push(Weight::of(
                Role::FusedQkv,
                self.mix.base,
                [d, queries + 2 * keys, 1],
            ));
        } else {
            self.matrix(Role::Query, d, if delta { 2 * queries } else { queries });
            if layer.cached {
                self.matrix(Role::Key, d, keys);
                // The wide layers of Gemma 4 take the key's product for both.
                let one = self.is(&["gemma4"]) && self.facts.kv_heads_global.is_some() && !layer.windowed;
                if !one {
                    self.sensitive(Role::Value, d, kv_heads * value);
                }
            }
        }
        self.matrix(Role::AttentionOutput, queries, d);
        if self.is(&["qwen2", "gpt-oss", "seed_oss", "glm4moe"]) {
            self.small(Role::QueryBias, queries);
            self.small(Role::KeyBias, keys);
            self.small(Role::ValueBias, keys);
        }
        if self.is(&["gpt-oss"]) {
            self.small(Role::OutputBias, d);
            self.small(Role::Sinks, heads);
        }
        let per_head = [
            "qwen3",
            "qwen3moe",
            "qwen3vl",
            "qwen3vlmoe",
            "qwen3next",
            "qwen35",
            "qwen35moe",
            "gemma3",
            "gemma3n",
            "gemma4",
            "lfm2",
            "lfm2moe",
            "hunyuan-dense",
            "hunyuan-moe",
            "apertus",
            "afmoe",
            "exaone4",
        ];
        if self.is(&per_head) {
            self.small(Role::QueryNorm, head);
            if layer.cached {
                self.small(Role::KeyNorm, head);
            }
        }
        if self.is(&["minimax-m2", "olmo2"]) {
            self.small(Role::QueryNorm, queries);
            self.small(Role::KeyNorm, keys);
        }
    }

    fn latent(&mut self, heads: u64) {
        let (d, mla) = (self.d(), self.facts.mla.unwrap_or_default());
        let read = |value: Option<u32>| u64::from(value.unwrap_or(0));
        let (rank, turned) = (read(mla.kv_rank), read(mla.rope_dim));
        let (plain, value) = (read(mla.nope_dim), read(mla.value_dim));
        match read(mla.query_rank) {
            0 => self.matrix(Role::Query, d, heads * (plain + turned)),
            low => {
                self.matrix(Role::QueryDown, d, low);
                self.small(Role::QueryDownNorm, low);
                self.matrix(Role::QueryUp, low, heads * (plain + turned));
            }
        }
        self.matrix(Role::PairDown, d, rank + turned);
        self.small(Role::PairDownNorm, rank);
        let base = self.mix.base;
        self.out.push(Weight::of(Role::KeyUp, base, [plain, rank, heads]));
        self.out
            .push(Weight::of(Role::ValueUp, base, [rank, value, heads]));
        self.matrix(Role::AttentionOutput, heads * value, d);
    }

    fn state(&mut self, numbers: &StateNumbers) {
        let d = self.d();
        let kernel = self
            .facts
            .recurrent
            .and_then(|state| state.conv_kernel)
            .unwrap_or(4)
            .into();
        let &StateNumbers {
            groups,
            width,
            inner,
            heads,
            ..
        } = numbers;
        let channels = inner + 2 * groups * width;
        match self.family.graph {
            GraphKind::ShortConv => {
                let kept = self
                    .facts
                    .recurrent
                    .and_then(|state| state.short_convolution)
                    .unwrap_or(3);
                self.table(Role::ShortConv, kept.into(), d);
                self.matrix(Role::ShortIn, d, 3 * d);
                self.matrix(Role::ShortOut, d, d);
            }
            GraphKind::DeltaNet => {
                self.matrix(Role::FusedQkv, d, channels);
                self.matrix(Role::AttentionGate, d, inner);
                self.table(Role::StateConv, kernel, channels);
                self.small(Role::StateStepBias, heads);
                self.small(Role::StateDecay, heads);
                if self.is(&["qwen3next"]) {
                    self.matrix(Role::StateBetaAlpha, d, 2 * heads);
                } else {
                    self.matrix(Role::StateBeta, d, heads);
                    self.matrix(Role::StateAlpha, d, heads);
                }
                self.small(Role::StateNorm, width);
                self.matrix(Role::StateOut, inner, d);
            }
            GraphKind::Transformer
            | GraphKind::Gemma3n
            | GraphKind::Gemma4
            | GraphKind::StateSpace
            | GraphKind::Latent
            | GraphKind::LatentDelta => {
                self.matrix(Role::StateIn, d, inner + channels + heads);
                self.table(Role::StateConv, kernel, channels);
                self.small(Role::StateConvBias, channels);
                for role in [Role::StateStepBias, Role::StateDecay, Role::StateSkip] {
                    self.small(role, heads);
                }
                self.table(Role::StateNorm, inner / groups.max(1), groups);
                self.matrix(Role::StateOut, inner, d);
            }
        }
    }

    fn feed(&mut self, number: u32) {
        let d = self.d();
        let experts = self.facts.experts.filter(|&count| count > 0);
        let dense = number < self.facts.leading_dense_layers.unwrap_or(0);
        let gemma4 = self.is(&["gemma4"]);
        match (experts, self.facts.expert_feed_forward) {
            (Some(count), Some(width)) if !dense => {
                self.experts(count.into(), width.into());
                if gemma4 {
                    self.dense(self.facts.feed_forward.into());
                    self.small(Role::RouterScale, d);
                    for role in [Role::ExpertNorm, Role::DensePostNorm, Role::ExpertPostNorm] {
                        self.small(role, d);
                    }
                }
            }
            _ => self.dense(self.facts.feed_forward.into()),
        }
    }

    fn dense(&mut self, width: u64) {
        let d = self.d();
        if self.is(&["phi3", "glm4"]) {
            self.matrix(Role::Up, d, 2 * width);
        } else {
            if !self.is(&["apertus", "nemotron_h", "nemotron_h_moe"]) {
                self.matrix(Role::Gate, d, width);
            }
            self.matrix(Role::Up, d, width);
        }
        self.sensitive(Role::Down, width, d);
    }

    fn experts(&mut self, count: u64, width: u64) {
        let d = self.d();
        let kind = self.mix.experts;
        let down = if kind == self.mix.base { self.fine } else { kind };
        self.table(Role::Router, d, count);
        let gated = !self.is(&["nemotron_h_moe"]);
        if self.is(&["gemma4"]) {
            self.out
                .push(Weight::of(Role::GateUpExperts, kind, [d, 2 * width, count]));
        } else {
            if gated {
                self.out
                    .push(Weight::of(Role::GateExperts, kind, [d, width, count]));
            }
            self.out
                .push(Weight::of(Role::UpExperts, kind, [d, width, count]));
        }
        self.out
            .push(Weight::of(Role::DownExperts, down, [width, d, count]));
        if self.is(&["gpt-oss"]) {
            self.small(Role::RouterBias, count);
            self.small(Role::GateExpertsBias, width * count);
            self.small(Role::UpExpertsBias, width * count);
            self.small(Role::DownExpertsBias, d * count);
        }
        if self.is(&[
            "deepseek2",
            "glm4moe",
            "minimax-m2",
            "lfm2moe",
            "nemotron_h_moe",
            "glm-dsa",
        ]) {
            self.small(Role::ChoiceBias, count);
        }
        // Gemma 4's dense part is counted with the layer.
        let shared = self
            .facts
            .shared_expert_feed_forward
            .filter(|_| !self.is(&["gemma4"]));
        if let Some(shared) = shared.map(u64::from).filter(|&width| width > 0) {
            if gated {
                self.matrix(Role::SharedGate, d, shared);
            }
            self.matrix(Role::SharedUp, d, shared);
            self.sensitive(Role::SharedDown, shared, d);
            if self.family.graph == GraphKind::DeltaNet {
                self.small(Role::SharedRouter, d);
            }
        }
    }

    fn norms(&mut self, feeds: bool) {
        let d = self.d();
        if !self.is(&["olmo2", "exaone4"]) {
            self.small(Role::AttentionNorm, d);
        }
        let delta = self.family.graph == GraphKind::DeltaNet;
        let takes_post = delta || self.is(&["gpt-oss", "seed_oss", "glm4moe"]);
        if takes_post {
            self.small(Role::PostAttentionNorm, d);
        } else if feeds && !self.is(&["olmo2", "exaone4", "nemotron_h", "nemotron_h_moe"]) {
            self.small(Role::FeedNorm, d);
        }
        if self.is(&[
            "gemma3",
            "gemma3n",
            "gemma4",
            "glm4",
            "olmo2",
            "afmoe",
            "exaone4",
            "muse-glimmer",
        ]) {
            self.small(Role::PostAttentionNorm, d);
            self.small(Role::PostFeedNorm, d);
        }
    }
}

/// What a layer does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Attend,
    Remember,
    /// Nothing but the feed-forward part.
    Feed,
}

fn does(facts: &ShapeFacts, family: &Family, number: u32) -> (Does, bool) {
    if let Some(pattern) = &facts.pattern {
        return match pattern.as_bytes().get(number as usize) {
            Some(b'M') => (Does::Remember, false),
            Some(b'*') => (Does::Attend, false),
            _ => (Does::Feed, true),
        };
    }
    let attends = match family.graph {
        GraphKind::DeltaNet => (number + 1).is_multiple_of(facts.full_attention_interval.unwrap_or(4).max(1)),
        // Where exactly they are does not matter for memory; spread evenly, as publishers do.
        GraphKind::ShortConv | GraphKind::StateSpace => {
            let (all, some) = (facts.layers.max(1), facts.full_attention_layers.unwrap_or(0));
            (number + 1) * some / all > number * some / all
        }
        GraphKind::Transformer
        | GraphKind::Gemma3n
        | GraphKind::Gemma4
        | GraphKind::Latent
        | GraphKind::LatentDelta => true,
    };
    (if attends { Does::Attend } else { Does::Remember }, true)
}

pub(super) fn layer(facts: &ShapeFacts, numbers: &StateNumbers, mix: Mix, number: u32) -> Layer {
    let family = Family::of(&facts.architecture);
    let (does, feeds) = does(facts, family, number);
    let windowed = window(facts).is_some_and(|(_, period)| number % period < period - 1);
    let wide = !windowed && window(facts).is_some();
    let width = facts.head_dim_global.filter(|_| wide).unwrap_or(facts.head_dim);
    let kv_heads = facts.kv_heads_global.filter(|_| wide).unwrap_or(facts.kv_heads);
    let latent = facts.mla.is_some();
    let kv_heads = if does == Does::Attend { kv_heads } else { 0 };
    let mut layer = Layer::new(facts.heads, kv_heads, [width, if latent { 0 } else { width }]);
    layer.windowed = windowed;
    let first_shared = facts.layers.saturating_sub(facts.shared_kv_layers.unwrap_or(0));
    if number >= first_shared {
        layer.cached = false;
        layer.reads_from = first_shared.checked_sub(if windowed { 2 } else { 1 });
    }
    let fine = if mix.medium && more_bits(number, facts.layers) {
        mix.fine
    } else {
        mix.base
    };
    let mut maker = Maker {
        facts,
        family,
        mix,
        fine,
        out: Vec::with_capacity(32),
    };
    maker.norms(feeds);
    match does {
        Does::Attend => maker.attention(&layer),
        Does::Remember => maker.state(numbers),
        Does::Feed => {}
    }
    if feeds {
        maker.feed(number);
    }
    if maker.is(&["gemma4"]) {
        maker.small(Role::LayerScale, 1);
        if facts.shared_kv_layers.is_some() {
            let d = maker.d();
            maker.matrix(Role::LayerInputGate, d, LAYER_INPUT);
            maker.matrix(Role::LayerInputOut, LAYER_INPUT, d);
            maker.small(Role::LayerInputNorm, d);
        }
    }
    layer.weights = maker.out;
    layer
}

/// A drafting layer: one of attention with a matrix that joins two rows.
pub(super) fn drafting(facts: &ShapeFacts, numbers: &StateNumbers, mix: Mix) -> Layer {
    let family = Family::of(&facts.architecture);
    let interval = facts.full_attention_interval.unwrap_or(1).max(1);
    // The last layer of a kind that attends and, where there are experts, has them.
    let mut layer = layer(
        facts,
        numbers,
        mix,
        (facts.layers / interval * interval).saturating_sub(1),
    );
    let d = u64::from(facts.embedding);
    layer
        .weights
        .push(Weight::of(Role::Matrix, mix.base, [2 * d, d, 1]));
    if family.graph == GraphKind::StateSpace {
        let mut maker = Maker {
            facts,
            family,
            mix,
            fine: mix.base,
            out: Vec::new(),
        };
        let attending = Layer::new(facts.heads, facts.kv_heads, [facts.head_dim; 2]);
        maker.attention(&attending);
        layer.weights.append(&mut maker.out);
    }
    layer
}

/// What Gemma 4 has for all layers together: a table on the host, and a matrix with the first layer.
pub(super) fn of_the_model(facts: &ShapeFacts, mix: Mix, layers: &mut [Layer]) -> Option<Weight> {
    let has = facts.architecture == "gemma4" && facts.shared_kv_layers.is_some();
    let first = layers.first_mut().filter(|_| has)?;
    let width = LAYER_INPUT * u64::from(facts.layers);
    first.weights.push(Weight::of(
        Role::LayerInputs,
        TensorType::BF16,
        [facts.embedding.into(), width, 1],
    ));
    first.weights.push(Weight::of(
        Role::LayerInputsNorm,
        TensorType::F32,
        [LAYER_INPUT, 1, 1],
    ));
    Some(Weight::of(
        Role::Rows,
        mix.fine,
        [width, facts.vocabulary.into(), 1],
    ))
}
