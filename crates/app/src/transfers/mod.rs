//! Downloads that run, ran or were stopped. One for each subject: asking again joins the one that runs, or
//! goes on where the last one ended.

mod rate;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plimsoll_hub::{Note, Watcher};
use plimsoll_os::jobs::Scope;
use plimsoll_units::Bytes;
use plimsoll_wire::{Event, Fault, Transfer, Transferring};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::bus::Bus;
use rate::Rate;

/// A page needs no more than this; what decides (the end, a change of state) is told at once.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// How a piece of fetching ended when nothing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Brought {
    All,
    Stopped,
}

#[derive(Clone)]
struct Entry {
    transfer: Transfer,
    stop: CancellationToken,
}

/// The state lives in the watch. Each entry is written by its own job only; a new one is put in by whoever
/// asks, in one atomic step, which is all that an owner task would add.
#[derive(Clone)]
pub(crate) struct Transfers {
    entries: watch::Sender<BTreeMap<String, Entry>>,
    bus: Bus,
    jobs: Scope,
}

impl Transfers {
    pub(crate) fn new(bus: Bus, jobs: Scope) -> Self {
        Self {
            entries: watch::Sender::new(BTreeMap::new()),
            bus,
            jobs,
        }
    }

    pub(crate) fn list(&self) -> Vec<Transfer> {
        self.entries
            .borrow()
            .values()
            .map(|entry| entry.transfer.clone())
            .collect()
    }

    /// Starts `work` unless the same subject is on its way. `subject` is also the id: what runs at most once
    /// needs no other name.
    pub(crate) fn start<F>(&self, subject: &str, work: impl FnOnce(Arc<dyn Watcher>, CancellationToken) -> F)
    where
        F: Future<Output = Result<Brought, Fault>> + Send + 'static,
    {
        let stop = self.jobs.token().child_token();
        let entry = Entry {
            transfer: Transfer {
                id: subject.to_owned(),
                subject: subject.to_owned(),
                state: Transferring::Running,
                done_bytes: 0,
                total_bytes: 0,
                bytes_per_s: 0,
                fault: None,
            },
            stop: stop.clone(),
        };
        let mut put_in = false;
        self.entries.send_if_modified(|entries| {
            put_in = entries
                .get(subject)
                .is_none_or(|entry| !is_running(&entry.transfer));
            if put_in {
                let before = entries.insert(subject.to_owned(), entry);
                if let (Some(before), Some(now)) = (before, entries.get_mut(subject)) {
                    // The bar goes on from where it was, until the first word from the transfer itself.
                    now.transfer.done_bytes = before.transfer.done_bytes;
                    now.transfer.total_bytes = before.transfer.total_bytes;
                }
            }
            put_in
        });
        if !put_in {
            return;
        }
        self.tell(subject);
        let teller = Arc::new(Teller {
            transfers: self.clone(),
            id: subject.to_owned(),
            pace: Mutex::new(Pace {
                rate: Rate::default(),
                told: None,
            }),
        });
        let work = work(teller, stop);
        let (this, id) = (self.clone(), subject.to_owned());
        // A transfer outlives the question that started it, and ends with the app.
        self.jobs.keep(|_| async move {
            let (state, fault) = match work.await {
                Ok(Brought::All) => (Transferring::Done, None),
                Ok(Brought::Stopped) => (Transferring::Stopped, None),
                Err(fault) => (Transferring::Failed, Some(fault)),
            };
            this.change(&id, |transfer| {
                transfer.state = state;
                transfer.bytes_per_s = 0;
                transfer.fault = fault;
                if state == Transferring::Done {
                    transfer.done_bytes = transfer.total_bytes;
                }
            });
            this.tell(&id);
        });
    }

    /// Asks it to stop; what came is kept. Nothing happens when it does not run.
    pub(crate) fn stop(&self, id: &str) {
        if let Some(entry) = self.entries.borrow().get(id) {
            entry.stop.cancel();
        }
    }

    /// Waits for its end. `None` for an id that was never started.
    pub(crate) async fn ended(&self, id: &str) -> Option<Transfer> {
        let mut entries = self.entries.subscribe();
        let ended = entries
            .wait_for(|entries| entries.get(id).is_none_or(|entry| !is_running(&entry.transfer)))
            .await
            .ok()?;
        ended.get(id).map(|entry| entry.transfer.clone())
    }

    /// Forgets a transfer that does not run: its model was removed.
    pub(crate) fn forget(&self, id: &str) {
        self.entries.send_if_modified(|entries| {
            let idle = entries.get(id).is_some_and(|entry| !is_running(&entry.transfer));
            idle && entries.remove(id).is_some()
        });
    }

    /// Wakes at every change of any of them.
    pub(crate) fn changes(&self) -> watch::Receiver<impl Sized + use<>> {
        self.entries.subscribe()
    }

