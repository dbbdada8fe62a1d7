//! Gemma 3n and Gemma 4: inputs of every layer's own, shared keys and values, and Gemma 3n's alternating updates.

use super::attention::{Ending, Triple};
use super::build::{At, Builder, Placed};
use super::graph::{F32, I32, Id};
use crate::shape::Role;

/// Streams of Gemma 3n (`n_altup`).
const STREAMS: u64 = 4;

impl Builder<'_> {
    fn of_first_layer(&self, role: Role) -> Option<Placed> {
        let (layer, seat) = (self.shape.layers.first()?, self.place.seat(0)?);
        let at = At {
            number: 0,
            layer,
            seat,
            last: false,
        };
        at.find(role)
    }

    /// A row for every token and layer, from a table of their own and from the token's row.
    pub(super) fn layer_inputs(&mut self, embedded: Id) -> Id {
        let n = self.batch.tokens;
        let count = self.shape.layers.len() as u64;
        let (Some(project), Some(norm)) = (
            self.of_first_layer(Role::LayerInputs),
            self.of_first_layer(Role::LayerInputsNorm),
        ) else {
            return Id::NONE;
        };
        let width = norm.dims[0];
        let table = self.graph.weight(self.place.host, 0);
        let tokens = self.graph.input(I32, [n, 1, 1, 1]);
        let rows = self.graph.rows([width * count, n, 1, 1], table, tokens);
        let rows = self.graph.view(rows, [width, count, n, 1]);
        let rows = self.graph.in_place(rows, &[]);
        self.graph.expand(rows);
        let made = self.product(project, embedded);
        let made = self.graph.in_place(made, &[]);
        let made = self.graph.view(made, [width, count, n, 1]);
        let made = self.norm(made, Some(norm), false);
        let sum = self.graph.in_place(made, &[rows]);
        let sum = self.graph.in_place(sum, &[]);
        let turned = self.graph.permute(sum, [0, 2, 1, 3]);
        self.graph.contiguous(turned, [width, n, count, 1])
    }

    /// What the layer's own input adds.
    fn layer_input(&mut self, at: At, state: Id, extras: Id) -> Id {
        let [width, n, ..] = self.graph.dims(extras);
        let open = self.maybe_product(at.find(Role::LayerInputGate), state);
        let open = self.graph.in_place(open, &[]);
        let mine = self.graph.view(extras, [width, n, 1, 1]);
        let open = self.graph.in_place(open, &[mine]);
        let out = self.maybe_product(at.find(Role::LayerInputOut), open);
        self.norm(out, at.find(Role::LayerInputNorm), true)
    }

    /// Query, and key and value where the layer has its own, normed and turned; then attention.
    fn gemma_attention(&mut self, at: At, normed: Id) -> Id {
        let n = self.batch.tokens;
        let layer = at.layer;
        let [width, value_width] = [layer.key_width, layer.value_width].map(u64::from);
        let (heads, kv_heads) = (u64::from(layer.heads), u64::from(layer.kv_heads));
        let own = |builder: &mut Self, matrix, bias| {
            let rows = builder.maybe_product(at.find(matrix), normed);
            builder.with(at.find(bias), rows)
        };
        let query = own(self, Role::Query, Role::QueryBias);
        let query = self.graph.view(query, [width, heads, n, 1]);
        let query = self.norm(query, at.find(Role::QueryNorm), true);
        let query = self.turn(at, query);
        let (mut key, mut value) = (Id::NONE, Id::NONE);
        if layer.cached {
            let rows = own(self, Role::Key, Role::KeyBias);
            // Without a matrix for values the key's product serves for both.
            let value_rows = if layer.has(Role::Value) {
                own(self, Role::Value, Role::ValueBias)
            } else {
                rows
            };
            key = self.graph.view(rows, [width, kv_heads, n, 1]);
            value = self.graph.view(value_rows, [value_width, kv_heads, n, 1]);
            key = self.norm(key, at.find(Role::KeyNorm), true);
            value = self.graph.in_place(value, &[]);
            key = self.turn(at, key);
        }
        self.attend(at, Triple { query, key, value }, Ending::of(at))
    }

    pub(super) fn gemma4_layer(&mut self, at: At, state: Id, extras: Id) -> Id {
        let normed = self.norm(state, at.find(Role::AttentionNorm), true);
        let out = self.gemma_attention(at, normed);
        let out = self.norm(out, at.find(Role::PostAttentionNorm), true);
        let sum = self.graph.in_place(out, &[state]);
        let mut out = if at.layer.has(Role::Router) {
            self.gemma4_experts(at, sum)
        } else {
            let normed = self.norm(sum, at.find(Role::FeedNorm), true);
            self.dense(at, normed)
        };
        out = self.norm(out, at.find(Role::PostFeedNorm), false);
        out = self.graph.in_place(out, &[sum]);
        if extras != Id::NONE {
            let more = self.layer_input(at, out, extras);
            out = self.graph.in_place(out, &[more]);
        }
        self.with(at.find(Role::LayerScale), out)
    }

    fn gemma4_experts(&mut self, at: At, sum: Id) -> Id {
        let normed = self.norm(sum, at.find(Role::FeedNorm), true);
        let dense = self.dense(at, normed);
        let dense = self.norm(dense, at.find(Role::DensePostNorm), true);
        let rows = self.norm(sum, at.find(Role::ExpertNorm), true);
        let scaled = self.graph.in_place(sum, &[]);
        let scaled = self.graph.in_place(scaled, &[]);
        let scaled = self.with(at.find(Role::RouterScale), scaled);
        let odds = self.maybe_product(at.find(Role::Router), scaled);
        let chosen = self.experts(at, rows, Some(odds));
        let chosen = self.norm(chosen, at.find(Role::ExpertPostNorm), true);
        self.graph.in_place(dense, &[chosen])
    }

    /// The length of each row.
    fn magnitude(&mut self, of: Id) -> Id {
        let [_, n, count, _] = self.graph.dims(of);
        let squared = self.graph.in_place(of, &[]);
        let sum = self.graph.fresh(F32, [1, n, count, 1], &[squared]);
        self.graph.in_place(sum, &[])
    }

    fn stream(&mut self, of: Id) -> Id {
        let [d, n, ..] = self.graph.dims(of);
        self.graph.view(of, [d, n, 1, 1])
    }

    pub(super) fn gemma3n_begin(&mut self, state: Id) -> Id {
        let [d, n, ..] = self.graph.dims(state);
        let target = self.magnitude(state);
        let repeated = self.graph.fresh(F32, [d, n, STREAMS - 1, 1], &[state]);
        let added = self.maybe_product(self.of_output(Role::AltupSplit), repeated);
        let length = self.magnitude(added);
        let scaled = self.graph.in_place(added, &[target]);
        let scaled = self.graph.in_place(scaled, &[length]);
        self.graph.fresh(F32, [d, n, STREAMS, 1], &[state, scaled])
    }

    pub(super) fn gemma3n_end(&mut self, state: Id) -> Id {
        let [d, n, ..] = self.graph.dims(state);
        let active = self.stream(state);
        let target = self.magnitude(active);
        let others = self.graph.view(state, [d, n, STREAMS - 1, 1]);
        let merged = self.maybe_product(self.of_output(Role::AltupMerge), others);
        let length = self.magnitude(merged);
        let scaled = self.graph.in_place(merged, &[target]);
        let scaled = self.graph.in_place(scaled, &[length]);
        let mut out = self.stream(state);
        for _ in 1..STREAMS {
            let one = self.stream(scaled);
            out = self.graph.in_place(out, &[one]);
        }
        self.graph.in_place(out, &[])
    }

    fn modalities(&mut self, at: At, of: Id) -> Id {
        let normed = self.norm(of, at.find(Role::AltupRouterNorm), true);
        let scaled = self.graph.in_place(normed, &[]);
        let out = self.maybe_product(at.find(Role::AltupRouter), scaled);
        self.graph.in_place(out, &[])
    }

    fn predict(&mut self, at: At, state: Id) -> Id {
        let [d, n, ..] = self.graph.dims(state);
        let active = self.stream(state);
        let modalities = self.modalities(at, active);
        let weights = self.maybe_product(at.find(Role::AltupPredict), modalities);
        let weights = self.graph.view(weights, [STREAMS, STREAMS, n, 1]);
        let turned = self.graph.permute(state, [1, 2, 0, 3]);
        let turned = self.graph.contiguous(turned, [STREAMS, d, n, 1]);
        let made = self.graph.fresh(F32, [d, STREAMS, n, 1], &[turned, weights]);
        let made = self.graph.permute(made, [0, 2, 1, 3]);
        let made = self.graph.contiguous(made, [d, n, STREAMS, 1]);
        self.graph.in_place(made, &[state])
    }

    fn correct(&mut self, at: At, predictions: Id, activated: Id) -> Id {
        let [d, n, ..] = self.graph.dims(predictions);
        let modalities = self.modalities(at, activated);
        let active = self.stream(predictions);
        let news = self.graph.in_place(activated, &[active]);
        let weights = self.maybe_product(at.find(Role::AltupCorrect), modalities);
        let weights = self.graph.in_place(weights, &[]);
        let weights = self.graph.permute(weights, [1, 0, 2, 3]);
        let weights = self.graph.contiguous(weights, [1, n, STREAMS, 1]);
        let repeated = self.graph.fresh(F32, [d, n, STREAMS, 1], &[news]);
        let corrected = self.graph.in_place(repeated, &[weights]);
        self.graph.in_place(corrected, &[predictions])
    }

    /// Keeps only the strongest activations of a row (`gaussian_topk`).
    fn sparse(&mut self, of: Id) -> Id {
        let [_, n, ..] = self.graph.dims(of);
        let mean = self.graph.fresh(F32, [1, n, 1, 1], &[of]);
        let off = self.graph.in_place(of, &[mean]);
        let squared = self.graph.in_place(off, &[]);
        let sum = self.graph.fresh(F32, [1, n, 1, 1], &[squared]);
        let sum = self.graph.in_place(sum, &[]);
        let deviation = self.graph.in_place(sum, &[]);
        let deviation = self.graph.in_place(deviation, &[]);
        let cut = self.graph.in_place(mean, &[deviation]);
        let rest = self.graph.in_place(of, &[cut]);
        self.graph.in_place(rest, &[])
    }

    pub(super) fn gemma3n_layer(&mut self, at: At, state: Id, extras: Id) -> Id {
        let [d, n, ..] = self.graph.dims(state);
        let predictions = self.predict(at, state);
        let active = self.stream(predictions);
        let normed = self.norm(active, at.find(Role::AttentionNorm), true);
        let low = self.maybe_product(at.find(Role::LaurelDown), normed);
        let laurel = self.maybe_product(at.find(Role::LaurelUp), low);
        let laurel = self.norm(laurel, at.find(Role::LaurelNorm), true);
        let laurel = self.graph.in_place(laurel, &[normed]);
        let out = self.gemma_attention(at, normed);
        let out = self.norm(out, at.find(Role::PostAttentionNorm), true);
        let out = self.graph.in_place(out, &[active]);
        let both = self.graph.in_place(out, &[laurel]);
        let both = self.graph.in_place(both, &[]);
        let normed = self.norm(both, at.find(Role::FeedNorm), true);
        let up = self.maybe_product(at.find(Role::Up), normed);
        let mut gate = self.maybe_product(at.find(Role::Gate), normed);
        if at.number < self.shape.traits.sparse_layers {
            gate = self.sparse(gate);
        }
        let gate = self.graph.in_place(gate, &[]);
        let inner = self.graph.in_place(up, &[gate]);
        let out = self.maybe_product(at.find(Role::Down), inner);
        let out = self.norm(out, at.find(Role::PostFeedNorm), false);
        let activated = self.graph.in_place(out, &[both]);
        let corrected = self.correct(at, predictions, activated);

        let first = self.stream(corrected);
        let first = self.with(at.find(Role::AltupCorrectScale), first);
        let first = self.layer_input(at, first, extras);
        let head = self.stream(corrected);
        let rest = self.graph.view(corrected, [d, n, STREAMS - 1, 1]);
        let sum = self.graph.in_place(rest, &[first]);
        self.graph.fresh(F32, [d, n, STREAMS, 1], &[head, sum])
    }
}
