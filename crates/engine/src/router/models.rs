use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_units::{Bytes, Tokens};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::admission::Held;
use super::client::Slot;
use super::load::{Done, LoadStep};
use super::preset::{About, ModelPlan, router_id};
use super::residency::{Rest, Stay, Wanted};
use super::sighting::{Progress, Sighting, Sightings, Standing};
use super::state::{ModelState, ModelStatus, Proof};
use crate::error::{EngineError, Trouble};
use crate::log::{Cause, LogMark};

/// How a load ends for one who waits for it.
pub(super) type LoadEnd = Result<(Option<Tokens>, Option<Proof>), Trouble>;
pub(super) type Waiter = oneshot::Sender<LoadEnd>;

/// A load that waits for its turn, or runs.
struct Pending {
    plan: ModelPlan,
    budget: Bytes,
    waiters: Vec<Waiter>,
}

/// What the desk knows of one model.
#[derive(Default)]
struct Entry {
    id: String,
    name: String,
    /// Missing when another of our processes loaded it.
    plan: Option<ModelPlan>,
    planned: Bytes,
    status: ModelStatus,
    progress: Option<Progress>,
    context: Option<Tokens>,
    proof: Option<Proof>,
    trouble: Option<Trouble>,
    rest: Rest,
    /// Where its process listens.
    port: Option<u16>,
    /// It goes down because we said so.
    leaving: bool,
    log: Option<(LogMark, Option<u16>)>,
}

impl Entry {
    fn is_up(&self) -> bool {
        self.status == ModelStatus::Ready && !self.leaving
    }

    fn set(&mut self, status: ModelStatus) {
        self.status = status;
        self.progress = None;
        if status != ModelStatus::Failed {
            self.trouble = None;
        }
        if matches!(
            status,
            ModelStatus::Unloaded | ModelStatus::Loading | ModelStatus::Failed
        ) {
            self.context = None;
            self.port = None;
            self.proof = None;
        }
    }
}

/// A model that came down by itself, to be looked into.
#[derive(Debug)]
pub(super) struct Crash {
    pub name: String,
    pub id: String,
    pub exit: i32,
    pub log: Option<(LogMark, Option<u16>)>,
}

/// All models of the router in use, by the router's names. One load runs at a time: a disk reads one file
/// faster than two, and what a load needs is known when its turn comes.
#[derive(Default)]
pub(super) struct Models {
    entries: BTreeMap<String, Entry>,
    waiting: VecDeque<Pending>,
    running: Option<Pending>,
    answers: Vec<(Waiter, LoadEnd)>,
}

impl Models {
    /// Takes a wish in. Answered at once when the model is ready with this very plan.
    pub(super) fn want(&mut self, plan: ModelPlan, budget: Bytes, waiter: Waiter, now: Instant) {
        let name = router_id(&plan.id).into_owned();
        if let Some(pending) = self
            .running
            .iter_mut()
            .chain(&mut self.waiting)
            .find(|p| p.plan == plan)
        {
            pending.waiters.push(waiter);
            return;
        }
        let entry = self.entries.entry(name).or_default();
        entry.rest.used(now, Stay::Usual);
        if entry.status == ModelStatus::Ready && !entry.leaving && entry.plan.as_ref() == Some(&plan) {
            let ready = Ok((entry.context, entry.proof.clone()));
            self.answers.push((waiter, ready));
            return;
        }
        // One that already loads is let finish: its plan is replaced then.
        if self
            .running
            .as_ref()
            .is_none_or(|running| running.plan.id != plan.id)
        {
            entry.id.clone_from(&plan.id);
            entry.name.clone_from(&plan.name);
            entry.set(ModelStatus::Loading);
        }
        // The latest wish for a model stands.
        if let Some(at) = self.waiting.iter().position(|pending| pending.plan.id == plan.id)
            && let Some(older) = self.waiting.remove(at)
        {
            self.answer(older, &Err(Arc::new(EngineError::Stopped)));
        }
        self.waiting.push_back(Pending {
            plan,
            budget,
            waiters: vec![waiter],
        });
    }

