//! A compute graph, as far as its memory goes: which tensors there are, in which order, what they are made from.

use std::ops::{Index, IndexMut};

use super::Backend;

/// A tensor's place in its [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id(u32);

impl Id {
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(crate) fn some(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

/// What memory planning must know of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// An input, a weight, a cache: comes from outside the graph.
    Leaf,
    /// Another look at the same bytes.
    View,
    /// Writes into what it is a view of.
    Write,
    /// May take over the memory of an argument of the same layout.
    InPlace,
    /// The same, but never placed by the tiny frequency table that it reads.
    Rope,
    /// Never placed by the tiny sinks tensor that it reads.
    Attention,
    /// A matrix product with weights, which a device may fetch from the host for a large batch.
    Product,
    /// Rows of a table by number: too little work to fetch the table for.
    Rows,
    /// Needs memory of its own.
    Fresh,
    /// A copy of an argument on another backend.
    Copy,
    /// Keeps its argument alive until here.
    Hold,
}

/// Where the bytes of a tensor from outside the graph lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    Graph,
    Weights(Backend),
    Cache(Backend),
}

/// As many as a scan over states has.
pub(crate) const SOURCES: usize = 7;

#[derive(Debug, Clone)]
pub(crate) struct Tensor {
    pub(crate) op: Op,
    pub(crate) home: Home,
    pub(crate) input: bool,
    pub(crate) output: bool,
    pub(crate) visited: bool,
    /// Bytes per value; 0 marks block types, whose `bytes` is exact and whose strides nobody asks for.
    pub(crate) width: u8,
    pub(crate) dims: [u64; 4],
    pub(crate) strides: [u64; 4],
    pub(crate) bytes: u64,
    pub(crate) sources: [Id; SOURCES],
    /// The tensor that owns the bytes, for a view.
    pub(crate) view_of: Id,
    /// Set by the scheduler; `None` until it knows.
    pub(crate) backend: Option<Backend>,
}

/// Tensors in an arena; `nodes` and `leafs` in the order in which llama.cpp's graph lists them.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    tensors: Vec<Tensor>,
    pub(crate) nodes: Vec<Id>,
    pub(crate) leafs: Vec<Id>,
}

impl Index<Id> for Graph {
    type Output = Tensor;
    fn index(&self, id: Id) -> &Tensor {
        &self.tensors[id.0 as usize]
    }
}

impl IndexMut<Id> for Graph {
    fn index_mut(&mut self, id: Id) -> &mut Tensor {
        &mut self.tensors[id.0 as usize]
    }
}

impl Id {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) const fn number(self) -> u32 {
        self.0
    }
}

pub(crate) const F32: u8 = 4;
pub(crate) const F16: u8 = 2;
pub(crate) const I32: u8 = 4;
pub(crate) const I64: u8 = 8;

fn contiguous(width: u8, dims: [u64; 4]) -> ([u64; 4], u64) {
    let mut strides = [u64::from(width); 4];
    for i in 1..4 {
        strides[i] = strides[i - 1].saturating_mul(dims[i - 1]);
    }
    (strides, strides[3].saturating_mul(dims[3]))
}

fn sources(given: &[Id]) -> [Id; SOURCES] {
    let mut sources = [Id::NONE; SOURCES];
    for (place, id) in sources.iter_mut().zip(given) {
        *place = *id;
    }
    sources
}

