//! A layer of attention and a feed-forward part, in the order that most model files share.

use super::attention::{Ending, Triple};
use super::build::{At, Builder};
use super::graph::Id;
use crate::shape::{Exit, Role};

impl Builder<'_> {
    pub(super) fn transformer_layer(&mut self, at: At, state: Id) -> Id {
        let normed = self.norm(state, at.find(Role::AttentionNorm), true);
        if !at.layer.has(Role::AttentionOutput) {
            // A layer without attention (`Deci`) goes straight on.
            return if Self::feeds(at) {
                self.feed_part(at, normed, None)
            } else {
                state
            };
        }
        let out = if at.layer.cached {
            self.plain_attention(at, normed)
        } else {
            // Attention that was replaced by one matrix.
            self.maybe_product(at.find(Role::AttentionOutput), normed)
        };
        self.after_attention(at, out, state)
    }

    /// From the attention's output to the layer's.
    pub(super) fn after_attention(&mut self, at: At, out: Id, state: Id) -> Id {
        let family = self.shape.family;
        let (mut out, mut residual) = (out, state);
        let post = at
            .find(Role::PostAttentionNorm)
            .filter(|_| at.layer.has(Role::PostFeedNorm) || at.layer.has(Role::FeedNorm));
        if at.last && family.exit == Exit::LastLayer {
            out = self.output_rows(out);
            residual = self.output_rows(residual);
        }
        out = self.norm(out, post, family.ties_post_attention);
        if at.last && family.exit == Exit::LastLayerNormed {
            out = self.output_rows(out);
            residual = self.output_rows(residual);
        }
        if self.shape.traits.scaled_residual {
            out = self.graph.in_place(out, &[]);
        }
        if !Self::feeds(at) {
            // `deci.cpp` goes on with what came in; the attention is computed all the same.
            return state;
        }
        let sum = self.graph.in_place(out, &[residual]);
        self.feed_part(at, sum, Some(sum))
    }

    fn feeds(at: At) -> bool {
        [Role::Up, Role::UpExperts, Role::GateUpExperts]
            .into_iter()
            .any(|role| at.layer.has(role))
    }

    fn feed_part(&mut self, at: At, input: Id, residual: Option<Id>) -> Id {
        let family = self.shape.family;
        let own = at.find(Role::FeedNorm);
        // Without a norm of its own the part takes the one after attention, or none when there is one at its end.
        let norm = own.or_else(|| {
            at.find(Role::PostAttentionNorm)
                .filter(|_| !at.layer.has(Role::PostFeedNorm))
        });
        let normed = self.norm(input, norm, true);
        let mut out = self.feed(at, normed);
        out = self.norm(out, at.find(Role::PostFeedNorm), family.ties_post_feed);
        if self.shape.traits.scaled_residual {
            out = self.graph.in_place(out, &[]);
        }
        let residual = residual.unwrap_or(input);
        if family.residual_first {
            self.graph.in_place(residual, &[out])
        } else {
            self.graph.in_place(out, &[residual])
        }
    }

    /// Attention as most families do it, with its output matrix.
    pub(super) fn plain_attention(&mut self, at: At, normed: Id) -> Id {
        let layer = at.layer;
        let family = self.shape.family;
        let width = u64::from(layer.key_width);
        let norms = (at.find(Role::QueryNorm), at.find(Role::KeyNorm));
        // Norms over a whole row come before it is seen as heads (MiniMax, OLMo).
        let whole = norms.0.is_some_and(|norm| norm.dims[0] != width);
        let mut triple = if whole {
            let n = self.batch.tokens;
            let (query, key, value) = self.flat_triple(at, normed);
            let query = self.norm(query, norms.0, true);
            let key = self.norm(key, norms.1, true);
            let (heads, kv_heads) = (u64::from(layer.heads), u64::from(layer.kv_heads));
            Triple {
                query: self.graph.view(query, [width, heads, n, 1]),
                key: self.graph.view(key, [width, kv_heads, n, 1]),
                value: self
                    .graph
                    .view(value, [u64::from(layer.value_width), kv_heads, n, 1]),
            }
        } else {
            let mut triple = self.triple(at, normed, width);
            if !family.norms_after_turn {
                triple.query = self.norm(triple.query, norms.0, true);
                triple.key = self.norm(triple.key, norms.1, true);
            }
            triple
        };
        let turns = self.turns(at);
        if turns {
            triple.query = self.turn(at, triple.query);
            triple.key = self.turn(at, triple.key);
        }
        if family.norms_after_turn {
            triple.key = self.norm(triple.key, norms.1, true);
            triple.query = self.norm(triple.query, norms.0, true);
        }
        if family.weighs_before {
            // Llama 4 scales by position where it does not turn, and norms where it does.
            if !turns {
                triple.query = self.graph.in_place(triple.query, &[self.inputs.temperature]);
            } else if self.shape.traits.bare_norms {
                triple.query = self.graph.in_place(triple.query, &[]);
                triple.key = self.graph.in_place(triple.key, &[]);
            }
        } else if self.shape.traits.temperature {
            triple.query = self.graph.in_place(triple.query, &[self.inputs.temperature]);
        }
        if family.scaled_query {
            triple.query = self.graph.in_place(triple.query, &[]);
        }
        let Some(gate) = at.find(Role::AttentionGate) else {
            return self.attend(at, triple, Ending::of(at));
        };
        let gate = self.product(gate, normed);
        let sinks = at.find(Role::Sinks);
        let out = self.attend(
            at,
            triple,
            Ending {
                sinks,
                ..Ending::default()
            },
        );
        let gate = self.graph.in_place(gate, &[]);
        let out = self.graph.in_place(out, &[gate]);
        self.maybe_product(at.find(Role::AttentionOutput), out)
    }
}
