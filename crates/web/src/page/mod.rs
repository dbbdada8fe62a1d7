//! The page and the call table for a browser on this machine.

mod assets;
mod calls;
mod events;
mod session;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use plimsoll_app::App;
use plimsoll_wire::{Fault, FaultCode, Fix, Params};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::session::Sessions;
use crate::error::{WebError, status_of};
use crate::guard::{Door, Refusal};
use crate::headers;
use crate::serve::{Listening, Serving};
use crate::source::{Behind, Calls};

/// Below the ephemeral range and nobody else's default; 1876 is the year the line became law.
pub const PAGE_PORT: u16 = 18761;

/// A pasted image fits, a mistake does not fill the memory.
const BODY_BYTES_MAX: usize = 16 << 20;
/// Open pages at once.
const LISTENERS_MAX: usize = 16;

/// The page is offered as long as this lives.
pub struct Page {
    room: Arc<Room>,
    serving: Serving,
}

struct Room {
    calls: Arc<dyn Calls>,
    door: Door,
    sessions: Sessions,
    listeners: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Page {
    /// Listens on `port`, or on one of the next ones when it is taken.
    pub async fn start(app: Arc<App>, port: u16) -> Result<Self, WebError> {
        Self::over(Arc::new(Behind(app)), port).await
    }

    /// The same over anything that answers calls.
    pub async fn over(calls: Arc<dyn Calls>, port: u16) -> Result<Self, WebError> {
        let listening = Listening::on(port).await?;
        let room = Arc::new(Room {
            calls,
            door: Door { port: listening.port },
            sessions: Sessions::for_port(listening.port),
            listeners: Arc::new(Semaphore::new(LISTENERS_MAX)),
            stop: listening.stop.clone(),
        });
        Ok(Self {
            serving: listening.serve(routes(Arc::clone(&room))),
            room,
        })
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.room.door.port
    }

    /// An address that opens the page once; whoever follows it stays signed in until we end.
    #[must_use]
    pub fn login_link(&self) -> String {
        format!(
            "http://127.0.0.1:{}/?token={}",
            self.port(),
            self.room.sessions.fresh_link()
        )
    }

    /// Ends open pages' streams and stops listening.
    pub async fn end(self) {
        self.serving.end().await;
    }
}

fn routes(room: Arc<Room>) -> Router {
    Router::new()
        .route("/call/{*name}", post(calls::answer))
        .route("/events", get(events::stream))
        .route("/", get(assets::index))
        .route("/{*path}", get(assets::file))
        .fallback(nothing_here)
        .method_not_allowed_fallback(nothing_here)
        .layer(middleware::from_fn_with_state(Arc::clone(&room), let_in))
        .layer(middleware::map_response(headers::protect))
        .with_state(room)
}

async fn nothing_here() -> Response {
    refused(FaultCode::NotFound)
}

/// Nothing behind this runs for a stranger.
async fn let_in(State(room): State<Arc<Room>>, request: Request, next: Next) -> Response {
    if let Err(refusal) = room.door.check(request.uri(), request.headers()) {
        tracing::warn!(?refusal, "turned a foreign request away");
        return match refusal {
            Refusal::ForeignHost | Refusal::ForeignOrigin => refused(FaultCode::NotAllowed),
        };
    }
    if room.sessions.knows(request.headers()) {
        // A link that was used before, or is still in the address bar: out of sight with it.
        return if at_the_door(&request) && token(&request).is_some() {
            to_the_page(None)
        } else {
            next.run(request).await
        };
    }
    if at_the_door(&request)
        && let Some(cookie) = token(&request).and_then(|token| room.sessions.redeem(token))
    {
        return to_the_page(HeaderValue::from_str(&cookie).ok());
    }
    if request.method() == Method::GET && wants_a_page(request.headers()) {
        return assets::locked();
    }
    (StatusCode::UNAUTHORIZED, axum::Json(fault(FaultCode::NotAllowed))).into_response()
}

fn at_the_door(request: &Request) -> bool {
    request.method() == Method::GET && request.uri().path() == "/"
}

fn token(request: &Request) -> Option<&str> {
    request
        .uri()
        .query()?
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
}

fn to_the_page(cookie: Option<HeaderValue>) -> Response {
    let mut headers = HeaderMap::from_iter([(header::LOCATION, HeaderValue::from_static("/"))]);
    if let Some(cookie) = cookie {
        headers.insert(header::SET_COOKIE, cookie);
    }
    (StatusCode::SEE_OTHER, headers).into_response()
}

fn wants_a_page(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}

fn refused(code: FaultCode) -> Response {
    (status_of(code), axum::Json(fault(code))).into_response()
}

fn fault(code: FaultCode) -> Fault {
    Fault {
        code,
        params: Params::new(),
        trace: Vec::new(),
        fixes: vec![Fix::Retry],
    }
}
