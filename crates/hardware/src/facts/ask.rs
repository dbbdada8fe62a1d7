//! Asking the libraries of drivers where they can do no harm. Their calls can hang while a driver is being
//! reset, and broken ones have been seen to take their program down: so each is asked in a disposable child of
//! our own program, with a limit of time, and all of them at once.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use plimsoll_os::Environment;
use plimsoll_os::child::{ChildError, Command, run_to_end_blocking};
use plimsoll_units::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::graphics::Asked;
use super::nvml::Nvml;
use super::{dxgi_record, metal_record, nvml_record, vulkan_record};

/// The first argument of a program that is to be the disposable child; the second names whom it asks.
pub const CHILD_WORD: &str = "plimsoll-driver-child";

/// The second argument of the child that watches NVIDIA's cards for the sampler.
pub(crate) const WATCH_WORD: &str = "watch-nvidia";

/// An answer for 64 cards of 16 heaps fits four times.
const ANSWER_MAX: Bytes = Bytes::kib(256);

/// What a library needs of the environment to be found, and to find its drivers.
const FOR_LIBRARIES: [&str; 14] = [
    "LD_LIBRARY_PATH",
    "PATH",
    "SystemRoot",
    "HOME",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "VK_ICD_FILENAMES",
    "VK_DRIVER_FILES",
    "VK_ADD_DRIVER_FILES",
    "VK_LOADER_DRIVERS_SELECT",
    "VK_LOADER_DRIVERS_DISABLE",
    "CUDA_VISIBLE_DEVICES",
];

/// How the libraries of drivers are asked.
#[derive(Debug, Clone)]
pub enum Drivers {
    /// In disposable children: a program whose `main` calls [`driver_child_main`] first, usually ourselves. A
    /// hang or a crash costs the child only.
    Child { program: PathBuf },
    /// In threads of this program: a hang costs the thread, a crash costs the program. Vulkan is not asked
    /// then, because it brings a compiler and the code of every driver along, and leaves them there.
    Thread,
}

/// Whom to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    Nvml,
    Vulkan,
    Dxgi,
    Metal,
}

impl Library {
    const ALL: [Self; 4] = [Self::Nvml, Self::Vulkan, Self::Dxgi, Self::Metal];

    const fn word(self) -> &'static str {
        match self {
            Self::Nvml => "nvml",
            Self::Vulkan => "vulkan",
            Self::Dxgi => "dxgi",
            Self::Metal => "metal",
        }
    }
}

/// An answer that can also be that there was none.
pub(super) trait Outcome: Serialize + DeserializeOwned + Send + 'static {
    fn timed_out(limit_ms: u64) -> Self;
    fn crashed(exit: String) -> Self;
    fn failed(cause: String) -> Self;
}

impl Outcome for Nvml {
    fn timed_out(limit_ms: u64) -> Self {
        Self::TimedOut { limit_ms }
    }
    fn crashed(exit: String) -> Self {
        Self::Crashed { exit }
    }
    fn failed(cause: String) -> Self {
        Self::Failed { cause }
    }
}

impl<T: Serialize + DeserializeOwned + Send + 'static> Outcome for Asked<T> {
    fn timed_out(limit_ms: u64) -> Self {
        Self::TimedOut { limit_ms }
    }
    fn crashed(exit: String) -> Self {
        Self::Crashed { exit }
    }
    fn failed(cause: String) -> Self {
        Self::Failed { cause }
    }
}

/// To be called first in `main`. `Some` when this run was the child of a probe or of the sampler: its work is done,
/// and `main` returns the code.
#[must_use]
pub fn driver_child_main() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(CHILD_WORD)) {
        return None;
    }
    let wanted = arguments.next().unwrap_or_default();
    if wanted == OsStr::new(WATCH_WORD) {
        return Some(crate::sample::serve_nvidia());
    }
    let library = Library::ALL
        .into_iter()
        .find(|library| wanted == OsStr::new(library.word()));
    let answer = match library {
        Some(Library::Nvml) => serde_json::to_vec(&nvml_record::ask_here()),
        Some(Library::Vulkan) => serde_json::to_vec(&vulkan_record::ask_here()),
        Some(Library::Dxgi) => serde_json::to_vec(&dxgi_record::ask_here()),
        Some(Library::Metal) => serde_json::to_vec(&metal_record::ask_here()),
        None => return Some(ExitCode::FAILURE),
    };
    let written = answer.is_ok_and(|answer| std::io::stdout().write_all(&answer).is_ok());
    Some(if written {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What runs `program` as a disposable child with the task that `word` names.
pub(crate) fn driver_child(program: &Path, word: &str, environment: &Environment) -> Command {
    Command::new(program)
        .args([CHILD_WORD, word])
        .envs(environment.only(&FOR_LIBRARIES))
        // Layers of overlays and recorders have no say in what a machine is, and crash like anything else.
        .env("VK_LOADER_LAYERS_DISABLE", "~implicit~")
}

/// Asks `library`, which `here` does in this process, for at most `patience`.
pub(super) fn ask<O: Outcome>(
    library: Library,
    here: fn() -> O,
    environment: &Environment,
    drivers: &Drivers,
    patience: Duration,
) -> O {
    match drivers {
        Drivers::Child { program } => ask_child(library, environment, program, patience),
        Drivers::Thread => ask_thread(here, patience),
    }
}

fn ask_child<O: Outcome>(
    library: Library,
    environment: &Environment,
    program: &Path,
    patience: Duration,
) -> O {
    let command = driver_child(program, library.word(), environment);
    match run_to_end_blocking(command, patience, ANSWER_MAX) {
        Ok(output) if output.exit.is_success() => serde_json::from_slice(&output.out)
            .unwrap_or_else(|error| O::failed(format!("the child's answer: {error}"))),
        Ok(output) => O::crashed(output.exit.to_string()),
        Err(ChildError::TimedOut { .. }) => O::timed_out(in_ms(patience)),
        Err(
            error @ (ChildError::Missing { .. }
            | ChildError::NotRunnable { .. }
            | ChildError::Spawn { .. }
            | ChildError::NoSpawner),
        ) => O::failed(error.to_string()),
    }
}

fn ask_thread<O: Outcome>(here: fn() -> O, patience: Duration) -> O {
    let (tell, told) = mpsc::sync_channel(1);
    let started = thread::Builder::new()
        .name("plimsoll-drivers".into())
        .spawn(move || tell.send(here()));
    if let Err(error) = started {
        return O::failed(error.to_string());
    }
    match told.recv_timeout(patience) {
        Ok(answer) => answer,
        Err(mpsc::RecvTimeoutError::Timeout) => O::timed_out(in_ms(patience)),
        Err(mpsc::RecvTimeoutError::Disconnected) => O::crashed("a panic".to_owned()),
    }
}

fn in_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
