//! What one place of a machine can do: constants by kind of place, in one table.

use plimsoll_units::BytesPerSecond;

use crate::memory::MemoryBackend;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerKind {
    Device {
        backend: MemoryBackend,
        unified: bool,
        /// Of a card that unpacks weights slower than it reads them.
        unpack_gflops: Option<u32>,
    },
    Host {
        cores: u32,
        vectors: Vectors,
    },
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

/// The constants of one kind of place. Times in milliseconds a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Constants {
    /// Spec bandwidth over the bandwidth that weights in K-quants are read with.
    pub(super) inverse_efficiency: f64,
    /// The same for experts, of which few rows are read at a time.
    pub(super) inverse_expert_efficiency: f64,
    /// What is left of the time per byte for types that unpack in one step (`Q4_0`, `Q8_0`, `MXFP4`, `F16`).
    pub(super) plain_types: f64,
    pub(super) token_ms: f64,
    pub(super) layer_ms: f64,
    /// More for a layer with experts, with a recurrent state, and for each norm beyond the usual two.
    pub(super) expert_layer_ms: f64,
    pub(super) state_layer_ms: f64,
    pub(super) norm_ms: f64,
    /// Share of the spec bandwidth at which the cache is read.
    pub(super) cache_efficiency: f64,
    /// Operations per second while reading a prompt, dense layers.
    pub(super) flops: f64,
}

/// What is left of the arithmetic when it is spread over experts.
pub(super) const EXPERT_ARITHMETIC: f64 = 0.65;
/// HBM cards reach a smaller share of their bandwidth with a batch of one.
const HBM_FROM: BytesPerSecond = BytesPerSecond::gb(1_900);
/// Operations that a card without units for whole numbers needs for a byte of weights in K-quants: it waits for these,
/// not for its memory. From the GTX 1050 Ti; a GTX 1070 needs 49 to 54.
const UNPACKING: f64 = 47.0;
/// A small GPU below this is limited by arithmetic as well.
const WEAK_BELOW: BytesPerSecond = BytesPerSecond::gb(150);
/// A processor by itself reads weights at half of its memory's bandwidth (Ryzen 7840HS: 0.50 to 0.62).
const HOST_EFFICIENCY: f64 = 0.5;
const HOST_EXPERT_EFFICIENCY: f64 = 0.4;
/// Beside a device it waits for that one in every token: an i9-10900X that copies at 102 GB/s then reads dense layers
/// at 44 to 48 and experts at 30 to 39 (RTX 2080 with known offload flags).
pub(super) const WAITING: f64 = 1.15;
/// No core unpacks more than this.
const HOST_BYTES_PER_CORE: f64 = 6e9;

/// (1/efficiency, plain types, token ms, layer ms, expert layer ms, state layer ms, norm ms, cache share,
/// operations per byte of bandwidth)
type Row = (f64, f64, f64, f64, f64, f64, f64, f64, f64);

/// Where each row comes from: Vulkan, an RX 7900 XT; CUDA, RTX 2080 and 5070; CUDA unified, GB10; the other unified
/// ones, Strix Halo; Metal, M5 Max, M4 Pro and M3 Pro; cards that wait for their arithmetic, a GTX 1050 Ti; HBM, published A100 and H100 figures. SYCL
/// and RPC follow their nearest relative, with a network for the latter.
fn row(backend: MemoryBackend, unified: bool, bandwidth: BytesPerSecond) -> Row {
    match backend {
        MemoryBackend::Metal => (1.12, 1.0, 0.30, 0.074, 0.083, 0.05, 0.010, 0.42, 22.0),
        MemoryBackend::Cuda if unified => (1.40, 0.87, 0.05, 0.050, 0.005, 0.01, 0.000, 0.70, 115.0),
        MemoryBackend::Hip if unified => (1.25, 1.0, 0.30, 0.080, 0.060, 0.08, 0.015, 0.15, 50.0),
        _ if unified && bandwidth < WEAK_BELOW => (1.40, 1.0, 0.50, 0.080, 0.080, 0.10, 0.020, 0.40, 25.0),
        _ if unified => (1.17, 1.0, 0.30, 0.060, 0.060, 0.08, 0.015, 0.40, 38.0),
        _ if bandwidth >= HBM_FROM => (1.90, 1.0, 0.40, 0.050, 0.060, 0.05, 0.010, 0.50, 110.0),
        MemoryBackend::Cuda => (1.15, 1.0, 0.19, 0.058, 0.030, 0.04, 0.012, 0.70, 100.0),
        MemoryBackend::Vulkan | MemoryBackend::Hip => {
            (1.19, 1.0, 0.82, 0.038, 0.030, 0.08, 0.018, 0.40, 45.0)
        }
        MemoryBackend::Sycl => (1.50, 1.0, 0.85, 0.060, 0.080, 0.08, 0.018, 0.40, 40.0),
        MemoryBackend::Rpc => (1.40, 1.0, 1.50, 0.060, 0.080, 0.08, 0.018, 0.40, 45.0),
    }
}

/// Such a card is old, and so is the machine that starts its kernels.
fn unpacking(gflops: u32, bandwidth: BytesPerSecond) -> Row {
    let per_byte = 1e9 * f64::from(gflops.max(1)) / bandwidth.as_f64();
    let inverse = (UNPACKING / per_byte).max(1.15);
    (inverse, 0.88, 1.36, 0.107, 0.118, 0.28, 0.050, 0.40, 15.0)
}

impl Constants {
    pub(super) fn of(kind: WorkerKind, bandwidth: BytesPerSecond) -> Self {
        let spec = bandwidth.as_f64();
        match kind {
            WorkerKind::Device {
                backend,
                unified,
                unpack_gflops,
            } => {
                let unpacking = unpack_gflops.map(|gflops| unpacking(gflops, bandwidth));
                let (inverse, plain_types, token, layer, experts, state, norm, cache, per_byte) =
                    unpacking.unwrap_or_else(|| row(backend, unified, bandwidth));
                Self {
                    inverse_efficiency: inverse,
                    inverse_expert_efficiency: inverse,
                    plain_types,
                    token_ms: token,
                    layer_ms: layer,
                    expert_layer_ms: experts,
                    state_layer_ms: state,
                    norm_ms: norm,
                    cache_efficiency: cache,
                    flops: spec * per_byte,
                }
            }
            WorkerKind::Host { cores, vectors } => {
                let cores = f64::from(cores.max(1));
                let unpacked = cores * HOST_BYTES_PER_CORE;
                let inverse = |efficiency: f64| spec / (spec * efficiency).min(unpacked);
                Self {
                    inverse_efficiency: inverse(HOST_EFFICIENCY),
                    inverse_expert_efficiency: inverse(HOST_EXPERT_EFFICIENCY),
                    plain_types: 1.0,
                    token_ms: 0.3,
                    layer_ms: 0.02,
                    expert_layer_ms: 0.02,
                    state_layer_ms: 0.02,
                    norm_ms: 0.003,
                    cache_efficiency: 0.35,
                    flops: cores * vectors.flops(),
                }
            }
        }
    }
}
