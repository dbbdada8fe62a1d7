use std::time::Duration;

use futures_util::StreamExt as _;
use plimsoll_units::Tokens;
use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use super::Limits;
use crate::{ModelError, Refusal};

/// The longest part of a server's message that we carry along.
const MESSAGE_CHARS_MAX: usize = 2_000;
/// Nobody waits longer than a day because a header says so.
const WAIT_MAX: Duration = Duration::from_hours(24);

/// The error object of all three protocols, as a whole reply or inside a stream. Nobody agrees on what is text
/// and what is a number.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorObject {
    message: Option<Value>,
    #[serde(rename = "type")]
    kind: Option<String>,
    code: Option<Value>,
    n_prompt_tokens: Option<u32>,
    n_ctx: Option<u32>,
}

impl ErrorObject {
    /// From whatever stands under `error`: an object or a sentence.
    pub(super) fn from_value(value: &Value) -> Self {
        match value {
            Value::Object(_) => Self::deserialize(value).unwrap_or_else(|_| Self {
                message: Some(value.clone()),
                ..Self::default()
            }),
            other
            @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                Self {
                    message: Some(other.clone()),
                    ..Self::default()
                }
            }
        }
    }

    pub(super) fn inside_a_stream(self) -> ModelError {
        let status = self.code_number();
        self.overflow(status).unwrap_or_else(|| {
            let why = self.why(status, None);
            let (kind, message) = self.words();
            ModelError::Broken { why, kind, message }
        })
    }

    fn refused(self, status: u16, wait: Option<Duration>) -> ModelError {
        // 200 with an error inside: the object may know better.
        let told = Some(status)
            .filter(|status| *status >= 400)
            .or_else(|| self.code_number());
        self.overflow(told).unwrap_or_else(|| {
            let why = self.why(told, wait);
            let (kind, message) = self.words();
            ModelError::Refused {
                status,
                why,
                kind,
                message,
            }
        })
    }

    fn overflow(&self, status: Option<u16>) -> Option<ModelError> {
        if let (Some("exceed_context_size_error"), Some(prompt), Some(window)) =
            (self.kind.as_deref(), self.n_prompt_tokens, self.n_ctx)
        {
            return Some(ModelError::Overflow {
                prompt: Tokens(prompt),
                window: Tokens(window),
            });
        }
        let message = self.text();
        let lower = message.to_lowercase();
        let says_so = self.code_text() == Some("context_length_exceeded")
            || (matches!(status, None | Some(400 | 413))
                && [
                    "maximum context length",
                    "context window",
                    "prompt is too long",
                    "context length",
                    "input is too long",
                ]
                .iter()
                .any(|words| lower.contains(words)));
        if !says_so {
            return None;
        }
        Some(match counts(&lower) {
            Some((prompt, window)) => ModelError::Overflow { prompt, window },
            None => ModelError::TooLong {
                window: None,
                message: shorten(&message),
            },
        })
    }

    fn why(&self, status: Option<u16>, wait: Option<Duration>) -> Refusal {
        let kind = self.kind.as_deref().unwrap_or_default();
        let code = self.code_text().unwrap_or_default();
        let is = |names: &[&str]| names.contains(&kind) || names.contains(&code);
        if is(&[
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
        ]) {
            return Refusal::Quota;
        }
        if is(&[
            "content_filter",
            "content_policy_violation",
            "image_content_policy_violation",
            "invalid_prompt",
            "bio_policy",
            "misalignment_policy_violation",
        ]) {
            return Refusal::Content;
        }
        if is(&["model_not_found", "unknown_model"]) {
            return Refusal::Model;
        }
        if is(&["authentication_error", "permission_error", "invalid_api_key"]) {
            return Refusal::Key;
        }
        if is(&["rate_limit_exceeded", "rate_limit_error", "tokens", "requests"]) {
            return Refusal::Rate { wait };
        }
        if is(&["overloaded_error", "unavailable_error", "slow_down"]) {
            return Refusal::Overload { wait };
        }
        if is(&["api_error", "server_error"]) {
            return Refusal::Server;
        }
        match status {
            Some(401 | 403) => Refusal::Key,
            Some(402) => Refusal::Quota,
            Some(404) => Refusal::Model,
            Some(429) => Refusal::Rate { wait },
            Some(503 | 529) => Refusal::Overload { wait },
            Some(status) if status >= 500 => Refusal::Server,
            Some(_) => Refusal::Request,
            None => Refusal::Server,
        }
    }

    fn text(&self) -> String {
        match &self.message {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        }
    }

    fn code_text(&self) -> Option<&str> {
        self.code.as_ref()?.as_str()
    }

    /// A code that is a status, as a number or as text.
    fn code_number(&self) -> Option<u16> {
        let number = match self.code.as_ref()? {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        number
            .and_then(|number| u16::try_from(number).ok())
            .filter(|number| (400..600).contains(number))
    }

    fn words(self) -> (String, String) {
        let message = self.text();
        let kind = match (self.kind, self.code) {
            (Some(kind), _) => kind,
            (None, Some(Value::String(code))) => code,
            (None, _) => String::new(),
        };
        (shorten(&kind), shorten(&message))
    }
}

