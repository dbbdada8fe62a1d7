use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_os::child::{ChildError, Exit};
use plimsoll_os::files::FileError;
use plimsoll_units::Bytes;

use crate::log::Cause;

/// An error that many hear of: everyone who waited for the same start, and the published state.
pub type Trouble = Arc<EngineError>;

/// A step that an engine must pass before it may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Files,
    Version,
    Abilities,
    Devices,
    /// A few tokens of a model that comes along.
    Generation,
    /// Not far slower than the build that is in use.
    Speed,
}

impl Step {
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Version => "version",
            Self::Abilities => "abilities",
            Self::Devices => "devices",
            Self::Generation => "generation",
            Self::Speed => "speed",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    // engines
    #[error("no engine is in use")]
    NoEngine,
    #[error("no engine is called {id}")]
    UnknownEngine { id: String },
    #[error("{path} holds no llama-server", path = .path.display())]
    NoServerThere { path: PathBuf },
    #[error("the engine in {folder} lacks {}", .missing.join(", "), folder = .folder.display())]
    EngineIncomplete { folder: PathBuf, missing: Vec<String> },
    #[error("the engine failed its check '{step}': {output}")]
    EngineCheckFailed { step: Step, output: String },
    #[error("{program} uses instructions that this processor does not have", program = .program.display())]
    IllegalInstruction { program: PathBuf },
    #[error("the engine {engine} does not know the option {option}")]
    OptionUnknown { engine: String, option: String },
    #[error("the list of engines at {path} is broken", path = .path.display())]
    IndexBroken {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("the list of engines at {path} was written by a newer version ({schema})", path = .path.display())]
    IndexTooNew { path: PathBuf, schema: u32 },

    // installing
    #[error("no pinned build for {wanted} on {os} {arch}")]
    NoBuildFor {
        wanted: String,
        os: String,
        arch: String,
    },
    #[error("{archive} is no usable archive: {problem}", archive = .archive.display())]
    ArchiveRefused {
        archive: PathBuf,
        problem: ArchiveProblem,
    },
    #[error("fetching the engine")]
    Fetch(#[source] plimsoll_hub::HubError),

    // the router
    #[error("no free port on 127.0.0.1 in {tries} tries")]
    PortTaken { tries: u32 },
    #[error("the router ended while starting ({exit})")]
    RouterFailed {
        exit: Exit,
        cause: Cause,
        tail: Vec<String>,
    },
    #[error("the router did not answer within {} s", .after_s)]
    RouterSilent { after_s: u64, tail: Vec<String> },
    #[error("the router ended ({exit})")]
    RouterDied {
        exit: Exit,
        cause: Cause,
        tail: Vec<String>,
    },
    #[error("the router is gone")]
    RouterGone,
    #[error("another process holds the router's lock, but no router of it answered within {after_s} s")]
    OwnerSilent { after_s: u64 },
    #[error("the router answered {status}: {message}")]
    RouterRefused { status: u16, message: String },
    #[error("the router's answer cannot be read: {problem}")]
    RouterAnswer { problem: String },
    #[error("asking the router")]
    Http(#[source] reqwest::Error),

    // models
    #[error("the router does not know the model {id}")]
    UnknownModel { id: String },
    #[error("{path} is not there", path = .path.display())]
    ModelFileMissing { path: PathBuf },
    #[error("{path} cannot be written into a preset", path = .path.display())]
    PathUnusable { path: PathBuf },
    #[error("{asked} are needed, the models in use leave {left}")]
    NoRoom {
        asked: Bytes,
        left: Bytes,
        held_by: Vec<String>,
    },
    #[error("not enough memory for {id}")]
    OutOfMemory {
        id: String,
        planned: Bytes,
        cause: Cause,
        tail: Vec<String>,
    },
    #[error("{id} did not load: {cause}")]
    LoadFailed {
        id: String,
        exit: Option<i32>,
        cause: Cause,
        tail: Vec<String>,
    },
    #[error("{id} stopped loading: nothing moved for {after_s} s")]
    LoadStalled { id: String, after_s: u64 },
    #[error("{id} loaded, but did not answer: {problem}")]
    ProofFailed {
        id: String,
        problem: String,
        tail: Vec<String>,
    },
    #[error("{id} ended unexpectedly: {cause}")]
    ModelCrashed {
        id: String,
        exit: Option<i32>,
        cause: Cause,
        tail: Vec<String>,
    },
    #[error("stopped")]
    Stopped,

    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Child(#[from] ChildError),
}

/// Why an archive was not unpacked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveProblem {
    #[error("its kind is unknown")]
    UnknownKind,
    #[error("it cannot be read: {why}")]
    Unreadable { why: String },
    #[error("the name {name:?} leads outside")]
    UnsafeName { name: String },
    #[error("the link {name:?} leads outside")]
    UnsafeLink { name: String },
    #[error("{name:?} is neither a file, a folder nor a link")]
    UnusualEntry { name: String },
    #[error("it holds more than {limit} entries")]
    TooManyEntries { limit: usize },
    #[error("it unpacks to more than {limit}")]
    TooLarge { limit: Bytes },
    #[error("there is no llama-server in it")]
    NoServer,
}

impl EngineError {
    /// Whether another build may work where this one did not: the network, the disk and the person are not to blame.
    #[must_use]
    pub const fn is_of_the_build(&self) -> bool {
        matches!(
            self,
            Self::EngineIncomplete { .. }
                | Self::EngineCheckFailed { .. }
                | Self::IllegalInstruction { .. }
                | Self::OptionUnknown { .. }
                | Self::ArchiveRefused { .. }
                | Self::NoServerThere { .. }
                | Self::Child(_)
        )
    }

    /// The last lines of the log that belong to this error.
    #[must_use]
    pub fn tail(&self) -> &[String] {
        match self {
            Self::RouterFailed { tail, .. }
            | Self::RouterSilent { tail, .. }
            | Self::RouterDied { tail, .. }
            | Self::OutOfMemory { tail, .. }
            | Self::LoadFailed { tail, .. }
            | Self::ProofFailed { tail, .. }
            | Self::ModelCrashed { tail, .. } => tail,
            Self::NoEngine
            | Self::UnknownEngine { .. }
            | Self::NoServerThere { .. }
            | Self::EngineIncomplete { .. }
            | Self::EngineCheckFailed { .. }
            | Self::IllegalInstruction { .. }
            | Self::OptionUnknown { .. }
            | Self::IndexBroken { .. }
            | Self::IndexTooNew { .. }
            | Self::NoBuildFor { .. }
            | Self::ArchiveRefused { .. }
            | Self::Fetch(_)
            | Self::PortTaken { .. }
            | Self::RouterGone
            | Self::OwnerSilent { .. }
            | Self::RouterRefused { .. }
            | Self::RouterAnswer { .. }
            | Self::Http(_)
            | Self::UnknownModel { .. }
            | Self::ModelFileMissing { .. }
            | Self::PathUnusable { .. }
            | Self::NoRoom { .. }
            | Self::LoadStalled { .. }
            | Self::Stopped
            | Self::File(_)
            | Self::Child(_) => &[],
        }
    }
}
