//! Attention over a cache, as `build_qkv`, `build_attn` and `build_attn_mha` of llama.cpp's `llama-graph.cpp`.

use super::build::{At, Builder, CacheInputs, Placed};
use super::graph::{F32, Id};
use crate::shape::{GraphKind, Layer, Role, Turn};

/// Query, key and value of a batch.
#[derive(Clone, Copy)]
pub(super) struct Triple {
    pub(super) query: Id,
    pub(super) key: Id,
    pub(super) value: Id,
}

/// What comes after the attention itself.
#[derive(Clone, Copy, Default)]
pub(super) struct Ending {
    pub(super) output: Option<Placed>,
    pub(super) bias: Option<Placed>,
    pub(super) sinks: Option<Placed>,
    /// Unfolds compressed values (latent attention).
    pub(super) unfold: Option<Placed>,
}

impl Ending {
    pub(super) fn of(at: At) -> Self {
        Self {
            output: at.find(Role::AttentionOutput),
            bias: at.find(Role::OutputBias),
            sinks: at.find(Role::Sinks),
            unfold: None,
        }
    }
}

impl Builder<'_> {
    /// Query, key and value as heads of a width each.
    pub(super) fn triple(&mut self, at: At, normed: Id, query_width: u64) -> Triple {
        let n = self.batch.tokens;
        let layer = at.layer;
        let [key_width, value_width] = [layer.key_width, layer.value_width].map(u64::from);
        let (heads, kv_heads) = (u64::from(layer.heads), u64::from(layer.kv_heads));
        if let Some(fused) = at.find(Role::FusedQkv) {
            let all = self.product(fused, normed);
            let all = self.with(at.find(Role::QueryBias), all);
            return Triple {
                query: self.graph.heads(all, query_width, heads, [n, 1]),
                key: self.graph.heads(all, key_width, kv_heads, [n, 1]),
                value: self.graph.heads(all, value_width, kv_heads, [n, 1]),
            };
        }
        let (query, key, value) = self.flat_triple(at, normed);
        Triple {
            query: self.graph.view(query, [query_width, heads, n, 1]),
            key: self.graph.view(key, [key_width, kv_heads, n, 1]),
            value: self.graph.view(value, [value_width, kv_heads, n, 1]),
        }
    }

    /// The three products with their biases, as rows.
    pub(super) fn flat_triple(&mut self, at: At, normed: Id) -> (Id, Id, Id) {
        if let Some(fused) = at.find(Role::FusedQkv) {
            let n = self.batch.tokens;
            let all = self.product(fused, normed);
            let all = self.with(at.find(Role::QueryBias), all);
            let (key, value) = (at.layer.key_row(), at.layer.value_row());
            let query = fused.dims[1].saturating_sub(key + value);
            return [query, key, value]
                .map(|width| {
                    let part = self.graph.part(all, [width, n, 1, 1]);
                    self.graph.contiguous(part, [width, n, 1, 1])
                })
                .into();
        }
        let mut one = |matrix, bias| {
            let rows = self.maybe_product(at.find(matrix), normed);
            self.with(at.find(bias), rows)
        };
        (
            one(Role::Query, Role::QueryBias),
            one(Role::Key, Role::KeyBias),
            one(Role::Value, Role::ValueBias),
        )
    }

    /// Whether the layer's query and key are turned by their position.
    pub(super) fn turns(&self, at: At) -> bool {
        let windows = self.shape.window > 0;
        match self.shape.family.turn {
            Turn::All => true,
            Turn::AllBut(period) => {
                (!windows && self.shape.family.window_period.is_some())
                    || !(at.number + 1).is_multiple_of(period)
            }
            Turn::Windowed => at.layer.windowed || !windows,
            Turn::IfSaid => self.shape.traits.turned,
            Turn::None => false,
        }
    }

    /// Rotary position.
    pub(super) fn turn(&mut self, at: At, of: Id) -> Id {
        let none = self.shape.rotation_factors.is_empty()
            || (self.shape.family.graph == GraphKind::Gemma4 && at.layer.windowed);
        let factors = if none {
            Id::NONE
        } else {
            self.graph.weight(at.seat.layer, 0)
        };
        self.graph.rope(of, self.inputs.positions, factors)
    }

    /// The rotation of a quantised cache.
    fn rotate(&mut self, of: Id, rotation: Id) -> Id {
        if of == Id::NONE || rotation == Id::NONE {
            return of;
        }
        let width = self.graph.dims(rotation)[0];
        let dims = self.graph.dims(of);
        let rows = dims.iter().product::<u64>() / width.max(1);
        let flat = self.graph.view(of, [width, rows, 1, 1]);
        let turned = self.graph.fresh(F32, [width, rows, 1, 1], &[rotation, flat]);
        self.graph.view(turned, dims)
    }

    /// Attention over keys and values; `key` and `value` are [`Id::NONE`] for a layer that reads another's cache.
    pub(super) fn attend(&mut self, at: At, triple: Triple, ending: Ending) -> Id {
        let windows = self.shape.window > 0;
        let cache = if at.layer.windowed {
            self.inputs.window
        } else {
            self.inputs.base
        };
        let query = self.rotate(triple.query, cache.key_rotation);
        let key = self.rotate(triple.key, cache.key_rotation);
        let value = self.rotate(triple.value, cache.value_rotation);
        self.graph.expand(query);
        // With a window cache llama.cpp lists the key first.
        let order = if windows { [key, value] } else { [value, key] };
        for id in order {
            if id != Id::NONE {
                self.graph.expand(id);
            }
        }
        let home = at
            .layer
            .reads_from
            .and_then(|number| self.place.seat(number))
            .map_or(at.seat.layer, |seat| seat.layer);
        let keys = self.graph.cache(
            home,
            self.cache_bytes(at.layer, at.layer.key_row(), self.batch.key_bytes_32),
        );
        let values = self.graph.cache(
            home,
            self.cache_bytes(at.layer, at.layer.value_row(), self.batch.value_bytes_32),
        );
        if key != Id::NONE {
            self.store(keys, key, cache.key_rows);
            self.store_values(values, value, cache);
        }
        let out = self.heads_attend(at, [query, keys, values], cache.mask, ending);
        let out = self.rotate(out, cache.value_rotation);
        let out = self.maybe_product(ending.output, out);
        self.with(ending.bias, out)
    }

    /// Latent attention: the compressed key serves as value too.
    pub(super) fn attend_latent(&mut self, at: At, triple: Triple, ending: Ending) -> Id {
        let cache = self.inputs.base;
        self.graph.expand(triple.query);
        self.graph.expand(triple.value);
        self.graph.expand(triple.key);
        let bytes = self.cache_bytes(at.layer, at.layer.key_row(), self.batch.key_bytes_32);
        let keys = self.graph.cache(at.seat.layer, bytes);
        self.store(keys, triple.key, cache.key_rows);
        let out = self.heads_attend(at, [triple.query, keys, Id::NONE], cache.mask, ending);
        self.maybe_product(ending.output, out)
    }

    fn cells(&self, layer: &Layer) -> u64 {
        if layer.windowed {
            self.batch.window.cells
        } else {
            self.batch.base.cells
        }
    }

    fn cache_bytes(&self, layer: &Layer, row: u64, bytes_32: u64) -> u64 {
        (row * bytes_32 / 32)
            .saturating_mul(self.cells(layer))
            .saturating_mul(self.batch.streams)
    }

    fn store(&mut self, cache: Id, rows: Id, places: Id) {
        let [width, heads, n, _] = self.graph.dims(rows);
        let flat = self.graph.view(rows, [width * heads, n, 1, 1]);
        let into = if self.batch.streams > 1 {
            self.graph.view(cache, [1; 4])
        } else {
            cache
        };
        let stored = self.graph.set_rows(into, flat, places);
        self.graph.expand(stored);
    }

    fn store_values(&mut self, cache: Id, rows: Id, inputs: CacheInputs) {
        if self.batch.flash {
            return self.store(cache, rows, inputs.value_rows);
        }
        let [width, heads, n, _] = self.graph.dims(rows);
        let dense = self.graph.strides(rows)[2] == u64::from(F32) * width * heads;
        let flat = if dense {
            self.graph.view(rows, [width * heads, n, 1, 1])
        } else {
            self.graph.contiguous(rows, [width * heads, n, 1, 1])
        };
        let single = self.graph.view(flat, [1, width * heads * n, 1, 1]);
        let into = self.graph.view(cache, [1; 4]);
        let stored = self.graph.set_rows(into, single, inputs.value_rows);
        self.graph.expand(stored);
    }

    /// A look at a whole cache, once as it lies and once with heads before cells.
    fn seen(&mut self, cache: Id, dims: [u64; 4]) -> Id {
        let bytes = self.graph[cache].bytes;
        let seen = self.graph.view(cache, dims);
        self.graph[seen].bytes = bytes;
        self.graph.permute(seen, [0, 2, 1, 3])
    }

    /// `build_attn_mha`. The third of the tensors is [`Id::NONE`] when keys are values.
    fn heads_attend(&mut self, at: At, tensors: [Id; 3], mask: Id, ending: Ending) -> Id {
        let [query, keys, values] = tensors;
        let (tokens, streams) = (self.batch.tokens, self.batch.streams);
        let layer = at.layer;
        let [width, heads, ..] = self.graph.dims(query);
        let (kv_heads, cells) = (u64::from(layer.kv_heads), self.cells(layer));
        let each = tokens / streams;
        let key_dims = [u64::from(layer.key_width), kv_heads, cells, streams];
        let query = self.graph.view(query, [width, heads, each, streams]);
        let query = self.graph.permute(query, [0, 2, 1, 3]);
        let seen_keys = self.seen(keys, key_dims);
        let value_width = ending
            .unfold
            .map_or(u64::from(layer.value_width), |unfold| unfold.dims[0]);
        let value_dims = [value_width, kv_heads, cells, streams];
        let seen_values = if values == Id::NONE {
            // A view of the view of the keys.
            let first = self.graph.view(keys, key_dims);
            let part = self.graph.view(first, value_dims);
            self.graph[part].bytes = self.graph[keys].bytes;
            self.graph.permute(part, [0, 2, 1, 3])
        } else {
            self.seen(values, value_dims)
        };
        let flat = if self.batch.flash {
            let sinks = ending.sinks.map_or(Id::NONE, |sinks| self.leaf(sinks));
            let given = [query, seen_keys, seen_values, mask, sinks];
            let dims = [value_width, heads, each, streams];
            let mut out = self.graph.attention(dims, &given);
            if let Some(unfold) = ending.unfold {
                let turned = self.graph.permute(out, [0, 2, 1, 3]);
                let unfolded = self.product(unfold, turned);
                let back = self.graph.permute(unfolded, [0, 2, 1, 3]);
                out = self
                    .graph
                    .contiguous(back, [unfold.dims[1], heads, each, streams]);
            }
            let [width, heads, ..] = self.graph.dims(out);
            self.graph.view(out, [width * heads, tokens, 1, 1])
        } else {
            self.slow_attend(
                at,
                [query, seen_keys, seen_values],
                mask,
                ending,
                values == Id::NONE,
            )
        };
        self.graph.expand(flat);
        flat
    }

    /// Without the fused kernel: scores for every cell, in single precision.
    fn slow_attend(&mut self, at: At, tensors: [Id; 3], mask: Id, ending: Ending, latent: bool) -> Id {
        let [query, keys, values] = tensors;
        let [_, each, heads, streams] = self.graph.dims(query);
        let cells = self.cells(at.layer);
        let scores = self
            .graph
            .fresh(F32, [cells, each, heads, streams], &[keys, query]);
        let sinks = ending.sinks.map_or(Id::NONE, |sinks| self.leaf(sinks));
        let odds = self.graph.in_place(scores, &[mask, sinks]);
        let mut width = self.graph.dims(values)[0];
        let values = if latent {
            let turned = self.graph.permute(values, [1, 0, 2, 3]);
            let dims = [cells, width, u64::from(at.layer.kv_heads), streams];
            // The kind of the cache stays.
            let whole = self.graph[values].bytes;
            let copy = self.graph.contiguous(turned, dims);
            self.graph[copy].bytes = whole / at.layer.key_row().max(1) * width;
            copy
        } else {
            values
        };
        let mut out = self
            .graph
            .fresh(F32, [width, each, heads, streams], &[values, odds]);
        if let Some(unfold) = ending.unfold {
            out = self.product(unfold, out);
            width = unfold.dims[1];
        }
        let back = self.graph.permute(out, [0, 2, 1, 3]);
        self.graph.contiguous(back, [width * heads, each * streams, 1, 1])
    }
}
