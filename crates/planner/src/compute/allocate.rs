//! ggml's graph allocator, on sizes only: which memory each tensor would get, and how far that reaches.
//!
//! Follows `ggml-alloc.c` step by step (best fit, reuse of an argument's memory, the order of frees), because the
//! answer depends on fragmentation: a buffer jumps by one activation when a mask stops fitting into a gap.

use super::graph::{Graph, Home, Id, Op};
use super::schedule::Schedule;
use super::{Backend, BackendTraits};

#[derive(Debug, Clone, Copy)]
struct Block {
    offset: u64,
    size: u64,
}

/// One buffer of at most `limit` bytes.
#[derive(Debug)]
struct Chunk {
    free: Vec<Block>,
    reach: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Address {
    chunk: u16,
    offset: u64,
}

#[derive(Debug)]
struct Pool {
    alignment: u64,
    chunk_bytes: u64,
    chunks: Vec<Chunk>,
}

/// As in `ggml-alloc.c`: the last chunk takes whatever is left.
const CHUNKS_MAX: usize = 16;

impl Pool {
    /// Alignments are powers of two. A size at the end of all numbers stays there: it fits nowhere.
    const fn aligned(&self, size: u64) -> u64 {
        let below = self.alignment - 1;
        match size.checked_add(below) {
            Some(size) => size & !below,
            None => !below,
        }
    }

    fn allocate(&mut self, size: u64) -> Address {
        let size = self.aligned(size);
        let (chunk_at, block_at) = self
            .best_gap(size)
            .or_else(|| self.best_end(size))
            .unwrap_or_else(|| self.grow(size));
        let chunk = &mut self.chunks[chunk_at];
        let block = &mut chunk.free[block_at];
        let offset = block.offset;
        block.offset += size;
        block.size -= size;
        if block.size == 0 {
            chunk.free.remove(block_at);
        }
        chunk.reach = chunk.reach.max(offset + size);
        Address {
            chunk: u16::try_from(chunk_at).unwrap_or(u16::MAX),
            offset,
        }
    }

    /// The smallest gap between allocations that is large enough; of equals the last.
    fn best_gap(&self, size: u64) -> Option<(usize, usize)> {
        let mut best = None;
        for (chunk_at, chunk) in self.chunks.iter().enumerate() {
            // ggml starts afresh in every chunk, so a later chunk wins over a better gap in an earlier one.
            let mut best_size = u64::MAX;
            let gaps = chunk.free.split_last().map_or(&[][..], |(_, gaps)| gaps);
            for (block_at, block) in gaps.iter().enumerate() {
                if block.size >= size && block.size <= best_size {
                    best = Some((chunk_at, block_at));
                    best_size = block.size;
                }
            }
        }
        best
    }

    /// The open end of the chunk that would have to grow least.
    fn best_end(&self, size: u64) -> Option<(usize, usize)> {
        let mut best = None;
        let mut best_reuse = i128::MIN;
        for (chunk_at, chunk) in self.chunks.iter().enumerate() {
            let Some(block) = chunk.free.last() else { continue };
            let reuse = i128::from(chunk.reach) - i128::from(block.offset) - i128::from(size);
            let better_reuse = best_reuse < 0 && reuse > best_reuse;
            let better_fit = reuse >= 0 && reuse < best_reuse;
            if block.size >= size && (better_reuse || better_fit) {
                best = Some((chunk_at, chunk.free.len() - 1));
                best_reuse = reuse;
            }
        }
        best
    }

    fn grow(&mut self, size: u64) -> (usize, usize) {
        let last = self.chunks.len() + 1 >= CHUNKS_MAX;
        let size = if last {
            u64::MAX / 2
        } else {
            self.chunk_bytes.max(size)
        };
        if self.chunks.len() < CHUNKS_MAX {
            self.chunks.push(Chunk {
                free: vec![Block { offset: 0, size }],
                reach: 0,
            });
        } else if let Some(chunk) = self.chunks.last_mut() {
            // Only a header of absurd sizes comes here; it must not fail, and it will not fit anywhere.
            let offset = chunk.reach;
            chunk.free.push(Block {
                offset,
                size: u64::MAX - offset,
            });
        }
        let chunk_at = self.chunks.len() - 1;
        (chunk_at, self.chunks[chunk_at].free.len() - 1)
    }

