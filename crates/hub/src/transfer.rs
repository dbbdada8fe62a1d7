//! Brings the bytes of one file, however often the line breaks.

use std::sync::Arc;

use futures_util::StreamExt;
use plimsoll_os::files::{self, Lock};
use plimsoll_units::Bytes;
use reqwest::header::{
    CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_RANGE, RANGE,
};
use reqwest::{Method, StatusCode};
use std::path::Path;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};
use url::Url;

use crate::http::{Answer, Answerer, Ask, Failure, bad_answer, refusal};
use crate::patience::{Fruitless, Next, Trouble};
use crate::sink::{Sink, Written};
use crate::{BadAnswer, Etag, FreshStart, Hub, HubError, Note, Pause, Token, Watcher};

/// What is to be brought, and how to know that it is right.
pub(crate) struct Source<'a> {
    pub(crate) url: Url,
    pub(crate) token: Option<&'a Token>,
    /// For messages.
    pub(crate) file: &'a str,
    pub(crate) repo: &'a str,
    pub(crate) bytes: Bytes,
    /// What the site itself calls this content.
    pub(crate) etag: Option<&'a Etag>,
    pub(crate) sha256: Option<&'a str>,
    pub(crate) not_found: &'a (dyn Fn(&HeaderMap) -> HubError + Sync),
}

/// What a transfer took, beyond the bytes it delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes of content that came over the network, the discarded ones included.
    pub received: Bytes,
    /// Bytes that earlier runs had left.
    pub kept: Bytes,
    pub connections: u32,
    pub fresh_starts: u32,
}

/// Progress over the whole plan.
pub(crate) struct Report {
    pub(crate) watcher: Arc<dyn Watcher>,
    pub(crate) total: Bytes,
    /// Bytes of the files before this one.
    pub(crate) before: Bytes,
    pub(crate) traffic: Traffic,
}

impl Report {
    pub(crate) fn new(watcher: Arc<dyn Watcher>, total: Bytes) -> Self {
        let report = Self {
            watcher,
            total,
            before: Bytes::ZERO,
            traffic: Traffic::default(),
        };
        report.at(Bytes::ZERO);
        report
    }

    pub(crate) fn at(&self, in_file: Bytes) {
        self.watcher.moved(self.before.plus(in_file), self.total);
    }

    pub(crate) fn started_over(&mut self, file: &str, why: FreshStart) {
        self.traffic.fresh_starts += 1;
        info!(file, ?why, "fetching a file from its beginning again");
        self.watcher.noted(Note::StartedOver {
            file: file.to_owned(),
            why,
        });
        self.at(Bytes::ZERO);
    }

    fn paused(&self, file: &str, pause: Pause) {
        self.watcher.noted(Note::Paused {
            file: file.to_owned(),
            pause,
        });
    }
}

/// A connection that brought this much was worth it; less counts as an attempt in vain, or a server that gives
/// a few bytes at a time would be asked for ever.
const FRUITFUL: Bytes = Bytes::kib(64);

/// How a transfer ended when nothing went wrong. Being stopped is no error.
#[derive(Debug)]
pub(crate) enum Brought {
    /// Whole and right, in the part file.
    Right(Lock),
    Stopped,
}

/// How one connection ended.
enum Ended {
    Whole,
    Stopped,
    /// The part was emptied; ask again from the first byte.
    FromStart,
    Trouble(Trouble),
}

/// What is remembered from one connection to the next.
#[derive(Default)]
struct Memory {
    fruitless: Fruitless,
    connections: u32,
    fresh_starts: u32,
    /// The `ETag` of whoever the site sends us to: a value of its own kind, good for `If-Range` there.
    elsewhere: Option<String>,
}

impl Hub {
    /// Fills the part file and checks it against the hash. A wrong whole is removed; if it was put together
    /// from several connections, one more attempt is made from the first byte.
    pub(crate) async fn bring(
        &self,
        source: &Source<'_>,
        part: &Path,
        lock: Lock,
        report: &mut Report,
        stop: &CancellationToken,
    ) -> Result<Brought, HubError> {
        let mut sink = Sink::open(&self.jobs(), part, source.bytes, lock).await?;
        let mut kept = sink.have();
        report.traffic.kept = report.traffic.kept.plus(kept);
        report.at(kept);
        let mut memory = Memory::default();
        loop {
            let ended = self.fill(source, &mut sink, &mut memory, report, stop).await;
            // Whatever happened, what came is on the disk before anybody hears of it.
            let whole = matches!(ended, Ok(Ended::Whole));
            if whole {
                report.watcher.noted(Note::Checking {
                    file: source.file.to_owned(),
                });
            }
            let written = sink.finish().await;
            match ended? {
                Ended::Whole => {}
                Ended::Stopped | Ended::FromStart | Ended::Trouble(_) => return Ok(Brought::Stopped),
            }
            let Written { sha256, lock } = written?;
            let Some(expected) = source.sha256.filter(|expected| *expected != sha256) else {
                return Ok(Brought::Right(lock));
            };
            files::remove_file(sink.part())?;
            let patched = kept > Bytes::ZERO || memory.connections > 1;
            if !patched {
                return Err(HubError::HashMismatch {
                    file: source.file.to_owned(),
                    expected: expected.to_owned(),
                    found: sha256,
                });
            }
            report.started_over(source.file, FreshStart::HashMismatch);
            kept = Bytes::ZERO;
            memory = Memory {
                fresh_starts: memory.fresh_starts + 1,
                ..Memory::default()
            };
            sink = Sink::open(&self.jobs(), part, source.bytes, lock).await?;
        }
    }

