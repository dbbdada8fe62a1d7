use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_os::child::Exit;
use plimsoll_os::files::Lock;
use plimsoll_units::{Bytes, Tokens};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::admission::{Admission, Held, admit};
use super::client::Client;
use super::diagnose::diagnose;
use super::place::Place;
use super::preset::{Change, ModelPlan, Preset, Section, router_id, section};
use super::proof::{child_on, measure, prove};
use super::sighting::{Sighting, Sightings, Standing, read_list};
use super::state::Proof;
use crate::engines::{Engine, Engines};
use crate::error::EngineError;
use crate::log::{Cause, LogMark, Memory, Part, cause, lines_of_child};

/// While nothing of a load moves for this long it counts as stuck. Large files on slow disks move.
pub(super) const STILL_MAX: Duration = Duration::from_mins(3);
/// The router gives a child ten seconds to end before it kills it.
const UNLOAD_MAX: Duration = Duration::from_secs(30);
/// The list is asked for also when no message came: a message may be lost, the list is the truth.
const LIST_EVERY: Duration = Duration::from_secs(2);
const AGREE_MAX: Duration = Duration::from_secs(2);
const PRESET_LOCK_MAX: Duration = Duration::from_secs(20);
/// A model that loads but does not answer is loaded once more.
const ATTEMPTS: u32 = 2;

/// What a load tells on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LoadStep {
    /// This other model goes first.
    Unloading(String),
    Loading,
    Proving,
}

#[derive(Debug)]
pub(super) struct Done {
    pub context: Option<Tokens>,
    pub proof: Option<Proof>,
    /// Where its part of the log begins and which lines are its own: for the day it crashes.
    pub mark: LogMark,
    pub port: Option<u16>,
}

/// One load from request to proof. Runs in a job; dropping it leaves the router as it is then.
pub(super) struct Load {
    pub plan: ModelPlan,
    pub budget: Bytes,
    pub held: Vec<Held>,
    pub client: Client,
    pub seen: watch::Receiver<Sightings>,
    pub router: u32,
    pub engine: Arc<Engine>,
    pub engines: Engines,
    pub place: Place,
    pub tell: mpsc::Sender<LoadStep>,
    /// See [`STILL_MAX`].
    pub still_max: Duration,
}

impl Load {
    pub(super) async fn run(mut self) -> Result<Done, EngineError> {
        if !self.plan.path.is_file() {
            return Err(EngineError::ModelFileMissing {
                path: self.plan.path.clone(),
            });
        }
        let links = self.place.links();
        let section = section(&self.plan, &self.engine.id, &self.engine.abilities, &links)?;
        self.make_room().await?;
        let running = self.put_into_preset(section).await?;
        let mark = LogMark::at_end(&self.place.log());
        let mut last = None;
        for attempt in 0..ATTEMPTS {
            // Loaded by another of our processes with the very same plan: nothing to load.
            if !(running && attempt == 0) {
                self.say(LoadStep::Loading).await;
                self.load_and_wait(&mark).await?;
            }
            self.say(LoadStep::Proving).await;
            match self.prove(running && attempt == 0, &mark).await {
                Err(error @ EngineError::ProofFailed { .. }) => {
                    tracing::warn!(%error, model = self.plan.id, "a loaded model does not answer");
                    last = Some(error);
                    self.unload_and_wait(&self.name()).await?;
                }
                other => return other,
            }
        }
        Err(last.unwrap_or(EngineError::Stopped))
    }

    fn name(&self) -> String {
        router_id(&self.plan.id).into_owned()
    }

    async fn say(&self, step: LoadStep) {
        // Nobody listens any more when the desk has gone; the load is then dropped as well.
        let _ = self.tell.send(step).await;
    }

