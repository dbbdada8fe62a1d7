use std::fmt;

use plimsoll_os::child::Exit;
use plimsoll_units::Bytes;

use super::LogLine;
use super::rules::{EXPLAINED_BY, end, is_noise, part_said_by, remark};

/// Which memory was not enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Ram,
    Device,
}

/// What the memory was for: it decides what a smaller plan has to save on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Weights,
    /// The KV cache: a shorter context helps.
    Context,
    /// Compute buffers: a smaller batch helps, or a shorter context.
    Compute,
    /// One buffer above what the driver allows, whatever is free.
    SingleBuffer,
    /// The file's place in the address space.
    Mapping,
    /// Something needed while answering: the load had fitted.
    Running,
    Unsaid,
}

/// Why a graphics card is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuProblem {
    /// The driver is older than the engine's toolkit needs.
    DriverTooOld,
    /// The driver's parts do not belong together.
    DriverMismatch,
    /// The driver does not start.
    DriverBroken,
    /// The engine holds no code for this card.
    NoKernel,
    NoneFound,
    /// The engine was built without support for graphics cards.
    BuiltWithout,
}

/// What is wrong with a file that is a whole GGUF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileProblem {
    /// Converted without something that it needs: another file of the same model helps.
    BadConversion,
    /// Packed for another program.
    ForeignLayout,
    /// A later part of a split model was opened.
    NotTheFirstPart,
    /// Parts that were joined or renamed.
    BadSplit,
    /// No permission to read it.
    Unreadable,
    Unsaid,
}

/// What is wrong with an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionProblem {
    /// This engine does not know it.
    Unknown,
    BadValue,
    /// It does not go together with another one.
    NotTogether,
}

/// What ended an engine or holds it back, as far as its log and its exit tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    OutOfMemory {
        memory: Memory,
        part: Part,
        asked: Option<Bytes>,
    },
    ModelFileMissing {
        file: String,
    },
    /// Shorter than its header says.
    ModelFileCut,
    NotGguf,
    /// A GGUF, but not one this engine can use.
    ModelFileBroken {
        problem: FileProblem,
        what: String,
    },
    /// A GGUF that holds no text model: a projector, a part of a picture model.
    NotATextModel,
    UnknownArchitecture {
        name: String,
    },
    /// Made for a fork, or before GGUF: no engine of ours will ever know it.
    UnknownTensorType {
        what: String,
    },
    /// The file needs a newer engine, or was badly converted.
    EngineTooOld {
        what: String,
    },
    MissingLibrary {
        name: String,
    },
    IllegalInstruction,
    PortTaken,
    /// No port at all can be opened.
    BindFailed,
    OptionRefused {
        problem: OptionProblem,
        what: String,
    },
    /// While it goes on, it goes on without the card.
    Gpu {
        problem: GpuProblem,
    },
    /// The driver took the card away.
    DeviceLost,
    /// The projector belongs to another model.
    ProjectorMismatch,
    /// The draft model belongs to another model; answers come without its help.
    DraftMismatch,
    /// The KV cache is kept in f16, which is twice what was planned.
    CacheNotQuantised,
    WindowExceeded {
        prompt: Option<u64>,
        window: Option<u64>,
    },
    /// A picture was sent, and there is no projector.
    NoVision,
    /// The model's own chat template refused the conversation.
    TemplateFailed {
        what: String,
    },
    KeyRefused,
    /// Ended from outside, without a word.
    Killed {
        signal: i32,
    },
    /// Ended by a fault of its own, without a word.
    Crashed {
        signal: Option<i32>,
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
            Self::ModelFileBroken { what, .. }
            | Self::UnknownTensorType { what }
            | Self::EngineTooOld { what }
            | Self::TemplateFailed { what }
            | Self::OptionRefused { what, .. } => f.write_str(what),
            Self::NotATextModel => f.write_str("the file holds no text model"),
            Self::UnknownArchitecture { name } => write!(f, "unknown architecture {name}"),
            Self::MissingLibrary { name } => write!(f, "the library {name} is missing"),
            Self::IllegalInstruction => f.write_str("illegal instruction"),
            Self::PortTaken => f.write_str("the port is taken"),
            Self::BindFailed => f.write_str("no port can be opened"),
            Self::Gpu { problem } => f.write_str(match problem {
                GpuProblem::DriverTooOld => "the graphics driver is too old for this engine",
                GpuProblem::DriverMismatch => "the parts of the graphics driver do not belong together",
                GpuProblem::DriverBroken => "the graphics driver does not start",
                GpuProblem::NoKernel => "the engine holds no code for this graphics card",
                GpuProblem::NoneFound => "the engine found no graphics card that it can use",
                GpuProblem::BuiltWithout => "the engine was built without support for graphics cards",
            }),
            Self::DeviceLost => f.write_str("the graphics driver took the card away"),
            Self::ProjectorMismatch => f.write_str("the projector belongs to another model"),
            Self::DraftMismatch => f.write_str("the draft model belongs to another model"),
            Self::CacheNotQuantised => f.write_str("the KV cache is not quantised"),
            Self::WindowExceeded { .. } => f.write_str("the prompt is longer than the context"),
            Self::NoVision => f.write_str("the model cannot see pictures here"),
            Self::KeyRefused => f.write_str("the key was refused"),
            Self::Killed { signal } => write!(f, "killed by signal {signal}"),
            Self::Crashed { signal: Some(signal) } => write!(f, "crashed with signal {signal}"),
            Self::Crashed { signal: None } => f.write_str("crashed"),
            Self::Unknown {
                first_error: Some(line),
            } => f.write_str(line),
            Self::Unknown { first_error: None } => f.write_str("no reason given"),
        }
    }
}

