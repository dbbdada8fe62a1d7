//! Downloads that run, ran or were stopped. One for each subject: asking again joins the one that runs, or
//! goes on where the last one ended.

mod ledger;
mod ranges;
mod rate;

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use plimsoll_hub::{Note, Watcher};
use plimsoll_os::clock;
use plimsoll_os::jobs::Scope;
use plimsoll_store::{Store, StoreError};
use plimsoll_units::Bytes;
use plimsoll_wire::{Event, Fault, FaultCode, Reason, Transfer, TransferFile, Transferring};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::bus::Bus;
use crate::fault::fault;
use ledger::Ledger;
pub(crate) use ranges::RangeLedger;
use rate::Rate;

/// A page needs no more than this; what decides (the end, a change of state) is told at once.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// After a kill, at most so much of the progress is not known; the bytes themselves are all there.
const SAVE_EVERY: Duration = Duration::from_secs(5);

/// Sets of more files than this are shown as one bar only.
const FILES_SHOWN_MAX: usize = 64;

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
    ledger: Ledger,
    jobs: Scope,
    /// What was running when the last run of the program was cut off, until somebody takes it up.
    cut: Arc<Mutex<Vec<String>>>,
}

impl Transfers {
    /// Knows what the last run of the program did not finish.
    pub(crate) async fn open(bus: Bus, store: Store, jobs: Scope) -> Result<Self, StoreError> {
        let ledger = Ledger(store);
        let unfinished = ledger.unfinished().await?;
        let cut = unfinished
            .iter()
            .filter(|(_, cut)| *cut)
            .map(|(transfer, _)| transfer.id.clone())
            .collect();
        let known = unfinished.into_iter().map(|(transfer, _)| {
            let stop = jobs.token().child_token();
            (transfer.id.clone(), Entry { transfer, stop })
        });
        let entries = watch::Sender::new(known.collect());
        Ok(Self {
            entries,
            bus,
            ledger,
            jobs,
            cut: Arc::new(Mutex::new(cut)),
        })
    }

