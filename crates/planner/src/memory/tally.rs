//! A shape summed up over its layers, so that what a run of layers takes is the difference of two sums.

use std::ops::Range;

use plimsoll_units::Bytes;

use super::backend::HOST;
use super::{CacheType, HostCpu, MemoryBackend};
use crate::Shape;
use crate::shape::{Layer, Role};
use crate::speed::Work;

/// Weights on devices that pad rows and on those that do not, on the host as the file has them, and for each kind of
/// processor that copies some: what stays and what is copied. Two columns each: what stays with the experts comes
/// second.
const PADDED: usize = 0;
const UNPADDED: usize = 2;
const HOST_PLAIN: usize = 4;
const COPYING: usize = 6;
/// Bytes of a token's keys, then values, by cache type: in full layers, in windowed ones.
const KEYS: usize = COPYING + 4 * (HostCpu::KINDS - 1);
const VALUES: usize = KEYS + 2 * CacheType::ALL.len();
const STATE: usize = VALUES + 2 * CacheType::ALL.len();
/// What a token reads, what of it unpacks in one step, and what there is: of experts in the second three.
const READS: usize = STATE + 1;
/// Layers, those with experts, those with a state, norms beyond the usual.
const COUNTS: usize = READS + 6;
/// Layers that look back over all tokens, and over a window.
const LOOKING: usize = COUNTS + 4;
const COLUMNS: usize = LOOKING + 2;

/// No layer has more: keeps the sums of absurd headers from overflowing.
const MOST: u64 = 1 << 51;

type Sums = [u64; COLUMNS];

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    /// Of the layers before each, and of all at the end.
    sums: Vec<Sums>,
    /// Width of a head's keys and values in the layers with a cache, where all have the same: full and windowed ones.
    pub(super) widths: [[Option<u64>; 2]; 2],
    /// Values for a token that every layer has at once in its feed-forward part.
    pub(super) inner_least: u64,
    /// Values of the largest matrix that is computed with layer by layer.
    pub(crate) largest_matrix: u64,
    /// Operations for a token and one that it looks back at.
    pub(crate) looking_back: f64,
}

/// Where a run of layers lies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lies {
    On(MemoryBackend),
    Host(HostCpu),
}

impl Tally {
    pub(crate) fn of(shape: &Shape) -> Self {
        let mut rows: Vec<(&Layer, Sums)> = Vec::new();
        let mut sums = Vec::with_capacity(shape.layers.len() + 1);
        let mut sum = [0; COLUMNS];
        sums.push(sum);
        for layer in &shape.layers {
            let known = rows.iter().find(|(other, _)| alike(other, layer));
            let row = if let Some((_, row)) = known {
                *row
            } else {
                let row = row(shape, layer);
                rows.push((layer, row));
                row
            };
            for (sum, more) in sum.iter_mut().zip(row) {
                *sum += more.min(MOST);
            }
            sums.push(sum);
        }
        let widths = [false, true].map(|windowed| {
            let cached = || {
                shape
                    .layers
                    .iter()
                    .filter(move |layer| layer.cached && layer.windowed == windowed)
            };
            [
                same(cached().map(|layer| layer.key_width)),
                same(cached().map(|layer| layer.value_width)),
            ]
        });
        Self {
            sums,
            widths,
            inner_least: rows
                .iter()
                .map(|(layer, _)| inner(shape, layer))
                .min()
                .unwrap_or(0),
            largest_matrix: largest_matrix(&rows),
            looking_back: crate::speed::attention(shape),
        }
    }

    fn of_run(&self, column: usize, layers: &Range<usize>) -> u64 {
        let at = |number: usize| {
            let sums = self.sums.get(number).or(self.sums.last());
            sums.map_or(0, |sums| sums[column])
        };
        at(layers.end).saturating_sub(at(layers.start))
    }

    /// Weights of a run, without or only those that stay with experts; and what of them the processor copies.
    pub(super) fn weights(&self, layers: &Range<usize>, experts: bool, lies: Lies) -> (Bytes, Bytes) {
        let experts = usize::from(experts);
        let (stays, copied) = match lies {
            Lies::On(backend) if backend.pads() => (PADDED, None),
            Lies::On(_) => (UNPADDED, None),
            Lies::Host(cpu) => match cpu.number() {
                0 => (HOST_PLAIN, None),
                kind => {
                    let stays = COPYING + 4 * (kind - 1);
                    (stays, Some(stays + 2))
                }
            },
        };
        let bytes = |column| Bytes(self.of_run(column + experts, layers));
        (bytes(stays), copied.map_or(Bytes::ZERO, bytes))
    }

    /// Cache of a run: so many cells in full layers, so many in windowed ones. Without flash attention values are
    /// kept otherwise.
    pub(super) fn cache(&self, layers: &Range<usize>, types: [CacheType; 2], cells: [u64; 2]) -> Bytes {
        let of = |window: usize| {
            let [keys, values] = types.map(|kind| 2 * kind as usize + window);
            let token = self
                .of_run(KEYS + keys, layers)
                .saturating_add(self.of_run(VALUES + values, layers));
            Bytes(token).times(cells[window])
        };
        of(0).plus(of(1))
    }

