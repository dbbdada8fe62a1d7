use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use plimsoll_wire::{Event, FaultCode};

use super::{Room, refused};

/// Shorter than the half minute after which some proxies give up on a silent connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// `GET /events`: what happens, as server-sent events. A reader that falls behind gets `missed` from the
/// app's own bounded queue; nothing piles up here.
pub(crate) async fn stream(State(room): State<Arc<Room>>) -> Response {
    let Ok(seat) = Arc::clone(&room.listeners).try_acquire_owned() else {
        return refused(FaultCode::Busy);
    };
    let heard = room
        .calls
        .hear()
        .map(|event| line(&event))
        .take_until(room.stop.clone().cancelled_owned());
    // The first line opens the stream in the browser before anything happens.
    let opened = stream::once(async { Line::default().comment("open") });
    let lines = opened.chain(heard).map(move |line| {
        let _seat = &seat;
        Ok::<_, Infallible>(line)
    });
    Sse::new(lines)
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response()
}

fn line(event: &Event) -> Line {
    // An event that cannot be written (a number that is no number) must not end the stream: the page reads
    // the status again, as it does after lost events.
    Line::default()
        .json_data(event)
        .or_else(|_| Line::default().json_data(Event::Missed))
        .unwrap_or_default()
}
