use std::fmt;

use plimsoll_os::child::Exit;
use plimsoll_units::Bytes;

use super::LogLine;

/// Which memory was not enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Ram,
    Device,
}

/// What ended an engine, as far as its log and its exit tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    OutOfMemory {
        memory: Memory,
        asked: Option<Bytes>,
    },
    ModelFileMissing {
        file: String,
    },
    /// Shorter than its header says.
    ModelFileCut,
    NotGguf,
    /// A GGUF, but not one this engine can use: a broken conversion, a wrong part, a foreign layout.
    ModelFileBroken {
        what: String,
    },
    /// A GGUF that holds no text model: a projector, a part of a picture model.
    NotATextModel,
    UnknownArchitecture {
        name: String,
    },
    /// Made for a newer engine, or for a fork.
    UnknownTensorType {
        what: String,
    },
    MissingLibrary {
        name: String,
    },
    IllegalInstruction,
    PortTaken,
    OptionRefused {
        what: String,
    },
    /// Ended from outside, without a word.
    Killed {
        signal: i32,
    },
    /// Nothing known: the first line that the engine itself calls an error.
    Unknown {
        first_error: Option<String>,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory {
                asked: Some(asked), ..
            } => write!(f, "out of memory, {asked} were asked for"),
            Self::OutOfMemory { asked: None, .. } => f.write_str("out of memory"),
            Self::ModelFileMissing { file } => write!(f, "{file} is not there"),
            Self::ModelFileCut => f.write_str("the model file is cut"),
            Self::NotGguf => f.write_str("the model file is no GGUF"),
            Self::ModelFileBroken { what }
            | Self::UnknownTensorType { what }
            | Self::OptionRefused { what } => f.write_str(what),
            Self::NotATextModel => f.write_str("the file holds no text model"),
            Self::UnknownArchitecture { name } => write!(f, "unknown architecture {name}"),
            Self::MissingLibrary { name } => write!(f, "the library {name} is missing"),
            Self::IllegalInstruction => f.write_str("illegal instruction"),
            Self::PortTaken => f.write_str("the port is taken"),
            Self::Killed { signal } => write!(f, "killed by signal {signal}"),
            Self::Unknown {
                first_error: Some(line),
            } => f.write_str(line),
            Self::Unknown { first_error: None } => f.write_str("no reason given"),
        }
    }
}

const SIGILL: i32 = 4;
/// Windows' codes for an illegal instruction and for a library that was not found.
const STATUS_ILLEGAL_INSTRUCTION: i32 = -0x3FFF_FFE3;
const STATUS_DLL_NOT_FOUND: i32 = -0x3FFF_FECB;

/// What the lines of one process (without the router's prefix) and its exit mean. Call it only when the
/// process has ended: error-level lines of an engine that goes on are no failure.
#[must_use]
pub fn cause<S: AsRef<str>>(lines: &[S], exit: Exit) -> Cause {
    if exit.signal == Some(SIGILL) || exit.code == Some(STATUS_ILLEGAL_INSTRUCTION) {
        return Cause::IllegalInstruction;
    }
    let mut found = None;
    let mut first_error = None;
    for line in lines {
        let line = LogLine::parse(line.as_ref());
        let text = line.text;
        if is_noise(text) {
            continue;
        }
        if text.contains("retrying without") {
            // What failed before this line was tried again in another way.
            (found, first_error) = (None, None);
            continue;
        }
        if found.is_none() {
            found = RULES.iter().find_map(|rule| rule(text));
        }
        if first_error.is_none() && (line.level == Some('E') || text.starts_with("error")) {
            first_error = Some(text.to_owned());
        }
    }
    match (found, exit) {
        (Some(cause), _) => cause,
        (
            None,
            Exit {
                code: Some(STATUS_DLL_NOT_FOUND),
                ..
            },
        ) => Cause::MissingLibrary { name: String::new() },
        (
            None,
            Exit {
                signal: Some(signal), ..
            },
        ) if first_error.is_none() => Cause::Killed { signal },
        (None, _) => Cause::Unknown { first_error },
    }
}

/// Lines that look fatal and are not, or that only repeat an earlier one in misleading words.
fn is_noise(text: &str) -> bool {
    // The fit step tries settings that may fail; what fails for good is printed again by the load itself.
    text.contains("common_fit_params") || text.contains("common_params_fit")
        || text.contains("this warning is normal")
        || text.contains("[spec] failed to measure")
        // Without pinned memory the load goes on, only slower.
        || text.contains("pinned memory")
}

type Rule = fn(&str) -> Option<Cause>;