    /// Whether a layer of a run looks back over all tokens, and whether one looks over a window.
    pub(super) fn looking(&self, layers: &Range<usize>) -> [bool; 2] {
        [0, 1].map(|windowed| self.of_run(LOOKING + windowed, layers) > 0)
    }

    /// Recurrent state of one sequence in a run.
    pub(super) fn state(&self, layers: &Range<usize>) -> Bytes {
        Bytes(self.of_run(STATE, layers))
    }

    /// Adds what a run has to do for a token, its experts apart.
    pub(crate) fn add_layers(&self, work: &mut Work, layers: &Range<usize>) {
        let bytes = |column| Bytes(self.of_run(READS + column, layers));
        let count = |column| u32::try_from(self.of_run(COUNTS + column, layers)).unwrap_or(u32::MAX);
        work.dense = work.dense.plus(bytes(0));
        work.plain = work.plain.plus(bytes(1));
        work.holds = work.holds.plus(bytes(2));
        work.layers += count(0);
        work.expert_layers += count(1);
        work.state_layers += count(2);
        work.norms += count(3);
    }

    pub(crate) fn add_experts(&self, work: &mut Work, layers: &Range<usize>) {
        let bytes = |column| Bytes(self.of_run(READS + 3 + column, layers));
        work.experts = work.experts.plus(bytes(0));
        work.plain = work.plain.plus(bytes(1));
        work.holds = work.holds.plus(bytes(2));
    }
}

fn alike(a: &Layer, b: &Layer) -> bool {
    a.likeness == b.likeness && a.weights == b.weights
}

fn same(mut all: impl Iterator<Item = u32>) -> Option<u64> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(u64::from(first))
}

fn row(shape: &Shape, layer: &Layer) -> Sums {
    let mut row = [0_u64; COLUMNS];
    let mut add = |column: usize, more: u64| row[column] = row[column].saturating_add(more);
    for weight in &layer.weights {
        let stays = usize::from(weight.role.stays_with_experts());
        let on_device =
            |backend: MemoryBackend| backend.weight_bytes(weight.kind, weight.dims[0], weight.bytes.0);
        add(PADDED + stays, on_device(MemoryBackend::Cuda));
        add(UNPADDED + stays, on_device(MemoryBackend::Vulkan));
        let on_host = weight.bytes.round_up(HOST.alignment).0;
        add(HOST_PLAIN + stays, on_host);
        for (kind, cpu) in HostCpu::copying().into_iter().enumerate() {
            match cpu.copy_bytes(weight) {
                Some(copied) => add(COPYING + 4 * kind + 2 + stays, copied),
                None => add(COPYING + 4 * kind + stays, on_host),
            }
        }
    }
    for kind in CacheType::ALL {
        let column = 2 * kind as usize + usize::from(layer.windowed);
        if layer.cached {
            add(KEYS + column, kind.row_bytes(layer.key_row()));
            let values = if layer.value_width > 0 {
                layer.value_row()
            } else {
                0
            };
            add(VALUES + column, kind.row_bytes(values));
        }
    }
    add(STATE, super::cache::state_bytes(shape, layer).0);
    let mut work = Work::default();
    work.add_layer(layer);
    for weight in &layer.weights {
        let reads = shape.read_of(weight).0;
        let expert = 3 * usize::from(weight.role.is_expert());
        add(READS + expert, reads);
        if Work::is_plain(weight.kind) {
            add(READS + expert + 1, reads);
        }
        add(READS + expert + 2, weight.bytes.0);
    }
    let counts = [work.layers, work.expert_layers, work.state_layers, work.norms];
    for (column, count) in counts.into_iter().enumerate() {
        add(COUNTS + column, count.into());
    }
    add(LOOKING + usize::from(layer.windowed), u64::from(layer.cached));
    row
}

/// Gate, rows and what comes of both lie beside each other; without a gate there are only the rows.
fn inner(shape: &Shape, layer: &Layer) -> u64 {
    let rows = |role| layer.find(role).map_or(0, |weight| weight.dims[1]);
    let dense = rows(Role::Up).min(rows(Role::Gate)).saturating_mul(3);
    let used = u64::from(shape.experts_used.max(1));
    let experts = rows(Role::UpExperts)
        .min(rows(Role::GateExperts))
        .saturating_mul(3 * used);
    dense.max(experts)
}

fn largest_matrix(layers: &[(&Layer, Sums)]) -> u64 {
    let weights = layers.iter().flat_map(|(layer, _)| &layer.weights);
    weights
        .filter(|weight| weight.role.is_matrix() && weight.role != Role::Logits)
        .map(|weight| weight.dims[0].saturating_mul(weight.dims[1]))
        .max()
        .unwrap_or(0)
}
