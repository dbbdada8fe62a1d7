//! ggml's backend scheduler: which backend runs what, and which tensors are copied for it.
//!
//! Follows `ggml_backend_sched_split_graph` pass by pass. Every backend here runs every operation: what a real one
//! cannot run is not known without it, and llama.cpp's own dry run over remote devices assumes the same.

use super::graph::{Graph, Home, Id, Op, Tensor};
use super::{Backend, BackendTraits, Fetches};

/// The order in which ggml would allocate, with the backend of each tensor.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    pub(crate) leafs: Vec<(Id, Backend)>,
    pub(crate) nodes: Vec<(Id, Backend)>,
}

struct Split {
    backend: Backend,
    /// Into `graph.nodes`.
    start: usize,
    end: usize,
    inputs: Vec<Id>,
}

/// How many copies of each input there are, so that the next batch can be prepared while one runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copies {
    One,
    /// Several devices in a pipeline.
    Four,
}

impl Copies {
    const MOST: usize = 4;

    const fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Four => Self::MOST,
        }
    }
}

pub(crate) fn schedule(graph: &mut Graph, backends: &[BackendTraits], copies: Copies) -> Schedule {
    let host = host_of(backends);
    if host == 0 {
        // Everything is in one place.
        let all = |ids: &[Id]| ids.iter().map(|&id| (id, host)).collect();
        return Schedule {
            leafs: all(&graph.leafs),
            nodes: all(&graph.nodes),
        };
    }
    let mut scheduler = Scheduler {
        graph,
        backends,
        host,
        copies,
    };
    scheduler.place_what_is_fixed();
    scheduler.spread();
    scheduler.place_arguments();
    let (splits, made) = scheduler.split();
    scheduler.list(&splits, &made)
}

/// The host is the last backend, as in llama.cpp.
fn host_of(backends: &[BackendTraits]) -> Backend {
    Backend::try_from(backends.len().saturating_sub(1)).unwrap_or(Backend::MAX)
}

struct Scheduler<'a> {
    graph: &'a mut Graph,
    backends: &'a [BackendTraits],
    host: Backend,
    copies: Copies,
}

/// Tokens from which on a device fetches weights (`op_offload_min_batch_size`).
const FETCHED_FROM: u64 = 32;

/// Copies that were made: of which tensor, for which backend.
#[derive(Debug)]
struct Made {
    /// By tensor, its first copies in `sets`.
    first: Vec<u32>,
    sets: Vec<Set>,
}

/// Copies of one tensor for one backend.
#[derive(Debug)]
struct Set {
    backend: Backend,
    ids: [Id; Copies::MOST],
    count: usize,
    /// Those for another backend.
    next: u32,
}

impl Made {
    const NONE: u32 = u32::MAX;

    fn new(tensors: usize) -> Self {
        Self {
            first: vec![Self::NONE; tensors],
            sets: Vec::new(),
        }
    }

    fn of(&self, id: Id, backend: Backend) -> Option<&[Id]> {
        let mut at = *self.first.get(id.index())?;
        while let Some(set) = self.sets.get(at as usize) {
            if set.backend == backend {
                return set.ids.get(..set.count);
            }
            at = set.next;
        }
        None
    }

    fn put(&mut self, id: Id, backend: Backend, ids: [Id; Copies::MOST], count: usize) {
        let at = u32::try_from(self.sets.len()).unwrap_or(Self::NONE);
        if let Some(first) = self.first.get_mut(id.index()) {
            let next = std::mem::replace(first, at);
            self.sets.push(Set {
                backend,
                ids,
                count,
                next,
            });
        }
    }
}

