use plimsoll_agent::{ModelError, Refusal, Unsendable};
use plimsoll_wire::FaultCode;

use super::{ToFault, Told, told};

impl ToFault for ModelError {
    fn code(&self) -> Told {
        match self {
            Self::Unreachable { .. } => told(FaultCode::RouteUnreachable, []),
            Self::Refused { status, why, .. } => refused(*why, Some(*status)),
            Self::Overflow { prompt, window } => told(
                FaultCode::ContextExceeded,
                [("prompt", prompt.0.into()), ("window", window.0.into())],
            ),
            Self::TooLong { .. } | Self::CompactionTimedOut => told(FaultCode::ContextExceeded, []),
            Self::MessageTooLarge { row, prompt, window } => told(
                FaultCode::ContextExceeded,
                [
                    ("message", row.as_str().into()),
                    ("prompt", prompt.0.into()),
                    ("window", window.0.into()),
                ],
            ),
            Self::Broken { why, .. } => match why {
                // It broke; what is known of the request itself is known from its refusal only.
                Refusal::Server | Refusal::Request => told(FaultCode::RouteBroken, []),
                why @ (Refusal::Key
                | Refusal::Quota
                | Refusal::Rate { .. }
                | Refusal::Overload { .. }
                | Refusal::Content
                | Refusal::Model) => refused(*why, None),
            },
            Self::Cut { .. }
            | Self::Silent { .. }
            | Self::Malformed { .. }
            | Self::NotText
            | Self::PieceTooLarge { .. }
            | Self::AnswerTooLarge { .. } => told(FaultCode::RouteBroken, []),
            Self::Unsendable(what) => what.code(),
            Self::Defect => told(FaultCode::Internal, []),
        }
    }
}

fn refused(why: Refusal, status: Option<u16>) -> Told {
    match why {
        Refusal::Key => told(FaultCode::RouteKey, []),
        Refusal::Quota => told(FaultCode::RouteQuota, []),
        Refusal::Rate { wait } => told(
            FaultCode::RouteRate,
            wait.map(|wait| ("seconds", wait.as_secs().max(1).into())),
        ),
        Refusal::Overload { .. } => told(FaultCode::RouteOverloaded, []),
        Refusal::Content => told(FaultCode::RouteContent, []),
        Refusal::Model => told(FaultCode::RouteModel, []),
        Refusal::Server | Refusal::Request => told(
            FaultCode::RouteRefused,
            status.map(|status| ("status", u32::from(status).into())),
        ),
    }
}

impl ToFault for Unsendable {
    fn code(&self) -> Told {
        match self {
            Self::TooManyTools { .. } | Self::Format | Self::Tools => told(FaultCode::RouteCannot, []),
            Self::Address => told(FaultCode::BadRequest, [("what", "address or key".into())]),
        }
    }
}
