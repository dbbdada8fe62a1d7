use std::ops::Range;

use plimsoll_units::Bytes;

use super::backend::HOST;
use super::tally::{Lies, Tally};
use super::{HostCpu, Load, MemoryBackend, Placement, Pool};
use crate::Shape;
use crate::shape::{Role, Weight};

pub(super) struct Placed {
    /// Per pool, the host last.
    pub(super) pools: Vec<Bytes>,
    pub(super) repacked: Bytes,
}

/// Puts every weight where llama.cpp would.
pub(super) fn place(shape: &Shape, placement: &Placement, pools: &[Pool], cpu: HostCpu) -> Placed {
    // Pinned host memory of a device comes before the CPU's own copies, unless the file is mapped; both leave the
    // weights as they are.
    let pinned = pools.iter().any(|pool| pool.backend.pins_host_weights());
    let cpu = if pinned { HostCpu::plain() } else { cpu };
    let mut placer = Placer {
        pools,
        cpu,
        placed: Placed {
            pools: vec![Bytes::ZERO; pools.len() + 1],
            repacked: Bytes::ZERO,
        },
    };

    for weight in &shape.input {
        placer.on_host(weight);
    }
    let mut seen = [false; 256];
    for (at, run) in placement.runs() {
        let [mut on_host, mut here] = [run.start..run.start, run.clone()];
        if at < placement.host {
            let bound = run.end.min(placement.host_experts as usize).max(run.start);
            [on_host, here] = [run.start..bound, bound..run.end];
        }
        placer.put_run(&shape.tally, &run, false, at);
        placer.put_run(&shape.tally, &here, true, at);
        placer.put_run(&shape.tally, &on_host, true, placement.host);
        // Every device with layers has its copy.
        if !std::mem::replace(&mut seen[usize::from(at)], true) {
            for factors in &shape.rotation_factors {
                placer.put(factors, at);
            }
        }
    }
    let tied = shape.tied();
    for weight in &shape.output {
        let shared = tied && weight.role == Role::Logits && placement.output == placement.host;
        // One and the same tensor, unless the CPU makes its copy of it.
        if shared && placer.cpu.copy_bytes(weight).is_none() {
            continue;
        }
        placer.put(weight, placement.output);
    }
    placer.placed
}

/// Weights of each layer on a device, then of the output, for dividing layers over devices.
pub(crate) fn of_layers(shape: &Shape, load: &Load, backend: MemoryBackend) -> Vec<Bytes> {
    let on_device =
        |weight: &Weight| Bytes(backend.weight_bytes(weight.kind, weight.dims[0], weight.bytes.0));
    let layers = (0u32..).zip(&shape.layers).map(|(number, layer)| {
        let stays = number < load.host_experts && shape.has_experts();
        let here = layer
            .weights
            .iter()
            .filter(|weight| !(stays && weight.role.stays_with_experts()));
        here.map(on_device).sum()
    });
    let drafting = shape.drafting.iter().map(|_| Bytes::ZERO);
    layers
        .chain(drafting)
        .chain([shape.output.iter().map(on_device).sum()])
        .collect()
}

struct Placer<'a> {
    pools: &'a [Pool],
    cpu: HostCpu,
    placed: Placed,
}

impl Placer<'_> {
    /// Weights of a run of layers: those that stay with experts, or the others.
    fn put_run(&mut self, tally: &Tally, layers: &Range<usize>, experts: bool, at: u8) {
        let at = usize::from(at);
        let lies = self
            .pools
            .get(at)
            .map_or(Lies::Host(self.cpu), |pool| Lies::On(pool.backend));
        let (bytes, copied) = tally.weights(layers, experts, lies);
        self.placed.pools[at] = self.placed.pools[at].plus(bytes);
        self.placed.repacked = self.placed.repacked.plus(copied);
    }

    fn put(&mut self, weight: &Weight, at: u8) {
        let at = usize::from(at);
        let Some(pool) = self.pools.get(at) else {
            return self.on_host(weight);
        };
        let bytes = pool
            .backend
            .weight_bytes(weight.kind, weight.dims[0], weight.bytes.0);
        self.placed.pools[at] = self.placed.pools[at].plus(Bytes(bytes));
    }

    fn on_host(&mut self, weight: &Weight) {
        if let Some(bytes) = self.cpu.copy_bytes(weight) {
            self.placed.repacked = self.placed.repacked.plus(Bytes(bytes));
        } else {
            let host = self.pools.len();
            let bytes = weight.bytes.round_up(HOST.alignment);
            self.placed.pools[host] = self.placed.pools[host].plus(bytes);
        }
    }
}
