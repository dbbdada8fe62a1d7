//! How fast a model answers: a floor per token and layer, plus the bytes it reads over the bandwidth that reaches
//! them. A range, never a point.
//!
//! The constants are medians over public measurements (llmfit's community rows and llama.cpp's own benches, both
//! MIT; lhl's Strix Halo runs, Apache-2.0). Prefill has less data behind it, so its range is wider.

use plimsoll_units::{Bytes, BytesPerSecond};

use crate::Shape;
use crate::memory::MemoryBackend;

/// At the least, expected, at the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub low: f64,
    pub mid: f64,
    pub high: f64,
}

impl Range {
    /// `None` unless all three are finite numbers above 0.
    fn around(mid: f64, down: f64, up: f64) -> Option<Self> {
        let range = Self {
            low: mid * down,
            mid,
            high: mid * up,
        };
        let sound = |n: f64| n.is_finite() && n > 0.0;
        (sound(range.low) && sound(range.mid) && sound(range.high)).then_some(range)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// Tokens per second while answering.
    pub decode: Range,
    /// Tokens per second while reading the prompt.
    pub prefill: Range,
    pub prompt_tokens: u32,
    /// Seconds from sending such a prompt to the first word.
    pub first_token_s: Range,
    pub basis: Basis,
}

impl Speed {
    /// Seconds for a whole turn with this many tokens of prompt and answer, as expected.
    #[must_use]
    pub fn turn_seconds(&self, prompt: u32, answer: u32) -> f64 {
        f64::from(prompt) / self.prefill.mid + f64::from(answer) / self.decode.mid
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Data sheets and constants.
    Table,
    /// Corrected by runs on this machine.
    Measured,
}

/// A measured run of a model on the machine that is planned for.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    shape: Shape,
    decode: Option<f64>,
    prefill: Option<f64>,
}

impl Anchor {
    /// `None` when neither figure is a speed.
    #[must_use]
    pub fn of(shape: Shape, decode: Option<f64>, prefill: Option<f64>) -> Option<Self> {
        let sound = |n: &f64| n.is_finite() && *n > 0.0;
        let (decode, prefill) = (decode.filter(sound), prefill.filter(sound));
        (decode.is_some() || prefill.is_some()).then_some(Self {
            shape,
            decode,
            prefill,
        })
    }
}

/// One part of a machine with what it has to do for a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Worker {
    pub(crate) kind: WorkerKind,
    pub(crate) bandwidth: BytesPerSecond,
    /// Weights read per token.
    pub(crate) reads: Bytes,
    /// All its weights, also those of experts that a token does not need.
    pub(crate) holds: Bytes,
    pub(crate) layers: u32,
    /// Share of the arithmetic.
    pub(crate) share: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerKind {
    Device { backend: MemoryBackend, unified: bool },
    Host { cores: u32, vectors: Vectors },
}

/// Width of the processor's vector units, for its arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vectors {
    Narrow,
    Avx2,
    Avx512,
    Matrix,
    Neon,
}

impl Vectors {
    pub(crate) fn of(features: &[String], arch: &str) -> Self {
        let has = |name: &str| features.iter().any(|feature| feature == name);
        if has("amx_int8") {
            Self::Matrix
        } else if has("avx512f") {
            Self::Avx512
        } else if has("asimddp") || has("i8mm") || arch == "aarch64" {
            Self::Neon
        } else if has("avx2") || features.is_empty() {
            Self::Avx2
        } else {
            Self::Narrow
        }
    }

    /// Floating-point operations per second of one core on quantised weights.
    const fn flops(self) -> f64 {
        match self {
            Self::Narrow => 8e9,
            Self::Neon => 30e9,
            Self::Avx2 => 40e9,
            Self::Avx512 | Self::Matrix => 60e9,
        }
    }
}

/// The constants of one kind of worker.
struct Constants {
    /// Spec bandwidth over the bandwidth that weights are read with.
    inverse_efficiency: f64,
    token_ms: f64,
    layer_ms: f64,
    expert_layer_ms: f64,
    /// Operations per byte of bandwidth while reading a prompt.
    flops_per_byte: f64,
}

/// HBM cards reach a smaller share of their bandwidth with a batch of one.
const HBM_FROM: BytesPerSecond = BytesPerSecond::gb(1_900);
/// Below this a card is limited by arithmetic, not by memory.
const WEAK_BELOW: BytesPerSecond = BytesPerSecond::gb(150);

