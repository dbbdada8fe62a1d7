use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_agent::context::Policy;
use plimsoll_agent::{Patience, Sampling};
use plimsoll_engine::{Desk, DeskConfig, Engines, Front, MemoryReader, Ports, Stay};
use plimsoll_hub::Hub;
use plimsoll_os::clock;
use plimsoll_os::jobs::{Ending, Root, Scope};
use plimsoll_store::Store;
use plimsoll_wire::{Call, Event, Fault, FaultCode, PlanWishes, Settings};
use serde_json::Value;

use crate::bus::{Bus, Hearing};
use crate::calls;
use crate::config::Config;
use crate::context::Contexts;
use crate::endpoint::{Endpoint, OutsideRequest};
use crate::engines::EngineShelf;
use crate::fault::{Failed, ToFault as _, fault};
use crate::machine::MachineOwner;
use crate::memo::Memo;
use crate::models::Models;
use crate::plans::Planner;
use crate::router::{RouterOwner, Usable};
use crate::routes::{CloudName, Routes, local_route};
use crate::sampler::SamplerOwner;
use crate::setup::SetupOwner;
use crate::slots::Slots;
use crate::stay::keeping;
use crate::table::Table;
use crate::transfers::{RangeLedger, Transfers};
use crate::turns::{Approvals, ReadyModel, Streaming, Turns};

/// How long the end waits for what is still running: a transfer syncs its file, an answer is written down, the
/// router ends its models.
const END_MAX: Duration = Duration::from_secs(15);

/// The route to models on this machine.
pub(crate) const LOCAL: &str = "local";
/// When a stopped answer's slot is looked at: soon, and then no more often than a server that reads a prompt bears.
const STOP_LOOKS: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_millis(1500),
    Duration::from_secs(5),
];

/// Where a request for a loaded model goes: for our loopback front only.
#[derive(Clone, PartialEq, Eq)]
pub struct RouterTarget {
    /// `http://127.0.0.1:PORT`, without a path.
    pub url: String,
    /// For `Authorization: Bearer`. Never shown to anyone.
    pub key: String,
    /// The name that the router knows the model by.
    pub model: String,
    /// The slot for other programs, where the texts of conversations lie in slots and nowhere else.
    pub slot: Option<u32>,
}

/// The key stays out of logs.
impl std::fmt::Debug for RouterTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RouterTarget")
            .field("url", &self.url)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// The whole program without a window.
pub struct App {
    config: Config,
    table: Table<App>,
    /// Taken by the end. A lock and not a task, because ending is what no task could outlive.
    root: Mutex<Option<Root>>,
    pub(crate) jobs: Scope,
    pub(crate) bus: Bus,
    pub(crate) store: Store,
    pub(crate) memo: Memo,
    pub(crate) machine: Arc<MachineOwner>,
    pub(crate) models: Arc<Models>,
    pub(crate) planner: Planner,
    pub(crate) engines: Arc<EngineShelf>,
    pub(crate) router: Arc<RouterOwner>,
    pub(crate) transfers: Transfers,
    pub(crate) setup: SetupOwner,
    pub(crate) routes: Routes,
    pub(crate) turns: Turns,
    pub(crate) streaming: Streaming,
    /// For what is on this machine.
    pub(crate) http: reqwest::Client,
    pub(crate) slots: Slots,
    pub(crate) sampler: Arc<SamplerOwner>,
    pub(crate) endpoint: Endpoint,
}

impl App {
    /// Opens our data and starts the owners; does not start the engine.
    pub async fn start(config: Config) -> Result<Arc<Self>, Fault> {
        Ok(Self::open(config).await?)
    }

