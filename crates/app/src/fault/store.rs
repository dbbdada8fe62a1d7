use plimsoll_store::{Limited, StoreError};
use plimsoll_wire::FaultCode;

use super::os::path;
use super::{ToFault, Told, told};

impl ToFault for StoreError {
    fn code(&self) -> Told {
        match self {
            Self::Damaged { kept, .. } => told(FaultCode::StoreFailed, [path(kept)]),
            Self::TooNew { path: at, .. } => told(FaultCode::StoreTooNew, [path(at)]),
            Self::Open { path: at, .. }
            | Self::Migration { path: at, .. }
            | Self::Busy { path: at }
            | Self::Sql { path: at, .. } => told(FaultCode::StoreFailed, [path(at)]),
            Self::Full { path: at, .. } => told(FaultCode::DiskFull, [path(at)]),
            Self::NoConversation { id } => told(FaultCode::NotFound, [("conversation", id.as_str().into())]),
            Self::NoQuestion { .. } => told(FaultCode::BadRequest, [("what", "no question".into())]),
            Self::NoMessage { id } | Self::AlreadyEnded { id } => {
                told(FaultCode::NotFound, [("message", id.as_str().into())])
            }
            Self::Tangled { .. } => told(FaultCode::ConversationBad, []),
            Self::AnswerRunning { conversation } => {
                told(FaultCode::Busy, [("conversation", conversation.as_str().into())])
            }
            Self::TooLarge { what, bytes, limit } => {
                let what = match what {
                    Limited::MessageBytes => "message",
                    Limited::TitleBytes => "title",
                    Limited::SettingBytes => "setting",
                };
                told(
                    FaultCode::BadRequest,
                    [
                        ("what", what.into()),
                        ("bytes", whole(*bytes).into()),
                        ("limit", whole(*limit).into()),
                    ],
                )
            }
            Self::File(error) => error.code(),
            Self::Thread(_) | Self::Ended => told(FaultCode::Internal, []),
        }
    }
}

fn whole(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
