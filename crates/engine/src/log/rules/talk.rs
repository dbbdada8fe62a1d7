use super::{contains_any, number_after};
use crate::log::cause::Cause;

/// A second file that does not belong to the model.
pub(super) fn partner_mismatch(text: &str) -> Option<Cause> {
    const PROJECTOR: [&str; 3] = [
        "mismatch between text model",
        "mmproj embedding mismatch",
        "failed to load CLIP model",
    ];
    contains_any(text, &PROJECTOR).then_some(Cause::ProjectorMismatch)
}

/// The engine goes on with less than it was asked for.
pub(super) fn less_than_asked(text: &str) -> Option<Cause> {
    const DRAFT: [&str; 3] = [
        "draft model vocab",
        "draft model special tokens must match",
        "are not compatible for speculative",
    ];
    const CACHE: [&str; 3] = [
        "flash_attn requires",
        "V cache quantization requires flash_attn",
        "quantized V cache is not supported",
    ];
    if contains_any(text, &DRAFT) {
        Some(Cause::DraftMismatch)
    } else if contains_any(text, &CACHE) {
        Some(Cause::CacheNotQuantised)
    } else {
        None
    }
}

/// One request is refused, and the engine is well.
pub(super) fn request_refused(text: &str) -> Option<Cause> {
    const WINDOW: [&str; 4] = [
        "exceed_context_size_error",
        "exceeds the available context size",
        "Context size has been exceeded",
        "is larger than the context size",
    ];
    const VISION: [&str; 3] = [
        "not compiled for multimodal",
        "image input is not supported",
        "audio input is not supported",
    ];
    const TEMPLATE: [&str; 5] = [
        "Jinja Exception",
        "While executing ",
        "failed to parse chat template",
        "Failed to parse chat template",
        "Unable to generate parser for this template",
    ];
    if contains_any(text, &WINDOW) {
        Some(Cause::WindowExceeded {
            prompt: number_after(text, "n_prompt_tokens\""),
            window: number_after(text, "n_ctx\""),
        })
    } else if contains_any(text, &VISION) {
        Some(Cause::NoVision)
    } else if contains_any(text, &TEMPLATE) {
        Some(Cause::TemplateFailed {
            what: text.to_owned(),
        })
    } else if text.contains("Invalid API Key") {
        Some(Cause::KeyRefused)
    } else {
        None
    }
}
