use plimsoll_agent::ModelError;
use plimsoll_wire::FaultCode;

use super::{ToFault, Told, told};

impl ToFault for ModelError {
    fn code(&self) -> Told {
        match self {
            Self::Unreachable { .. } => told(FaultCode::RouteUnreachable, []),
            Self::Refused { status, .. } => {
                told(FaultCode::RouteRefused, [("status", u32::from(*status).into())])
            }
            Self::Overflow { prompt, window } => told(
                FaultCode::ContextExceeded,
                [("prompt", prompt.0.into()), ("window", window.0.into())],
            ),
            Self::Broken { .. }
            | Self::Cut { .. }
            | Self::Silent { .. }
            | Self::Malformed { .. }
            | Self::NotText
            | Self::PieceTooLarge { .. }
            | Self::AnswerTooLarge { .. } => told(FaultCode::RouteBroken, []),
            Self::Defect => told(FaultCode::Internal, []),
        }
    }
}
