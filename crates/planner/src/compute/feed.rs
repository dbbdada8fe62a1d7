//! The feed-forward part, dense or of experts: `build_ffn` and `build_moe_ffn` of llama.cpp's `llama-graph.cpp`.

use super::build::{At, Builder, Placed};
use super::graph::{F32, I32, Id};
use crate::shape::Role;

/// The experts of one part, and how a row is sent to them.
#[derive(Clone, Copy)]
struct Experts {
    used: u64,
    ids: Id,
}

impl Builder<'_> {
    pub(super) fn feed(&mut self, at: At, normed: Id) -> Id {
        if !at.layer.has(Role::Router) {
            return self.dense(at, normed);
        }
        let out = self.experts(at, normed, None);
        let Some(extra) = self.shared(at, normed) else {
            return out;
        };
        self.graph.in_place(out, &[extra])
    }

    /// The expert that every row goes to.
    pub(super) fn shared(&mut self, at: At, normed: Id) -> Option<Id> {
        let parts = [Role::SharedGate, Role::SharedUp, Role::SharedDown].map(|role| at.find(role));
        let [gate, Some(up), down] = parts else {
            return None;
        };
        let out = self.gated(normed, [gate, Some(up), down], [None; 3]);
        let Some(router) = at.find(Role::SharedRouter) else {
            return Some(out);
        };
        // A vector in the file, a matrix of one row here.
        let share = self.product(
            Placed {
                dims: [router.dims[0], 1, 1],
                ..router
            },
            normed,
        );
        let share = self.graph.in_place(share, &[]);
        Some(self.graph.in_place(out, &[share]))
    }

    pub(super) fn dense(&mut self, at: At, normed: Id) -> Id {
        let matrices = [Role::Gate, Role::Up, Role::Down].map(|role| at.find(role));
        let biases = [Role::GateBias, Role::UpBias, Role::DownBias].map(|role| at.find(role));
        self.gated(normed, matrices, biases)
    }

    /// Gate, up and down with their biases.
    fn gated(&mut self, normed: Id, matrices: [Option<Placed>; 3], biases: [Option<Placed>; 3]) -> Id {
        let [gate, up, down] = matrices;
        let Some(up) = up else { return normed };
        let rows = self.product(up, normed);
        let rows = self.with(biases[1], rows);
        let inner = if let Some(gate) = gate {
            let open = self.product(gate, normed);
            let open = self.with(biases[0], open);
            let dims = self.graph.dims(open);
            self.graph.fresh(F32, dims, &[open, rows])
        } else if down.is_some_and(|down| 2 * down.dims[0] == up.dims[1]) {
            // One matrix holds both (`swiglu`).
            let [width, n, a, b] = self.graph.dims(rows);
            self.graph.fresh(F32, [width / 2, n, a, b], &[rows])
        } else {
            self.activation(rows)
        };
        let out = self.maybe_product(down, inner);
        self.with(biases[2], out)
    }

    /// An activation without a gate.
    fn activation(&mut self, rows: Id) -> Id {
        match self.shape.family.names_first() {
            // Squared.
            "nemotron_h" => {
                let rows = self.graph.in_place(rows, &[]);
                self.graph.in_place(rows, &[])
            }
            _ => self.graph.in_place(rows, &[]),
        }
    }

    /// `odds` when the family has computed them itself.
    pub(super) fn experts(&mut self, at: At, normed: Id, odds: Option<Id>) -> Id {
        let traits = self.shape.traits;
        let family = self.shape.family;
        let Some(router) = at.find(Role::Router) else {
            return normed;
        };
        let count = router.dims[1];
        let [d, n, ..] = self.graph.dims(normed);
        let logits = match odds {
            Some(odds) => odds,
            None => self.product(router, normed),
        };
        let logits = self.with(at.find(Role::RouterBias), logits);
        let odds = if family.softmax_of_chosen {
            logits
        } else {
            self.graph.in_place(logits, &[])
        };
        let mut choice = self.with(at.find(Role::ChoiceBias), odds);
        if family.weighs_before {
            choice = logits;
        }
        if traits.expert_groups > 1 {
            choice = self.by_groups(choice, count, n);
        }
        let used = u64::from(self.shape.experts_used).min(count).max(1);
        let ids = self.best(choice, used);
        let odds = self.graph.view(odds, [1, count, n, 1]);
        let mut weights = self.graph.rows([1, used, n, 1], odds, ids);
        if family.softmax_of_chosen {
            weights = self.graph.view(weights, [used, n, 1, 1]);
            weights = self.graph.in_place(weights, &[]);
            weights = self.graph.view(weights, [1, used, n, 1]);
        }
        if traits.experts_normed {
            weights = self.graph.view(weights, [used, n, 1, 1]);
            let sum = self.graph.fresh(F32, [1, n, 1, 1], &[weights]);
            let sum = self.graph.in_place(sum, &[]);
            weights = self.graph.in_place(weights, &[sum]);
            weights = self.graph.view(weights, [1, used, n, 1]);
        }
        if traits.experts_scaled {
            weights = self.graph.in_place(weights, &[]);
        }
        self.graph.expand(weights);

        let mut rows = self.graph.view(normed, [d, 1, n, 1]);
        if family.weighs_before {
            let repeated = self.graph.fresh(F32, [d, used, n, 1], &[rows]);
            rows = self.graph.in_place(repeated, &[weights]);
        }
        let experts = Experts { used, ids };
        let inner = self.inside_experts(at, rows, experts);
        let down = self.expert(at, inner, Role::DownExperts, Role::DownExpertsBias, experts);
        let weighted = if family.weighs_before {
            down
        } else {
            self.graph.in_place(down, &[weights])
        };
        self.graph.expand(weighted);
        self.sum_of_chosen(weighted, used)
    }

    /// The numbers of the `used` largest of each row (`ggml_argsort_top_k`).
    fn best(&mut self, of: Id, used: u64) -> Id {
        let dims = self.graph.dims(of);
        let sorted = self.graph.fresh(I32, dims, &[of]);
        self.graph.part(sorted, [used, dims[1], dims[2], dims[3]])
    }

    /// Leaves only the best groups of experts to choose from.
    fn by_groups(&mut self, choice: Id, count: u64, n: u64) -> Id {
        let groups = u64::from(self.shape.traits.expert_groups);
        let kept = u64::from(self.shape.traits.expert_groups_used);
        let each = count / groups.max(1);
        let grouped = self.graph.view(choice, [each, groups, n, 1]);
        let best_two = self.best(grouped, 2);
        let single = self.graph.view(grouped, [1, each, groups, n]);
        let scores = self.graph.rows([1, 2, groups, n], single, best_two);
        let scores = self.graph.view(scores, [2, groups, n, 1]);
        let scores = self.graph.fresh(F32, [1, groups, n, 1], &[scores]);
        let scores = self.graph.view(scores, [groups, n, 1, 1]);
        let best = self.best(scores, kept);
        let chosen = self.graph.rows([each, kept, n, 1], grouped, best);
        let empty = self.graph.in_place(grouped, &[]);
        let masked = self.graph.set_rows(empty, chosen, best);
        self.graph.view(masked, [count, n, 1, 1])
    }

    fn inside_experts(&mut self, at: At, rows: Id, experts: Experts) -> Id {
        let [_, _, n, _] = self.graph.dims(rows);
        if at.layer.has(Role::GateUpExperts) {
            let both = self.expert(at, rows, Role::GateUpExperts, Role::UpExpertsBias, experts);
            let width = self.graph.dims(both)[0] / 2;
            let dims = [width, experts.used, n, 1];
            let (gate, up) = (self.graph.part(both, dims), self.graph.part(both, dims));
            return self.graph.fresh(F32, dims, &[gate, up]);
        }
        let up = self.expert(at, rows, Role::UpExperts, Role::UpExpertsBias, experts);
        if !at.layer.has(Role::GateExperts) {
            return self.activation(up);
        }
        let gate = self.expert(at, rows, Role::GateExperts, Role::GateExpertsBias, experts);
        let dims = self.graph.dims(gate);
        self.graph.fresh(F32, dims, &[gate, up])
    }

    /// One of the matrices of the chosen experts.
    fn expert(&mut self, at: At, rows: Id, matrix: Role, bias: Role, experts: Experts) -> Id {
        let Some(matrix) = at.find(matrix) else {
            return rows;
        };
        let leaf = self.leaf(matrix);
        // In the last layer these are fewer than the batch has tokens.
        let [_, _, n, _] = self.graph.dims(rows);
        let made = self
            .graph
            .product([matrix.dims[1], experts.used, n, 1], &[leaf, rows, experts.ids]);
        let Some(bias) = at.find(bias) else { return made };
        let leaf = self.leaf(bias);
        self.graph.in_place(made, &[leaf, experts.ids])
    }

    fn sum_of_chosen(&mut self, weighted: Id, used: u64) -> Id {
        let [d, _, n, _] = self.graph.dims(weighted);
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
}
