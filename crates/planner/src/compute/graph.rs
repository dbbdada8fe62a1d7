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

/// What the passes over a graph look at again and again; dimensions are kept apart, so that this stays small.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tensor {
    pub(crate) op: Op,
    pub(crate) home: Home,
    pub(crate) input: bool,
    pub(crate) output: bool,
    pub(crate) visited: bool,
    /// Bytes per value; 0 marks block types, whose `bytes` is exact and whose strides nobody asks for.
    pub(crate) width: u8,
    /// Set by the scheduler; `None` until it knows.
    pub(crate) backend: Option<Backend>,
    source_count: u8,
    sources: [Id; SOURCES],
    /// The tensor that owns the bytes, for a view.
    pub(crate) view_of: Id,
    /// Its place among the layouts.
    layout: u32,
    pub(crate) bytes: u64,
}

impl Tensor {
    pub(crate) fn sources(&self) -> &[Id] {
        &self.sources[..usize::from(self.source_count)]
    }

    fn made_from(&mut self, given: &[Id]) {
        self.source_count = 0;
        for &id in given.iter().filter(|&&id| id != Id::NONE).take(SOURCES) {
            self.sources[usize::from(self.source_count)] = id;
            self.source_count += 1;
        }
    }

    pub(crate) fn replace_source(&mut self, place: usize, by: Id) {
        self.sources[place] = by;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    dims: [u64; 4],
    strides: [u64; 4],
}

/// Of tensors whose layout nobody asks for.
const SINGLE: Layout = Layout {
    dims: [1; 4],
    strides: [0; 4],
};

/// Tensors in an arena; `nodes` and `leafs` in the order in which llama.cpp's graph lists them.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    tensors: Vec<Tensor>,
    layouts: Vec<Layout>,
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

impl Graph {
    pub(crate) fn with_capacity(tensors: usize) -> Self {
        let mut layouts = Vec::with_capacity(tensors);
        layouts.push(SINGLE);
        Self {
            tensors: Vec::with_capacity(tensors),
            layouts,
            nodes: Vec::with_capacity(tensors),
            leafs: Vec::with_capacity(tensors / 2),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.tensors.len()
    }

    pub(crate) fn dims(&self, id: Id) -> [u64; 4] {
        self.layouts[self[id].layout as usize].dims
    }

    pub(crate) fn strides(&self, id: Id) -> [u64; 4] {
        self.layouts[self[id].layout as usize].strides
    }

    pub(crate) fn lay_out(&mut self, id: Id, dims: [u64; 4], strides: [u64; 4]) {
        self[id].layout = self.layout(dims, strides);
    }

    fn layout(&mut self, dims: [u64; 4], strides: [u64; 4]) -> u32 {
        let at = u32::try_from(self.layouts.len()).unwrap_or(0);
        self.layouts.push(Layout { dims, strides });
        at
    }

    fn push(&mut self, tensor: Tensor) -> Id {
        // A graph has thousands of tensors, not billions: layers are limited where they are read.
        let id = Id(u32::try_from(self.tensors.len()).unwrap_or(u32::MAX));
        self.tensors.push(tensor);
        id
    }

    fn add(&mut self, op: Op, width: u8, dims: [u64; 4], given: &[Id]) -> Id {
        let (strides, bytes) = contiguous(width, dims);
        let layout = self.layout(dims, strides);
        self.make(op, width, layout, bytes, given)
    }

    fn make(&mut self, op: Op, width: u8, layout: u32, bytes: u64, given: &[Id]) -> Id {
        let mut tensor = Tensor {
            op,
            home: Home::Graph,
            input: false,
            output: false,
            visited: false,
            width,
            backend: None,
            source_count: 0,
            sources: [Id::NONE; SOURCES],
            view_of: Id::NONE,
            layout,
            bytes,
        };
        tensor.made_from(given);
        self.push(tensor)
    }

    pub(crate) fn input(&mut self, width: u8, dims: [u64; 4]) -> Id {
        let id = self.add(Op::Leaf, width, dims, &[]);
        self[id].input = true;
        id
    }

    /// A weight of known size; its shape is only needed by the operations that use it.
    pub(crate) fn weight(&mut self, backend: Backend, bytes: u64) -> Id {
        let id = self.make(Op::Leaf, 0, 0, bytes, &[]);
        self[id].home = Home::Weights(backend);
        id
    }

    /// Keys, values or states of one layer: `bytes` in all.
    pub(crate) fn cache(&mut self, backend: Backend, bytes: u64) -> Id {
        let id = self.make(Op::Leaf, 0, 0, bytes, &[]);
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
        let width = self[of].width;
        self.add(op, width, self.dims(of), &given)
    }

    /// A view without gaps (a reshape), or over something whose layout does not matter.
    pub(crate) fn view(&mut self, of: Id, dims: [u64; 4]) -> Id {
        let (strides, _) = contiguous(self[of].width, dims);
        self.strided_view(of, dims, strides)
    }

    /// A view whose strides are not those of its own shape.
    pub(crate) fn strided_view(&mut self, of: Id, dims: [u64; 4], strides: [u64; 4]) -> Id {
        let Tensor { width, view_of, .. } = self[of];
        let (_, bytes) = contiguous(width, dims);
        let layout = self.layout(dims, strides);
        let id = self.make(Op::View, width, layout, bytes, &[of]);
        self[id].view_of = view_of.some().unwrap_or(of);
        id
    }

    /// Axis `i` of `of` becomes axis `to[i]`.
    pub(crate) fn permute(&mut self, of: Id, to: [usize; 4]) -> Id {
        let (mut dims, mut strides) = ([1; 4], [0; 4]);
        let from = self.layouts[self[of].layout as usize];
        for (axis, &place) in to.iter().enumerate() {
            dims[place] = from.dims[axis];
            strides[place] = from.strides[axis];
        }
        let bytes = self[of].bytes;
        let id = self.strided_view(of, dims, strides);
        self[id].bytes = bytes;
        id
    }

    /// A part of each row, `dims` large, with the strides of `of` above the first axis.
    pub(crate) fn part(&mut self, of: Id, dims: [u64; 4]) -> Id {
        let strides = self.strides(of);
        self.strided_view(of, dims, strides)
    }

    /// Heads of one width side by side in each row of a flat matrix.
    pub(crate) fn heads(&mut self, of: Id, width: u64, heads: u64, rest: [u64; 2]) -> Id {
        let [size, row, ..] = self.strides(of);
        self.strided_view(
            of,
            [width, heads, rest[0], rest[1]],
            [size, size.saturating_mul(width), row, row.saturating_mul(rest[0])],
        )
    }

    /// An operation that writes `what` into `into`.
    pub(crate) fn write(&mut self, into: Id, what: &[Id]) -> Id {
        let (dims, strides) = (self.dims(into), self.strides(into));
        let id = self.strided_view(into, dims, strides);
        self[id].op = Op::Write;
        self[id].made_from(what);
        id
    }

    /// Writes `rows` into `into`, at `places`.
    pub(crate) fn set_rows(&mut self, into: Id, rows: Id, places: Id) -> Id {
        self.write(into, &[rows, places, into])
    }

    /// A copy of `of` for another backend, with the same layout.
    pub(crate) fn copy_for(&mut self, of: Id, backend: Backend, pinned: bool) -> Id {
        let mut copy = self[of];
        let Layout { dims, strides } = self.layouts[copy.layout as usize];
        if dims.contains(&0) {
            copy.bytes = 0;
        } else if copy.width > 0 {
            // From the first to the last byte that the view touches.
            let reach = dims.iter().zip(strides);
            copy.bytes = reach.fold(u64::from(copy.width), |bytes, (&dim, stride)| {
                bytes.saturating_add(dim.saturating_sub(1).saturating_mul(stride))
            });
        }
        copy.made_from(&[]);
        self.push(Tensor {
            op: Op::Copy,
            home: Home::Graph,
            input: pinned,
            output: pinned,
            view_of: Id::NONE,
            backend: Some(backend),
            ..copy
        })
    }

    /// Keeps `of` from being freed before this point.
    pub(crate) fn hold(&mut self, of: Id) -> Id {
        let mut hold = self[of];
        hold.op = Op::Hold;
        hold.view_of = hold.view_of.some().unwrap_or(of);
        hold.made_from(&[of]);
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
        let tensor = self[id];
        for &source in tensor.sources() {
            self.expand(source);
        }
        if self[id].op == Op::Leaf {
            self.leafs.push(id);
        } else {
            self.nodes.push(id);
        }
    }

    pub(crate) fn same_layout(&self, a: Id, b: Id) -> bool {
        let (a, b) = (&self[a], &self[b]);
        a.width == b.width && self.layouts[a.layout as usize] == self.layouts[b.layout as usize]
    }
}
