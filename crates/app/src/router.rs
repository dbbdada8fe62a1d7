//! The router as the app uses it: a model is made ready from its plan, and what happens is told and kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::{Desk, ModelPlan, ModelStatus, RouterState, Stay, Target};
use plimsoll_os::jobs::Scope;
use plimsoll_os::{clock, process};
use plimsoll_store::{Measurement, Store};
use plimsoll_units::{Bytes, Tokens};
use plimsoll_wire::{Event, PlanWishes, Router};
use serde_json::json;
use tokio::sync::watch;

use crate::bus::Bus;
use crate::fault::Failed;
use crate::learned::PROOF;
use crate::memo::Memo;
use crate::models::Models;
use crate::plans::{ForLoad, Planner};
use crate::sampler::SamplerOwner;
use crate::to_wire::{self, Planned, Plans};

/// The desk sees a dead router by its closed connection, which takes milliseconds.
const NOTICE_MAX: Duration = Duration::from_secs(3);

/// A model that may be asked.
#[derive(Debug, Clone)]
pub(crate) struct Usable {
    pub(crate) id: String,
    pub(crate) target: Target,
    /// Of one slot.
    pub(crate) window: Option<Tokens>,
}

/// What a load was asked with.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    wishes: PlanWishes,
    plan: ModelPlan,
    budget: Bytes,
    pub(crate) planned: Arc<Planned>,
}

/// By model id.
pub(crate) type Loads = BTreeMap<String, Asked>;

pub(crate) struct RouterOwner {
    pub(crate) desk: Desk,
    /// Written by whoever asks for a load, in one step; read when a state is told or a switch is planned.
    asked: watch::Sender<Loads>,
}

impl RouterOwner {
    pub(crate) fn new(desk: Desk) -> Self {
        Self {
            desk,
            asked: watch::Sender::new(BTreeMap::new()),
        }
    }

    pub(crate) fn loads(&self) -> watch::Receiver<Loads> {
        self.asked.subscribe()
    }

    pub(crate) fn read(&self) -> Router {
        to_wire::router(&self.desk.state().borrow(), &self.plans())
    }

    fn plans(&self) -> Plans {
        self.asked
            .borrow()
            .iter()
            .map(|(id, asked)| (id.clone(), Arc::clone(&asked.planned)))
            .collect()
    }

    /// Makes the model ready. Without wishes, one that is ready stays as it is: planning it anew could only
    /// disturb whoever uses it.
    pub(crate) async fn ensure(
        &self,
        models: &Models,
        planner: &Planner,
        name: &str,
        wishes: Option<&PlanWishes>,
    ) -> Result<Usable, Failed> {
        self.see_the_dead().await;
        if wishes.is_none()
            && let Some(usable) = self.usable(name)
        {
            self.desk.used(&usable.id, Stay::Usual);
            return Ok(usable);
        }
        let on_disk = models.find_on_disk(name).await?;
        let id = on_disk.id.clone();
        if wishes.is_none()
            && let Some(usable) = self.usable(&id)
        {
            self.desk.used(&id, Stay::Usual);
            return Ok(usable);
        }
        let before = self.asked.borrow().get(&id).cloned();
        let asked = match (wishes, before) {
            // It is on its way already: wait for that.
            (None, Some(asked)) if self.is_loading(&id) => asked,
            (wishes, before) => {
                let wishes = wishes
                    .cloned()
                    .or(before.map(|asked| asked.wishes))
                    .unwrap_or_default();
                let path = on_disk.first_file()?.to_owned();
                let ForLoad {
                    name,
                    plan,
                    bytes,
                    host_after_loading,
                    machine,
                    budget,
                } = planner.for_load(models, &on_disk, &wishes).await?;
                let arguments = plan.settings.arguments.clone();
                let carried_out = Arc::new(Planned {
                    plan,
                    host_after_loading,
                    machine,
                });
                let plan = ModelPlan {
                    id: id.clone(),
                    name,
                    path,
                    arguments,
                    planned: bytes,
                };
                let asked = Asked {
                    wishes,
                    plan,
                    budget,
                    planned: carried_out,
                };
                self.asked.send_modify(|all| {
                    all.insert(id.clone(), asked.clone());
                });
                asked
            }
        };
        let loaded = self.desk.load(asked.plan, asked.budget).await?;
        Ok(Usable {
            id,
            target: loaded.target,
            window: loaded.context,
        })
    }

    /// A router that has just died is shown as ready for a moment, until the desk has noticed.
    async fn see_the_dead(&self) {
        let mut state = self.desk.state();
        let noticed = state.wait_for(|state| match state {
            RouterState::Ready(ready) => process::exists(ready.pid),
            RouterState::Off
            | RouterState::Starting
            | RouterState::Waiting { .. }
            | RouterState::Failed { .. } => true,
        });
        if tokio::time::timeout(NOTICE_MAX, noticed).await.is_err() {
            tracing::warn!("a router without a process is still shown as ready");
        }
    }

