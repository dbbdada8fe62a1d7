//! Recurrent state, and the layers that keep it: `build_rs`, Mamba-2 and LFM2's short convolution.

use super::build::{At, Builder};
use super::delta::Sequences;
use super::graph::{F32, Id};
use crate::shape::{Exit, Role};

impl Builder<'_> {
    /// One kind of state of a layer, `row` values a sequence.
    pub(super) fn state_cache(&mut self, at: At, row: u64) -> Id {
        let count = self.batch.slots;
        let leaf = self.graph.cache(
            at.seat.layer,
            row.saturating_mul(u64::from(F32)).saturating_mul(count),
        );
        self.graph[leaf].width = F32;
        let strides = [F32.into(), u64::from(F32) * row, 0, 0];
        self.graph.lay_out(leaf, [row, count, 1, 1], strides);
        leaf
    }

    /// `build_rs`: the states of the batch's sequences, copied out.
    pub(super) fn gathered(&mut self, all: Id, row: u64) -> Id {
        let count = self.batch.slots;
        let states = self.cleared(all, row);
        let every = self.graph.rows([row, count, 1, 1], states, self.inputs.states);
        let out = self.graph.view(every, [row, count, 1, 1]);
        self.graph.expand(out);
        self.keep_extra(all, every, row);
        out
    }

    /// The same where an operation reads the states in place.
    fn in_cache(&mut self, all: Id, row: u64, read: impl FnOnce(&mut Self, Id, Id) -> Id) -> Id {
        let rest = self.batch.slots.saturating_sub(1);
        let states = self.cleared(all, row);
        let every = self
            .graph
            .rows([row, rest, 1, 1], states, self.inputs.states_rest);
        let main = self.inputs.states_main;
        let out = read(self, states, main);
        self.graph.expand(out);
        self.keep_extra(all, every, row);
        out
    }

    fn cleared(&mut self, all: Id, row: u64) -> Id {
        let count = self.batch.slots;
        let states = self.graph.view(all, [row, count, 1, 1]);
        let first = self.graph.view(states, [row, 1, 1, 1]);
        let zeroed = self.graph.write(first, &[first]);
        self.graph.expand(zeroed);
        states
    }

    /// States that the batch does not change: none in a full batch, but the operation is there.
    fn keep_extra(&mut self, all: Id, every: Id, row: u64) {
        let extra = self.graph.view(every, [row, 0, 1, 1]);
        let into = self.graph.view(all, [row, 0, 1, 1]);
        let stored = self.graph.write(into, &[extra, into]);
        self.graph.expand(stored);
    }

    pub(super) fn state_space_layer(&mut self, at: At, state: Id) -> Id {
        let normed = self.norm(state, at.find(Role::AttentionNorm), true);
        if at.layer.stateful && at.layer.cached {
            return self.parallel_layer(at, state, normed);
        }
        let whole = at.layer.has(Role::FeedNorm);
        let out = if at.layer.stateful {
            self.mamba2(at, normed)
        } else if at.layer.cached {
            self.plain_attention(at, normed)
        } else {
            self.latent_feed(at, normed)
        };
        if whole {
            self.after_attention(at, out, state)
        } else {
            self.graph.in_place(out, &[state])
        }
    }

    /// Attention and state side by side (Falcon-H1).
    fn parallel_layer(&mut self, at: At, state: Id, normed: Id) -> Id {
        let attended = self.plain_attention(at, normed);
        let again = self.norm(state, at.find(Role::AttentionNorm), true);
        let kept = self.mamba2(at, again);
        let mut sum = self.graph.in_place(attended, &[kept]);
        let mut residual = self.graph.in_place(sum, &[state]);
        if at.last && self.shape.family.exit == Exit::LastLayer {
            sum = self.output_rows(sum);
            residual = self.output_rows(residual);
        }
        // The sum leaves the graph unused in the last layer, as in the model file.
        let _ = sum;
        let normed = self.norm(residual, at.find(Role::FeedNorm), true);
        let out = self.feed(at, normed);
        self.graph.in_place(out, &[residual])
    }

    /// A feed-forward part that may send its experts a narrower row (Nemotron).
    fn latent_feed(&mut self, at: At, normed: Id) -> Id {
        let Some(router) = at.find(Role::Router) else {
            return self.dense(at, normed);
        };
        let narrow = self.maybe_product(at.find(Role::LatentDown), normed);
        let odds = self.product(router, normed);
        let out = self.experts(at, narrow, Some(odds));
        let out = self.maybe_product(at.find(Role::LatentUp), out);
        let Some(extra) = self.shared(at, normed) else {
            return out;
        };
        self.graph.in_place(out, &[extra])
    }

    /// `build_mamba2_layer`.
    fn mamba2(&mut self, at: At, normed: Id) -> Id {
        let Sequences { each, count } = self.sequences();
        let sizes = self.shape.state;
        let heads = sizes.heads.max(1);
        let (inner, groups, width) = (sizes.inner, sizes.groups, sizes.width);
        let head = inner / heads;
        let channels = inner + 2 * groups * width;

        let all = self.state_cache(at, sizes.rows);
        let states = self.state_cache(at, sizes.values);
        let kernel = at.find(Role::StateConv);
        let kept = kernel.map_or(0, |kernel| kernel.dims[0].saturating_sub(1));
        let old = self.gathered(all, sizes.rows);
        let old = self.graph.view(old, [kept, channels, count, 1]);

        let made = self.maybe_product(at.find(Role::StateIn), normed);
        let [wide, ..] = self.graph.dims(made);
        let made = self.graph.view(made, [wide, each, count, 1]);
        let [size, row, matrix, _] = self.graph.strides(made);
        let open =
            self.graph
                .strided_view(made, [head, heads, each, count], [size, size * head, row, matrix]);
        let mixed = self.graph.part(made, [channels, each, count, 1]);
        let step = self.graph.part(made, [heads, each, count, 1]);

        let turned = self.graph.permute(mixed, [1, 0, 2, 3]);
        let input = self
            .graph
            .fresh(F32, [kept + each, channels, count, 1], &[old, turned]);
        let last = self.graph.part(input, [kept, channels, count, 1]);
        let into = self.graph.view(all, [sizes.rows, count, 1, 1]);
        let stored = self.graph.write(into, &[last, into]);
        self.graph.expand(stored);
        let mixed = self.convolved(kernel, input, [channels, each, count, 1]);
        let mixed = self.with(at.find(Role::StateConvBias), mixed);
        let mixed = self.graph.in_place(mixed, &[]);

        let [size, row, matrix, _] = self.graph.strides(mixed);
        let seen = |width: u64, of: u64| ([width, of, each, count], [size, size * width, row, matrix]);
        let (dims, strides) = seen(head, heads);
        let value = self.graph.strided_view(mixed, dims, strides);
        let (dims, strides) = seen(width, groups);
        let write = self.graph.strided_view(mixed, dims, strides);
        let read = self.graph.strided_view(mixed, dims, strides);
        let step = self.graph.contiguous(step, [heads, each, count, 1]);
        let step = self.with(at.find(Role::StateStepBias), step);
        let decay = at
            .find(Role::StateDecay)
            .map_or(Id::NONE, |decay| self.leaf(decay));
        let scanned = self.in_cache(states, sizes.values, |builder, states, main| {
            let seen = builder.graph.view(states, [width, head, heads, count]);
            let kept = builder.batch.states;
            let size = inner * each * count + kept * width * inner * count;
            let given = [seen, value, step, decay, write, read, main];
            builder.graph.fresh(F32, [size, 1, 1, 1], &given)
        });
        let new = self.graph.view(scanned, [width * inner, count, 1, 1]);
        let into = self.graph.view(states, [sizes.values, count, 1, 1]);
        let stored = self.graph.write(into, &[new, into]);
        self.graph.expand(stored);

        let out = self.graph.view(scanned, [head, heads, each, count]);
        let skip = self.with(at.find(Role::StateSkip), value);
        let out = self.graph.in_place(out, &[skip]);
        let open = self.graph.contiguous(open, [head, heads, each, count]);
        let mut out = self.graph.fresh(F32, [head, heads, each, count], &[open, out]);
        if at.layer.has(Role::StateNorm) {
            out = self.graph.view(out, [inner / groups.max(1), groups, each, count]);
            out = self.norm(out, at.find(Role::StateNorm), true);
        }
        let out = self.graph.view(out, [inner, each * count, 1, 1]);
        self.maybe_product(at.find(Role::StateOut), out)
    }

    pub(super) fn short_conv_layer(&mut self, at: At, state: Id) -> Id {
        let normed = self.norm(state, at.find(Role::AttentionNorm), true);
        let mut out = if at.layer.stateful {
            self.short_conv(at, normed)
        } else {
            self.plain_attention(at, normed)
        };
        let mut residual = state;
        if at.last {
            out = self.output_rows(out);
            residual = self.output_rows(residual);
        }
        let sum = self.graph.in_place(residual, &[out]);
        let normed = self.norm(sum, at.find(Role::FeedNorm), true);
        let out = self.feed(at, normed);
        self.graph.in_place(sum, &[out])
    }

    fn short_conv(&mut self, at: At, normed: Id) -> Id {
        let Sequences { each, count } = self.sequences();
        let [d, ..] = self.graph.dims(normed);
        let rows = self.shape.state.rows;
        let kernel = at.find(Role::ShortConv);
        let kept = kernel.map_or(0, |kernel| kernel.dims[0].saturating_sub(1));
        let input = self.graph.view(normed, [d, each, count, 1]);
        let all = self.maybe_product(at.find(Role::ShortIn), input);
        let dims = [d, each, count, 1];
        let [gate, open, value] = [(); 3].map(|()| self.graph.part(all, dims));
        let gated = self.graph.in_place(gate, &[value]);
        let turned = self.graph.permute(gated, [1, 0, 2, 3]);
        let cache = self.state_cache(at, rows);
        let old = self.gathered(cache, rows);
        let old = self.graph.view(old, [kept, d, count, 1]);
        let joined = self.graph.fresh(F32, [kept + each, d, count, 1], &[old, turned]);
        let last = self.graph.part(joined, [kept, d, count, 1]);
        let into = self.graph.view(cache, [rows, count, 1, 1]);
        let stored = self.graph.write(into, &[last, into]);
        self.graph.expand(stored);
        let out = self.convolved(kernel, joined, dims);
        let out = self.graph.in_place(open, &[out]);
        let out = self.maybe_product(at.find(Role::ShortOut), out);
        self.graph.view(out, [d, each * count, 1, 1])
    }
}
