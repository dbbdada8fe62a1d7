//! Starting a router, finding another process's, and their ends.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_os::child::{Child, Exit};
use plimsoll_os::files::{self, Lock};
use plimsoll_os::jobs::Job;
use plimsoll_os::process;
use tokio::time::{Instant, sleep};

use super::super::client::Client;
use super::super::find::{Other, find_other, until_gone};
use super::super::life::{Death, Happened};
use super::super::listen::listen_to;
use super::super::place::{Place, StateFile};
use super::super::start::{Started, start};
use super::{Done, GRACE, Link, Note, Owner};
use crate::error::EngineError;
use crate::log::{Cause, LogMark, cause, lines_of_router};

impl Owner {
    /// Takes the lock and starts a router, or looks for the one of the process that has the lock.
    pub(super) fn begin(&mut self) {
        self.trouble = None;
        self.number += 1;
        let number = self.number;
        let lock = match self.lock.take() {
            Some(lock) => Ok(Some(lock)),
            None => Lock::try_exclusive(&self.place.lock()),
        };
        match lock {
            Ok(Some(lock)) => self.begin_own(lock),
            Ok(None) => {
                let place = self.place.clone();
                self.finding = Some(self.job(async move { Note::Found(number, find_other(&place).await) }));
            }
            Err(error) => self.failed(error.into(), Death::Hopeless),
        }
    }

    fn begin_own(&mut self, lock: Lock) {
        self.lock = Some(lock);
        sweep(&self.place);
        let (number, engines, place, ports) = (
            self.number,
            self.engines.clone(),
            self.place.clone(),
            self.ports.clone(),
        );
        self.finding =
            Some(self.job(async move { Note::Started(number, start(&engines, &place, &ports).await) }));
    }

    pub(super) fn started(&mut self, started: Result<Started, EngineError>) {
        self.finding = None;
        match started {
            Ok(Started {
                child,
                client,
                state,
                mark,
            }) => {
                let (number, ending) = (self.number, Arc::clone(&child));
                let end = self.job(async move {
                    let exit = ending.wait().await;
                    // Its last words pass through a thread of ours on their way to the log.
                    sleep(Duration::from_millis(100)).await;
                    Note::Ended(number, exit)
                });
                if let Err(error) = self.connect(client, state, Some(child), mark, end) {
                    self.failed(error, Death::Hopeless);
                    return;
                }
                self.write_state();
                self.happened(Happened::Answered);
            }
            Err(error) => {
                let death = if may_go_better(&error) {
                    Death::Crash
                } else {
                    Death::Hopeless
                };
                self.failed(error, death);
            }
        }
    }

    pub(super) fn found(&mut self, found: Result<Other, EngineError>) {
        self.finding = None;
        match found {
            Ok(Other::Router(state)) => self.follow(state),
            Ok(Other::Gone(lock)) => self.begin_own(lock),
            Err(error) => self.failed(error, Death::Hopeless),
        }
    }

    /// Who asks just after another owner died must not be sent to its dead router: the look that would
    /// notice comes up to a quarter of a second later.
    pub(super) fn notice_dead_other(&mut self) {
        let dead = |link: &Link| link.child.is_none() && !link.state.is_alive();
        if self.link.as_ref().is_some_and(dead) {
            self.happened(Happened::OtherGone);
        }
    }

    pub(super) fn look_for_other(&mut self) {
        if let Some(state) = StateFile::read(&self.place.state())
            && state.owner.pid != process::own_pid()
            && state.is_alive()
        {
            self.number += 1;
            self.follow(state);
        }
    }

    fn follow(&mut self, state: StateFile) {
        let (number, watched, path) = (self.number, state.clone(), self.place.state());
        let end = self.job(async move {
            until_gone(&watched, &path).await;
            Note::OtherGone(number)
        });
        let client = Client::new(&state.url, &state.key);
        let mark = LogMark::at_end(&self.place.log());
        match client.and_then(|client| self.connect(client, state, None, mark, end)) {
            Ok(()) => self.happened(Happened::FoundOther),
            Err(error) => self.failed(error, Death::Hopeless),
        }
    }

