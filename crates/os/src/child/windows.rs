//! Children in a job object that the kernel kills when its last handle closes, that is when we end.

use std::io;
use std::os::windows::io::AsRawHandle;
use std::os::windows::process::CommandExt;
use std::process::{self, ExitStatus};
use std::sync::{Mutex, PoisonError};

use win32job::{ExtendedLimitInfo, Job};

use super::running::Exit;
use super::spawner::Started;

const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// The job that a child and all its descendants belong to. Closing the only handle kills them.
#[derive(Debug)]
pub(super) struct Group {
    // A lock, not an owner: `kill` must work from a drop, where nothing can be awaited.
    job: Mutex<Option<Job>>,
}

impl Group {
    /// A program without a window cannot be asked; only [`Self::kill`] ends it.
    pub(super) fn ask_to_end(&self) {
        self.kill();
    }

    pub(super) fn kill(&self) {
        self.job.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

pub(super) fn spawn(mut command: process::Command, _watched: bool) -> io::Result<Started> {
    command.creation_flags(CREATE_NO_WINDOW);
    let mut limits = ExtendedLimitInfo::new();
    limits.limit_kill_on_job_close();
    let job = Job::create_with_limit_info(&limits).map_err(io::Error::other)?;
    let mut child = command.spawn()?;
    if let Err(error) = job.assign_process(child.as_raw_handle() as isize) {
        // A child that we cannot hold must not run.
        let _ = child.kill();
        let _ = child.wait();
        return Err(io::Error::other(error));
    }
    Ok(Started {
        child,
        group: Group {
            job: Mutex::new(Some(job)),
        },
    })
}

/// The handle keeps the number of the process from being used again, so waiting is enough.
pub(super) fn wait_without_reaping(child: &mut process::Child) {
    let _ = child.wait();
}

pub(super) fn exit_of(status: ExitStatus) -> Exit {
    Exit {
        code: status.code(),
        signal: None,
    }
}
