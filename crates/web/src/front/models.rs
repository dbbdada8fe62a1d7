use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Room;
use super::refused::{Protocol, Refused};
use crate::source::Model;

/// `GET /v1/models`: the library's ids and nothing else of it. One shape that both families of clients read.
pub(crate) async fn list(State(room): State<Arc<Room>>) -> Response {
    let models = match room.routes.models().await {
        Ok(models) => models,
        Err(fault) => return Refused::from_fault(&fault, "").answer(Protocol::OpenAi),
    };
    let ends = (models.first(), models.last());
    Json(json!({
        "object": "list",
        "data": models.iter().map(shape).collect::<Vec<Value>>(),
        "has_more": false,
        "first_id": ends.0.map(|model| &model.id),
        "last_id": ends.1.map(|model| &model.id),
    }))
    .into_response()
}

/// `GET /v1/models/ID`, where an id may hold slashes.
pub(crate) async fn one(State(room): State<Arc<Room>>, Path(id): Path<String>) -> Response {
    match room.routes.models().await {
        Ok(models) => match models.iter().find(|model| model.id == id) {
            Some(model) => Json(shape(model)).into_response(),
            None => Refused::UnknownModel(id).answer(Protocol::OpenAi),
        },
        Err(fault) => Refused::from_fault(&fault, &id).answer(Protocol::OpenAi),
    }
}

/// The protocols want a date of birth; the start of the epoch is their word for an unknown one.
fn shape(model: &Model) -> Value {
    json!({
        "id": model.id,
        "object": "model",
        "created": 0,
        "owned_by": "plimsoll",
        "type": "model",
        "display_name": model.name,
        "created_at": "1970-01-01T00:00:00Z",
    })
}
