use plimsoll_gguf::TensorType;
use plimsoll_hardware::Backend;

use crate::compute::{BackendTraits, Fetches};

/// A backend, as far as its buffers go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryBackend {
    Cuda,
    Hip,
    Vulkan,
    Metal,
    Sycl,
    Rpc,
}

/// The CPU backend of the scheduler. Its alignment is `TENSOR_ALIGNMENT` of ggml.
pub(crate) const HOST: BackendTraits = BackendTraits {
    alignment: 32,
    buffer_max: u64::MAX / 2,
    fetches: Fetches::Nothing,
};

impl MemoryBackend {
    pub(crate) const COUNT: usize = 6;

    #[must_use]
    pub const fn of(backend: Backend) -> Self {
        match backend {
            Backend::Cuda => Self::Cuda,
            Backend::Rocm => Self::Hip,
            Backend::Vulkan => Self::Vulkan,
            Backend::Metal => Self::Metal,
            Backend::Sycl => Self::Sycl,
            Backend::Rpc => Self::Rpc,
        }
    }

    pub(crate) const fn traits(self) -> BackendTraits {
        let fetches = match self {
            Self::Cuda | Self::Hip | Self::Vulkan | Self::Sycl => Fetches::Everything,
            Self::Metal => Fetches::Products,
            Self::Rpc => Fetches::Nothing,
        };
        BackendTraits {
            alignment: 128,
            buffer_max: u64::MAX / 2,
            fetches,
        }
    }

    /// Copies the host's weights to run a large batch itself.
    pub(crate) const fn fetches_weights(self) -> bool {
        !matches!(self.traits().fetches, Fetches::Nothing)
    }

    /// CUDA's kernels read whole tiles of 512 values, so it pads the last row; a remote device is taken to be such a
    /// one.
    pub(crate) const fn pads(self) -> bool {
        match self {
            Self::Cuda | Self::Hip | Self::Rpc => true,
            Self::Vulkan | Self::Metal | Self::Sycl => false,
        }
    }

    /// Bytes of a weight on this backend.
    pub(crate) fn weight_bytes(self, kind: TensorType, row: u64, bytes: u64) -> u64 {
        let padded = self.pads() && kind.is_quantized() && !row.is_multiple_of(512);
        let padding = if padded {
            kind.row_bytes(512 - row % 512)
        } else {
            0
        };
        (bytes + padding).next_multiple_of(self.traits().alignment)
    }

    /// Weights for the host come to lie in pinned memory of this backend, which keeps the CPU from repacking them.
    pub(crate) const fn pins_host_weights(self) -> bool {
        match self {
            Self::Cuda | Self::Hip | Self::Vulkan | Self::Sycl => true,
            Self::Metal | Self::Rpc => false,
        }
    }

    /// Runs a batch while the next one is prepared, given several devices.
    pub(crate) const fn pipelines(self) -> bool {
        match self {
            Self::Cuda | Self::Hip | Self::Rpc | Self::Vulkan => true,
            Self::Metal | Self::Sycl => false,
        }
    }
}
