//! Layers of the gated delta rule, as `qwen3next.cpp`, `qwen35.cpp` and `delta-net-base.cpp` build them.

use super::attention::{Ending, Triple};
use super::build::{At, Builder, Placed};
use super::graph::{F32, Id};
use crate::shape::Role;

/// Sizes of a batch in states: tokens of each sequence, and sequences.
#[derive(Clone, Copy)]
pub(super) struct Sequences {
    pub(super) each: u64,
    pub(super) count: u64,
}

impl Builder<'_> {
    pub(super) fn sequences(&self) -> Sequences {
        let count = self.batch.slots.max(1);
        Sequences {
            each: self.batch.tokens / count,
            count,
        }
    }

    pub(super) fn delta_layer(&mut self, at: At, state: Id) -> Id {
        let normed = self.norm(state, at.find(Role::AttentionNorm), true);
        self.graph.expand(normed);
        let out = if at.layer.stateful {
            self.delta_rule(at, normed)
        } else {
            self.gated_attention(at, normed)
        };
        let sum = self.graph.in_place(out, &[state]);
        let normed = self.norm(sum, at.find(Role::PostAttentionNorm), true);
        let out = self.feed(at, normed);
        self.graph.in_place(out, &[sum])
    }

    /// Attention whose query matrix makes a gate beside each head's query.
    fn gated_attention(&mut self, at: At, normed: Id) -> Id {
        let n = self.batch.tokens;
        let layer = at.layer;
        let [width, value_width] = [layer.key_width, layer.value_width].map(u64::from);
        let (heads, kv_heads) = (u64::from(layer.heads), u64::from(layer.kv_heads));
        let (both, key, value) = self.flat_triple(at, normed);
        let wide = self.graph.view(both, [2 * width, heads, n, 1]);
        let query = self.graph.part(wide, [width, heads, n, 1]);
        let gate = self.graph.part(wide, [width, heads, n, 1]);
        let key = self.graph.view(key, [width, kv_heads, n, 1]);
        let value = self.graph.view(value, [value_width, kv_heads, n, 1]);
        let query = self.norm(query, at.find(Role::QueryNorm), true);
        let key = self.norm(key, at.find(Role::KeyNorm), true);
        let query = self.turn(at, query);
        let key = self.turn(at, key);
        let out = self.attend(at, Triple { query, key, value }, Ending::default());
        let gate = self.graph.contiguous(gate, [width * heads, n, 1, 1]);
        let gate = self.graph.in_place(gate, &[]);
        let out = self.graph.in_place(out, &[gate]);
        self.maybe_product(at.find(Role::AttentionOutput), out)
    }

    fn delta_rule(&mut self, at: At, normed: Id) -> Id {
        let Sequences { each, count } = self.sequences();
        let sizes = self.shape.state;
        let (key_heads, value_heads, width) = (sizes.groups, sizes.heads.max(1), sizes.width);
        let value_width = sizes.inner / value_heads;
        let channels = sizes.inner + 2 * key_heads * width;

        let mixed = self.maybe_product(at.find(Role::FusedQkv), normed);
        let mixed = self.graph.view(mixed, [channels, each, count, 1]);
        let open = self.maybe_product(at.find(Role::AttentionGate), normed);
        let (beta, decay) = self.beta_and_decay(at, normed, value_heads);

        let all = self.state_cache(at, sizes.rows);
        let input = self.conv_input(at, all, mixed, channels);
        let states = self.state_cache(at, sizes.values);
        let state = self.gathered(states, sizes.values);
        let state = self
            .graph
            .view(state, [value_width, value_width, value_heads, count]);
        let turned = self.convolved(at.find(Role::StateConv), input, [channels, each, count, 1]);
        let turned = self.graph.in_place(turned, &[]);

        let row = u64::from(F32) * channels;
        let strides = |width: u64| [F32.into(), u64::from(F32) * width, row, row * each];
        let query = self
            .graph
            .strided_view(turned, [width, key_heads, each, count], strides(width));
        let key = self
            .graph
            .strided_view(turned, [width, key_heads, each, count], strides(width));
        let value = self.graph.strided_view(
            turned,
            [value_width, value_heads, each, count],
            strides(value_width),
        );
        let [mut query, mut key] = [query, key].map(|of| self.unit_norm(of));
        // The older model file repeats heads although its fused operation would not need it.
        if at.layer.has(Role::StateBetaAlpha) && key_heads != value_heads {
            [query, key] = [query, key].map(|of| {
                let single = self.graph.view(of, [width, 1, key_heads, each * count]);
                let dims = [width, value_heads / key_heads.max(1), key_heads, each * count];
                let repeated = self.graph.fresh(F32, dims, &[single]);
                self.graph.view(repeated, [width, value_heads, each, count])
            });
        }
        let out = self.delta_step([query, key, value, decay, beta, state], states, sizes.values);

        let open = self.graph.view(open, [value_width, value_heads, each, count]);
        let normed = self.norm(out, at.find(Role::StateNorm), true);
        let open = self.graph.in_place(open, &[]);
        let out = self.graph.in_place(normed, &[open]);
        let out = self.graph.view(out, [value_width * value_heads, each, count, 1]);
        let out = self.maybe_product(at.find(Role::StateOut), out);
        let [d, ..] = self.graph.dims(out);
        self.graph.view(out, [d, each * count, 1, 1])
    }

    /// How much of the new value is taken, and how much of the old state is kept.
    fn beta_and_decay(&mut self, at: At, normed: Id, heads: u64) -> (Id, Id) {
        let Sequences { each, count } = self.sequences();
        let (beta, alpha) = if let Some(both) = at.find(Role::StateBetaAlpha) {
            let groups = self.shape.state.groups.max(1);
            let both = self.product(both, normed);
            let both = self.graph.view(both, [2 * heads / groups, groups, each, count]);
            let half = [heads / groups, groups, each, count];
            let (beta, alpha) = (self.graph.part(both, half), self.graph.part(both, half));
            let beta = self.graph.contiguous(beta, half);
            let beta = self.graph.in_place(beta, &[]);
            let alpha = self.graph.contiguous(alpha, [heads, each, count, 1]);
            (self.graph.view(beta, [1, heads, each, count]), alpha)
        } else {
            let beta = self.maybe_product(at.find(Role::StateBeta), normed);
            let beta = self.graph.view(beta, [1, heads, each, count]);
            let alpha = self.maybe_product(at.find(Role::StateAlpha), normed);
            (
                self.graph.in_place(beta, &[]),
                self.graph.view(alpha, [heads, each, count, 1]),
            )
        };
        let alpha = self.with(at.find(Role::StateStepBias), alpha);
        let alpha = self.graph.in_place(alpha, &[]);
        let decay = self.with(at.find(Role::StateDecay), alpha);
        (beta, self.graph.view(decay, [1, heads, each, count]))
    }

    /// `build_gdn_l2_norm`.
    pub(super) fn unit_norm(&mut self, of: Id) -> Id {
        let norm = self.graph.in_place(of, &[]);
        self.graph.in_place(norm, &[])
    }

    /// The fused operation, and the new state into its place. Query, key, value, decay, beta, state.
    pub(super) fn delta_step(&mut self, given: [Id; 6], states: Id, values: u64) -> Id {
        let [width, heads, each, count] = self.graph.dims(given[2]);
        let dims = [
            width * heads,
            each * count + self.batch.states * width * count,
            1,
            1,
        ];
        let made = self.graph.fresh(F32, dims, &given);
        let out = self.graph.view(made, [width, heads, each, count]);
        let state = self.graph.view(made, [width, width, heads, count]);
        let into = self.graph.view(states, [values, count, 1, 1]);
        let stored = self.graph.write(into, &[state, into]);
        self.graph.expand(stored);
        out
    }

    /// A short convolution over each channel.
    pub(super) fn convolved(&mut self, kernel: Option<Placed>, input: Id, dims: [u64; 4]) -> Id {
        let Some(kernel) = kernel else { return input };
        let leaf = self.leaf(kernel);
        self.graph.fresh(F32, dims, &[input, leaf])
    }

    /// Kept inputs before the new ones, and the last of them kept in turn (`build_conv_state`).
    pub(super) fn conv_input(&mut self, at: At, all: Id, mixed: Id, channels: u64) -> Id {
        let Sequences { each, count } = self.sequences();
        let kernel = at.find(Role::StateConv).map_or(1, |kernel| kernel.dims[0]);
        let kept = kernel.saturating_sub(1);
        let rows = self.shape.state.rows;
        let old = self.gathered(all, rows);
        let old = self.graph.view(old, [kept, channels, count, 1]);
        let turned = self.graph.permute(mixed, [1, 0, 2, 3]);
        let input = self
            .graph
            .fresh(F32, [kept + each, channels, count, 1], &[old, turned]);
        let last = self.graph.part(input, [kept, channels, count, 1]);
        let into = self.graph.view(all, [rows, count, 1, 1]);
        let stored = self.graph.write(into, &[last, into]);
        self.graph.expand(stored);
        input
    }
}
