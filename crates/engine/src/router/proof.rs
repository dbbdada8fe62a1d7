use std::time::{Duration, Instant};

use futures_util::StreamExt;
use plimsoll_os::process;
use plimsoll_units::{Bytes, TokensPerSecond};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::client::Client;
use super::state::Proof;
use crate::error::EngineError;
use crate::log::{buffers, lines_of_child, offloaded};

/// Enough for a speed, little enough not to be waited for.
const TOKENS: u32 = 24;
const PROMPT: &str = "A load line on the hull of a ship shows";

/// Asks for a few tokens: a model that answers is usable, whatever `/health` says. `silence_max` is how long
/// nothing may come.
pub(super) async fn prove(
    client: &Client,
    model: &str,
    silence_max: Duration,
) -> Result<Spoken, EngineError> {
    let body = json!({
        "model": model, "prompt": PROMPT, "n_predict": TOKENS, "temperature": 0, "ignore_eos": true,
        "stream": true, "return_progress": true,
    });
    hear(client, model, &body, silence_max).await
}

/// Asks and listens to the end.
pub(super) async fn hear(
    client: &Client,
    model: &str,
    body: &Value,
    silence_max: Duration,
) -> Result<Spoken, EngineError> {
    let failed = |problem: String| EngineError::ProofFailed {
        id: model.to_owned(),
        problem,
        tail: Vec::new(),
    };
    let silent = |_| failed(format!("nothing for {} s", silence_max.as_secs()));
    let asked_at = Instant::now();
    let stream = match timeout(silence_max, client.generate(body))
        .await
        .map_err(silent)?
    {
        Ok(stream) => stream,
        Err(EngineError::RouterRefused { status, message }) => {
            return Err(failed(format!("{status}: {message}")));
        }
        Err(other) => return Err(other),
    };
    let mut stream = std::pin::pin!(stream);
    let mut first_token = None;
    while let Some(message) = timeout(silence_max, stream.next()).await.map_err(silent)? {
        let message = message?;
        if let Some(error) = message.get("error") {
            let said = error["message"].as_str().unwrap_or("an error without words");
            return Err(failed(said.chars().take(300).collect()));
        }
        if message["tokens_predicted"]
            .as_u64()
            .is_some_and(|tokens| tokens > 0)
        {
            first_token.get_or_insert_with(|| asked_at.elapsed());
        }
        if message["stop"].as_bool() == Some(true) {
            return spoken(&message, first_token).ok_or_else(|| failed("no token".to_owned()));
        }
    }
    Err(failed("the stream broke off".to_owned()))
}

/// What the generation itself told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spoken {
    first_token: Duration,
    pub(super) decode: Option<TokensPerSecond>,
    pub(super) prefill: Option<TokensPerSecond>,
    pub(super) tokens: u32,
    /// Tokens of the prompt that were read, not found in a cache.
    pub(super) read: u32,
}

fn spoken(last: &Value, first_token: Option<Duration>) -> Option<Spoken> {
    let timings = &last["timings"];
    let tokens = last["tokens_predicted"]
        .as_u64()
        .or_else(|| timings["predicted_n"].as_u64())?;
    let speed = |name: &str| timings[name].as_f64().and_then(TokensPerSecond::new);
    Some(Spoken {
        first_token: first_token?,
        // The time of one token is the time of the first, which is not decoding.
        decode: speed("predicted_per_second").filter(|_| tokens > 1),
        prefill: speed("prompt_per_second"),
        tokens: u32::try_from(tokens).ok()?,
        read: timings["prompt_n"]
            .as_u64()
            .and_then(|read| u32::try_from(read).ok())
            .unwrap_or_default(),
    })
}

/// The plan beside the facts: memory of the child that holds the model now, after its first words.
pub(super) fn measure(
    spoken: &Spoken,
    planned: Bytes,
    child: Option<u32>,
    log: &[String],
    port: Option<u16>,
) -> Proof {
    let lines = port.map(|port| lines_of_child(log, port)).unwrap_or_default();
    Proof {
        planned,
        resident: child.and_then(process::resident),
        buffers: buffers(&lines),
        offloaded: offloaded(&lines),
        first_token_ms: spoken.first_token.as_secs_f64() * 1_000.0,
        decode: spoken.decode,
        prefill: spoken.prefill,
        tokens: spoken.tokens,
    }
}

/// The child of the router that serves this port: the router passes it on among its arguments.
pub(super) fn child_on(router: u32, port: u16) -> Option<u32> {
    let port = port.to_string();
    process::children(router).into_iter().find(|&child| {
        process::arguments(child)
            .windows(2)
            .any(|words| words[0] == "--port" && words[1] == port)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_has_no_speed_and_none_is_no_proof() {
        let last = |n: u32| {
            json!({"stop": true, "tokens_predicted": n,
                   "timings": {"predicted_per_second": 30.0, "prompt_per_second": 100.0, "predicted_n": n}})
        };
        let first = Some(Duration::from_millis(40));
        let many = spoken(&last(8), first).unwrap();
        assert_eq!(
            (many.tokens, many.decode.map(TokensPerSecond::get)),
            (8, Some(30.0))
        );
        assert_eq!(spoken(&last(1), first).unwrap().decode, None);
        assert!(spoken(&last(0), None).is_none());
        let infinite = json!({"tokens_predicted": 8, "timings": {"predicted_per_second": null}});
        assert_eq!(spoken(&infinite, first).unwrap().decode, None);
    }
}
