//! A computer without anything of ours: an empty home, an empty library, no hub.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn fresh() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        plimsoll_os::files::create_dir(path.parent().unwrap()).unwrap();
        plimsoll_os::files::replace(&path, bytes.as_ref()).unwrap();
        path
    }

    /// The command as it would start here: nothing of the tester's own settings reaches it.
    #[expect(
        clippy::disallowed_methods,
        reason = "the test is the terminal that starts the command"
    )]
    pub(crate) fn command(&self, typed: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(typed)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("person"))
            .env("PLIMSOLL_HOME", self.path("home"))
            .env("HF_HUB_CACHE", self.path("hub"))
            .env("HF_HUB_OFFLINE", "1")
            .env("LANG", "C.UTF-8")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, typed: &[&str]) -> Ran {
        Ran::of(self.command(typed))
    }

    pub(crate) fn run_with_input(&self, typed: &[&str], input: &str) -> Ran {
        let mut command = self.command(typed);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ran::from(child.wait_with_output().unwrap())
    }
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(mut command: Command) -> Self {
        Self::from(command.output().unwrap())
    }

    fn from(output: std::process::Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The reply of a command that worked.
    pub(crate) fn reply(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    /// The fault of a command that did not.
    pub(crate) fn fault(&self) -> Value {
        assert_eq!(self.code, 1, "{self:?}");
        let fault: Value = serde_json::from_str(&self.err).unwrap_or_else(|why| panic!("{why}: {self:?}"));
        assert!(
            !fault["fixes"].as_array().unwrap().is_empty(),
            "a way on: {fault}"
        );
        fault
    }

    pub(crate) fn shown(&self) -> &str {
        assert_eq!(self.code, 0, "{self:?}");
        &self.out
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The names and kinds of values, without the values: the contract, whatever the planner learns next.
pub(crate) fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), shape(value)));
            fields.collect::<serde_json::Map<_, _>>().into()
        }
        Value::Array(items) => items.first().map(shape).into_iter().collect::<Vec<_>>().into(),
        Value::String(_) => "text".into(),
        Value::Number(_) => "number".into(),
        Value::Bool(_) => "bool".into(),
        Value::Null => Value::Null,
    }
}
