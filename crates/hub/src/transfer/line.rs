//! One connection: takes a range, brings it, takes the next, until there is none left.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use futures_util::StreamExt;
use plimsoll_units::Bytes;
use reqwest::{Method, Response};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;
use url::Url;

use super::answer::{Belongs, ask, judge};
use super::board::Grant;
use super::disk::Piece;
use super::{Item, Shared};
use crate::http::{Answer, Answerer, Failure, bad_answer, refusal};
use crate::patience::{Fruitless, Next, Trouble};
use crate::{BadAnswer, HubError, Pause};

/// A connection that brought this much was worth it; less counts as an attempt in vain, or a server that gives
/// a few bytes at a time would be asked for ever.
const FRUITFUL: u64 = 64 << 10;
/// The end of a body, after its last byte: more than enough, and only the reuse of the connection hangs on it.
const BODY_END: std::time::Duration = std::time::Duration::from_millis(200);

/// Why a connection ended the transfer, and at which file.
#[derive(Debug)]
pub(super) struct Stumble {
    pub(super) file: usize,
    pub(super) error: HubError,
}

/// Where the bytes of a file are to be had, once that is known.
#[derive(Debug, Default)]
pub(super) enum Whereabouts {
    #[default]
    Unknown,
    /// At the site itself.
    Site,
    /// Where it sends us to. The address is signed and ends some day.
    Elsewhere(Url),
}

#[derive(Debug, Default)]
pub(super) struct Place {
    at: Whereabouts,
    /// What they call the content there: good for `If-Range` with them.
    etag: Option<String>,
}

/// How one answer ended.
enum Ended {
    Whole,
    /// The range was taken away, or the file begun anew.
    Gone,
    Trouble(Trouble),
}

/// Works until there is nothing to take, too many work, or the transfer stops.
pub(super) async fn work(
    shared: Arc<Shared>,
    first: Grant,
    pieces: mpsc::Sender<Piece>,
    stop: CancellationToken,
) -> Result<(), Stumble> {
    let mut next = Some(first);
    while let Some(grant) = next {
        let brought = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            brought = bring(&shared, &pieces, grant) => brought,
        };
        brought.map_err(|error| Stumble {
            file: grant.file,
            error,
        })?;
        next = if shared.is_crowded() {
            None
        } else {
            shared.board().take(Instant::now(), shared.sizes())
        };
    }
    Ok(())
}

/// Attempt after attempt, until the range is whole, gone, or there is no point in another one.
async fn bring(shared: &Shared, pieces: &mpsc::Sender<Piece>, first: Grant) -> Result<(), HubError> {
    let mut held = Held { shared, grant: first };
    let Some(item) = shared.items.get(first.file) else {
        return Ok(());
    };
    let mut fruitless = Fruitless::default();
    let mut others_since = shared.received.load(Ordering::Relaxed);
    loop {
        shared.wait_while_held().await;
        let before = shared.received.load(Ordering::Relaxed);
        let from = shared.board().look(held.grant).map_or(0, |open| open.from);
        let ended = connect(shared, item, pieces, &mut held.grant).await?;
        let trouble = match ended {
            Ended::Whole | Ended::Gone => return Ok(()),
            Ended::Trouble(trouble) => trouble,
        };
        let Some(open) = shared.board().look(held.grant) else {
            return Ok(());
        };
        if held.grant.era != first.era || open.from >= from.saturating_add(FRUITFUL) {
            fruitless.forget();
            others_since = before;
        }
        let patience = &shared.hub.config().patience;
        let mut next = fruitless.next(&trouble, patience, before > 0, rand::random());
        debug!(
            file = item.file,
            from = open.from,
            ?trouble,
            ?next,
            "a connection ended early"
        );
        if next == Next::GiveUp && !matches!(trouble, Trouble::TooMany(Some(_))) {
            // As long as others get on, the line is not dead: only this range has to wait.
            let all = shared.received.load(Ordering::Relaxed);
            if all >= others_since.saturating_add(FRUITFUL) {
                others_since = all;
                next = Next::After(patience.longest_pause);
            }
        }
        let Next::After(pause) = next else {
            let (here, _) = shared.board().done(held.grant.file);
            return Err(shared
                .hub
                .gave_up(trouble, &item.file, &item.url, (Bytes(here), item.bytes)));
        };
        if matches!(trouble, Trouble::TooMany(_) | Trouble::Server(503)) {
            shared.objected.store(true, Ordering::Relaxed);
        }
        if let Trouble::TooMany(_) = trouble {
            shared.hold_for(pause);
            shared.report.paused(&item.file, Pause::TooManyRequests(pause));
        } else if !pause.is_zero() {
            shared.report.paused(&item.file, Pause::Retry(pause));
            sleep(pause).await;
        }
    }
}

/// Gives the range back however the work on it ends, a dropped future included.
struct Held<'a> {
    shared: &'a Shared,
    grant: Grant,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.shared.board().give_back(self.grant);
        self.shared.wake.notify_one();
    }
}

