use std::sync::Arc;
use std::time::Duration;

use plimsoll_os::child::{Command, Line};
use tokio::time::{sleep, timeout};

use super::client::Client;
use super::place::Place;
use super::port::free_port;
use super::preset::ModelPlan;
use super::start::alone;
use crate::engines::{Engine, Engines};
use crate::log::{Cause, Memory, Part, cause};

/// How long a model that fails may take to fail again.
const AGAIN_MAX: Duration = Duration::from_mins(2);
const LINES_MAX: usize = 2_000;

/// Runs a model once without the router, to see how it ends: the router tells neither signals nor the words of
/// a child that died at once. `None` when it does not fail this time. It is killed as soon as it answers.
pub(super) async fn diagnose(
    engine: &Arc<Engine>,
    engines: &Engines,
    plan: &ModelPlan,
    place: &Place,
) -> Option<Cause> {
    let port = free_port()?;
    let mut environment = engines.environment_for(engine);
    environment.push(("LLAMA_CACHE".into(), place.empty_cache().into()));
    let command = Command::new(&engine.binary)
        .args(alone(engine, plan.path.clone(), &plan.arguments, port))
        .folder(engine.folder())
        .envs(environment);
    let mut child = command.spawn().ok()?;
    let mut heard = child.lines()?;
    let client = Client::new(&format!("http://127.0.0.1:{port}"), "").ok()?;
    let mut lines: Vec<String> = Vec::new();
    let exit = timeout(AGAIN_MAX, async {
        loop {
            tokio::select! {
                line = heard.recv() => match line {
                    Some(Line::Text { text, .. }) if lines.len() < LINES_MAX => lines.push(text),
                    Some(Line::Text { .. } | Line::Dropped(_)) => {}
                    None => return Some(child.wait().await),
                },
                () = sleep(Duration::from_millis(500)) => if client.is_up().await { return None },
            }
        }
    });
    let exit = exit.await.ok().flatten()?;
    let cause = cause(&lines, exit);
    // Nobody but the kernel kills a child of ours so, and it does it for memory.
    let for_memory = cause == Cause::Killed { signal: 9 };
    let out_of_memory = Cause::OutOfMemory {
        memory: Memory::Ram,
        part: Part::Unsaid,
        asked: None,
    };
    Some(if for_memory { out_of_memory } else { cause })
}
