//! The tree of running work: the only home of `tokio::spawn`.
//!
//! A [`Scope`] is a branch: stopping it stops everything below. A [`Job`] is one piece of work whose handle
//! stops it when dropped, so nothing runs that nobody holds. Being stopped is an outcome of the work, not an
//! error: a body is given a token and returns when it fires.

use std::any::Any;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// The root of the tree. Dropping it stops everything.
#[derive(Debug)]
pub struct Root {
    scope: Scope,
    _on_drop: DropGuard,
}

impl Root {
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "a tree is planted on purpose, not by default"
    )]
    pub fn new() -> Self {
        let stop = CancellationToken::new();
        Self {
            scope: Scope {
                stop: stop.clone(),
                running: TaskTracker::new(),
            },
            _on_drop: stop.drop_guard(),
        }
    }

    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope.clone()
    }

    /// Stops everything and waits for it, at most `limit` long. Says whether all of it ended.
    pub async fn end(self, limit: Duration) -> Ending {
        self.scope.end(limit).await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    AllEnded,
    /// So many jobs did not hear the stop in time.
    StillRunning(usize),
}

/// A branch of the tree; clones are the same branch.
#[derive(Debug, Clone)]
pub struct Scope {
    stop: CancellationToken,
    running: TaskTracker,
}

impl Scope {
    /// A branch below this one.
    #[must_use]
    pub fn child(&self) -> Self {
        // The tracker is shared: whoever waits for the root waits for the whole tree.
        Self {
            stop: self.stop.child_token(),
            running: self.running.clone(),
        }
    }

    /// Work that ends with its handle.
    pub fn start<T, F>(&self, body: impl FnOnce(CancellationToken) -> F) -> Job<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let stop = self.stop.child_token();
        let handle = self.running.spawn(body(stop.clone()));
        Job {
            handle,
            stop: stop.clone(),
            _on_drop: stop.drop_guard(),
        }
    }

    /// Work that blocks its thread: hashing, parsing, reading a header. It looks at the token now and then.
    pub fn start_blocking<T: Send + 'static>(
        &self,
        body: impl FnOnce(CancellationToken) -> T + Send + 'static,
    ) -> Job<T> {
        let stop = self.stop.child_token();
        let for_body = stop.clone();
        let handle = self.running.spawn_blocking(move || body(for_body));
        Job {
            handle,
            stop: stop.clone(),
            _on_drop: stop.drop_guard(),
        }
    }

    /// Work that belongs to the scope itself and ends when the scope is stopped.
    pub fn keep<F>(&self, body: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.running.spawn(body(self.stop.child_token()));
    }

    /// Asks everything on this branch to stop; does not wait.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.stop.clone()
    }

    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    async fn end(&self, limit: Duration) -> Ending {
        self.stop.cancel();
        self.running.close();
        match tokio::time::timeout(limit, self.running.wait()).await {
            Ok(()) => Ending::AllEnded,
            Err(_) => Ending::StillRunning(self.running.len()),
        }
    }
}

/// Why a job has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    #[error("the work panicked: {message}")]
    Panicked { message: String },
    #[error("the runtime ended before the work did")]
    RuntimeEnded,
}

/// A running piece of work. Await it for its result; drop it to ask it to stop.
#[derive(Debug)]
pub struct Job<T> {
    handle: JoinHandle<T>,
    stop: CancellationToken,
    _on_drop: DropGuard,
}

impl<T> Job<T> {
    /// Asks the work to stop and waits for what it returns then.
    pub async fn stop(self) -> Result<T, JobError> {
        self.stop.cancel();
        self.await
    }

    /// Asks the work to stop; does not wait.
    pub fn ask_to_stop(&self) {
        self.stop.cancel();
    }

    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl<T> Future for Job<T> {
    type Output = Result<T, JobError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle)
            .poll(context)
            .map(|done| done.map_err(why))
    }
}

fn why(error: JoinError) -> JobError {
    match error.try_into_panic() {
        Ok(payload) => JobError::Panicked {
            message: panic_message(payload.as_ref()),
        },
        Err(_) => JobError::RuntimeEnded,
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_dropped_handle_stops_its_work() {
        let root = Root::new();
        let stopped = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stopped);
        let job = root.scope().start(|stop| async move {
            stop.cancelled().await;
            told.store(true, Ordering::SeqCst);
        });
        drop(job);
        assert_eq!(root.end(Duration::from_secs(5)).await, Ending::AllEnded);
        assert!(stopped.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn stopping_a_branch_leaves_its_siblings_alone() {
        let root = Root::new();
        let (left, right) = (root.scope().child(), root.scope().child());
        let below = left.child().start(|stop| async move { stop.cancelled().await });
        let beside = right.start(|stop| async move { stop.cancelled().await });
        left.stop();
        assert_eq!(below.await, Ok(()));
        assert!(!beside.is_finished());
        assert_eq!(beside.stop().await, Ok(()));
    }

    #[tokio::test]
    async fn a_panic_is_told_with_its_words() {
        let root = Root::new();
        let job: Job<()> = root.scope().start(|_| async { panic!("the hull leaks") });
        assert_eq!(
            job.await,
            Err(JobError::Panicked {
                message: "the hull leaks".into()
            })
        );
    }

    #[tokio::test]
    async fn what_does_not_listen_is_counted() {
        let root = Root::new();
        root.scope().keep(|_| std::future::pending());
        assert_eq!(root.end(Duration::from_millis(20)).await, Ending::StillRunning(1));
    }
}
