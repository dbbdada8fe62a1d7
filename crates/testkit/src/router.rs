//! A fake llama-server in router mode, for what a real one does not do when asked: load and then answer 500 for
//! ever, break off in the middle, stand still. It holds to the messages of the real one and refuses what the
//! real one refuses.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What the fake says to a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    Tokens,
    /// As a wedged child does while its `/health` stays 200.
    Http500,
    /// 200, and then an error in place of tokens.
    ErrorInStream,
    /// A few tokens and no last message.
    BreaksOff,
}

#[derive(Debug, Default)]
struct Inner {
    /// Status by id; all ids that were ever made known.
    models: BTreeMap<String, &'static str>,
    says: VecDeque<Says>,
    loads: Vec<String>,
    unloads: Vec<String>,
    busy: bool,
    /// Steps of the next loads, and the time between them.
    slow: Option<(u32, Duration)>,
}

#[derive(Debug, Clone)]
struct Shared {
    inner: Arc<Mutex<Inner>>,
    news: broadcast::Sender<String>,
    key: Arc<str>,
}

impl Shared {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, model: &str, status: &'static str) {
        self.inner().models.insert(model.to_owned(), status);
        let message = json!({ "model": model, "event": "status_change", "data": { "status": status } });
        // Without a listener the message is lost, as with the real one.
        drop(self.news.send(message.to_string()));
    }
}

/// The running fake. It stops when dropped.
#[derive(Debug)]
pub struct FakeRouter {
    pub url: String,
    pub key: String,
    shared: Shared,
    _stop: DropGuard,
}

impl FakeRouter {
    /// Knows these models, none of them loaded.
    ///
    /// # Panics
    /// When no loopback port can be had.
    pub async fn start(models: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let url = format!("http://{}", listener.local_addr().expect("a bound socket"));
        let key = "fake-key".to_owned();
        let shared = Shared {
            inner: Arc::default(),
            news: broadcast::channel(64).0,
            key: key.as_str().into(),
        };
        shared.inner().models = models
            .iter()
            .map(|&model| (model.to_owned(), "unloaded"))
            .collect();
        let app = Router::new()
            .route("/health", get(async || Json(json!({ "status": "ok" }))))
            .route("/models", get(list))
            .route("/models/load", post(load))
            .route("/models/unload", post(unload))
            .route("/models/sse", get(watch))
            .route("/slots", get(slots))
            .route("/completion", post(generate))
            .with_state(shared.clone());
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        #[expect(clippy::disallowed_methods, reason = "it ends with the fake")]
        tokio::spawn(async move {
            tokio::select! {
                () = stopped => {}
                served = axum::serve(listener, app) => drop(served),
            }
        });
        Self {
            url,
            key,
            shared,
            _stop: stop.drop_guard(),
        }
    }

    /// What the next generations are answered with; tokens after these.
    pub fn says(&self, says: &[Says]) {
        self.shared.inner().says.extend(says);
    }

    /// Whether its slots are at work.
    pub fn set_busy(&self, busy: bool) {
        self.shared.inner().busy = busy;
    }

    /// Loads take so many steps from now on, each told, with this time between them; without a step none ends.
    pub fn load_slowly(&self, steps: u32, every: Duration) {
        self.shared.inner().slow = Some((steps, every));
    }

    /// A model comes up without our asking.
    pub fn load_by_itself(&self, model: &str) {
        self.shared.set(model, "loaded");
    }

    #[must_use]
    pub fn loads(&self) -> Vec<String> {
        self.shared.inner().loads.clone()
    }

    #[must_use]
    pub fn unloads(&self) -> Vec<String> {
        self.shared.inner().unloads.clone()
    }
}

fn refusal(status: u16, message: &str) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    (
        status,
        Json(json!({ "error": { "message": message, "code": status.as_u16() } })),
    )
        .into_response()
}

fn key_missing(shared: &Shared, headers: &HeaderMap) -> Option<Response> {
    let wanted = format!("Bearer {}", shared.key);
    let given = headers.get("authorization").and_then(|value| value.to_str().ok());
    (given != Some(&wanted)).then(|| refusal(401, "Invalid API Key"))
}