    fn answer(&mut self, pending: Pending, with: &LoadEnd) {
        self.answers
            .extend(pending.waiters.into_iter().map(|waiter| (waiter, with.clone())));
    }

    /// Tells those who waited. To be called when what they are told is published: who was told that a model is
    /// ready finds it ready.
    pub(super) fn send_answers(&mut self) {
        for (waiter, with) in self.answers.drain(..) {
            // Who asked may have gone away; the load was worth it all the same.
            let _ = waiter.send(with);
        }
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next load, when none runs.
    pub(super) fn start_next(&mut self) -> Option<(ModelPlan, Bytes)> {
        if self.running.is_some() {
            return None;
        }
        let pending = self.waiting.pop_front()?;
        let entry = self
            .entries
            .entry(router_id(&pending.plan.id).into_owned())
            .or_default();
        entry.id.clone_from(&pending.plan.id);
        entry.name.clone_from(&pending.plan.name);
        entry.planned = pending.plan.planned;
        entry.plan = Some(pending.plan.clone());
        entry.leaving = false;
        entry.set(ModelStatus::Loading);
        let next = (pending.plan.clone(), pending.budget);
        self.running = Some(pending);
        Some(next)
    }

    /// The models that hold memory beside `plan`'s own.
    pub(super) fn held_beside(&self, plan: &ModelPlan, now: Instant) -> Vec<Held> {
        let own = router_id(&plan.id);
        let held = |name: &str, entry: &Entry| match entry.status {
            ModelStatus::Ready | ModelStatus::Proving => *name != *own,
            // Not ours to wait for, but its memory will be taken.
            ModelStatus::Loading => *name != *own && !self.is_queued(name),
            ModelStatus::Unloaded | ModelStatus::Failed => false,
        };
        self.entries
            .iter()
            .filter(|(name, entry)| held(name, entry))
            .map(|(name, entry)| Held {
                id: name.clone(),
                bytes: entry.planned,
                busy: entry.status != ModelStatus::Ready,
                last_used: entry.rest.last_used().unwrap_or(now),
            })
            .collect()
    }

    fn is_queued(&self, name: &str) -> bool {
        self.waiting
            .iter()
            .any(|pending| *router_id(&pending.plan.id) == *name)
    }

    pub(super) fn load_moved(&mut self, step: &LoadStep) {
        match step {
            LoadStep::Unloading(other) => {
                if let Some(entry) = self.entries.get_mut(other) {
                    entry.leaving = true;
                }
            }
            LoadStep::Loading => self.set_running(ModelStatus::Loading),
            LoadStep::Proving => self.set_running(ModelStatus::Proving),
        }
    }

    fn set_running(&mut self, status: ModelStatus) {
        if let Some(running) = &self.running
            && let Some(entry) = self.entries.get_mut(&*router_id(&running.plan.id))
        {
            entry.set(status);
        }
    }

    /// Returns whether the model proved itself.
    pub(super) fn load_ended(&mut self, ended: Result<Done, EngineError>, now: Instant) -> bool {
        let Some(running) = self.running.take() else {
            return false;
        };
        let entry = self
            .entries
            .entry(router_id(&running.plan.id).into_owned())
            .or_default();
        match ended {
            Ok(done) => {
                entry.set(ModelStatus::Ready);
                entry.rest.touched(now);
                entry.context = done.context;
                entry.proof = done.proof;
                entry.port = done.port;
                entry.log = Some((done.mark, done.port));
                let ready = Ok((entry.context, entry.proof.clone()));
                self.answer(running, &ready);
                true
            }
            Err(error) => {
                let trouble = Arc::new(error);
                let stopped = matches!(*trouble, EngineError::Stopped);
                entry.set(if stopped {
                    ModelStatus::Unloaded
                } else {
                    ModelStatus::Failed
                });
                entry.trouble = Some(Arc::clone(&trouble)).filter(|_| !stopped);
                self.answer(running, &Err(trouble));
                false
            }
        }
    }

    /// Someone wants this model gone. Returns whether its load runs now and is to be dropped.
    pub(super) fn unwant(&mut self, id: &str) -> bool {
        let stopped: LoadEnd = Err(Arc::new(EngineError::Stopped));
        let (gone, kept) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|pending| pending.plan.id == id);
        self.waiting = kept;
        let gone: VecDeque<Pending> = gone;
        for pending in gone {
            self.answer(pending, &stopped);
        }
        let runs = self.running.as_ref().is_some_and(|running| running.plan.id == id);
        if runs {
            self.load_ended(Err(EngineError::Stopped), Instant::now());
        }
        if let Some(entry) = self.entries.get_mut(&*router_id(id)) {
            entry.leaving = true;
        }
        runs
    }

