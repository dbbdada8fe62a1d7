//! What one token, and one token of a prompt, cost on each place that works for them.

use plimsoll_gguf::TensorType;
use plimsoll_units::{Bytes, BytesPerSecond};

use super::place::{Constants, EXPERT_ARITHMETIC, WAITING, WorkerKind};
use crate::Shape;
use crate::shape::{Layer, Role, Weight};

/// Weights of the host on their way to a device (`PCIe` 3.0 x16, less what the driver takes), for one batch of so many
/// tokens.
const LINK_BYTES_PER_S: f64 = 14e9;
pub(crate) const FETCHED_FOR: u32 = 512;

/// What a place has to do for a token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Weights read per token, those of experts apart.
    pub(crate) dense: Bytes,
    pub(crate) experts: Bytes,
    /// Part of both that unpacks in one step.
    pub(crate) plain: Bytes,
    /// All its weights, also those of experts that a token does not need.
    pub(crate) holds: Bytes,
    pub(crate) layers: u32,
    pub(crate) expert_layers: u32,
    pub(crate) state_layers: u32,
    /// Norms beyond the usual two a layer.
    pub(crate) norms: u32,
}

impl Work {
    /// One more weight, of which a token reads `reads`.
    pub(crate) fn add(&mut self, weight: &Weight, reads: Bytes) {
        let part = if weight.role.is_expert() {
            &mut self.experts
        } else {
            &mut self.dense
        };
        *part = part.plus(reads);
        if Self::is_plain(weight.kind) {
            self.plain = self.plain.plus(reads);
        }
        self.holds = self.holds.plus(weight.bytes);
    }

    pub(crate) fn add_layer(&mut self, layer: &Layer) {
        self.layers += 1;
        let experts = layer.has(Role::UpExperts) || layer.has(Role::GateUpExperts);
        self.expert_layers += u32::from(experts);
        self.state_layers += u32::from(layer.stateful);
        // Where the feed-forward part has a norm of its own, the one after attention is one more.
        let after_attention = layer.has(Role::PostAttentionNorm) && layer.has(Role::FeedNorm);
        self.norms += u32::from(after_attention) + u32::from(layer.has(Role::PostFeedNorm));
    }

    /// Types whose values come out of their block by one multiplication.
    pub(crate) const fn is_plain(kind: TensorType) -> bool {
        matches!(
            kind,
            TensorType::F32
                | TensorType::F16
                | TensorType::BF16
                | TensorType::Q4_0
                | TensorType::Q8_0
                | TensorType::MXFP4
        )
    }

    pub(crate) fn reads(&self) -> Bytes {
        self.dense.plus(self.experts)
    }

    /// The whole model in one place.
    pub(crate) fn of(shape: &Shape) -> Self {
        let mut work = Self::default();
        let all = 0..shape.layers.len();
        shape.tally.add_layers(&mut work, &all);
        shape.tally.add_experts(&mut work, &all);
        for weight in &shape.output {
            work.add(weight, shape.read_of(weight));
        }
        work
    }
}

/// One part of a machine with what it has to do for a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Worker {
    pub(crate) kind: WorkerKind,
    pub(crate) bandwidth: BytesPerSecond,
    pub(crate) work: Work,
    /// Share of the arithmetic.
    pub(crate) share: f64,
}

impl Worker {
    fn fetches(&self) -> bool {
        match self.kind {
            WorkerKind::Device { backend, .. } => backend.fetches_weights(),
            WorkerKind::Host { .. } => false,
        }
    }

    const fn is_host(&self) -> bool {
        matches!(self.kind, WorkerKind::Host { .. })
    }
}

/// Whether the host's weights are fetched by a device for every batch of a prompt.
pub(crate) fn host_is_fetched(workers: &[Worker]) -> bool {
    workers.iter().any(Worker::is_host) && workers.iter().any(Worker::fetches)
}

/// Milliseconds, part by part, so that measured runs can correct each by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Part {
    /// Reading weights.
    pub(super) bytes: f64,
    /// Starting kernels.
    pub(super) floor: f64,
    /// Looking back.
    pub(super) cache: f64,
    /// For one token of a prompt.
    pub(super) prompt: f64,
    /// For one token of a prompt and one that it looks back at.
    pub(super) pair: f64,
}

