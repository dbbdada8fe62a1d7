use std::path::Path;

use plimsoll_wire::{Fault, FaultCode, Fix};

use crate::lang::params;

/// Why a command did not end with 0.
#[derive(Debug)]
pub(crate) enum Failure {
    Fault(Box<Fault>),
    /// The answer itself says that something is wrong and has been printed.
    Told,
    Interrupted,
}

impl Failure {
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Fault(_) | Self::Told => 1,
            Self::Interrupted => 130,
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(Box::new(fault))
    }
}

impl From<plimsoll_web::WebError> for Failure {
    fn from(error: plimsoll_web::WebError) -> Self {
        Fault::from(&error).into()
    }
}

/// A file that was named on the command line and is not what it should be.
pub(crate) fn bad_file(path: &Path, why: &(dyn std::error::Error + 'static)) -> Failure {
    file(FaultCode::MachineFileBad, path, why)
}

pub(crate) fn unreadable(path: &Path, why: &(dyn std::error::Error + 'static)) -> Failure {
    file(FaultCode::ReadFailed, path, why)
}

pub(crate) fn unwritable(path: &Path, why: &(dyn std::error::Error + 'static)) -> Failure {
    file(FaultCode::WriteFailed, path, why)
}

/// A device that was named on the command line and is not there.
pub(crate) fn no_such_device(id: &str) -> Failure {
    Fault {
        code: FaultCode::BadRequest,
        params: params! { what = "device", value = id.to_owned() },
        trace: Vec::new(),
        fixes: vec![Fix::Retry],
    }
    .into()
}

fn file(code: FaultCode, path: &Path, why: &(dyn std::error::Error + 'static)) -> Failure {
    let params = params! { path = path.display().to_string() };
    Fault {
        code,
        params,
        trace: causes(why),
        fixes: vec![Fix::Retry],
    }
    .into()
}

/// A fault that does not know the file it is about.
pub(crate) fn at(path: &Path, mut fault: Fault) -> Failure {
    fault
        .params
        .insert("path".to_owned(), path.display().to_string().into());
    fault.into()
}

pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect()
}
