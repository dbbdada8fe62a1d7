use plimsoll_hardware::MachineFileError;
use plimsoll_planner::PlanError;
use plimsoll_wire::FaultCode;

use super::{ToFault, Told, told};

impl ToFault for PlanError {
    fn code(&self) -> Told {
        match self {
            Self::OutOfRange {
                field,
                value,
                least,
                most,
            } => told(
                FaultCode::BadRequest,
                [
                    ("what", (*field).into()),
                    ("value", (*value).into()),
                    ("least", (*least).into()),
                    ("most", (*most).into()),
                ],
            ),
        }
    }
}

impl ToFault for MachineFileError {
    fn code(&self) -> Told {
        told(FaultCode::MachineFileBad, [])
    }
}
