//! Where the kernel offers no parent-death signal, or where it would not reach what a child has started: a shell
//! that waits on a pipe of ours. The pipe closes when we end, however we end; then the shell kills the group.

use std::process::{self, Stdio};

use rustix::process::Pid;

/// Dropping it ends the shell without harm.
#[derive(Debug)]
pub(super) struct Watchdog {
    shell: process::Child,
}

/// `read` returns when the pipe closes. Nothing from outside is in the text: the number is an argument.
const SCRIPT: &str = r#"read _; kill -KILL "-$1""#;

impl Watchdog {
    /// `None` when no shell could be started; the child then lives as if it had no watchdog.
    #[expect(clippy::disallowed_methods, reason = "this is the home of children")]
    pub(super) fn start(group: Pid) -> Option<Self> {
        use std::os::unix::process::CommandExt;
        let started = process::Command::new("/bin/sh")
            .args([
                "-c",
                SCRIPT,
                "plimsoll-watchdog",
                &group.as_raw_nonzero().to_string(),
            ])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl+C in a terminal reaches our group; the watchdog must survive us.
            .process_group(0)
            .spawn();
        match started {
            Ok(shell) => Some(Self { shell }),
            Err(error) => {
                tracing::warn!(%error, "a child has no watchdog");
                None
            }
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // Killed before its pipe closes: the group has ended already and its number may be another's.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};

    use super::*;

    #[expect(
        clippy::disallowed_methods,
        reason = "a plain child for the watchdog to watch"
    )]
    fn sleeper() -> process::Child {
        process::Command::new("sleep")
            .arg("60")
            .process_group(0)
            .spawn()
            .unwrap()
    }

    #[test]
    fn a_closed_pipe_kills_the_group() {
        let mut child = sleeper();
        let mut watchdog = Watchdog::start(Pid::from_child(&child)).unwrap();
        drop(watchdog.shell.stdin.take());
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn letting_the_watchdog_go_harms_nobody() {
        let mut child = sleeper();
        drop(Watchdog::start(Pid::from_child(&child)).unwrap());
        assert_eq!(child.try_wait().unwrap(), None, "the child still runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
