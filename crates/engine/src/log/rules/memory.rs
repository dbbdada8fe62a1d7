use plimsoll_units::Bytes;

use super::{contains_any, number_after};
use crate::log::cause::{Cause, Memory, Part};

const MARKS: [&str; 17] = [
    "out of memory",
    "OutOfMemory",
    "failed to allocate buffer",
    "failed to allocate compute buffers",
    "failed to allocate compute pp buffers",
    "Cannot allocate memory",
    "ErrorOutOfDeviceMemory",
    "ErrorOutOfHostMemory",
    "VK_ERROR_OUT_OF_DEVICE_MEMORY",
    "VK_ERROR_OUT_OF_HOST_MEMORY",
    "Device memory allocation of size ",
    "exceeds device buffer size limit",
    "Not enough memory for command submission",
    "Insufficient Memory",
    "std::bad_alloc",
    "unable to allocate ",
    "not enough space in the buffer",
];

const IN_RAM: [&str; 6] = [
    "cpu_buffer_type",
    " CPU",
    "mmap failed",
    "std::bad_alloc",
    "Cannot allocate memory",
    "CUDA_Host",
];

/// A driver's largest single buffer is about this on the cards that have such a limit (4 GiB, less a page).
const SINGLE_BUFFER_USUAL: Bytes = Bytes(4 << 30);
/// A compute buffer below this is the last straw and not the load.
const COMPUTE_TO_BLAME: Bytes = Bytes(1 << 30);

/// So many lines after the first refusal may still say what was being made.
pub(in crate::log) const EXPLAINED_BY: usize = 6;

pub(super) fn exhausted(text: &str) -> Option<Cause> {
    let named = text.contains("failed to allocate ") && text.contains(" buffer of size ");
    if !named && !contains_any(text, &MARKS) {
        return None;
    }
    let memory = if contains_any(text, &IN_RAM) {
        Memory::Ram
    } else {
        Memory::Device
    };
    let asked = asked(text);
    let large = asked.is_some_and(|asked| asked > SINGLE_BUFFER_USUAL);
    let part = if text.contains("mmap failed") {
        Part::Mapping
    } else if text.contains("kIOGPUCommandBufferCallbackErrorOutOfMemory")
        || text.contains("Insufficient Memory")
    {
        Part::Running
    } else if text.contains("buffer size limit") || (text.contains("Device memory allocation") && large) {
        Part::SingleBuffer
    } else {
        part_said_by(text, asked).unwrap_or(Part::Unsaid)
    };
    Some(Cause::OutOfMemory { memory, part, asked })
}

/// What was being made when the memory ended, where a line says so.
pub(in crate::log) fn part_said_by(text: &str, asked: Option<Bytes>) -> Option<Part> {
    const CONTEXT: [&str; 4] = ["kv cache", "kv_cache", "self-attention cache", "memory_recurrent"];
    const COMPUTE: [&str; 4] = [
        "gallocr",
        "graph_reserve",
        "compute buffers",
        "compute pp buffers",
    ];
    const WEIGHTS: [&str; 3] = ["load_tensors", "unable to allocate ", "weights"];
    if text.contains("buffer size limit") {
        Some(Part::SingleBuffer)
    } else if contains_any(text, &CONTEXT) {
        Some(Part::Context)
    } else if contains_any(text, &COMPUTE) {
        let asked = self::asked(text).or(asked);
        asked
            .is_some_and(|asked| asked >= COMPUTE_TO_BLAME)
            .then_some(Part::Compute)
    } else if contains_any(text, &WEIGHTS) {
        Some(Part::Weights)
    } else {
        None
    }
}

/// `… of size 4571325856`, `allocating 4480.00 MiB on device 3`.
fn asked(text: &str) -> Option<Bytes> {
    if let Some(bytes) = number_after(text, "of size ") {
        return Some(Bytes(bytes));
    }
    if !text.contains(" MiB") {
        return None;
    }
    let mib: u64 = number_after(text, "allocating ")?;
    Some(Bytes(mib.checked_mul(1 << 20)?))
}