    async fn make_room(&mut self) -> Result<(), EngineError> {
        let mut held = std::mem::take(&mut self.held);
        for model in &mut held {
            let slots = self.client.slots(&model.id).await.unwrap_or_default();
            model.busy |= slots.iter().any(|slot| slot.is_processing);
        }
        match admit(&held, self.plan.planned, self.budget) {
            Admission::Unload(models) => {
                for model in models {
                    self.say(LoadStep::Unloading(model.clone())).await;
                    self.unload_and_wait(&model).await?;
                }
                Ok(())
            }
            Admission::NoRoom { left, held_by } => Err(EngineError::NoRoom {
                asked: self.plan.planned,
                left,
                held_by,
            }),
        }
    }

    /// Makes the router know the model with this plan. Returns whether it runs already with just that.
    async fn put_into_preset(&mut self, section: Section) -> Result<bool, EngineError> {
        let _lock = preset_lock(&self.place.preset_lock()).await?;
        let path = self.place.preset();
        let before = Preset::read(&path)?;
        let mut after = before.clone();
        let change = after.put(section);
        let standing = self.list(false).await?.map(|seen| seen.standing);
        match (change, standing) {
            (Change::Same, Some(standing)) => return Ok(is_running(standing)),
            (Change::Replaced, Some(standing)) if is_running(standing) || standing == Standing::Loading => {
                // The router would stop it by itself when it reads the new plan; so it is known who did.
                self.unload_and_wait(&self.name()).await?;
            }
            (Change::Same | Change::Added | Change::Replaced, _) => {}
        }
        after.write(&path)?;
        match self.list(true).await {
            Ok(Some(_)) => Ok(false),
            Ok(None) => Err(EngineError::UnknownModel {
                id: self.plan.id.clone(),
            }),
            Err(error) => {
                // A preset that the router refuses would keep every other model from loading too.
                before.write(&path)?;
                Err(error)
            }
        }
    }

    /// The router's own word on our model.
    async fn list(&self, reload: bool) -> Result<Option<Sighting>, EngineError> {
        Ok(sighting(&self.client.models(reload).await?, &self.name()))
    }

    async fn unload_and_wait(&self, name: &str) -> Result<(), EngineError> {
        unload_and_wait(&self.client, name).await
    }

    async fn load_and_wait(&mut self, mark: &LogMark) -> Result<(), EngineError> {
        let kills_before = memory_kills();
        let name = self.name();
        match self.client.load(&name).await {
            // Someone else was quicker; the wait below tells how it ends.
            Ok(()) | Err(EngineError::RouterRefused { status: 400, .. }) => {}
            Err(error) => return Err(error),
        }
        let mut moved_at = Instant::now();
        let mut moves = None;
        loop {
            let heard = self
                .seen
                .borrow_and_update()
                .get(&name)
                .map(|seen| (seen.moves, seen.standing));
            if heard.map(|(moves, _)| moves) != moves {
                moves = heard.map(|(moves, _)| moves);
                moved_at = Instant::now();
            }
            let still_loading = heard.is_some_and(|(_, standing)| standing == Standing::Loading);
            if !(still_loading && moved_at.elapsed() < LIST_EVERY) {
                // Messages may be late or lost: what counts is asked for.
                match self.list(false).await? {
                    Some(seen) if is_running(seen.standing) => {
                        agree(&mut self.seen, &name, is_running).await;
                        return Ok(());
                    }
                    Some(Sighting {
                        standing: Standing::Loading,
                        ..
                    }) => {}
                    ended => {
                        agree(&mut self.seen, &name, is_down).await;
                        return Err(self.failed(ended.as_ref(), mark, kills_before).await);
                    }
                }
            }
            if moved_at.elapsed() >= self.still_max {
                self.unload_and_wait(&name).await?;
                let after_s = self.still_max.as_secs();
                return Err(EngineError::LoadStalled {
                    id: self.plan.id.clone(),
                    after_s,
                });
            }
            tokio::select! {
                changed = self.seen.changed() => if changed.is_err() { return Err(EngineError::RouterGone); },
                () = sleep(LIST_EVERY) => {}
            }
        }
    }

