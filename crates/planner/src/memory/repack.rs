use plimsoll_gguf::TensorType;
use plimsoll_hardware::Cpu;

use crate::shape::Weight;

/// What the CPU backend would do with weights that stay on the host: some types it copies into an order that its
/// vector units read faster. The copy lies beside the mapped file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostCpu {
    units: Units,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Units {
    #[default]
    Plain,
    Avx2,
    Avx512,
    /// Intel's matrix tiles, and AVX-512 for what they do not take.
    Amx,
    /// ARM dot products.
    Neon,
}

impl HostCpu {
    /// From the features that the machine lists. A machine that lists none is taken to be an ordinary one of its
    /// architecture, because leaving the copy out would promise too much room.
    #[must_use]
    pub fn of(cpu: &Cpu, arch: &str) -> Self {
        let has = |name: &str| cpu.features.iter().any(|feature| feature == name);
        let x86 = arch.is_empty() || arch == "x86_64";
        let units = if has("amx_int8") && has("avx512_vnni") {
            Units::Amx
        } else if has("avx512f") {
            Units::Avx512
        } else if has("avx2") {
            Units::Avx2
        } else if has("asimddp") || has("i8mm") {
            Units::Neon
        } else if !cpu.features.is_empty() {
            Units::Plain
        } else if x86 {
            Units::Avx2
        } else {
            Units::Neon
        };
        Self { units }
    }

    /// How many kinds there are, and all but the plain one.
    pub(crate) const KINDS: usize = 5;

    pub(crate) const fn copying() -> [Self; Self::KINDS - 1] {
        [
            Self { units: Units::Avx2 },
            Self { units: Units::Avx512 },
            Self { units: Units::Amx },
            Self { units: Units::Neon },
        ]
    }

    /// 0 for the plain kind, the others as [`Self::copying`] lists them, counted from 1.
    pub(crate) const fn number(self) -> usize {
        match self.units {
            Units::Plain => 0,
            Units::Avx2 => 1,
            Units::Avx512 => 2,
            Units::Amx => 3,
            Units::Neon => 4,
        }
    }

    /// A CPU backend that keeps weights as the file has them (`--no-repack`).
    #[must_use]
    pub const fn plain() -> Self {
        Self { units: Units::Plain }
    }

    /// Bytes of the copy, or `None` when the weight stays as it is.
    pub(crate) fn copy_bytes(self, weight: &Weight) -> Option<u64> {
        if !weight.role.is_matrix() {
            return None;
        }
        if self.units == Units::Amx
            && let Some(bytes) = amx_bytes(weight)
        {
            return Some(bytes);
        }
        self.reorders(weight).then_some(weight.bytes.0)
    }

    /// `ggml_repack_get_optimal_repack_type`.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the list of ggml's kernels; every other type has none"
    )]
    fn reorders(self, weight: &Weight) -> bool {
        use TensorType as T;
        let [_, rows, matrices] = weight.dims;
        // The kernels exist for single matrices and for experts.
        if matrices > 1 && !weight.role.is_expert() {
            return false;
        }
        let by = |step: u64| rows.is_multiple_of(step);
        match self.units {
            Units::Plain => false,
            Units::Avx2 => matches!(weight.kind, T::Q4_0 | T::Q4_K | T::IQ4_NL | T::MXFP4) && by(8),
            Units::Avx512 | Units::Amx => {
                matches!(weight.kind, T::Q4_0 | T::Q4_K | T::IQ4_NL | T::MXFP4 | T::Q2_K) && by(8)
            }
            Units::Neon => match weight.kind {
                T::Q4_K | T::Q5_K | T::Q6_K => by(8),
                T::Q4_0 | T::IQ4_NL | T::MXFP4 | T::Q8_0 | T::Q1_0 => by(4),
                _ => false,
            },
        }
    }
}

/// `ggml_backend_amx_get_alloc_size`, for weights that the tiles take.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the list of ggml's kernels; every other type has none"
)]
fn amx_bytes(weight: &Weight) -> Option<u64> {
    use TensorType as T;
    let [row, rows, _] = weight.dims;
    if weight.role.is_expert() || !rows.is_multiple_of(32) {
        return None;
    }
    let (step, extra) = match weight.kind {
        T::Q4_0 | T::Q4_1 => (32, 0),
        T::Q8_0 => (32, 4),
        T::Q4_K | T::Q5_K => (256, 4),
        T::Q6_K => (256, 0),
        T::IQ4_XS => (256, 2),
        T::F16 => (16, 0),
        _ => return None,
    };
    if !row.is_multiple_of(step) {
        return None;
    }
    if weight.kind == T::F16 {
        return Some(weight.bytes.0);
    }
    // Of several matrices in one tensor it makes room for the first only.
    let (block, block_bytes) = weight.kind.block();
    Some(row / block * (block_bytes + extra) * rows)
}