impl Graph {
    pub(crate) fn with_capacity(tensors: usize) -> Self {
        Self {
            tensors: Vec::with_capacity(tensors),
            nodes: Vec::with_capacity(tensors),
            leafs: Vec::with_capacity(tensors / 2),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.tensors.len()
    }

    fn push(&mut self, tensor: Tensor) -> Id {
        // A graph has thousands of tensors, not billions: layers are limited where they are read.
        let id = Id(u32::try_from(self.tensors.len()).unwrap_or(u32::MAX));
        self.tensors.push(tensor);
        id
    }

    fn add(&mut self, op: Op, width: u8, dims: [u64; 4], given: &[Id]) -> Id {
        let (strides, bytes) = contiguous(width, dims);
        self.push(Tensor {
            op,
            home: Home::Graph,
            input: false,
            output: false,
            visited: false,
            width,
            dims,
            strides,
            bytes,
            sources: sources(given),
            view_of: Id::NONE,
            backend: None,
        })
    }

    pub(crate) fn input(&mut self, width: u8, dims: [u64; 4]) -> Id {
        let id = self.add(Op::Leaf, width, dims, &[]);
        self[id].input = true;
        id
    }

    /// A weight of known size; its shape is only needed by the operations that use it.
    pub(crate) fn weight(&mut self, backend: Backend, bytes: u64) -> Id {
        let id = self.add(Op::Leaf, 0, [1; 4], &[]);
        self[id].bytes = bytes;
        self[id].home = Home::Weights(backend);
        id
    }

    /// Keys, values or states of one layer: `bytes` in all.
    pub(crate) fn cache(&mut self, backend: Backend, bytes: u64) -> Id {
        let id = self.add(Op::Leaf, 0, [1; 4], &[]);
        self[id].bytes = bytes;
        self[id].home = Home::Cache(backend);
        id
    }

    pub(crate) fn fresh(&mut self, width: u8, dims: [u64; 4], given: &[Id]) -> Id {
        self.add(Op::Fresh, width, dims, given)
    }

    pub(crate) fn product(&mut self, dims: [u64; 4], given: &[Id]) -> Id {
        self.add(Op::Product, F32, dims, given)
    }

    /// Rows of `table` by `numbers`.
    pub(crate) fn rows(&mut self, dims: [u64; 4], table: Id, numbers: Id) -> Id {
        self.add(Op::Rows, F32, dims, &[table, numbers])
    }

    /// A copy without gaps.
    pub(crate) fn contiguous(&mut self, of: Id, dims: [u64; 4]) -> Id {
        let width = self[of].width;
        self.fresh(width, dims, &[of])
    }

    pub(crate) fn attention(&mut self, dims: [u64; 4], given: &[Id]) -> Id {
        self.add(Op::Attention, F32, dims, given)
    }

    /// An operation on `of` that keeps its shape and may reuse its memory.
    pub(crate) fn in_place(&mut self, of: Id, with: &[Id]) -> Id {
        self.same_shape(Op::InPlace, of, with)
    }

    pub(crate) fn rope(&mut self, of: Id, positions: Id, factors: Id) -> Id {
        self.same_shape(Op::Rope, of, &[positions, factors])
    }

    fn same_shape(&mut self, op: Op, of: Id, others: &[Id]) -> Id {
        let mut given = [of, Id::NONE, Id::NONE];
        given[1..=others.len()].copy_from_slice(others);
        let like = &self[of];
        let (width, dims) = (like.width, like.dims);
        self.add(op, width, dims, &given)
    }

    /// A view without gaps (a reshape), or over something whose layout does not matter.
    pub(crate) fn view(&mut self, of: Id, dims: [u64; 4]) -> Id {
        let (strides, _) = contiguous(self[of].width, dims);
        self.strided_view(of, dims, strides)
    }

    /// A view whose strides are not those of its own shape.
    pub(crate) fn strided_view(&mut self, of: Id, dims: [u64; 4], strides: [u64; 4]) -> Id {
        let id = self.add(Op::View, self[of].width, dims, &[of]);
        self[id].strides = strides;
        let root = self[of].view_of.some().unwrap_or(of);
        self[id].view_of = root;
        id
    }

    /// Axis `i` of `of` becomes axis `to[i]`.
    pub(crate) fn permute(&mut self, of: Id, to: [usize; 4]) -> Id {
        let (mut dims, mut strides) = ([1; 4], [0; 4]);
        for (axis, &place) in to.iter().enumerate() {
            dims[place] = self[of].dims[axis];
            strides[place] = self[of].strides[axis];
        }
        let bytes = self[of].bytes;
        let id = self.strided_view(of, dims, strides);
        self[id].bytes = bytes;
        id
    }

    /// A part of each row, `dims` large, with the strides of `of` above the first axis.
    pub(crate) fn part(&mut self, of: Id, dims: [u64; 4]) -> Id {
        let strides = self[of].strides;
        self.strided_view(of, dims, strides)
    }

    /// Heads of one width side by side in each row of a flat matrix.
    pub(crate) fn heads(&mut self, of: Id, width: u64, heads: u64, rest: [u64; 2]) -> Id {
        let [size, row, ..] = self[of].strides;
        self.strided_view(
            of,
            [width, heads, rest[0], rest[1]],
            [size, size.saturating_mul(width), row, row.saturating_mul(rest[0])],
        )
    }

    /// An operation that writes `what` into `into`.
    pub(crate) fn write(&mut self, into: Id, what: &[Id]) -> Id {
        let (dims, strides) = (self[into].dims, self[into].strides);
        let id = self.strided_view(into, dims, strides);
        self[id].op = Op::Write;
        self[id].sources = sources(what);
        id
    }

    /// Writes `rows` into `into`, at `places`.
    pub(crate) fn set_rows(&mut self, into: Id, rows: Id, places: Id) -> Id {
        self.write(into, &[rows, places, into])
    }

    /// A copy of `of` for another backend, with the same layout.
    pub(crate) fn copy_for(&mut self, of: Id, backend: Backend, pinned: bool) -> Id {
        let mut copy = self[of].clone();
        if copy.dims.contains(&0) {
            copy.bytes = 0;
        } else if copy.width > 0 {
            // From the first to the last byte that the view touches.
            copy.bytes = copy
                .dims
                .iter()
                .zip(copy.strides)
                .fold(u64::from(copy.width), |bytes, (&dim, stride)| {
                    bytes.saturating_add(dim.saturating_sub(1).saturating_mul(stride))
                });
        }
        self.push(Tensor {
            op: Op::Copy,
            home: Home::Graph,
            input: pinned,
            output: pinned,
            sources: [Id::NONE; SOURCES],
            view_of: Id::NONE,
            backend: Some(backend),
            ..copy
        })
    }

    /// Keeps `of` from being freed before this point.
    pub(crate) fn hold(&mut self, of: Id) -> Id {
        let mut hold = self[of].clone();
        hold.op = Op::Hold;
        hold.view_of = hold.view_of.some().unwrap_or(of);
        hold.sources = sources(&[of]);
        hold.input = false;
        hold.output = false;
        self.push(hold)
    }

    /// Lists `id` and all that it is made from, arguments first, each once.
    pub(crate) fn expand(&mut self, id: Id) {
        if self[id].visited {
            return;
        }
        self[id].visited = true;
        for source in self[id].sources {
            if source != Id::NONE {
                self.expand(source);
            }
        }
        if self[id].op == Op::Leaf {
            self.leafs.push(id);
        } else {
            self.nodes.push(id);
        }
    }

    pub(crate) fn same_layout(&self, a: Id, b: Id) -> bool {
        let (a, b) = (&self[a], &self[b]);
        a.width == b.width && a.dims == b.dims && a.strides == b.strides
    }
}