/// Tried in order on each line; the first line that any rule knows decides.
const RULES: [Rule; 9] = [
    missing_library,
    illegal_instruction,
    port_taken,
    option_refused,
    out_of_memory,
    file_missing,
    architecture,
    tensor_type,
    file_broken,
];

fn missing_library(text: &str) -> Option<Cause> {
    let after = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
    let name = after("error while loading shared libraries: ")
        .map(|rest| rest.split(':').next().unwrap_or(rest))
        .or_else(|| after("Library not loaded: ").map(|rest| rest.rsplit('/').next().unwrap_or(rest)))?;
    Some(Cause::MissingLibrary {
        name: name.trim().to_owned(),
    })
}

fn illegal_instruction(text: &str) -> Option<Cause> {
    let hit = text.contains("Illegal instruction") || text.contains("trap invalid opcode");
    hit.then_some(Cause::IllegalInstruction)
}

fn port_taken(text: &str) -> Option<Cause> {
    let lower = text.to_ascii_lowercase();
    (lower.contains("couldn't bind") && lower.contains("socket")).then_some(Cause::PortTaken)
}

fn option_refused(text: &str) -> Option<Cause> {
    const MARKS: [&str; 6] = [
        "unknown argument: ",
        "invalid argument: ",
        "error while handling argument ",
        "error while handling environment variable ",
        "not recognized in preset",
        "quantized V cache was requested, but this requires Flash Attention",
    ];
    MARKS
        .iter()
        .any(|mark| text.contains(mark))
        .then(|| Cause::OptionRefused {
            what: text.to_owned(),
        })
}

const IN_RAM: [&str; 5] = [
    "cpu_buffer_type",
    " CPU",
    "mmap failed",
    "std::bad_alloc",
    "Cannot allocate memory",
];

fn out_of_memory(text: &str) -> Option<Cause> {
    const MARKS: [&str; 15] = [
        "out of memory",
        "failed to allocate buffer",
        "failed to allocate compute buffers",
        "Cannot allocate memory",
        "ErrorOutOfDeviceMemory",
        "ErrorOutOfHostMemory",
        "VK_ERROR_OUT_OF_DEVICE_MEMORY",
        "VK_ERROR_OUT_OF_HOST_MEMORY",
        "Device memory allocation of size ",
        "exceeds device buffer size limit",
        "Not enough memory for command submission",
        "kIOGPUCommandBufferCallbackErrorOutOfMemory",
        "Insufficient Memory",
        "std::bad_alloc",
        "unable to allocate ",
    ];
    let named = text.contains("failed to allocate ") && text.contains(" buffer of size ");
    if !named && !MARKS.iter().any(|mark| text.contains(mark)) {
        return None;
    }
    let memory = if IN_RAM.iter().any(|mark| text.contains(mark)) {
        Memory::Ram
    } else {
        Memory::Device
    };
    Some(Cause::OutOfMemory {
        memory,
        asked: asked(text),
    })
}

/// `… of size 4571325856`, `allocating 4480.00 MiB on device 3`.
fn asked(text: &str) -> Option<Bytes> {
    if let Some((_, rest)) = text.split_once("of size ") {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        return digits.parse().ok().map(Bytes);
    }
    let (_, rest) = text.split_once("allocating ")?;
    let whole_mib: String = rest.chars().take_while(char::is_ascii_digit).collect();
    rest.contains(" MiB")
        .then(|| whole_mib.parse().ok().map(Bytes::mib))
        .flatten()
}

fn file_missing(text: &str) -> Option<Cause> {
    let at = ["failed to open GGUF file ", "failed to open "]
        .iter()
        .find_map(|mark| text.split_once(mark))?
        .1;
    let mut quoted = at.split(['\'', '"']);
    let (_, file) = (quoted.next()?, quoted.next()?);
    let about_a_model = text.contains("gguf") || text.contains("GGUF") || text.contains("llama");
    // Without a reason the usual one is meant: older engines print none.
    let gone = !text.contains("Permission denied");
    match (about_a_model, gone) {
        (false, _) => None,
        (true, true) => Some(Cause::ModelFileMissing {
            file: file.to_owned(),
        }),
        (true, false) => Some(Cause::ModelFileBroken {
            what: text.to_owned(),
        }),
    }
}

fn architecture(text: &str) -> Option<Cause> {
    let (_, rest) = text.split_once("unknown model architecture: ")?;
    let name = rest.trim().trim_matches(['\'', '"']);
    Some(if name.is_empty() {
        Cause::NotATextModel
    } else {
        Cause::UnknownArchitecture {
            name: name.to_owned(),
        }
    })
}