    /// Connection after connection, until the part is whole or there is no point in another one.
    async fn fill(
        &self,
        source: &Source<'_>,
        sink: &mut Sink,
        memory: &mut Memory,
        report: &mut Report,
        stop: &CancellationToken,
    ) -> Result<Ended, HubError> {
        let patience = &self.config().patience;
        while sink.have() < source.bytes {
            let before = sink.have();
            let starts_before = memory.fresh_starts;
            let ended = self.connect(source, sink, memory, report, stop).await?;
            if memory.fresh_starts > patience.fresh_starts_max {
                return Err(self.gave_up(
                    Trouble::Cut,
                    source.file,
                    &source.url,
                    (sink.have(), source.bytes),
                ));
            }
            let trouble = match ended {
                Ended::Whole => break,
                Ended::Stopped => return Ok(Ended::Stopped),
                Ended::FromStart => continue,
                Ended::Trouble(trouble) => trouble,
            };
            if memory.fresh_starts > starts_before || sink.have() >= before.plus(FRUITFUL) {
                memory.fruitless.forget();
            }
            let next = memory.fruitless.next(&trouble, patience, rand::random());
            debug!(
                file = source.file,
                have = sink.have().0,
                ?trouble,
                ?next,
                "a connection ended early"
            );
            let Next::After(pause) = next else {
                return Err(self.gave_up(trouble, source.file, &source.url, (sink.have(), source.bytes)));
            };
            let too_many = matches!(trouble, Trouble::TooMany(_));
            if !pause.is_zero() {
                report.paused(
                    source.file,
                    if too_many {
                        Pause::TooManyRequests(pause)
                    } else {
                        Pause::Retry(pause)
                    },
                );
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(Ended::Stopped),
                () = sleep(pause) => {}
            }
        }
        Ok(Ended::Whole)
    }

    async fn connect(
        &self,
        source: &Source<'_>,
        sink: &mut Sink,
        memory: &mut Memory,
        report: &mut Report,
        stop: &CancellationToken,
    ) -> Result<Ended, HubError> {
        let from = sink.have();
        let ask = ask(source, from, memory);
        memory.connections += 1;
        report.traffic.connections += 1;
        let sent = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(Ended::Stopped),
            sent = self.network().send(Method::GET, &source.url, &ask, source.file) => sent,
        };
        let answer = match sent {
            Ok(answer) => answer,
            Err(Failure::Final(error)) => return Err(error),
            Err(Failure::Passing(trouble)) => return Ok(Ended::Trouble(trouble)),
        };
        match place(source, &answer, from, memory)? {
            Place::Continues => {}
            Place::FromFirstByte(why) => {
                if from > Bytes::ZERO {
                    sink.start_over().await?;
                    memory.fresh_starts += 1;
                    report.started_over(source.file, why);
                }
            }
            Place::AskAgain(why) => {
                sink.start_over().await?;
                memory.fresh_starts += 1;
                memory.elsewhere = None;
                report.started_over(source.file, why);
                return Ok(Ended::FromStart);
            }
            Place::Refused => {
                return match refusal(&answer, source.file, source.not_found, source.repo) {
                    Failure::Passing(trouble) => Ok(Ended::Trouble(trouble)),
                    Failure::Final(error) => Err(error),
                };
            }
        }
        self.drink(source, answer, sink, report, stop).await
    }

    /// Takes the body of an answer.
    async fn drink(
        &self,
        source: &Source<'_>,
        answer: Answer,
        sink: &mut Sink,
        report: &mut Report,
        stop: &CancellationToken,
    ) -> Result<Ended, HubError> {
        let mut body = answer.response.bytes_stream();
        while sink.have() < source.bytes {
            let next = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(Ended::Stopped),
                next = timeout(self.config().patience.stall, body.next()) => next,
            };
            let chunk = match next {
                Err(_) => return Ok(Ended::Trouble(Trouble::Stalled)),
                Ok(None | Some(Err(_))) => return Ok(Ended::Trouble(Trouble::Cut)),
                Ok(Some(Ok(chunk))) => chunk,
            };
            let length = Bytes(chunk.len() as u64);
            report.traffic.received = report.traffic.received.plus(length);
            if sink.have().plus(length) > source.bytes {
                return Err(bad_answer(&source.url, source.file, BadAnswer::TooLong));
            }
            sink.put(chunk).await?;
            report.at(sink.have());
        }
        Ok(Ended::Whole)
    }
}

