use plimsoll_gguf::{Header, HeaderError, Tensor, TensorType};
use plimsoll_units::Bytes;

use super::numbers::{
    CONTEXT_MAX, EXPERTS_MAX, Keys, LAYERS_MAX, StateNumbers, VOCABULARY_MAX, WIDTH_MAX, layers,
    out_of_range, traits, window,
};
use super::{Family, GraphKind, Role, Shape, StateSize, Turn, Weight};
use crate::memory::{Memo, Tally};

/// Tensors of one layer; their places are kept in a byte.
const WEIGHTS_MAX: usize = 250;

impl Shape {
    /// Reads a shape from a header, with every number checked: a header that cannot be planned is an error, never
    /// a plan with nonsense in it.
    pub fn from_header(header: &Header) -> Result<Self, HeaderError> {
        let architecture = header.architecture()?;
        let family = Family::of(architecture);
        let keys = Keys { header, architecture };
        let layer_count = keys.required("block_count", LAYERS_MAX)?;
        let drafting = keys.optional("nextn_predict_layers", LAYERS_MAX)?.unwrap_or(0);
        if drafting >= layer_count {
            return Err(out_of_range(&keys.name("nextn_predict_layers"), drafting));
        }
        let embedding = keys.required("embedding_length", WIDTH_MAX)?;
        let context_trained = keys.required("context_length", CONTEXT_MAX)?;
        let expert_count = keys.optional("expert_count", EXPERTS_MAX)?.unwrap_or(0);
        let experts_used = keys
            .per_layer("expert_used_count", layer_count, EXPERTS_MAX)?
            .and_then(|used| used.into_iter().max())
            .unwrap_or(0);
        if expert_count > 0 && (experts_used == 0 || experts_used > expert_count) {
            return Err(out_of_range(&keys.name("expert_used_count"), experts_used));
        }
        let window = window(&keys, family, layer_count)?;

        let mut shape = Self {
            architecture: architecture.to_owned(),
            quant: quant_name(header),
            parameters: header
                .tensors
                .iter()
                .fold(0, |n: u64, tensor| n.saturating_add(tensor.values())),
            active_parameters: 0,
            file_bytes: header.file_bytes,
            context_trained,
            estimated: false,
            family,
            vocabulary: 0,
            embedding,
            window,
            expert_count,
            experts_used,
            traits: traits(&keys, family)?,
            state: StateSize::default(),
            tokenizer_words: words(header, "tokenizer.ggml.tokens")?,
            tokenizer_merges: words(header, "tokenizer.ggml.merges")?,
            input: Vec::new(),
            output: Vec::new(),
            rotation_factors: Vec::new(),
            tied_output: false,
            layers: layers(&keys, family, layer_count, embedding, window)?,
            drafting: Vec::new(),
            tally: Tally::default(),
            looks: Vec::new(),
            memo: Memo::default(),
        };
        shape.place(&header.tensors)?;
        if shape.layers.iter().any(|layer| layer.weights.is_empty()) {
            return Err(out_of_range(&keys.name("block_count"), layer_count));
        }
        let own = (layer_count - drafting) as usize;
        shape.drafting = shape.layers.split_off(own);
        shape.vocabulary = shape.vocabulary_of(&keys)?;
        shape.finish();
        let state = StateNumbers::of(&keys)?;
        shape
            .remember(&state)
            .ok_or_else(|| out_of_range(&keys.name("ssm.inner_size"), state.inner))?;
        Ok(shape.summed())
    }