    /// The ids of transfers that ran when the last run of the program was cut off; each is given once.
    pub(crate) fn take_cut(&self) -> Vec<String> {
        std::mem::take(&mut self.cut.lock().unwrap_or_else(PoisonError::into_inner))
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
                notes: Vec::new(),
                seconds_left: None,
                files: None,
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
                files: BTreeMap::new(),
            }),
        });
        let work = work(teller, stop);
        let (this, id) = (self.clone(), subject.to_owned());
        // A transfer outlives the question that started it, and ends with the app.
        self.jobs.keep(|_| async move {
            let started_at = clock::now_s();
            let (state, fault) = match this.accompany(&id, work, started_at).await {
                Ok(Brought::All) => (Transferring::Done, None),
                Ok(Brought::Stopped) => (Transferring::Stopped, None),
                Err(fault) => (Transferring::Failed, Some(fault)),
            };
            let Some(mut ended) = this.find(&id) else { return };
            ended.state = state;
            ended.bytes_per_s = 0;
            ended.seconds_left = None;
            ended.fault = fault;
            if state == Transferring::Done {
                ended.done_bytes = ended.total_bytes;
            }
            // Before anybody hears of it: whoever does may want it forgotten.
            this.ledger.save(&ended, started_at).await;
            this.change(&id, |transfer| *transfer = ended);
            this.tell(&id);
        });
    }

    /// Writes down how far it is, from its beginning to its end.
    async fn accompany(
        &self,
        id: &str,
        work: impl Future<Output = Result<Brought, Fault>> + Send,
        started_at: i64,
    ) -> Result<Brought, Fault> {
        let work = AssertUnwindSafe(work).catch_unwind();
        let mut work = pin!(work);
        let mut save = tokio::time::interval(SAVE_EVERY);
        loop {
            tokio::select! { biased;
                ended = &mut work => return ended.unwrap_or_else(|_| Err(fault(FaultCode::Internal, []))),
                _ = save.tick() => self.save(id, started_at).await,
            }
        }
    }

    async fn save(&self, id: &str, started_at: i64) {
        if let Some(transfer) = self.find(id) {
            self.ledger.save(&transfer, started_at).await;
        }
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

    /// Forgets a transfer that does not run: its model was removed, or nobody wants it any more.
    pub(crate) async fn forget(&self, id: &str) {
        self.ledger.forget(id).await;
        if let Some(mut gone) = self.find(id).filter(|transfer| !is_running(transfer)) {
            gone.state = Transferring::Cancelled;
            self.bus.tell(Event::TransferMoved { transfer: gone });
        }
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

    /// Something that should be known of a transfer and does not stop it.
    pub(crate) fn note(&self, id: &str, note: Reason) {
        self.change(id, |transfer| transfer.notes.push(note));
        self.tell(id);
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
        Transferring::Done | Transferring::Stopped | Transferring::Cancelled | Transferring::Failed => false,
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
    files: BTreeMap<String, (Bytes, Bytes)>,
}

impl Watcher for Teller {
    fn moved(&self, done: Bytes, total: Bytes) {
        let now = Instant::now();
        let (rate, files) = {
            let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
            let rate = pace.rate.at(now, done);
            let due = pace
                .told
                .is_none_or(|told| now.duration_since(told) >= TELL_EVERY);
            let files = due.then(|| {
                pace.told = Some(now);
                pace.files.iter().map(file_of).collect::<Vec<_>>()
            });
            (rate, files)
        };
        if let Some(files) = files {
            self.transfers.change(&self.id, |transfer| {
                transfer.state = Transferring::Running;
                transfer.done_bytes = done.0;
                transfer.total_bytes = total.0;
                transfer.bytes_per_s = rate;
                transfer.seconds_left = total.less(done).0.checked_div(rate);
                transfer.files = Some(files);
            });
            self.transfers.tell(&self.id);
        }
    }

    fn moved_in(&self, file: &str, done: Bytes, total: Bytes) {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = pace.files.len() < FILES_SHOWN_MAX;
        if let Some(known) = pace.files.get_mut(file) {
            *known = (done, total);
        } else if has_room {
            pace.files.insert(file.to_owned(), (done, total));
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

fn file_of((name, (done, total)): (&String, &(Bytes, Bytes))) -> TransferFile {
    TransferFile {
        name: name.clone(),
        done_bytes: done.0,
        total_bytes: total.0,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_os::jobs::Root;
    use plimsoll_store::Store;
    use plimsoll_units::Bytes;
    use plimsoll_wire::{Event, FaultCode, Transferring};
    use tempfile::TempDir;

    use super::{Brought, Transfers};
    use crate::bus::Bus;
    use crate::fault::fault;

    struct Port {
        root: Root,
        bus: Bus,
        folder: TempDir,
        transfers: Transfers,
    }

    impl Port {
        async fn open() -> Self {
            let (root, bus, folder) = (Root::new(), Bus::new(), tempfile::tempdir().unwrap());
            let transfers = Self::transfers(&root, &bus, &folder).await;
            Self {
                root,
                bus,
                folder,
                transfers,
            }
        }

        async fn transfers(root: &Root, bus: &Bus, folder: &TempDir) -> Transfers {
            let store = Store::open(&folder.path().join("t.db"), 1).await.unwrap();
            Transfers::open(bus.clone(), store, root.scope()).await.unwrap()
        }
    }

    #[tokio::test]
    async fn one_subject_is_fetched_once_and_goes_on_after_a_stop() {
        let port = Port::open().await;
        let transfers = &port.transfers;
        let mut heard = port.bus.hear();
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
            tokio::time::timeout(Duration::from_millis(500), heard.next()).await
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
        let port = Port::open().await;
        let transfers = &port.transfers;
        transfers.start("m", |_, _| async { Err(fault(FaultCode::DiskFull, [])) });
        let failed = transfers.ended("m").await.unwrap();
        assert_eq!(failed.fault.map(|fault| fault.code), Some(FaultCode::DiskFull));
        transfers.start("m", |_, _| async { Ok(Brought::All) });
        assert_eq!(transfers.ended("m").await.unwrap().fault, None);
        transfers.start("m", |_, _| async { panic!("a defect, on purpose") });
        let defect = transfers.ended("m").await.unwrap();
        assert_eq!(
            defect.fault.map(|fault| fault.code),
            Some(FaultCode::Internal),
            "it ends all the same"
        );
    }

    #[tokio::test]
    async fn the_next_run_of_the_program_knows_what_was_not_finished() {
        let port = Port::open().await;
        for subject in ["cut", "stopped", "done"] {
            port.transfers.start(subject, move |watcher, stop| async move {
                watcher.moved(Bytes(30), Bytes(100));
                match subject {
                    "done" => Ok(Brought::All),
                    "stopped" => {
                        stop.cancelled().await;
                        Ok(Brought::Stopped)
                    }
                    _ => std::future::pending().await,
                }
            });
        }
        port.transfers.stop("stopped");
        port.transfers.ended("stopped").await;
        port.transfers.ended("done").await;
        let written = async {
            while port.transfers.ledger.unfinished().await.unwrap().len() < 2 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), written)
            .await
            .expect("both are written down");
        let later = Port::transfers(&port.root, &port.bus, &port.folder).await;
        let known: Vec<_> = later
            .list()
            .into_iter()
            .map(|t| (t.id, t.state, t.total_bytes))
            .collect();
        let stopped = Transferring::Stopped;
        assert_eq!(
            known,
            [
                ("cut".to_owned(), stopped, 100),
                ("stopped".to_owned(), stopped, 100)
            ]
        );
        assert_eq!(
            later.take_cut(),
            ["cut"],
            "a stop sticks; only what was cut off goes on"
        );
        assert!(later.take_cut().is_empty(), "once");
    }

    #[tokio::test]
    async fn a_cancelled_one_is_told_and_gone_after_a_restart() {
        let port = Port::open().await;
        let mut heard = port.bus.hear();
        port.transfers.start("m", |watcher, stop| async move {
            watcher.moved_in("m.gguf", Bytes(30), Bytes(100));
            watcher.moved(Bytes(30), Bytes(100));
            stop.cancelled().await;
            Ok(Brought::Stopped)
        });
        port.transfers.stop("m");
        let stopped = port.transfers.ended("m").await.unwrap();
        assert_eq!(
            stopped.files.map(|files| files.len()),
            Some(1),
            "and each file is told of"
        );
        port.transfers.forget("m").await;
        assert!(port.transfers.find("m").is_none());
        let mut last = None;
        while let Ok(Some(Event::TransferMoved { transfer })) =
            tokio::time::timeout(Duration::from_millis(300), heard.next()).await
        {
            last = Some(transfer.state);
        }
        assert_eq!(last, Some(Transferring::Cancelled));
        let later = Port::transfers(&port.root, &port.bus, &port.folder).await;
        assert!(later.list().is_empty() && later.take_cut().is_empty());
    }

    #[tokio::test]
    async fn nothing_runs_after_the_app() {
        let Port { root, transfers, .. } = Port::open().await;
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
