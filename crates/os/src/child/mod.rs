//! Child processes that never outlive us.
//!
//! Every child leads a group of its own and is spawned from one thread that lives as long as the program. On
//! Linux the kernel kills it when that thread ends, that is when the program ends, however it ends; on Windows
//! a job object does the same; on macOS, which has neither, a small shell beside the child waits on a pipe that
//! closes when we die. When a child ends, what is left of its group is killed before its number is free again.
//!
//! When *we* are killed on Linux, the kernel kills our child, but not what that child started: that has to
//! notice by itself, and a llama-server that loads a model may take seconds. A child that starts others is
//! therefore started with [`Command::watched`], which gives it the same small shell as on macOS.
//!
//! A child is given the environment that the caller lists and nothing else, no standard input unless it is to be
//! spoken to ([`Command::listening`]), and its output
//! is always drained: a reader that does not keep up loses lines, and is told how many, but never blocks the
//! child. No shell, and no output without a limit.

mod command;
mod output;
mod running;
mod spawner;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;
#[cfg(unix)]
mod watchdog;

pub use command::Command;
pub use output::{Line, Stream};
pub use running::{Child, Exit, Output, run_to_end, run_to_end_blocking};

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    #[error("{program} does not exist", program = .program.display())]
    Missing {
        program: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{program} may not be run", program = .program.display())]
    NotRunnable {
        program: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("starting {program}", program = .program.display())]
    Spawn {
        program: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the thread that starts children is gone")]
    NoSpawner,
    #[error("{program} did not end within {} ms and was killed", .limit.as_millis(), program = .program.display())]
    TimedOut { program: PathBuf, limit: Duration },
}

impl ChildError {
    pub(crate) fn spawn(program: PathBuf, source: std::io::Error) -> Self {
        let kind = source.kind();
        if kind == std::io::ErrorKind::NotFound {
            Self::Missing { program, source }
        } else if kind == std::io::ErrorKind::PermissionDenied {
            Self::NotRunnable { program, source }
        } else {
            Self::Spawn { program, source }
        }
    }
}
