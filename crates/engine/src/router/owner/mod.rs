//! The task that owns the router's state in this process.

mod loads;
mod routers;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_os::child::{Child, Exit};
use plimsoll_os::clock;
use plimsoll_os::files::Lock;
use plimsoll_os::jobs::{Job, Scope};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use self::routers::remove_state;
use super::client::{Client, Slot};
use super::desk::{Ask, DeskConfig, MemoryReader};
use super::find::Other;
use super::life::{Happened, Life, next};
use super::load::{self, LoadStep};
use super::models::Models;
use super::place::{Front, Place, StateFile};
use super::residency::{Awake, Keeping, LOOK_EVERY as LOOK_AT_USE_EVERY, Wanted};
use super::sighting::Sightings;
use super::start::{Ports, Started};
use super::state::{Ready, RouterState};
use crate::engines::{Engine, Engines};
use crate::error::{EngineError, Trouble};
use crate::log::LogMark;

/// While nobody here wants a router: how often to look whether another process of ours has one.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long the router and its children may take to end before they are killed.
const GRACE: Duration = Duration::from_secs(5);
const NOTES_WAITING: usize = 64;

type Done = oneshot::Sender<Result<(), Trouble>>;

/// What jobs tell the owner. `u64` is the number of the router, or of the load: what an earlier one tells late
/// is not heard.
enum Note {
    Started(u64, Result<Started, EngineError>),
    Found(u64, Result<Other, EngineError>),
    OtherGone(u64),
    Ended(u64, Exit),
    LoadMoved(u64, LoadStep),
    LoadEnded(u64, Result<load::Done, EngineError>),
    Unloaded(String, Result<(), EngineError>, Done),
    LookedInto(String, EngineError),
    /// What the slots of models say.
    Slots(u64, Wanted, Vec<(String, Vec<Slot>)>),
    /// Whoever asked is told that it had to go.
    Rested(u64, Vec<String>, Option<oneshot::Sender<bool>>),
    Doubted(String, Result<(), EngineError>, Option<oneshot::Sender<bool>>),
    Stopped(Done),
}

/// The router that is there, ours or another process's.
struct Link {
    client: Client,
    state: StateFile,
    engine: Arc<Engine>,
    seen: watch::Receiver<Sightings>,
    /// Set when it is ours.
    child: Option<Arc<Child>>,
    mark: LogMark,
    /// Follow its models and its end; they stop with the link.
    _jobs: [Job<()>; 2],
}

/// The task that owns everything about the router in this process. Asks come in, the state goes out.
pub(super) struct Owner {
    scope: Scope,
    place: Place,
    engines: Engines,
    ports: Ports,
    tell: watch::Sender<RouterState>,
    client: watch::Sender<Option<Client>>,
    notes: mpsc::Sender<Note>,
    heard: mpsc::Receiver<Note>,
    life: Life,
    /// Counts routers, found or started.
    number: u64,
    load_number: u64,
    keep: bool,
    /// A router is on its way out because we said so; it is not followed again.
    stopping: bool,
    front: Option<Front>,
    /// Held from before the start until the router is gone.
    lock: Option<Lock>,
    link: Option<Link>,
    trouble: Option<Trouble>,
    models: Models,
    wanting: Vec<Done>,
    answers: Vec<(Done, Result<(), Trouble>)>,
    /// Who doubted a model that is gone now.
    gone: Vec<oneshot::Sender<bool>>,
    finding: Option<Job<()>>,
    loading: Option<Job<()>>,
    keeping: Keeping,
    memory: MemoryReader,
    awake: Awake,
    /// The machine has slept and nobody has been looked at since.
    slept: bool,
    looking: Option<Job<()>>,
    rest_number: u64,
    /// Models that are unloaded now although nobody asked for it; loads wait for it.
    resting: BTreeMap<u64, Job<()>>,
    /// Short work that ends by itself.
    others: Vec<Job<()>>,
}

