//! A shape without a file: the tensors that llama-quantize would make from the catalog's numbers.

use plimsoll_catalog::{Model, ShapeFacts, Variant};
use plimsoll_gguf::TensorType;
use plimsoll_units::Bytes;

use super::numbers::StateNumbers;
use super::{Family, GraphKind, Layer, Role, Sections, Shape, StateSize, Traits, Turn, Weight, tensors};
use crate::memory::{Memo, Tally};

impl Shape {
    /// What the variant's header will say, as far as its numbers and the usual rules tell. Replaced by the header
    /// itself as soon as there is one.
    #[must_use]
    pub fn from_catalog(model: &Model, variant: &Variant) -> Self {
        let bytes = variant.bytes();
        let facts = &model.shape;
        let mix = Mix::of(&variant.quant);
        // Some publishers store the output matrix although it equals the embedding, and some leave the drafting
        // layers out: the size of the file tells.
        let ties = if facts.tied_embeddings {
            &[true, false][..]
        } else {
            &[false]
        };
        let drafts = facts.mtp_layers.unwrap_or(0);
        let drafts = if drafts > 0 { &[drafts, 0][..] } else { &[0] };
        let value_heads = value_heads(model, mix);
        let mut best: Option<(u64, Self)> = None;
        for &tied in ties {
            for &drafts in drafts {
                let shape = build(
                    model,
                    variant,
                    &Guess {
                        mix,
                        tied,
                        drafts,
                        value_heads,
                    },
                );
                let miss = shape
                    .data_bytes()
                    .plus(tokenizer_bytes(facts))
                    .0
                    .abs_diff(bytes.0);
                if best.as_ref().is_none_or(|(least, _)| miss < *least) {
                    best = Some((miss, shape));
                }
            }
        }
        let first = || {
            build(
                model,
                variant,
                &Guess {
                    mix,
                    tied: false,
                    drafts: 0,
                    value_heads,
                },
            )
        };
        best.map_or_else(first, |(_, shape)| shape)
            .scaled_to(bytes)
            .summed()
    }

