//! The graph of a forward pass, node for node as llama.cpp's model files build it.
//!
//! What differs between architectures is said by their [`Family`](crate::shape::Family) and by which weights a layer
//! has. The order of the `expand` calls is llama.cpp's, because memory depends on it.

use super::Backend;
use super::graph::{F16, F32, Graph, I32, I64, Id};
use crate::Shape;
use crate::shape::{Exit, GraphKind, Layer, Role, Weight};

/// Cells of a cache and the rotations of its keys and values (0 for none).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CacheSize {
    pub(crate) cells: u64,
    pub(crate) key_rotation: u64,
    pub(crate) value_rotation: u64,
}

/// What is asked of one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Tokens of one pass, a multiple of the slots.
    pub(crate) tokens: u64,
    pub(crate) outputs: u64,
    pub(crate) base: CacheSize,
    /// Of layers that look back only so far.
    pub(crate) window: CacheSize,
    pub(crate) slots: u64,
    /// States of each slot that a recurrent layer keeps.
    pub(crate) states: u64,
    /// Separate caches, one a slot; 1 when the slots share one.
    pub(crate) streams: u64,
    pub(crate) flash: bool,
    /// This release keeps a third way in, for batches of mixed tokens and embeddings.
    pub(crate) mixed_input: bool,
    /// Bytes of a row of so many keys or values, as a share: bytes per 32 values.
    pub(crate) key_bytes_32: u64,
    pub(crate) value_bytes_32: u64,
}

/// The backends of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) layer: Backend,
    /// Of its expert matrices.
    pub(crate) experts: Backend,
}

/// Which backend holds what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Where<'a> {
    /// By layer.
    pub(crate) layers: &'a [Backend],
    /// So many of the first layers have their experts on the host.
    pub(crate) host_experts: u32,
    pub(crate) output: Backend,
    pub(crate) host: Backend,
    /// The first operation of each norm is tied to its layer's device.
    pub(crate) pins_norms: bool,
    pub(crate) pipelined: bool,
}

impl Where<'_> {
    pub(crate) fn seat(&self, number: u32) -> Option<Seat> {
        let &layer = self.layers.get(number as usize)?;
        let experts = if number < self.host_experts {
            self.host
        } else {
            layer
        };
        Some(Seat { layer, experts })
    }
}

/// A weight and where it lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) dims: [u64; 3],
    pub(super) bytes: u64,
    pub(super) home: Backend,
}

/// Inputs of one cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheInputs {
    pub(super) key_rows: Id,
    pub(super) value_rows: Id,
    pub(super) mask: Id,
    pub(super) key_rotation: Id,
    pub(super) value_rotation: Id,
}

pub(super) struct Inputs {
    pub(super) positions: Id,
    pub(super) base: CacheInputs,
    pub(super) window: CacheInputs,
    pub(super) temperature: Id,
    pub(super) output_rows: Id,
    /// Which states the batch's sequences have: all, and all but the first.
    pub(super) states: Id,
    pub(super) states_main: Id,
    pub(super) states_rest: Id,
}

pub(super) struct Builder<'a> {
    pub(super) graph: Graph,
    pub(super) shape: &'a Shape,
    pub(super) batch: &'a Batch,
    pub(super) place: &'a Where<'a>,
    pub(super) inputs: Inputs,
    /// The rows that go into the first layer, with those of pictures beside them.
    pub(super) embedded: Id,
}

/// A layer with its number.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) number: u32,
    pub(super) layer: &'a Layer,
    pub(super) seat: Seat,
    /// Rows without an output leave here.
    pub(super) last: bool,
}

impl At<'_> {
    pub(super) fn find(&self, role: Role) -> Option<Placed> {
        let weight = self.layer.find(role)?;
        Some(self.placed(weight))
    }

    fn placed(&self, weight: &Weight) -> Placed {
        let home = if weight.role.stays_with_experts() {
            self.seat.experts
        } else {
            self.seat.layer
        };
        Placed {
            dims: weight.dims,
            bytes: weight.bytes.0,
            home,
        }
    }
}

/// The graph, and what each of the layers gives.
pub(super) fn build(shape: &Shape, layers: &[u32], batch: &Batch, place: &Where) -> (Graph, Vec<Id>) {
    let mut graph = Graph::with_capacity(96 * layers.len() + 96);
    let inputs = inputs(&mut graph, shape, batch);
    let mut builder = Builder {
        graph,
        shape,
        batch,
        place,
        inputs,
        embedded: Id::NONE,
    };
    let made = builder.all(layers);
    (builder.graph, made)
}