    async fn open(config: Config) -> Result<Arc<Self>, Failed> {
        let root = Root::new();
        let jobs = root.scope();
        let bus = Bus::new();
        plimsoll_os::files::create_private_dir(&config.home)?;
        let store = Store::open(&config.home.join("plimsoll.db"), clock::now_s()).await?;
        let memo = Memo::new(store.clone());
        let endpoint = Endpoint::open(&config.home).await?;
        let ledger = Arc::new(RangeLedger(store.clone()));
        let hub = Hub::with_ledger(config.hub.clone(), ledger);
        let kept = Engines::new(config.places.engines(), config.environment.clone());
        let desk_config = DeskConfig {
            home: config.home.clone(),
            engines: kept.clone(),
            ports: Ports::default(),
            memory: MemoryReader::default(),
        };
        let desk = Desk::start(&jobs.child(), desk_config)?;
        let machine = Arc::new(MachineOwner::new(
            config.environment.clone(),
            config.drivers.clone(),
            memo.clone(),
            jobs.child(),
        ));
        let models = Arc::new(Models::new(
            config.catalog,
            hub.clone(),
            memo.clone(),
            config.elsewhere.clone(),
            &bus,
            jobs.child(),
        ));
        let sampler = Arc::new(SamplerOwner::new(
            config.environment.clone(),
            config.drivers.clone(),
            bus.clone(),
            jobs.child(),
        ));
        desk.keeping(keeping(&memo.settings().await?, &config.environment))
            .await;
        let router = Arc::new(RouterOwner::new(desk));
        router.watch(
            &jobs,
            bus.clone(),
            store.clone(),
            memo.clone(),
            Arc::clone(&sampler),
        );
        // Loopback never goes through a proxy, whatever the environment says.
        let http = reqwest::Client::builder().no_proxy().build().map_err(|error| {
            let mut fault = fault(FaultCode::Internal, []);
            fault.trace.push(error.to_string());
            fault
        })?;
        let planner = Planner::new(
            config.catalog,
            Arc::clone(&machine),
            kept.clone(),
            &router,
            store.clone(),
        );
        Ok(Arc::new(Self {
            planner,
            engines: Arc::new(EngineShelf::new(
                kept,
                config.catalog,
                hub,
                jobs.child(),
                &config.environment,
            )),
            transfers: Transfers::open(bus.clone(), store.clone(), jobs.child()).await?,
            setup: SetupOwner::new(bus.clone(), jobs.child()),
            routes: Routes::new(&config, memo.clone(), http.clone())?,
            turns: Turns::new(bus.clone(), store.clone(), jobs.child()),
            streaming: Streaming {
                bus: bus.clone(),
                store: store.clone(),
                approvals: Approvals::default(),
                contexts: Contexts::new(store.clone(), bus.clone(), jobs.child()),
            },
            http,
            slots: Slots::default(),
            table: calls::table(),
            root: Mutex::new(Some(root)),
            config,
            jobs,
            bus,
            store,
            memo,
            machine,
            models,
            router,
            sampler,
            endpoint,
        }))
    }

    /// One question with one answer, for hosts in the same process. A question that was asked is carried
    /// through, also when nobody waits for its answer any more.
    pub async fn ask<C: Call>(self: &Arc<Self>, call: C) -> Result<C::Reply, Fault>
    where
        C::Reply: Send + 'static,
    {
        let this = Arc::clone(self);
        self.carry_through(async move { this.table.ask(Arc::clone(&this), call).await })
            .await
    }

    /// The same question as JSON.
    pub async fn call(self: &Arc<Self>, name: &str, body: Value) -> Result<Value, Fault> {
        let (this, name) = (Arc::clone(self), name.to_owned());
        self.carry_through(async move { this.table.call(Arc::clone(&this), &name, body).await })
            .await
    }