    pub(crate) fn find(&self, id: &str) -> Option<Transfer> {
        self.entries.borrow().get(id).map(|entry| entry.transfer.clone())
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Transfer)) {
        self.entries.send_if_modified(|entries| {
            let Some(entry) = entries.get_mut(id) else {
                return false;
            };
            change(&mut entry.transfer);
            true
        });
    }

    fn tell(&self, id: &str) {
        if let Some(transfer) = self.find(id) {
            self.bus.tell(Event::TransferMoved { transfer });
        }
    }
}

fn is_running(transfer: &Transfer) -> bool {
    match transfer.state {
        Transferring::Running | Transferring::Checking => true,
        Transferring::Done | Transferring::Stopped | Transferring::Failed => false,
    }
}

/// Hears from the hub, on any thread and thousands of times, and passes on what a page can use.
struct Teller {
    transfers: Transfers,
    id: String,
    /// A lock, because the hub calls from threads that cannot wait for a task; held for a sum, never longer.
    pace: Mutex<Pace>,
}

struct Pace {
    rate: Rate,
    told: Option<Instant>,
}

impl Watcher for Teller {
    fn moved(&self, done: Bytes, total: Bytes) {
        let now = Instant::now();
        let (rate, due) = {
            let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
            let rate = pace.rate.at(now, done);
            let due = pace
                .told
                .is_none_or(|told| now.duration_since(told) >= TELL_EVERY);
            if due {
                pace.told = Some(now);
            }
            (rate, due)
        };
        if due {
            self.transfers.change(&self.id, |transfer| {
                transfer.state = Transferring::Running;
                transfer.done_bytes = done.0;
                transfer.total_bytes = total.0;
                transfer.bytes_per_s = rate;
            });
            self.transfers.tell(&self.id);
        }
    }

    fn noted(&self, note: Note) {
        match note {
            Note::Checking { .. } | Note::Placing { .. } => {
                self.transfers
                    .change(&self.id, |transfer| transfer.state = Transferring::Checking);
                self.transfers.tell(&self.id);
            }
            Note::Paused { file, pause } => tracing::info!(file, ?pause, "a transfer pauses"),
            Note::StartedOver { file, why } => tracing::info!(file, ?why, "a transfer starts over"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_os::jobs::Root;
    use plimsoll_units::Bytes;
    use plimsoll_wire::{Event, FaultCode, Transferring};

    use super::{Brought, Transfers};
    use crate::bus::Bus;
    use crate::fault::fault;

    #[tokio::test]
    async fn one_subject_is_fetched_once_and_goes_on_after_a_stop() {
        let (root, bus) = (Root::new(), Bus::new());
        let transfers = Transfers::new(bus.clone(), root.scope());
        let mut heard = bus.hear();
        transfers.start("m", |watcher, stop| async move {
            watcher.moved(Bytes(40), Bytes(100));
            stop.cancelled().await;
            Ok(Brought::Stopped)
        });
        transfers.start("m", |_, _| async { panic!("a second one beside the first") });
        transfers.stop("m");
        let stopped = transfers.ended("m").await.unwrap();
        assert_eq!((stopped.state, stopped.done_bytes), (Transferring::Stopped, 40));

        transfers.start("m", |watcher, _| async move {
            watcher.moved(Bytes(100), Bytes(100));
            Ok(Brought::All)
        });
        assert_eq!(
            transfers.find("m").unwrap().done_bytes,
            40,
            "the bar does not jump back"
        );
        let done = transfers.ended("m").await.unwrap();
        assert_eq!(
            (done.state, done.done_bytes, done.bytes_per_s),
            (Transferring::Done, 100, 0)
        );

        let mut states = Vec::new();
        while let Ok(Some(Event::TransferMoved { transfer })) =
            tokio::time::timeout(Duration::from_millis(100), heard.next()).await
        {
            states.push(transfer.state);
        }
        states.dedup();
        assert_eq!(
            states,
            [
                Transferring::Running,
                Transferring::Stopped,
                Transferring::Running,
                Transferring::Done
            ]
        );
    }

    #[tokio::test]
    async fn a_failed_one_says_why_and_can_be_tried_again() {
        let root = Root::new();
        let transfers = Transfers::new(Bus::new(), root.scope());
        transfers.start("m", |_, _| async { Err(fault(FaultCode::DiskFull, [])) });
        let failed = transfers.ended("m").await.unwrap();
        assert_eq!(failed.fault.map(|fault| fault.code), Some(FaultCode::DiskFull));
        transfers.start("m", |_, _| async { Ok(Brought::All) });
        assert_eq!(transfers.ended("m").await.unwrap().fault, None);
    }

    #[tokio::test]
    async fn nothing_runs_after_the_app() {
        let root = Root::new();
        let transfers = Transfers::new(Bus::new(), root.scope());
        transfers.start("m", |_, stop| async move {
            stop.cancelled().await;
            Ok(Brought::Stopped)
        });
        assert_eq!(
            root.end(Duration::from_secs(5)).await,
            plimsoll_os::jobs::Ending::AllEnded
        );
        assert_eq!(transfers.find("m").unwrap().state, Transferring::Stopped);
    }
}
