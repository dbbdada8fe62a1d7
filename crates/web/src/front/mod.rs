//! The door for other programs: llama-server's three protocols, behind a key, with only our models.
//!
//! The router itself checks neither `Host` nor `Origin`, lists models with their paths to anyone and lets any
//! page read its answers. So nobody but us talks to it; what other apps send comes through here.

mod failed;
mod kept;
mod models;
mod proxy;
mod refused;
mod request;
mod responses;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{Method, StatusCode, header};
use plimsoll_app::App;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use self::kept::KeptFront;
use self::refused::{Protocol, Refused};
use crate::error::WebError;
use crate::guard::{self, Door, Refusal};
use crate::headers;
use crate::serve::{Listening, Serving};
use crate::source::{Behind, Routes};

/// Where other apps find us. Below the ephemeral range and nobody else's default.
pub const FRONT_PORT: u16 = 18760;

/// A conversation with several large images fits.
const BODY_BYTES_MAX: usize = 64 << 20;
/// Requests under way at once, waiting for a model included.
const REQUESTS_MAX: usize = 64;

/// What may be asked of a model. A list, so that a management address of a later llama-server is not open by
/// accident.
const ASKS: [&str; 10] = [
    "/v1/chat/completions",
    "/v1/chat/completions/input_tokens",
    "/v1/completions",
    "/v1/responses",
    "/v1/responses/input_tokens",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/embeddings",
    "/v1/rerank",
    "/v1/reranking",
];

/// Other apps are let in as long as this lives.
pub struct Front {
    room: Arc<Room>,
    serving: Serving,
}

struct Room {
    routes: Arc<dyn Routes>,
    door: Door,
    client: reqwest::Client,
    seats: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Front {
    /// Listens on `port`, or on one of the next ones when it is taken, and tells the app where.
    pub async fn start(app: Arc<App>, port: u16) -> Result<Self, WebError> {
        Self::over(Arc::new(Behind(app)), port).await
    }

    /// The same over anything that knows where models answer.
    pub async fn over(routes: Arc<dyn Routes>, port: u16) -> Result<Self, WebError> {
        // A proxy from the environment must never see a loopback request, and a redirect of the router would
        // be a fault of it. No time limit: a long answer is no error.
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(WebError::Client)?;
        let listening = Listening::on(port).await?;
        let room = Arc::new(Room {
            routes,
            door: Door { port: listening.port },
            client,
            seats: Arc::new(Semaphore::new(REQUESTS_MAX)),
            stop: listening.stop.clone(),
        });
        let front = Self {
            serving: listening.serve(router(Arc::clone(&room))),
            room,
        };
        front.room.routes.listening(Some(front.url()));
        Ok(front)
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.room.door.port
    }

    /// What other apps call their base URL: ends in `/v1`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port())
    }

    /// Ends what is under way and stops listening.
    pub async fn end(self) {
        self.room.routes.listening(None);
        self.serving.end().await;
    }
}

fn router(room: Arc<Room>) -> Router {
    let mut router = Router::new()
        .route("/health", get(health))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*id}", get(models::one));
    for path in ASKS {
        router = router.route(path, post(proxy::pass));
    }
    router
        .fallback(nothing_here)
        .method_not_allowed_fallback(nothing_here)
        .layer(middleware::from_fn_with_state(Arc::clone(&room), let_in))
        .layer(middleware::map_response(headers::protect))
        .with_state(room)
}

/// The front answers when it can answer: models are started when they are asked for, so a router that is not
/// running is no illness.
async fn health() -> Response {
    axum::Json(serde_json::json!({ "status": "ok" })).into_response()
}

async fn nothing_here(request: Request) -> Response {
    Refused::NoSuchAddress.answer(Protocol::of(request.uri().path()))
}

async fn let_in(State(room): State<Arc<Room>>, request: Request, next: Next) -> Response {
    let protocol = Protocol::of(request.uri().path());
    if let Err(refusal) = room.door.check(request.uri(), request.headers()) {
        tracing::warn!(?refusal, "turned a foreign request away from the front");
        let refused = match refusal {
            Refusal::ForeignHost => Refused::ForeignHost,
            Refusal::ForeignOrigin => Refused::ForeignOrigin,
        };
        return refused.answer(protocol);
    }
    // A browser asks before it sends a key; it comes this far only for a page of our own.
    if request.method() == Method::OPTIONS {
        let allow = [(header::ALLOW, "GET, POST, OPTIONS")];
        return (StatusCode::NO_CONTENT, allow).into_response();
    }
    if !guard::shows_key(request.headers(), &room.routes.key()) {
        return Refused::WrongKey.answer(protocol);
    }
    next.run(request).await
}
