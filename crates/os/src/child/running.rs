use std::fmt;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{self, ChildStdin, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_units::Bytes;
use tokio::sync::{Notify, mpsc};

use super::output::{Line, LineSink, Sink, Stream, drain};
use super::spawner::{SpawnFailure, Started};
use super::system::{self, Group};
use super::{ChildError, Command, spawner};

/// How long the pipes of an ended child may stay open in the hands of a descendant that left its group.
const PIPES_MAX: Duration = Duration::from_secs(1);

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Missing when a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl Exit {
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.code, Some(0))
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("unknown end"),
        }
    }
}

/// A running child. Dropping it kills it and what it started.
#[derive(Debug)]
pub struct Child {
    program: PathBuf,
    pid: u32,
    lines: Option<mpsc::Receiver<Line>>,
    input: Option<ChildStdin>,
    shared: Arc<Shared>,
}

/// What the child's own threads and its handles look at.
///
/// A lock, not an owner task: a drop must be able to kill, and the threads run without an async runtime.
/// Nothing is awaited while it is held.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    changed_async: Notify,
}

#[derive(Debug)]
struct State {
    /// Gone once the child is reaped: its number may belong to another process then.
    group: Option<Group>,
    exit: Option<Exit>,
    streams_open: u8,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, how: impl FnOnce(&mut State)) {
        how(&mut self.state());
        self.changed.notify_all();
        self.changed_async.notify_waiters();
    }

    async fn until<T>(&self, ready: impl Fn(&State) -> Option<T>) -> T {
        loop {
            // Asked for before looking, so that a change between the two is not missed.
            let changed = self.changed_async.notified();
            if let Some(answer) = ready(&self.state()) {
                return answer;
            }
            changed.await;
        }
    }

    fn until_blocking<T>(&self, limit: Duration, ready: impl Fn(&State) -> Option<T>) -> Option<T> {
        let end = Instant::now() + limit;
        let mut state = self.state();
        loop {
            if let Some(answer) = ready(&state) {
                return Some(answer);
            }
            let left = end.checked_duration_since(Instant::now())?;
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn kill(&self) {
        if let Some(group) = &self.state().group {
            group.kill();
        }
    }
}

impl Child {
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// The child's output, line by line. Can be taken once; the channel closes after the last line.
    pub const fn lines(&mut self) -> Option<mpsc::Receiver<Line>> {
        self.lines.take()
    }

    /// Says one line to a child that was started with [`Command::listening`]. Waits while the child's input is
    /// full, so a caller that has the answer to one line before it says the next is never held up.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        input.write_all(format!("{line}\n").as_bytes())
    }

    /// How it ended, if it has.
    #[must_use]
    pub fn exit(&self) -> Option<Exit> {
        self.shared.state().exit
    }

    /// Waits for its end, which everything else in its group shares.
    pub async fn wait(&self) -> Exit {
        self.shared.until(|state| state.exit).await
    }

    /// Asks it to end, and kills it when it has not within `grace`.
    pub async fn terminate(&self, grace: Duration) -> Exit {
        if let Some(group) = &self.shared.state().group {
            group.ask_to_end();
        }
        if let Ok(exit) = tokio::time::timeout(grace, self.wait()).await {
            return exit;
        }
        self.kill();
        self.wait().await
    }

    /// Kills it and what it started, now.
    pub fn kill(&self) {
        self.shared.kill();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        tracing::trace!(program = %self.program.display(), pid = self.pid, "letting a child go");
        self.kill();
    }
}

pub(super) fn spawn(mut command: Command) -> Result<Child, ChildError> {
    let (to, lines) = mpsc::channel(command.lines_waiting);
    let sink = Sink::Lines(LineSink {
        to,
        log: command.log.take(),
        dropped: 0,
    });
    let mut child = start(command, &Arc::new(Mutex::new(sink)))?;
    child.lines = Some(lines);
    Ok(child)
}

