//! What became of asking the graphics interfaces. One that is not installed is no news; one that did not answer is,
//! because a device may be missing for it.

use crate::facts::{Asked, Facts};
use crate::note::Note;

use super::host::short;

pub(super) fn note_silence(facts: &Facts, notes: &mut Vec<Note>) {
    notes.extend(facts.vulkan.as_ref().and_then(|asked| silence("Vulkan", asked)));
    notes.extend(facts.dxgi.as_ref().and_then(|asked| silence("DXGI", asked)));
    notes.extend(facts.metal.as_ref().and_then(|asked| silence("Metal", asked)));
}

fn silence<T>(library: &str, asked: &Asked<T>) -> Option<Note> {
    let library = library.to_owned();
    match asked {
        Asked::Answered { .. } | Asked::LibraryMissing => None,
        Asked::TimedOut { limit_ms } => Some(Note::GraphicsProbeTimedOut {
            library,
            limit_ms: *limit_ms,
        }),
        Asked::Crashed { exit } => Some(Note::GraphicsProbeCrashed {
            library,
            exit: short(exit),
        }),
        Asked::Failed { cause } => Some(Note::GraphicsProbeFailed {
            library,
            cause: short(cause),
        }),
    }
}