const SIGILL: i32 = 4;
/// Ends that a program brings upon itself: abort, bus error, arithmetic, memory that is not its own.
const SIGNALS_OF_A_CRASH: [i32; 4] = [6, 7, 8, 11];
/// Windows' codes for an illegal instruction, a library that was not found and memory that is not its own.
const STATUS_ILLEGAL_INSTRUCTION: i32 = -0x3FFF_FFE3;
const STATUS_DLL_NOT_FOUND: i32 = -0x3FFF_FECB;
const STATUS_ACCESS_VIOLATION: i32 = -0x3FFF_FFFB;
/// A shell's exit code of a program that a signal ended is this and the signal.
const SHELL_SIGNAL: i32 = 128;

/// The signal that ended a process, also where a shell stands between.
fn signal(exit: Exit) -> Option<i32> {
    let by_shell = |code: i32| {
        code.checked_sub(SHELL_SIGNAL)
            .filter(|signal| (1..32).contains(signal))
    };
    exit.signal.or_else(|| exit.code.and_then(by_shell))
}

/// What the lines of one process (without the router's prefix) and its exit mean. Call it only when the
/// process has ended: error-level lines of an engine that goes on are no failure.
#[must_use]
pub fn cause<S: AsRef<str>>(lines: &[S], exit: Exit) -> Cause {
    if signal(exit) == Some(SIGILL) || exit.code == Some(STATUS_ILLEGAL_INSTRUCTION) {
        return Cause::IllegalInstruction;
    }
    let mut found = None;
    let mut weak = None;
    let mut first_error = None;
    for (at, line) in lines.iter().enumerate() {
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
            found = end(text).map(|cause| explained(cause, &lines[at + 1..]));
        }
        if weak.is_none() {
            weak = remark(text);
        }
        if first_error.is_none() && (line.level == Some('E') || text.starts_with("error")) {
            first_error = Some(text.to_owned());
        }
    }
    // A remark explains an end only where nothing better does.
    found.or(weak).unwrap_or_else(|| by_exit(exit, first_error))
}

/// What holds back an engine that goes on: less than it was asked for, or one request refused. `None` when all
/// is well; lines of the level of an error may be a part of that.
#[must_use]
pub fn held_back<S: AsRef<str>>(lines: &[S]) -> Option<Cause> {
    let mut remarks = lines
        .iter()
        .map(|line| LogLine::parse(line.as_ref()).text)
        .filter(|text| !is_noise(text))
        .filter_map(remark);
    let first = remarks.next()?;
    let only_that = Cause::Gpu {
        problem: GpuProblem::NoneFound,
    };
    // That no card was found is said first, and why may follow.
    let why = (first == only_that)
        .then(|| remarks.find(|next| matches!(next, Cause::Gpu { .. }) && *next != only_that));
    Some(why.flatten().unwrap_or(first))
}