fn constants(backend: MemoryBackend, unified: bool, bandwidth: BytesPerSecond) -> Constants {
    let new = |inverse_efficiency, token_ms, layer_ms, expert_layer_ms, flops_per_byte| Constants {
        inverse_efficiency,
        token_ms,
        layer_ms,
        expert_layer_ms,
        flops_per_byte,
    };
    match backend {
        MemoryBackend::Metal => new(1.12, 0.18, 0.074, 0.083, 22.0),
        _ if unified => new(1.41, 0.10, 0.056, 0.060, 100.0),
        _ if bandwidth >= HBM_FROM => new(1.90, 0.40, 0.050, 0.060, 110.0),
        _ if bandwidth < WEAK_BELOW => new(2.46, 1.36, 0.107, 0.118, 15.0),
        MemoryBackend::Cuda => new(1.21, 0.20, 0.045, 0.030, 90.0),
        MemoryBackend::Vulkan | MemoryBackend::Hip => new(1.19, 0.85, 0.038, 0.040, 45.0),
        MemoryBackend::Sycl => new(1.50, 0.85, 0.060, 0.080, 40.0),
        // A network lies between.
        MemoryBackend::Rpc => new(1.40, 1.50, 0.060, 0.080, 45.0),
    }
}

/// A processor reads weights at about half of its memory's bandwidth, and no core unpacks more than this.
const HOST_INVERSE_EFFICIENCY: f64 = 1.9;
const HOST_BYTES_PER_CORE: f64 = 6e9;
const HOST_TOKEN_MS: f64 = 0.3;
const HOST_LAYER_MS: f64 = 0.02;
/// Part of the device's speed at which the cache is read.
const CACHE_EFFICIENCY: f64 = 0.7;

/// Weights of the host on their way to a device, for one batch of so many tokens.
const LINK_BYTES_PER_S: f64 = 14e9;
pub(crate) const FETCHED_FOR: u32 = 512;

impl Worker {
    fn fetches(&self) -> bool {
        match self.kind {
            WorkerKind::Device { backend, .. } => backend.fetches_weights(),
            WorkerKind::Host { .. } => false,
        }
    }
}

/// Whether the host's weights are fetched by a device for every batch of a prompt.
pub(crate) fn host_is_fetched(workers: &[Worker]) -> bool {
    let host = workers
        .iter()
        .any(|worker| matches!(worker.kind, WorkerKind::Host { .. }));
    host && workers.iter().any(Worker::fetches)
}

/// What a token and a prompt cost on some workers.
#[derive(Debug, Clone, Copy)]
struct Cost {
    token_ms: f64,
    prompt_token_ms: f64,
}

fn cost(shape: &Shape, workers: &[Worker], cache_reads: Bytes) -> Option<Cost> {
    let mut cost = Cost {
        token_ms: 0.0,
        prompt_token_ms: 0.0,
    };
    let operations = 2.0 * Bytes(shape.active_parameters).as_f64();
    // A device that fetches weights reads the whole prompt itself.
    let fetching = workers.iter().any(Worker::fetches);
    let layers = shape.layers.len().max(1);
    let on_device = workers
        .iter()
        .filter(|worker| matches!(worker.kind, WorkerKind::Device { .. }));
    let devices = f64::from(u32::try_from(on_device.count()).unwrap_or(u32::MAX).max(1));
    for worker in workers {
        let bandwidth = Bytes(worker.bandwidth.0).as_f64();
        #[expect(clippy::cast_precision_loss, reason = "layers are few")]
        let cached = cache_reads.as_f64() * f64::from(worker.layers) / layers as f64;
        let (reading, floor, operations_per_s) = match worker.kind {
            WorkerKind::Device { backend, unified } => {
                let by = constants(backend, unified, worker.bandwidth);
                let per_layer = by.layer_ms
                    + if shape.has_experts() {
                        by.expert_layer_ms
                    } else {
                        0.0
                    };
                let experts = if shape.has_experts() { 0.7 } else { 1.0 };
                let floor = by.token_ms + per_layer * f64::from(worker.layers);
                (
                    bandwidth / by.inverse_efficiency,
                    floor,
                    bandwidth * by.flops_per_byte * experts,
                )
            }
            WorkerKind::Host { cores, vectors } => {
                let cores = f64::from(cores.max(1));
                let reading = (bandwidth / HOST_INVERSE_EFFICIENCY).min(cores * HOST_BYTES_PER_CORE);
                let floor = HOST_TOKEN_MS + HOST_LAYER_MS * f64::from(worker.layers);
                (reading, floor, cores * vectors.flops())
            }
        };
        cost.token_ms +=
            floor + 1e3 * worker.reads.as_f64() / reading + 1e3 * cached / (reading * CACHE_EFFICIENCY);
        cost.prompt_token_ms += match worker.kind {
            WorkerKind::Host { .. } if fetching => {
                1e3 * worker.holds.as_f64() / LINK_BYTES_PER_S / f64::from(FETCHED_FOR)
            }
            WorkerKind::Device { .. } if fetching => 1e3 * operations / operations_per_s / devices,
            WorkerKind::Host { .. } | WorkerKind::Device { .. } => {
                1e3 * operations * worker.share / operations_per_s
            }
        };
    }
    let sound = |n: f64| n.is_finite() && n > 0.0;
    (sound(cost.token_ms) && sound(cost.prompt_token_ms)).then_some(cost)
}