    /// Sorts the tensors into layers.
    fn place(&mut self, tensors: &[Tensor]) -> Result<(), HeaderError> {
        for tensor in tensors {
            let name = tensor.name.as_str();
            let (number, rest) = match name.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
                Some((number, rest)) => (number.parse::<u32>().ok(), rest),
                None => (None, name),
            };
            let weight = |role| Weight {
                role,
                kind: tensor.kind,
                dims: [
                    tensor.dims[0],
                    tensor.dims[1],
                    tensor.dims[2].saturating_mul(tensor.dims[3]),
                ],
                bytes: tensor.bytes,
            };
            if let Some(number) = number {
                let large = tensor.dims[1] > 1 && rest.ends_with(".weight");
                let other = if large { Role::Matrix } else { Role::Small };
                let weight = weight(Role::of_layer(rest).unwrap_or(other));
                match self.layers.get_mut(number as usize) {
                    Some(layer) if layer.weights.len() < WEIGHTS_MAX => layer.weights.push(weight),
                    Some(_) | None => return Err(out_of_range(name, number)),
                }
                continue;
            }
            match name {
                "rope_freqs.weight" | "rope_factors_long.weight" | "rope_factors_short.weight" => {
                    self.rotation_factors.push(weight(Role::Small));
                }
                "output.weight" => self.output.push(weight(Role::Logits)),
                // LFM2 gives its last norm this name.
                "output_norm.weight" | "token_embd_norm.weight" => self.output.push(weight(Role::OutputNorm)),
                "altup_proj.weight" => self.output.push(weight(Role::AltupSplit)),
                "altup_unembd_proj.weight" => self.output.push(weight(Role::AltupMerge)),
                "per_layer_model_proj.weight" => self.first_layer(weight(Role::LayerInputs)),
                "per_layer_proj_norm.weight" => self.first_layer(weight(Role::LayerInputsNorm)),
                _ if name.starts_with("output") => self.output.push(weight(Role::Small)),
                _ => self.input.push(weight(Role::Rows)),
            }
        }
        Ok(())
    }

    /// Weights of the whole model that lie with the first layer.
    fn first_layer(&mut self, weight: Weight) {
        if let Some(layer) = self.layers.first_mut() {
            layer.weights.push(weight);
        }
    }

    fn vocabulary_of(&self, keys: &Keys) -> Result<u32, HeaderError> {
        let words = keys.header.metadata.array_len("tokenizer.ggml.tokens")?;
        let said = keys.optional("vocab_size", VOCABULARY_MAX)?;
        let rows = self
            .output_matrix()
            .or(self.token_rows())
            .map(|weight| weight.dims[1]);
        let count = rows.or(words).or(said.map(u64::from)).unwrap_or(0);
        u32::try_from(count)
            .ok()
            .filter(|count| (1..=VOCABULARY_MAX).contains(count))
            .ok_or_else(|| out_of_range("token_embd.weight", count))
    }

    /// The table of token rows, as wide as the model.
    fn token_rows(&self) -> Option<&Weight> {
        let width = u64::from(self.embedding);
        self.input
            .iter()
            .find(|weight| weight.dims[0] == width)
            .or(self.input.first())
    }

    pub(super) fn output_matrix(&self) -> Option<&Weight> {
        self.output.iter().find(|weight| weight.role == Role::Logits)
    }

    /// Ties the embedding to the output when there is no output matrix, counts what one token uses, and says of each
    /// layer what it keeps.
    pub(super) fn finish(&mut self) {
        if self.output_matrix().is_none()
            && let Some(&rows) = self.token_rows()
        {
            self.output.push(Weight {
                role: Role::Logits,
                ..rows
            });
            self.tied_output = true;
        }
        let values = |weight: &Weight| {
            let all = weight.dims.iter().fold(1u64, |n, &dim| n.saturating_mul(dim));
            if weight.role.is_expert() && self.expert_count > 0 {
                all / u64::from(self.expert_count) * u64::from(self.experts_used)
            } else {
                all
            }
        };
        let weights = self
            .layers
            .iter()
            .flat_map(|layer| &layer.weights)
            .chain(&self.output);
        self.active_parameters = weights
            .map(values)
            .fold(0, u64::saturating_add)
            .min(self.parameters);
        let (family, sparse, deep) = (self.family, self.traits.sparse_layers, self.traits.deep_rows);
        for (number, layer) in (0u32..).zip(self.layers.iter_mut().chain(&mut self.drafting)) {
            layer.settle(0);
            layer.stateful = [Role::StateConv, Role::ShortConv, Role::QueryConv]
                .into_iter()
                .any(|role| layer.has(role));
            if family.checked || layer.stateful {
                let attends = layer.has(Role::AttentionOutput) && !layer.has(Role::QueryConv);
                let pair = [Role::Query, Role::FusedQkv, Role::PairDown];
                layer.cached &= attends && pair.into_iter().any(|role| layer.has(role));
            }
            // What a family does by the layer's number.
            let turned = match family.turn {
                Turn::AllBut(period) => !(number + 1).is_multiple_of(period),
                Turn::All | Turn::Windowed | Turn::IfSaid | Turn::None => true,
            };
            let sparse = family.graph == GraphKind::Gemma3n && number < sparse;
            layer.settle(u64::from(turned) + 2 * u64::from(sparse) + 4 * u64::from(number < deep));
        }
    }
}

fn words(header: &Header, key: &str) -> Result<u32, HeaderError> {
    let count = header.metadata.array_len(key)?.unwrap_or(0);
    u32::try_from(count).map_err(|_| out_of_range(key, count))
}

/// The file's own word for its mix, or the type that most of its bytes have.
fn quant_name(header: &Header) -> String {
    if let Some(name) = header.quant() {
        return name.to_owned();
    }
    TensorType::ALL
        .iter()
        .map(|&kind| {
            let bytes: Bytes = header
                .tensors
                .iter()
                .filter(|t| t.kind == kind)
                .map(|t| t.bytes)
                .sum();
            (bytes, kind)
        })
        .max_by_key(|(bytes, _)| *bytes)
        .map_or_else(String::new, |(_, kind)| kind.name().to_owned())
}
