use futures_util::StreamExt as _;
use plimsoll_units::Tokens;
use serde::Deserialize;

use super::Limits;
use crate::ModelError;

/// The longest part of a server's message that we carry along.
const MESSAGE_CHARS_MAX: usize = 2_000;

/// The error object of OpenAI-shaped servers, as a whole reply or inside a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorObject {
    message: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    n_prompt_tokens: Option<u32>,
    n_ctx: Option<u32>,
}

#[derive(Deserialize)]
struct Reply {
    error: ErrorObject,
}

impl ErrorObject {
    pub(super) fn inside_a_stream(self) -> ModelError {
        self.overflow().unwrap_or_else(|| {
            let (kind, message) = self.words();
            ModelError::Broken { kind, message }
        })
    }

    fn refused(self, status: u16) -> ModelError {
        self.overflow().unwrap_or_else(|| {
            let (kind, message) = self.words();
            ModelError::Refused {
                status,
                kind,
                message,
            }
        })
    }

    fn overflow(&self) -> Option<ModelError> {
        match (self.kind.as_deref(), self.n_prompt_tokens, self.n_ctx) {
            (Some("exceed_context_size_error"), Some(prompt), Some(window)) => Some(ModelError::Overflow {
                prompt: Tokens(prompt),
                window: Tokens(window),
            }),
            _ => None,
        }
    }

    fn words(self) -> (String, String) {
        (shorten(&self.kind.unwrap_or_default()), shorten(&self.message))
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}

/// Reads a reply whose status is not 200. Whatever its body is, the result is an error that says the status.
pub(super) async fn read(response: reqwest::Response, limits: Limits) -> ModelError {
    let status = response.status().as_u16();
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
    match serde_json::from_slice::<Reply>(&body) {
        Ok(reply) => reply.error.refused(status),
        Err(_) => ModelError::Refused {
            status,
            kind: String::new(),
            message: shorten(&String::from_utf8_lossy(&body)),
        },
    }
}