fn inputs(graph: &mut Graph, shape: &Shape, batch: &Batch) -> Inputs {
    let n = batch.tokens;
    let parts = if shape.traits.sections { 4 } else { 1 };
    let positions = graph.input(I32, [n * parts, 1, 1, 1]);
    let base = cache_inputs(graph, shape, batch, batch.base);
    let window = if shape.window > 0 {
        cache_inputs(graph, shape, batch, batch.window)
    } else {
        base
    };
    let states = graph.input(I32, [batch.slots, 1, 1, 1]);
    Inputs {
        positions,
        base,
        window,
        temperature: graph.input(F32, [1, 1, n, 1]),
        output_rows: graph.input(I32, [batch.outputs, 1, 1, 1]),
        states,
        states_main: graph.view(states, [batch.slots, 1, 1, 1]),
        states_rest: graph.view(states, [batch.slots.saturating_sub(1), 1, 1, 1]),
    }
}

fn cache_inputs(graph: &mut Graph, shape: &Shape, batch: &Batch, size: CacheSize) -> CacheInputs {
    let Batch {
        tokens,
        streams,
        flash,
        ..
    } = *batch;
    let mut square = |width| {
        if width > 0 {
            graph.input(F32, [width, width, 1, 1])
        } else {
            Id::NONE
        }
    };
    let (key_rotation, value_rotation) = (square(size.key_rotation), square(size.value_rotation));
    // Without flash attention values are kept the other way round, and every one of them has its place.
    let values = if flash {
        tokens
    } else {
        let widest = shape.layers.iter().map(Layer::value_row).max().unwrap_or(0);
        tokens.saturating_mul(widest)
    };
    CacheInputs {
        key_rows: graph.input(I64, [tokens, 1, 1, 1]),
        value_rows: graph.input(I64, [values, 1, 1, 1]),
        mask: graph.input(
            if flash { F16 } else { F32 },
            [size.cells, tokens / streams, 1, streams],
        ),
        key_rotation,
        value_rotation,
    }
}

