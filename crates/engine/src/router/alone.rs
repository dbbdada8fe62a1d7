//! A build by itself, with a model that comes along: does it compute here, and on what?

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use plimsoll_os::child::{Child, Command, Exit, Line};
use plimsoll_units::TokensPerSecond;
use serde_json::json;
use tokio::sync::mpsc::Receiver;

use super::client::Client;
use super::port::free_port;
use super::proof::hear;
use super::start::{PORT_TRIES_MAX, new_key, until_ours};
use crate::engines::{Engine, Engines};
use crate::error::{EngineError, Step};
use crate::log::{Cause, cause, offloaded};

/// A llama of two layers with random weights, 308 KiB: `TinyGguf::llama()` of the test kit.
pub(crate) const MODEL: &[u8] = include_bytes!("trial.gguf");
const NAME: &str = "trial";
/// With its prompt they fill most of the window; fewer would be over before a clock can tell.
const TOKENS: u32 = 200;
/// A driver may compile its programs at the first use.
const SILENCE_MAX: Duration = Duration::from_mins(2);
const LAST_LINES: usize = 20;
const LINES_WAITING: usize = 8192;

/// Runs `engine` with the model at `model` and asks for a few tokens. With `on_gpu` it fails where the engine put nothing
/// on a device. Gives how fast the tokens came, which compares two builds on one machine and nothing else.
pub(crate) async fn try_out(
    engines: &Engines,
    engine: &Engine,
    model: &Path,
    on_gpu: bool,
) -> Result<Option<TokensPerSecond>, EngineError> {
    for _ in 0..PORT_TRIES_MAX {
        let Some(port) = free_port() else { break };
        match on_port(engines, engine, model, on_gpu, port).await {
            Err(EngineError::PortTaken { .. }) => {}
            other => return other,
        }
    }
    Err(EngineError::PortTaken {
        tries: PORT_TRIES_MAX,
    })
}

async fn on_port(
    engines: &Engines,
    engine: &Engine,
    model: &Path,
    on_gpu: bool,
    port: u16,
) -> Result<Option<TokensPerSecond>, EngineError> {
    let key = new_key();
    let mut child = Command::new(&engine.binary)
        .args(arguments(engine, model, on_gpu, port))
        .folder(engine.folder())
        .envs(engines.environment_for(engine))
        .env("LLAMA_API_KEY", &key)
        .lines_waiting(LINES_WAITING)
        .spawn()?;
    let mut lines = child.lines();
    let client = Client::new(&format!("http://127.0.0.1:{port}"), &key)?;
    tokio::select! {
        exit = child.wait() => return Err(ended(engine, exit, &said(lines.as_mut()))),
        up = until_ours(&client) => if !up {
            return Err(failed("it does not answer"));
        },
    }
    // Its words have no letters: numbers of tokens are what it reads.
    let body = json!({
        "model": NAME, "prompt": [3, 4, 5, 6], "n_predict": TOKENS, "temperature": 0, "ignore_eos": true,
        "stream": true, "return_progress": true,
    });
    let spoken = match hear(&client, NAME, &body, SILENCE_MAX).await {
        Ok(spoken) => spoken,
        Err(error) => return Err(silent(engine, &child, error, lines.as_mut()).await),
    };
    let said = said(lines.as_mut());
    let texts: Vec<&str> = said.iter().map(String::as_str).collect();
    if on_gpu && offloaded(&texts).is_some_and(|(layers, _)| layers == 0) {
        return Err(failed("it computed on the processor"));
    }
    Ok(spoken.decode)
}

fn arguments(engine: &Engine, model: &Path, on_gpu: bool, port: u16) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--model".into(), model.into()];
    let (port, layers) = (port.to_string(), if on_gpu { "99" } else { "0" });
    for (option, value) in [
        ("--host", "127.0.0.1"),
        ("--port", &port),
        ("--ctx-size", "256"),
        ("--parallel", "1"),
        ("--n-gpu-layers", layers),
        ("--fit", "off"),
        ("--verbosity", "4"),
    ] {
        if engine.abilities.knows(option) {
            words.extend([option, value].map(OsString::from));
        }
    }
    words
}

/// A server that dies while it computes says more in its log than by its silence.
async fn silent(
    engine: &Engine,
    child: &Child,
    error: EngineError,
    lines: Option<&mut Receiver<Line>>,
) -> EngineError {
    const DYING: Duration = Duration::from_millis(500);
    match tokio::time::timeout(DYING, child.wait()).await {
        Ok(exit) => ended(engine, exit, &said(lines)),
        Err(_) => failed(&error.to_string()),
    }
}

fn ended(engine: &Engine, exit: Exit, said: &[String]) -> EngineError {
    let texts: Vec<&str> = said.iter().map(String::as_str).collect();
    let why = cause(&texts, exit);
    if why == Cause::PortTaken {
        return EngineError::PortTaken { tries: 1 };
    }
    if why == Cause::IllegalInstruction {
        return EngineError::IllegalInstruction {
            program: engine.binary.clone(),
        };
    }
    if let Cause::MissingLibrary { name } = why {
        return EngineError::EngineIncomplete {
            folder: engine.folder(),
            missing: vec![name],
        };
    }
    let from = texts.len().saturating_sub(LAST_LINES);
    failed(&format!("{why} ({exit}): {}", texts[from..].join(" | ")))
}

fn failed(output: &str) -> EngineError {
    EngineError::EngineCheckFailed {
        step: Step::Generation,
        output: output.chars().take(600).collect(),
    }
}

/// What it has printed so far.
fn said(lines: Option<&mut Receiver<Line>>) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(lines) = lines {
        while let Ok(line) = lines.try_recv() {
            if let Line::Text { text, .. } = line {
                said.push(text);
            }
        }
    }
    said
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_model_is_the_one_of_the_test_kit() {
        assert!(super::MODEL == plimsoll_testkit::TinyGguf::llama().bytes());
    }
}
