use plimsoll_gguf::{BadReason, Header, HeaderError, Tensor, TensorType};
use plimsoll_units::Bytes;

use super::{Family, Layer, Role, Shape, Weight};

/// No model comes near these; a header that does is broken, and sums below stay far from overflow.
const LAYERS_MAX: u32 = 4096;
const WIDTH_MAX: u32 = 1 << 20;
const HEADS_MAX: u32 = 1 << 16;
const VOCABULARY_MAX: u32 = 1 << 24;
const CONTEXT_MAX: u32 = 1 << 27;
const EXPERTS_MAX: u32 = 1 << 14;

/// Reads numbers of one architecture, each within its bounds.
struct Keys<'a> {
    header: &'a Header,
    architecture: &'a str,
}

impl Keys<'_> {
    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    fn optional(&self, key: &str, max: u32) -> Result<Option<u32>, HeaderError> {
        let name = self.name(key);
        let value = self.header.metadata.u32(&name)?;
        value.map(|value| within(&name, value, max)).transpose()
    }

    fn required(&self, key: &str, max: u32) -> Result<u32, HeaderError> {
        let name = self.name(key);
        let value = self.header.metadata.require_u32(&name)?;
        if value == 0 {
            Err(out_of_range(&name, value))
        } else {
            within(&name, value, max)
        }
    }

    fn per_layer(&self, key: &str, layers: u32, max: u32) -> Result<Option<Vec<u32>>, HeaderError> {
        let name = self.name(key);
        let values = self.header.metadata.u32_per_layer(&name, layers)?;
        if let Some(values) = &values {
            for &value in values {
                within(&name, value, max)?;
            }
        }
        Ok(values)
    }
}

fn out_of_range(name: &str, value: impl Into<u64>) -> HeaderError {
    let value: u64 = value.into();
    HeaderError::BadField {
        field: name.into(),
        reason: BadReason::OutOfRange {
            value: value.to_string(),
        },
    }
}

fn missing(name: &str) -> HeaderError {
    HeaderError::BadField {
        field: name.into(),
        reason: BadReason::Missing,
    }
}

fn within(name: &str, value: u32, max: u32) -> Result<u32, HeaderError> {
    if value > max {
        Err(out_of_range(name, value))
    } else {
        Ok(value)
    }
}

impl Shape {
    /// Reads a shape from a header, with every number checked: a header that cannot be planned is an error, never
    /// a plan with nonsense in it.
    pub fn from_header(header: &Header) -> Result<Self, HeaderError> {
        let architecture = header.architecture()?;
        let family = Family::of(architecture);
        let keys = Keys { header, architecture };
        let layer_count = keys.required("block_count", LAYERS_MAX)?;
        let embedding = keys.required("embedding_length", WIDTH_MAX)?;
        let context_trained = keys.required("context_length", CONTEXT_MAX)?;
        let expert_count = keys.optional("expert_count", EXPERTS_MAX)?.unwrap_or(0);
        let experts_used = keys.optional("expert_used_count", EXPERTS_MAX)?.unwrap_or(0);
        if expert_count > 0 && (experts_used == 0 || experts_used > expert_count) {
            return Err(out_of_range(&keys.name("expert_used_count"), experts_used));
        }
        let window = keys
            .optional("attention.sliding_window", CONTEXT_MAX)?
            .unwrap_or(0);
        let capped_logits = header
            .metadata
            .f64(&keys.name("final_logit_softcapping"))?
            .is_some_and(|cap| cap != 0.0);

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
            window: if family.window_period().is_some() {
                window
            } else {
                0
            },
            capped_logits,
            expert_count,
            experts_used,
            tokenizer_words: words(header, "tokenizer.ggml.tokens")?,
            tokenizer_merges: words(header, "tokenizer.ggml.merges")?,
            input: Vec::new(),
            output: Vec::new(),
            rotation_factors: None,
            tied_output: false,
            layers: layers(&keys, family, layer_count, embedding, window)?,
        };
        shape.place(&header.tensors)?;
        if shape.layers.iter().any(|layer| layer.weights.is_empty()) {
            return Err(out_of_range(&keys.name("block_count"), layer_count));
        }
        shape.vocabulary = shape.vocabulary_of(&keys)?;
        shape.finish();
        Ok(shape)
    }

    /// Sorts the tensors into layers.
    fn place(&mut self, tensors: &[Tensor]) -> Result<(), HeaderError> {
        for tensor in tensors {
            let name = tensor.name.as_str();
            let (number, rest) = match name.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
                Some((number, rest)) => (number.parse::<u32>().ok(), rest),
                None => (None, name),
            };
            let weight = Weight {
                role: role(rest, tensor, self.family),
                kind: tensor.kind,
                dims: [
                    tensor.dims[0],
                    tensor.dims[1],
                    tensor.dims[2].saturating_mul(tensor.dims[3]),
                ],
                bytes: tensor.bytes,
            };
            match number {
                Some(number) => match self.layers.get_mut(number as usize) {
                    Some(layer) => layer.weights.push(weight),
                    None => return Err(out_of_range(name, number)),
                },
                None if name == "rope_freqs.weight" => self.rotation_factors = Some(weight),
                None if name.starts_with("output") => self.output.push(weight),
                None => self.input.push(Weight {
                    role: Role::Rows,
                    ..weight
                }),
            }
        }
        Ok(())
    }

    fn vocabulary_of(&self, keys: &Keys) -> Result<u32, HeaderError> {
        let words = keys.header.metadata.array_len("tokenizer.ggml.tokens")?;
        let said = keys.optional("vocab_size", VOCABULARY_MAX)?;
        let rows = self
            .output_matrix()
            .or(self.input.first())
            .map(|weight| weight.dims[1]);
        let count = rows.or(words).or(said.map(u64::from)).unwrap_or(0);
        u32::try_from(count)
            .ok()
            .filter(|count| (1..=VOCABULARY_MAX).contains(count))
            .ok_or_else(|| out_of_range("token_embd.weight", count))
    }

    pub(super) fn output_matrix(&self) -> Option<&Weight> {
        self.output.iter().find(|weight| weight.role == Role::Logits)
    }

    /// Ties the embedding to the output when there is no output matrix, and counts what one token uses.
    pub(super) fn finish(&mut self) {
        if self.output_matrix().is_none()
            && let Some(&rows) = self.input.first()
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
    }
}

