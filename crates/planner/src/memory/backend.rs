use plimsoll_gguf::TensorType;
use plimsoll_hardware::Backend;

use crate::compute::BackendTraits;

/// What moved between llama.cpp releases, by build number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// The number of `b11434`.
    pub build: u32,
}

impl Release {
    /// The build that the planner is held against.
    pub const CHECKED: Self = Self { build: 11_434 };

    /// A third way into the graph, for batches of tokens and embeddings together. Not there in b10434, there in
    /// b11434; in between the larger figure is the safe one.
    pub(crate) const fn mixed_input(self) -> bool {
        self.build > 10_434
    }
}

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
    fetches_weights: false,
};

impl MemoryBackend {
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
        let fetches_weights = match self {
            Self::Cuda | Self::Hip | Self::Vulkan | Self::Sycl | Self::Metal => true,
            Self::Rpc => false,
        };
        BackendTraits {
            alignment: 128,
            buffer_max: u64::MAX / 2,
            fetches_weights,
        }
    }

    /// Bytes of a weight on this backend. CUDA's kernels read whole tiles of 512 values, so it pads the last row;
    /// a remote device is taken to be such a one.
    pub(crate) fn weight_bytes(self, kind: TensorType, row: u64, bytes: u64) -> u64 {
        let padded = match self {
            Self::Cuda | Self::Hip | Self::Rpc => kind.is_quantized() && !row.is_multiple_of(512),
            Self::Vulkan | Self::Metal | Self::Sycl => false,
        };
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
