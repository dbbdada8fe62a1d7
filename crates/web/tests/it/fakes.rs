//! A scripted program behind the page, and a scripted router behind the front. The router objects to what a
//! real one must never see.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{OriginalUri, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use http::{HeaderMap, StatusCode};
use plimsoll_app::Stay;
use plimsoll_os::jobs::{Job, Root};
use plimsoll_web::{Calls, Model, Routes, Target};
use plimsoll_wire::{Event, Fault, FaultCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, mpsc, watch};

pub(crate) fn fault(code: FaultCode) -> Fault {
    let params = [("path".to_owned(), "/home/someone/secret.gguf".into())].into();
    Fault {
        code,
        params,
        trace: vec!["/home/someone/secret.gguf".into()],
        fixes: Vec::new(),
    }
}

/// Answers every call with its name; `fails/CODE` with that fault.
pub(crate) struct ScriptedCalls {
    asked: Mutex<Vec<(String, Value)>>,
    events: broadcast::Sender<Event>,
}

impl Default for ScriptedCalls {
    fn default() -> Self {
        Self {
            asked: Mutex::default(),
            events: broadcast::Sender::new(64),
        }
    }
}

impl ScriptedCalls {
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }
    pub(crate) fn happen(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

impl Calls for ScriptedCalls {
    fn call(&self, name: String, body: Value) -> BoxFuture<'static, Result<Value, Fault>> {
        let reply = match name.strip_prefix("fails/") {
            Some(code) => Err(fault(serde_json::from_value(json!(code)).unwrap())),
            None => Ok(json!({ "answered": name })),
        };
        self.asked.lock().unwrap().push((name, body));
        async move { reply }.boxed()
    }

    fn hear(&self) -> BoxStream<'static, Event> {
        let heard = self.events.subscribe();
        futures_util::stream::unfold(heard, |mut heard| async {
            heard.recv().await.ok().map(|event| (event, heard))
        })
        .boxed()
    }
}

/// What the router was asked.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

pub(crate) const ROUTER_KEY: &str = "routers-own-key";
pub(crate) const FRONT_KEY: &str = "front-key";

/// How the next request is answered.
pub(crate) enum Script {
    /// At once.
    Whole(StatusCode, &'static str),
    /// Piece by piece, as they are sent.
    Pieces(mpsc::Receiver<&'static str>),
    /// Never; the request hangs until the client leaves.
    Silence,
}

pub(crate) struct FakeRouter {
    pub(crate) url: String,
    inner: Arc<Inner>,
    _job: Job<()>,
    root: Root,
}

struct Inner {
    seen: Mutex<Vec<Seen>>,
    scripts: Mutex<Vec<Script>>,
    came: watch::Sender<usize>,
    /// Requests whose answer is still being written.
    open: watch::Sender<usize>,
}

/// Counts a request that is under way; falls when the server lets go of it.
struct Under(Arc<Inner>);
impl Under {
    fn way(inner: &Arc<Inner>) -> Self {
        inner.open.send_modify(|open| *open += 1);
        Self(Arc::clone(inner))
    }
}
impl Drop for Under {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}

impl FakeRouter {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inner = Arc::new(Inner {
            seen: Mutex::default(),
            scripts: Mutex::default(),
            came: watch::Sender::new(0),
            open: watch::Sender::new(0),
        });
        let app = Router::new().fallback(any(answer)).with_state(Arc::clone(&inner));
        let root = Root::new();
        let job = root.scope().start(|stop| async move {
            tokio::select! {
                served = axum::serve(listener, app) => served.unwrap(),
                () = stop.cancelled() => {}
            }
        });
        Self {
            url,
            inner,
            _job: job,
            root,
        }
    }

    pub(crate) fn next(&self, script: Script) {
        self.inner.scripts.lock().unwrap().push(script);
    }
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.inner.seen.lock().unwrap().clone()
    }
    /// Until so many requests have come, ever.
    pub(crate) async fn came(&self, count: usize) {
        self.inner
            .came
            .subscribe()
            .wait_for(|came| *came >= count)
            .await
            .unwrap();
    }
    /// Until no request is under way any more.
    pub(crate) async fn all_gone(&self) {
        self.inner
            .open
            .subscribe()
            .wait_for(|open| *open == 0)
            .await
            .unwrap();
    }
    pub(crate) async fn die(self) {
        self.root.end(std::time::Duration::from_secs(5)).await;
    }
}

