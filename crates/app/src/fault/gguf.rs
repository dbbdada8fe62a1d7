use plimsoll_gguf::HeaderError;
use plimsoll_wire::FaultCode;

use super::os::path;
use super::{ToFault, Told, told};

impl ToFault for HeaderError {
    fn code(&self) -> Told {
        match self {
            Self::Open { path: at, source } if source.kind() == std::io::ErrorKind::NotFound => {
                told(FaultCode::ModelFileMissing, [path(at)])
            }
            Self::Open { path: at, .. } => told(FaultCode::ReadFailed, [path(at)]),
            Self::Read { .. } => told(FaultCode::ReadFailed, []),
            Self::NotGguf => told(FaultCode::NotGguf, []),
            Self::Cut { needed, have } => told(
                FaultCode::GgufCut,
                [("needed", needed.0.into()), ("have", have.0.into())],
            ),
            Self::TooLarge { what, claimed, limit } => told(
                FaultCode::GgufTooLarge,
                [
                    ("what", what.to_string().into()),
                    ("claimed", (*claimed).into()),
                    ("limit", (*limit).into()),
                ],
            ),
            Self::BadField { field, .. } => told(FaultCode::GgufBad, [("field", field.as_str().into())]),
            Self::MissingParts { missing, .. } => {
                told(FaultCode::ModelFileMissing, [("file", missing.join(", ").into())])
            }
        }
    }
}