    async fn failed(
        &self,
        ended: Option<&Sighting>,
        mark: &LogMark,
        kills_before: Option<u64>,
    ) -> EngineError {
        let port = ended.and_then(|seen| seen.port);
        let code = ended.and_then(|seen| seen.exit_code);
        let lines = last_words(mark, port).await;
        let id = self.plan.id.clone();
        let mut cause = cause(&lines, Exit { code, signal: None });
        if cause == (Cause::Unknown { first_error: None }) {
            // The router hides the signal. The system's own count of kills for memory may have moved;
            // otherwise the model is run once by itself, where its end can be seen.
            cause = if kills_before.is_some() && memory_kills() > kills_before {
                Cause::OutOfMemory {
                    memory: Memory::Ram,
                    part: Part::Unsaid,
                    asked: None,
                }
            } else {
                diagnose(&self.engine, &self.engines, &self.plan, &self.place)
                    .await
                    .unwrap_or(cause)
            };
        }
        let tail = LogMark::tail(&lines);
        if matches!(cause, Cause::OutOfMemory { .. }) {
            return EngineError::OutOfMemory {
                id,
                planned: self.plan.planned,
                cause,
                tail,
            };
        }
        if let Cause::ModelFileMissing { file } = &cause {
            let named = Path::new(file);
            let path = if named.is_absolute() {
                named
            } else {
                &self.plan.path
            };
            return EngineError::ModelFileMissing {
                path: path.to_owned(),
            };
        }
        if cause == Cause::IllegalInstruction {
            return EngineError::IllegalInstruction {
                program: self.engine.binary.clone(),
            };
        }
        EngineError::LoadFailed {
            id,
            exit: code,
            cause,
            tail,
        }
    }

    async fn prove(&self, adopted: bool, mark: &LogMark) -> Result<Done, EngineError> {
        let name = self.name();
        let slots = self.client.slots(&name).await?;
        let context = slots.first().map(|slot| Tokens(slot.n_ctx));
        let port = self.list(false).await?.and_then(|seen| seen.port);
        let done = |proof| Done {
            context,
            proof,
            mark: mark.clone(),
            port,
        };
        if adopted && slots.iter().all(|slot| slot.is_processing) && !slots.is_empty() {
            // It works for someone: proof enough, and ours would have to wait for it.
            return Ok(done(None));
        }
        let spoken = match prove(&self.client, &name, STILL_MAX).await {
            Ok(spoken) => spoken,
            Err(error) => return Err(self.unproved(error, port, mark).await),
        };
        let log = if adopted {
            LogMark::whole(&self.place.log()).lines()
        } else {
            mark.lines()
        };
        let child = port.and_then(|port| child_on(self.router, port));
        Ok(done(Some(measure(&spoken, self.plan.planned, child, &log, port))))
    }

    /// A child that died over its first words is a crash and not a silent one.
    async fn unproved(&self, error: EngineError, port: Option<u16>, mark: &LogMark) -> EngineError {
        let ended = self.list(false).await.ok().flatten();
        let died = ended.as_ref().filter(|seen| seen.standing == Standing::Unloaded);
        match (error, died) {
            (error @ EngineError::RouterGone, _) => error,
            (_, Some(_)) => self.failed(ended.as_ref(), mark, None).await,
            (EngineError::ProofFailed { id, problem, .. }, None) => {
                let tail = LogMark::tail(&last_words(mark, port).await);
                EngineError::ProofFailed { id, problem, tail }
            }
            (other, None) => other,
        }
    }
}

