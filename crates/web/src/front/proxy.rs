use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{OriginalUri, State};
use axum::response::Response;
use futures_util::{Stream, StreamExt};
use http::{HeaderMap, StatusCode, header};
use plimsoll_app::Stay;
use tokio::sync::OwnedSemaphorePermit;

use super::failed::Failed;
use super::refused::{Protocol, Refused};
use super::request;
use super::responses::{self, Asked};
use super::{BODY_BYTES_MAX, Room};
use crate::body::{self, BodyRefusal};
use crate::headers;
use crate::source::{Seen, Target};

/// Where llama-server reads `id_slot`.
const TAKES_SLOT: [&str; 3] = ["/v1/chat/completions", "/v1/completions", responses::PATH];

/// Hands a request to the model it names and the answer back as it comes.
///
/// Everything that is under way belongs to this future and then to the answer's body: when the client goes
/// away, hyper drops them, the connection to the router closes and the slot is free.
pub(crate) async fn pass(
    State(room): State<Arc<Room>>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let protocol = Protocol::of(uri.path());
    let passed = tokio::select! {
        passed = try_pass(&room, uri.path(), &headers, body) => passed,
        () = room.stop.cancelled() => Err(Refused::RouterGone),
    };
    passed.unwrap_or_else(|refused| refused.answer(protocol))
}

async fn try_pass(
    room: &Arc<Room>,
    path: &str,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let seat = Arc::clone(&room.seats)
        .try_acquire_owned()
        .map_err(|_| Refused::TooMany)?;
    let body = body::read(body, BODY_BYTES_MAX)
        .await
        .map_err(|refusal| match refusal {
            BodyRefusal::TooLarge => Refused::BodyTooLarge,
            BodyRefusal::Broken => Refused::NotJson,
        })?;
    let name = request::model(&body)?;
    let after = request::stay(&body)?;
    let asked = (path == responses::PATH)
        .then(|| request::fields(&body).map(|fields| Asked::read(&fields)))
        .transpose()?;
    let form = asked.as_ref().and_then(Asked::form);
    let headers = headers::of_request(headers);
    let under_way = UnderWay {
        _seat: seat,
        _seen: room.routes.under_way(&name),
    };
    let ask = async || {
        let target = target(room, &name, after).await?;
        let mut change = vec![("model", request::quoted(&target.model)?)];
        if let Some(slot) = target.slot.filter(|_| TAKES_SLOT.contains(&path)) {
            change.push(("id_slot", slot.to_string()));
        }
        if let Some(form) = &form {
            change.push(("response_format", form.to_string()));
        }
        let body = request::with(body.clone(), &change)?;
        Ok::<_, Refused>(send(room, &target, path, &headers, body).await)
    };
    let answer = match ask().await? {
        Ok(answer) if answer.status().is_server_error() => {
            let failed = Failed::read(answer).await;
            // One that fails at everything is loaded again; one that answers a probe cannot do just this.
            if failed.is_of_the_request() || !room.routes.doubt(name.clone()).await {
                return Ok(failed.answer(Protocol::of(path)));
            }
            ask().await?.map_err(|_| Refused::RouterGone)?
        }
        Ok(answer) => answer,
        // Nothing was sent: the model or the router ended after it was found. It comes back at another port.
        Err(error) if error.is_connect() => {
            room.routes.doubt(name.clone()).await;
            ask().await?.map_err(|_| Refused::RouterGone)?
        }
        Err(_) => return Err(Refused::RouterGone),
    };
    match asked {
        Some(asked) => mended(room, answer, under_way, asked).await,
        None => Ok(streamed(room, answer, under_way)),
    }
}

/// Held until the last piece of an answer is gone, or its client.
struct UnderWay {
    _seat: OwnedSemaphorePermit,
    _seen: Seen,
}

async fn target(room: &Room, name: &str, after: Stay) -> Result<Target, Refused> {
    room.routes
        .target(name.to_owned(), after)
        .await
        .map_err(|fault| Refused::from_fault(&fault, name))
}

async fn send(
    room: &Room,
    target: &Target,
    path: &str,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<reqwest::Response, reqwest::Error> {
    // The query stays here: `autoload` and `model` in it would speak to the router past our checks.
    room.client
        .post(format!("{}{path}", target.url))
        .headers(headers.clone())
        .bearer_auth(&target.key)
        .body(body)
        .send()
        .await
}

fn streamed(room: &Room, answer: reqwest::Response, under_way: UnderWay) -> Response {
    let (status, headers) = (answer.status(), headers::of_answer(answer.headers()));
    passed_on(room, status, headers, answer.bytes_stream(), under_way)
}

/// An answer of `/v1/responses`, by events or in one piece.
async fn mended(
    room: &Room,
    answer: reqwest::Response,
    under_way: UnderWay,
    asked: Asked,
) -> Result<Response, Refused> {
    let (status, mut headers) = (answer.status(), headers::of_answer(answer.headers()));
    if !status.is_success() {
        return Ok(streamed(room, answer, under_way));
    }
    headers.remove(header::CONTENT_LENGTH);
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        let pieces = responses::streamed(answer.bytes_stream(), asked);
        return Ok(passed_on(room, status, headers, pieces, under_way));
    }
    let body = answer.bytes().await.map_err(|_| Refused::RouterGone)?;
    let body = asked.whole(&body).map_or(body, Bytes::from);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

fn passed_on(
    room: &Room,
    status: StatusCode,
    headers: HeaderMap,
    pieces: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
    under_way: UnderWay,
) -> Response {
    let pieces = pieces
        .take_until(room.stop.clone().cancelled_owned())
        .map(move |piece| {
            let _under_way = &under_way;
            piece
        });
    let mut response = Response::new(Body::from_stream(pieces));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
