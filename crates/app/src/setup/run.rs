use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use plimsoll_engine::ModelStatus;
use plimsoll_units::Bytes;
use plimsoll_wire::{Event, Fault, FaultCode, Settings, Setup, StepName, StepState, Transfer, Transferring};
use tokio_util::sync::CancellationToken;

use super::{SetupOwner, Work, end_here, set_step};
use crate::App;
use crate::engines::Choice;
use crate::fault::{Failed, fault};

/// What an engine's archives become on the disk, of their own size: the build of the tests has 68 MB packed and
/// 194 MB beside it when it is unpacked.
const UNPACKED_TIMES: u64 = 3;

/// Why a setup did not come to its end.
enum Halt {
    Stopped,
    Failed(Failed),
}

impl<E: Into<Failed>> From<E> for Halt {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Every setup that was started comes here to exactly one end.
pub(super) async fn run(owner: &SetupOwner, app: &App, work: Work, stop: &CancellationToken) {
    let steps = AssertUnwindSafe(steps(owner, app, work, stop))
        .catch_unwind()
        .await;
    let end = steps.unwrap_or_else(|_| Err(Halt::Failed(fault(FaultCode::Internal, []).into())));
    owner.change(|setup| match end {
        Ok(()) => {
            end_here(setup, StepState::Done);
            setup.done = true;
        }
        Err(Halt::Stopped) => end_here(setup, StepState::Stopped),
        Err(Halt::Failed(failed)) => {
            end_here(setup, StepState::Failed);
            setup.fault = Some(failed.into());
        }
    });
}

async fn steps(owner: &SetupOwner, app: &App, work: Work, stop: &CancellationToken) -> Result<(), Halt> {
    let model = work.model.clone();
    fetch(owner, app, work, stop).await?;
    start(owner, app, &model, stop).await?;
    // What was set up is what new conversations use.
    let settings = Settings {
        default_model: Some(model.clone()),
        ..Settings::default()
    };
    app.memo.change_settings(settings).await?;
    app.memo.keep_last_model(&model).await?;
    app.bus.tell(Event::SettingsChanged);
    Ok(())
}

/// Engine and model beside each other. When one fails the other is stopped as well; both go on from where they
/// are the next time.
async fn fetch(owner: &SetupOwner, app: &App, work: Work, stop: &CancellationToken) -> Result<(), Halt> {
    if let (Some(choice), Some(order)) = (&work.engine, &work.order) {
        // One sum before either begins: each for itself might fit.
        let more = [(app.config().home.clone(), space_of(choice))];
        tokio::select! { biased;
            () = stop.cancelled() => return Err(Halt::Stopped),
            checked = app.models.check_room(order, &more) => checked?,
        }
    }
    let mut parts: Vec<(StepName, String)> = Vec::new();
    if let Some(choice) = work.engine {
        parts.push((StepName::Engine, app.fetch_engine(choice)));
    }
    if let Some(order) = work.order {
        parts.push((StepName::Model, app.fetch_model(order)));
    }
    let mut changes = app.transfers.changes();
    loop {
        let now: Vec<(StepName, Transfer)> = parts
            .iter()
            .filter_map(|(name, id)| Some((*name, app.transfers.find(id)?)))
            .collect();
        owner.change(|setup| show(setup, &now));
        if now
            .iter()
            .all(|(_, transfer)| transfer.state == Transferring::Done)
        {
            return Ok(());
        }
        let halt = now.iter().find_map(|(_, transfer)| match transfer.state {
            Transferring::Failed => Some(Halt::Failed(why(transfer).into())),
            Transferring::Stopped | Transferring::Cancelled => Some(Halt::Stopped),
            Transferring::Running | Transferring::Checking | Transferring::Done => None,
        });
        if let Some(halt) = halt {
            end_all(app, &parts).await;
            return Err(halt);
        }
        tokio::select! { biased;
            () = stop.cancelled() => {
                end_all(app, &parts).await;
                return Err(Halt::Stopped);
            }
            // The sender is the app's own and lives as long.
            _ = changes.changed() => {}
        }
    }
}

/// Its archives, and beside them what they hold.
fn space_of(choice: &Choice) -> Bytes {
    let packed = choice.bytes();
    packed.plus(Bytes(packed.0.saturating_mul(UNPACKED_TIMES)))
}

fn why(transfer: &Transfer) -> Fault {
    transfer
        .fault
        .clone()
        .unwrap_or_else(|| fault(FaultCode::Internal, []))
}

async fn end_all(app: &App, parts: &[(StepName, String)]) {
    for (_, id) in parts {
        app.transfers.stop(id);
    }
    for (_, id) in parts {
        app.transfers.ended(id).await;
    }
}

/// One bar over all that is fetched.
fn show(setup: &mut Setup, now: &[(StepName, Transfer)]) {
    let mut speed = 0_u64;
    for (name, transfer) in now {
        let state = match transfer.state {
            Transferring::Running | Transferring::Checking => StepState::Running,
            Transferring::Done => StepState::Done,
            Transferring::Stopped | Transferring::Cancelled => StepState::Stopped,
            Transferring::Failed => StepState::Failed,
        };
        let value = (state == StepState::Running && transfer.total_bytes > 0)
            .then(|| share(transfer.done_bytes, transfer.total_bytes));
        set_step(setup, *name, state, value);
        speed = speed.saturating_add(transfer.bytes_per_s);
    }
    // A transfer whose size is not known yet leaves the sum of the catalog standing.
    if now.iter().all(|(_, transfer)| transfer.total_bytes > 0) && !now.is_empty() {
        setup.total_bytes = now.iter().map(|(_, transfer)| transfer.total_bytes).sum();
    }
    setup.done_bytes = now
        .iter()
        .map(|(_, transfer)| transfer.done_bytes)
        .sum::<u64>()
        .min(setup.total_bytes);
    let left = setup.total_bytes.saturating_sub(setup.done_bytes);
    setup.seconds_left = (left > 0).then(|| left.checked_div(speed)).flatten();
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a share of a bar needs no more than 53 bits"
)]
fn share(done: u64, total: u64) -> f64 {
    (done as f64 / total as f64).clamp(0.0, 1.0)
}