/// One request and its body. The grant changes when the file is begun anew with this very answer.
async fn connect(
    shared: &Shared,
    item: &Item,
    pieces: &mpsc::Sender<Piece>,
    grant: &mut Grant,
) -> Result<Ended, HubError> {
    let Some(open) = shared.board().look(*grant) else {
        return Ok(Ended::Gone);
    };
    let Some(place) = shared.places.get(grant.file) else {
        return Ok(Ended::Gone);
    };
    // As long as nobody knows where the bytes are, one connection asks and the others wait for what it hears.
    let known = place.lock().await;
    let unknown = matches!(known.at, Whereabouts::Unknown);
    let via = match &known.at {
        Whereabouts::Elsewhere(url) => Some(url.clone()),
        Whereabouts::Unknown | Whereabouts::Site => None,
    };
    let etag = known.etag.clone();
    let mut asking = if unknown {
        Some(known)
    } else {
        drop(known);
        None
    };
    let mut ask = ask(item, open, etag.as_deref());
    ask.via = via.clone();
    shared.board().requested(grant.file);
    shared.connections.fetch_add(1, Ordering::Relaxed);
    let sent = shared
        .hub
        .network()
        .send(Method::GET, &item.url, &ask, &item.file)
        .await;
    let answer = match sent {
        Ok(answer) => answer,
        Err(Failure::Final(error)) => return Err(error),
        Err(Failure::Passing(trouble)) => {
            drop(asking);
            forget(shared, *grant, via.as_ref()).await;
            return Ok(Ended::Trouble(trouble));
        }
    };
    let mut etag = etag;
    let belongs = judge(item, &answer, open, &mut etag)?;
    if let Some(known) = &mut asking
        && answer.response.status().is_success()
    {
        known.at = match answer.from {
            Answerer::Site => Whereabouts::Site,
            Answerer::Elsewhere => Whereabouts::Elsewhere(answer.response.url().clone()),
        };
        known.etag.clone_from(&etag);
    }
    drop(asking);
    match belongs {
        Belongs::There => {}
        Belongs::AtFirstByte(why) => {
            let Some(whole) = shared.start_over(*grant, why, true).await? else {
                return Ok(Ended::Gone);
            };
            if let Some(place) = shared.places.get(grant.file) {
                place.lock().await.etag = etag;
            }
            *grant = whole;
        }
        Belongs::Nowhere { why, single } => {
            if let Some(place) = shared.places.get(grant.file) {
                *place.lock().await = Place::default();
            }
            let Some(whole) = shared.start_over(*grant, why, single).await? else {
                return Ok(Ended::Gone);
            };
            // Asked for again by whoever takes it next.
            shared.board().give_back(whole);
            return Ok(Ended::Gone);
        }
        Belongs::Refused => {
            let refused = refusal(
                &answer,
                &item.file,
                &|headers| item.not_found(headers),
                &item.repo,
            );
            return match refused {
                Failure::Passing(trouble) => {
                    forget(shared, *grant, via.as_ref()).await;
                    Ok(Ended::Trouble(trouble))
                }
                Failure::Final(error) => Err(error),
            };
        }
    }
    drink(shared, item, pieces, answer, *grant).await
}

/// A place that no longer answers has to be asked for anew, unless somebody has done so already.
async fn forget(shared: &Shared, grant: Grant, via: Option<&Url>) {
    let Some(place) = shared.places.get(grant.file) else {
        return;
    };
    let mut known = place.lock().await;
    if matches!((&known.at, via), (Whereabouts::Elsewhere(url), Some(via)) if url == via) {
        known.at = Whereabouts::Unknown;
    }
}

/// Takes the body of an answer.
async fn drink(
    shared: &Shared,
    item: &Item,
    pieces: &mpsc::Sender<Piece>,
    answer: Answer,
    grant: Grant,
) -> Result<Ended, HubError> {
    let stall = shared.hub.config().patience.stall;
    let announced = Response::content_length(&answer.response);
    let mut body = answer.response.bytes_stream();
    let mut came = 0_u64;
    loop {
        match shared.board().look(grant) {
            None => return Ok(Ended::Gone),
            Some(open) if open.from >= open.end => break,
            Some(_) => {}
        }
        let mut chunk = match timeout(stall, body.next()).await {
            Err(_) => return Ok(Ended::Trouble(Trouble::Stalled)),
            Ok(None | Some(Err(_))) => return Ok(Ended::Trouble(Trouble::Cut)),
            Ok(Some(Ok(chunk))) => chunk,
        };
        let length = chunk.len() as u64;
        came += length;
        shared.received.fetch_add(length, Ordering::Relaxed);
        // Room first: between taking bytes in and handing them on nothing may wait, or they could be lost there.
        let (Ok(room), Ok(place)) = (shared.room_for(chunk.len()).await, pieces.reserve().await) else {
            return Ok(Ended::Gone);
        };
        let Some(range) = shared.board().advance(grant, length, Instant::now()) else {
            return Ok(Ended::Gone);
        };
        let wanted = range.end - range.start;
        if wanted < length && range.end == item.bytes.0 {
            return Err(bad_answer(&item.url, &item.file, BadAnswer::TooLong));
        }
        chunk.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
        place.send(Piece {
            file: grant.file,
            era: grant.era,
            at: range.start,
            chunk,
            _room: room,
        });
    }
    if announced == Some(came) {
        // A body that was read to its end leaves a connection that can be used again.
        let _ = timeout(BODY_END, body.next()).await;
    }
    Ok(Ended::Whole)
}
