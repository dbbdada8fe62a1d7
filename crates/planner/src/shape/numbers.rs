//! The numbers of a header, each within its bounds.

use plimsoll_gguf::{BadReason, Header, HeaderError};

use super::{Family, GraphKind, Layer, Role, Sections, Shape, StateSize, Traits, Turn};

/// No model comes near these; a header that does is broken, and sums below stay far from overflow.
pub(super) const LAYERS_MAX: u32 = 4096;
pub(super) const WIDTH_MAX: u32 = 1 << 20;
pub(super) const HEADS_MAX: u32 = 1 << 16;
pub(super) const VOCABULARY_MAX: u32 = 1 << 24;
pub(super) const CONTEXT_MAX: u32 = 1 << 27;
pub(super) const EXPERTS_MAX: u32 = 1 << 14;
/// Values of recurrent state in one layer.
pub(super) const STATE_MAX: u64 = 1 << 32;
/// The first layer of Gemma 3n without keys and values of its own (`n_layer_kv_from_start`).
pub(super) const SHARING_FROM: u32 = 20;

/// Reads numbers of one architecture, each within its bounds.
pub(super) struct Keys<'a> {
    pub(super) header: &'a Header,
    pub(super) architecture: &'a str,
}

impl Keys<'_> {
    pub(super) fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    pub(super) fn optional(&self, key: &str, max: u32) -> Result<Option<u32>, HeaderError> {
        let name = self.name(key);
        let value = self.header.metadata.u32(&name)?;
        value.map(|value| within(&name, value, max)).transpose()
    }

    pub(super) fn required(&self, key: &str, max: u32) -> Result<u32, HeaderError> {
        let name = self.name(key);
        let value = self.header.metadata.require_u32(&name)?;
        if value == 0 {
            Err(out_of_range(&name, value))
        } else {
            within(&name, value, max)
        }
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, HeaderError> {
        Ok(self
            .header
            .metadata
            .f64(&self.name(key))?
            .is_some_and(|value| value != 0.0))
    }

    pub(super) fn per_layer(
        &self,
        key: &str,
        layers: u32,
        max: u32,
    ) -> Result<Option<Vec<u32>>, HeaderError> {
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

pub(super) fn out_of_range(name: &str, value: impl Into<u64>) -> HeaderError {
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
    /// Sizes of recurrent state; `None` when they overflow.
    pub(super) fn remember(&mut self, numbers: &StateNumbers) -> Option<()> {
        let Some(layer) = self.layers.iter().find(|layer| layer.stateful) else {
            return Some(());
        };
        let &StateNumbers {
            groups,
            width,
            inner,
            heads,
            channel,
        } = numbers;
        let row = |role| {
            layer
                .find(role)
                .map_or(0, |weight| weight.dims[0].saturating_sub(1))
        };
        let (rows, values) = if layer.has(Role::ShortConv) {
            (row(Role::ShortConv).checked_mul(self.embedding.into())?, 0)
        } else if layer.has(Role::QueryConv) {
            let inner = u64::from(layer.heads).checked_mul(channel)?;
            (
                row(Role::QueryConv).checked_mul(3)?.checked_mul(inner)?,
                channel.checked_mul(inner)?,
            )
        } else {
            let channels = inner.checked_add(groups.checked_mul(width)?.checked_mul(2)?)?;
            (
                row(Role::StateConv).checked_mul(channels)?,
                width.checked_mul(inner)?,
            )
        };
        // Beyond any model; a header that says so is broken.
        if rows > STATE_MAX || values > STATE_MAX || (heads == 0 && values > 0 && channel == 0) {
            return None;
        }
        self.state = StateSize {
            groups,
            width,
            inner,
            heads,
            rows,
            values,
        };
        Some(())
    }
}

/// What the header says about recurrent state.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StateNumbers {
    pub(super) groups: u64,
    pub(super) width: u64,
    pub(super) inner: u64,
    pub(super) heads: u64,
    /// Width of a head of Kimi's delta rule.
    pub(super) channel: u64,
}

impl StateNumbers {
    pub(super) fn of(keys: &Keys) -> Result<Self, HeaderError> {
        let read = |key| Ok::<u64, HeaderError>(keys.optional(key, WIDTH_MAX)?.unwrap_or(0).into());
        Ok(Self {
            groups: read("ssm.group_count")?,
            width: read("ssm.state_size")?,
            inner: read("ssm.inner_size")?,
            heads: read("ssm.time_step_rank")?,
            channel: read("kda.head_dim")?,
        })
    }
}

pub(super) fn traits(keys: &Keys, family: &Family) -> Result<Traits, HeaderError> {
    let sections = match family.sections {
        Sections::Never => false,
        Sections::Always => true,
        Sections::IfSaid => keys
            .per_layer("rope.dimension_sections", 4, WIDTH_MAX)?
            .is_some_and(|parts| parts.iter().take(2).all(|&part| part > 0)),
    };
    let said = keys.header.metadata.bool(&keys.name("rope.scaling.finetuned"))?;
    let scale = keys.header.metadata.f64(&keys.name("expert_weights_scale"))?;
    let deep = if family.sections == Sections::Always {
        keys.optional("n_deepstack_layers", LAYERS_MAX)?.unwrap_or(0)
    } else {
        0
    };
    Ok(Traits {
        sections,
        turned: family.turn != Turn::IfSaid || said.unwrap_or(true),
        temperature: keys.flag("attention.temperature_scale")?,
        scaled_embedding: keys.flag("embedding_scale")?,
        scaled_residual: keys.flag("residual_scale")?,
        scaled_logits: keys.flag("logit_scale")?,
        capped_logits: keys.flag("final_logit_softcapping")?,
        experts_scaled: scale.is_some_and(|scale| scale != 0.0 && (scale - 1.0).abs() > f64::EPSILON),
        experts_normed: match family.norms_experts {
            Some(fixed) => fixed,
            None => keys
                .header
                .metadata
                .bool(&keys.name("expert_weights_norm"))?
                .unwrap_or(false),
        },
        expert_groups: keys.optional("expert_group_count", EXPERTS_MAX)?.unwrap_or(0),
        expert_groups_used: keys
            .optional("expert_group_used_count", EXPERTS_MAX)?
            .unwrap_or(0),
        deep_rows: deep,
        bare_norms: keys.optional("expert_count", EXPERTS_MAX)?.unwrap_or(0) != 128,
        sparse_layers: 10,
    })
}

/// Tokens that windowed layers look back, 0 for none.
pub(super) fn window(keys: &Keys, family: &Family, layers: u32) -> Result<u32, HeaderError> {
    if family.window_period.is_none() {
        return Ok(0);
    }
    let said = keys.optional("attention.sliding_window", CONTEXT_MAX)?;
    // llama.cpp takes the header's figure for a switch here, and EXAONE's window for a matter of its size.
    Ok(match (family.names_first(), said) {
        ("llama4", Some(0)) => 0,
        ("llama4", _) => family.window,
        ("exaone4", _) if layers != 64 => 0,
        ("exaone4", said) => said.unwrap_or(4096),
        (_, said) => said.unwrap_or(0),
    })
}

pub(super) fn layers(
    keys: &Keys,
    family: &'static Family,
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
    let width = |key| Ok::<u32, HeaderError>(keys.optional(key, WIDTH_MAX)?.unwrap_or(embedding / widest));
    let full = [width("attention.key_length")?, width("attention.value_length")?];
    let narrow = |key, full| Ok::<u32, HeaderError>(keys.optional(key, WIDTH_MAX)?.unwrap_or(full));
    let windowed_widths = [
        narrow("attention.key_length_swa", full[0])?,
        narrow("attention.value_length_swa", full[1])?,
    ];
    // Latent attention keeps keys only.
    let latent = keys.optional("attention.key_length_mla", WIDTH_MAX)?.unwrap_or(0) > 0;
    let pattern = windowed(keys, family, count, window)?;
    let sharing = keys.optional("attention.shared_kv_layers", LAYERS_MAX)?;
    let first_shared = match (family.graph, sharing) {
        (GraphKind::Gemma3n, _) => SHARING_FROM.min(count),
        (GraphKind::Gemma4, Some(shared)) => count.saturating_sub(shared),
        _ => count,
    };
    let mut layers = Vec::new();
    for (number, ((&heads, &kv_heads), windowed)) in (0u32..).zip(heads.iter().zip(&kv_heads).zip(pattern)) {
        let [key_width, value_width] = if windowed { windowed_widths } else { full };
        let mut layer = Layer::new(heads, kv_heads, [key_width, if latent { 0 } else { value_width }]);
        layer.windowed = windowed;
        if number >= first_shared {
            layer.cached = false;
            layer.reads_from = first_shared.checked_sub(if windowed { 2 } else { 1 });
        }
        layers.push(layer);
    }
    Ok(layers)
}

fn windowed(keys: &Keys, family: &Family, count: u32, window: u32) -> Result<Vec<bool>, HeaderError> {
    const PATTERN: &str = "attention.sliding_window_pattern";
    let Some(period) = family.window_period.filter(|_| window > 0) else {
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
