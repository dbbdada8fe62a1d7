use std::error::Error;
use std::io;

use http::StatusCode;
use plimsoll_wire::{Fault, FaultCode, Fix, Params};

/// Why the page or the front could not be offered.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    #[error("no free port at {port} or above, {tried} tried")]
    Bind {
        port: u16,
        tried: u16,
        #[source]
        source: io::Error,
    },
    #[error("the connection to the router could not be prepared")]
    Client(#[source] reqwest::Error),
}

impl From<&WebError> for Fault {
    fn from(error: &WebError) -> Self {
        let (code, params) = match error {
            WebError::Bind { port, .. } => (
                FaultCode::PortTaken,
                Params::from([("port".to_owned(), u32::from(*port).into())]),
            ),
            WebError::Client(_) => (FaultCode::Internal, Params::new()),
        };
        let causes = std::iter::successors(Some(error as &(dyn Error + 'static)), |&cause| cause.source());
        Self {
            code,
            params,
            trace: causes.map(ToString::to_string).collect(),
            fixes: vec![Fix::Retry],
        }
    }
}

/// The HTTP status that says the same as a fault's code.
pub(crate) const fn status_of(code: FaultCode) -> StatusCode {
    use FaultCode as F;
    match code {
        F::BadRequest
        | F::UnsafeName
        | F::FolderUnusable
        | F::NotGguf
        | F::GgufCut
        | F::GgufTooLarge
        | F::GgufBad
        | F::UnknownArchitecture
        | F::MachineFileBad
        | F::ConversationBad
        | F::ContextTooLong
        | F::ContextExceeded
        | F::NoVision => StatusCode::BAD_REQUEST,
        F::NotAllowed | F::ModelNotOurs | F::HubNeedsToken | F::LicenceNotAccepted => StatusCode::FORBIDDEN,
        F::UnknownCall
        | F::NotFound
        | F::UnknownModel
        | F::ModelFileMissing
        | F::HubNotFound
        | F::HubRevisionGone => StatusCode::NOT_FOUND,
        F::Busy | F::DoesNotFit | F::NoEngine | F::EngineIncomplete | F::EngineCheckFailed => {
            StatusCode::CONFLICT
        }
        F::EngineUnknownAsset | F::HashMismatch | F::HubChanged | F::RouteContent | F::RouteCannot => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        F::HubTooManyRequests | F::HubQuota | F::RouteRate | F::RouteQuota => StatusCode::TOO_MANY_REQUESTS,
        F::HubUnreachable
        | F::HubRefused
        | F::HubCertificate
        | F::HubProxy
        | F::RouteRefused
        | F::RouteBroken
        | F::RouteKey
        | F::RouteModel
        | F::RouteOverloaded => StatusCode::BAD_GATEWAY,
        F::HubOffline
        | F::LibraryGone
        | F::PortTaken
        | F::RouterFailed
        | F::RouterGone
        | F::LoadFailed
        | F::OutOfMemory
        | F::ModelCrashed
        | F::IllegalInstruction
        | F::GpuDriver
        | F::GpuUnsupported
        | F::DeviceLost
        | F::EngineTooOld
        | F::RouteUnreachable => StatusCode::SERVICE_UNAVAILABLE,
        F::TransferStalled => StatusCode::GATEWAY_TIMEOUT,
        F::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
        F::ReadFailed | F::WriteFailed | F::StoreFailed | F::StoreTooNew | F::Internal => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}
