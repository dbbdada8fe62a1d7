//! Models' servers without a model: three protocols on loopback that play scripted answers and check every
//! request that they get, by the providers' own published types and by what those cannot say.
#![expect(
    clippy::missing_panics_doc,
    reason = "a broken expectation is a failed test, everywhere here"
)]

mod beat;
mod chat;
mod encode;
mod messages;
mod responses;
mod rules;
mod schema;
mod strict;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::watch;

pub use beat::{Beat, Reply};
use encode::{Out, encode};

/// What a fake speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    Chat(Dialect),
    Responses,
    Messages,
}

/// Whose Chat Completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    OpenAi,
    /// With the rules of the strictest chat templates, and our own about streaming.
    LlamaServer,
    DeepSeek,
    OpenRouter,
    Gemini,
}

#[derive(Default)]
struct Script {
    replies: VecDeque<Reply>,
    requests: Vec<Value>,
    bytes: Vec<Bytes>,
    complaints: Vec<String>,
    /// Seals that were given out, and what they sealed.
    seals: BTreeMap<String, String>,
}

#[derive(Clone)]
struct Stage {
    speaks: Speaks,
    script: Arc<Mutex<Script>>,
    key: Option<String>,
    /// How many answers the client left before their end.
    left: Arc<watch::Sender<usize>>,
}

/// The running fake. Dropping it fails the test when a request was wrong, or when a scripted reply was never
/// asked for.
pub struct Provider {
    address: SocketAddr,
    stage: Stage,
    server: tokio::task::JoinHandle<()>,
}

impl Provider {
    /// llama-server's Chat Completions. Answers one request after another with these replies; one more request
    /// is a complaint.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::start_with(Speaks::Chat(Dialect::LlamaServer), replies, None).await
    }

    /// The same behind a key: a request without it gets 401, as llama-server answers.
    pub async fn start_with_key(replies: impl IntoIterator<Item = Reply>, key: &str) -> Self {
        Self::start_with(Speaks::Chat(Dialect::LlamaServer), replies, Some(key.to_owned())).await
    }

    /// Another protocol or dialect, behind a key where one is given.
    pub async fn start_with(
        speaks: Speaks,
        replies: impl IntoIterator<Item = Reply>,
        key: Option<String>,
    ) -> Self {
        let script = Script {
            replies: replies.into_iter().collect(),
            ..Script::default()
        };
        let stage = Stage {
            speaks,
            script: Arc::new(Mutex::new(script)),
            key,
            left: Arc::new(watch::Sender::new(0)),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a loopback port");
        let address = listener.local_addr().expect("an address");
        let path = match speaks {
            Speaks::Chat(_) => "/v1/chat/completions",
            Speaks::Responses => "/v1/responses",
            Speaks::Messages => "/v1/messages",
        };
        let app = Router::new()
            .route(path, post(answer))
            .route("/v1/models", get(models))
            .with_state(stage.clone());
        let serving = async move {
            axum::serve(listener, app)
                .await
                .expect("the fake provider serves");
        };
        #[expect(clippy::disallowed_methods, reason = "a test's own server, ended by Drop")]
        let server = tokio::spawn(serving);
        Self {
            address,
            stage,
            server,
        }
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bodies of all requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.script().requests.clone()
    }

    /// The same, byte for byte.
    #[must_use]
    pub fn bytes(&self) -> Vec<Bytes> {
        self.script().bytes.clone()
    }

    /// The one request that was made.
    #[must_use]
    pub fn only_request(&self) -> Value {
        let mut requests = self.requests();
        assert_eq!(requests.len(), 1, "exactly one request was made");
        requests.remove(0)
    }

    /// Adds a reply to the script.
    pub fn then(&self, reply: Reply) {
        self.script().replies.push_back(reply);
    }

    /// What the fake found wrong so far. Taking it out is for the fake's own tests.
    #[must_use]
    pub fn take_complaints(&self) -> Vec<String> {
        std::mem::take(&mut self.script().complaints)
    }

    /// Waits until the client has left `count` answers before their end.
    pub async fn left(&self, count: usize) {
        let mut left = self.stage.left.subscribe();
        tokio::time::timeout(Duration::from_secs(20), left.wait_for(|left| *left >= count))
            .await
            .expect("the client closes its connection")
            .expect("the fake provider lives");
    }

    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.stage.script.lock().expect("no test panics here")
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
        if std::thread::panicking() {
            return;
        }
        let script = self.script();
        assert!(
            script.complaints.is_empty(),
            "the real server would refuse this: {:?}",
            script.complaints
        );
        assert!(
            script.replies.is_empty(),
            "{} scripted replies were never asked for",
            script.replies.len()
        );
    }
}

