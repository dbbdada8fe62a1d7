//! The one thread that starts children.
//!
//! The parent-death signal of Linux fires when the *thread* that spawned the child ends, not the program. A
//! worker of an async runtime or of a thread pool may end at any time; this thread ends with the program.

use std::io;
use std::process;
use std::sync::OnceLock;
use std::sync::mpsc::{self, SyncSender};
use std::thread;

use super::system::{self, Group};

pub(super) struct Started {
    pub(super) child: process::Child,
    pub(super) group: Group,
}

struct Request {
    command: process::Command,
    watched: bool,
    answer: SyncSender<io::Result<Started>>,
}

pub(super) enum SpawnFailure {
    Io(io::Error),
    NoSpawner,
}

/// Spawns on the thread that never ends, and waits for the outcome.
pub(super) fn spawn(command: process::Command, watched: bool) -> Result<Started, SpawnFailure> {
    let (answer, outcome) = mpsc::sync_channel(1);
    let requests = requests().ok_or(SpawnFailure::NoSpawner)?;
    requests
        .send(Request {
            command,
            watched,
            answer,
        })
        .map_err(|_| SpawnFailure::NoSpawner)?;
    outcome
        .recv()
        .map_err(|_| SpawnFailure::NoSpawner)?
        .map_err(SpawnFailure::Io)
}

fn requests() -> Option<&'static SyncSender<Request>> {
    static REQUESTS: OnceLock<Option<SyncSender<Request>>> = OnceLock::new();
    REQUESTS
        .get_or_init(|| {
            let (ask, asked) = mpsc::sync_channel::<Request>(16);
            let serve = move || {
                while let Ok(Request {
                    command,
                    watched,
                    answer,
                }) = asked.recv()
                {
                    // Nobody waits any more: the child is dropped by the sender's error, and killed below.
                    if let Err(mpsc::SendError(Ok(mut started))) =
                        answer.send(system::spawn(command, watched))
                    {
                        started.group.kill();
                        let _ = started.child.wait();
                    }
                }
            };
            let thread = thread::Builder::new().name("plimsoll-spawn".into()).spawn(serve);
            if let Err(error) = &thread {
                tracing::error!(%error, "no thread for starting children");
            }
            thread.is_ok().then_some(ask)
        })
        .as_ref()
}