/// The question: who works, with how long a prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) workers: &'a [Worker],
    /// Cache of such a prompt.
    pub(crate) cache_reads: Bytes,
    pub(crate) prompt_tokens: u32,
}

/// Speed from the table, corrected by measured runs where there are some.
pub(crate) fn estimate(question: &Question, anchors: &[Anchor], whole: &[Worker]) -> Option<Speed> {
    let cost = cost(question.shape, question.workers, question.cache_reads)?;
    let (decode_scale, decode_runs) = correction(anchors, whole, |anchor, cost| {
        anchor.decode.map(|tps| 1e3 / tps / cost.token_ms)
    });
    let (prefill_scale, prefill_runs) = correction(anchors, whole, |anchor, cost| {
        anchor.prefill.map(|tps| 1e3 / tps / cost.prompt_token_ms)
    });
    let spills = question.workers.len() > 1
        && question
            .workers
            .iter()
            .any(|worker| matches!(worker.kind, WorkerKind::Host { .. }));
    let on_host = question
        .workers
        .iter()
        .all(|worker| matches!(worker.kind, WorkerKind::Host { .. }));
    let (down, up) = match (decode_runs > 0, spills || on_host) {
        (true, false) => (0.85, 1.15),
        (true, true) => (0.75, 1.25),
        (false, false) => (0.75, 1.2),
        (false, true) => (0.6, 1.5),
    };
    let decode = Range::around(1e3 / (cost.token_ms * decode_scale), down, up)?;
    let (down, up) = if prefill_runs > 0 {
        (0.75, 1.25)
    } else {
        (0.5, 1.8)
    };
    let prefill = Range::around(1e3 / (cost.prompt_token_ms * prefill_scale), down, up)?;
    let tokens = f64::from(question.prompt_tokens);
    let first_token_s = Range {
        low: tokens / prefill.high + 1.0 / decode.high,
        mid: tokens / prefill.mid + 1.0 / decode.mid,
        high: tokens / prefill.low + 1.0 / decode.low,
    };
    let basis = if decode_runs + prefill_runs > 0 {
        Basis::Measured
    } else {
        Basis::Table
    };
    Some(Speed {
        decode,
        prefill,
        prompt_tokens: question.prompt_tokens,
        first_token_s,
        basis,
    })
}

/// Measured over predicted time: the median over the anchors, within bounds that a typing error would leave.
fn correction(
    anchors: &[Anchor],
    whole: &[Worker],
    ratio: impl Fn(&Anchor, &Cost) -> Option<f64>,
) -> (f64, u32) {
    let mut ratios: Vec<f64> = anchors
        .iter()
        .filter_map(|anchor| {
            let reads = anchor.shape.bytes_read();
            let layers = u32::try_from(anchor.shape.layers.len()).unwrap_or(u32::MAX);
            // The fastest place of the machine had the whole model: what a person measures.
            let workers: Vec<Worker> = whole
                .iter()
                .take(1)
                .map(|worker| Worker {
                    reads,
                    holds: reads,
                    layers,
                    share: 1.0,
                    ..*worker
                })
                .collect();
            ratio(anchor, &cost(&anchor.shape, &workers, Bytes::ZERO)?)
        })
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .collect();
    ratios.sort_by(f64::total_cmp);
    let runs = u32::try_from(ratios.len()).unwrap_or(u32::MAX);
    match ratios.get(ratios.len() / 2) {
        Some(ratio) => (ratio.clamp(0.1, 10.0), runs),
        None => (1.0, 0),
    }
}
