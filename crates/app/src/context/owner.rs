//! Who keeps the accounts of conversations, and the summaries that are made while a person reads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_os::clock;
use plimsoll_os::jobs::{Job, Scope};
use plimsoll_store::{Store, StoreError};
use plimsoll_wire::{CompactionOutcome, Event, GateMoment, GateVerdict};
use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;

use super::live::{Live, Pending, Terms};
use super::summarise::{Asked, Summariser};
use crate::bus::Bus;

/// Conversations whose accounts stay in memory; of others the store has what is needed.
const LIVE_MAX: usize = 16;
/// How long the next message waits for a summary to let go of the slot.
const LET_GO_MAX: Duration = Duration::from_secs(5);

pub(crate) type Shared = Arc<AsyncMutex<Live>>;

struct Entry {
    live: Shared,
    used: u64,
    /// The summary that is being made meanwhile.
    idle: Option<Job<()>>,
}

#[derive(Default)]
struct All {
    entries: BTreeMap<String, Entry>,
    clock: u64,
}

/// The accounts of all conversations. A map and no task: entries are only put in and taken out.
#[derive(Clone)]
pub(crate) struct Contexts {
    pub(crate) store: Store,
    pub(crate) bus: Bus,
    jobs: Scope,
    all: Arc<Mutex<All>>,
}

impl Contexts {
    pub(crate) fn new(store: Store, bus: Bus, jobs: Scope) -> Self {
        Self {
            store,
            bus,
            jobs,
            all: Arc::default(),
        }
    }

    /// The account of a conversation, from memory or from what the store kept.
    pub(crate) async fn of(&self, conversation: &str) -> Result<Shared, StoreError> {
        if let Some(live) = self.find(conversation) {
            return Ok(live);
        }
        let loaded = Arc::new(AsyncMutex::new(Live::load(&self.store, conversation).await?));
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.clock += 1;
        let used = all.clock;
        // Somebody else may have been quicker.
        let live = Arc::clone(
            &all.entries
                .entry(conversation.to_owned())
                .or_insert(Entry {
                    live: loaded,
                    used,
                    idle: None,
                })
                .live,
        );
        while all.entries.len() > LIVE_MAX {
            let unused = all
                .entries
                .iter()
                .filter(|(_, entry)| Arc::strong_count(&entry.live) == 1 && entry.idle.is_none())
                .min_by_key(|(_, entry)| entry.used)
                .map(|(id, _)| id.clone());
            let Some(unused) = unused else { break };
            all.entries.remove(&unused);
        }
        Ok(live)
    }

    fn find(&self, conversation: &str) -> Option<Shared> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.clock += 1;
        let used = all.clock;
        let entry = all.entries.get_mut(conversation)?;
        entry.used = used;
        Some(Arc::clone(&entry.live))
    }

    /// Forgets what is in memory: the conversation is gone, or another process changed it.
    pub(crate) fn forget(&self, conversation: &str) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.entries.remove(conversation);
    }

    /// A person has the word: what is made meanwhile, for any conversation, lets go of its slot.
    pub(crate) async fn stop_idle(&self) {
        let jobs: Vec<Job<()>> = {
            let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
            all.entries
                .values_mut()
                .filter_map(|entry| entry.idle.take())
                .collect()
        };
        for job in jobs {
            job.ask_to_stop();
            // One that does not end is left behind: it holds no lock while it waits.
            let _ = tokio::time::timeout(LET_GO_MAX, job).await;
        }
    }

    /// What was learned about a route in earlier runs.
    pub(crate) async fn rates(&self, terms: &Terms) -> Option<Value> {
        let kept = self.store.route_rates(&terms.rates_key).await.ok().flatten()?;
        serde_json::from_str(&kept).ok()
    }

    pub(crate) fn tell(&self, conversation: &str, compacting: bool) {
        self.bus.tell(Event::ContextChanged {
            conversation: conversation.to_owned(),
            compacting,
        });
    }

    /// The answer is there and the person reads it: time to write down what decided, and for a summary, if one is
    /// due. `summariser`: `None` where the answer failed.
    pub(crate) fn while_reading(&self, conversation: &str, live: Shared, summariser: Option<Summariser>) {
        let this = self.clone();
        let id = conversation.to_owned();
        let job = self.jobs.start(|stop| async move {
            live.lock().await.save(&this.store).await;
            let Some(summariser) = summariser else { return };
            let work = this.summary_ahead(&live, &summariser);
            let stopped = tokio::select! { biased;
                () = stop.cancelled() => true,
                () = work => false,
            };
            let mut live = live.lock().await;
            if stopped && live.is_compacting() && live.pending.is_none() {
                live.end_stopped();
                this.tell(&id, false);
            }
            live.save(&this.store).await;
        });
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = all.entries.get_mut(conversation) {
            entry.idle = Some(job);
        }
    }

    async fn summary_ahead(&self, live: &Shared, summariser: &Summariser) {
        let (conversation, asked) = {
            let mut live = live.lock().await;
            let due = live
                .gate(GateMoment::Idle)
                .is_some_and(|gate| gate.verdict == GateVerdict::Compact);
            if !due || live.pending.is_some() || !live.begin_compaction() {
                return;
            }
            let asked = match live.cut() {
                Some(Ok(plan)) => Some(Asked::of(&live, plan)),
                Some(Err(_)) | None => None,
            };
            let Some(asked) = asked else {
                live.end_compaction(CompactionOutcome::NoOp, None);
                return;
            };
            (live.conversation.clone(), asked)
        };
        self.tell(&conversation, true);
        let made = summariser.make(&asked).await;
        let mut live = live.lock().await;
        match made {
            Ok(made) => {
                // It is used at the beginning of the next turn, if nothing changed until then; there is no
                // other one until it was.
                live.pending = Some(Pending {
                    made,
                    rows: asked.rows.clone(),
                });
            }
            Err(outcome) => live.end_compaction(outcome, None),
        }
        let ahead = live.pending.as_ref().map(|pending| live.ahead(pending));
        drop(live);
        self.tell(&conversation, false);
        // The next turn then finds its prompt read already.
        if let Some(request) = ahead.flatten() {
            summariser.warm(request).await;
        }
    }

    /// Writes a compaction down and lets it hold. What cannot be written down does not hold.
    pub(crate) async fn commit(&self, live: &mut Live, made: super::rows::Active) -> CompactionOutcome {
        let body = serde_json::to_string(&made.kept).unwrap_or_default();
        let written = self
            .store
            .add_compaction(&live.conversation, &made.id, body, clock::now_s())
            .await;
        match written {
            Ok(()) => {
                live.committed(made);
                CompactionOutcome::Committed
            }
            Err(error) => {
                tracing::warn!(%error, conversation = live.conversation, "a compaction is not written down");
                live.end_compaction(CompactionOutcome::ProviderError, None);
                CompactionOutcome::ProviderError
            }
        }
    }

    /// The one that was made ahead, at the beginning of a turn: used, or thrown away when the conversation is no
    /// longer the one that it is of.
    pub(crate) async fn use_pending(&self, live: &mut Live) {
        let Some(pending) = live.pending.take() else {
            return;
        };
        if live.is_fresh(&pending) {
            self.commit(live, pending.made).await;
        } else {
            live.end_compaction(CompactionOutcome::DiscardedStale, None);
        }
        let conversation = live.conversation.clone();
        self.tell(&conversation, false);
    }
}
