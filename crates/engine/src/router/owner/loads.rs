//! What happens to models on the router that is there.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_os::child::Exit;
use plimsoll_os::clock;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::super::client::{Client, Slot};
use super::super::load::{Load, STILL_MAX, agree, is_down, last_words, unload_and_wait};
use super::super::models::Crash;
use super::super::preset::{Preset, router_id};
use super::super::proof::prove;
use super::super::residency::{HostMemory, Wanted};
use super::{Done, Note, Owner};
use crate::error::EngineError;
use crate::log::{LogMark, cause};

impl Owner {
    pub(super) fn start_next_load(&mut self) {
        let Some(link) = self.link.as_ref().filter(|_| self.resting.is_empty()) else {
            return;
        };
        let Some((plan, budget)) = self.models.start_next() else {
            return;
        };
        let (steps, mut told) = mpsc::channel(8);
        let load = Load {
            budget,
            held: self.models.held_beside(&plan, Instant::now()),
            plan,
            client: link.client.clone(),
            seen: link.seen.clone(),
            router: link.state.router.pid,
            engine: Arc::clone(&link.engine),
            engines: self.engines.clone(),
            place: self.place.clone(),
            tell: steps,
            still_max: STILL_MAX,
        };
        self.load_number += 1;
        let (number, notes) = (self.load_number, self.notes.clone());
        self.loading = Some(self.job(async move {
            let mut load = std::pin::pin!(load.run());
            loop {
                tokio::select! {
                    biased;
                    Some(step) = told.recv() => drop(notes.send(Note::LoadMoved(number, step)).await),
                    ended = &mut load => return Note::LoadEnded(number, ended),
                }
            }
        }));
    }

    pub(super) fn unload(&mut self, id: String, done: Done) {
        if self.models.unwant(&id) {
            self.drop_load();
        }
        let Some(link) = &self.link else {
            self.answers.push((done, Ok(())));
            return;
        };
        let (client, mut seen) = (link.client.clone(), link.seen.clone());
        let job = self.job(async move {
            let name = router_id(&id).into_owned();
            let result = unload_and_wait(&client, &name).await;
            if result.is_ok() {
                agree(&mut seen, &name, is_down).await;
            }
            Note::Unloaded(id, result, done)
        });
        self.others.push(job);
    }

    /// Asks the slots of models that may go. Only where the router is ours: what another process of ours does is its own
    /// business.
    pub(super) fn look_at_use(&mut self) {
        if self.awake.slept(Instant::now(), clock::now_ms()) {
            tracing::info!("the machine has slept");
            self.slept = true;
        }
        if self.loading.is_some() || !self.resting.is_empty() || self.looking.is_some() {
            return;
        }
        let Some(link) = self.link.as_ref().filter(|link| link.child.is_some()) else {
            return;
        };
        let wanted = if self.slept && self.keeping.release_on_sleep {
            Wanted::AllIdle
        } else if (self.memory.0)().is_some_and(HostMemory::is_low) {
            Wanted::OneIdle
        } else {
            Wanted::Nothing
        };
        // After a sleep everybody has to show that it still computes.
        let look = if self.slept { Wanted::AllIdle } else { wanted };
        let names = self.models.to_look_at(self.keeping.idle_max, look);
        if names.is_empty() {
            self.slept = false;
            return;
        }
        let (client, number) = (link.client.clone(), self.number);
        self.looking = Some(self.job(async move {
            let mut all = Vec::new();
            for name in names {
                // One that does not answer is no idle one.
                if let Ok(slots) = client.slots(&name).await {
                    all.push((name, slots));
                }
            }
            Note::Slots(number, wanted, all)
        }));
    }

    pub(super) fn looked_at_use(&mut self, wanted: Wanted, slots: &[(String, Vec<Slot>)]) {
        self.looking = None;
        let (over, idle) = self
            .models
            .looked(slots, self.keeping.idle_max, wanted, Instant::now());
        if std::mem::take(&mut self.slept) {
            for name in idle {
                self.probe(name, None);
            }
        }
        if !over.is_empty() {
            tracing::info!(models = ?over, ?wanted, "idle models give their memory back");
            self.rest(over, None);
        }
    }

    /// Unloads models that are shown as gone already. Loads wait for it.
    fn rest(&mut self, names: Vec<String>, done: Option<oneshot::Sender<bool>>) {
        let Some(link) = &self.link else { return };
        let (client, mut seen) = (link.client.clone(), link.seen.clone());
        self.rest_number += 1;
        let number = self.rest_number;
        let job = self.job(async move {
            for name in &names {
                match unload_and_wait(&client, name).await {
                    Ok(()) => agree(&mut seen, name, is_down).await,
                    Err(error) => tracing::warn!(%error, model = name, "an idle model stays"),
                }
            }
            Note::Rested(number, names, done)
        });
        self.resting.insert(number, job);
    }