async fn list(State(shared): State<Shared>) -> Json<Value> {
    let models = shared.inner().models.clone();
    let entry = |(id, status): (&String, &&str)| json!({ "id": id, "status": { "value": status, "args": ["--port", "1"] } });
    Json(json!({ "data": models.iter().map(entry).collect::<Vec<_>>() }))
}

/// The model of a request and how it stands; or why the request is refused.
enum Asked {
    For(String, &'static str),
    Refused(Response),
}

fn asked(shared: &Shared, headers: &HeaderMap, body: &Value) -> Asked {
    if let Some(refused) = key_missing(shared, headers) {
        return Asked::Refused(refused);
    }
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    let status = shared.inner().models.get(&model).copied();
    match status {
        Some(status) => Asked::For(model, status),
        None => Asked::Refused(refusal(404, "File Not Found")),
    }
}

async fn load(State(shared): State<Shared>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    match asked(&shared, &headers, &body) {
        Asked::For(_, "loading" | "loaded") => refusal(400, "model is already running"),
        Asked::For(model, _) => {
            shared.inner().loads.push(model.clone());
            shared.set(&model, "loading");
            let slow = shared.inner().slow;
            match slow {
                None => shared.set(&model, "loaded"),
                Some((steps, every)) => come_up(shared.clone(), model, steps, every),
            }
            Json(json!({ "success": true })).into_response()
        }
        Asked::Refused(refused) => refused,
    }
}

/// Tells each step on its way.
fn come_up(shared: Shared, model: String, steps: u32, every: Duration) {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test ends before or after it, and both are fine"
    )]
    tokio::spawn(async move {
        for step in 1..=steps {
            tokio::time::sleep(every).await;
            let value = f64::from(step) / f64::from(steps);
            let progress = json!({ "stages": ["text_model"], "current": "text_model", "value": value });
            let data = json!({ "status": "loading", "progress": progress });
            let message = json!({ "model": model, "event": "model_status", "data": data });
            drop(shared.news.send(message.to_string()));
        }
        if steps > 0 {
            shared.set(&model, "loaded");
        }
    });
}

async fn unload(State(shared): State<Shared>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    match asked(&shared, &headers, &body) {
        Asked::For(_, "unloaded") => refusal(400, "model is not running"),
        Asked::For(model, _) => {
            shared.inner().unloads.push(model.clone());
            shared.set(&model, "unloaded");
            Json(json!({ "success": true })).into_response()
        }
        Asked::Refused(refused) => refused,
    }
}

async fn watch(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    if let Some(refused) = key_missing(&shared, &headers) {
        return refused;
    }
    let news = stream::unfold(shared.news.subscribe(), |mut news| async move {
        let message = news.recv().await.ok()?;
        Some((Ok::<_, Infallible>(Event::default().data(message)), news))
    });
    Sse::new(news).into_response()
}

async fn slots(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    let body = json!({ "model": query.get("model") });
    match asked(&shared, &headers, &body) {
        Asked::For(_, "loaded") => {
            let busy = shared.inner().busy;
            Json(json!([{ "id": 0, "n_ctx": 1024, "is_processing": busy }])).into_response()
        }
        Asked::For(..) => refusal(400, "model is not loaded"),
        Asked::Refused(refused) => refused,
    }
}

async fn generate(State(shared): State<Shared>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    match asked(&shared, &headers, &body) {
        Asked::For(_, "loaded") => {}
        Asked::For(..) => return refusal(400, "model is not loaded"),
        Asked::Refused(refused) => return refused,
    }
    let token = json!({ "content": " a", "tokens_predicted": 1, "stop": false });
    let last = json!({ "content": "", "tokens_predicted": 8, "stop": true,
        "timings": { "predicted_per_second": 30.0, "prompt_per_second": 100.0 } });
    let says = shared.inner().says.pop_front().unwrap_or(Says::Tokens);
    let messages = match says {
        Says::Tokens => vec![token, last],
        Says::Http500 => return refusal(500, "Compute error."),
        Says::ErrorInStream => vec![json!({ "error": { "message": "the slot is gone", "code": 500 } })],
        Says::BreaksOff => vec![token],
    };
    let events =
        stream::iter(messages).map(|message| Ok::<_, Infallible>(Event::default().data(message.to_string())));
    Sse::new(events).into_response()
}
