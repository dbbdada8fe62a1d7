//! Where there is no `/proc`. Compiled in tests on Linux as well, so that it cannot rot unseen.

use std::path::PathBuf;

use plimsoll_units::Bytes;
use sysinfo::{Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

use super::Resident;

fn look(pids: ProcessesToUpdate<'_>, what: ProcessRefreshKind) -> System {
    let mut system = System::new();
    system.refresh_processes_specifics(pids, true, what);
    system
}

fn one<T>(pid: u32, what: ProcessRefreshKind, read: impl Fn(&sysinfo::Process) -> Option<T>) -> Option<T> {
    let pid = Pid::from_u32(pid);
    let system = look(ProcessesToUpdate::Some(&[pid]), what);
    let process = system.process(pid)?;
    let ended = matches!(process.status(), ProcessStatus::Zombie | ProcessStatus::Dead);
    if ended { None } else { read(process) }
}

pub(super) fn start_time(pid: u32) -> Option<u64> {
    one(pid, ProcessRefreshKind::nothing(), |process| {
        Some(process.start_time())
    })
}

pub(super) fn executable(pid: u32) -> Option<PathBuf> {
    let what = ProcessRefreshKind::nothing().with_exe(UpdateKind::Always);
    one(pid, what, |process| process.exe().map(ToOwned::to_owned))
}

pub(super) fn arguments(pid: u32) -> Vec<String> {
    let what = ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always);
    let words = one(pid, what, |process| Some(process.cmd().to_vec())).unwrap_or_default();
    words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

pub(super) fn resident(pid: u32) -> Option<Resident> {
    one(pid, ProcessRefreshKind::nothing().with_memory(), |process| {
        Some(Resident {
            resident: Bytes(process.memory()),
            ..Resident::default()
        })
    })
}

pub(super) fn all() -> Vec<u32> {
    let system = look(ProcessesToUpdate::All, ProcessRefreshKind::nothing());
    system
        .processes()
        .values()
        .filter(|process| process.thread_kind().is_none())
        .map(|process| process.pid().as_u32())
        .collect()
}

pub(super) fn children(pid: u32) -> Vec<u32> {
    let system = look(ProcessesToUpdate::All, ProcessRefreshKind::nothing());
    let parent = Some(Pid::from_u32(pid));
    system
        .processes()
        .values()
        .filter(|process| process.parent() == parent && process.thread_kind().is_none())
        .map(|process| process.pid().as_u32())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::linux;
    use super::*;

    #[test]
    fn agrees_with_proc_about_ourselves() {
        let us = std::process::id();
        assert_eq!(executable(us), linux::executable(us));
        assert_eq!(arguments(us), linux::arguments(us));
        assert!(!arguments(us).is_empty());
        assert!(start_time(us).is_some());
        let (here, there) = (
            resident(us).unwrap().resident,
            linux::resident(us).unwrap().resident,
        );
        assert!(
            here.0.abs_diff(there.0) < Bytes::mib(32).0,
            "{here} against {there}"
        );
        assert_eq!(start_time(u32::MAX - 1), None);
        assert!(!children(us).contains(&us), "a thread is no child");
        assert!(all().contains(&us) && linux::all().contains(&us));
    }
}
