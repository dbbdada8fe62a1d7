use plimsoll_wire::{Fault, FaultCode, Replay, ReplayReport};

use super::driver::Driver;
use crate::fault::fault;

const SCHEMA: u32 = 1;
/// More than any conversation has; a file with more was not written by one.
const STEPS_MAX: usize = 1_000_000;

/// Plays a written conversation: every reading, every decision and its reason. Needs no model and no store.
pub fn replay(bytes: &[u8]) -> Result<ReplayReport, Fault> {
    let replay: Replay = serde_json::from_slice(bytes).map_err(|error| {
        let mut fault = fault(FaultCode::BadRequest, [("what", "replay file".into())]);
        fault.trace.push(error.to_string());
        fault
    })?;
    if replay.schema != SCHEMA || replay.steps.len() > STEPS_MAX {
        return Err(fault(
            FaultCode::BadRequest,
            [("what", "replay file".into()), ("schema", SCHEMA.into())],
        ));
    }
    let mut driver = Driver::default();
    let lines: Vec<_> = replay.steps.iter().map(|step| driver.play(step)).collect();
    let wrong: usize = lines.iter().map(|line| line.wrong.len()).sum();
    Ok(ReplayReport {
        about: replay.about,
        lines,
        wrong: u32::try_from(wrong).unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests;
