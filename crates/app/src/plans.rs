//! Plans as the app asks for them: with this machine as it is now, the engine in use and what was measured.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_catalog::Catalog;
use plimsoll_engine::{Engines, ModelStatus, RouterState};
use plimsoll_hardware::{Backend, Machine};
use plimsoll_os::process;
use plimsoll_planner::memory::{CacheType, Outputs, Release};
use plimsoll_planner::{self as planner, Anchor, Goal, Held, Projector, Shape, Situation, Verdict, Wishes};
use plimsoll_store::Store;
use plimsoll_units::Bytes;
use plimsoll_wire::{self as wire, FaultCode, MakePlan, PlanWishes};
use tokio::sync::watch;

use crate::beside::{Beside, Pictures, Subject, subject};
use crate::fault::{Failed, ToFault as _, fault};
use crate::learned::{Learned, Where, learned};
use crate::machine::{Freshness, MachineOwner, RamSpeed, fingerprint};
use crate::models::{Known, Models, Named, OnDisk};
use crate::router::{Loads, RouterOwner};
use crate::to_wire;

/// For plans that are only looked at: free memory that is older than this is asked for again.
pub(crate) const RECENT: Freshness = Freshness::Within(Duration::from_secs(20));

/// A plan that is about to be carried out.
#[derive(Debug, Clone)]
pub(crate) struct ForLoad {
    /// For people.
    pub(crate) name: String,
    pub(crate) plan: wire::Plan,
    /// All memory that it counts on.
    pub(crate) bytes: Bytes,
    /// What of it lies in the RAM right after the first words: comparable to the child's resident memory.
    pub(crate) host_after_loading: Bytes,
    /// The machine that it was made for, for what is learned from it.
    pub(crate) machine: String,
    /// What all loaded models together may take of the pools that this one uses.
    pub(crate) budget: Bytes,
}

/// What a plan is made for.
struct Ground {
    machine: Arc<Machine>,
    engine: planner::Engine,
    anchors: Vec<Anchor>,
    host_libraries: Option<Bytes>,
    held: Held,
}

pub(crate) struct Planner {
    catalog: &'static Catalog,
    machine: Arc<MachineOwner>,
    engines: Engines,
    router: watch::Receiver<RouterState>,
    loads: watch::Receiver<Loads>,
    store: Store,
}

impl Planner {
    pub(crate) fn new(
        catalog: &'static Catalog,
        machine: Arc<MachineOwner>,
        engines: Engines,
        router: &RouterOwner,
        store: Store,
    ) -> Self {
        Self {
            catalog,
            machine,
            engines,
            router: router.desk.state(),
            loads: router.loads(),
            store,
        }
    }

    /// The plan that a load is carried out with. A model that is too big is a fault with the two numbers.
    pub(crate) async fn for_load(
        &self,
        models: &Models,
        on_disk: &OnDisk,
        wishes: &PlanWishes,
    ) -> Result<ForLoad, Failed> {
        let inspected = models.inspect(on_disk.first_file()?).await?;
        // What others have taken meanwhile decides whether it loads.
        let ground = self.here(models, &[], Freshness::Anew).await?;
        let beside = Beside::of(models, wishes, on_disk.projector()).await?;
        beside.check_files(wishes)?;
        let plan = self.plan(&ground, &inspected.shape, &beside.wishes(to_wishes(wishes)?))?;
        let needs = || {
            plan.memory
                .devices
                .iter()
                .map(|device| &device.need)
                .chain([&plan.memory.host])
        };
        let bytes: Bytes = needs().map(planner::Need::total).sum();
        let budget: Bytes = needs().map(|need| need.budget).sum();
        if plan.verdict == Verdict::TooBig {
            let params = [
                ("model", on_disk.id.as_str().into()),
                ("needed", bytes.0.into()),
                ("have", budget.0.into()),
            ];
            return Err(fault(FaultCode::DoesNotFit, params).into());
        }
        Ok(ForLoad {
            name: models.name_of(on_disk).await,
            bytes,
            host_after_loading: plan.memory.host.after_loading(),
            machine: fingerprint(&ground.machine),
            budget,
            plan: beside.named_in(to_wire::plan(&on_disk.id, &plan)),
        })
    }

