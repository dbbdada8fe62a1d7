//! NVIDIA's cards while they work, by NVML in a child of our own program that lives as long as somebody looks: a
//! call that hangs or crashes takes these readings away for a while, and nothing else.
//!
//! The child answers each line with one line. It is asked again only once it has answered; one that does not is
//! killed, and the next is started after a pause that doubles.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nvml_wrapper::enums::device::UsedGpuMemory;
use plimsoll_os::Environment;
use plimsoll_os::child::{Child, Line, Stream};
use plimsoll_units::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::facts::{Drivers, WATCH_WORD, driver_child, open_nvml};
use crate::judge::nvidia_id;
use crate::machine::{Backend, Device, DeviceKind, Machine};

use super::graphics::is_asleep;

/// An older answer is no reading any more.
const ANSWER_AGE_MAX: Duration = Duration::from_secs(10);
/// How long a look waits for the answer; usually it comes in a millisecond. A later one serves the next look.
const PATIENCE: Duration = Duration::from_millis(50);
/// After this the child hangs. A server of eight cards that sleep takes seconds for the first answer.
const HANGS_AFTER: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const PAUSE_MAX: Duration = Duration::from_mins(5);

/// What a card holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CardUse {
    pub(super) id: String,
    pub(super) used: Bytes,
    /// Missing where the driver does not tell, as on Windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) by_process: Option<Vec<(u32, Bytes)>>,
}

/// The devices of a machine that are read here: a slice answers with its card's numbers, and unified memory is in
/// the RAM's row.
pub(super) fn cards_of(machine: &Machine) -> Vec<Device> {
    let wanted = |device: &&Device| {
        device.vendor == "NVIDIA"
            && device.kind == DeviceKind::Discrete
            && device.backends.contains(&Backend::Cuda)
            && !device.id.contains('/')
    };
    machine.devices.iter().filter(wanted).cloned().collect()
}

/// The asking side.
pub(super) struct NvidiaWatch {
    /// Nobody is asked without a card, nor where there is no program to be the child.
    asked: Option<(Drivers, Environment)>,
    running: Option<Running>,
    /// Killed, but perhaps held by a call into the kernel: no second one is started beside it.
    ending: Option<Child>,
    failures: u32,
    not_before: Option<Instant>,
    last: Option<(Instant, Vec<CardUse>)>,
}

struct Running {
    child: Child,
    lines: mpsc::Receiver<Line>,
    /// When the question was asked that is still open.
    asked_at: Option<Instant>,
}

impl NvidiaWatch {
    pub(super) fn of(machine: &Machine, drivers: &Drivers, environment: &Environment) -> Self {
        let wanted = !cards_of(machine).is_empty() && matches!(drivers, Drivers::Child { .. });
        Self {
            asked: wanted.then(|| (drivers.clone(), environment.clone())),
            running: None,
            ending: None,
            failures: 0,
            not_before: None,
            last: None,
        }
    }

    /// What the cards hold; nothing while nobody answers. Never waits longer than a moment.
    pub(super) async fn ask(&mut self) -> Vec<CardUse> {
        if let Some(running) = self.running.take().or_else(|| self.start()) {
            self.hear(running).await;
        }
        match &self.last {
            Some((at, said)) if at.elapsed() < ANSWER_AGE_MAX => said.clone(),
            Some(_) | None => Vec::new(),
        }
    }

    /// Nobody looks any more: the child ends.
    pub(super) fn rest(&mut self) {
        self.running = None;
        self.last = None;
    }

    fn start(&mut self) -> Option<Running> {
        let (Drivers::Child { program }, environment) = self.asked.as_ref()? else {
            return None;
        };
        let still_ending = self.ending.as_ref().is_some_and(|child| child.exit().is_none());
        if still_ending || self.not_before.is_some_and(|at| Instant::now() < at) {
            return None;
        }
        self.ending = None;
        match driver_child(program, WATCH_WORD, environment).listening().spawn() {
            Ok(mut child) => Some(Running {
                lines: child.lines()?,
                child,
                asked_at: None,
            }),
            Err(error) => {
                tracing::warn!(%error, "NVIDIA's cards cannot be watched");
                self.pause();
                None
            }
        }
    }

