use super::contains_any;
use crate::log::cause::{Cause, OptionProblem};

pub(super) fn missing_library(text: &str) -> Option<Cause> {
    let after = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
    let name = after("error while loading shared libraries: ")
        .map(|rest| rest.split(':').next().unwrap_or(rest))
        .or_else(|| after("Library not loaded: ").map(|rest| rest.rsplit('/').next().unwrap_or(rest)))
        .or_else(|| {
            after("execution cannot proceed because ").and_then(|rest| rest.split_whitespace().next())
        })
        .or_else(|| {
            text.split_once("' not found (required by")
                .and_then(|(before, _)| before.rsplit('`').next())
        })
        .or_else(|| after("symbol lookup error: ").map(|rest| rest.split(':').next().unwrap_or(rest)))
        .or_else(|| {
            // Python's loader says it without a mark before the name.
            let (before, _) = text.split_once(": cannot open shared object file")?;
            before.rsplit([' ', '"', '\'']).next()
        })?;
    Some(Cause::MissingLibrary {
        name: name.trim().to_owned(),
    })
}

pub(super) fn illegal_instruction(text: &str) -> Option<Cause> {
    const MARKS: [&str; 5] = [
        "Illegal instruction",
        "illegal hardware instruction",
        "trap invalid opcode",
        "0xc000001d",
        "0xC000001D",
    ];
    contains_any(text, &MARKS).then_some(Cause::IllegalInstruction)
}

/// A shell or a system that tells how the program ended, for want of a word of its own.
pub(super) fn crashed(text: &str) -> Option<Cause> {
    const MARKS: [&str; 5] = [
        "0xc0000005",
        "0xC0000005",
        "Segmentation fault",
        "segmentation violation",
        "(core dumped)",
    ];
    contains_any(text, &MARKS).then_some(Cause::Crashed { signal: None })
}

pub(super) fn port_taken(text: &str) -> Option<Cause> {
    let lower = text.to_ascii_lowercase();
    let taken = contains_any(
        &lower,
        &[
            "address already in use",
            "only one usage of each socket address",
            "eaddrinuse",
        ],
    );
    if taken {
        return Some(Cause::PortTaken);
    }
    let bind =
        (lower.contains("couldn't bind") || lower.contains("failed to bind")) && lower.contains("socket");
    // Engines name host and port since they listen in one step; before, a bind failed for other reasons as well.
    bind.then(|| {
        if lower.contains("port") {
            Cause::PortTaken
        } else {
            Cause::BindFailed
        }
    })
}

pub(super) fn option_refused(text: &str) -> Option<Cause> {
    const UNKNOWN: [&str; 4] = [
        "unknown argument",
        "invalid argument: -",
        "unrecognized option",
        "not recognized in preset",
    ];
    const VALUE: [&str; 4] = [
        "error while handling argument ",
        "error while handling environment variable ",
        "expected value for argument",
        "invalid value for argument",
    ];
    const TOGETHER: [&str; 2] = [
        "quantized V cache was requested, but this requires Flash Attention",
        "cannot be used together",
    ];
    let problem = if contains_any(text, &UNKNOWN) {
        OptionProblem::Unknown
    } else if contains_any(text, &VALUE) {
        OptionProblem::BadValue
    } else if contains_any(text, &TOGETHER) {
        OptionProblem::NotTogether
    } else {
        return None;
    };
    Some(Cause::OptionRefused {
        problem,
        what: text.to_owned(),
    })
}
