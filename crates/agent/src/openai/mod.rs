//! `/v1/chat/completions` as llama-server serves it: always streamed, always with progress, so that closing
//! the connection ends the work at once.

mod body;
mod chunk;
mod refusal;
mod stream;

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_units::Bytes;

use crate::{ChatModel, ModelError, Pieces, Request};

/// Where a model answers.
#[derive(Clone)]
pub struct Route {
    /// Without a path: `http://127.0.0.1:18123`.
    pub base_url: String,
    pub key: Option<String>,
}

/// The key stays out of logs.
impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route")
            .field("base_url", &self.base_url)
            .field("key", &self.key.as_ref().map(|_| "…"))
            .finish()
    }
}

/// What a server may send at most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Of one event of the stream.
    pub piece: Bytes,
    /// Of the whole stream.
    pub answer: Bytes,
    /// Of a refusal's body.
    pub refusal: Bytes,
    /// How long nothing at all may come. A prompt being read is something: it reports its progress.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            piece: Bytes::mib(1),
            answer: Bytes::mib(256),
            refusal: Bytes::kib(64),
            // Long, because a request may wait for a slot that another answer holds.
            idle: Duration::from_mins(10),
        }
    }
}

/// A [`ChatModel`] on an OpenAI-shaped chat endpoint.
#[derive(Debug, Clone)]
pub struct OpenAiChat {
    client: reqwest::Client,
    route: Route,
    limits: Limits,
}

impl OpenAiChat {
    /// The client is the caller's, who keeps it: its open connections spare every turn a handshake.
    #[must_use]
    pub fn new(client: reqwest::Client, route: Route, limits: Limits) -> Self {
        Self {
            client,
            route,
            limits,
        }
    }

    async fn open(&self, request: Request) -> Result<Pieces, ModelError> {
        let url = format!(
            "{}/v1/chat/completions",
            self.route.base_url.trim_end_matches('/')
        );
        let mut post = self.client.post(url).json(&body::body(&request));
        if let Some(key) = &self.route.key {
            post = post.bearer_auth(key);
        }
        let idle = self.limits.idle;
        let response = match tokio::time::timeout(idle, post.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(source)) => {
                return Err(ModelError::Unreachable {
                    source: source.without_url(),
                });
            }
            Err(_) => return Err(ModelError::Silent { after: idle }),
        };
        if !response.status().is_success() {
            return Err(refusal::read(response, self.limits).await);
        }
        Ok(stream::pieces(response, self.limits))
    }
}

impl ChatModel for OpenAiChat {
    fn answer(&self, request: Request) -> BoxFuture<'_, Result<Pieces, ModelError>> {
        self.open(request).boxed()
    }
}