impl Builder<'_> {
    fn all(&mut self, layers: &[u32]) -> Vec<Id> {
        let shape = self.shape;
        let mut made = Vec::with_capacity(layers.len());
        let mut state = self.embed();
        let extras = self.begin(&mut state);
        for (place, &number) in layers.iter().enumerate() {
            let (Some(layer), Some(seat)) = (shape.layers.get(number as usize), self.place.seat(number))
            else {
                continue;
            };
            let at = At {
                number,
                layer,
                seat,
                last: place + 1 == layers.len(),
            };
            let mut out = match shape.family.graph {
                GraphKind::Transformer => self.transformer_layer(at, state),
                GraphKind::Gemma3n => self.gemma3n_layer(at, state, extras),
                GraphKind::Gemma4 => self.gemma4_layer(at, state, extras),
                GraphKind::DeltaNet => self.delta_layer(at, state),
                GraphKind::StateSpace => self.state_space_layer(at, state),
                GraphKind::ShortConv => self.short_conv_layer(at, state),
                GraphKind::Latent | GraphKind::LatentDelta => self.latent_layer(at, state),
            };
            if number < shape.traits.deep_rows {
                let rows = self
                    .graph
                    .part(self.embedded, [shape.embedding.into(), self.batch.tokens, 1, 1]);
                out = self.graph.in_place(out, &[rows]);
            }
            state = out;
            made.push(state);
        }
        if shape.family.graph == GraphKind::Gemma3n {
            state = self.gemma3n_end(state);
        }
        self.logits(state);
        made
    }

    /// What some families do between the embedding and the first layer; gives the inputs of the layers' own.
    fn begin(&mut self, state: &mut Id) -> Id {
        match self.shape.family.graph {
            GraphKind::Gemma3n | GraphKind::Gemma4 => {
                let extras = self.layer_inputs(*state);
                if self.shape.family.graph == GraphKind::Gemma3n {
                    *state = self.gemma3n_begin(*state);
                }
                extras
            }
            GraphKind::Transformer
            | GraphKind::DeltaNet
            | GraphKind::StateSpace
            | GraphKind::ShortConv
            | GraphKind::Latent
            | GraphKind::LatentDelta => Id::NONE,
        }
    }

    fn embed(&mut self) -> Id {
        let (d, n) = (u64::from(self.shape.embedding), self.batch.tokens);
        // A picture brings rows for several layers at once; text leaves them empty.
        let deep = 1 + u64::from(self.shape.traits.deep_rows);
        let dims = [d, n, 1, 1];
        let wide = [d * deep, n, 1, 1];
        let table = self.graph.weight(self.place.host, 0);
        let tokens = self.graph.input(I32, [n, 1, 1, 1]);
        let embedded = self.graph.input(F32, wide);
        let rows = self.token_rows(dims, wide, table, tokens);
        self.graph.expand(rows);
        // The other ways in are not used by text, but have their memory.
        self.graph.expand(embedded);
        if self.batch.mixed_input {
            let tokens = self.graph.input(I32, [n, 1, 1, 1]);
            let places = self.graph.input(I64, [n, 1, 1, 1]);
            let embedded = self.graph.input(F32, wide);
            let base = self.graph.contiguous(embedded, wide);
            let mixed_rows = self.token_rows(dims, wide, table, tokens);
            let mixed = self.graph.set_rows(base, mixed_rows, places);
            self.graph.expand(mixed);
        }
        self.embedded = rows;
        let mut state = if deep > 1 {
            self.graph.part(rows, dims)
        } else {
            rows
        };
        if self.shape.traits.scaled_embedding && deep == 1 {
            state = self.graph.in_place(state, &[]);
        }
        if self.shape.family.scaled_rows {
            let scale = self.graph.input(F32, [1, n, 1, 1]);
            state = self.graph.in_place(state, &[scale]);
        }
        self.graph.expand(state);
        if self.shape.family.treated_rows {
            state = self.graph.in_place(state, &[]);
        }
        state
    }

    fn token_rows(&mut self, dims: [u64; 4], wide: [u64; 4], table: Id, tokens: Id) -> Id {
        let rows = self.graph.rows(dims, table, tokens);
        if wide == dims {
            rows
        } else {
            self.graph.contiguous(rows, wide)
        }
    }

    pub(super) fn leaf(&mut self, weight: Placed) -> Id {
        self.graph.weight(weight.home, weight.bytes)
    }

    /// A norm; llama.cpp ties the first of its two operations to the layer's device. Without a weight there is none.
    pub(super) fn norm(&mut self, of: Id, weight: Option<Placed>, tied: bool) -> Id {
        let Some(weight) = weight else { return of };
        let norm = self.graph.in_place(of, &[]);
        if tied && self.place.pins_norms {
            self.graph[norm].backend = Some(weight.home);
        }
        let leaf = self.leaf(weight);
        self.graph.in_place(norm, &[leaf])
    }

    pub(super) fn product(&mut self, weight: Placed, of: Id) -> Id {
        let leaf = self.leaf(weight);
        let [_, n, a, b] = self.graph.dims(of);
        self.graph.product([weight.dims[1], n, a, b], &[leaf, of])
    }

    /// The product, or the argument when there is no such weight: a header that lacks one is planned all the same.
    pub(super) fn maybe_product(&mut self, weight: Option<Placed>, of: Id) -> Id {
        weight.map_or(of, |weight| self.product(weight, of))
    }

    /// Adds, or scales by, a weight that may not be there.
    pub(super) fn with(&mut self, weight: Option<Placed>, to: Id) -> Id {
        let Some(weight) = weight else { return to };
        let leaf = self.leaf(weight);
        self.graph.in_place(to, &[leaf])
    }

    pub(super) fn output_rows(&mut self, of: Id) -> Id {
        let [d, ..] = self.graph.dims(of);
        self.graph
            .rows([d, self.batch.outputs, 1, 1], of, self.inputs.output_rows)
    }

    /// A weight that lies with the output.
    pub(super) fn of_output(&self, role: Role) -> Option<Placed> {
        let weight = self.shape.output.iter().find(|weight| weight.role == role)?;
        Some(Placed {
            dims: weight.dims,
            bytes: weight.bytes.0,
            home: self.place.output,
        })
    }

    fn logits(&mut self, state: Id) {
        let mut state = state;
        let exit = self.shape.family.exit;
        if exit == Exit::BeforeNorm {
            self.graph[state].output = true;
        }
        if matches!(exit, Exit::BeforeNorm | Exit::BeforeNormFreely) {
            state = self.output_rows(state);
        }
        let weight = self.of_output(Role::OutputNorm);
        let mut normed = self.norm(state, weight, false);
        self.graph[normed].output = true;
        if exit == Exit::AfterNorm {
            normed = self.output_rows(normed);
            self.graph[normed].output = true;
        }
        let mut logits = if let Some(matrix) = self.of_output(Role::Logits) {
            self.product(matrix, normed)
        } else {
            normed
        };
        if self.shape.traits.scaled_logits {
            logits = self.graph.in_place(logits, &[]);
        }
        if self.shape.traits.capped_logits {
            for _ in 0..3 {
                logits = self.graph.in_place(logits, &[]);
            }
        }
        self.graph[logits].output = true;
        self.graph.expand(logits);
    }
}
