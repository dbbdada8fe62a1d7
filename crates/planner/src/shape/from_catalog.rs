//! A shape without a file: the tensors that llama-quantize would make from the catalog's numbers.

use plimsoll_catalog::{Model, ShapeFacts, Variant};
use plimsoll_gguf::TensorType;
use plimsoll_units::Bytes;

use super::{Family, Layer, Role, Shape, Weight};

impl Shape {
    /// What the variant's header will say, as far as its numbers and the usual rules tell. Replaced by the header
    /// itself as soon as there is one.
    #[must_use]
    pub fn from_catalog(model: &Model, variant: &Variant) -> Self {
        let bytes = variant.bytes();
        let facts = &model.shape;
        let mix = Mix::of(&variant.quant);
        let tied = build(model, variant, mix, facts.tied_embeddings);
        if !facts.tied_embeddings {
            return tied.scaled_to(bytes);
        }
        // Some publishers store the output matrix although it equals the embedding.
        let stored = build(model, variant, mix, false);
        let miss = |shape: &Self| {
            shape
                .data_bytes()
                .plus(tokenizer_bytes(facts))
                .0
                .abs_diff(bytes.0)
        };
        if miss(&stored) < miss(&tied) {
            stored.scaled_to(bytes)
        } else {
            tied.scaled_to(bytes)
        }
    }

    fn data_bytes(&self) -> Bytes {
        let layers = self.layers.iter().flat_map(|layer| &layer.weights);
        let output = self
            .output
            .iter()
            .filter(|weight| !(self.tied_output && weight.role == Role::Logits));
        layers
            .chain(output)
            .chain(&self.input)
            .chain(&self.rotation_factors)
            .map(|weight| weight.bytes)
            .sum()
    }

    /// A mix that the rules do not know is brought to the size of the file, evenly over all large matrices.
    fn scaled_to(mut self, file: Bytes) -> Self {
        let wanted = file.less(Bytes(36 * u64::from(self.vocabulary))).as_f64();
        let have = self.data_bytes().as_f64();
        let off = if have > 0.0 { wanted / have } else { 1.0 };
        // The known rules are within this of the published files; see the test over the whole catalog.
        if (0.985..=1.015).contains(&off) {
            return self;
        }
        let scale = |weight: &mut Weight| {
            if weight.kind.is_quantized() {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a positive share of a size that fits"
                )]
                let bytes = (weight.bytes.as_f64() * off) as u64;
                weight.bytes = Bytes(bytes);
            }
        };
        for layer in &mut self.layers {
            layer.weights.iter_mut().for_each(scale);
        }
        self.input.iter_mut().for_each(scale);
        self.output.iter_mut().for_each(scale);
        self
    }
}

/// The words of a tokenizer in the header, at about what they take.
fn tokenizer_bytes(facts: &ShapeFacts) -> Bytes {
    Bytes(36 * u64::from(facts.vocabulary))
}

/// A named mix of tensor types.
#[derive(Debug, Clone, Copy)]
struct Mix {
    base: TensorType,
    /// For the output, and for half of the layers' most sensitive matrices.
    fine: TensorType,
    /// The mix gives those matrices more bits.
    medium: bool,
    experts: TensorType,
}

impl Mix {
    fn of(quant: &str) -> Self {
        use TensorType as T;
        let plain = quant.trim_start_matches("UD-");
        let (base, fine, medium) = match plain {
            "Q4_K_S" => (T::Q4_K, T::Q6_K, false),
            "Q5_K_M" | "Q5_K_XL" | "Q5_K_L" => (T::Q5_K, T::Q6_K, true),
            "Q5_K_S" => (T::Q5_K, T::Q6_K, false),
            "Q6_K" | "Q6_K_L" | "Q6_K_XL" => (T::Q6_K, T::Q6_K, false),
            "Q8_0" | "MXFP4" => (T::Q8_0, T::Q8_0, false),
            "Q4_0" => (T::Q4_0, T::Q6_K, false),
            "Q4_1" => (T::Q4_1, T::Q6_K, false),
            "Q5_0" => (T::Q5_0, T::Q6_K, false),
            "Q3_K_M" | "Q3_K_XL" | "Q3_K_L" | "Q3_K_S" => (T::Q3_K, T::Q6_K, true),
            "Q2_K" | "Q2_K_L" | "IQ2_M" | "IQ2_XXS" | "IQ1_M" => (T::Q2_K, T::Q6_K, true),
            "F16" => (T::F16, T::F16, false),
            "BF16" => (T::BF16, T::BF16, false),
            "F32" => (T::F32, T::F32, false),
            // Q4_K_M, the most common, and whatever else: the size of the file corrects it.
            _ => (T::Q4_K, T::Q6_K, true),
        };
        Self {
            base,
            fine,
            medium,
            experts: if plain == "MXFP4" { T::MXFP4 } else { base },
        }
    }
}

/// What llama-quantize takes for rows that do not divide into the blocks of `kind`.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "llama-quantize's own list, with its own default"
)]
fn fitting(kind: TensorType, row: u64) -> TensorType {
    use TensorType as T;
    if row.is_multiple_of(kind.block().0) {
        return kind;
    }
    let other = match kind {
        T::Q4_K => T::Q5_0,
        T::Q5_K => T::Q5_1,
        T::Q6_K => T::Q8_0,
        T::Q3_K | T::Q2_K => T::Q4_0,
        _ => T::F16,
    };
    if row.is_multiple_of(other.block().0) {
        other
    } else {
        T::F16
    }
}