    pub(super) fn unloaded(&mut self, id: &str) {
        if let Some(entry) = self.entries.get_mut(&*router_id(id))
            && entry.leaving
        {
            entry.leaving = false;
            entry.set(ModelStatus::Unloaded);
        }
    }

    pub(super) fn used(&mut self, id: &str, stay: Stay, now: Instant) {
        if let Some(entry) = self.entries.get_mut(&*router_id(id)) {
            entry.rest.used(now, stay);
        }
    }

    /// The models whose slots have to be looked at to know whether somebody uses them.
    pub(super) fn to_look_at(&self, usual: Option<Duration>, wanted: Wanted) -> Vec<String> {
        let watched = |entry: &Entry| wanted != Wanted::Nothing || entry.rest.has_limit(usual);
        let found = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.is_up() && watched(entry));
        found.map(|(name, _)| name.clone()).collect()
    }

    /// Takes in what slots say. Gives the models that have stayed for as long as they may, or are not `wanted` to stay any
    /// longer, and are now shown as gone: to be unloaded before anything else happens. Then those that stay and do nothing.
    pub(super) fn looked(
        &mut self,
        all: &[(String, Vec<Slot>)],
        usual: Option<Duration>,
        wanted: Wanted,
        now: Instant,
    ) -> (Vec<String>, Vec<String>) {
        let is_free = self.running.is_none() && self.waiting.is_empty();
        let (mut over, mut idle) = (Vec::new(), Vec::new());
        for (name, slots) in all {
            let Some(entry) = self.entries.get_mut(name) else {
                continue;
            };
            let busy = slots.iter().any(|slot| slot.is_processing);
            let work = slots.iter().map(|slot| slot.id_task).collect();
            entry.rest.seen(now, busy, work);
            if busy || !is_free || !entry.is_up() {
                continue;
            }
            let all_go = wanted == Wanted::AllIdle && entry.rest.may_go_early(now, wanted);
            if all_go || entry.rest.is_over(now, usual) {
                over.push(name.clone());
            } else {
                idle.push(name.clone());
            }
        }
        if over.is_empty() && wanted == Wanted::OneIdle {
            let since = |name: &String| {
                let rest = &self.entries.get(name)?.rest;
                rest.may_go_early(now, wanted).then(|| rest.last_used())
            };
            let oldest = idle
                .iter()
                .filter_map(|name| Some((since(name)?, name.clone())))
                .min();
            over.extend(oldest.map(|(_, name)| name));
        }
        idle.retain(|name| !over.contains(name));
        for name in &over {
            self.send_away(name);
        }
        (over, idle)
    }

    /// It goes down because we say so; shown as gone from now on.
    pub(super) fn send_away(&mut self, name: &str) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.leaving = true;
            entry.set(ModelStatus::Unloaded);
        }
    }

    /// Whether it is loaded and proved, by the router's name.
    pub(super) fn is_up(&self, name: &str) -> bool {
        self.entries.get(name).is_some_and(Entry::is_up)
    }

    /// Those that were sent away are gone, or are not: then the router's own word counts again.
    pub(super) fn rested(&mut self, names: &[String]) {
        for name in names {
            if let Some(entry) = self.entries.get_mut(name) {
                entry.leaving = false;
            }
        }
    }

    /// Brings the entries up to what the router says. `about` names models that another process of ours put in.
    pub(super) fn saw(&mut self, seen: &Sightings, about: impl Fn(&str) -> Option<About>) -> Vec<Crash> {
        let running = self
            .running
            .as_ref()
            .map(|running| router_id(&running.plan.id).into_owned());
        let queued: BTreeSet<String> = self
            .waiting
            .iter()
            .map(|pending| router_id(&pending.plan.id).into_owned())
            .collect();
        self.entries.retain(|name, entry| {
            seen.contains_key(name) || entry.status == ModelStatus::Loading || entry.trouble.is_some()
        });
        let mut crashes = Vec::new();
        for (name, sighting) in seen {
            if !self.entries.contains_key(name) {
                if sighting.standing == Standing::Unloaded {
                    continue;
                }
                let Some(About {
                    id,
                    name: title,
                    planned_bytes,
                }) = about(name)
                else {
                    continue;
                };
                let entry = Entry {
                    id,
                    name: title,
                    planned: Bytes(planned_bytes),
                    ..Entry::default()
                };
                self.entries.insert(name.clone(), entry);
            }
            let Some(entry) = self.entries.get_mut(name) else {
                continue;
            };
            if running.as_ref() == Some(name) {
                // Its load tells its own story; only the bar comes from here.
                if entry.status == ModelStatus::Loading {
                    entry.progress.clone_from(&sighting.progress);
                }
            } else if !queued.contains(name)
                && let Some(exit) = follow(entry, sighting)
            {
                let log = entry.log.clone();
                let crash = Crash {
                    name: name.clone(),
                    id: entry.id.clone(),
                    exit,
                    log,
                };
                entry.set(ModelStatus::Failed);
                let cause = Cause::Unknown { first_error: None };
                let trouble = EngineError::ModelCrashed {
                    id: entry.id.clone(),
                    exit: Some(exit),
                    cause,
                    tail: Vec::new(),
                };
                entry.trouble = Some(Arc::new(trouble));
                crashes.push(crash);
            }
        }
        crashes
    }

    /// What was found out about a crash.
    pub(super) fn looked_into(&mut self, name: &str, trouble: EngineError) {
        if let Some(entry) = self.entries.get_mut(name)
            && entry.status == ModelStatus::Failed
            && matches!(entry.trouble.as_deref(), Some(EngineError::ModelCrashed { .. }))
        {
            entry.trouble = Some(Arc::new(trouble));
        }
    }

    /// The router is gone and with it everything that was loaded. What waits keeps waiting for the next one.
    pub(super) fn router_gone(&mut self, trouble: &Trouble) {
        if let Some(running) = self.running.take() {
            self.answer(running, &Err(Arc::clone(trouble)));
        }
        let waiting: Vec<&str> = self
            .waiting
            .iter()
            .map(|pending| pending.plan.id.as_str())
            .collect();
        self.entries
            .retain(|_, entry| waiting.contains(&entry.id.as_str()));
    }

    /// There will be no next router.
    pub(super) fn give_up(&mut self, trouble: &Trouble) {
        self.router_gone(trouble);
        for pending in std::mem::take(&mut self.waiting) {
            self.answer(pending, &Err(Arc::clone(trouble)));
        }
        self.entries.clear();
    }

    pub(super) fn published(&self) -> Vec<ModelState> {
        self.entries
            .values()
            .filter(|entry| !entry.id.is_empty())
            .map(|entry| ModelState {
                id: entry.id.clone(),
                name: entry.name.clone(),
                status: entry.status,
                progress: entry.progress.clone(),
                context: entry.context,
                port: entry.port,
                proof: entry.proof.clone(),
                trouble: entry.trouble.clone(),
            })
            .collect()
    }
}

