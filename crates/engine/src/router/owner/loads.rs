//! What happens to models on the router that is there.

use std::sync::Arc;

use plimsoll_os::child::Exit;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::super::load::{Load, STILL_MAX, agree, is_down, last_words, unload_and_wait};
use super::super::models::Crash;
use super::super::preset::{Preset, router_id};
use super::{Done, Note, Owner};
use crate::error::EngineError;
use crate::log::{LogMark, cause};

impl Owner {
    pub(super) fn start_next_load(&mut self) {
        let Some(link) = &self.link else { return };
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