    /// A plan that somebody wants to see: of a model by any of its names, or of a file.
    pub(crate) async fn make(&self, models: &Models, call: MakePlan) -> Result<wire::Plan, Failed> {
        let anchors = call.anchors.unwrap_or_default();
        let ground = match call.machine {
            Some(machine) => self.elsewhere(models, machine, &anchors).await?,
            None => self.here(models, &anchors, RECENT).await?,
        };
        if let Some(plan) = self
            .best_variant(models, &ground, &call.model, &call.wishes)
            .await?
        {
            return Ok(plan);
        }
        let Subject { id, shape, projector } = subject(models, &call.model).await?;
        let (at, sized) = match projector {
            Some(Pictures::File(path)) => (Some(path), None),
            Some(Pictures::Sized(projector)) => (None, Some(projector)),
            None => (None, None),
        };
        let mut beside = Beside::of(models, &call.wishes, at.as_deref()).await?;
        beside.projector = beside.projector.or(sized);
        let plan = self.plan(&ground, &shape, &beside.wishes(to_wishes(&call.wishes)?))?;
        Ok(beside.named_in(to_wire::plan(&id, &plan)))
    }

    /// Of a model of the catalog that is not on the disk and of which no variant is named.
    async fn best_variant(
        &self,
        models: &Models,
        ground: &Ground,
        name: &str,
        wishes: &PlanWishes,
    ) -> Result<Option<wire::Plan>, Failed> {
        let named = name.contains(':') || Path::new(name).is_file();
        let found = if named { None } else { models.find(name).await.ok() };
        let Some(Named::Catalog(known)) = found else {
            return Ok(None);
        };
        let beside = Beside::of(models, wishes, None).await?;
        let wishes = beside.wishes(to_wishes(wishes)?);
        let chosen = planner::best_variant(known.model, &ground.situation(self.catalog), &wishes)?;
        Ok(chosen.map(|chosen| {
            let known = Known {
                variant: chosen.variant,
                ..known
            };
            beside.named_in(to_wire::plan(&known.id(), &chosen.plan))
        }))
    }

    pub(crate) async fn recommend(
        &self,
        models: &Models,
        machine: Option<wire::Machine>,
    ) -> Result<wire::Recommendation, Failed> {
        let ground = match machine {
            Some(machine) => self.elsewhere(models, machine, &[]).await?,
            None => self.here(models, &[], RECENT).await?,
        };
        let on_disk = models.on_disk().await?;
        let is_here = |id: &str, quant: &str| {
            let same = |known: Known| known.model.id == id && known.variant.quant == quant;
            on_disk
                .iter()
                .any(|model| model.is_ready() && model.known.is_some_and(same))
        };
        let recommended = planner::recommend(&ground.situation(self.catalog), self.catalog, &is_here);
        Ok(to_wire::recommendation(&recommended))
    }

    /// The library beside the catalog, each with its plan for this machine.
    pub(crate) async fn library(&self, models: &Models) -> Result<wire::Library, Failed> {
        let ground = self.here(models, &[], RECENT).await?;
        let on_disk = models.on_disk().await?;
        let licences = models.licences().await?;
        let mut listed = Vec::new();
        let found = on_disk.iter().map(|model| model.found.clone()).collect();
        let frees = models.library().frees(found).await?;
        for (model, frees) in on_disk.iter().zip(frees) {
            listed.push(self.listed(&ground, models, model, frees).await);
        }
        let catalog = self.catalog.models().map(|model| {
            let variants = model.variants.iter().map(|variant| {
                let known = Known { model, variant };
                wire::Variant {
                    quant: variant.quant.clone(),
                    bytes: variant.bytes().0,
                    unverified: !variant.is_verified(),
                    state: models.variant_state(&on_disk, known),
                    plan: self.catalog_plan(&ground, known),
                }
            });
            to_wire::model_entry(model, licences.contains(&model.licence.name), variants.collect())
        });
        Ok(wire::Library {
            catalog: catalog.collect(),
            folder: models.folder().display().to_string(),
            used_bytes: on_disk
                .iter()
                .filter(|model| model.found.keeper().is_none())
                .map(|model| model.found.bytes.0)
                .sum(),
            free_bytes: models.library().free_space()?.0,
            models: listed,
        })
    }