/// The allocator names the bytes first, and whoever asked for them the purpose some lines later.
fn explained<S: AsRef<str>>(cause: Cause, after: &[S]) -> Cause {
    let Cause::OutOfMemory {
        memory,
        part: Part::Unsaid,
        asked,
    } = cause
    else {
        return cause;
    };
    let said = after
        .iter()
        .take(EXPLAINED_BY)
        .find_map(|line| part_said_by(line.as_ref(), asked));
    Cause::OutOfMemory {
        memory,
        part: said.unwrap_or(Part::Unsaid),
        asked,
    }
}

fn by_exit(exit: Exit, first_error: Option<String>) -> Cause {
    if exit.code == Some(STATUS_DLL_NOT_FOUND) {
        return Cause::MissingLibrary { name: String::new() };
    }
    if exit.code == Some(STATUS_ACCESS_VIOLATION) {
        return Cause::Crashed { signal: None };
    }
    match signal(exit) {
        Some(signal) if SIGNALS_OF_A_CRASH.contains(&signal) => Cause::Crashed { signal: Some(signal) },
        Some(signal) if first_error.is_none() => Cause::Killed { signal },
        Some(_) | None => Cause::Unknown { first_error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Recorded {
        id: String,
        lines: Vec<String>,
        code: Option<i32>,
        signal: Option<i32>,
        kind: String,
        /// The engine did not end there.
        goes_on: bool,
    }

    /// The kind as the recorded excerpts call it.
    fn kind(cause: Option<&Cause>) -> &'static str {
        let Some(cause) = cause else { return "nothing" };
        match cause {
            Cause::OutOfMemory { memory, part, .. } => match (memory, part) {
                (Memory::Device, Part::SingleBuffer) => "oom_gpu_single_buffer",
                (Memory::Device, Part::Compute) => "oom_gpu_compute",
                (Memory::Device, Part::Context) => "oom_gpu_kv",
                (Memory::Device, Part::Running) => "oom_gpu_runtime",
                (Memory::Device, Part::Weights | Part::Mapping | Part::Unsaid) => "oom_gpu",
                (Memory::Ram, Part::Mapping) => "oom_ram_mmap",
                (Memory::Ram, Part::Context) => "oom_ram_kv",
                (Memory::Ram, Part::Compute) => "oom_ram_compute",
                (Memory::Ram, Part::Weights | Part::SingleBuffer | Part::Running | Part::Unsaid) => "oom_ram",
            },
            Cause::ModelFileMissing { .. } => "missing_split_part",
            Cause::ModelFileCut => "model_file_truncated",
            Cause::NotGguf => "not_a_gguf_file",
            Cause::ModelFileBroken { problem, .. } => match problem {
                FileProblem::BadConversion => "bad_model_conversion",
                FileProblem::ForeignLayout => "foreign_gguf_layout",
                FileProblem::NotTheFirstPart => "wrong_split_part_opened",
                FileProblem::BadSplit => "bad_split_merge",
                FileProblem::Unreadable => "unreadable",
                FileProblem::Unsaid => "broken",
            },
            Cause::NotATextModel => "not_a_text_model",
            Cause::UnknownArchitecture { .. } => "unsupported_architecture",
            Cause::UnknownTensorType { .. } => "unsupported_quant_type",
            Cause::EngineTooOld { what } if what.contains("ggml type") => "engine_too_old_quant",
            Cause::EngineTooOld { .. } => "engine_too_old_or_bad_model",
            Cause::MissingLibrary { .. } => "missing_library",
            Cause::IllegalInstruction => "cpu_instruction_missing",
            Cause::PortTaken => "port_in_use",
            Cause::BindFailed => "bind_failed_other",
            Cause::OptionRefused { problem, .. } => match problem {
                OptionProblem::Unknown => "engine_flag_unknown",
                OptionProblem::BadValue => "engine_flag_bad_value",
                OptionProblem::NotTogether => "incompatible_flags",
            },
            Cause::Gpu { problem } => match problem {
                GpuProblem::DriverTooOld => "driver_too_old",
                GpuProblem::DriverMismatch => "driver_mismatch",
                GpuProblem::DriverBroken => "driver_broken",
                GpuProblem::NoKernel => "no_kernel_for_gpu",
                GpuProblem::NoneFound => "no_gpu_silent_cpu",
                GpuProblem::BuiltWithout => "wrong_engine_build",
            },
            Cause::DeviceLost => "device_lost",
            Cause::ProjectorMismatch => "mmproj_mismatch",
            Cause::DraftMismatch => "draft_model_mismatch",
            Cause::CacheNotQuantised => "silent_fallback_kv_f16",
            Cause::WindowExceeded { .. } => "context_exceeded",
            Cause::NoVision => "vision_unavailable",
            Cause::TemplateFailed { .. } => "template_error",
            Cause::KeyRefused => "wrong_api_key",
            Cause::Killed { signal: 9 } => "oom_ram_killed",
            Cause::Killed { .. } => "killed",
            Cause::Crashed { .. } => "engine_crash",
            Cause::Unknown { .. } => "unknown",
        }
    }

    /// Recorded excerpts that do not hold what their kind says, and what is seen in them instead.
    const NOT_IN_THE_LINES: [(&str, &str, &str); 1] = [(
        "port-silent-26822",
        "nothing",
        "the excerpt is the command of a person who looked; no engine printed anything",
    )];

    #[test]
    fn recorded_logs_are_told_apart() {
        let recorded: Vec<Recorded> =
            serde_json::from_str(include_str!("../../fixtures/failure_logs.json")).unwrap();
        assert!(recorded.len() >= 74, "{} excerpts", recorded.len());
        let mut wrong = Vec::new();
        for one in &recorded {
            let exit = Exit {
                code: one.code,
                signal: one.signal,
            };
            let got = if one.goes_on {
                held_back(&one.lines)
            } else {
                Some(cause(&one.lines, exit))
            };
            let want = match one.kind.as_str() {
                // Nothing is wrong in these: the engine goes on as it was asked to.
                "benign_noise" | "recovered_oom" | "warning_pinned_memory" => "nothing",
                kind => NOT_IN_THE_LINES
                    .iter()
                    .find(|(id, ..)| *id == one.id)
                    .map_or(kind, |(_, seen, _)| seen),
            };
            if kind(got.as_ref()) != want {
                wrong.push(format!(
                    "{}: {} ({got:?}), not {want}",
                    one.id,
                    kind(got.as_ref())
                ));
            }
        }
        let right = recorded.len() - wrong.len() - NOT_IN_THE_LINES.len();
        println!("recorded logs told apart: {right} of {}", recorded.len());
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn a_card_that_is_not_used_does_not_hide_what_ended_the_engine() {
        let lines = [
            "ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version",
            "llama_model_load: error loading model: unknown model architecture: 'bailingmoe3'",
        ];
        let exit = Exit {
            code: Some(1),
            signal: None,
        };
        let name = "bailingmoe3".to_owned();
        assert_eq!(cause(&lines, exit), Cause::UnknownArchitecture { name });
        let problem = GpuProblem::DriverTooOld;
        assert_eq!(held_back(&lines), Some(Cause::Gpu { problem }));
    }

    #[test]
    fn no_line_of_any_kind_panics() {
        let long = "of size ".repeat(500);
        for line in [
            "of size 99999999999999999999999999",
            "allocating 18446744073709551615 MiB out of memory",
            "'",
            "`' not found (required by",
            &long,
            "\u{fffd}\u{0}",
        ] {
            let _ = cause(
                &[line],
                Exit {
                    code: Some(-1),
                    signal: None,
                },
            );
            let _ = held_back(&[line]);
        }
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
                part: Part::Compute,
                asked: Some(Bytes(4_571_325_856))
            }
        );
        let line = "allocating 4480.00 MiB on device 3: cudaMalloc failed: out of memory";
        assert_eq!(
            cause(&[line], exit),
            Cause::OutOfMemory {
                memory: Memory::Device,
                part: Part::Unsaid,
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
