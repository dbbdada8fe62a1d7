//! Requests and answers on the wire: one adapter a protocol, one way to read a stream.
//!
//! Always streamed, so that closing the connection ends the work at once.

mod chat;
mod count;
mod events;
mod gather;
mod list;
mod messages;
mod refusal;
mod responses;

pub use list::list_models;

use std::fmt;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_catalog::{
    Dialect, EffortField, KeyHeader, Prices, Protocol, Provider, SamplingField, Structured,
};
use plimsoll_units::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::transcript::fit;
use crate::{ChatModel, Losses, ModelError, Pieces, Request, Thinking, Transcript, Unsendable, losses};

const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The way to one model: where it answers, in which protocol, and what of it is spoken there.
#[derive(Clone)]
pub struct Route {
    /// The provider's id.
    pub provider: String,
    /// With its version part: `http://127.0.0.1:18123/v1`.
    pub base_url: String,
    pub key: Option<String>,
    pub key_header: KeyHeader,
    pub protocol: Protocol,
    pub dialect: Dialect,
    pub prices: Option<Prices>,
}

/// The key stays out of logs.
impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route")
            .field("provider", &self.provider)
            .field("base_url", &self.base_url)
            .field("key", &self.key.as_ref().map(|_| "…"))
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

impl Route {
    /// To a model of a provider, at its own address.
    #[must_use]
    pub fn new(provider: &Provider, model: &str, key: Option<String>) -> Self {
        Self {
            provider: provider.id.clone(),
            base_url: provider.base_url.clone(),
            key,
            key_header: provider.key.header,
            protocol: provider.protocol,
            dialect: provider.dialect_of(model),
            prices: provider.model(model).and_then(|model| model.prices.clone()),
        }
    }

    /// The same at another address.
    #[must_use]
    pub fn at(mut self, base_url: &str) -> Self {
        base_url.trim_end_matches('/').clone_into(&mut self.base_url);
        self
    }

    /// What this route cannot take of a conversation.
    #[must_use]
    pub fn losses(&self, transcript: &Transcript, model: &str) -> Losses {
        losses(transcript, &self.dialect, &self.origin(model))
    }

    /// The body that is sent for a request, byte for byte.
    pub fn body(&self, request: &Request) -> Result<Vec<u8>, Unsendable> {
        self.check(request)?;
        let fitted = fit(&request.transcript, &self.dialect, &self.origin(&request.model));
        let asked = Asked {
            request,
            dialect: &self.dialect,
            rows: &fitted,
        };
        let body = match self.protocol {
            Protocol::OpenaiChat => serde_json::to_vec(&chat::body(asked)),
            Protocol::OpenaiResponses => serde_json::to_vec(&responses::body(asked)),
            Protocol::AnthropicMessages => serde_json::to_vec(&messages::body(asked)),
        };
        // Our own types always become JSON.
        Ok(body.unwrap_or_default())
    }

    /// Who thinks on this route, for what only the same may get back.
    fn origin(&self, model: &str) -> String {
        format!("{}/{model}", self.provider)
    }

    fn check(&self, request: &Request) -> Result<(), Unsendable> {
        let tools = request.tools.len();
        if tools > 0 && !self.dialect.tools {
            return Err(Unsendable::Tools);
        }
        match self.dialect.tools_max {
            Some(limit) if tools > limit => return Err(Unsendable::TooManyTools { tools, limit }),
            Some(_) | None => {}
        }
        if request.format.is_some() && self.dialect.structured == Structured::None {
            return Err(Unsendable::Format);
        }
        Ok(())
    }

    fn url(&self) -> String {
        let path = match self.protocol {
            Protocol::OpenaiChat => "chat/completions",
            Protocol::OpenaiResponses => "responses",
            Protocol::AnthropicMessages => "messages",
        };
        format!("{}/{path}", self.base_url.trim_end_matches('/'))
    }

    /// Also for other questions to the same server, such as the list of its models.
    fn headers(&self) -> Result<HeaderMap, Unsendable> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.protocol == Protocol::AnthropicMessages {
            headers.insert(
                HeaderName::from_static("anthropic-version"),
                HeaderValue::from_static(ANTHROPIC_VERSION),
            );
        }
        if let Some(key) = &self.key {
            let (name, text) = match self.key_header {
                KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
                KeyHeader::XApiKey => (HeaderName::from_static("x-api-key"), key.clone()),
            };
            let mut value = HeaderValue::from_str(&text).map_err(|_| Unsendable::Address)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

/// What an adapter makes a body from.
#[derive(Clone, Copy)]
struct Asked<'a> {
    request: &'a Request,
    dialect: &'a Dialect,
    rows: &'a crate::transcript::Fitted,
}

impl<'a> Asked<'a> {
    fn takes(self, field: SamplingField) -> bool {
        self.dialect.sampling.contains(&field)
    }

    /// `value`, where the provider takes the field.
    fn taken<T>(self, field: SamplingField, value: Option<T>) -> Option<T> {
        value.filter(|_| self.takes(field))
    }

    fn stop(self) -> &'a [String] {
        if self.takes(SamplingField::Stop) {
            &self.request.stop
        } else {
            &[]
        }
    }

    /// The name of the effort, where it is asked for by that field.
    fn effort(self, field: EffortField) -> Option<&'static str> {
        if self.dialect.effort != field {
            return None;
        }
        match self.request.thinking {
            Thinking::Default => None,
            Thinking::Off => Some("none"),
            Thinking::On(effort) => Some(effort.name()),
        }
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

/// A [`ChatModel`] at the end of a route.
#[derive(Debug, Clone)]
pub struct RouteModel {
    client: reqwest::Client,
    route: Route,
    limits: Limits,
}

impl RouteModel {
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
        let body = self.route.body(&request)?;
        let url = reqwest::Url::parse(&self.route.url()).map_err(|_| Unsendable::Address)?;
        let post = self.client.post(url).headers(self.route.headers()?).body(body);
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
        if !response.status().is_success() || is_json(&response) {
            return Err(refusal::read(response, self.limits).await);
        }
        let origin = self.route.origin(&request.model);
        let prices = self.route.prices.clone();
        let limits = self.limits;
        Ok(match self.route.protocol {
            Protocol::OpenaiChat => events::pieces(response, limits, chat::Reader::new(origin, prices)),
            Protocol::OpenaiResponses => {
                events::pieces(response, limits, responses::Reader::new(origin, prices))
            }
            Protocol::AnthropicMessages => {
                events::pieces(response, limits, messages::Reader::new(origin, prices))
            }
        })
    }
}

/// One document and no stream, although a stream was asked for: an error with status 200.
fn is_json(response: &reqwest::Response) -> bool {
    response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("application/json"))
}

impl ChatModel for RouteModel {
    fn answer(&self, request: Request) -> BoxFuture<'_, Result<Pieces, ModelError>> {
        self.open(request).boxed()
    }
}