impl Part {
    fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            floor: self.floor + other.floor,
            cache: self.cache + other.cache,
            prompt: self.prompt + other.prompt,
            pair: self.pair + other.pair,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) devices: Part,
    pub(super) host: Part,
}

impl Cost {
    pub(super) fn prompt_token_ms(&self) -> f64 {
        self.devices.prompt + self.host.prompt
    }

    pub(super) fn prompt_pair_ms(&self) -> f64 {
        self.devices.pair + self.host.pair
    }

    pub(super) fn token_ms(&self) -> f64 {
        let part = |part: &Part| part.bytes + part.floor + part.cache;
        part(&self.devices) + part(&self.host)
    }
}

/// Milliseconds that a token takes on one place, apart from what it looks back at.
pub(super) fn token(work: &Work, by: &Constants, bandwidth: BytesPerSecond) -> Part {
    let spec = bandwidth.as_f64();
    let reads = work.reads().as_f64();
    let plain = if reads > 0.0 {
        work.plain.as_f64() / reads
    } else {
        0.0
    };
    let unpacking = 1.0 - plain * (1.0 - by.plain_types);
    let bytes =
        work.dense.as_f64() * by.inverse_efficiency + work.experts.as_f64() * by.inverse_expert_efficiency;
    let floor = by.token_ms
        + by.layer_ms * f64::from(work.layers)
        + by.expert_layer_ms * f64::from(work.expert_layers)
        + by.state_layer_ms * f64::from(work.state_layers)
        + by.norm_ms * f64::from(work.norms);
    Part {
        bytes: 1e3 * bytes * unpacking / spec,
        floor,
        ..Part::default()
    }
}

pub(super) fn cost(shape: &Shape, workers: &[Worker], cache_reads: Bytes) -> Option<Cost> {
    let mut cost = Cost::default();
    let operations = 2.0 * Bytes(shape.active_parameters).as_f64();
    let looking_back = shape.tally.looking_back;
    // A device that fetches weights reads the whole prompt itself.
    let fetching = workers.iter().any(Worker::fetches);
    let layers: u32 = workers.iter().map(|worker| worker.work.layers).sum();
    let on_devices = workers.iter().filter(|worker| !worker.is_host()).count();
    let on_devices = f64::from(u32::try_from(on_devices).unwrap_or(u32::MAX).max(1));
    for worker in workers {
        let by = Constants::of(worker.kind, worker.bandwidth);
        let spec = worker.bandwidth.as_f64();
        let part_of_layers = f64::from(worker.work.layers) / f64::from(layers.max(1));
        let mut part = token(&worker.work, &by, worker.bandwidth);
        if worker.is_host() && workers.len() > 1 {
            part.bytes *= WAITING;
        }
        part.cache = 1e3 * cache_reads.as_f64() * part_of_layers / (spec * by.cache_efficiency);
        let flops = if shape.has_experts() {
            by.flops * EXPERT_ARITHMETIC
        } else {
            by.flops
        };
        (part.prompt, part.pair) = match worker.kind {
            WorkerKind::Host { .. } if fetching => (
                1e3 * worker.work.holds.as_f64() / LINK_BYTES_PER_S / f64::from(FETCHED_FOR),
                0.0,
            ),
            WorkerKind::Device { .. } if fetching => (
                1e3 * operations / flops / on_devices,
                1e3 * looking_back / by.flops / on_devices,
            ),
            WorkerKind::Host { .. } | WorkerKind::Device { .. } => (
                1e3 * operations * worker.share / flops,
                1e3 * looking_back * part_of_layers / by.flops,
            ),
        };
        let side = if worker.is_host() {
            &mut cost.host
        } else {
            &mut cost.devices
        };
        *side = side.plus(part);
    }
    let sound = |n: f64| n.is_finite() && n > 0.0;
    (sound(cost.token_ms()) && sound(cost.prompt_token_ms()) && cost.prompt_pair_ms().is_finite())
        .then_some(cost)
}

/// Operations for a token and one that it looks back at, over all layers that look back without end: a
/// multiplication and an addition for each value of the key, and of the value.
pub(crate) fn attention(shape: &Shape) -> f64 {
    let looks = |layer: &&Layer| !layer.windowed && (layer.cached || layer.reads_from.is_some());
    let layers = shape.layers.iter().filter(looks);
    layers
        .map(|layer| {
            let width = f64::from(layer.key_width) + f64::from(layer.value_width);
            2.0 * f64::from(layer.heads) * width
        })
        .sum()
}
