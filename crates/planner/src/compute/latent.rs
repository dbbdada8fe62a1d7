//! Low-rank attention (`deepseek2.cpp`) and Kimi's delta rule with a decay per channel (`kimi-linear.cpp`).

use super::attention::{Ending, Triple};
use super::build::{At, Builder, Placed};
use super::delta::Sequences;
use super::graph::{F32, Id};
use crate::shape::{GraphKind, Role};

impl Builder<'_> {
    pub(super) fn latent_layer(&mut self, at: At, state: Id) -> Id {
        let kimi = self.shape.family.graph == GraphKind::LatentDelta;
        let normed = self.norm(state, at.find(Role::AttentionNorm), true);
        if kimi {
            self.graph.expand(normed);
        }
        let out = if at.layer.stateful {
            self.channel_delta(at, normed)
        } else {
            self.latent_attention(at, normed)
        };
        self.after_attention(at, out, state)
    }

    fn latent_attention(&mut self, at: At, normed: Id) -> Id {
        let n = self.batch.tokens;
        let heads = u64::from(at.layer.heads);
        let query = if let Some(down) = at.find(Role::QueryDown) {
            let low = self.product(down, normed);
            let low = self.norm(low, at.find(Role::QueryDownNorm), true);
            self.maybe_product(at.find(Role::QueryUp), low)
        } else {
            self.maybe_product(at.find(Role::Query), normed)
        };
        let width = self.graph.dims(query)[0] / heads.max(1);
        let query = self.graph.view(query, [width, heads, n, 1]);
        let pair = self.maybe_product(at.find(Role::PairDown), normed);
        let wide = self.graph.dims(pair)[0];
        let rank = at.find(Role::PairDownNorm).map_or(wide, |norm| norm.dims[0]);
        let turned = wide.saturating_sub(rank);
        let low = self.graph.part(pair, [rank, n, 1, 1]);
        let row = u64::from(F32) * wide;
        let place = self
            .graph
            .strided_view(pair, [turned, 1, n, 1], [F32.into(), row, row, row * n]);
        let place = self.turned(at, place);
        let low = self.norm(low, at.find(Role::PairDownNorm), true);
        let (Some(key_up), Some(value_up)) = (at.find(Role::KeyUp), at.find(Role::ValueUp)) else {
            return self.unfolded_attention(at, query, low, place);
        };
        let plain = self
            .graph
            .part(query, [width.saturating_sub(turned), heads, n, 1]);
        let query_place = self.graph.part(query, [turned, heads, n, 1]);
        let query_place = self.turned(at, query_place);
        let plain = self.graph.permute(plain, [0, 2, 1, 3]);
        let absorbed = self.product(key_up, plain);
        let absorbed = self.graph.permute(absorbed, [0, 2, 1, 3]);
        let mut query = self
            .graph
            .fresh(F32, [rank + turned, heads, n, 1], &[absorbed, query_place]);
        let low = self.graph.view(low, [rank, 1, n, 1]);
        let key = self.graph.fresh(F32, [rank + turned, 1, n, 1], &[low, place]);
        if self.shape.traits.temperature {
            query = self.graph.in_place(query, &[self.inputs.temperature]);
        }
        let ending = Ending {
            unfold: Some(value_up),
            ..Ending::of(at)
        };
        self.attend_latent(
            at,
            Triple {
                query,
                key,
                value: low,
            },
            ending,
        )
    }

    fn turned(&mut self, at: At, of: Id) -> Id {
        if self.turns(at) { self.turn(at, of) } else { of }
    }

    /// Keys and values unfolded before attention, where a file has no absorbed matrices.
    fn unfolded_attention(&mut self, at: At, query: Id, low: Id, place: Id) -> Id {
        let n = self.batch.tokens;
        let heads = u64::from(at.layer.heads);
        let [width, ..] = self.graph.dims(query);
        let turned = self.graph.dims(place)[0];
        let plain = width.saturating_sub(turned);
        let pair = self.maybe_product(at.find(Role::PairUp), low);
        let each = self.graph.dims(pair)[0] / heads.max(1);
        let value_width = each.saturating_sub(plain);
        let size = u64::from(F32);
        let strides = [size, size * each, size * each * heads, size * each * heads * n];
        let key = self.graph.strided_view(pair, [plain, heads, n, 1], strides);
        let value = self.graph.strided_view(pair, [value_width, heads, n, 1], strides);
        let value = self.graph.contiguous(value, [value_width, heads, n, 1]);
        let query = self.turned(at, query);
        let place = self.graph.fresh(F32, [turned, heads, n, 1], &[place]);
        let key = self.graph.fresh(F32, [width, heads, n, 1], &[key, place]);
        self.attend(at, Triple { query, key, value }, Ending::of(at))
    }

    fn channel_delta(&mut self, at: At, normed: Id) -> Id {
        let Sequences { each, count } = self.sequences();
        let n = each * count;
        let heads = u64::from(at.layer.heads);
        let inner = at
            .find(Role::QueryConv)
            .map_or(0, |kernel| kernel.dims[1] * kernel.dims[2]);
        let width = inner / heads.max(1);
        let sizes = self.shape.state;
        let all = self.state_cache(at, sizes.rows);
        let old = self.gathered(all, sizes.rows);
        let mut one =
            |matrix, kernel| self.channel_conv(at, normed, [all, old], at.find(matrix), at.find(kernel));
        let query = one(Role::Query, Role::QueryConv);
        let key = one(Role::Key, Role::KeyConv);
        let value = one(Role::Value, Role::ValueConv);
        let low = self.maybe_product(at.find(Role::ForgetDown), normed);
        let decay = self.maybe_product(at.find(Role::ForgetUp), low);
        let decay = self.with(at.find(Role::StateStepBias), decay);
        let decay = self.graph.in_place(decay, &[]);
        let decay = self.graph.view(decay, [width, heads, n, 1]);
        let decay = if let Some(rate) = at.find(Role::StateDecay) {
            let leaf = self.leaf(rate);
            let seen = self.graph.view(leaf, [1, heads, 1, 1]);
            self.graph.in_place(decay, &[seen])
        } else {
            decay
        };
        let decay = self.graph.view(decay, [width, heads, each, count]);
        let beta = self.maybe_product(at.find(Role::StateBeta), normed);
        let beta = self.graph.view(beta, [1, heads, each, count]);
        let beta = self.graph.in_place(beta, &[]);
        let [d, ..] = self.graph.dims(normed);
        let again = self.graph.view(normed, [d, each, count, 1]);
        let states = self.state_cache(at, sizes.values);
        let state = self.gathered(states, sizes.values);
        let state = self.graph.view(state, [width, width, heads, count]);
        let [query, key] = [query, key].map(|of| self.unit_norm(of));
        let dims = [width * heads, n + width * count, 1, 1];
        let made = self
            .graph
            .fresh(F32, dims, &[query, key, value, decay, beta, state]);
        let out = self.graph.view(made, [width, heads, each, count]);
        let out = self.graph.contiguous(out, [width, heads, each, count]);
        let new = self.graph.view(made, [width, width, heads, count]);
        let into = self.graph.view(states, [sizes.values * count, 1, 1, 1]);
        let stored = self.graph.write(into, &[new, into]);
        self.graph.expand(stored);
        let again = self.graph.view(again, [d, n, 1, 1]);
        let low = self.maybe_product(at.find(Role::StateGateDown), again);
        let open = self.maybe_product(at.find(Role::StateGateUp), low);
        let open = self.graph.view(open, [width, heads, n, 1]);
        let out = self.graph.view(out, [width, heads, n, 1]);
        let out = self.norm(out, at.find(Role::StateNorm), true);
        let open = self.graph.in_place(open, &[]);
        let out = self.graph.in_place(out, &[open]);
        let out = self.graph.contiguous(out, [inner, n, 1, 1]);
        self.maybe_product(at.find(Role::AttentionOutput), out)
    }

    /// `causal_conv1d`: one of query, key and value with its own kept inputs.
    fn channel_conv(
        &mut self,
        at: At,
        normed: Id,
        [all, old]: [Id; 2],
        matrix: Option<Placed>,
        kernel: Option<Placed>,
    ) -> Id {
        let Sequences { each, count } = self.sequences();
        let inner = kernel.map_or(0, |kernel| kernel.dims[1] * kernel.dims[2]);
        let kept = kernel.map_or(0, |kernel| kernel.dims[0].saturating_sub(1));
        let heads = u64::from(at.layer.heads);
        let (size, row) = (u64::from(F32), u64::from(F32) * self.shape.state.rows);
        let strides = [size, size * kept, row, row * count];
        let mine = self.graph.strided_view(old, [kept, inner, count, 1], strides);
        let made = self.maybe_product(matrix, normed);
        let made = self.graph.view(made, [inner, each, count, 1]);
        let turned = self.graph.permute(made, [1, 0, 2, 3]);
        let input = self
            .graph
            .fresh(F32, [kept + each, inner, count, 1], &[mine, turned]);
        let last = self.graph.part(input, [kept, inner, count, 1]);
        let into = self.graph.strided_view(all, [kept, inner, count, 1], strides);
        let stored = self.graph.write(into, &[last, into]);
        self.graph.expand(stored);
        let out = if let Some(kernel) = kernel {
            let leaf = self.leaf(kernel);
            let seen = self.graph.view(leaf, [kernel.dims[0], inner, 1, 1]);
            self.graph.fresh(F32, [inner, each, count, 1], &[input, seen])
        } else {
            input
        };
        let out = self.graph.view(out, [inner, each * count, 1, 1]);
        let out = self.graph.in_place(out, &[]);
        self.graph.view(out, [inner / heads.max(1), heads, each, count])
    }
}