fn ask<'a>(source: &Source<'a>, from: Bytes, memory: &Memory) -> Ask<'a> {
    let mut ask = Ask {
        token: source.token,
        ..Ask::default()
    };
    if from == Bytes::ZERO {
        return ask;
    }
    let put = |headers: &mut HeaderMap, name: HeaderName, value: String| {
        // Numbers and checked names only; a value that is none would just not be sent.
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    };
    for headers in [&mut ask.site_headers, &mut ask.elsewhere_headers] {
        put(headers, RANGE, format!("bytes={}-", from.0));
    }
    if let Some(etag) = source.etag {
        put(&mut ask.site_headers, IF_RANGE, format!("\"{etag}\""));
    }
    if let Some(etag) = &memory.elsewhere {
        put(&mut ask.elsewhere_headers, IF_RANGE, etag.clone());
    }
    ask
}

/// Where the body of an answer belongs.
enum Place {
    /// Behind what we have.
    Continues,
    FromFirstByte(FreshStart),
    /// Nowhere: begin again.
    AskAgain(FreshStart),
    /// The status is a refusal.
    Refused,
}

/// Decides by status and headers. The rule: bytes of two versions never meet in one file.
fn place(source: &Source<'_>, answer: &Answer, from: Bytes, memory: &mut Memory) -> Result<Place, HubError> {
    let headers = answer.response.headers();
    let changed = |expected: String, found: String| HubError::Changed {
        file: source.file.to_owned(),
        expected,
        found,
    };
    let other_size = |found: u64| changed(format!("{} bytes", source.bytes.0), format!("{found} bytes"));

    // What the site says of the file it redirects to, or of the bytes it sends itself.
    let said = match (&answer.redirect, answer.from) {
        (Some(redirect), _) => redirect.get("x-linked-etag"),
        (None, Answerer::Site) => headers.get("x-linked-etag").or_else(|| headers.get(ETAG)),
        (None, Answerer::Elsewhere) => None,
    };
    let said = said.and_then(|value| value.to_str().ok()).and_then(Etag::parse);
    if let (Some(expected), Some(said)) = (source.etag, said)
        && *expected != said
    {
        return Err(changed(expected.to_string(), said.to_string()));
    }

    let elsewhere = (answer.from == Answerer::Elsewhere)
        .then(|| strong_etag(headers))
        .flatten();
    let other_content = matches!((&memory.elsewhere, &elsewhere), (Some(before), Some(now)) if before != now);

    match answer.response.status() {
        StatusCode::PARTIAL_CONTENT => {
            let Some((first, size)) = content_range(headers) else {
                return Err(bad_answer(
                    &source.url,
                    source.file,
                    BadAnswer::NoHeader("content-range"),
                ));
            };
            if let Some(size) = size.filter(|size| *size != source.bytes.0) {
                return Err(other_size(size));
            }
            if other_content || first != from.0 {
                return Ok(Place::AskAgain(FreshStart::Changed));
            }
            memory.elsewhere = elsewhere.or_else(|| memory.elsewhere.take());
            Ok(Place::Continues)
        }
        StatusCode::OK => {
            let length = headers
                .get(CONTENT_LENGTH)
                .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
            if let Some(length) = length.filter(|length| *length != source.bytes.0) {
                return Err(other_size(length));
            }
            memory.elsewhere = elsewhere;
            let why = if other_content {
                FreshStart::Changed
            } else {
                FreshStart::NoRanges
            };
            Ok(Place::FromFirstByte(why))
        }
        // The part is not longer than the file, so this is about something else than our range.
        StatusCode::RANGE_NOT_SATISFIABLE if from > Bytes::ZERO => Ok(Place::AskAgain(FreshStart::NoRanges)),
        _ => Ok(Place::Refused),
    }
}

/// `bytes FIRST-LAST/SIZE`; the size may be unknown.
fn content_range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let text = headers
        .get(CONTENT_RANGE)?
        .to_str()
        .ok()?
        .strip_prefix("bytes ")?;
    let (range, size) = text.split_once('/')?;
    let (first, _) = range.split_once('-')?;
    let size = if size == "*" {
        None
    } else {
        Some(size.parse().ok()?)
    };
    Some((first.parse().ok()?, size))
}

/// A weak `ETag` says nothing about bytes and may not stand in `If-Range`.
fn strong_etag(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(ETAG)?.to_str().ok()?;
    (text.starts_with('"') && text.len() <= 256).then(|| text.to_owned())
}