async fn answer(
    State(inner): State<Arc<Inner>>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let under = Under::way(&inner);
    assert_eq!(
        headers["authorization"],
        format!("Bearer {ROUTER_KEY}").as_str(),
        "the router's own key"
    );
    for name in ["cookie", "x-api-key", "origin", "referer", "x-forwarded-for"] {
        assert!(!headers.contains_key(name), "{name} went through");
    }
    inner.seen.lock().unwrap().push(Seen {
        uri: uri.to_string(),
        headers,
        body,
    });
    let script = {
        let mut scripts = inner.scripts.lock().unwrap();
        assert!(!scripts.is_empty(), "an unexpected request: {uri}");
        scripts.remove(0)
    };
    inner.came.send_modify(|came| *came += 1);
    let open_door = [
        ("access-control-allow-origin", "*"),
        ("server", "llama.cpp"),
        ("content-type", "application/json"),
    ];
    match script {
        Script::Whole(status, text) => (status, open_door, text).into_response(),
        Script::Silence => {
            let _under = under;
            std::future::pending().await
        }
        Script::Pieces(pieces) => {
            let pieces = futures_util::stream::unfold((pieces, under), |(mut pieces, under)| async {
                pieces
                    .recv()
                    .await
                    .map(|piece| (Ok::<_, std::io::Error>(piece), (pieces, under)))
            });
            (open_door, Body::from_stream(pieces)).into_response()
        }
    }
}

/// A library of two models, and routers in the order they come up.
pub(crate) struct ScriptedRoutes {
    routers: Mutex<Vec<String>>,
    pub(crate) asked: AtomicUsize,
    /// What was said of the time afterwards.
    pub(crate) stays: Mutex<Vec<Stay>>,
    told: Mutex<Vec<Option<String>>>,
    /// Who was doubted.
    pub(crate) doubts: Mutex<Vec<String>>,
    /// A doubted model does not answer a probe either.
    pub(crate) wedged: bool,
    /// What other programs get.
    pub(crate) slot: Option<u32>,
    /// Requests that are under way now, and all that ever were.
    pub(crate) under_way: watch::Sender<(usize, usize)>,
    /// Loading takes for ever.
    pub(crate) never_ready: bool,
    loading: watch::Sender<usize>,
}

impl ScriptedRoutes {
    pub(crate) fn to(urls: &[&str]) -> Self {
        Self {
            routers: Mutex::new(urls.iter().map(ToString::to_string).collect()),
            asked: AtomicUsize::new(0),
            stays: Mutex::default(),
            told: Mutex::default(),
            doubts: Mutex::default(),
            wedged: false,
            slot: None,
            under_way: watch::Sender::new((0, 0)),
            never_ready: false,
            loading: watch::Sender::new(0),
        }
    }
    pub(crate) fn told(&self) -> Vec<Option<String>> {
        self.told.lock().unwrap().clone()
    }
    pub(crate) async fn loading(&self, count: usize) {
        self.loading
            .subscribe()
            .wait_for(|now| *now == count)
            .await
            .unwrap();
    }
}

struct Loading(watch::Sender<usize>);
impl Drop for Loading {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

struct UnderWay(watch::Sender<(usize, usize)>);
impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.send_modify(|(now, _)| *now -= 1);
    }
}

impl Routes for ScriptedRoutes {
    fn key(&self) -> String {
        FRONT_KEY.into()
    }

    fn models(&self) -> BoxFuture<'static, Result<Vec<Model>, Fault>> {
        let models = [("smol:Q4_1", "Smol"), ("ORG/REPO/a b.gguf", "Third")];
        let models = models
            .map(|(id, name)| Model {
                id: id.into(),
                name: name.into(),
            })
            .to_vec();
        async move { Ok(models) }.boxed()
    }

    fn target(&self, model: String, after: Stay) -> BoxFuture<'static, Result<Target, Fault>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.stays.lock().unwrap().push(after);
        if model == "heavy" {
            return async { Err(fault(FaultCode::OutOfMemory)) }.boxed();
        }
        if !["smol:Q4_1", "ORG/REPO/a b.gguf"].contains(&model.as_str()) {
            return async { Err(fault(FaultCode::UnknownModel)) }.boxed();
        }
        if self.never_ready {
            self.loading.send_modify(|count| *count += 1);
            let loading = Loading(self.loading.clone());
            return async move {
                let _loading = loading;
                std::future::pending().await
            }
            .boxed();
        }
        let mut routers = self.routers.lock().unwrap();
        let url = if routers.len() > 1 {
            routers.remove(0)
        } else {
            routers[0].clone()
        };
        let slot = self.slot;
        async move {
            Ok(Target {
                url,
                key: ROUTER_KEY.into(),
                model: format!("at-router {model}"),
                slot,
            })
        }
        .boxed()
    }

    fn under_way(&self, _: &str) -> plimsoll_web::Seen {
        self.under_way.send_modify(|(now, all)| {
            *now += 1;
            *all += 1;
        });
        Box::new(UnderWay(self.under_way.clone()))
    }

    fn doubt(&self, model: String) -> BoxFuture<'static, bool> {
        self.doubts.lock().unwrap().push(model);
        let wedged = self.wedged;
        async move { wedged }.boxed()
    }

    fn listening(&self, url: Option<String>) {
        self.told.lock().unwrap().push(url);
    }
}
