use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use eventsource_stream::Eventsource;
use futures_util::{Stream, StreamExt};
use plimsoll_units::Bytes;
use serde_json::{Value, json};

use crate::error::EngineError;

/// For everything that is not a generation or a stream: the router answers these at once.
const ANSWER_MAX: Duration = Duration::from_secs(30);
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// The list of models with all their arguments is the largest answer.
const BODY_MAX: Bytes = Bytes::mib(8);
/// One event of a stream.
const EVENT_MAX: usize = 1 << 20;

/// Where requests for a model go.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// `http://127.0.0.1:PORT`, without a path.
    pub url: String,
    /// For `Authorization: Bearer`; shown to nobody.
    pub key: String,
    /// The router's name of the model.
    pub model: String,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("url", &self.url)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// Talks to the router. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: Arc<str>,
    key: Arc<str>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Client {
    pub fn new(url: &str, key: &str) -> Result<Self, EngineError> {
        let http = reqwest::Client::builder()
            // Loopback never goes through a proxy, whatever the environment says.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_MAX)
            .build()
            .map_err(EngineError::Http)?;
        Ok(Self {
            http,
            url: url.into(),
            key: key.into(),
        })
    }

    /// `port` is that of the model's own process, which takes the same key.
    #[must_use]
    pub fn target(&self, model: &str, port: Option<u16>) -> Target {
        Target {
            url: port.map_or_else(|| self.url.to_string(), |port| format!("http://127.0.0.1:{port}")),
            key: self.key.to_string(),
            model: model.to_owned(),
        }
    }

    /// Whether it answers at all; says nothing about models.
    pub async fn is_up(&self) -> bool {
        let asked = self
            .http
            .get(self.at("/health"))
            .timeout(CONNECT_MAX)
            .send()
            .await;
        asked.is_ok_and(|answer| answer.status().is_success())
    }

    /// Whether our key is taken and a wrong one is not: a server of someone else fails one of the two.
    pub(super) async fn checks_our_key(&self) -> bool {
        // Unloading nothing changes nothing, and is guarded in every build.
        let nothing = json!({ "model": "" });
        let wrong = self
            .http
            .post(self.at("/models/unload"))
            .json(&nothing)
            .bearer_auth("no")
            .timeout(CONNECT_MAX);
        let right = self
            .http
            .post(self.at("/models/unload"))
            .json(&nothing)
            .bearer_auth(&self.key);
        let wrong_refused = wrong
            .send()
            .await
            .is_ok_and(|answer| answer.status().as_u16() == 401);
        wrong_refused
            && right
                .timeout(CONNECT_MAX)
                .send()
                .await
                .is_ok_and(|answer| answer.status().as_u16() != 401)
    }

    /// All models with their status. With `reload` the router reads its preset again first.
    pub async fn models(&self, reload: bool) -> Result<Value, EngineError> {
        self.get(if reload { "/models?reload=1" } else { "/models" }, &[])
            .await
    }

    pub async fn load(&self, model: &str) -> Result<(), EngineError> {
        self.post("/models/load", &json!({ "model": model }))
            .await
            .map(drop)
    }

    pub async fn unload(&self, model: &str) -> Result<(), EngineError> {
        self.post("/models/unload", &json!({ "model": model }))
            .await
            .map(drop)
    }

    pub async fn props(&self, model: &str) -> Result<Value, EngineError> {
        self.get("/props", &[("model", model), ("autoload", "false")])
            .await
    }

    /// One entry a slot: its window, and whether it works. Not to be asked more often than every 1.5 s while
    /// it generates.
    pub async fn slots(&self, model: &str) -> Result<Vec<Slot>, EngineError> {
        let slots = self
            .get("/slots", &[("model", model), ("autoload", "false")])
            .await?;
        serde_json::from_value(slots).map_err(|error| EngineError::RouterAnswer {
            problem: error.to_string(),
        })
    }

    /// What happens to models, message by message, until the router ends or the stream is dropped.
    pub async fn watch(&self) -> Result<impl Stream<Item = String> + Send + use<>, EngineError> {
        let answer = self.send(self.http.get(self.at("/models/sse"))).await?;
        let events = answer.bytes_stream().eventsource();
        Ok(events
            .take_while(|event| std::future::ready(event.is_ok()))
            .filter_map(|event| std::future::ready(event.ok()))
            .map(|event| event.data)
            .filter(|data| std::future::ready(data.len() <= EVENT_MAX)))
    }

    /// A streamed generation of a few tokens, for the proof. Each item is one JSON message.
    pub(crate) async fn generate(
        &self,
        body: &Value,
    ) -> Result<impl Stream<Item = Result<Value, EngineError>> + Send + use<>, EngineError> {
        let answer = self
            .send(self.http.post(self.at("/completion")).json(body))
            .await?;
        Ok(answer.bytes_stream().eventsource().map(|event| {
            let event = event.map_err(|error| EngineError::RouterAnswer {
                problem: error.to_string(),
            })?;
            serde_json::from_str(&event.data).map_err(|error| EngineError::RouterAnswer {
                problem: error.to_string(),
            })
        }))
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, EngineError> {
        let request = self.http.get(self.at(path)).query(query).timeout(ANSWER_MAX);
        read_json(self.send(request).await?).await
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, EngineError> {
        let request = self.http.post(self.at(path)).json(body).timeout(ANSWER_MAX);
        read_json(self.send(request).await?).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, EngineError> {
        let answer = request.bearer_auth(&self.key).send().await.map_err(unreachable)?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let body = read_up_to(answer).await.unwrap_or_default();
        let said = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        let message = said["error"]["message"].as_str().unwrap_or_default();
        Err(EngineError::RouterRefused {
            status: status.as_u16(),
            message: message.chars().take(500).collect(),
        })
    }
}

/// One of a model's slots.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Slot {
    pub id: u32,
    /// The window of this slot, in tokens.
    pub n_ctx: u32,
    #[serde(default)]
    pub is_processing: bool,
    /// The number of the work that it did last; missing before the first.
    #[serde(default)]
    pub id_task: Option<i64>,
}

async fn read_json(answer: reqwest::Response) -> Result<Value, EngineError> {
    let body = read_up_to(answer).await?;
    serde_json::from_slice(&body).map_err(|error| EngineError::RouterAnswer {
        problem: error.to_string(),
    })
}

async fn read_up_to(answer: reqwest::Response) -> Result<Vec<u8>, EngineError> {
    let mut body = Vec::new();
    let mut pieces = answer.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece.map_err(unreachable)?);
        if body.len() as u64 > BODY_MAX.0 {
            return Err(EngineError::RouterAnswer {
                problem: format!("more than {BODY_MAX}"),
            });
        }
    }
    Ok(body)
}

fn unreachable(error: reqwest::Error) -> EngineError {
    // The address is ours and says nothing; without it the text can be shown anywhere.
    let error = error.without_url();
    if error.is_connect() {
        EngineError::RouterGone
    } else {
        EngineError::Http(error)
    }
}
