use std::ops::Range;

use super::{Load, Pool};
use crate::Shape;

/// Which backend gets which layer: llama.cpp's own rule, in its own arithmetic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) layers: Vec<u8>,
    pub(crate) output: u8,
    /// The number after the last device.
    pub(crate) host: u8,
    pub(crate) host_experts: u32,
    pub(crate) full: bool,
    pub(crate) pipelined: bool,
}

impl Placement {
    /// Layers in a row in one place, from the first to the last.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (u8, Range<usize>)> {
        let mut from = 0;
        self.layers.chunk_by(|a, b| a == b).map(move |run| {
            let layers = from..from + run.len();
            from = layers.end;
            (run[0], layers)
        })
    }

    pub(crate) fn of(shape: &Shape, load: &Load, pools: &[Pool]) -> Self {
        let host = u8::try_from(pools.len()).unwrap_or(u8::MAX);
        let layer_count = shape.layers_all();
        let on_devices = if pools.is_empty() {
            0
        } else {
            load.gpu_layers.min(layer_count.saturating_add(1))
        };
        let first = layer_count.saturating_add(1).saturating_sub(load.gpu_layers);
        let bounds = bounds(load, pools);
        let at = |layer: u32| {
            if layer < first || layer - first >= on_devices {
                return host;
            }
            if pools.len() == 1 {
                return 0;
            }
            // llama.cpp divides in single precision.
            #[expect(clippy::cast_precision_loss, reason = "layer numbers are small")]
            let fraction = (layer - first) as f32 / on_devices as f32;
            let device = bounds.iter().take_while(|&&bound| bound <= fraction).count();
            u8::try_from(device.min(pools.len().saturating_sub(1))).unwrap_or(host)
        };
        let full = !pools.is_empty() && load.gpu_layers > layer_count;
        Self {
            layers: (0..layer_count).map(at).take(shape.layers.len()).collect(),
            output: at(layer_count),
            host,
            host_experts: if shape.has_experts() { load.host_experts } else { 0 },
            full,
            pipelined: full
                && pools.len() > 1
                && (load.host_experts == 0 || !shape.has_experts())
                && pools.iter().all(|pool| pool.backend.pipelines()),
        }
    }
}

/// Cumulative shares of the devices, by free memory unless the shares are given.
fn bounds(load: &Load, pools: &[Pool]) -> Vec<f32> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "llama.cpp keeps shares in single precision"
    )]
    let given = |at: usize| load.tensor_split.get(at).map_or(0.0, |share| *share as f32);
    let by_free = load.tensor_split.iter().all(|share| *share == 0.0);
    let mut sum = 0.0f32;
    let mut bounds = Vec::with_capacity(pools.len());
    for (at, pool) in pools.iter().enumerate() {
        #[expect(
            clippy::cast_precision_loss,
            reason = "llama.cpp keeps shares in single precision"
        )]
        let share = if by_free { pool.free.0 as f32 } else { given(at) };
        sum += share;
        bounds.push(sum);
    }
    bounds
        .iter()
        .map(|bound| if sum > 0.0 { bound / sum } else { 1.0 })
        .collect()
}
