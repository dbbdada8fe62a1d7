//! Where the domain's errors become faults: a code, its parameters, the chain of causes, the ways on.
//!
//! Parameter names are part of the contract, because the language files use them: `needed`/`free` and
//! `needed`/`have` are bytes, `prompt`/`window` and `asked`/`trained` are tokens, `seconds` is a time to wait,
//! `path`, `file`, `model`, `engine` and `status` say which.

mod agent;
mod engine;
mod gguf;
mod hub;
mod os;
mod planner;
mod store;

use std::error::Error;

use plimsoll_wire::{Fault, FaultCode, Fix, Param};

/// How a domain error looks from outside: a code with parameters. Here, in the crate that owns neither side,
/// because neither the domain nor the wire may know the other.
pub(crate) trait ToFault: Error {
    fn code(&self) -> Told;

    fn to_fault(&self) -> Fault
    where
        Self: Sized + 'static,
    {
        let told = self.code();
        let mut fault = fault(told.code, told.params);
        fault.trace = std::iter::successors(Some(self as &(dyn Error + 'static)), |&error| error.source())
            .map(ToString::to_string)
            .collect();
        fault
    }
}

/// A code and what its sentence needs.
pub(crate) struct Told {
    pub(crate) code: FaultCode,
    pub(crate) params: Vec<(&'static str, Param)>,
}

pub(crate) fn told(code: FaultCode, params: impl IntoIterator<Item = (&'static str, Param)>) -> Told {
    Told {
        code,
        params: params.into_iter().collect(),
    }
}

/// A fault with the ways on that belong to its code.
pub(crate) fn fault(code: FaultCode, params: impl IntoIterator<Item = (&'static str, Param)>) -> Fault {
    Fault {
        code,
        params: params
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        trace: Vec::new(),
        fixes: fixes(code).to_vec(),
    }
}

/// What a call's body fails with: `?` turns every domain error into a fault.
#[derive(Debug)]
pub(crate) struct Failed(Fault);

impl<E: ToFault + 'static> From<E> for Failed {
    fn from(error: E) -> Self {
        Self(error.to_fault())
    }
}
impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self(fault)
    }
}
impl From<Failed> for Fault {
    fn from(failed: Failed) -> Self {
        failed.0
    }
}

/// The ways on, best first. Every code has at least one: a fault without a way on is a dead end.
fn fixes(code: FaultCode) -> &'static [Fix] {
    match code {
        FaultCode::BadRequest | FaultCode::Internal => &[Fix::ReportBug],
        FaultCode::UnknownCall | FaultCode::StoreTooNew => &[Fix::UpdateApp],
        FaultCode::NotAllowed
        | FaultCode::NotFound
        | FaultCode::Busy
        | FaultCode::MachineFileBad
        | FaultCode::ConversationBad
        | FaultCode::ReadFailed
        | FaultCode::FolderUnusable
        | FaultCode::LibraryGone
        | FaultCode::HubRefused
        | FaultCode::HubTooManyRequests
        | FaultCode::HubCertificate
        | FaultCode::PortTaken
        | FaultCode::RouteUnreachable
        | FaultCode::RouteRefused
        | FaultCode::RouteBroken => &[Fix::Retry],
        FaultCode::NotGguf | FaultCode::UnsafeName | FaultCode::UnknownModel => {
            &[Fix::ChooseOtherModel, Fix::ImportFile]
        }
        FaultCode::GgufCut | FaultCode::HashMismatch => &[Fix::DownloadAgain, Fix::ImportFile],
        // A disk that was unplugged comes back.
        FaultCode::ModelFileMissing => &[Fix::Retry, Fix::DownloadAgain, Fix::ImportFile],
        FaultCode::GgufTooLarge | FaultCode::GgufBad => &[Fix::DownloadAgain, Fix::ChooseOtherModel],
        FaultCode::UnknownArchitecture => &[Fix::ChooseOtherModel, Fix::UpdateApp],
        FaultCode::DoesNotFit | FaultCode::OutOfMemory => &[Fix::ChooseSmallerContext, Fix::ChooseOtherModel],
        FaultCode::ContextTooLong => &[Fix::ChooseSmallerContext],
        FaultCode::DiskFull | FaultCode::WriteFailed => &[Fix::FreeSpace, Fix::Retry],
        // One way on, not two that do the same.
        FaultCode::HubUnreachable | FaultCode::TransferStalled | FaultCode::HubProxy => {
            &[Fix::CheckConnection]
        }
        FaultCode::HubNeedsToken => &[Fix::SetToken, Fix::Retry, Fix::ChooseOtherModel],
        FaultCode::HubQuota => &[Fix::SetToken, Fix::Retry],
        FaultCode::HubRevisionGone => &[Fix::UpdateApp, Fix::ChooseOtherModel],
        FaultCode::HubChanged => &[Fix::DownloadAgain, Fix::UpdateApp],
        FaultCode::HubNotFound
        | FaultCode::NoVision
        | FaultCode::ModelNotOurs
        | FaultCode::RouteModel
        | FaultCode::RouteCannot => &[Fix::ChooseOtherModel],
        FaultCode::HubOffline => &[Fix::CheckConnection, Fix::ImportFile],
        FaultCode::LicenceNotAccepted => &[Fix::AcceptLicence, Fix::ChooseOtherModel],
        FaultCode::NoEngine
        | FaultCode::EngineIncomplete
        | FaultCode::EngineCheckFailed
        | FaultCode::IllegalInstruction
        | FaultCode::GpuDriver
        | FaultCode::GpuUnsupported => &[Fix::ReinstallEngine, Fix::AddEngine],
        FaultCode::EngineTooOld => &[Fix::ReinstallEngine, Fix::AddEngine, Fix::ChooseOtherModel],
        FaultCode::DeviceLost => &[Fix::Retry, Fix::ChooseSmallerContext, Fix::ChooseOtherModel],
        FaultCode::EngineUnknownAsset => &[Fix::AddEngine, Fix::UpdateApp],
        FaultCode::RouterGone | FaultCode::RouterFailed => &[Fix::Retry, Fix::ReinstallEngine],
        FaultCode::LoadFailed | FaultCode::ModelCrashed => {
            &[Fix::Retry, Fix::ChooseSmallerContext, Fix::ChooseOtherModel]
        }
        FaultCode::ContextExceeded => &[Fix::NewConversation],
        FaultCode::RouteKey => &[Fix::SetKey, Fix::ChooseOtherModel],
        FaultCode::RouteQuota => &[Fix::ChooseOtherModel, Fix::SetKey],
        FaultCode::RouteRate | FaultCode::RouteOverloaded => &[Fix::Retry, Fix::ChooseOtherModel],
        FaultCode::RouteContent => &[Fix::NewConversation, Fix::ChooseOtherModel],
        FaultCode::StoreFailed => &[Fix::FreeSpace, Fix::ReportBug],
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::{FaultCode, Fix};

    use super::fixes;

    #[test]
    fn nobody_is_offered_the_same_way_on_twice() {
        for code in [
            FaultCode::HubUnreachable,
            FaultCode::TransferStalled,
            FaultCode::HubProxy,
            FaultCode::HubCertificate,
            FaultCode::HubOffline,
        ] {
            let again = [Fix::CheckConnection, Fix::Retry];
            let offered = fixes(code).iter().filter(|fix| again.contains(fix)).count();
            assert_eq!(offered, 1, "{code:?}");
        }
    }
}
