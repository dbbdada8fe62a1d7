//! The graph's description of a model.

use crate::Shape;
use crate::compute::network::{AttentionParts, FeedForward, Gating, Layer as Net, LayerWeights};
use crate::compute::{Network, Where};
use crate::shape::{Family, Role};

pub(super) fn of(shape: &Shape) -> Network {
    let layers = shape.layers.iter().map(|layer| {
        let rows = |role: Role| layer.find(role).map(|weight| weight.dims[1]);
        let feed_forward = if let Some(width) = rows(Role::UpExperts).or(rows(Role::GateExperts)) {
            FeedForward::Experts {
                count: shape.expert_count.into(),
                used: shape.experts_used.max(1).into(),
                width,
                biased: layer.has(Role::RouterBias),
                gating: match shape.family {
                    Family::GptOss => Gating::SoftmaxOfChosen,
                    Family::Llama
                    | Family::Qwen2
                    | Family::Qwen3
                    | Family::Qwen3Moe
                    | Family::Gemma3
                    | Family::General => Gating::SoftmaxNormed,
                },
                shared: rows(Role::SharedUp).unwrap_or(0),
            }
        } else {
            let gated = layer.has(Role::Gate);
            // A fused matrix holds gate and up.
            let width = rows(Role::Up).unwrap_or_else(|| 4 * u64::from(shape.embedding));
            FeedForward::Dense { width, gated }
        };
        let expert = layer.has(Role::UpExperts);
        let pick = |dense: Role, experts: Role| layer.bytes_of(if expert { experts } else { dense });
        Net {
            heads: layer.heads.into(),
            kv_heads: layer.kv_heads.into(),
            key_width: layer.key_width.into(),
            value_width: layer.value_width.into(),
            windowed: layer.windowed,
            attention: AttentionParts {
                fused: layer.has(Role::FusedQkv),
                query_bias: layer.has(Role::QueryBias),
                key_bias: layer.has(Role::KeyBias),
                value_bias: layer.has(Role::ValueBias),
                output_bias: layer.has(Role::OutputBias),
                head_norms: layer.has(Role::HeadNorm),
                scaled_query: shape.family.scales_query(),
                sinks: layer.has(Role::Sinks),
                post_norms: layer.has(Role::PostNorm),
            },
            feed_forward,
            fetched: LayerWeights {
                query: layer.bytes_of(Role::Query).max(layer.bytes_of(Role::FusedQkv)),
                key: layer.bytes_of(Role::Key),
                value: layer.bytes_of(Role::Value),
                output: layer.bytes_of(Role::AttentionOutput),
                gate: pick(Role::Gate, Role::GateExperts),
                up: pick(Role::Up, Role::UpExperts),
                down: pick(Role::Down, Role::DownExperts),
                router: layer.bytes_of(Role::Router),
            },
        }
    });
    Network {
        embedding: shape.embedding.into(),
        vocabulary: shape.vocabulary.into(),
        layers: layers.collect(),
        scaled_rows: shape.family.scales_rows(),
        capped_logits: shape.capped_logits,
        rotation_factors: shape.rotation_factors.is_some(),
        early_exit: shape.family.exits_early(),
    }
}

/// Layers kept at each end of a run of equal ones: more than a period of any known window pattern.
const KEPT: usize = 8;

/// Leaves out the middle of long runs of layers on the same backends. The allocator repeats itself from layer to
/// layer, so the buffers are the same; the test against the oracle runs through here.
pub(super) fn shorten(network: &mut Network, place: &mut Where) {
    let alike = |a: usize, b: usize| {
        let (one, other) = (&network.layers[a], &network.layers[b]);
        let shape = |layer: &Net| (layer.heads, layer.kv_heads, layer.key_width, layer.value_width);
        place.layers[a] == place.layers[b]
            && shape(one) == shape(other)
            && one.attention == other.attention
            && one.feed_forward == other.feed_forward
    };
    let count = network.layers.len().min(place.layers.len());
    let mut keep = vec![true; count];
    let mut start = 0;
    while start < count {
        let end = (start + 1..count)
            .find(|&next| !alike(start, next))
            .unwrap_or(count);
        if end - start > 2 * KEPT {
            keep[start + KEPT..end - KEPT].fill(false);
        }
        start = end;
    }
    let mut kept = keep.iter();
    network.layers.retain(|_| *kept.next().unwrap_or(&true));
    let mut kept = keep.iter();
    place.layers.retain(|_| *kept.next().unwrap_or(&true));
}