    /// Something went wrong with a model.
    pub(super) fn doubt(&mut self, id: &str, done: oneshot::Sender<bool>) {
        let name = router_id(id).into_owned();
        if self.link.is_some() && self.models.is_up(&name) {
            self.probe(name, Some(done));
        } else {
            // Whoever wants it loads it, or waits for that.
            let _ = done.send(true);
        }
    }

    fn probe(&mut self, name: String, done: Option<oneshot::Sender<bool>>) {
        let Some(link) = &self.link else { return };
        let client = link.client.clone();
        let job = self.job(async move {
            let answers = still_answers(&client, &name).await;
            Note::Doubted(name, answers, done)
        });
        self.others.push(job);
    }

    pub(super) fn doubted(
        &mut self,
        name: String,
        answers: Result<(), EngineError>,
        done: Option<oneshot::Sender<bool>>,
    ) {
        let gone = !self.models.is_up(&name);
        match answers {
            Err(error) if !gone => {
                tracing::warn!(%error, model = name, "a loaded model does not answer any more and is unloaded");
                self.models.send_away(&name);
                self.rest(vec![name], done);
            }
            Ok(()) | Err(_) => {
                if let Some(done) = done {
                    let _ = done.send(gone);
                }
            }
        }
    }

    pub(super) fn look_at_models(&mut self) {
        let Some(link) = &mut self.link else { return };
        let seen = link.seen.borrow_and_update().clone();
        let place = &self.place;
        let about = |name: &str| {
            Preset::read(&place.preset())
                .ok()?
                .get(name)
                .map(|section| section.about.clone())
        };
        for crash in self.models.saw(&seen, about) {
            let job = self.job(async move {
                let Crash { name, id, exit, log } = crash;
                let lines = match &log {
                    Some((mark, port)) => last_words(mark, *port).await,
                    None => Vec::new(),
                };
                let cause = cause(
                    &lines,
                    Exit {
                        code: Some(exit),
                        signal: None,
                    },
                );
                let tail = LogMark::tail(&lines);
                let trouble = EngineError::ModelCrashed {
                    id,
                    exit: Some(exit),
                    cause,
                    tail,
                };
                Note::LookedInto(name, trouble)
            });
            self.others.push(job);
        }
    }
}

/// Nothing may come from a model in doubt for this long. One token of the slowest model is faster.
const SILENCE_MAX: Duration = Duration::from_mins(1);

/// The slots are told between two batches.
const SLOTS_MAX: Duration = Duration::from_secs(15);

/// Whether a loaded model still computes. One that works in all of its slots does: what it says of them comes from the
/// very loop that computes.
async fn still_answers(client: &Client, name: &str) -> Result<(), EngineError> {
    let slots = match timeout(SLOTS_MAX, client.slots(name)).await {
        Ok(slots) => slots?,
        Err(_) => {
            return Err(EngineError::ProofFailed {
                id: name.to_owned(),
                problem: format!("no word of its slots for {} s", SLOTS_MAX.as_secs()),
                tail: Vec::new(),
            });
        }
    };
    if !slots.is_empty() && slots.iter().all(|slot| slot.is_processing) {
        return Ok(());
    }
    prove(client, name, SILENCE_MAX).await.map(drop)
}

#[cfg(test)]
mod tests {
    use plimsoll_testkit::router::{FakeRouter, Says};

    use super::*;

    #[tokio::test]
    async fn one_that_answers_500_for_ever_is_found_although_its_health_is_200() {
        let fake = FakeRouter::start(&["m"]).await;
        let client = Client::new(&fake.url, &fake.key).unwrap();
        fake.load_by_itself("m");
        assert!(still_answers(&client, "m").await.is_ok());
        for wedged in [Says::Http500, Says::ErrorInStream, Says::BreaksOff] {
            fake.says(&[wedged]);
            assert!(client.is_up().await);
            let found = still_answers(&client, "m").await;
            assert!(
                matches!(found, Err(EngineError::ProofFailed { .. })),
                "{wedged:?}: {found:?}"
            );
        }
        // At work for somebody it is left alone.
        fake.set_busy(true);
        fake.says(&[Says::Http500]);
        assert!(still_answers(&client, "m").await.is_ok());
    }
}