    async fn hear(&mut self, mut running: Running) {
        let asked_at = match running.asked_at {
            Some(at) => at,
            None if running.child.say("").is_ok() => Instant::now(),
            None => return self.give_up(running, "it ended"),
        };
        match tokio::time::timeout(PATIENCE, answer(&mut running.lines)).await {
            Ok(Some(said)) => {
                self.last = Some((Instant::now(), said));
                self.failures = 0;
                running.asked_at = None;
                self.running = Some(running);
            }
            Ok(None) => self.give_up(running, "it ended"),
            Err(_) if asked_at.elapsed() < HANGS_AFTER => {
                running.asked_at = Some(asked_at);
                self.running = Some(running);
            }
            Err(_) => self.give_up(running, "it hangs"),
        }
    }

    fn give_up(&mut self, running: Running, why: &str) {
        running.child.kill();
        self.ending = Some(running.child);
        self.pause();
        tracing::warn!(
            why,
            failures = self.failures,
            "the child that watches NVIDIA's cards is let go"
        );
    }

    fn pause(&mut self) {
        let pause = FIRST_PAUSE
            .saturating_mul(1 << self.failures.min(16))
            .min(PAUSE_MAX);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
    }
}

/// The next line that is an answer; `None` when no more can come, or none that can be read.
async fn answer(lines: &mut mpsc::Receiver<Line>) -> Option<Vec<CardUse>> {
    loop {
        match lines.recv().await? {
            Line::Text {
                from: Stream::Out,
                text,
            } => return serde_json::from_str(&text).ok(),
            // Libraries print what they like.
            Line::Text {
                from: Stream::Err, ..
            }
            | Line::Dropped(_) => {}
        }
    }
}

/// The answering side, which is the child.
pub(crate) fn serve() -> ExitCode {
    let Ok(library) = open_nvml() else {
        return ExitCode::FAILURE;
    };
    let mut out = std::io::stdout().lock();
    for _ in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(answer) = serde_json::to_string(&cards(&library)) else {
            return ExitCode::FAILURE;
        };
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn cards(library: &nvml_wrapper::Nvml) -> Vec<CardUse> {
    let count = library.device_count().unwrap_or(0);
    (0..count)
        .filter_map(|index| {
            let card = library.device_by_index(index).ok()?;
            let said = crate::facts::identity_of(index, &card);
            let id = nvidia_id(&said);
            // Asking a sleeping laptop card for its memory wakes it, and the battery pays.
            let folder = Path::new("/sys/bus/pci/devices").join(&said.pci);
            if is_asleep(&folder) {
                return Some(CardUse {
                    id,
                    used: Bytes::ZERO,
                    by_process: Some(Vec::new()),
                });
            }
            let used = Bytes(card.memory_info().ok()?.used);
            Some(CardUse {
                id,
                used,
                by_process: by_process(&card),
            })
        })
        .collect()
}

/// `None` where the driver does not tell, as on Windows.
fn by_process(card: &nvml_wrapper::Device<'_>) -> Option<Vec<(u32, Bytes)>> {
    let mut list = card.running_compute_processes().ok()?;
    // Vulkan programs are listed as graphics.
    list.extend(card.running_graphics_processes().unwrap_or_default());
    let mut found: Vec<(u32, Bytes)> = Vec::new();
    for process in list {
        let UsedGpuMemory::Used(bytes) = process.used_gpu_memory else {
            return None;
        };
        if !found.iter().any(|(pid, _)| *pid == process.pid) {
            found.push((process.pid, Bytes(bytes)));
        }
    }
    Some(found)
}