    /// Joins the first free block that touches; with sizes of zero about, which one is first matters.
    fn release(&mut self, at: Address, size: u64) {
        let size = self.aligned(size);
        let free = &mut self.chunks[usize::from(at.chunk)].free;
        let end = |block: &Block| block.offset + block.size;
        let touching = free
            .iter()
            .position(|block| end(block) == at.offset || at.offset + size == block.offset);
        let Some(first) = touching else {
            let place = free.partition_point(|block| block.offset < at.offset);
            free.insert(
                place,
                Block {
                    offset: at.offset,
                    size,
                },
            );
            return;
        };
        let follows = end(&free[first]) == at.offset;
        free[first].size += size;
        if !follows {
            free[first].offset = at.offset;
        }
        let (low, high) = if follows {
            (first, first + 1)
        } else {
            (first.wrapping_sub(1), first)
        };
        if let (Some(below), Some(above)) = (free.get(low), free.get(high))
            && end(below) == above.offset
        {
            free[low].size += above.size;
            free.remove(high);
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    children: u32,
    views: u32,
    allocated: bool,
    pool: Backend,
    at: Address,
}

struct Allocator<'a> {
    graph: &'a Graph,
    pools: Vec<Pool>,
    states: Vec<State>,
}

/// What became of a graph.
pub(super) struct Allocated {
    /// Bytes that each backend's compute buffer needs.
    pub(super) sizes: Vec<u64>,
    /// What was free, and where the tensor itself was, after each of the watched tensors; as many as were reached.
    pub(super) states: Vec<Vec<u64>>,
}

/// Allocates a graph; `watched` are nodes in the order of the graph.
pub(super) fn allocate(
    graph: &Graph,
    schedule: &Schedule,
    backends: &[BackendTraits],
    watched: &[Id],
) -> Allocated {
    let pools = backends
        .iter()
        .map(|traits| Pool {
            alignment: traits.alignment,
            chunk_bytes: traits.buffer_max,
            chunks: Vec::new(),
        })
        .collect();
    let mut allocator = Allocator {
        graph,
        pools,
        states: vec![State::default(); graph.len()],
    };
    let states = allocator.run(&schedule.leafs, &schedule.nodes, watched);
    let reach = |pool: &Pool| pool.chunks.iter().map(|chunk| chunk.reach).sum();
    Allocated {
        sizes: allocator.pools.iter().map(reach).collect(),
        states,
    }
}

impl Allocator<'_> {
    fn run(&mut self, leafs: &[(Id, Backend)], nodes: &[(Id, Backend)], watched: &[Id]) -> Vec<Vec<u64>> {
        for &(leaf, backend) in leafs {
            self.allocate(leaf, backend);
        }
        for &(id, backend) in nodes {
            let node = &self.graph[id];
            if node.op != Op::Hold
                && let Some(root) = node.view_of.some()
            {
                self.states[root.index()].views += 1;
            }
            if node.input {
                self.allocate(id, backend);
            }
            for &source in node.sources() {
                self.states[source.index()].children += 1;
                if self.graph[source].input {
                    self.allocate(source, backend);
                }
            }
        }
        let mut seen = Vec::with_capacity(watched.len());
        for &(id, backend) in nodes {
            let sources = self.graph[id].sources();
            for &source in sources {
                self.allocate(source, backend);
            }
            self.allocate(id, backend);
            for &source in sources {
                self.done_with(source);
            }
            while watched.get(seen.len()) == Some(&id) {
                seen.push(self.state(id));
            }
        }
        seen
    }

    /// All that what follows depends on: the same again after the same layers means the same for ever.
    fn state(&self, of: Id) -> Vec<u64> {
        let root = self.graph[of].view_of.some().unwrap_or(of);
        let own = self.states[root.index()];
        let mut out = vec![u64::from(own.pool), u64::from(own.at.chunk), own.at.offset];
        for chunk in self.pools.iter().flat_map(|pool| &pool.chunks) {
            out.push(chunk.free.len() as u64);
            out.extend(chunk.free.iter().flat_map(|block| [block.offset, block.size]));
        }
        out
    }

    fn allocate(&mut self, id: Id, backend: Backend) {
        let tensor = &self.graph[id];
        let outside = tensor.home != Home::Graph || tensor.view_of != Id::NONE;
        if outside || self.states[id.index()].allocated {
            return;
        }
        self.states[id.index()].allocated = true;
        if matches!(tensor.op, Op::InPlace | Op::Rope) && self.reuse_argument(id) {
            return;
        }
        let at = self.pools[usize::from(backend)].allocate(tensor.bytes);
        let state = &mut self.states[id.index()];
        state.pool = backend;
        state.at = at;
    }

    /// Takes over the memory of the first argument that nobody else needs.
    fn reuse_argument(&mut self, id: Id) -> bool {
        let graph = self.graph;
        for &parent in graph[id].sources() {
            let parent_state = self.states[parent.index()];
            let root = self.graph[parent].view_of.some();
            let is_output = self.graph[parent].output || root.is_some_and(|root| self.graph[root].output);
            // A view is "own" only through its root here: ggml never marks views as allocated.
            if !parent_state.allocated || is_output || !self.graph.same_layout(id, parent) {
                continue;
            }
            if parent_state.children != 1 || parent_state.views != 0 {
                continue;
            }
            debug_assert!(root.is_none(), "a view never owns memory");
            let (node_bytes, parent_bytes) = (self.graph[id].bytes, self.graph[parent].bytes);
            self.states[parent.index()].allocated = false;
            let state = &mut self.states[id.index()];
            state.pool = parent_state.pool;
            state.at = parent_state.at;
            let pool = &mut self.pools[usize::from(parent_state.pool)];
            let (node_bytes, parent_bytes) = (pool.aligned(node_bytes), pool.aligned(parent_bytes));
            if parent_bytes > node_bytes {
                let rest = Address {
                    offset: parent_state.at.offset + node_bytes,
                    ..parent_state.at
                };
                pool.release(rest, parent_bytes - node_bytes);
            }
            return true;
        }
        false
    }

    fn done_with(&mut self, parent: Id) {
        let state = &mut self.states[parent.index()];
        state.children -= 1;
        if state.children > 0 || state.views > 0 {
            return;
        }
        if let Some(root) = self.graph[parent].view_of.some() {
            let root_state = &mut self.states[root.index()];
            root_state.views = root_state.views.saturating_sub(1);
            if root_state.views == 0 && root_state.children == 0 && root_state.allocated {
                self.free(root);
            }
        } else if state.allocated {
            self.free(parent);
        }
    }

    fn free(&mut self, id: Id) {
        if self.graph[id].output {
            return;
        }
        let state = &mut self.states[id.index()];
        state.allocated = false;
        let (pool, at) = (state.pool, state.at);
        self.pools[usize::from(pool)].release(at, self.graph[id].bytes);
    }
}