fn weight(role: Role, kind: TensorType, dims: [u64; 3]) -> Weight {
    let kind = if dims[1] > 1 { fitting(kind, dims[0]) } else { kind };
    let bytes = Bytes(kind.row_bytes(dims[0])).times(dims[1]).times(dims[2]);
    Weight {
        role,
        kind,
        dims,
        bytes,
    }
}

/// Layers whose sensitive matrices get more bits.
fn more_bits(layer: u32, layers: u32) -> bool {
    let eighth = layers / 8;
    layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2
}

fn build(model: &Model, variant: &Variant, mix: Mix, tied: bool) -> Shape {
    let facts = &model.shape;
    let family = Family::of(&facts.architecture);
    let d = u64::from(facts.embedding);
    let vocabulary = u64::from(facts.vocabulary);
    let (window, period) = match (facts.sliding_window, family.window_period()) {
        (Some(window), Some(period)) => (window, facts.sliding_window_period.unwrap_or(period)),
        _ => (0, 0),
    };
    let layers = (0..facts.layers).map(|number| Layer {
        heads: facts.heads,
        kv_heads: facts.kv_heads,
        key_width: facts.head_dim,
        value_width: facts.head_dim,
        windowed: window > 0 && period > 0 && number % period < period - 1,
        weights: layer_weights(facts, family, mix, number),
    });
    let mut output = vec![weight(Role::Small, TensorType::F32, [d, 1, 1])];
    if !tied {
        output.push(weight(Role::Logits, mix.fine, [d, vocabulary, 1]));
    }
    let mut shape = Shape {
        architecture: facts.architecture.clone(),
        quant: variant.quant.clone(),
        parameters: model.parameters,
        active_parameters: 0,
        file_bytes: variant.bytes(),
        context_trained: model.context_trained,
        estimated: true,
        family,
        vocabulary: facts.vocabulary,
        embedding: facts.embedding,
        window,
        capped_logits: false,
        expert_count: facts.experts.unwrap_or(0),
        experts_used: facts.experts_used.unwrap_or(0),
        tokenizer_words: facts.vocabulary,
        // Gemma's tokenizer has no table of merges; the others have about one a word.
        tokenizer_merges: if family == Family::Gemma3 {
            0
        } else {
            facts.vocabulary
        },
        input: vec![weight(
            Role::Rows,
            if tied { mix.fine } else { mix.base },
            [d, vocabulary, 1],
        )],
        output,
        rotation_factors: None,
        layers: layers.collect(),
        tied_output: false,
    };
    shape.finish();
    shape.active_parameters = model.active_parameters;
    shape
}

fn layer_weights(facts: &ShapeFacts, family: Family, mix: Mix, number: u32) -> Vec<Weight> {
    let d = u64::from(facts.embedding);
    let head = u64::from(facts.head_dim);
    let (queries, keys) = (u64::from(facts.heads) * head, u64::from(facts.kv_heads) * head);
    let fine = if mix.medium && more_bits(number, facts.layers) {
        mix.fine
    } else {
        mix.base
    };
    let small = |role, values| weight(role, TensorType::F32, [values, 1, 1]);
    let mut out = vec![
        small(Role::Small, d),
        small(Role::Small, d),
        weight(Role::Query, mix.base, [d, queries, 1]),
        weight(Role::Key, mix.base, [d, keys, 1]),
        weight(Role::Value, fine, [d, keys, 1]),
        weight(Role::AttentionOutput, mix.base, [queries, d, 1]),
    ];
    match family {
        Family::Qwen2 => out.extend([
            small(Role::QueryBias, queries),
            small(Role::KeyBias, keys),
            small(Role::ValueBias, keys),
        ]),
        Family::Qwen3 | Family::Qwen3Moe => out.extend([small(Role::HeadNorm, head); 2]),
        Family::Gemma3 => {
            out.extend([small(Role::HeadNorm, head); 2]);
            out.extend([small(Role::PostNorm, d); 2]);
        }
        Family::GptOss => out.extend([
            small(Role::QueryBias, queries),
            small(Role::KeyBias, keys),
            small(Role::ValueBias, keys),
            small(Role::OutputBias, d),
            small(Role::Sinks, u64::from(facts.heads)),
        ]),
        Family::Llama | Family::General => {}
    }
    match (facts.experts, facts.expert_feed_forward) {
        (Some(count), Some(width)) if count > 0 => {
            let (count, width) = (u64::from(count), u64::from(width));
            let experts = if mix.experts == mix.base {
                fine
            } else {
                mix.experts
            };
            out.extend([
                weight(Role::Router, TensorType::F32, [d, count, 1]),
                weight(Role::GateExperts, mix.experts, [d, width, count]),
                weight(Role::UpExperts, mix.experts, [d, width, count]),
                weight(Role::DownExperts, experts, [width, d, count]),
            ]);
            if family == Family::GptOss {
                out.extend([small(Role::RouterBias, count)]);
                out.extend([small(Role::ExpertBias, width * count); 2]);
                out.extend([small(Role::ExpertBias, d * count)]);
            }
        }
        _ => {
            let width = u64::from(facts.feed_forward);
            out.extend([
                weight(Role::Gate, mix.base, [d, width, 1]),
                weight(Role::Up, mix.base, [d, width, 1]),
                weight(Role::Down, fine, [width, d, 1]),
            ]);
        }
    }
    out
}
