//! llama.cpp's three kinds of memory, per device and host, for given settings.

mod backend;
mod cache;
mod memo;
mod placement;
mod release;
mod repack;
mod tally;
mod weights;

use plimsoll_units::Bytes;

pub use backend::MemoryBackend;
pub use cache::{CacheType, UnknownCacheType};
pub(crate) use cache::{bytes_read, checkpoint_bytes, of_layers as cache_of_layers};
pub(crate) use memo::Memo;
use memo::Question;
pub(crate) use placement::Placement;
pub use release::Release;
pub use repack::HostCpu;
pub(crate) use tally::Tally;
pub(crate) use weights::of_layers as weights_of_layers;

use crate::Shape;
use crate::compute::{self, BackendTraits, Batch, CacheSize, Kept, Where};

/// The settings that decide how much memory is taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// All slots together.
    pub context: u32,
    pub slots: u32,
    /// Slots share one cache; else each has its own part.
    pub unified: bool,
    pub key_type: CacheType,
    pub value_type: CacheType,
    pub batch: u32,
    pub ubatch: u32,
    /// The fused kernel for attention. Without it scores for every cell are kept, and values cannot be quantised.
    pub flash_attention: bool,
    pub outputs: Outputs,
    /// Layers on devices, the output counted as one more.
    pub gpu_layers: u32,
    /// Shares of the devices; empty for "by free memory".
    pub tensor_split: Vec<f64>,
    /// The experts of the first layers stay on the host.
    pub host_experts: u32,
    /// States that recurrent layers keep besides the present one, to go back to after a wrong draft.
    pub rollback: u32,
}

/// How many rows of logits are computed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outputs {
    /// llama-server: one a slot.
    Server,
    /// llama-bench and llama-fit-params: every row of the batch, counted as the latter counts.
    Bench,
}

/// The three kinds in one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds {
    pub weights: Bytes,
    pub context: Bytes,
    pub compute: Bytes,
}

impl Kinds {
    #[must_use]
    pub fn total(self) -> Bytes {
        self.weights.plus(self.context).plus(self.compute)
    }
}

/// What llama.cpp would print for these settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakdown {
    pub devices: Vec<Kinds>,
    pub host: Kinds,
    /// Weights that the CPU backend keeps in a form of its own, outside `host` (`CPU_REPACK`, `AMX`).
    pub repacked: Bytes,
}

/// A device as llama.cpp sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    pub backend: MemoryBackend,
    pub free: Bytes,
}

/// A model laid out over pools: weights and context at once, the compute buffers when asked.
#[derive(Debug, Clone)]
pub(crate) struct Layout<'a> {
    shape: &'a Shape,
    load: &'a Load,
    pools: &'a [Pool],
    release: Release,
    pub(crate) placement: Placement,
    /// With compute still at zero.
    pub(crate) fixed: Breakdown,
}

impl<'a> Layout<'a> {
    pub(crate) fn of(
        shape: &'a Shape,
        load: &'a Load,
        pools: &'a [Pool],
        cpu: HostCpu,
        release: Release,
    ) -> Self {
        let placement = Placement::of(shape, load, pools);
        let weights = weights::place(shape, &placement, pools, cpu);
        let mut devices: Vec<Kinds> = weights
            .pools
            .iter()
            .map(|&weights| Kinds {
                weights,
                ..Kinds::default()
            })
            .collect();
        for (at, run) in placement.runs() {
            if let Some(kinds) = devices.get_mut(usize::from(at)) {
                kinds.context = kinds.context.plus(cache::of_run(shape, load, &run));
            }
        }
        let fixed = Breakdown {
            host: devices.pop().unwrap_or_default(),
            devices,
            repacked: weights.repacked,
        };
        Self {
            shape,
            load,
            pools,
            release,
            placement,
            fixed,
        }
    }

    /// The compute buffers, by pool, the host last.
    pub(crate) fn compute(&self) -> Vec<Bytes> {
        let batch = batch(self.shape, self.load, self.release);
        let devices = self.pools.iter().map(|pool| pool.backend.traits());
        let backends: Vec<BackendTraits> = devices.chain([backend::HOST]).collect();
        let place = self.place(&batch);
        let memo = &self.shape.memo;
        let question = |kept: &Kept, rounds: Option<usize>| Question {
            rounds,
            batch,
            output: place.output,
            pins_norms: place.pins_norms,
            pipelined: place.pipelined,
            layers: kept.graph(self.shape, &place, |number| {
                compute::is_staged(&place, &backends, number)
            }),
            backends: backends.clone(),
        };
        let work_out = |kept: &Kept| {
            let sizes = compute::buffers(self.shape, kept, &batch, &place, &backends)?;
            Some(sizes.into_iter().map(Bytes).collect())
        };
        let answer = |kept: &Kept, rounds| memo.answer(question(kept, rounds), || work_out(kept));
        // A round of layers may find things as the one before it left them, or as the one before that: two places may
        // take turns. Where neither is so, every layer is built.
        // Copies of weights of several sizes seldom come to the same twice: one try is enough for them.
        let copies = compute::is_staged(&place, &backends, 0);
        let tries = if copies { 1 } else { 2 };
        let short = (1..=tries).find_map(|rounds| {
            let kept = compute::kept(self.shape, &batch, &place, &backends, rounds);
            answer(&kept, Some(rounds))
        });
        short
            .or_else(|| answer(&Kept::all(self.shape), None))
            .unwrap_or_default()
    }