    /// How many slots a model has that are to be given to conversations, where this process loaded it. With room for
    /// prompts in the RAM llama-server keeps every conversation's text there by itself and finds it again for whichever
    /// slot is free; it takes a text out of an idle slot for that, and one that is named is then read anew.
    pub(crate) fn slots_to_give(&self, id: &str) -> Option<u32> {
        let asked = self.asked.borrow();
        let settings = &asked.get(id)?.planned.plan.settings;
        (settings.cache_ram_mib == 0).then_some(settings.slots)
    }

    /// The id, when a model of exactly this id is ready.
    pub(crate) fn ready(&self, id: &str) -> Option<String> {
        Some(self.usable(id)?.id)
    }

    fn usable(&self, id: &str) -> Option<Usable> {
        let state = self.desk.state();
        let state = state.borrow();
        let model = state
            .model(id)
            .filter(|model| model.status == ModelStatus::Ready)?;
        Some(Usable {
            id: id.to_owned(),
            target: self.desk.target(id)?,
            window: model.context,
        })
    }

    fn is_loading(&self, id: &str) -> bool {
        let state = self.desk.state();
        let state = state.borrow();
        state
            .model(id)
            .is_some_and(|model| matches!(model.status, ModelStatus::Loading | ModelStatus::Proving))
    }

    /// Passes every change on as an event, and keeps what a proof measured.
    pub(crate) fn watch(
        self: &Arc<Self>,
        scope: &Scope,
        bus: Bus,
        store: Store,
        memo: Memo,
        sampler: Arc<SamplerOwner>,
    ) {
        let this = Arc::clone(self);
        scope.keep(|stop| async move {
            let mut state = this.desk.state();
            let mut proved = BTreeMap::new();
            let mut told = Router::Off;
            loop {
                tokio::select! { biased;
                    () = stop.cancelled() => return,
                    changed = state.changed() => if changed.is_err() { return },
                }
                let now = state.borrow_and_update().clone();
                let router = to_wire::router(&now, &this.plans());
                if router != told {
                    told.clone_from(&router);
                    bus.tell(Event::RouterChanged { router });
                }
                sampler.also_ours(others_router(&now)).await;
                for measurement in this.new_proofs(&now, &mut proved) {
                    keep(&store, &memo, measurement).await;
                }
            }
        });
    }

    /// The proofs that were not seen before, as measurements.
    fn new_proofs(
        &self,
        state: &RouterState,
        proved: &mut BTreeMap<String, plimsoll_engine::Proof>,
    ) -> Vec<Measurement> {
        let RouterState::Ready(ready) = state else {
            proved.clear();
            return Vec::new();
        };
        let asked = self.asked.borrow();
        let mut new = Vec::new();
        for model in &ready.models {
            let Some(proof) = &model.proof else {
                proved.remove(&model.id);
                continue;
            };
            if proved.get(&model.id) == Some(proof) {
                continue;
            }
            proved.insert(model.id.clone(), proof.clone());
            let planned = asked.get(&model.id).map(|asked| &asked.planned);
            new.push(Measurement {
                taken_at: clock::now_s(),
                kind: PROOF.to_owned(),
                model: model.id.clone(),
                body: json!({
                    "engine": ready.engine,
                    "arguments": asked.get(&model.id).map(|asked| &asked.plan.arguments),
                    "machine": planned.map(|planned| &planned.machine),
                    "plannedBytes": proof.planned.0,
                    "hostLibrariesBytes": planned.and_then(|planned| to_wire::host_libraries(proof, planned)),
                    "residentBytes": proof.resident.as_ref().map(|resident| resident.resident.0),
                    "firstTokenMs": proof.first_token_ms,
                    "decodeTps": proof.decode.map(plimsoll_units::TokensPerSecond::get),
                    "prefillTps": proof.prefill.map(plimsoll_units::TokensPerSecond::get),
                }),
            });
        }
        new
    }
}

/// A measurement that cannot be kept is a pity and no more: the model works.
async fn keep(store: &Store, memo: &Memo, measurement: Measurement) {
    let model = measurement.model.clone();
    let kept = async {
        store.record_measurement(measurement).await?;
        memo.keep_set_up().await
    };
    if let Err(error) = kept.await {
        tracing::warn!(%error, model, "the measurement of a loaded model is not kept");
    }
}

/// The process of a router that another of our programs owns.
fn others_router(state: &RouterState) -> Option<u32> {
    match state {
        RouterState::Ready(ready) if !ready.owned => Some(ready.pid),
        RouterState::Ready(_)
        | RouterState::Off
        | RouterState::Starting
        | RouterState::Waiting { .. }
        | RouterState::Failed { .. } => None,
    }
}