    fn data_bytes(&self) -> Bytes {
        let layers = self
            .layers
            .iter()
            .chain(&self.drafting)
            .flat_map(|layer| &layer.weights);
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
        for layer in self.layers.iter_mut().chain(&mut self.drafting) {
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
pub(super) struct Mix {
    pub(super) base: TensorType,
    /// For the output, and for half of the layers' most sensitive matrices.
    pub(super) fine: TensorType,
    /// The mix gives those matrices more bits.
    pub(super) medium: bool,
    pub(super) experts: TensorType,
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
pub(super) fn fitting(kind: TensorType, row: u64) -> TensorType {
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

/// What the catalog's numbers leave open.
struct Guess {
    mix: Mix,
    tied: bool,
    drafts: u32,
    value_heads: u32,
}

/// Heads of the gated delta rule's values, which the catalog does not tell: the count of parameters does.
fn value_heads(model: &Model, mix: Mix) -> u32 {
    const KNOWN: [u32; 4] = [16, 32, 48, 64];
    let facts = &model.shape;
    if Family::of(&facts.architecture).graph != GraphKind::DeltaNet {
        return 0;
    }
    let miss = |heads: u32| {
        let numbers = numbers(facts, heads);
        let parts = (0..facts.layers).flat_map(|number| tensors::layer(facts, &numbers, mix, number).weights);
        let rows = u64::from(facts.embedding) * u64::from(facts.vocabulary);
        let ends = if facts.tied_embeddings { rows } else { 2 * rows };
        let all = parts
            .map(|weight| weight.dims.iter().product::<u64>())
            .sum::<u64>()
            + ends;
        all.abs_diff(model.parameters)
    };
    KNOWN
        .into_iter()
        .min_by_key(|&heads| miss(heads))
        .unwrap_or(KNOWN[1])
}

fn build(model: &Model, variant: &Variant, guess: &Guess) -> Shape {
    let facts = &model.shape;
    let family = Family::of(&facts.architecture);
    let mix = guess.mix;
    let (d, vocabulary) = (u64::from(facts.embedding), u64::from(facts.vocabulary));
    let numbers = numbers(facts, guess.value_heads);
    let rows = |role, kind| Weight::of(role, kind, [d, vocabulary, 1]);
    let mut output = vec![Weight::of(Role::OutputNorm, TensorType::F32, [d, 1, 1])];
    if !guess.tied {
        output.push(rows(Role::Logits, mix.fine));
    }
    let mut input = vec![rows(Role::Rows, if guess.tied { mix.fine } else { mix.base })];
    let mut layers: Vec<Layer> = (0..facts.layers)
        .map(|number| tensors::layer(facts, &numbers, mix, number))
        .collect();
    input.extend(tensors::of_the_model(facts, mix, &mut layers));
    let drafting = (0..guess.drafts)
        .map(|_| tensors::drafting(facts, &numbers, mix))
        .collect();
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
        window: window(facts).map_or(0, |(window, _)| window),
        expert_count: facts.experts.unwrap_or(0),
        experts_used: facts.experts_used.unwrap_or(0),
        traits: traits(facts),
        state: StateSize::default(),
        tokenizer_words: facts.vocabulary,
        // Gemma's tokenizer has no table of merges; the others have about one a word.
        tokenizer_merges: if family.scaled_rows { 0 } else { facts.vocabulary },
        input,
        output,
        rotation_factors: Vec::new(),
        layers,
        drafting,
        tied_output: false,
        tally: Tally::default(),
        looks: Vec::new(),
        memo: Memo::default(),
    };
    shape.finish();
    // The catalog's numbers are checked when it is packaged; a state that overflows counts as none.
    let _ = shape.remember(&numbers);
    shape.active_parameters = model.active_parameters;
    shape
}

/// Tokens of the window, and every how many layers there is none.
pub(super) fn window(facts: &ShapeFacts) -> Option<(u32, u32)> {
    let family = Family::of(&facts.architecture);
    let period = facts.sliding_window_period.or(family.window_period)?;
    family.window_period?;
    let window = facts
        .sliding_window
        .or((family.window > 0).then_some(family.window))?;
    (window > 0 && period > 0).then_some((window, period))
}

/// Sizes of recurrent state, as the header would give them. `value_heads` where the catalog does not know.
pub(super) fn numbers(facts: &ShapeFacts, value_heads: u32) -> StateNumbers {
    let Some(state) = facts.recurrent else {
        return StateNumbers::default();
    };
    let heads = state.time_step_rank.or(state.heads).unwrap_or(value_heads);
    let width = state.state_size.unwrap_or(0);
    let inner = state
        .inner_size
        .unwrap_or_else(|| heads.saturating_mul(state.head_dim.unwrap_or(width)));
    StateNumbers {
        // Every model of the delta rule so far has sixteen heads of keys.
        groups: state.groups.unwrap_or(16).into(),
        width: width.into(),
        inner: inner.into(),
        heads: heads.into(),
        channel: 0,
    }
}

pub(super) fn traits(facts: &ShapeFacts) -> Traits {
    let family = Family::of(&facts.architecture);
    let is = |names: &[&str]| names.contains(&facts.architecture.as_str());
    let granite = is(&["granite", "granitehybrid"]);
    Traits {
        sections: family.sections == Sections::Always,
        turned: family.turn != Turn::IfSaid || !is(&["granitehybrid"]),
        temperature: is(&["mistral3"]),
        scaled_embedding: granite,
        scaled_residual: granite,
        scaled_logits: granite,
        capped_logits: is(&["gemma3n", "gemma4"]),
        experts_scaled: is(&["deepseek2", "nemotron_h_moe"]),
        experts_normed: family.norms_experts.unwrap_or(true),
        expert_groups: 0,
        expert_groups_used: 0,
        // Qwen3-VL hands rows of three depths to its first layers.
        deep_rows: if is(&["qwen3vl", "qwen3vlmoe"]) { 3 } else { 0 },
        bare_norms: facts.experts != Some(128),
        sparse_layers: 10,
    }
}
