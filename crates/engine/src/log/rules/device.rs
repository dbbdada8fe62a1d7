use super::contains_any;
use crate::log::cause::{Cause, GpuProblem};

fn gpu(problem: GpuProblem) -> Cause {
    Cause::Gpu { problem }
}

/// The driver took the device away: a reset, a time-out, a card that fell off the bus.
pub(super) fn lost(text: &str) -> Option<Cause> {
    const MARKS: [&str; 14] = [
        "ErrorDeviceLost",
        "DeviceLostError",
        "ERROR_DEVICE_LOST",
        "VK_ERROR_DEVICE_LOST",
        "unspecified launch failure",
        "an illegal memory access was encountered",
        "the launch timed out and was terminated",
        "hipErrorLaunchFailure",
        "GPU has fallen off the bus",
        "GPU is lost",
        "GPU hang",
        "GPU Hang",
        "ring gfx timeout",
        "kIOGPUCommandBufferCallbackErrorTimeout",
    ];
    contains_any(text, &MARKS).then_some(Cause::DeviceLost)
}

/// The build holds no code for this card.
pub(super) fn no_kernel(text: &str) -> Option<Cause> {
    const MARKS: [&str; 10] = [
        "no kernel image is available",
        "device kernel image is invalid",
        "invalid device function",
        "hipErrorNoBinaryForGpu",
        "Unable to find code object",
        "rocBLAS error: Cannot read",
        "rocBLAS error: Could not initialize Tensile",
        "TensileLibrary",
        "was not compiled with any CUDA arch",
        "has no device code compatible",
    ];
    contains_any(text, &MARKS).then(|| gpu(GpuProblem::NoKernel))
}

/// The toolkit's own words for a driver that it cannot work with. Old engines abort on them.
pub(super) fn driver_refused(text: &str) -> Option<Cause> {
    // Newer engines print these from their start and go on with the CPU: see `not_used`.
    if is_init(text) {
        return None;
    }
    driver_problem(text).map(gpu)
}

/// The graphics card is left out, and the engine goes on with the CPU.
pub(super) fn not_used(text: &str) -> Option<Cause> {
    const NONE_FOUND: [&str; 5] = [
        "no CUDA-capable device is detected",
        "no ROCm-capable device is detected",
        "No devices found",
        "no usable GPU found",
        "No SYCL devices",
    ];
    if text.contains("compiled without GPU support") || text.contains("not compiled with GPU offload support")
    {
        return Some(gpu(GpuProblem::BuiltWithout));
    }
    if contains_any(text, &NONE_FOUND) {
        return Some(gpu(GpuProblem::NoneFound));
    }
    if !is_init(text) {
        return None;
    }
    // A start that failed without a reason: what is known is that the card is not used.
    Some(gpu(driver_problem(text).unwrap_or(GpuProblem::NoneFound)))
}

fn is_init(text: &str) -> bool {
    text.contains("failed to initialize CUDA") || text.contains("failed to initialize ROCm")
}

fn driver_problem(text: &str) -> Option<GpuProblem> {
    const TOO_OLD: [&str; 4] = [
        "driver version is insufficient",
        "cudaErrorInsufficientDriver",
        "PTX was compiled with an unsupported toolchain",
        "ErrorIncompatibleDriver",
    ];
    const MISMATCH: [&str; 3] = [
        "unsupported display driver / cuda driver combination",
        "driver/library version mismatch",
        "forward compatibility was attempted on non supported HW",
    ];
    const BROKEN: [&str; 6] = [
        "initialization error",
        "CUDA driver error",
        "NVIDIA-SMI has failed",
        "OS call failed or operation not supported on this OS",
        "Unable to open /dev/kfd",
        "system not yet initialized",
    ];
    if contains_any(text, &TOO_OLD) {
        Some(GpuProblem::DriverTooOld)
    } else if contains_any(text, &MISMATCH) {
        Some(GpuProblem::DriverMismatch)
    } else if contains_any(text, &BROKEN) {
        Some(GpuProblem::DriverBroken)
    } else {
        None
    }
}
