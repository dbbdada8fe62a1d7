//! What llama-server says when it fails, read before it is passed on.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::refused::{Protocol, open_ai_type};
use crate::headers;

/// An error has some hundred bytes.
const BYTES_MAX: usize = 64 << 10;

/// An answer of the kind 5xx.
pub(crate) struct Failed {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Failed {
    /// What comes after the limit is no error of llama-server.
    pub(crate) async fn read(answer: reqwest::Response) -> Self {
        let (status, headers) = (answer.status(), headers::of_answer(answer.headers()));
        let mut body = Vec::new();
        let mut pieces = answer.bytes_stream();
        while let Some(Ok(piece)) = pieces.next().await {
            body.extend_from_slice(&piece);
            if body.len() > BYTES_MAX {
                body.clear();
                break;
            }
        }
        Self {
            status,
            headers,
            body: body.into(),
        }
    }

    /// A picture for a model that sees none is the request's fault, and no try again helps. llama-server says 500, which
    /// the official clients take for a reason to ask twice more.
    pub(crate) fn is_of_the_request(&self) -> bool {
        self.message()
            .is_some_and(|message| message.contains("input is not supported"))
    }

    fn message(&self) -> Option<String> {
        let said: Value = serde_json::from_slice(&self.body).ok()?;
        Some(said["error"]["message"].as_str()?.to_owned())
    }

    pub(crate) fn answer(self, protocol: Protocol) -> Response {
        let mut failed = self;
        if failed.is_of_the_request() {
            let message = failed.message().unwrap_or_default();
            failed.status = StatusCode::BAD_REQUEST;
            let said = match protocol {
                Protocol::OpenAi => json!({ "error": {
                    "message": message, "type": open_ai_type(failed.status), "param": "messages", "code": "unsupported_input",
                } }),
                Protocol::Anthropic => json!({ "type": "error", "error": {
                    "type": "invalid_request_error", "message": message,
                } }),
            };
            failed.body = said.to_string().into();
            failed.headers.remove(header::CONTENT_LENGTH);
            let json = HeaderValue::from_static("application/json");
            failed.headers.insert(header::CONTENT_TYPE, json);
        }
        let mut response = Response::new(Body::from(failed.body));
        *response.status_mut() = failed.status;
        *response.headers_mut() = failed.headers;
        response
    }
}