#[expect(clippy::disallowed_methods, reason = "this is the home of children")]
fn start(command: Command, sink: &Arc<Mutex<Sink>>) -> Result<Child, ChildError> {
    let mut std_command = process::Command::new(&command.program);
    std_command
        .args(&command.arguments)
        .env_clear()
        .envs(command.environment)
        .stdin(if command.listening {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(folder) = &command.folder {
        std_command.current_dir(folder);
    }
    let program = command.program;
    let Started { mut child, group } =
        spawner::spawn(std_command, command.watched).map_err(|failure| match failure {
            SpawnFailure::Io(source) => ChildError::spawn(program.clone(), source),
            SpawnFailure::NoSpawner => ChildError::NoSpawner,
        })?;
    let pid = child.id();
    let (input, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            group: Some(group),
            exit: None,
            streams_open: 2,
        }),
        changed: Condvar::new(),
        changed_async: Notify::new(),
    });
    // From here on an early return drops this handle, which kills the child.
    let handle = Child {
        program,
        pid,
        lines: None,
        input,
        shared: Arc::clone(&shared),
    };
    let spawn_error = |source| ChildError::Spawn {
        program: handle.program.clone(),
        source,
    };
    {
        let shared = Arc::clone(&shared);
        thread::Builder::new()
            .name("plimsoll-wait".into())
            .spawn(move || wait_and_reap(child, &shared))
            .map_err(spawn_error)?;
    }
    if let Some(pipe) = out {
        reader(Stream::Out, pipe, sink, &shared).map_err(spawn_error)?;
    }
    if let Some(pipe) = err {
        reader(Stream::Err, pipe, sink, &shared).map_err(spawn_error)?;
    }
    Ok(handle)
}

fn reader(
    from: Stream,
    pipe: impl io::Read + Send + 'static,
    sink: &Arc<Mutex<Sink>>,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    let (sink, shared) = (Arc::clone(sink), Arc::clone(shared));
    let body = move || {
        drain(from, pipe, &sink);
        // Before the change is told, so that a channel of lines closes no later than its child is "ended".
        drop(sink);
        shared.change(|state| state.streams_open = state.streams_open.saturating_sub(1));
    };
    thread::Builder::new()
        .name("plimsoll-lines".into())
        .spawn(body)
        .map(drop)
}

fn wait_and_reap(mut child: process::Child, shared: &Shared) {
    system::wait_without_reaping(&mut child);
    // The leader is dead but its number still taken: the one moment to end what it left behind.
    let group = {
        let mut state = shared.state();
        if let Some(group) = &state.group {
            group.kill();
        }
        state.group.take()
    };
    let exit = child.wait().map_or(
        Exit {
            code: None,
            signal: None,
        },
        system::exit_of,
    );
    // This ends the watchdog as well, now that there is nothing left to watch.
    drop(group);
    shared.change(|state| state.exit = Some(exit));
}

/// What a short run said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub exit: Exit,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    /// More was said than the limit allows; the rest is not here.
    pub cut: bool,
}

impl Output {
    #[must_use]
    pub fn out_text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
    #[must_use]
    pub fn err_text(&self) -> String {
        String::from_utf8_lossy(&self.err).into_owned()
    }
}

/// Runs a short program to its end: a version, a help text, a probe that may hang. Each of its two streams is
/// kept up to `limit_output`; after `limit_time` it is killed.
pub async fn run_to_end(
    command: Command,
    limit_time: Duration,
    limit_output: Bytes,
) -> Result<Output, ChildError> {
    let (child, sink) = start_collecting(command, limit_output)?;
    let Ok(exit) = tokio::time::timeout(limit_time, child.wait()).await else {
        return Err(ChildError::TimedOut {
            program: child.program.clone(),
            limit: limit_time,
        });
    };
    let closed = child
        .shared
        .until(|state| (state.streams_open == 0).then_some(()));
    let _ = tokio::time::timeout(PIPES_MAX, closed).await;
    Ok(collected(exit, &sink))
}

/// The same where no async runtime runs.
pub fn run_to_end_blocking(
    command: Command,
    limit_time: Duration,
    limit_output: Bytes,
) -> Result<Output, ChildError> {
    let (child, sink) = start_collecting(command, limit_output)?;
    let Some(exit) = child.shared.until_blocking(limit_time, |state| state.exit) else {
        return Err(ChildError::TimedOut {
            program: child.program.clone(),
            limit: limit_time,
        });
    };
    let _ = child
        .shared
        .until_blocking(PIPES_MAX, |state| (state.streams_open == 0).then_some(()));
    Ok(collected(exit, &sink))
}

fn start_collecting(command: Command, limit: Bytes) -> Result<(Child, Arc<Mutex<Sink>>), ChildError> {
    let limit = usize::try_from(limit.0).unwrap_or(usize::MAX);
    let sink = Sink::Collect {
        limit,
        out: Vec::new(),
        err: Vec::new(),
        cut: false,
    };
    let sink = Arc::new(Mutex::new(sink));
    Ok((start(command, &sink)?, sink))
}

fn collected(exit: Exit, sink: &Mutex<Sink>) -> Output {
    match &mut *sink.lock().unwrap_or_else(PoisonError::into_inner) {
        Sink::Collect { out, err, cut, .. } => Output {
            exit,
            out: std::mem::take(out),
            err: std::mem::take(err),
            cut: *cut,
        },
        Sink::Lines(_) => Output {
            exit,
            out: Vec::new(),
            err: Vec::new(),
            cut: false,
        },
    }
}
