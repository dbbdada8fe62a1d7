use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use super::error::{Action, FileError, on};

/// A lock between processes, on a file of its own. The kernel releases it when its holder ends, however it
/// ends, so it never has to be broken. The file stays: removing it would let two holders lock two files.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    path: PathBuf,
}

impl Lock {
    /// The lock, or `None` while someone else has it.
    pub fn try_exclusive(path: &Path) -> Result<Option<Self>, FileError> {
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        let file = opened.map_err(on(Action::Open, path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self {
                _file: file,
                path: path.to_owned(),
            })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(FileError::new(Action::Lock, path, error)),
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