/// Loads the model; the router's own state tells how far that is.
async fn start(owner: &SetupOwner, app: &App, model: &str, stop: &CancellationToken) -> Result<(), Halt> {
    owner.change(|setup| set_step(setup, StepName::Start, StepState::Running, None));
    let loading = app.make_ready(model, None);
    tokio::pin!(loading);
    let mut state = app.router.desk.state();
    loop {
        tokio::select! { biased;
            () = stop.cancelled() => {
                // Gives its memory back, also in the middle of the load.
                if let Err(error) = app.router.desk.unload(model).await {
                    tracing::warn!(%error, model, "a stopped load is not taken back");
                }
                return Err(Halt::Stopped);
            }
            loaded = &mut loading => {
                loaded?;
                break;
            }
            _ = state.changed() => {
                let now = state.borrow_and_update();
                if let Some(model) = now.model(model) {
                    let progress = model.progress.as_ref().map(|progress| progress.value);
                    owner.change(|setup| show_load(setup, model.status, progress));
                }
            }
        }
    }
    owner.change(|setup| {
        set_step(setup, StepName::Start, StepState::Done, None);
        set_step(setup, StepName::Proof, StepState::Done, None);
    });
    Ok(())
}

fn show_load(setup: &mut Setup, status: ModelStatus, progress: Option<f64>) {
    match status {
        ModelStatus::Loading => set_step(setup, StepName::Start, StepState::Running, progress),
        ModelStatus::Proving => {
            set_step(setup, StepName::Start, StepState::Done, None);
            set_step(setup, StepName::Proof, StepState::Running, None);
        }
        // The end of the load itself says how these went.
        ModelStatus::Unloaded | ModelStatus::Ready | ModelStatus::Failed => {}
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::{Setup, StepName, StepState, Transfer, Transferring};

    use super::show;

    fn transfer(state: Transferring, done: u64, total: u64, speed: u64) -> Transfer {
        Transfer {
            id: "x".into(),
            subject: "x".into(),
            state,
            done_bytes: done,
            total_bytes: total,
            bytes_per_s: speed,
            notes: Vec::new(),
            seconds_left: None,
            files: None,
            fault: None,
        }
    }

    #[test]
    fn one_bar_for_both() {
        let step = |name| plimsoll_wire::SetupStep {
            name,
            state: StepState::Waiting,
            value: None,
        };
        let mut setup = Setup {
            model: "m".into(),
            quant: "q".into(),
            steps: vec![
                step(StepName::Engine),
                step(StepName::Model),
                step(StepName::Start),
            ],
            running: true,
            done: false,
            done_bytes: 0,
            total_bytes: 1_100,
            seconds_left: None,
            fault: None,
        };
        let unknown = transfer(Transferring::Running, 0, 0, 0);
        show(
            &mut setup,
            &[
                (StepName::Engine, transfer(Transferring::Running, 50, 100, 10)),
                (StepName::Model, unknown),
            ],
        );
        assert_eq!(
            (setup.done_bytes, setup.total_bytes, setup.seconds_left),
            (50, 1_100, Some(105))
        );
        let model = transfer(Transferring::Running, 500, 1_000, 40);
        show(
            &mut setup,
            &[
                (StepName::Engine, transfer(Transferring::Done, 100, 100, 0)),
                (StepName::Model, model),
            ],
        );
        assert_eq!(
            (setup.done_bytes, setup.total_bytes, setup.seconds_left),
            (600, 1_100, Some(12))
        );
        let states: Vec<_> = setup.steps.iter().map(|step| (step.state, step.value)).collect();
        assert_eq!(
            states,
            [
                (StepState::Done, None),
                (StepState::Running, Some(0.5)),
                (StepState::Waiting, None)
            ]
        );
    }
}
