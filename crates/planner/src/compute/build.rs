//! The graph of a transformer's forward pass, node for node as llama.cpp's model files build it.
//!
//! One builder serves all families: what differs between them (norms, biases, experts, windows) is said by a
//! [`Layer`]. The order of the `expand` calls is llama.cpp's, because memory depends on it.

use super::Backend;
use super::graph::{F16, F32, Graph, I32, I64, Id};
use super::network::{Batch, FeedForward, Gating, Layer, Network, Seat, Where};

struct Inputs {
    positions: Id,
    base: CacheInputs,
    window: CacheInputs,
    output_rows: Id,
}

#[derive(Clone, Copy)]
struct CacheInputs {
    key_rows: Id,
    value_rows: Id,
    mask: Id,
    key_rotation: Id,
    value_rotation: Id,
}

/// The experts that a row goes to.
#[derive(Clone, Copy)]
struct Chosen {
    used: u64,
    biased: bool,
    home: Backend,
    ids: Id,
}

struct Builder<'a> {
    graph: Graph,
    network: &'a Network,
    batch: &'a Batch,
    place: &'a Where,
}

pub(crate) fn build(network: &Network, batch: &Batch, place: &Where) -> Graph {
    let mut builder = Builder {
        graph: Graph::with_capacity(80 * network.layers.len() + 64),
        network,
        batch,
        place,
    };
    builder.all();
    builder.graph
}