    /// One model of the library as the list shows it.
    pub(crate) async fn library_model(
        &self,
        models: &Models,
        model: &OnDisk,
        freshness: Freshness,
        speed: RamSpeed,
    ) -> Result<wire::LibraryModel, Failed> {
        let machine = self.machine.read(freshness, speed).await?;
        let ground = self.ground(models, &[], machine).await?;
        let frees = models.library().frees(vec![model.found.clone()]).await?;
        let frees = frees.into_iter().next().unwrap_or_default();
        Ok(self.listed(&ground, models, model, frees).await)
    }

    /// What a variant at the hub would do here, from its header. A header that cannot be read or planned is told
    /// beside the others of its repository.
    pub(crate) async fn at_hub(
        &self,
        models: &Models,
        repo: &str,
        path: &str,
    ) -> Result<wire::HubFit, Failed> {
        let judged = models.judge_at_hub(repo, path).await?;
        let ground = self.here(models, &[], RECENT).await?;
        let plan = |projector| {
            let wishes = Wishes {
                projector,
                ..Wishes::default()
            };
            let plan = self.plan(&ground, &judged.shape, &wishes)?;
            Ok::<_, Failed>(to_wire::plan(&judged.id, &plan))
        };
        let (planned, fault) = match plan(None) {
            Ok(plan) => (Some(plan), None),
            Err(failed) => (None, Some(failed.into())),
        };
        Ok(wire::HubFit {
            plan: planned,
            with_projector: judged.projector.and_then(|projector| plan(Some(projector)).ok()),
            fault,
            fetched_bytes: judged.fetched.0,
        })
    }

    /// A file that cannot be read or planned is listed with its fault: it is on the disk and takes space.
    async fn listed(
        &self,
        ground: &Ground,
        models: &Models,
        model: &OnDisk,
        frees: Bytes,
    ) -> wire::LibraryModel {
        let inspected = match model.first_file() {
            Ok(path) => models.inspect(path).await,
            Err(failed) => Err(failed),
        };
        let beside = Beside::of(models, &PlanWishes::default(), model.projector()).await;
        let beside = beside.unwrap_or_default();
        let (shape, planned) = match &inspected {
            Ok(inspected) => {
                let wishes = Wishes {
                    projector: beside.projector,
                    ..Wishes::default()
                };
                let plan = self.plan(ground, &inspected.shape, &wishes);
                (Some(&inspected.shape), plan.map(Some))
            }
            Err(_) => (None, Ok(None)),
        };
        let (plan, not_planned) = match planned {
            Ok(plan) => (plan, None),
            Err(failed) => (None, Some(failed)),
        };
        let architecture = shape
            .map(|shape| shape.architecture.clone())
            .or_else(|| Some(model.known?.model.shape.architecture.clone()));
        let quant = model
            .known
            .map(|known| known.variant.quant.clone())
            .or_else(|| Some(shape?.quant.clone()));
        wire::LibraryModel {
            id: model.id.clone(),
            name: models.name_of(model).await,
            quant: quant.unwrap_or_default(),
            architecture: architecture.unwrap_or_default(),
            keeper: model.found.keeper().map(to_wire::keeper),
            missing: model.found.missing.clone(),
            bytes: model.found.bytes.0,
            frees_bytes: frees.0,
            path: model
                .found
                .files
                .first()
                .map_or_else(String::new, |file| file.at.display().to_string()),
            state: to_wire::library_state(model),
            licence: model.known.map(|known| known.model.licence.name.clone()),
            chat: models.can_chat(model).await,
            plan: plan.map(|plan| beside.named_in(to_wire::plan(&model.id, &plan))),
            fault: inspected.err().or(not_planned).map(wire::Fault::from),
        }
    }

