use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_os::jobs::Scope;
use plimsoll_units::Bytes;
use tokio::sync::{mpsc, oneshot, watch};

use super::client::{Client, Target};
use super::models::Waiter;
use super::owner::Owner;
use super::place::{Front, Place};
use super::preset::{ModelPlan, router_id};
use super::residency::{HostMemory, Keeping, Stay};
use super::start::Ports;
use super::state::{Loaded, RouterState};
use crate::engines::Engines;
use crate::error::{EngineError, Trouble};

/// Asks that wait for the desk's owner; more of them than this have to wait to be put in.
const ASKS_WAITING: usize = 64;

/// What a desk is made from.
#[derive(Debug, Clone)]
pub struct DeskConfig {
    /// Our data folder; the router's files lie in `run` and `logs` under it.
    pub home: PathBuf,
    pub engines: Engines,
    pub ports: Ports,
    pub memory: MemoryReader,
}

/// Reads the host's memory. Fixed in tests.
#[derive(Clone)]
pub struct MemoryReader(pub Arc<dyn Fn() -> Option<HostMemory> + Send + Sync>);

impl Default for MemoryReader {
    fn default() -> Self {
        Self(Arc::new(|| {
            let (available, total) = plimsoll_os::memory::host()?;
            Some(HostMemory { available, total })
        }))
    }
}

impl fmt::Debug for MemoryReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryReader")
    }
}

pub(super) enum Ask {
    /// A router, whoever owns it. With `keep`, a new one as well when the owner of this one ends.
    Want {
        keep: bool,
        done: oneshot::Sender<Result<(), Trouble>>,
    },
    Load {
        plan: ModelPlan,
        budget: Bytes,
        done: Waiter,
    },
    Unload {
        id: String,
        done: oneshot::Sender<Result<(), Trouble>>,
    },
    Used {
        id: String,
        stay: Stay,
    },
    Keeping(Keeping),
    /// Something went wrong with it. Answered with whether it had to be unloaded.
    Doubt {
        id: String,
        done: oneshot::Sender<bool>,
    },
    Front(Option<Front>),
    Stop {
        done: oneshot::Sender<Result<(), Trouble>>,
    },
}

/// The one place in a process where the router is asked for. Clones are the same desk.
#[derive(Debug, Clone)]
pub struct Desk {
    asks: mpsc::Sender<Ask>,
    state: watch::Receiver<RouterState>,
    client: watch::Receiver<Option<Client>>,
}

impl Desk {
    /// Starts the desk, not the router. It ends with `scope`, and a router that it owns ends with it.
    pub fn start(scope: &Scope, config: DeskConfig) -> Result<Self, EngineError> {
        let place = Place::make(&config.home)?;
        let (asks, asked) = mpsc::channel(ASKS_WAITING);
        let (tell, state) = watch::channel(RouterState::Off);
        let (link, client) = watch::channel(None);
        let inner = scope.child();
        let owner = Owner::new(inner, place, config, tell, link);
        scope.keep(|stop| owner.run(asked, stop));
        Ok(Self { asks, state, client })
    }

    /// What happens to the router; the value that is there is the newest.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<RouterState> {
        self.state.clone()
    }

    /// Makes sure that there is a router: another process's, or one of our own.
    pub async fn want(&self) -> Result<(), Trouble> {
        self.ask(|done| Ask::Want { keep: false, done }).await?
    }

    /// The same, and stays with it: when another process's router ends, this one starts its own.
    pub async fn keep(&self) -> Result<(), Trouble> {
        self.ask(|done| Ask::Want { keep: true, done }).await?
    }

    /// Makes the model ready: starts the router if there is none, unloads idle models when `budget` does not
    /// hold all, loads, and proves it by a few tokens. At once when it is ready with this plan already.
    /// Dropping the future does not stop the load; [`Self::unload`] does.
    pub async fn load(&self, plan: ModelPlan, budget: Bytes) -> Result<Loaded, Trouble> {
        let id = plan.id.clone();
        let (context, proof) = self.ask(|done| Ask::Load { plan, budget, done }).await??;
        let target = self
            .target(&id)
            .ok_or_else(|| Arc::new(EngineError::RouterGone))?;
        Ok(Loaded {
            target,
            context,
            proof,
        })
    }

    /// Gives its memory back, also in the middle of its load. No error when it was not loaded.
    pub async fn unload(&self, id: &str) -> Result<(), Trouble> {
        self.ask(|done| Ask::Unload {
            id: id.to_owned(),
            done,
        })
        .await?
    }

    /// It is in use now: others are unloaded before it, and its time afterwards counts from here on.
    pub fn used(&self, id: &str, stay: Stay) {
        // When the desk is too busy to hear it, another use will be heard.
        let id = id.to_owned();
        let _ = self.asks.try_send(Ask::Used { id, stay });
    }

    /// What sends models away that nobody uses, unless a user said otherwise. Done by the process that owns the router.
    pub async fn keeping(&self, keeping: Keeping) {
        let _ = self.asks.send(Ask::Keeping(keeping)).await;
    }

    /// Something went wrong while this model was asked: it has to prove itself by a few tokens once more, whatever
    /// `/health` says. One that does not is unloaded. Whether it has to be loaded again.
    pub async fn doubt(&self, id: &str) -> bool {
        let id = id.to_owned();
        self.ask(|done| Ask::Doubt { id, done }).await.unwrap_or(true)
    }

    /// Our endpoint for other apps, told to our other processes while this one owns the router.
    pub async fn set_front(&self, front: Option<Front>) {
        let _ = self.asks.send(Ask::Front(front)).await;
    }

    /// Ends the router, its own or another process's, and with it every model.
    pub async fn stop(&self) -> Result<(), Trouble> {
        self.ask(|done| Ask::Stop { done }).await?
    }

    /// Where requests for this model go, as long as there is a router: to its own process where we know its port, because
    /// behind the router an abandoned request is noticed only when the next piece of its answer comes. Says nothing about
    /// the model.
    #[must_use]
    pub fn target(&self, id: &str) -> Option<Target> {
        let port = self.state.borrow().model(id).and_then(|model| model.port);
        self.client
            .borrow()
            .as_ref()
            .map(|client| client.target(&router_id(id), port))
    }

    /// Talks to the router that is there.
    #[must_use]
    pub fn client(&self) -> Option<Client> {
        self.client.borrow().clone()
    }

    async fn ask<T>(&self, make: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Result<T, Trouble> {
        let stopped = || Arc::new(EngineError::Stopped);
        let (done, answer) = oneshot::channel();
        self.asks.send(make(done)).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())
    }
}
