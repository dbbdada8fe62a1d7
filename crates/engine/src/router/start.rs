use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_os::child::{Child, Command, Exit};
use plimsoll_os::files::AppendLog;
use plimsoll_os::process;
use plimsoll_units::Bytes;
use rand::RngExt as _;
use tokio::time::{Instant, sleep};

use super::client::Client;
use super::place::{Place, StateFile};
use super::preset::Preset;
use crate::engines::{Engine, Engines};
use crate::error::EngineError;
use crate::log::{Cause, LogMark, cause, lines_of_router};

/// A router without models answers within a second; a cold disk or a virus scanner may hold it up.
const START_MAX: Duration = Duration::from_mins(1);
const HEALTH_PAUSE: Duration = Duration::from_millis(30);
pub(super) const PORT_TRIES_MAX: u32 = 5;
const LOG_BYTES_MAX: Bytes = Bytes::mib(4);
/// One thread serves one open stream; with llama-server's own number two listeners and a chat stop it.
const HTTP_THREADS: &str = "32";
/// From this verbosity on the sizes of buffers are printed, and nothing of what people write.
const VERBOSITY: &str = "4";

/// Gives the port to try next. Fixed in tests.
#[derive(Clone)]
pub struct Ports(pub Arc<dyn Fn() -> Option<u16> + Send + Sync>);

impl Default for Ports {
    fn default() -> Self {
        Self(Arc::new(super::port::free_port))
    }
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ports")
    }
}

/// A router of ours that answers.
#[derive(Debug)]
pub(super) struct Started {
    pub child: Arc<Child>,
    pub client: Client,
    pub state: StateFile,
    /// Where its part of the log begins.
    pub mark: LogMark,
}

/// Starts a router with no models and waits until it answers. Only for the holder of the lock.
pub(super) async fn start(engines: &Engines, place: &Place, ports: &Ports) -> Result<Started, EngineError> {
    let engine = engines.in_use()?;
    engine.ensure_there()?;
    if let Some(option) = engine.abilities.missing().first() {
        return Err(EngineError::OptionUnknown {
            engine: engine.id,
            option: (*option).to_owned(),
        });
    }
    Preset::default().write(&place.preset())?;
    for _ in 0..PORT_TRIES_MAX {
        let Some(port) = (ports.0)() else { break };
        match try_port(&engine, engines, place, port).await {
            Err(EngineError::PortTaken { .. }) => {
                tracing::info!(port, "the port was taken between choice and bind");
            }
            other => return other,
        }
    }
    Err(EngineError::PortTaken {
        tries: PORT_TRIES_MAX,
    })
}

async fn try_port(
    engine: &Engine,
    engines: &Engines,
    place: &Place,
    port: u16,
) -> Result<Started, EngineError> {
    let key = new_key();
    let mark = LogMark::at_end(&place.log());
    let command = Command::new(&engine.binary)
        .args(router_arguments(engine, place, port))
        .folder(engine.folder())
        .envs(router_environment(engine, engines, place, &key))
        .log(AppendLog::open(&place.log(), LOG_BYTES_MAX)?)
        // Its models' processes must not outlive us either.
        .watched()
        // The log is read from its file, by us and by our other processes; nobody takes the lines.
        .lines_waiting(1);
    let child = Arc::new(command.spawn()?);
    let url = format!("http://127.0.0.1:{port}");
    let client = Client::new(&url, &key)?;
    tokio::select! {
        exit = child.wait() => return Err(start_failed(engine, exit, &mark).await),
        up = until_ours(&client) => if !up {
            child.kill();
            let tail = LogMark::tail(&mark.lines());
            return Err(EngineError::RouterSilent { after_s: START_MAX.as_secs(), tail });
        },
    }
    let gone = || EngineError::RouterGone;
    let router = process::identity(child.pid()).ok_or_else(gone)?;
    let owner = process::identity(process::own_pid()).ok_or_else(gone)?;
    // As the system names it: links resolved, so that others can compare.
    let executable = process::executable(child.pid()).unwrap_or_else(|| engine.binary.clone());
    let state = StateFile::new(url, key, router, executable, owner, engine.id.clone());
    state.write(&place.state())?;
    Ok(Started {
        child,
        client,
        state,
        mark,
    })
}

/// A server of someone else on our port would answer as well: ours alone takes this key and no other.
pub(super) async fn until_ours(client: &Client) -> bool {
    let end = Instant::now() + START_MAX;
    while Instant::now() < end {
        if client.is_up().await && client.checks_our_key().await {
            return true;
        }
        sleep(HEALTH_PAUSE).await;
    }
    false
}

async fn start_failed(engine: &Engine, exit: Exit, mark: &LogMark) -> EngineError {
    // Its last words pass through a thread of ours on their way to the log.
    sleep(Duration::from_millis(100)).await;
    let lines = mark.lines();
    let own = lines_of_router(&lines);
    let cause = cause(&own, exit);
    if cause == Cause::PortTaken {
        return EngineError::PortTaken { tries: 1 };
    }
    if cause == Cause::IllegalInstruction {
        return EngineError::IllegalInstruction {
            program: engine.binary.clone(),
        };
    }
    if let Cause::MissingLibrary { name } = cause {
        return EngineError::EngineIncomplete {
            folder: engine.folder(),
            missing: vec![name],
        };
    }
    EngineError::RouterFailed {
        exit,
        cause,
        tail: LogMark::tail(&own),
    }
}

fn router_arguments(engine: &Engine, place: &Place, port: u16) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--models-preset".into(), place.preset().into()];
    // Only we decide what loads: no number of models, no loading because someone asks for one.
    let fixed = [
        "--models-max",
        "0",
        "--no-models-autoload",
        "--host",
        "127.0.0.1",
        "--port",
    ];
    words.extend(fixed.map(OsString::from));
    words.push(port.to_string().into());
    let knows = |option: &&str| engine.abilities.knows(option);
    for (option, value) in [("--threads-http", HTTP_THREADS), ("--verbosity", VERBOSITY)] {
        if knows(&option) {
            words.extend([option, value].map(OsString::from));
        }
    }
    words.extend(
        ["--no-ui", "--no-webui"]
            .into_iter()
            .find(knows)
            .map(OsString::from),
    );
    words.extend(Some("--offline").filter(knows).map(OsString::from));
    words
}

fn router_environment(
    engine: &Engine,
    engines: &Engines,
    place: &Place,
    key: &str,
) -> Vec<(OsString, OsString)> {
    let mut pairs = engines.environment_for(engine);
    // In the environment, never among the arguments, which every user of the machine can read.
    pairs.push(("LLAMA_API_KEY".into(), key.into()));
    pairs.push(("LLAMA_CACHE".into(), place.empty_cache().into()));
    pairs
}

pub(super) fn new_key() -> String {
    let bytes: [u8; 24] = rand::rng().random();
    crate::hex(&bytes)
}

/// The arguments of a model run by itself, without a router: to see how it ends.
pub(super) fn alone(engine: &Engine, model: PathBuf, arguments: &[String], port: u16) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--model".into(), model.into()];
    words.extend(arguments.iter().map(OsString::from));
    words.extend(["--host", "127.0.0.1", "--port"].map(OsString::from));
    words.push(port.to_string().into());
    words.extend(
        Some("--offline")
            .filter(|option| engine.abilities.knows(option))
            .map(OsString::from),
    );
    words
}