/// Follows a model that we do not load just now. Returns its exit code when it has crashed.
fn follow(entry: &mut Entry, sighting: &Sighting) -> Option<i32> {
    match (entry.status, sighting.standing) {
        (ModelStatus::Ready | ModelStatus::Proving, Standing::Unloaded) => {
            if sighting.exit_code.is_some() && !entry.leaving {
                return sighting.exit_code;
            }
            entry.leaving = false;
            entry.set(ModelStatus::Unloaded);
        }
        (ModelStatus::Ready, Standing::Loaded | Standing::Sleeping)
        | (ModelStatus::Unloaded | ModelStatus::Failed, Standing::Unloaded) => {}
        // Another process's load came to nothing; that process tells why.
        (ModelStatus::Loading, Standing::Unloaded) => entry.set(ModelStatus::Unloaded),
        // Another of our processes loads it.
        (_, Standing::Loading) => {
            if entry.status != ModelStatus::Loading {
                entry.set(ModelStatus::Loading);
                entry.plan = None;
            }
            entry.progress.clone_from(&sighting.progress);
        }
        // On its way out because we said so.
        (ModelStatus::Unloaded, Standing::Loaded | Standing::Sleeping) if entry.leaving => {}
        (_, Standing::Loaded | Standing::Sleeping) => entry.set(ModelStatus::Ready),
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn plan(id: &str, context: &str) -> ModelPlan {
        ModelPlan {
            id: id.into(),
            name: id.to_uppercase(),
            path: "/m.gguf".into(),
            arguments: vec!["-c".into(), context.into()],
            planned: Bytes::mib(100),
        }
    }

    fn want(models: &mut Models, plan: ModelPlan) -> oneshot::Receiver<LoadEnd> {
        let (waiter, answer) = oneshot::channel();
        models.want(plan, Bytes::gib(1), waiter, Instant::now());
        answer
    }

    fn done() -> Done {
        let mark = LogMark::at_end(Path::new("/none"));
        Done {
            context: Some(Tokens(9)),
            proof: None,
            mark,
            port: None,
        }
    }

    fn seen(id: &str, standing: Standing, exit_code: Option<i32>) -> Sightings {
        let sighting = Sighting {
            standing,
            exit_code,
            ..Sighting::default()
        };
        Sightings::from([(id.to_owned(), sighting)])
    }

    fn status(models: &Models, id: &str) -> Option<ModelStatus> {
        models
            .published()
            .into_iter()
            .find(|model| model.id == id)
            .map(|model| model.status)
    }

    fn nobody(_: &str) -> Option<About> {
        None
    }

    fn ready(id: &str) -> Models {
        let mut models = Models::default();
        drop(want(&mut models, plan(id, "1")));
        models.start_next().unwrap();
        assert!(models.load_ended(Ok(done()), Instant::now()));
        models
    }

    #[test]
    fn the_same_wish_twice_is_one_load_and_both_are_answered() {
        let mut models = Models::default();
        let mut first = want(&mut models, plan("a", "1"));
        models.start_next().unwrap();
        let mut second = want(&mut models, plan("a", "1"));
        assert!(models.start_next().is_none() && !models.has_waiting());
        models.load_ended(Ok(done()), Instant::now());
        assert!(first.try_recv().is_err(), "not before the state is published");
        models.send_answers();
        assert!(first.try_recv().unwrap().is_ok() && second.try_recv().unwrap().is_ok());
        let mut third = want(&mut models, plan("a", "1"));
        models.send_answers();
        assert_eq!(third.try_recv().unwrap().unwrap().0, Some(Tokens(9)), "at once");
    }

    #[test]
    fn the_latest_plan_for_a_model_stands() {
        let mut models = Models::default();
        let mut first = want(&mut models, plan("a", "1"));
        let mut second = want(&mut models, plan("a", "2"));
        models.send_answers();
        assert!(matches!(
            &*first.try_recv().unwrap().unwrap_err(),
            EngineError::Stopped
        ));
        assert_eq!(models.start_next().unwrap().0, plan("a", "2"));
        models.load_ended(Ok(done()), Instant::now());
        models.send_answers();
        assert!(second.try_recv().unwrap().is_ok());
    }

    #[test]
    fn a_model_that_comes_down_by_itself_has_crashed_and_one_sent_away_has_not() {
        let mut models = ready("a");
        let crashes = models.saw(&seen("a", Standing::Unloaded, Some(1)), nobody);
        assert_eq!((crashes.len(), crashes[0].exit), (1, 1));
        assert_eq!(status(&models, "a"), Some(ModelStatus::Failed));
        assert!(
            models
                .saw(&seen("a", Standing::Unloaded, Some(1)), nobody)
                .is_empty(),
            "told once"
        );

        let mut models = ready("a");
        assert!(!models.unwant("a"));
        // Force-killed after its grace it ends with a code all the same.
        assert!(
            models
                .saw(&seen("a", Standing::Unloaded, Some(1)), nobody)
                .is_empty()
        );
        assert_eq!(status(&models, "a"), Some(ModelStatus::Unloaded));

        let mut models = ready("a");
        models.saw(&seen("a", Standing::Unloaded, None), nobody);
        assert_eq!(
            status(&models, "a"),
            Some(ModelStatus::Unloaded),
            "another process sent it away"
        );
    }

    #[test]
    fn what_other_processes_load_is_shown_by_its_name_and_what_is_not_ours_is_not() {
        let about = |name: &str| {
            (name == "theirs").then(|| About {
                id: "id".into(),
                name: "Name".into(),
                planned_bytes: 7,
            })
        };
        let mut models = Models::default();
        models.saw(&seen("foreign", Standing::Loaded, None), about);
        assert!(models.published().is_empty());
        models.saw(&seen("theirs", Standing::Unloaded, None), about);
        assert!(
            models.published().is_empty(),
            "known to the router, but nothing happens with it"
        );
        models.saw(&seen("theirs", Standing::Loading, None), about);
        assert_eq!(status(&models, "id"), Some(ModelStatus::Loading));
        models.saw(&seen("theirs", Standing::Loaded, None), about);
        assert_eq!(status(&models, "id"), Some(ModelStatus::Ready));
        assert_eq!(
            models.held_beside(&plan("x", "1"), Instant::now())[0].bytes,
            Bytes(7)
        );
    }

    #[test]
    fn a_dead_router_ends_the_load_that_runs_and_keeps_those_that_wait() {
        let mut models = Models::default();
        let mut running = want(&mut models, plan("a", "1"));
        models.start_next().unwrap();
        let mut waiting = want(&mut models, plan("b", "1"));
        let trouble: Trouble = Arc::new(EngineError::RouterGone);
        models.router_gone(&trouble);
        models.send_answers();
        assert!(running.try_recv().unwrap().is_err() && waiting.try_recv().is_err());
        assert_eq!(models.start_next().unwrap().0.id, "b");
        models.give_up(&trouble);
        models.send_answers();
        assert!(waiting.try_recv().unwrap().is_err());
        assert!(models.published().is_empty());
    }

    #[test]
    fn what_a_called_off_load_tells_late_changes_nothing() {
        let mut models = Models::default();
        let mut answer = want(&mut models, plan("a", "1"));
        models.start_next().unwrap();
        assert!(models.unwant("a"), "its job is to be dropped");
        assert!(!models.load_ended(Ok(done()), Instant::now()));
        models.unloaded("a");
        models.send_answers();
        assert!(matches!(
            &*answer.try_recv().unwrap().unwrap_err(),
            EngineError::Stopped
        ));
        assert_eq!(status(&models, "a"), Some(ModelStatus::Unloaded));
    }
}
