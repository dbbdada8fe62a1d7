use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_units::Bytes;

/// What was being done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Open,
    Read,
    Write,
    Sync,
    Reserve,
    Rename,
    Link,
    Copy,
    Remove,
    CreateFolder,
    Lock,
    MeasureFreeSpace,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "opening",
            Self::Read => "reading",
            Self::Write => "writing",
            Self::Sync => "syncing",
            Self::Reserve => "reserving space for",
            Self::Rename => "renaming",
            Self::Link => "linking",
            Self::Copy => "copying",
            Self::Remove => "removing",
            Self::CreateFolder => "creating the folder",
            Self::Lock => "locking",
            Self::MeasureFreeSpace => "measuring the free space at",
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// No space or quota left.
    #[error("no space left while {action} {path}", path = .path.display())]
    DiskFull {
        path: PathBuf,
        action: Action,
        #[source]
        source: io::Error,
    },
    #[error("{path} does not exist", path = .path.display())]
    Missing {
        path: PathBuf,
        action: Action,
        #[source]
        source: io::Error,
    },
    #[error("{path} holds more than {limit}", path = .path.display())]
    TooLarge { path: PathBuf, limit: Bytes },
    #[error("{action} {path}", path = .path.display())]
    Failed {
        path: PathBuf,
        action: Action,
        #[source]
        source: io::Error,
    },
}

impl FileError {
    pub(crate) fn new(action: Action, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        let kind = source.kind();
        if matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            Self::DiskFull { path, action, source }
        } else if kind == io::ErrorKind::NotFound {
            Self::Missing { path, action, source }
        } else {
            Self::Failed { path, action, source }
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::DiskFull { path, .. }
            | Self::Missing { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Failed { path, .. } => path,
        }
    }

    #[must_use]
    pub const fn is_disk_full(&self) -> bool {
        matches!(self, Self::DiskFull { .. })
    }

    #[must_use]
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

/// Short for the `map_err` of one action on one path.
pub(crate) fn on(action: Action, path: &Path) -> impl Fn(io::Error) -> FileError + '_ {
    move |source| FileError::new(action, path, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disks_and_quotas_are_recognised_by_their_kind() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            assert!(
                FileError::new(Action::Write, Path::new("x"), kind.into()).is_disk_full(),
                "{kind:?}"
            );
        }
        assert!(FileError::new(Action::Read, Path::new("x"), io::ErrorKind::NotFound.into()).is_missing());
    }

    #[cfg(unix)]
    #[test]
    fn full_disks_and_quotas_are_recognised_by_their_number() {
        for number in [libc::ENOSPC, libc::EDQUOT] {
            let error = FileError::new(
                Action::Write,
                Path::new("x"),
                io::Error::from_raw_os_error(number),
            );
            assert!(error.is_disk_full(), "errno {number} gave {error:?}");
        }
    }
}
