use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use plimsoll_gguf::TensorType;
use plimsoll_units::Bytes;

use super::Load;
use crate::Shape;
use crate::shape::Layer;

/// How keys and values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheType {
    F16,
    Q8_0,
    Q4_0,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no cache type; f16, q8_0 and q4_0 are")]
pub struct UnknownCacheType(String);

impl CacheType {
    pub const ALL: [Self; 3] = [Self::F16, Self::Q8_0, Self::Q4_0];

    const fn tensor(self) -> TensorType {
        match self {
            Self::F16 => TensorType::F16,
            Self::Q8_0 => TensorType::Q8_0,
            Self::Q4_0 => TensorType::Q4_0,
        }
    }

    /// The word of llama-server's `-ctk` and `-ctv`.
    #[must_use]
    pub const fn argument(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Q8_0 => "q8_0",
            Self::Q4_0 => "q4_0",
        }
    }

    /// Bytes of one token's keys or values in a row of `values`.
    pub(crate) const fn row_bytes(self, values: u64) -> u64 {
        self.tensor().row_bytes(values)
    }
}

impl fmt::Display for CacheType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.argument())
    }
}

impl FromStr for CacheType {
    type Err = UnknownCacheType;
    fn from_str(text: &str) -> Result<Self, UnknownCacheType> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.argument() == text)
            .ok_or_else(|| UnknownCacheType(text.chars().take(40).collect()))
    }
}

/// llama.cpp rounds every cache up to this.
const CELL_STEP: u64 = 256;

/// Cells of one stream.
pub(super) fn cells(load: &Load) -> u64 {
    let context = u64::from(load.context.max(1)).next_multiple_of(CELL_STEP);
    if load.unified {
        context
    } else {
        (context / u64::from(load.slots.max(1)))
            .max(1)
            .next_multiple_of(CELL_STEP)
    }
}

/// Cells of one stream for layers that look back only so far. The server's slots share them when unified.
pub(super) fn window_cells(shape: &Shape, load: &Load) -> u64 {
    let slots = if load.unified {
        u64::from(load.slots.max(1))
    } else {
        1
    };
    let ubatch = load.ubatch.max(1).min(load.batch.max(1)).min(load.context.max(1));
    let wanted = u64::from(shape.window) * slots + u64::from(ubatch);
    wanted.min(cells(load)).next_multiple_of(CELL_STEP)
}

/// Context memory of a run of layers.
pub(super) fn of_run(shape: &Shape, load: &Load, layers: &Range<usize>) -> Bytes {
    if !load.flash_attention {
        let each = of_layers(shape, load).into_iter().enumerate();
        let here = each.filter(|(number, _)| layers.contains(number));
        return here.map(|(_, bytes)| bytes).sum();
    }
    let streams = streams(load);
    let cells = [cells(load), window_cells(shape, load)].map(|cells| cells.saturating_mul(streams));
    let cache = shape.tally.cache(layers, [load.key_type, load.value_type], cells);
    cache.plus(shape.tally.state(layers).times(states(load)))
}

/// Separate caches.
fn streams(load: &Load) -> u64 {
    if load.unified {
        1
    } else {
        u64::from(load.slots.max(1))
    }
}

/// States that each recurrent layer keeps.
fn states(load: &Load) -> u64 {
    u64::from(load.slots.max(1)) * (1 + u64::from(load.rollback))
}

/// Cache and state of each layer, for dividing layers over devices.
pub(crate) fn of_layers(shape: &Shape, load: &Load) -> Vec<Bytes> {
    let streams = streams(load);
    let (all, window) = (cells(load), window_cells(shape, load));
    let cells = |layer: &Layer| if layer.windowed { window } else { all };
    let widest = widest_values(shape, load);
    shape
        .layers
        .iter()
        .map(|layer| {
            let cache = token_bytes(layer, load, widest).times(cells(layer) * streams);
            cache.plus(state_bytes(shape, layer).times(states(load)))
        })
        .collect()
}

/// Recurrent state of one sequence in one layer, in single precision.
pub(super) fn state_bytes(shape: &Shape, layer: &Layer) -> Bytes {
    if layer.stateful {
        Bytes(4).times(shape.state.rows + shape.state.values)
    } else {
        Bytes::ZERO
    }
}

/// One saved state of the layers that cannot go back: what a checkpoint of llama-server takes per slot.
pub(crate) fn checkpoint_bytes(shape: &Shape, load: &Load) -> Bytes {
    let rows = u64::from(shape.window).min(window_cells(shape, load));
    let widest = widest_values(shape, load);
    let layers = shape.layers.iter().map(|layer| {
        let window = if layer.windowed {
            token_bytes(layer, load, widest).times(rows)
        } else {
            Bytes::ZERO
        };
        window.plus(state_bytes(shape, layer))
    });
    layers.sum()
}

/// Without flash attention values are kept by channel, and every layer has as many channels as the widest: values
/// of a token then, else 0.
fn widest_values(shape: &Shape, load: &Load) -> u64 {
    // A hybrid's cache leaves out layers that do not attend; any other has a place for each.
    if load.flash_attention || shape.layers.iter().any(|layer| layer.stateful) {
        return 0;
    }
    let rows = shape.layers.iter().map(Layer::value_row);
    rows.max().unwrap_or(0)
}

/// Keys and values of one token in one layer; `widest` as above.
fn token_bytes(layer: &Layer, load: &Load, widest: u64) -> Bytes {
    if !layer.cached && (widest == 0 || layer.reads_from.is_some()) {
        return Bytes::ZERO;
    }
    let values = if layer.value_width > 0 {
        layer.value_row().max(widest)
    } else {
        0
    };
    Bytes(load.key_type.row_bytes(layer.key_row()) + load.value_type.row_bytes(values))
}

/// Cache that attention reads for one more token after so many.
pub(crate) fn bytes_read(shape: &Shape, load: &Load, tokens: u32) -> Bytes {
    let all = u64::from(tokens);
    let seen = [all, all.min(u64::from(shape.window))];
    let types = [load.key_type, load.value_type];
    shape.tally.cache(&(0..shape.layers.len()), types, seen)
}

/// Width of the rotation that llama.cpp applies to keys before it quantises them; 0 for none.
pub(super) fn key_rotation(kind: CacheType, width: Option<u64>) -> u64 {
    match width {
        Some(width) if kind != CacheType::F16 && width > 0 && width.is_multiple_of(64) => {
            let mut rotation = 64;
            while width.is_multiple_of(2 * rotation) {
                rotation *= 2;
            }
            rotation
        }
        _ => 0,
    }
}

/// The same for values, where the smallest rotation is used.
pub(super) fn value_rotation(kind: CacheType, width: Option<u64>) -> u64 {
    match width {
        Some(width) if kind != CacheType::F16 && width > 0 && width.is_multiple_of(64) => 64,
        _ => 0,
    }
}