    fn catalog_plan(&self, ground: &Ground, known: Known) -> Option<wire::Plan> {
        let shape = Shape::from_catalog(known.model, known.variant);
        let wishes = Wishes {
            projector: Projector::of_model(known.model),
            ..Wishes::default()
        };
        let plan = self.plan(ground, &shape, &wishes).ok()?;
        Some(to_wire::plan(&known.id(), &plan))
    }

    fn plan(&self, ground: &Ground, shape: &Shape, wishes: &Wishes) -> Result<planner::Plan, Failed> {
        Ok(planner::plan(shape, &ground.situation(self.catalog), wishes)?)
    }

    /// This machine, with its memory as it is now and the speeds that were measured on it.
    async fn here(
        &self,
        models: &Models,
        given: &[wire::Anchor],
        freshness: Freshness,
    ) -> Result<Ground, Failed> {
        let machine = self.machine.read(freshness, RamSpeed::Measured).await?;
        self.ground(models, given, machine).await
    }

    async fn ground(
        &self,
        models: &Models,
        given: &[wire::Anchor],
        machine: Arc<Machine>,
    ) -> Result<Ground, Failed> {
        let learned = self.learned(models, &machine).await?;
        let anchors = if given.is_empty() {
            learned.anchors
        } else {
            anchors_from(models, given).await?
        };
        let held = held(&self.router.borrow().clone(), &self.loads.borrow());
        Ok(Ground {
            machine,
            engine: self.engine(),
            anchors,
            host_libraries: learned.host_libraries,
            held,
        })
    }

    /// Another machine, of which only its description is known.
    async fn elsewhere(
        &self,
        models: &Models,
        machine: wire::Machine,
        given: &[wire::Anchor],
    ) -> Result<Ground, Failed> {
        let anchors = anchors_from(models, given).await?;
        let machine = Arc::new(from_wire(&machine)?);
        Ok(Ground {
            machine,
            engine: planner::Engine::default(),
            anchors,
            host_libraries: None,
            held: Held::default(),
        })
    }

    fn engine(&self) -> planner::Engine {
        let mut engine = planner::Engine::default();
        if let Ok(in_use) = self.engines.in_use() {
            engine.backends = Some(in_use.backends.iter().filter_map(|name| backend(name)).collect());
            if let Some(build) = build_number(&in_use.version) {
                engine.release = Release { build };
            }
        }
        engine
    }

    /// What this machine taught with the engine in use.
    async fn learned(&self, models: &Models, machine: &Machine) -> Result<Learned, Failed> {
        let Ok(engine) = self.engines.in_use() else {
            return Ok(Learned::default());
        };
        let place = Where {
            machine: fingerprint(machine),
            engine: engine.id,
        };
        learned(&self.store, models, &place).await
    }
}

impl Ground {
    fn situation<'a>(&'a self, catalog: &'a Catalog) -> Situation<'a> {
        Situation {
            machine: &self.machine,
            catalog: Some(catalog),
            engine: self.engine.clone(),
            anchors: self.anchors.clone(),
            host_libraries: self.host_libraries,
            held: self.held.clone(),
        }
    }
}

async fn anchors_from(models: &Models, given: &[wire::Anchor]) -> Result<Vec<Anchor>, Failed> {
    let mut anchors = Vec::new();
    for anchor in given {
        let shape = subject(models, &anchor.model).await?.shape;
        anchors.extend(Anchor::of(shape, anchor.decode_tps, anchor.prefill_tps));
    }
    Ok(anchors)
}