/// Whether the key is there, in the header that the protocol wants it in.
fn has_key(stage: &Stage, headers: &HeaderMap) -> bool {
    let Some(key) = &stage.key else { return true };
    let (name, value) = match stage.speaks {
        Speaks::Chat(_) | Speaks::Responses => ("authorization", format!("Bearer {key}")),
        Speaks::Messages => ("x-api-key", key.clone()),
    };
    headers.get(name).and_then(|value| value.to_str().ok()) == Some(&value)
}

fn no_key(speaks: Speaks) -> Response {
    let error = json!({"code": 401, "message": "Invalid API Key", "type": "authentication_error"});
    let body = match speaks {
        Speaks::Messages => json!({"type": "error", "error": error}),
        Speaks::Chat(_) | Speaks::Responses => json!({ "error": error }),
    };
    (StatusCode::UNAUTHORIZED, Json(body)).into_response()
}

async fn models(State(stage): State<Stage>, headers: HeaderMap) -> Response {
    if !has_key(&stage, &headers) {
        return no_key(stage.speaks);
    }
    Json(json!({"object": "list", "data": [{"id": "m", "object": "model", "type": "model"}]})).into_response()
}

async fn answer(State(stage): State<Stage>, headers: HeaderMap, bytes: Bytes) -> Response {
    if !has_key(&stage, &headers) {
        return no_key(stage.speaks);
    }
    let reply = {
        let mut script = stage.script.lock().expect("no test panics here");
        let request: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let mut complaints = schema::request(stage.speaks, &request);
        complaints.extend(rules::request(stage.speaks, &request));
        complaints.extend(rules::seals(stage.speaks, &script.seals, &request));
        if stage.speaks == Speaks::Chat(Dialect::LlamaServer) {
            complaints.extend(strict::complaints(&request));
        }
        if stage.speaks == Speaks::Messages && !headers.contains_key("anthropic-version") {
            complaints.push("no anthropic-version".to_owned());
        }
        let wrong = !complaints.is_empty();
        script.complaints.extend(complaints);
        script.requests.push(request);
        script.bytes.push(bytes);
        if wrong {
            return (
                StatusCode::BAD_REQUEST,
                Json(json!({"error": {"message": "see the test's complaint"}})),
            )
                .into_response();
        }
        let reply = script.replies.pop_front();
        match &reply {
            Some(Reply::Stream(beats)) => {
                for beat in beats {
                    if let Beat::Thought { text, seal } = beat {
                        script.seals.insert(seal.clone(), text.clone());
                    }
                }
            }
            Some(Reply::Refuse(..) | Reply::RefuseWith(..)) => {}
            None => script
                .complaints
                .push("one request more than was scripted".to_owned()),
        }
        reply
    };
    match reply {
        Some(Reply::Stream(beats)) => {
            let watched = Watched {
                inner: play(encode(stage.speaks, beats)).boxed(),
                left: Some(Arc::clone(&stage.left)),
            };
            (
                [(header::CONTENT_TYPE, "text/event-stream")],
                Body::from_stream(watched),
            )
                .into_response()
        }
        Some(Reply::Refuse(status, body)) => {
            (StatusCode::from_u16(status).expect("a status"), Json(body)).into_response()
        }
        Some(Reply::RefuseWith(status, (name, value), body)) => {
            let header = (
                HeaderName::from_static(name),
                HeaderValue::from_str(&value).expect("a header"),
            );
            (
                StatusCode::from_u16(status).expect("a status"),
                [header],
                Json(body),
            )
                .into_response()
        }
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Bytes, and whether they are the last that matter.
type Played = Result<(Bytes, bool), std::io::Error>;

fn play(out: Vec<Out>) -> impl Stream<Item = Played> {
    stream::iter(out).then(|out| async {
        match out {
            Out::Bytes(bytes) => Ok((bytes, false)),
            Out::Last(bytes) => Ok((bytes, true)),
            Out::Pause(time) => {
                tokio::time::sleep(time).await;
                Ok((Bytes::from_static(b":\n\n"), false))
            }
            Out::Hang => std::future::pending().await,
            Out::Cut => {
                // Let the server flush what came before, as a real one would have.
                tokio::time::sleep(Duration::from_millis(50)).await;
                Err(std::io::Error::other("cut by the script"))
            }
        }
    })
}

/// Sees whether a body was read to its end or left before.
struct Watched {
    inner: Pin<Box<dyn Stream<Item = Played> + Send>>,
    left: Option<Arc<watch::Sender<usize>>>,
}

impl Stream for Watched {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.inner.poll_next_unpin(cx);
        match &next {
            // Whoever has heard the end may go.
            Poll::Ready(None | Some(Err(_) | Ok((_, true)))) => self.left = None,
            Poll::Ready(Some(Ok((_, false)))) | Poll::Pending => {}
        }
        next.map(|next| next.map(|played| played.map(|(bytes, _)| bytes)))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(left) = self.left.take() {
            left.send_modify(|left| *left += 1);
        }
    }
}