impl Scheduler<'_> {
    fn home(&self, id: Id) -> Option<Backend> {
        let root = self.graph[id].view_of.some().unwrap_or(id);
        match self.graph[root].home {
            Home::Weights(backend) | Home::Cache(backend) => Some(backend),
            Home::Graph => None,
        }
    }

    /// Pass 1: tensors that exist already, inputs, and operations on weights.
    fn place_what_is_fixed(&mut self) {
        for i in 0..self.graph.leafs.len() {
            let leaf = self.graph.leafs[i];
            self.graph[leaf].backend = self
                .home(leaf)
                .or_else(|| self.graph[leaf].input.then_some(self.host));
        }
        for i in 0..self.graph.nodes.len() {
            let node = self.graph.nodes[i];
            if self.graph[node].backend.is_none() {
                self.graph[node].backend = self.home(node).or_else(|| self.beside_weights(node));
            }
        }
    }

    fn beside_weights(&self, node: Id) -> Option<Backend> {
        let tensor = &self.graph[node];
        if matches!(tensor.op, Op::Rope | Op::Attention) {
            return None;
        }
        let weights = tensor
            .sources()
            .iter()
            .find_map(|&source| match self.graph[source].home {
                Home::Weights(backend) => Some(backend),
                Home::Graph | Home::Cache(_) => None,
            })?;
        if weights == self.host {
            let fetches = self.backends[..usize::from(self.host)]
                .iter()
                .position(|backend| fetched(tensor, self.graph.dims(node), backend.fetches));
            if let Some(device) = fetches {
                return Backend::try_from(device).ok();
            }
        }
        Some(weights)
    }

    /// Passes 2 and 3: neighbours go where their neighbours are, devices first.
    fn spread(&mut self) {
        self.spread_one_way(true, false);
        self.spread_one_way(true, true);
        self.spread_one_way(false, false);
        self.spread_one_way(false, true);
    }

    fn spread_one_way(&mut self, skip_host: bool, backwards: bool) {
        let mut current = None;
        let count = self.graph.nodes.len();
        for i in 0..count {
            let node = self.graph.nodes[if backwards { count - 1 - i } else { i }];
            if self.graph[node].op == Op::View {
                continue;
            }
            match self.graph[node].backend {
                Some(backend) if skip_host && backend == self.host => current = None,
                Some(backend) => current = Some(backend),
                None => self.graph[node].backend = current,
            }
        }
    }

    /// Pass 4: views follow what they show, arguments follow their operation.
    fn place_arguments(&mut self) {
        for i in 0..self.graph.nodes.len() {
            let node = self.graph.nodes[i];
            if let Some(root) = self.graph[node].view_of.some()
                && self.graph[node].backend.is_none()
            {
                self.graph[node].backend = self.graph[root].backend;
            }
            let own = self.graph[node].backend;
            let tensor = self.graph[node];
            for &source in tensor.sources() {
                if self.graph[source].backend.is_none() {
                    let root = self.graph[source].view_of.some();
                    self.graph[source].backend = root.map_or(own, |root| self.graph[root].backend);
                }
            }
            if self.graph[node].backend.is_none() {
                self.graph[node].backend = Some(0);
            }
        }
    }

    fn at(&self, id: Id) -> Backend {
        self.graph[id].backend.unwrap_or(self.host)
    }

    /// Whether `backend` can read `id` where it lies.
    fn reads(&self, backend: Backend, id: Id) -> bool {
        self.home(id).unwrap_or_else(|| self.at(id)) == backend
    }

    /// Pass 5: cut the graph where the backend changes, and copy what the other side needs.
    fn split(&mut self) -> (Vec<Split>, Made) {
        let nodes = self.graph.nodes.clone();
        let first = nodes.iter().find(|&&node| self.graph[node].op != Op::View);
        let start = first.map_or(self.host, |&node| self.at(node));
        let mut splits = vec![Split {
            backend: start,
            start: 0,
            end: nodes.len(),
            inputs: Vec::new(),
        }];
        let mut made = Made::new(self.graph.len());
        for (i, &node) in nodes.iter().enumerate() {
            if self.graph[node].op == Op::View {
                continue;
            }
            let backend = self.at(node);
            let Some(current) = splits.last_mut() else { break };
            // Weights that were fetched for the last operation make room for the next ones.
            let fetches_again = backend == current.backend
                && !current.inputs.is_empty()
                && self.graph[node]
                    .sources()
                    .iter()
                    .any(|&source| matches!(self.graph[source].home, Home::Weights(home) if home != backend));
            if backend != current.backend || fetches_again {
                current.end = i;
                splits.push(Split {
                    backend,
                    start: i,
                    end: nodes.len(),
                    inputs: Vec::new(),
                });
            }
            let tensor = self.graph[node];
            for (place, &source) in tensor.sources().iter().enumerate() {
                if self.at(source) == backend || self.reads(backend, source) {
                    continue;
                }
                let copy = if let Some(copies) = made.of(source, backend) {
                    copies.first().copied()
                } else {
                    let pinned = self.copies != Copies::One;
                    let count = self.copies.count();
                    let mut copies = [Id::NONE; Copies::MOST];
                    for copy in copies.iter_mut().take(count) {
                        *copy = self.graph.copy_for(source, backend, pinned);
                    }
                    if let Some(split) = splits.last_mut() {
                        split.inputs.push(source);
                    }
                    made.put(source, backend, copies, count);
                    copies.first().copied()
                };
                self.graph[node].replace_source(place, copy.unwrap_or(source));
            }
        }
        (splits, made)
    }

    /// The graph as the allocator gets it.
    fn list(&mut self, splits: &[Split], made: &Made) -> Schedule {
        let mut out = Schedule::default();
        let nodes = self.graph.nodes.clone();
        let copies_of = |input: Id, backend: Backend| made.of(input, backend).unwrap_or_default();
        for split in splits {
            for &input in &split.inputs {
                let at = self.at(input);
                let hold = self.graph.hold(input);
                out.nodes.push((hold, at));
                out.nodes.extend(
                    copies_of(input, split.backend)
                        .first()
                        .map(|&copy| (copy, split.backend)),
                );
            }
            out.nodes.extend(
                nodes[split.start..split.end]
                    .iter()
                    .map(|&node| (node, self.at(node))),
            );
        }
        if self.copies != Copies::One {
            let inputs: Vec<Id> = self
                .graph
                .leafs
                .iter()
                .copied()
                .filter(|&leaf| self.graph[leaf].input)
                .collect();
            for input in inputs {
                let at = self.at(input);
                self.graph[input].output = true;
                out.leafs.push((input, at));
                for _ in 1..self.copies.count() {
                    let copy = self.graph.copy_for(input, at, true);
                    out.leafs.push((copy, at));
                }
            }
            for split in splits {
                for &input in &split.inputs {
                    out.leafs.extend(
                        copies_of(input, split.backend)
                            .iter()
                            .map(|&copy| (copy, split.backend)),
                    );
                }
            }
        }
        out.leafs
            .extend(self.graph.leafs.iter().map(|&leaf| (leaf, self.at(leaf))));
        out
    }
}

/// Whether a device copies the host's weights to do this operation itself (`ggml_backend_offload_op`).
fn fetched(tensor: &Tensor, dims: [u64; 4], fetches: Fetches) -> bool {
    let [_, rows, matrices, more] = dims;
    let by_number = tensor.op == Op::Product && tensor.sources().len() > 2;
    let size = match (tensor.op, by_number) {
        (Op::Product, true) => matrices,
        (Op::Product, false) => rows,
        (Op::Rows, _) => 0,
        _ => rows.saturating_mul(matrices).saturating_mul(more),
    };
    match fetches {
        Fetches::Nothing => false,
        Fetches::Products => tensor.op == Op::Product && size >= FETCHED_FROM,
        Fetches::Everything => size >= FETCHED_FROM,
    }
}
