//! What a running model takes besides llama.cpp's three kinds, part by part, each with its range.
//!
//! Host parts were measured on Linux with builds b10434 and b11434; device parts come from published measurements
//! and are wide, because they depend on driver and card.

use plimsoll_units::Bytes;

use crate::Shape;
use crate::memory::MemoryBackend;

/// One part. `bytes` is what is planned with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overhead {
    pub part: Part,
    pub low: Bytes,
    pub bytes: Bytes,
    pub high: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Weights in the order that the processor's vector units want.
    Repack,
    /// What drafts: its weights, cache and work.
    Draft,
    /// Rows of logits that are handed over.
    Outputs,
    /// Earlier conversations, kept so that going back to one is quick. Fills with use.
    PromptCache,
    /// Earlier states of a sliding window. Fill with use.
    Checkpoints,
    /// Libraries of the backends, the driver's context, scratch memory.
    Backend,
    /// The server itself with its tokenizer.
    Process,
}

impl Part {
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Repack => "repack",
            Self::Draft => "draft",
            Self::Outputs => "outputs",
            Self::PromptCache => "promptCache",
            Self::Checkpoints => "checkpoints",
            Self::Backend => "backend",
            Self::Process => "process",
        }
    }

    /// Not there yet right after loading.
    #[must_use]
    pub const fn fills_with_use(self) -> bool {
        match self {
            Self::PromptCache | Self::Checkpoints => true,
            Self::Repack | Self::Draft | Self::Outputs | Self::Backend | Self::Process => false,
        }
    }
}

impl Overhead {
    pub(crate) const fn exact(part: Part, bytes: Bytes) -> Self {
        Self {
            part,
            low: bytes,
            bytes,
            high: bytes,
        }
    }

    /// Something that fills with use: from nothing to all of it.
    pub(crate) const fn filling(part: Part, bytes: Bytes) -> Self {
        Self {
            part,
            low: Bytes::ZERO,
            bytes,
            high: bytes,
        }
    }

    const fn range(part: Part, low: u64, bytes: u64, high: u64) -> Self {
        Self {
            part,
            low: Bytes(low),
            bytes: Bytes(bytes),
            high: Bytes(high),
        }
    }
}

/// One mebibyte, in bytes.
const MIB: u64 = 1 << 20;

/// A row of logits and one of the embedding per slot.
pub(crate) fn outputs(shape: &Shape, slots: u32) -> Overhead {
    let row = Bytes(4 * (u64::from(shape.vocabulary) + u64::from(shape.embedding)));
    Overhead::exact(Part::Outputs, row.times(u64::from(slots.max(1))))
}

/// llama-server without its buffers: 18 MiB for `SmolLM2` (49 thousand words), 42 for Qwen2.5 (152 thousand), 46 for
/// Gemma (262 thousand, no merges), measured as anonymous memory less buffers on b11434.
pub(crate) fn process(shape: &Shape) -> Overhead {
    let words = u64::from(shape.tokenizer_words) * 161 + u64::from(shape.tokenizer_merges) * 88;
    let bytes = 7 * MIB + words;
    Overhead::range(Part::Process, bytes - bytes / 4, bytes, bytes + bytes / 2)
}

/// The same libraries as an earlier load on this machine had them. Two loads differ by what the buffers are touched,
/// up to 20 MiB.
pub(crate) const fn seen(bytes: Bytes) -> Overhead {
    const APART: u64 = 20 * MIB;
    Overhead {
        part: Part::Backend,
        low: bytes.less(Bytes(APART)),
        bytes,
        high: bytes.plus(Bytes(APART)),
    }
}

/// The engine's libraries: 15 MiB of file-backed pages for a plain build. A backend's own come along whether it is
/// used or not: Vulkan's brought a driver with a compiler in it, 47 MiB more in files and 10 in memory (Mesa). CUDA's
/// and `ROCm`'s were not measured by us; their range is wide. `None`: which backends the engine has is not known.
pub(crate) fn libraries(backends: Option<impl Iterator<Item = MemoryBackend>>) -> Overhead {
    let (mut low, mut bytes, mut high) = (12 * MIB, 15 * MIB, 20 * MIB);
    let mut add = |more: (u64, u64, u64)| {
        low += more.0 * MIB;
        bytes += more.1 * MIB;
        high += more.2 * MIB;
    };
    let Some(backends) = backends else {
        add((0, 30, 120));
        return Overhead::range(Part::Backend, low, bytes, high);
    };
    let mut seen = [false; MemoryBackend::COUNT];
    for backend in backends {
        if std::mem::replace(&mut seen[backend as usize], true) {
            continue;
        }
        add(match backend {
            MemoryBackend::Vulkan => (15, 57, 120),
            MemoryBackend::Cuda | MemoryBackend::Hip => (100, 250, 600),
            MemoryBackend::Sycl => (100, 200, 500),
            MemoryBackend::Metal => (10, 40, 120),
            MemoryBackend::Rpc => (0, 1, 5),
        });
    }
    Overhead::range(Part::Backend, low, bytes, high)
}

/// On a device: what the driver takes for a context, and scratch beside the scheduler's buffers.
pub(crate) fn device(shape: &Shape, backend: MemoryBackend) -> Overhead {
    // Half precision of the largest matrix: what a driver unpacks weights into for large batches.
    let unpacked = 2 * shape.tally.largest_matrix;
    let (low, bytes, high) = match backend {
        // RTX 5090: about 0.5 GiB more than the buffers; RTX 3060 with a desktop on it: 1.17.
        MemoryBackend::Cuda => (250 * MIB, 450 * MIB, 700 * MIB),
        // Strix Halo: 83 to 207 MiB, after a prompt up to 1.27 times the unpacked matrix more.
        MemoryBackend::Hip => (83 * MIB, 125 * MIB + unpacked, 207 * MIB + unpacked * 13 / 10),
        // Strix Halo: 136 MiB for small models, to 1,130 for Gemma 27B.
        MemoryBackend::Vulkan => (136 * MIB, 136 * MIB + unpacked * 3 / 2, 200 * MIB + unpacked * 4),
        MemoryBackend::Metal => (50 * MIB, 150 * MIB, 400 * MIB),
        MemoryBackend::Sycl => (150 * MIB, 400 * MIB, 900 * MIB),
        // What drives the device at the other end is not known.
        MemoryBackend::Rpc => (0, 100 * MIB, 500 * MIB),
    };
    Overhead::range(Part::Backend, low, bytes, high)
}