fn tensor_type(text: &str) -> Option<Cause> {
    let removed = text.contains(" of type ") && text.contains("not a multiple of block size");
    let hit = removed || text.contains("has invalid ggml type") || text.contains("unrecognized tensor type");
    hit.then(|| Cause::UnknownTensorType {
        what: text.to_owned(),
    })
}

const CUT: [&str; 3] = [
    "not within the file bounds",
    "corrupted or incomplete",
    "unexpectedly reached end of file",
];

const BROKEN: [&str; 7] = [
    "wrong number of tensors",
    "split file",
    "cannot find tokenizer",
    "failed to read tensor",
    "failed to read key-value",
    "mismatch between text model",
    "error loading model: ",
];

fn file_broken(text: &str) -> Option<Cause> {
    if text.contains("invalid magic character") || text.contains("bad magic") {
        return Some(Cause::NotGguf);
    }
    if CUT.iter().any(|mark| text.contains(mark)) {
        return Some(Cause::ModelFileCut);
    }
    // "failed to load model from X" only repeats the line before it.
    let echo = text.contains("failed to load model from ");
    let hit = BROKEN.iter().any(|mark| text.contains(mark))
        || (text.contains("tensor '") && text.contains("' not found"));
    (hit && !echo).then(|| Cause::ModelFileBroken {
        what: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Recorded {
        id: String,
        lines: Vec<String>,
        code: Option<i32>,
        signal: Option<i32>,
        want: String,
    }

    /// A short name, as the recorded excerpts say what they are.
    fn name(cause: &Cause) -> &'static str {
        match cause {
            Cause::OutOfMemory {
                memory: Memory::Ram, ..
            } => "oom-ram",
            Cause::OutOfMemory {
                memory: Memory::Device,
                ..
            } => "oom-device",
            Cause::ModelFileMissing { .. } => "file-missing",
            Cause::ModelFileCut => "file-cut",
            Cause::NotGguf => "not-gguf",
            Cause::ModelFileBroken { .. } => "file-broken",
            Cause::NotATextModel => "no-text-model",
            Cause::UnknownArchitecture { .. } => "architecture",
            Cause::UnknownTensorType { .. } => "tensor-type",
            Cause::MissingLibrary { .. } => "library",
            Cause::IllegalInstruction => "illegal-instruction",
            Cause::PortTaken => "port",
            Cause::OptionRefused { .. } => "option",
            Cause::Killed { .. } => "killed",
            Cause::Unknown { .. } => "unknown",
        }
    }

    #[test]
    fn recorded_failures_are_told_apart() {
        let recorded: Vec<Recorded> =
            serde_json::from_str(include_str!("../../fixtures/failure_logs.json")).unwrap();
        assert!(recorded.len() >= 40, "{} excerpts", recorded.len());
        let wrong: Vec<String> = recorded
            .iter()
            .filter_map(|one| {
                let exit = Exit {
                    code: one.code,
                    signal: one.signal,
                };
                let got = cause(&one.lines, exit);
                (name(&got) != one.want).then(|| format!("{}: {got:?}, not {}", one.id, one.want))
            })
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn what_was_asked_for_is_kept() {
        let line = "ggml_gallocr_reserve_n: failed to allocate Vulkan0 buffer of size 4571325856";
        let exit = Exit {
            code: Some(1),
            signal: None,
        };
        assert_eq!(
            cause(&[line], exit),
            Cause::OutOfMemory {
                memory: Memory::Device,
                asked: Some(Bytes(4_571_325_856))
            }
        );
        let line = "allocating 4480.00 MiB on device 3: cudaMalloc failed: out of memory";
        assert_eq!(
            cause(&[line], exit),
            Cause::OutOfMemory {
                memory: Memory::Device,
                asked: Some(Bytes::mib(4480))
            }
        );
    }

    #[test]
    fn silence_is_told_as_silence() {
        let nothing: [&str; 0] = [];
        assert_eq!(
            cause(
                &nothing,
                Exit {
                    code: None,
                    signal: Some(9)
                }
            ),
            Cause::Killed { signal: 9 }
        );
        assert_eq!(
            cause(
                &["0.1.2.3 I all is well"],
                Exit {
                    code: Some(1),
                    signal: None
                }
            ),
            Cause::Unknown { first_error: None }
        );
        assert_eq!(
            cause(
                &nothing,
                Exit {
                    code: None,
                    signal: Some(4)
                }
            ),
            Cause::IllegalInstruction
        );
    }
}
