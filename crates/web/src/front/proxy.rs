use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{OriginalUri, State};
use axum::response::Response;
use futures_util::StreamExt;
use http::HeaderMap;
use tokio::sync::OwnedSemaphorePermit;

use super::refused::{Protocol, Refused};
use super::request;
use super::{BODY_BYTES_MAX, Room};
use crate::body::{self, BodyRefusal};
use crate::headers;
use crate::source::Target;

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
    let headers = headers::of_request(headers);
    let target = target(room, &name).await?;
    let first = send(
        room,
        &target,
        path,
        &headers,
        request::for_model(body.clone(), &target.model)?,
    )
    .await;
    let answer = match first {
        Ok(answer) => answer,
        // Nothing was sent: the router ended after it was found. It comes back at another port.
        Err(error) if error.is_connect() => {
            let target = self::target(room, &name).await?;
            let body = request::for_model(body, &target.model)?;
            send(room, &target, path, &headers, body)
                .await
                .map_err(|_| Refused::RouterGone)?
        }
        Err(_) => return Err(Refused::RouterGone),
    };
    Ok(streamed(room, answer, seat))
}

async fn target(room: &Room, name: &str) -> Result<Target, Refused> {
    room.routes
        .target(name.to_owned())
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

fn streamed(room: &Room, answer: reqwest::Response, seat: OwnedSemaphorePermit) -> Response {
    let status = answer.status();
    let headers = headers::of_answer(answer.headers());
    let pieces = answer
        .bytes_stream()
        .take_until(room.stop.clone().cancelled_owned())
        .map(move |piece| {
            let _seat = &seat;
            piece
        });
    let mut response = Response::new(Body::from_stream(pieces));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
