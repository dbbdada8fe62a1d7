use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{self, ExitStatus};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::running::Exit;
use super::spawner::Started;

/// The process group that a child leads.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    _watchdog: Option<super::watchdog::Watchdog>,
}

impl Group {
    /// SIGTERM to all of it.
    pub(super) fn ask_to_end(&self) {
        let _ = rustix::process::kill_process_group(self.leader, Signal::TERM);
    }

    /// SIGKILL to all of it. Only while the leader is not reaped: after that the number may be another's.
    pub(super) fn kill(&self) {
        let _ = rustix::process::kill_process_group(self.leader, Signal::KILL);
    }
}

pub(super) fn spawn(mut command: process::Command, watched: bool) -> io::Result<Started> {
    command.process_group(0);
    #[cfg(target_os = "linux")]
    die_with_parent(&mut command);
    let child = spawn_patiently(&mut command)?;
    let leader = Pid::from_child(&child);
    Ok(Started {
        child,
        group: Group {
            leader,
            _watchdog: if watched || !cfg!(target_os = "linux") {
                super::watchdog::Watchdog::start(leader)
            } else {
                None
            },
        },
    })
}

/// A program that was just unpacked can be "busy" for a moment: while it was written, another thread forked,
/// and that copy of the open file lives until its own exec.
fn spawn_patiently(command: &mut process::Command) -> io::Result<process::Child> {
    const TRIES: u32 = 10;
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 1..TRIES {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::sleep(PAUSE),
            done => return done,
        }
    }
    command.spawn()
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the only way to run code between fork and exec")]
fn die_with_parent(command: &mut process::Command) {
    let us = rustix::process::getpid();
    let in_child = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // We may have died before the line above took effect; then nobody is left to send the signal.
        if rustix::process::getppid() == Some(us) {
            Ok(())
        } else {
            Err(io::ErrorKind::NotConnected.into())
        }
    };
    // SAFETY: between fork and exec only async-signal-safe work is allowed. The closure makes two system calls,
    // compares two numbers and builds an error that holds no allocation; it takes no lock.
    unsafe { command.pre_exec(in_child) };
}

/// Returns when the child has ended, without freeing its number yet.
pub(super) fn wait_without_reaping(child: &mut process::Child) {
    let leader = Pid::from_child(child);
    loop {
        match rustix::process::waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return,
        }
    }
}

pub(super) fn exit_of(status: ExitStatus) -> Exit {
    Exit {
        code: status.code(),
        signal: status.signal(),
    }
}