impl Builder<'_> {
    fn all(&mut self) {
        let mut state = self.embed();
        let inputs = self.inputs();
        let last = self.network.layers.len().saturating_sub(1);
        for number in 0..self.network.layers.len() {
            state = self.layer(number, number == last, state, &inputs);
        }
        self.logits(state, inputs.output_rows);
    }

    fn embed(&mut self) -> Id {
        let (d, n) = (self.network.embedding, self.batch.tokens);
        let host = self.place.host;
        let table = self.graph.weight(host, 0);
        let tokens = self.graph.input(I32, [n, 1, 1, 1]);
        let embedded = self.graph.input(F32, [d, n, 1, 1]);
        let rows = self.graph.fresh(F32, [d, n, 1, 1], &[table, tokens]);
        self.graph.expand(rows);
        // The other ways in are not used by text, but have their memory.
        self.graph.expand(embedded);
        if self.batch.mixed_input {
            let tokens = self.graph.input(I32, [n, 1, 1, 1]);
            let places = self.graph.input(I64, [n, 1, 1, 1]);
            let embedded = self.graph.input(F32, [d, n, 1, 1]);
            let base = self.graph.fresh(F32, [d, n, 1, 1], &[embedded]);
            let mixed_rows = self.graph.fresh(F32, [d, n, 1, 1], &[table, tokens]);
            let mixed = self.graph.set_rows(base, mixed_rows, places);
            self.graph.expand(mixed);
        }
        if !self.network.scaled_rows {
            return rows;
        }
        let scale = self.graph.input(F32, [1, n, 1, 1]);
        let scaled = self.graph.in_place(rows, &[scale]);
        self.graph.expand(scaled);
        scaled
    }

    fn inputs(&mut self) -> Inputs {
        let n = self.batch.tokens;
        let positions = self.graph.input(I32, [n, 1, 1, 1]);
        let base = self.cache_inputs(self.batch.cells);
        let window = if self.batch.windowed {
            self.cache_inputs(self.batch.window_cells)
        } else {
            base
        };
        let output_rows = self.graph.input(I32, [self.batch.outputs, 1, 1, 1]);
        Inputs {
            positions,
            base,
            window,
            output_rows,
        }
    }

    fn cache_inputs(&mut self, cells: u64) -> CacheInputs {
        let Batch {
            tokens,
            streams,
            key_rotation,
            value_rotation,
            ..
        } = *self.batch;
        let mut square = |width| {
            if width > 0 {
                self.graph.input(F32, [width, width, 1, 1])
            } else {
                Id::NONE
            }
        };
        let (key_rotation, value_rotation) = (square(key_rotation), square(value_rotation));
        CacheInputs {
            key_rows: self.graph.input(I64, [tokens, 1, 1, 1]),
            value_rows: self.graph.input(I64, [tokens, 1, 1, 1]),
            mask: self.graph.input(F16, [cells, tokens / streams, 1, streams]),
            key_rotation,
            value_rotation,
        }
    }

    /// A norm with weights. llama.cpp pins the first of its two operations to the layer's device.
    fn norm(&mut self, of: Id, backend: Backend, pinned: bool) -> Id {
        let norm = self.graph.in_place(of, &[]);
        if pinned && self.place.pins_norms {
            self.graph[norm].backend = Some(backend);
        }
        let weight = self.graph.weight(backend, 0);
        self.graph.in_place(norm, &[weight])
    }

    fn product(&mut self, rows: u64, bytes: u64, backend: Backend, of: Id) -> Id {
        let weight = self.graph.weight(backend, bytes);
        let [_, n, a, b] = self.graph[of].dims;
        self.graph.product([rows, n, a, b], weight, &[of])
    }

    fn bias(&mut self, wanted: bool, backend: Backend, to: Id) -> Id {
        if !wanted {
            return to;
        }
        let weight = self.graph.weight(backend, 0);
        self.graph.in_place(to, &[weight])
    }

    fn layer(&mut self, number: usize, last: bool, state: Id, inputs: &Inputs) -> Id {
        let layer = &self.network.layers[number];
        let seat = self.place.layers[number];
        let backend = seat.layer;
        let (mut current, mut residual) = (self.attend(layer, backend, state, inputs), state);
        if last && self.network.early_exit {
            let [d, ..] = self.graph[current].dims;
            let dims = [d, self.batch.outputs, 1, 1];
            current = self.graph.fresh(F32, dims, &[current, inputs.output_rows]);
            residual = self.graph.fresh(F32, dims, &[residual, inputs.output_rows]);
        }
        if layer.attention.post_norms {
            current = self.norm(current, backend, true);
        }
        let sum = self.graph.in_place(current, &[residual]);
        let normed = self.norm(sum, backend, true);
        let mut out = match layer.feed_forward {
            FeedForward::Dense { width, gated } => self.dense(layer, width, gated, backend, normed),
            FeedForward::Experts { .. } => self.experts(layer, seat, normed),
        };
        if layer.attention.post_norms {
            out = self.norm(out, backend, false);
        }
        self.graph.in_place(out, &[sum])
    }

    fn attend(&mut self, layer: &Layer, backend: Backend, state: Id, inputs: &Inputs) -> Id {
        let parts = layer.attention;
        let n = self.batch.tokens;
        let normed = self.norm(state, backend, true);
        let (query, key, value) = self.project(layer, backend, normed);
        let query = self.turn(parts.head_norms, backend, query, inputs.positions);
        let key = self.turn(parts.head_norms, backend, key, inputs.positions);
        let mut query = if parts.scaled_query {
            self.graph.in_place(query, &[])
        } else {
            query
        };
        let cache = if layer.windowed {
            inputs.window
        } else {
            inputs.base
        };
        let (mut key, mut value) = (key, value);
        if cache.key_rotation != Id::NONE {
            query = self.rotate(query, cache.key_rotation);
            key = self.rotate(key, cache.key_rotation);
        }
        if cache.value_rotation != Id::NONE {
            value = self.rotate(value, cache.value_rotation);
        }
        self.graph.expand(query);
        // With a window cache llama.cpp lists the key first.
        let (second, third) = if self.batch.windowed {
            (key, value)
        } else {
            (value, key)
        };
        self.graph.expand(second);
        self.graph.expand(third);

        let key_cache = self.store(backend, key, cache.key_rows, n);
        let value_cache = self.store(backend, value, cache.value_rows, n);
        let attended = self.flash(layer, query, key_cache, value_cache, cache.mask, backend);
        let mut out = attended;
        if cache.value_rotation != Id::NONE {
            out = self.rotate(out, cache.value_rotation);
        }
        let out = self.product(self.network.embedding, layer.fetched.output, backend, out);
        self.bias(parts.output_bias, backend, out)
    }

    fn project(&mut self, layer: &Layer, backend: Backend, normed: Id) -> (Id, Id, Id) {
        let n = self.batch.tokens;
        let parts = layer.attention;
        let Layer {
            heads,
            kv_heads,
            key_width,
            value_width,
            fetched,
            ..
        } = *layer;
        let shapes = [
            [key_width, heads, n, 1],
            [key_width, kv_heads, n, 1],
            [value_width, kv_heads, n, 1],
        ];
        if parts.fused {
            let rows = key_width * (heads + kv_heads) + value_width * kv_heads;
            let all = self.product(rows, fetched.query + fetched.key + fetched.value, backend, normed);
            let all = self.bias(parts.query_bias, backend, all);
            let [query, key, value] = shapes.map(|dims| {
                let row = u64::from(F32) * rows;
                self.graph
                    .strided_view(all, dims, [F32.into(), u64::from(F32) * dims[0], row, row * n])
            });
            return (query, key, value);
        }
        let mut one = |dims: [u64; 4], bytes, biased| {
            let rows = self.product(dims[0] * dims[1], bytes, backend, normed);
            let rows = self.bias(biased, backend, rows);
            self.graph.view(rows, dims)
        };
        let query = one(shapes[0], fetched.query, parts.query_bias);
        let key = one(shapes[1], fetched.key, parts.key_bias);
        let value = one(shapes[2], fetched.value, parts.value_bias);
        (query, key, value)
    }

    /// Norm per head (where the family has one) and rotary position.
    fn turn(&mut self, normed: bool, backend: Backend, of: Id, positions: Id) -> Id {
        let of = if normed { self.norm(of, backend, true) } else { of };
        let factors = if self.network.rotation_factors {
            self.graph.weight(backend, 0)
        } else {
            Id::NONE
        };
        self.graph.rope(of, positions, factors)
    }

    /// The rotation of a quantised cache.
    fn rotate(&mut self, of: Id, rotation: Id) -> Id {
        let width = self.graph[rotation].dims[0];
        let dims = self.graph[of].dims;
        let rows = dims.iter().product::<u64>() / width.max(1);
        let flat = self.graph.view(of, [width, rows, 1, 1]);
        let turned = self.graph.fresh(F32, [width, rows, 1, 1], &[rotation, flat]);
        self.graph.view(turned, dims)
    }

    fn store(&mut self, backend: Backend, rows: Id, places: Id, tokens: u64) -> Id {
        let cache = self.graph.cache(backend);
        let [width, heads, ..] = self.graph[rows].dims;
        let flat = self.graph.view(rows, [width * heads, tokens, 1, 1]);
        let into = if self.batch.streams > 1 {
            self.graph.view(cache, [1; 4])
        } else {
            cache
        };
        let stored = self.graph.set_rows(into, flat, places);
        self.graph.expand(stored);
        cache
    }

    fn flash(&mut self, layer: &Layer, query: Id, keys: Id, values: Id, mask: Id, backend: Backend) -> Id {
        let Batch {
            tokens,
            streams,
            cells,
            window_cells,
            ..
        } = *self.batch;
        let cells = if layer.windowed { window_cells } else { cells };
        let Layer {
            heads,
            kv_heads,
            key_width,
            value_width,
            ..
        } = *layer;
        let each = tokens / streams;
        let query = self.graph.view(query, [key_width, heads, each, streams]);
        let query = self.graph.view(query, [key_width, each, heads, streams]);
        let view_twice = |graph: &mut Graph, cache, width| {
            let seen = graph.view(cache, [width, kv_heads, cells, streams]);
            graph.view(seen, [width, cells, kv_heads, streams])
        };
        let keys = view_twice(&mut self.graph, keys, key_width);
        let values = view_twice(&mut self.graph, values, value_width);
        let mut given = vec![query, keys, values, mask];
        if layer.attention.sinks {
            given.push(self.graph.weight(backend, 0));
        }
        let out = self.graph.attention([value_width, heads, each, streams], &given);
        self.graph.view(out, [value_width * heads, tokens, 1, 1])
    }

    fn dense(&mut self, layer: &Layer, width: u64, gated: bool, backend: Backend, normed: Id) -> Id {
        let d = self.network.embedding;
        let up = self.product(width, layer.fetched.up, backend, normed);
        let inner = if gated {
            let gate = self.product(width, layer.fetched.gate, backend, normed);
            let dims = self.graph[gate].dims;
            self.graph.fresh(F32, dims, &[gate, up])
        } else {
            self.graph.in_place(up, &[])
        };
        self.product(d, layer.fetched.down, backend, inner)
    }

    fn experts(&mut self, layer: &Layer, seat: Seat, normed: Id) -> Id {
        let FeedForward::Experts {
            count,
            used,
            width,
            biased,
            gating,
            shared,
        } = layer.feed_forward
        else {
            return normed;
        };
        let Seat {
            layer: backend,
            experts: home,
        } = seat;
        let [d, n, ..] = self.graph[normed].dims;
        let logits = self.product(count, layer.fetched.router, backend, normed);
        let logits = self.bias(biased, backend, logits);
        let odds = match gating {
            Gating::SoftmaxNormed => self.graph.in_place(logits, &[]),
            Gating::SoftmaxOfChosen => logits,
        };
        let sorted = self.graph.fresh(I32, [count, n, 1, 1], &[odds]);
        let stride = u64::from(I32) * count;
        let chosen = self.graph.strided_view(
            sorted,
            [used, n, 1, 1],
            [I32.into(), stride, stride * n, stride * n],
        );
        let odds = self.graph.view(odds, [1, count, n, 1]);
        let mut weights = self.graph.fresh(F32, [1, used, n, 1], &[odds, chosen]);
        match gating {
            Gating::SoftmaxNormed => {
                weights = self.graph.view(weights, [used, n, 1, 1]);
                let sum = self.graph.fresh(F32, [1, n, 1, 1], &[weights]);
                let sum = self.graph.in_place(sum, &[]);
                weights = self.graph.in_place(weights, &[sum]);
            }
            Gating::SoftmaxOfChosen => {
                weights = self.graph.view(weights, [used, n, 1, 1]);
                weights = self.graph.in_place(weights, &[]);
            }
        }
        weights = self.graph.view(weights, [1, used, n, 1]);
        self.graph.expand(weights);

        let rows = self.graph.view(normed, [d, 1, n, 1]);
        let chosen = Chosen {
            used,
            biased,
            home,
            ids: chosen,
        };
        let up = self.expert(rows, width, layer.fetched.up, chosen);
        let gate = self.expert(rows, width, layer.fetched.gate, chosen);
        let inner = self.graph.fresh(F32, [width, used, n, 1], &[gate, up]);
        let down = self.expert(inner, d, layer.fetched.down, chosen);
        let weighted = self.graph.in_place(down, &[weights]);
        self.graph.expand(weighted);
        let out = self.sum_of_chosen(weighted, used);
        if shared == 0 {
            return out;
        }
        let extra = self.dense(layer, shared, true, backend, normed);
        self.graph.in_place(out, &[extra])
    }

    /// One of the matrices of the chosen experts.
    fn expert(&mut self, rows: Id, out: u64, bytes: u64, chosen: Chosen) -> Id {
        let weight = self.graph.weight(chosen.home, bytes);
        // In the last layer these are fewer than the batch has tokens.
        let [_, _, n, _] = self.graph[rows].dims;
        let made = self
            .graph
            .product([out, chosen.used, n, 1], weight, &[rows, chosen.ids]);
        if !chosen.biased {
            return made;
        }
        let bias = self.graph.weight(chosen.home, 0);
        self.graph.in_place(made, &[bias, chosen.ids])
    }

    fn sum_of_chosen(&mut self, weighted: Id, used: u64) -> Id {
        let [d, _, n, _] = self.graph[weighted].dims;
        let row = u64::from(F32) * d * used;
        let views: Vec<Id> = (0..used)
            .map(|_| {
                let view =
                    self.graph
                        .strided_view(weighted, [d, n, 1, 1], [F32.into(), row, row * n, row * n]);
                self.graph.expand(view);
                view
            })
            .collect();
        let Some((&first, rest)) = views.split_first() else {
            return weighted;
        };
        if rest.is_empty() {
            return self.graph.fresh(F32, [d, n, 1, 1], &[first]);
        }
        rest.iter().fold(first, |sum, &view| {
            let sum = self.graph.in_place(sum, &[view]);
            self.graph.expand(sum);
            sum
        })
    }

    fn logits(&mut self, state: Id, output_rows: Id) {
        let mut state = state;
        if !self.network.early_exit {
            self.graph[state].output = true;
            let dims = [self.network.embedding, self.batch.outputs, 1, 1];
            state = self.graph.fresh(F32, dims, &[state, output_rows]);
        }
        let normed = self.norm(state, self.place.output, false);
        self.graph[normed].output = true;
        let mut logits = self.product(self.network.vocabulary, 0, self.place.output, normed);
        if self.network.capped_logits {
            for _ in 0..3 {
                logits = self.graph.in_place(logits, &[]);
            }
        }
        self.graph[logits].output = true;
        self.graph.expand(logits);
    }
}