fn to_wishes(wishes: &PlanWishes) -> Result<Wishes, Failed> {
    let wrong = |what: &'static str, value: &str| {
        fault(
            FaultCode::BadRequest,
            [("what", what.into()), ("value", value.into())],
        )
    };
    let kv = match wishes.kv.as_deref() {
        Some(text) => Some(text.parse::<CacheType>().map_err(|_| wrong("kv", text))?),
        None => None,
    };
    let outputs = match wishes.outputs.as_deref() {
        Some("server") => Some(Outputs::Server),
        Some("bench") => Some(Outputs::Bench),
        Some(text) => return Err(wrong("outputs", text).into()),
        None => None,
    };
    let goal = match wishes.goal.as_deref() {
        Some(text) => text.parse::<Goal>().map_err(|_| wrong("goal", text))?,
        None => Goal::default(),
    };
    Ok(Wishes {
        goal,
        context: wishes.context,
        slots: wishes.slots,
        choose_slots: wishes.choose_slots.unwrap_or(false),
        kv,
        batch: wishes.batch,
        ubatch: wishes.ubatch,
        cache_ram: wishes.cache_ram_mib.map(|mib| Bytes::mib(mib.into())),
        outputs,
        gpu_layers: wishes.gpu_layers,
        tensor_split: wishes.tensor_split.clone(),
        host_experts: wishes.host_experts,
        projector: None,
        draft: None,
        prompt_tokens: wishes.prompt_tokens,
    })
}

/// A described machine is checked like any file from outside.
fn from_wire(machine: &wire::Machine) -> Result<Machine, Failed> {
    let bytes = serde_json::to_vec(machine).map_err(|error| {
        let mut fault = fault(FaultCode::MachineFileBad, []);
        fault.trace.push(error.to_string());
        fault
    })?;
    Ok(Machine::from_json(&bytes).map_err(|error| error.to_fault())?)
}

/// What our router's children hold. Of the RAM it is measured, without the mapped weights: those the system can
/// drop, so they count as free already. Of devices it is what was planned, because drivers do not always tell.
fn held(state: &RouterState, loads: &Loads) -> Held {
    let RouterState::Ready(ready) = state else {
        return Held::default();
    };
    let resident = process::descendants(ready.pid)
        .into_iter()
        .filter_map(process::resident);
    let host = resident
        .map(|resident| resident.anonymous.unwrap_or_default())
        .sum();
    let in_memory = ready.models.iter().filter(|model| match model.status {
        ModelStatus::Proving | ModelStatus::Ready => true,
        ModelStatus::Unloaded | ModelStatus::Loading | ModelStatus::Failed => false,
    });
    let plans = in_memory
        .filter_map(|model| loads.get(&model.id))
        .map(|asked| &asked.planned.plan);
    let devices = plans.flat_map(|plan| &plan.memory.devices);
    let devices = devices.map(|device| (device.id.clone(), Bytes(device.need.total_bytes)));
    Held {
        host,
        devices: devices.collect(),
    }
}

fn backend(name: &str) -> Option<Backend> {
    match name {
        "cuda" => Some(Backend::Cuda),
        "rocm" | "hip" => Some(Backend::Rocm),
        "vulkan" => Some(Backend::Vulkan),
        "metal" => Some(Backend::Metal),
        "sycl" => Some(Backend::Sycl),
        "rpc" => Some(Backend::Rpc),
        _ => None,
    }
}

/// The first word of an engine's version that can be a llama.cpp build: `b11434`, or `11434`. Some builds say 1.
fn build_number(version: &str) -> Option<u32> {
    const OLDEST: u32 = 1_000;
    version
        .split_whitespace()
        .filter_map(|word| word.strip_prefix('b').unwrap_or(word).parse().ok())
        .find(|number| *number >= OLDEST)
}

#[cfg(test)]
mod tests {
    use super::build_number;

    #[test]
    fn the_build_is_read_from_an_engines_own_words() {
        assert_eq!(build_number("version: 11434 (7e4c0a9)"), Some(11_434));
        assert_eq!(build_number("b10434"), Some(10_434));
        assert_eq!(build_number("version: 1 (7e4c0a9)"), None);
        assert_eq!(build_number(""), None);
    }
}