impl Owner {
    pub(super) fn new(
        scope: Scope,
        place: Place,
        config: DeskConfig,
        tell: watch::Sender<RouterState>,
        client: watch::Sender<Option<Client>>,
    ) -> Self {
        let (notes, heard) = mpsc::channel(NOTES_WAITING);
        Self {
            scope,
            place,
            engines: config.engines,
            ports: config.ports,
            tell,
            client,
            notes,
            heard,
            life: Life::Off,
            number: 0,
            load_number: 0,
            keep: false,
            stopping: false,
            front: None,
            lock: None,
            link: None,
            trouble: None,
            models: Models::default(),
            wanting: Vec::new(),
            answers: Vec::new(),
            gone: Vec::new(),
            finding: None,
            loading: None,
            keeping: Keeping::default(),
            memory: config.memory,
            awake: Awake::new(Instant::now(), clock::now_ms()),
            slept: false,
            looking: None,
            rest_number: 0,
            resting: BTreeMap::new(),
            others: Vec::new(),
        }
    }

    pub(super) async fn run(mut self, mut asks: mpsc::Receiver<Ask>, stop: CancellationToken) {
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut look_at_use = tokio::time::interval(LOOK_AT_USE_EVERY);
        look_at_use.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let timer = self.timer();
            tokio::select! {
                () = stop.cancelled() => break,
                ask = asks.recv() => match ask {
                    Some(ask) => self.answer(ask),
                    None => break,
                },
                Some(note) = self.heard.recv() => self.hear(note),
                () = changed(self.link.as_mut()) => self.look_at_models(),
                () = timer => self.happened(Happened::TimerFired),
                _ = look_at_use.tick() => self.look_at_use(),
                _ = look.tick(), if self.life == Life::Off && !self.stopping => self.look_for_other(),
            }
            self.others.retain(|job| !job.is_finished());
            self.start_next_load();
            self.publish();
            self.send_answers();
        }
        self.end().await;
    }

    fn timer(&self) -> impl Future<Output = ()> + use<> {
        let until = if let Life::Waiting { until, .. } = self.life {
            Some(until)
        } else {
            None
        };
        async move {
            match until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        }
    }

    fn answer(&mut self, ask: Ask) {
        if matches!(ask, Ask::Want { .. } | Ask::Load { .. }) {
            self.notice_dead_other();
        }
        match ask {
            Ask::Want { keep, done } => {
                self.keep |= keep;
                self.wanting.push(done);
                self.happened(Happened::Wanted);
            }
            Ask::Load { plan, budget, done } => {
                self.models.want(plan, budget, done, Instant::now());
                if self.models.has_waiting() {
                    self.happened(Happened::Wanted);
                }
            }
            Ask::Unload { id, done } => self.unload(id, done),
            Ask::Used { id, stay } => self.models.used(&id, stay, Instant::now()),
            Ask::Keeping(keeping) => self.keeping = keeping,
            Ask::Doubt { id, done } => self.doubt(&id, done),
            Ask::Front(front) => {
                self.front = front;
                self.write_state();
            }
            Ask::Stop { done } => self.stop(done),
        }
    }

    fn hear(&mut self, note: Note) {
        match note {
            Note::Started(number, started) if number == self.number => self.started(started),
            Note::Found(number, found) if number == self.number => self.found(found),
            Note::OtherGone(number) if number == self.number => self.happened(Happened::OtherGone),
            Note::Ended(number, exit) if number == self.number => self.ended(exit),
            Note::LoadMoved(number, step) if number == self.load_number => self.models.load_moved(&step),
            Note::LoadEnded(number, ended) if number == self.load_number => {
                self.loading = None;
                if self.models.load_ended(ended, Instant::now()) {
                    self.happened(Happened::Proved);
                }
            }
            Note::Unloaded(id, result, done) => {
                self.models.unloaded(&id);
                self.answers.push((done, result.map_err(Arc::new)));
            }
            Note::Slots(number, wanted, slots) if number == self.number => self.looked_at_use(wanted, &slots),
            Note::Rested(number, names, done) => {
                self.resting.remove(&number);
                self.models.rested(&names);
                self.gone.extend(done);
            }
            Note::Doubted(name, answers, done) => self.doubted(name, answers, done),
            Note::LookedInto(name, trouble) => self.models.looked_into(&name, trouble),
            Note::Stopped(done) => {
                self.stopping = false;
                self.answers.push((done, Ok(())));
            }
            Note::Started(..)
            | Note::Found(..)
            | Note::OtherGone(_)
            | Note::Ended(..)
            | Note::Slots(..)
            | Note::LoadMoved(..)
            | Note::LoadEnded(..) => {}
        }
    }

    /// The only place where the router's life changes.
    fn happened(&mut self, what: Happened) {
        let before = self.life;
        self.life = next(before, what, Instant::now());
        if self.life == before {
            if what == Happened::Wanted {
                self.answer_wanting();
            }
            return;
        }
        tracing::debug!(?before, ?what, after = ?self.life, "the router");
        match self.life {
            Life::Starting { .. } => self.begin(),
            Life::Owning { .. } | Life::Following => self.answer_wanting(),
            Life::Waiting { .. } => self.disconnect(),
            Life::Off | Life::GaveUp { .. } => {
                self.disconnect();
                self.finding = None;
                self.number += 1;
                self.lock = None;
                let other_gone = what == Happened::OtherGone;
                if other_gone && (self.keep || self.models.has_waiting()) {
                    self.happened(Happened::Wanted);
                    return;
                }
                let trouble = self
                    .trouble
                    .clone()
                    .unwrap_or_else(|| Arc::new(EngineError::RouterGone));
                self.models.give_up(&trouble);
                self.answer_wanting();
            }
        }
    }

    fn answer_wanting(&mut self) {
        let answer = match self.life {
            Life::Owning { .. } | Life::Following => Ok(()),
            Life::Off | Life::GaveUp { .. } => Err(self
                .trouble
                .clone()
                .unwrap_or_else(|| Arc::new(EngineError::Stopped))),
            Life::Starting { .. } | Life::Waiting { .. } => return,
        };
        self.answers
            .extend(self.wanting.drain(..).map(|done| (done, answer.clone())));
    }

    /// After the state was published, so that who is told finds it so.
    fn send_answers(&mut self) {
        for (done, answer) in self.answers.drain(..) {
            let _ = done.send(answer);
        }
        for done in self.gone.drain(..) {
            let _ = done.send(true);
        }
        self.models.send_answers();
    }

    fn publish(&self) {
        let trouble = || {
            self.trouble
                .clone()
                .unwrap_or_else(|| Arc::new(EngineError::RouterGone))
        };
        let state = match (self.life, &self.link) {
            (Life::Off, _) => RouterState::Off,
            (Life::Owning { .. } | Life::Following, Some(link)) => RouterState::Ready(Ready {
                engine: link.state.engine.clone(),
                pid: link.state.router.pid,
                owned: link.child.is_some(),
                front: if link.child.is_some() {
                    self.front.clone()
                } else {
                    link.state.front.clone()
                },
                models: self.models.published(),
            }),
            (Life::Starting { .. } | Life::Owning { .. } | Life::Following, _) => RouterState::Starting,
            (Life::Waiting { crashes, .. }, _) => RouterState::Waiting {
                crashes,
                trouble: trouble(),
            },
            (Life::GaveUp { .. }, _) => RouterState::Failed { trouble: trouble() },
        };
        self.tell.send_if_modified(|told| {
            let news = *told != state;
            *told = state;
            news
        });
    }

    /// The program ends: our router goes first, in order if it can.
    async fn end(mut self) {
        self.scope.stop();
        self.client.send_replace(None);
        if let Some(Link {
            child: Some(child), ..
        }) = self.link.take()
        {
            child.terminate(GRACE).await;
            remove_state(&self.place);
        }
        self.models.give_up(&Arc::new(EngineError::Stopped));
        self.tell.send_replace(RouterState::Off);
        self.send_answers();
    }

    /// What it tells from now on is not heard any more.
    fn drop_load(&mut self) {
        self.loading = None;
        self.load_number += 1;
    }

    fn job(&self, work: impl Future<Output = Note> + Send + 'static) -> Job<()> {
        let notes = self.notes.clone();
        self.scope.start(|stop| async move {
            tokio::select! {
                () = stop.cancelled() => {}
                note = work => drop(notes.send(note).await),
            }
        })
    }
}

async fn changed(link: Option<&mut Link>) {
    if let Some(link) = link
        && link.seen.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}
