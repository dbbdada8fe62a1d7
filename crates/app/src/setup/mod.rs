//! The one click: engine and model are fetched beside each other, then the model is started and proves itself.
//! What is there already is done at once, and what was begun goes on.

mod run;

use std::sync::Arc;

use plimsoll_os::jobs::Scope;
use plimsoll_wire::{Event, FaultCode, Setup, SetupStep, StepName, StepState};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::App;
use crate::bus::Bus;
use crate::engines::Choice;
use crate::fault::{Failed, fault};
use crate::machine::{Freshness, RamSpeed};
use crate::models::{Named, Order};

#[derive(Debug, Clone)]
struct Current {
    setup: Setup,
    stop: CancellationToken,
}

/// The state lives in the watch; the one job that runs is the only one that writes it.
#[derive(Clone)]
pub(crate) struct SetupOwner {
    current: watch::Sender<Option<Current>>,
    bus: Bus,
    jobs: Scope,
}

/// What is still to be done.
#[derive(Debug)]
struct Work {
    /// The id that the model has, or will have, in the library.
    model: String,
    /// Missing when there is an engine.
    engine: Option<Choice>,
    /// Missing when the model is on disk.
    order: Option<Order>,
}

impl SetupOwner {
    pub(crate) fn new(bus: Bus, jobs: Scope) -> Self {
        Self {
            current: watch::Sender::new(None),
            bus,
            jobs,
        }
    }

    pub(crate) fn read(&self) -> Option<Setup> {
        self.current
            .borrow()
            .as_ref()
            .map(|current| current.setup.clone())
    }

    /// Asks it to stop; what was fetched is kept. Nothing happens when none runs.
    pub(crate) fn stop(&self) {
        if let Some(current) = self.current.borrow().as_ref() {
            current.stop.cancel();
        }
    }

    /// Starts it, or joins the one that runs for the same model.
    pub(crate) async fn start(
        &self,
        app: &Arc<App>,
        model: &str,
        quant: &str,
        licence_accepted: bool,
    ) -> Result<Setup, Failed> {
        let work = work(app, model, quant, licence_accepted).await?;
        let setup = begin(model, quant, &work);
        let stop = self.jobs.token().child_token();
        let mut other = None;
        let started = self.current.send_if_modified(|current| {
            if let Some(running) = current.as_ref().filter(|current| current.setup.running) {
                other = Some(running.setup.clone());
                return false;
            }
            *current = Some(Current {
                setup: setup.clone(),
                stop: stop.clone(),
            });
            true
        });
        if !started {
            return match other {
                Some(same) if same.model == model && same.quant == quant => Ok(same),
                Some(_) | None => Err(fault(FaultCode::Busy, [("what", "setup".into())]).into()),
            };
        }
        self.bus.tell(Event::SetupMoved { setup: setup.clone() });
        let (this, app) = (self.clone(), Arc::clone(app));
        self.jobs
            .keep(|_| async move { run::run(&this, &app, work, &stop).await });
        Ok(setup)
    }

    /// Changes the state and tells it, when the change made a difference.
    fn change(&self, change: impl FnOnce(&mut Setup)) {
        let changed = self.current.send_if_modified(|current| {
            let Some(current) = current else { return false };
            let before = current.setup.clone();
            change(&mut current.setup);
            current.setup != before
        });
        if changed && let Some(setup) = self.read() {
            self.bus.tell(Event::SetupMoved { setup });
        }
    }
}

async fn work(app: &App, model: &str, quant: &str, licence_accepted: bool) -> Result<Work, Failed> {
    let name = if quant.is_empty() {
        model.to_owned()
    } else {
        format!("{model}:{quant}")
    };
    let named = match app.models.find(&name).await {
        Ok(named) => Ok(named),
        // A file that the catalog does not know has no quant in its name.
        Err(unknown) => app.models.find(model).await.map_err(|_| unknown),
    };
    let (id, order) = match named {
        Ok(Named::OnDisk(on_disk)) if on_disk.is_ready() => (on_disk.id, None),
        Ok(Named::OnDisk(_) | Named::Catalog(_)) => {
            let order = app.models.order(&name).await?;
            (order.id(), Some(order))
        }
        Err(_) => {
            let order = app.models.order(model).await?;
            (order.id(), Some(order))
        }
    };
    if let Some(order) = &order {
        app.models.check_licence(order, licence_accepted).await?;
    }
    let engine = match app.engines.kept.in_use() {
        Ok(engine) if engine.missing().is_empty() => None,
        Ok(_) | Err(plimsoll_engine::EngineError::NoEngine) => {
            let machine = app.machine.read(Freshness::Known, RamSpeed::AsKnown).await?;
            Some(app.engines.choice(&machine, None)?)
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Work {
        model: id,
        engine,
        order,
    })
}

fn begin(model: &str, quant: &str, work: &Work) -> Setup {
    let bytes = |choice: Option<plimsoll_units::Bytes>| choice.map_or(0, |bytes| bytes.0);
    let engine = bytes(work.engine.as_ref().map(Choice::bytes));
    let files = bytes(work.order.as_ref().and_then(Order::bytes));
    let step = |name, there: bool| SetupStep {
        name,
        state: if there {
            StepState::Done
        } else {
            StepState::Waiting
        },
        value: None,
    };
    Setup {
        model: model.to_owned(),
        quant: quant.to_owned(),
        steps: vec![
            step(StepName::Engine, work.engine.is_none()),
            step(StepName::Model, work.order.is_none()),
            step(StepName::Start, false),
            step(StepName::Proof, false),
        ],
        running: true,
        done: false,
        done_bytes: 0,
        total_bytes: engine.saturating_add(files),
        seconds_left: None,
        fault: None,
    }
}

/// A step of a setup, to be changed.
fn set_step(setup: &mut Setup, name: StepName, state: StepState, value: Option<f64>) {
    if let Some(step) = setup.steps.iter_mut().find(|step| step.name == name) {
        step.state = state;
        step.value = value;
    }
}

/// Ends the setup where it stands: what ran has failed or was stopped, what waited still waits.
fn end_here(setup: &mut Setup, how: StepState) {
    setup.running = false;
    setup.seconds_left = None;
    for step in &mut setup.steps {
        if step.state == StepState::Running {
            step.state = how;
        }
    }
}
