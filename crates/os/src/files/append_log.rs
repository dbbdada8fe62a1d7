use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use plimsoll_units::Bytes;

use super::error::{Action, FileError, on};

/// A log that never grows past a size: when it is full it becomes `NAME.1` and starts anew. Readable by this
/// person only.
#[derive(Debug)]
pub struct AppendLog {
    path: PathBuf,
    file: File,
    written: Bytes,
    limit: Bytes,
}

impl AppendLog {
    /// Keeps at most `limit` in the file and as much again in `NAME.1`.
    pub fn open(path: &Path, limit: Bytes) -> Result<Self, FileError> {
        let file = open_to_append(path)?;
        let written = Bytes(file.metadata().map_err(on(Action::Read, path))?.len());
        Ok(Self {
            path: path.to_owned(),
            file,
            written,
            limit,
        })
    }

    /// Adds one line; a line break is added, those inside are kept.
    pub fn line(&mut self, line: &[u8]) -> Result<(), FileError> {
        let mut whole = Vec::with_capacity(line.len() + 1);
        whole.extend_from_slice(line);
        whole.push(b'\n');
        let more = Bytes(whole.len() as u64);
        if self.written > Bytes::ZERO && self.written.plus(more) > self.limit {
            self.turn_over()?;
        }
        // One write per line: two processes that append to one log do not mix inside a line.
        self.file
            .write_all(&whole)
            .map_err(on(Action::Write, &self.path))?;
        self.written = self.written.plus(more);
        Ok(())
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the home of renaming; a log needs no sync"
    )]
    fn turn_over(&mut self) -> Result<(), FileError> {
        std::fs::rename(&self.path, older(&self.path)).map_err(on(Action::Rename, &self.path))?;
        self.file = open_to_append(&self.path)?;
        self.written = Bytes::ZERO;
        Ok(())
    }
}

fn older(path: &Path) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

fn open_to_append(path: &Path) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path).map_err(on(Action::Open, path))
}