    async fn carry_through<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Fault>> + Send + 'static,
    ) -> Result<T, Fault> {
        self.jobs
            .start(|_| work)
            .await
            .unwrap_or_else(|error| Err(error.to_fault()))
    }

    /// What happens from now on.
    #[must_use]
    pub fn hear(&self) -> Hearing {
        self.bus.hear()
    }

    /// Stops every job, ends the router if it is ours, and lets go of our data. Calling it again does nothing.
    pub async fn end(&self) {
        let root = self.root.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(root) = root else { return };
        if let Ending::StillRunning(jobs) = root.end(END_MAX).await {
            tracing::warn!(jobs, "left behind at the end");
        }
    }

    /// Makes the model ready and says where requests for it go. Refused while the person has switched the
    /// endpoint off. `after` says how long the model stays when nobody uses it afterwards.
    pub async fn router_target(self: &Arc<Self>, model: &str, after: Stay) -> Result<RouterTarget, Fault> {
        let this = Arc::clone(self);
        let model = model.to_owned();
        self.carry_through(async move {
            let settings = this.memo.settings().await.map_err(|error| error.to_fault())?;
            if settings.endpoint == Some(false) {
                return Err(fault(FaultCode::NotAllowed, [("setting", "endpoint".into())]));
            }
            let Usable { id, target, .. } = this.make_ready(&model, None).await?;
            this.router.desk.used(&id, after);
            let slots = this.router.slots_to_give(&id);
            Ok(RouterTarget {
                url: target.url,
                key: target.key,
                model: target.model,
                slot: slots.and_then(Slots::for_others),
            })
        })
        .await
    }

    /// Starts the router or finds the one that runs, and stays with it: when its owner ends, this process owns
    /// the next one.
    pub async fn keep_router(self: &Arc<Self>) -> Result<(), Fault> {
        let desk = self.router.desk.clone();
        self.carry_through(async move { desk.keep().await.map_err(|trouble| trouble.to_fault()) })
            .await
    }

    /// A request of another program, shown to the person until it is dropped.
    pub fn request_from_outside(&self, model: &str) -> OutsideRequest {
        self.endpoint.request(model, self.bus.clone())
    }

    /// The front says where it listens (a URL that ends in `/v1`), or that it no longer does.
    pub fn set_endpoint(&self, url: Option<String>) {
        let front = url.clone().map(|url| Front {
            url,
            key: self.endpoint.key().to_owned(),
        });
        self.endpoint.set_url(url);
        let desk = self.router.desk.clone();
        self.jobs.keep(|_| async move { desk.set_front(front).await });
        self.bus.tell(Event::SettingsChanged);
    }

    /// The front could not listen. Shown to the person, who may ask for another try.
    pub fn endpoint_failed(&self, fault: Fault) {
        self.endpoint.set_fault(fault);
        self.bus.tell(Event::SettingsChanged);
    }

    /// Until the person wants the front to try again.
    pub async fn endpoint_wanted(&self) {
        self.endpoint.asked_again().await;
    }

    /// The key that outside clients must show to the front. Kept in our home, readable by its owner only.
    #[must_use]
    pub fn endpoint_key(&self) -> &str {
        self.endpoint.key()
    }

    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) async fn make_ready(
        &self,
        model: &str,
        wishes: Option<&PlanWishes>,
    ) -> Result<Usable, Failed> {
        // Another of our processes may have changed them.
        self.apply_keeping(&self.memo.settings().await?).await;
        self.router
            .ensure(&self.models, &self.planner, model, wishes)
            .await
    }

    /// How long idle models stay, as the settings now say.
    pub(crate) async fn apply_keeping(&self, settings: &Settings) {
        let keeping = keeping(settings, &self.config.environment);
        self.router.desk.keeping(keeping).await;
    }

    /// Something went wrong while a model was asked: it proves itself by a few tokens, or is unloaded. Whether the next
    /// question has to load it again.
    pub async fn doubt_model(self: &Arc<Self>, model: &str) -> bool {
        let this = Arc::clone(self);
        let model = model.to_owned();
        let doubted = self.carry_through(async move {
            let id = match this.router.ready(&model) {
                Some(id) => id,
                None => this.models.find_on_disk(&model).await.map_err(Fault::from)?.id,
            };
            Ok(this.router.desk.doubt(&id).await)
        });
        doubted.await.unwrap_or(true)
    }

    /// A stopped answer frees its slot within a moment. Looked at beside everything else: nobody waits for it, and one
    /// that goes on all the same is known.
    pub(crate) fn see_it_stop(&self, model: &str, slot: Option<u32>) {
        let Some(client) = self.router.desk.client() else {
            return;
        };
        let (desk, id) = (self.router.desk.clone(), model.to_owned());
        let name = plimsoll_engine::router_id(model).into_owned();
        self.jobs.keep(|_| async move {
            for pause in STOP_LOOKS {
                tokio::time::sleep(pause).await;
                let Ok(slots) = client.slots(&name).await else {
                    break;
                };
                let mut own = slots.iter().filter(|one| slot.is_none_or(|slot| one.id == slot));
                if own.all(|one| !one.is_processing) {
                    return;
                }
            }
            // Another's work may be what is seen, or the model hangs.
            let gone = desk.doubt(&id).await;
            tracing::warn!(
                model = name,
                ?slot,
                gone,
                "a stopped answer still works at its server"
            );
        });
    }

    /// For a turn: the model made ready, with what its publisher advises.
    pub(crate) async fn ready_model(&self, model: &str, conversation: &str) -> Result<ReadyModel, Failed> {
        if let Some(name) = CloudName::read(model) {
            return self.routes.ready(name).await;
        }
        let Usable { id, target, window } = self.make_ready(model, None).await?;
        let slots = self.router.slots_to_give(&id);
        Ok(ReadyModel {
            slot: slots.and_then(|slots| {
                let is_running = |one: &str| self.turns.is_running(one);
                self.slots.seat(&id, slots, conversation, is_running)
            }),
            sampling: self.advice(&id),
            route: local_route(&target.url, &target.model, Some(target.key))?,
            by: LOCAL.to_owned(),
            http: self.http.clone(),
            name: target.model,
            id,
            window,
            // A router that died is seen to by whoever asks.
            patience: Patience::NONE,
        })
    }

    /// By which rules a conversation would be sent to this model, before it is ready.
    pub(crate) async fn policy_of(&self, model: Option<&str>) -> Option<Policy> {
        let name = model?;
        if let Some(cloud) = CloudName::read(name) {
            let (_, route) = self.routes.route(cloud).await.ok()?;
            return Some(Policy::new(&route, cloud.model));
        }
        let route = local_route("http://127.0.0.1", name, None).ok()?;
        Some(Policy::new(&route, name))
    }

    pub(crate) fn advice(&self, id: &str) -> Sampling {
        let advice = self
            .config
            .catalog
            .find(id)
            .and_then(|(model, _)| model.sampling.as_ref());
        advice.map_or_else(Sampling::default, |advice| Sampling {
            temperature: advice.temperature,
            top_p: advice.top_p,
            top_k: advice.top_k,
            min_p: advice.min_p,
            ..Sampling::default()
        })
    }
}