pub(super) async fn unload_and_wait(client: &Client, name: &str) -> Result<(), EngineError> {
    match client.unload(name).await {
        // Not running, or not known: there is nothing to unload.
        Ok(())
        | Err(EngineError::RouterRefused {
            status: 400 | 404, ..
        }) => {}
        Err(error) => return Err(error),
    }
    let end = Instant::now() + UNLOAD_MAX;
    while let Some(seen) = sighting(&client.models(false).await?, name) {
        if seen.standing == Standing::Unloaded {
            break;
        }
        if Instant::now() > end {
            return Err(EngineError::LoadStalled {
                id: name.to_owned(),
                after_s: UNLOAD_MAX.as_secs(),
            });
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Waits until the messages tell what the list told already: whoever follows them must not hear of an older
/// state after this load has ended.
pub(super) async fn agree(seen: &mut watch::Receiver<Sightings>, name: &str, wanted: fn(Standing) -> bool) {
    let told = seen.wait_for(|seen| seen.get(name).is_none_or(|one| wanted(one.standing)));
    if timeout(AGREE_MAX, told).await.is_err() {
        tracing::debug!(model = name, "the messages of the router are late");
    }
}

pub(super) const fn is_down(standing: Standing) -> bool {
    matches!(standing, Standing::Unloaded)
}

const fn is_running(standing: Standing) -> bool {
    matches!(standing, Standing::Loaded | Standing::Sleeping)
}

fn sighting(list: &Value, name: &str) -> Option<Sighting> {
    let mut seen = Sightings::new();
    read_list(&mut seen, list);
    seen.remove(name)
}

async fn preset_lock(path: &Path) -> Result<Lock, EngineError> {
    let end = Instant::now() + PRESET_LOCK_MAX;
    loop {
        if let Some(lock) = Lock::try_exclusive(path)? {
            return Ok(lock);
        }
        if Instant::now() > end {
            return Err(EngineError::OwnerSilent {
                after_s: PRESET_LOCK_MAX.as_secs(),
            });
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// What the child on this port said last. Its end is told by another way than its words, and may be earlier.
pub(super) async fn last_words(mark: &LogMark, port: Option<u16>) -> Vec<String> {
    let Some(port) = port else { return Vec::new() };
    let read = || -> Vec<String> {
        lines_of_child(&mark.lines(), port)
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    let mut lines = read();
    for _ in 0..10 {
        sleep(Duration::from_millis(50)).await;
        let more = read();
        if more.len() == lines.len() && !more.is_empty() {
            break;
        }
        lines = more;
    }
    lines
}

/// How often the kernel has killed for memory since it started; only Linux counts.
fn memory_kills() -> Option<u64> {
    let counts = std::fs::read_to_string("/proc/vmstat").ok()?;
    counts
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use plimsoll_os::Environment;
    use plimsoll_os::jobs::Root;
    use plimsoll_testkit::router::{FakeRouter, Says};

    use super::super::listen::listen_to;
    use super::LoadStep::{Loading, Proving};
    use super::*;
    use crate::engines::{Abilities, Origin};

    struct Bench {
        fake: FakeRouter,
        folder: tempfile::TempDir,
        root: Root,
    }

    /// A load that lasts much longer than this is as one of twelve minutes.
    const STILL: Duration = Duration::from_secs(2);

    impl Bench {
        async fn new() -> Self {
            Self {
                fake: FakeRouter::start(&["m"]).await,
                folder: tempfile::tempdir().unwrap(),
                root: Root::new(),
            }
        }

        async fn load(&self) -> (Result<Done, EngineError>, Vec<LoadStep>) {
            let home = self.folder.path();
            let path = home.join("m.gguf");
            plimsoll_os::files::replace(&path, b"GGUF").unwrap();
            let client = Client::new(&self.fake.url, &self.fake.key).unwrap();
            let (_listening, seen) = listen_to(&self.root.scope(), client.clone());
            let (tell, mut told) = mpsc::channel(32);
            let engine = Engine {
                id: "fake".into(),
                version: "1".into(),
                backends: Vec::new(),
                binary: home.join("llama-server"),
                origin: Origin::Added,
                abilities: Abilities::default(),
                devices: Vec::new(),
                files: Vec::new(),
                instead_of: Vec::new(),
            };
            let load = Load {
                plan: ModelPlan {
                    id: "m".into(),
                    name: "M".into(),
                    path,
                    arguments: Vec::new(),
                    planned: Bytes::mib(1),
                },
                budget: Bytes::gib(1),
                held: Vec::new(),
                client,
                seen,
                router: 0,
                engine: Arc::new(engine),
                engines: Engines::new(home.join("engines"), Environment::default()),
                place: Place::make(home).unwrap(),
                tell,
                still_max: STILL,
            };
            let ended = load.run().await;
            let mut steps = Vec::new();
            while let Ok(step) = told.try_recv() {
                steps.push(step);
            }
            (ended, steps)
        }
    }

    #[tokio::test]
    async fn a_wedged_child_is_found_by_the_proof_and_loaded_again() {
        for wedged in [Says::Http500, Says::ErrorInStream, Says::BreaksOff] {
            let bench = Bench::new().await;
            bench.fake.says(&[wedged]);
            let (ended, steps) = bench.load().await;
            assert!(ended.unwrap().proof.is_some(), "{wedged:?}");
            assert_eq!(bench.fake.loads(), ["m", "m"], "{wedged:?}");
            assert_eq!(bench.fake.unloads(), ["m"]);
            assert_eq!(steps, [Loading, Proving, Loading, Proving]);
        }
    }

    #[tokio::test]
    async fn a_load_may_take_as_long_as_it_moves() {
        let bench = Bench::new().await;
        bench.fake.load_slowly(20, STILL / 5);
        let began = Instant::now();
        let (ended, steps) = bench.load().await;
        assert!(ended.unwrap().proof.is_some());
        assert!(began.elapsed() >= STILL * 4, "{:?}", began.elapsed());
        assert_eq!(steps, [Loading, Proving]);
    }

    #[tokio::test]
    async fn a_load_that_stands_still_is_given_up_and_taken_back() {
        let bench = Bench::new().await;
        bench.fake.load_slowly(0, STILL);
        let (ended, _) = bench.load().await;
        assert!(matches!(ended, Err(EngineError::LoadStalled { .. })), "{ended:?}");
        assert_eq!(bench.fake.unloads(), ["m"]);
    }

    #[tokio::test]
    async fn one_that_never_answers_is_not_left_loaded() {
        let bench = Bench::new().await;
        bench.fake.says(&[Says::Http500, Says::Http500]);
        let (ended, _) = bench.load().await;
        let Err(EngineError::ProofFailed { problem, .. }) = ended else {
            panic!("{ended:?}")
        };
        assert!(
            problem.contains("500") && problem.contains("Compute error"),
            "{problem}"
        );
        assert_eq!(bench.fake.unloads(), ["m", "m"]);
    }

    #[tokio::test]
    async fn what_another_process_has_loaded_is_taken_as_it_is() {
        let bench = Bench::new().await;
        bench.load().await.0.unwrap();
        let (ended, steps) = bench.load().await;
        assert!(ended.unwrap().proof.is_some());
        assert_eq!((bench.fake.loads().len(), steps), (1, vec![Proving]));
        // At work it needs no proof, and none is waited for.
        bench.fake.set_busy(true);
        let done = bench.load().await.0.unwrap();
        assert_eq!((done.proof, done.context), (None, Some(Tokens(1024))));
    }

    #[tokio::test]
    async fn a_wrong_key_is_refused_and_an_unknown_model_named() {
        let bench = Bench::new().await;
        let wrong = Client::new(&bench.fake.url, "wrong").unwrap();
        assert!(matches!(
            wrong.load("m").await,
            Err(EngineError::RouterRefused { status: 401, .. })
        ));
        assert!(!wrong.checks_our_key().await);
        let right = Client::new(&bench.fake.url, &bench.fake.key).unwrap();
        assert!(right.checks_our_key().await);
        assert!(matches!(
            right.load("none").await,
            Err(EngineError::RouterRefused { status: 404, .. })
        ));
        let nobody = Client::new("http://127.0.0.1:1", "k").unwrap();
        assert!(matches!(nobody.load("m").await, Err(EngineError::RouterGone)));
    }
}
