use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use plimsoll_wire::{Fault, FaultCode};
use serde_json::Value;

use super::{BODY_BYTES_MAX, Room, fault};
use crate::body::{self, BodyRefusal};
use crate::error::status_of;

/// `POST /call/NAME` with a JSON body: the reply, or a fault with the status that fits it.
pub(crate) async fn answer(
    State(room): State<Arc<Room>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    // A form of a foreign page can post text, but not JSON.
    if !is_json(&headers) {
        return told(StatusCode::UNSUPPORTED_MEDIA_TYPE, fault(FaultCode::BadRequest));
    }
    let body = match body::read(body, BODY_BYTES_MAX).await {
        Ok(body) => body,
        Err(BodyRefusal::TooLarge) => {
            return told(StatusCode::PAYLOAD_TOO_LARGE, fault(FaultCode::BadRequest));
        }
        Err(BodyRefusal::Broken) => return told(StatusCode::BAD_REQUEST, fault(FaultCode::BadRequest)),
    };
    let body: Value = match serde_json::from_slice(if body.is_empty() { b"{}" } else { &body }) {
        Ok(body) => body,
        Err(why) => {
            let trace = vec![why.to_string()];
            return told(
                StatusCode::BAD_REQUEST,
                Fault {
                    trace,
                    ..fault(FaultCode::BadRequest)
                },
            );
        }
    };
    match room.calls.call(name, body).await {
        Ok(reply) => Json(reply).into_response(),
        Err(fault) => told(status_of(fault.code), fault),
    }
}

fn told(status: StatusCode, fault: Fault) -> Response {
    (status, Json(fault)).into_response()
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}