    fn connect(
        &mut self,
        client: Client,
        state: StateFile,
        child: Option<Arc<Child>>,
        mark: LogMark,
        end: Job<()>,
    ) -> Result<(), EngineError> {
        // Its owner may have removed it from the list since; the one in use is the best guess then.
        let engine = Arc::new(
            self.engines
                .find(&state.engine)
                .or_else(|_| self.engines.in_use())?,
        );
        let (listening, seen) = listen_to(&self.scope, client.clone());
        self.client.send_replace(Some(client.clone()));
        self.link = Some(Link {
            client,
            state,
            engine,
            seen,
            child,
            mark,
            _jobs: [listening, end],
        });
        Ok(())
    }

    pub(super) fn disconnect(&mut self) {
        self.drop_load();
        self.looking = None;
        self.resting.clear();
        self.client.send_replace(None);
        if let Some(link) = self.link.take() {
            if link.child.is_some() {
                remove_state(&self.place);
            }
            let trouble = self
                .trouble
                .clone()
                .unwrap_or_else(|| Arc::new(EngineError::RouterGone));
            self.models.router_gone(&trouble);
        }
    }

    fn failed(&mut self, error: EngineError, death: Death) {
        tracing::warn!(%error, "the router did not start");
        self.trouble = Some(Arc::new(error));
        self.happened(Happened::Died(death));
    }

    /// Our own router ended although we did not end it.
    pub(super) fn ended(&mut self, exit: Exit) {
        let lines = self
            .link
            .as_ref()
            .map(|link| link.mark.lines())
            .unwrap_or_default();
        let own = lines_of_router(&lines);
        let why = cause(&own, exit);
        tracing::warn!(%exit, cause = %why, "the router ended");
        let died = EngineError::RouterDied {
            exit,
            cause: why,
            tail: LogMark::tail(&own),
        };
        self.trouble = Some(Arc::new(died));
        self.happened(Happened::Died(if exit.is_success() {
            Death::InOrder
        } else {
            Death::Crash
        }));
    }

    pub(super) fn stop(&mut self, done: Done) {
        self.keep = false;
        self.stopping = true;
        self.trouble = None;
        let lock = self.lock.take();
        let link = self
            .link
            .as_ref()
            .map(|link| (link.child.clone(), link.state.router));
        self.happened(Happened::Unwanted);
        let job = self.job(async move {
            match link {
                // The lock goes when the last of it is gone, not earlier.
                Some((Some(child), _)) => drop((child.terminate(GRACE).await, lock)),
                Some((None, router)) => end_others(&router).await,
                None => {}
            }
            Note::Stopped(done)
        });
        self.others.push(job);
    }

    pub(super) fn write_state(&mut self) {
        let front = self.front.clone();
        let Some(link) = &mut self.link else { return };
        if link.child.is_none() {
            return;
        }
        link.state.front = front;
        if let Err(error) = link.state.write(&self.place.state()) {
            tracing::warn!(%error, "our other processes will not see this router");
        }
    }
}

/// Before a new router of ours: what a dead owner left is taken away. On Linux its router has died with it;
/// where that cannot be made sure of, one that still runs is ended, if it is the very one.
fn sweep(place: &Place) {
    if let Some(left) = StateFile::read(&place.state())
        && left.router_is_alive()
        && !process::is_alive(&left.owner)
    {
        tracing::warn!(pid = left.router.pid, "ending a router whose owner is gone");
        let asked = process::ask_to_end(&left.router);
        tracing::debug!(asked, "the router of a dead owner");
    }
    remove_state(place);
}

pub(super) fn remove_state(place: &Place) {
    if let Err(error) = files::remove_file(&place.state()) {
        tracing::warn!(%error, "a state file stays behind");
    }
}

/// A router that another process of ours owns: asked to end, which its owner takes for what it is.
async fn end_others(router: &process::Identity) {
    if process::ask_to_end(router) {
        let end = Instant::now() + GRACE;
        while process::is_alive(router) && Instant::now() < end {
            sleep(Duration::from_millis(50)).await;
        }
    }
}

fn may_go_better(error: &EngineError) -> bool {
    if let EngineError::RouterFailed { cause, .. } = error {
        return !matches!(cause, Cause::OptionRefused { .. });
    }
    matches!(
        error,
        EngineError::RouterSilent { .. } | EngineError::RouterGone | EngineError::PortTaken { .. }
    )
}
