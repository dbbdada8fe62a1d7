use std::path::Path;

use plimsoll_os::PlacesError;
use plimsoll_os::child::ChildError;
use plimsoll_os::files::{Action, FileError};
use plimsoll_os::jobs::JobError;
use plimsoll_os::names::UnsafeName;
use plimsoll_wire::{FaultCode, Param};

use super::{ToFault, Told, told};

/// A path as a parameter: for people, so what is no Unicode is replaced.
pub(crate) fn path(path: &Path) -> (&'static str, Param) {
    ("path", path.display().to_string().into())
}

impl ToFault for FileError {
    fn code(&self) -> Told {
        match self {
            Self::DiskFull { path: at, .. } => told(FaultCode::DiskFull, [path(at)]),
            Self::Missing { path: at, .. } | Self::TooLarge { path: at, .. } => {
                told(FaultCode::ReadFailed, [path(at)])
            }
            Self::Failed { path: at, action, .. } => {
                let code = match action {
                    Action::Open | Action::Read | Action::MeasureFreeSpace => FaultCode::ReadFailed,
                    Action::Write
                    | Action::Sync
                    | Action::Reserve
                    | Action::Rename
                    | Action::Link
                    | Action::Copy
                    | Action::Remove
                    | Action::CreateFolder
                    | Action::Lock => FaultCode::WriteFailed,
                };
                told(code, [path(at)])
            }
        }
    }
}

impl ToFault for ChildError {
    fn code(&self) -> Told {
        match self {
            Self::Missing { program, .. } => told(FaultCode::EngineIncomplete, [path(program)]),
            Self::NotRunnable { program, .. }
            | Self::Spawn { program, .. }
            | Self::TimedOut { program, .. } => told(FaultCode::EngineCheckFailed, [path(program)]),
            Self::NoSpawner => told(FaultCode::Internal, []),
        }
    }
}

impl ToFault for JobError {
    fn code(&self) -> Told {
        match self {
            Self::Panicked { .. } | Self::RuntimeEnded => told(FaultCode::Internal, []),
        }
    }
}

impl ToFault for UnsafeName {
    fn code(&self) -> Told {
        told(FaultCode::UnsafeName, [])
    }
}

impl ToFault for PlacesError {
    fn code(&self) -> Told {
        match self {
            Self::NoHome => told(FaultCode::WriteFailed, [("path", "PLIMSOLL_HOME".into())]),
            Self::NotAbsolute { path: at, .. } => told(FaultCode::WriteFailed, [path(at)]),
        }
    }
}
