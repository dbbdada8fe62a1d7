//! What the system says about a running process. Numbers only; a process that is gone is `None`.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod portable;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use portable as system;

use std::path::PathBuf;

use plimsoll_units::Bytes;

/// The memory that a process holds now, by kind. The parts sum up to `resident` where the system tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resident {
    pub resident: Bytes,
    /// Heap and buffers.
    pub anonymous: Option<Bytes>,
    /// Mapped files, above all the weights. The system can drop these and read them again.
    pub file: Option<Bytes>,
    pub shared: Option<Bytes>,
}

/// The same process even if its number was used again: number and start time together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    pub pid: u32,
    /// In the system's own unit and from its own zero; only good for comparing.
    pub start_time: u64,
}

#[must_use]
pub fn own_pid() -> u32 {
    std::process::id()
}

/// A process that has ended but was not waited for does not exist any more.
#[must_use]
pub fn exists(pid: u32) -> bool {
    start_time(pid).is_some()
}

#[must_use]
pub fn start_time(pid: u32) -> Option<u64> {
    system::start_time(pid)
}

#[must_use]
pub fn identity(pid: u32) -> Option<Identity> {
    Some(Identity {
        pid,
        start_time: start_time(pid)?,
    })
}

/// Whether it is still that very process.
#[must_use]
pub fn is_alive(identity: &Identity) -> bool {
    start_time(identity.pid) == Some(identity.start_time)
}

#[must_use]
pub fn executable(pid: u32) -> Option<PathBuf> {
    system::executable(pid)
}

#[must_use]
pub fn resident(pid: u32) -> Option<Resident> {
    system::resident(pid)
}

#[must_use]
pub fn resident_bytes(pid: u32) -> Option<Bytes> {
    resident(pid).map(|memory| memory.resident)
}

/// The words it was started with, its own name first; empty where the system does not tell.
#[must_use]
pub fn arguments(pid: u32) -> Vec<String> {
    system::arguments(pid)
}

/// Asks a process that is not our child to end, if it is still that very one. Says whether it was asked;
/// only Unix can ask.
#[must_use]
pub fn ask_to_end(identity: &Identity) -> bool {
    is_alive(identity) && signal_to_end(identity.pid)
}

#[cfg(unix)]
fn signal_to_end(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM).is_ok())
}

#[cfg(not(unix))]
fn signal_to_end(_: u32) -> bool {
    false
}

/// Every process that the system shows us, in no order.
#[must_use]
pub fn all() -> Vec<u32> {
    system::all()
}

/// Its living children.
#[must_use]
pub fn children(pid: u32) -> Vec<u32> {
    system::children(pid)
}

/// Its children, their children and so on, without itself.
#[must_use]
pub fn descendants(pid: u32) -> Vec<u32> {
    /// More than any program of ours starts; a fork bomb must not hold up the status bar.
    const DESCENDANTS_MAX: usize = 4096;
    let mut found: Vec<u32> = Vec::new();
    let mut next = vec![pid];
    while let Some(parent) = next.pop() {
        for child in children(parent) {
            if child != pid && !found.contains(&child) && found.len() < DESCENDANTS_MAX {
                found.push(child);
                next.push(child);
            }
        }
    }
    found
}