fn layers(
    keys: &Keys,
    family: Family,
    count: u32,
    embedding: u32,
    window: u32,
) -> Result<Vec<Layer>, HeaderError> {
    const HEADS: &str = "attention.head_count";
    let heads = keys
        .per_layer(HEADS, count, HEADS_MAX)?
        .ok_or_else(|| missing(&keys.name(HEADS)))?;
    let kv_heads = keys
        .per_layer("attention.head_count_kv", count, HEADS_MAX)?
        .unwrap_or_else(|| heads.clone());
    let widest = heads.iter().copied().max().unwrap_or(0);
    if widest == 0 {
        return Err(out_of_range(&keys.name(HEADS), 0u32));
    }
    let key_width = keys
        .optional("attention.key_length", WIDTH_MAX)?
        .unwrap_or(embedding / widest);
    let value_width = keys
        .optional("attention.value_length", WIDTH_MAX)?
        .unwrap_or(embedding / widest);
    let latent = keys.optional("attention.kv_lora_rank", WIDTH_MAX)?.unwrap_or(0) > 0;
    let pattern = windowed(keys, family, count, window)?;
    let mut layers = Vec::new();
    for ((&heads, &kv_heads), windowed) in heads.iter().zip(&kv_heads).zip(pattern) {
        layers.push(Layer {
            heads,
            kv_heads,
            key_width,
            // Latent attention keeps keys only.
            value_width: if latent { 0 } else { value_width },
            windowed,
            weights: Vec::new(),
        });
    }
    Ok(layers)
}

fn windowed(keys: &Keys, family: Family, count: u32, window: u32) -> Result<Vec<bool>, HeaderError> {
    const PATTERN: &str = "attention.sliding_window_pattern";
    let Some(period) = family.window_period().filter(|_| window > 0) else {
        return Ok(vec![false; count as usize]);
    };
    if let Some(pattern) = keys.header.metadata.bool_per_layer(&keys.name(PATTERN), count)? {
        return Ok(pattern);
    }
    let period = keys.optional(PATTERN, LAYERS_MAX)?.unwrap_or(period);
    Ok((0..count)
        .map(|layer| period == 0 || layer % period < period - 1)
        .collect())
}

fn role(rest: &str, tensor: &Tensor, family: Family) -> Role {
    match rest {
        "attn_q.weight" => Role::Query,
        "attn_k.weight" => Role::Key,
        "attn_v.weight" => Role::Value,
        "attn_qkv.weight" => Role::FusedQkv,
        "attn_output.weight" => Role::AttentionOutput,
        "ffn_gate.weight" => Role::Gate,
        "ffn_up.weight" => Role::Up,
        "ffn_down.weight" => Role::Down,
        "ffn_gate_inp.weight" => Role::Router,
        "ffn_gate_exps.weight" => Role::GateExperts,
        "ffn_up_exps.weight" | "ffn_gate_up_exps.weight" => Role::UpExperts,
        "ffn_down_exps.weight" => Role::DownExperts,
        "ffn_gate_shexp.weight" => Role::SharedGate,
        "ffn_up_shexp.weight" => Role::SharedUp,
        "ffn_down_shexp.weight" => Role::SharedDown,
        "output.weight" => Role::Logits,
        "attn_q.bias" | "attn_qkv.bias" => Role::QueryBias,
        "attn_k.bias" => Role::KeyBias,
        "attn_v.bias" => Role::ValueBias,
        "attn_output.bias" => Role::OutputBias,
        "ffn_gate_inp.bias" => Role::RouterBias,
        "ffn_gate_exps.bias" | "ffn_up_exps.bias" | "ffn_down_exps.bias" => Role::ExpertBias,
        "attn_q_norm.weight" | "attn_k_norm.weight" => Role::HeadNorm,
        // gpt-oss gives this name to the norm before its experts.
        "post_attention_norm.weight" | "post_ffw_norm.weight" if family != Family::GptOss => Role::PostNorm,
        "attn_sinks.weight" => Role::Sinks,
        _ if tensor.dims[1] > 1 && rest.ends_with(".weight") => Role::Matrix,
        _ => Role::Small,
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
