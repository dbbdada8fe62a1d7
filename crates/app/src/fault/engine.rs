use std::sync::Arc;

use plimsoll_engine::{Cause, EngineError, GpuProblem, Step};
use plimsoll_wire::{FaultCode, Param};

use super::os::path;
use super::{ToFault, Told, told};

impl ToFault for EngineError {
    fn code(&self) -> Told {
        let model = |id: &String| ("model", Param::from(id.as_str()));
        match self {
            Self::NoEngine => told(FaultCode::NoEngine, []),
            Self::UnknownEngine { id } => told(FaultCode::NotFound, [("engine", id.as_str().into())]),
            Self::NoServerThere { path: at } => told(
                FaultCode::EngineIncomplete,
                [path(at), ("file", "llama-server".into())],
            ),
            Self::EngineIncomplete { folder, missing } => told(
                FaultCode::EngineIncomplete,
                [path(folder), ("file", missing.join(", ").into())],
            ),
            Self::EngineCheckFailed { step, .. } => {
                told(FaultCode::EngineCheckFailed, [("step", step.code().into())])
            }
            Self::IllegalInstruction { program } => told(FaultCode::IllegalInstruction, [path(program)]),
            Self::OptionUnknown { engine, option } => told(
                FaultCode::EngineCheckFailed,
                [
                    ("engine", engine.as_str().into()),
                    ("step", Step::Abilities.code().into()),
                    ("option", option.as_str().into()),
                ],
            ),
            Self::IndexBroken { path: at, .. } => told(FaultCode::ReadFailed, [path(at)]),
            Self::IndexTooNew { path: at, .. } => told(FaultCode::StoreTooNew, [path(at)]),
            Self::NoBuildFor { wanted, os, arch } => told(
                FaultCode::EngineUnknownAsset,
                [
                    ("flavour", wanted.as_str().into()),
                    ("os", os.as_str().into()),
                    ("arch", arch.as_str().into()),
                ],
            ),
            Self::ArchiveRefused { archive, .. } => told(FaultCode::EngineIncomplete, [path(archive)]),
            Self::Fetch(error) => error.code(),
            Self::PortTaken { tries } => told(FaultCode::PortTaken, [("tries", (*tries).into())]),
            Self::RouterFailed { cause, .. } => from_cause(cause, FaultCode::RouterFailed, []),
            Self::RouterSilent { after_s, .. } | Self::OwnerSilent { after_s } => {
                told(FaultCode::RouterFailed, [("waitedSeconds", (*after_s).into())])
            }
            Self::RouterDied { cause, .. } => from_cause(cause, FaultCode::RouterGone, []),
            Self::RouterGone | Self::Stopped => told(FaultCode::RouterGone, []),
            Self::RouterRefused { status, .. } => {
                told(FaultCode::RouteRefused, [("status", u32::from(*status).into())])
            }
            Self::RouterAnswer { .. } => told(FaultCode::RouteBroken, []),
            Self::Http(_) => told(FaultCode::RouteUnreachable, []),
            Self::UnknownModel { id } => told(FaultCode::UnknownModel, [model(id)]),
            Self::ModelFileMissing { path: at } => told(FaultCode::ModelFileMissing, [path(at)]),
            Self::PathUnusable { path: at } => told(FaultCode::UnsafeName, [path(at)]),
            Self::NoRoom { asked, left, held_by } => told(
                FaultCode::OutOfMemory,
                [
                    ("needed", asked.0.into()),
                    ("have", left.0.into()),
                    ("heldBy", held_by.join(", ").into()),
                ],
            ),
            Self::OutOfMemory { id, planned, .. } => {
                told(FaultCode::OutOfMemory, [model(id), ("planned", planned.0.into())])
            }
            Self::LoadFailed { id, cause, .. } => from_cause(cause, FaultCode::LoadFailed, [model(id)]),
            Self::LoadStalled { id, after_s } => told(
                FaultCode::LoadFailed,
                [model(id), ("waitedSeconds", (*after_s).into())],
            ),
            Self::ProofFailed { id, .. } => told(FaultCode::LoadFailed, [model(id)]),
            Self::ModelCrashed { id, cause, .. } => from_cause(cause, FaultCode::ModelCrashed, [model(id)]),
            Self::File(error) => error.code(),
            Self::Child(error) => error.code(),
        }
    }
}

/// What many heard of is the same fault for each of them.
impl ToFault for Arc<EngineError> {
    fn code(&self) -> Told {
        self.as_ref().code()
    }
}

/// What an engine's log says is better than what we noticed from outside.
fn from_cause(
    cause: &Cause,
    else_code: FaultCode,
    params: impl IntoIterator<Item = (&'static str, Param)>,
) -> Told {
    let mut told = match cause {
        Cause::OutOfMemory { asked, .. } => told(
            FaultCode::OutOfMemory,
            asked.map(|asked| ("asked", asked.0.into())),
        ),
        Cause::ModelFileMissing { file } => {
            told(FaultCode::ModelFileMissing, [("file", file.as_str().into())])
        }
        Cause::ModelFileCut => told(FaultCode::GgufCut, []),
        Cause::NotGguf => told(FaultCode::NotGguf, []),
        Cause::ModelFileBroken { .. } => told(FaultCode::GgufBad, []),
        Cause::NotATextModel => told(FaultCode::UnknownArchitecture, []),
        Cause::UnknownArchitecture { name } => told(
            FaultCode::UnknownArchitecture,
            [("architecture", name.as_str().into())],
        ),
        Cause::UnknownTensorType { what } => {
            told(FaultCode::UnknownArchitecture, [("what", what.as_str().into())])
        }
        Cause::EngineTooOld { what } => told(FaultCode::EngineTooOld, [("what", what.as_str().into())]),
        Cause::MissingLibrary { name } => told(FaultCode::EngineIncomplete, [("file", name.as_str().into())]),
        Cause::IllegalInstruction => told(FaultCode::IllegalInstruction, []),
        Cause::PortTaken | Cause::BindFailed => told(FaultCode::PortTaken, []),
        Cause::OptionRefused { what, .. } => {
            told(FaultCode::EngineCheckFailed, [("what", what.as_str().into())])
        }
        Cause::Gpu { problem } => {
            let code = match problem {
                GpuProblem::DriverTooOld | GpuProblem::DriverMismatch | GpuProblem::DriverBroken => {
                    FaultCode::GpuDriver
                }
                GpuProblem::NoKernel | GpuProblem::NoneFound | GpuProblem::BuiltWithout => {
                    FaultCode::GpuUnsupported
                }
            };
            told(code, [("what", cause.to_string().into())])
        }
        Cause::DeviceLost => told(FaultCode::DeviceLost, []),
        Cause::WindowExceeded { prompt, window } => told(
            FaultCode::ContextExceeded,
            [("prompt", *prompt), ("window", *window)]
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?.into()))),
        ),
        Cause::NoVision => told(FaultCode::NoVision, []),
        Cause::ProjectorMismatch
        | Cause::DraftMismatch
        | Cause::CacheNotQuantised
        | Cause::TemplateFailed { .. }
        | Cause::KeyRefused => told(else_code, [("what", cause.to_string().into())]),
        Cause::Killed { signal } | Cause::Crashed { signal: Some(signal) } => {
            told(else_code, [("signal", signal.unsigned_abs().into())])
        }
        Cause::Crashed { signal: None } | Cause::Unknown { .. } => told(else_code, []),
    };
    told.params.extend(params);
    told
}