    /// Which backend has what.
    fn place(&self, batch: &Batch) -> Where<'_> {
        let placement = &self.placement;
        Where {
            layers: &placement.layers,
            host_experts: placement.host_experts,
            output: placement.output,
            host: placement.host,
            // The dry run of llama-fit-params forgets these ties (it resets the scheduler first), a load keeps them.
            pins_norms: self.load.outputs == Outputs::Server && (placement.full || batch.tokens < 32),
            pipelined: placement.pipelined,
        }
    }

    /// What the compute buffers take at the very least: in the feed-forward part of a device's first layer the masks
    /// for its later ones are there already.
    pub(crate) fn compute_least(&self) -> Vec<Bytes> {
        let batch = batch(self.shape, self.load, self.release);
        let tally = &self.shape.tally;
        let mut least = vec![Bytes::ZERO; self.pools.len() + 1];
        let masks = [batch.base.cells, batch.window.cells].map(|cells| {
            if batch.flash {
                Bytes(2).times(cells)
            } else {
                Bytes::ZERO
            }
        });
        for (at, run) in self.placement.runs() {
            // What the host has is often computed by a device.
            let elsewhere = at == self.placement.host && !self.pools.is_empty();
            let later = run.start + 1..run.end;
            let Some(least) = least
                .get_mut(usize::from(at))
                .filter(|_| !elsewhere && !later.is_empty())
            else {
                continue;
            };
            let experts_away = self.shape.has_experts() && run.start < self.placement.host_experts as usize;
            let inner = if experts_away { 0 } else { tally.inner_least };
            let looking = tally.looking(&later);
            let masks = masks.iter().zip(looking).filter(|(_, looks)| *looks);
            let token = masks
                .map(|(mask, _)| *mask)
                .sum::<Bytes>()
                .plus(Bytes(4).times(inner));
            *least = token.times(batch.tokens);
        }
        least
    }

    pub(crate) fn complete(&self) -> Breakdown {
        let mut whole = self.fixed.clone();
        let pools = whole.devices.iter_mut().chain([&mut whole.host]);
        for (kinds, compute) in pools.zip(self.compute()) {
            kinds.compute = compute;
        }
        whole
    }
}

/// Works out all three kinds.
#[must_use]
pub fn breakdown(shape: &Shape, load: &Load, pools: &[Pool], cpu: HostCpu, release: Release) -> Breakdown {
    Layout::of(shape, load, pools, cpu, release).complete()
}

#[cfg(test)]
mod tests;

fn batch(shape: &Shape, load: &Load, release: Release) -> Batch {
    let slots = u64::from(load.slots.max(1));
    let cells = cache::cells(load);
    let context = if load.unified { cells } else { cells * slots };
    // Before llama.cpp rounds the context up.
    let batch = u64::from(load.batch.max(1)).min(u64::from(load.context.max(1)));
    let ubatch = u64::from(load.ubatch.max(1)).min(batch);
    let outputs = match load.outputs {
        Outputs::Bench => batch,
        Outputs::Server => slots.min(batch),
    };
    let tokens = ubatch.min(context);
    Batch {
        tokens: tokens.next_multiple_of(slots),
        outputs: outputs.min(tokens),
        base: cache_size(shape, load, false, cells),
        window: cache_size(shape, load, true, cache::window_cells(shape, load)),
        slots,
        states: 1 + u64::from(load.rollback),
        streams: if load.unified { 1 } else { slots },
        flash: load.flash_attention,
        mixed_input: release.constants().mixed_input,
        key_bytes_32: load.key_type.row_bytes(32),
        value_bytes_32: load.value_type.row_bytes(32),
    }
}

/// One of the two caches, with the rotations that llama.cpp gives it when it is quantised.
fn cache_size(shape: &Shape, load: &Load, windowed: bool, cells: u64) -> CacheSize {
    let [keys, values] = shape.tally.widths[usize::from(windowed)];
    CacheSize {
        cells,
        key_rotation: cache::key_rotation(load.key_type, keys),
        value_rotation: cache::value_rotation(load.value_type, values),
    }
}
