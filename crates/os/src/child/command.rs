use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::files::AppendLog;

use super::running::Child;
use super::{ChildError, running};

/// How many lines may wait for a reader.
const LINES_WAITING: usize = 1024;

/// What to run. The environment starts empty.
#[derive(Debug)]
pub struct Command {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) folder: Option<PathBuf>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) log: Option<AppendLog>,
    pub(super) lines_waiting: usize,
    pub(super) watched: bool,
    pub(super) listening: bool,
}

impl Command {
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            folder: None,
            environment: Vec::new(),
            log: None,
            lines_waiting: LINES_WAITING,
            watched: false,
            listening: false,
        }
    }

    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// The folder the child starts in; ours when not said.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub fn envs(mut self, pairs: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.environment.extend(pairs);
        self
    }

    /// Every line of output goes to this log as well, also when nobody reads the lines.
    #[must_use]
    pub fn log(mut self, log: AppendLog) -> Self {
        self.log = Some(log);
        self
    }

    /// How many lines may wait for the reader of [`Child::lines`] before lines are dropped and counted.
    #[must_use]
    pub fn lines_waiting(mut self, limit: usize) -> Self {
        self.lines_waiting = limit.max(1);
        self
    }

    /// For a child that starts children of its own. On Linux our death reaches the child alone, and what it
    /// started may take seconds to notice; this puts a small shell beside it that ends the whole group at
    /// once. Elsewhere every child has that or better.
    #[must_use]
    pub const fn watched(mut self) -> Self {
        self.watched = true;
        self
    }

    /// Gives the child a standard input, for [`Child::say`]. It ends when the child is let go.
    #[must_use]
    pub const fn listening(mut self) -> Self {
        self.listening = true;
        self
    }

    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Starts it; returns when the program runs or could not be started. Dropping the [`Child`] kills it.
    pub fn spawn(self) -> Result<Child, ChildError> {
        running::spawn(self)
    }
}