/// The two sizes in "prompt is too long: 210000 tokens > 200000 maximum" and "maximum context length is 8192
/// tokens. However, your messages resulted in 9000 tokens": the only two numbers, the larger is what was sent.
fn counts(message: &str) -> Option<(Tokens, Tokens)> {
    let numbers: Vec<u32> = message
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .filter(|number| *number >= 256)
        .collect();
    match numbers[..] {
        [one, two] if one != two => Some((Tokens(one.max(two)), Tokens(one.min(two)))),
        _ => None,
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}

/// How long the server wants us to wait: `retry-after-ms`, or `retry-after` in seconds.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| -> Option<f64> { headers.get(name)?.to_str().ok()?.trim().parse().ok() };
    let seconds = number("retry-after-ms")
        .map(|ms| ms / 1_000.0)
        .or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .map(|wait| wait.min(WAIT_MAX))
}

/// Reads a reply that is no stream. Whatever its body is, the result is an error that says the status.
pub(super) async fn read(response: reqwest::Response, limits: Limits) -> ModelError {
    let status = response.status().as_u16();
    let wait = wait(response.headers());
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    let room = usize::try_from(limits.refusal.0).unwrap_or(usize::MAX);
    let reading = async {
        while let Some(Ok(chunk)) = chunks.next().await {
            let take = chunk.len().min(room - body.len());
            body.extend_from_slice(&chunk[..take]);
            if body.len() == room {
                break;
            }
        }
    };
    // A refusal that never ends is as good as its status.
    let _ = tokio::time::timeout(limits.idle, reading).await;
    explain(status, wait, &body)
}

fn explain(status: u16, wait: Option<Duration>, body: &[u8]) -> ModelError {
    let object = match serde_json::from_slice::<Value>(body) {
        // Gemini wraps its error in a list.
        Ok(Value::Array(list)) => list
            .first()
            .and_then(|first| first.get("error"))
            .map(ErrorObject::from_value),
        Ok(value) => value.get("error").map(ErrorObject::from_value),
        Err(_) => None,
    };
    object
        .unwrap_or_else(|| ErrorObject {
            message: Some(Value::String(String::from_utf8_lossy(body).into_owned())),
            ..ErrorObject::default()
        })
        .refused(status, wait)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_units::Tokens;
    use proptest::prelude::*;
    use serde_json::json;

    use super::{ErrorObject, explain};
    use crate::{ModelError, Refusal};

    fn why(status: u16, body: &serde_json::Value) -> Refusal {
        let error = explain(status, Some(Duration::from_secs(7)), body.to_string().as_bytes());
        let ModelError::Refused { why, .. } = error else {
            panic!("{error:?}")
        };
        why
    }

    #[test]
    fn every_kind_of_refusal_is_told_apart() {
        let wait = Some(Duration::from_secs(7));
        let of = |kind: &str, code: serde_json::Value| json!({"error": {"message": "m", "type": kind, "code": code}});
        for (status, body, expected) in [
            (
                401,
                of("invalid_request_error", json!("invalid_api_key")),
                Refusal::Key,
            ),
            (403, of("permission_error", json!(null)), Refusal::Key),
            (
                402,
                json!({"error": {"code": 402, "message": "Insufficient credits"}}),
                Refusal::Quota,
            ),
            (
                429,
                of("insufficient_quota", json!("insufficient_quota")),
                Refusal::Quota,
            ),
            (
                429,
                of("tokens", json!("rate_limit_exceeded")),
                Refusal::Rate { wait },
            ),
            (
                529,
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                Refusal::Overload { wait },
            ),
            (
                503,
                of("unavailable_error", json!(503)),
                Refusal::Overload { wait },
            ),
            (
                400,
                of("invalid_request_error", json!("content_policy_violation")),
                Refusal::Content,
            ),
            (404, of("not_found_error", json!(null)), Refusal::Model),
            (500, of("api_error", json!(null)), Refusal::Server),
            (422, of("invalid_request_error", json!(null)), Refusal::Request),
            (
                400,
                json!([{"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT"}}]),
                Refusal::Request,
            ),
            (
                200,
                json!({"error": {"code": 429, "message": "m"}}),
                Refusal::Rate { wait },
            ),
            (200, json!({"error": "down"}), Refusal::Server),
            (502, json!("a gateway's page"), Refusal::Server),
        ] {
            assert_eq!(why(status, &body), expected, "{status} {body}");
        }
    }

    #[test]
    fn a_request_that_is_too_long_says_its_size_where_the_server_does() {
        let told = |message: &str, code: &str| {
            explain(
                400,
                None,
                json!({"error": {"message": message, "type": "invalid_request_error", "code": code}})
                    .to_string()
                    .as_bytes(),
            )
        };
        for (message, code) in [
            ("prompt is too long: 210000 tokens > 200000 maximum", ""),
            (
                "This model's maximum context length is 200000 tokens. However, your messages resulted in 210000 tokens.",
                "context_length_exceeded",
            ),
        ] {
            assert!(
                matches!(
                    told(message, code),
                    ModelError::Overflow {
                        prompt: Tokens(210_000),
                        window: Tokens(200_000)
                    }
                ),
                "{message}"
            );
        }
        let unsized_one = told(
            "Your input exceeds the context window of this model.",
            "context_length_exceeded",
        );
        assert!(
            matches!(unsized_one, ModelError::TooLong { .. }),
            "{unsized_one:?}"
        );
    }

    proptest! {
        /// Whatever a server sends as its refusal, it is one.
        #[test]
        fn any_body_is_a_refusal(status in 200_u16..600, body in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = explain(status, None, &body).to_string();
            prop_assert!(!text.is_empty());
        }

        #[test]
        fn any_error_object_is_an_error(message in any::<Option<String>>(), code in any::<Option<i64>>(), kind in any::<Option<String>>()) {
            let object = ErrorObject::from_value(&json!({"message": message, "code": code, "type": kind}));
            let _ = object.inside_a_stream();
        }
    }
}
