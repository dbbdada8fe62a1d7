//! The bytes of a file as an HTTP answer: ranges, conditions, and every way it can go wrong.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE, RANGE, RETRY_AFTER,
};
use axum::http::{HeaderMap, Method, Response, StatusCode};
use bytes::Bytes;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

use super::fault::Fault;
use super::repo::{FakeFile, sha256_hex};
use super::serve::Shared;
use super::weather::Line;

/// Pieces of a body that is sent without a pace.
const PIECE: usize = 64 << 10;

/// Enough for the server to hand over what it has buffered.
const FLUSH: Duration = Duration::from_millis(25);

/// How a body ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Whole,
    CutAfter(u64),
    StallAfter(u64),
}

pub(super) fn bare(status: StatusCode) -> Response<Body> {
    Response::builder()
        .status(status)
        .body(Body::empty())
        .expect("a bare answer")
}

/// The answer to a fault that needs no file; `None` when the fault is about the file.
pub(super) async fn refusal(fault: Option<Fault>) -> Option<Response<Body>> {
    match fault? {
        Fault::NoAnswer => std::future::pending().await,
        Fault::TooMany(after) => {
            let mut answer = Response::builder().status(StatusCode::TOO_MANY_REQUESTS);
            if let Some(seconds) = after {
                answer = answer.header(RETRY_AFTER, seconds);
            }
            Some(answer.body(Body::empty()).expect("a refusal"))
        }
        Fault::Status(code) => Some(bare(StatusCode::from_u16(code).expect("a status code"))),
        Fault::CutAfter(_)
        | Fault::StallAfter(_)
        | Fault::IgnoreRange
        | Fault::IgnoreRangeAndCutAfter(_)
        | Fault::RangeRefused
        | Fault::WrongByteAt(_)
        | Fault::OtherFile
        | Fault::OtherEtag
        | Fault::NoMetadata
        | Fault::Claims(_)
        | Fault::None => None,
    }
}

/// `bytes=A-` and `bytes=A-B`, the only forms a download needs; `None` when it is neither.
fn parse_range(text: &str, len: u64) -> Option<(u64, u64)> {
    let (from, to) = text.strip_prefix("bytes=")?.split_once('-')?;
    let from = from.parse().ok()?;
    let end = if to.is_empty() {
        len
    } else {
        to.parse::<u64>().ok()?.checked_add(1)?.min(len)
    };
    (from <= end).then_some((from, end))
}

/// Sends a file, or what the fault makes of it.
pub(super) fn file(
    shared: &Arc<Shared>,
    stop: &CancellationToken,
    method: &Method,
    headers: &HeaderMap,
    file: &FakeFile,
    fault: Option<Fault>,
) -> Response<Body> {
    let mut bytes = file.bytes.clone();
    let mut etag = format!("\"{}\"", file.etag());
    let mut end = End::Whole;
    let mut whole = false;
    match fault {
        Some(Fault::WrongByteAt(at)) => bytes = with_wrong_byte(&bytes, at),
        Some(Fault::OtherFile) => {
            bytes = Bytes::from(bytes.iter().map(|byte| !byte).collect::<Vec<u8>>());
            etag = format!("\"{}\"", sha256_hex(&bytes));
        }
        Some(Fault::OtherEtag) => etag = format!("\"{}\"", sha256_hex(etag.as_bytes())),
        Some(Fault::CutAfter(n)) => end = End::CutAfter(n),
        Some(Fault::StallAfter(n)) => end = End::StallAfter(n),
        Some(Fault::IgnoreRange) => whole = true,
        Some(Fault::IgnoreRangeAndCutAfter(n)) => {
            whole = true;
            end = End::CutAfter(n);
        }
        Some(Fault::RangeRefused) => return range_refused(bytes.len()),
        Some(
            Fault::NoAnswer
            | Fault::TooMany(_)
            | Fault::Status(_)
            | Fault::NoMetadata
            | Fault::Claims(_)
            | Fault::None,
        )
        | None => {}
    }

    let len = bytes.len() as u64;
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let mut answer = Response::builder()
        .header(ACCEPT_RANGES, "bytes")
        .header(CONTENT_TYPE, "application/octet-stream")
        .header(ETAG, &etag);
    let (from, to) = match text(RANGE) {
        None => {
            if headers.contains_key(IF_RANGE) {
                shared.complain("If-Range without Range says nothing");
            }
            (0, len)
        }
        Some(_) if whole => (0, len),
        Some(_) if text(IF_RANGE).is_some_and(|known| known != etag) => (0, len),
        Some(range) => match parse_range(range, len) {
            None => {
                shared.complain(format!(
                    "`Range: {range}` is no single range of a file of {len} bytes"
                ));
                return range_refused(bytes.len());
            }
            Some((from, _)) if from >= len => {
                shared.complain(format!(
                    "`Range: {range}` lies behind the end of a file of {len} bytes"
                ));
                return range_refused(bytes.len());
            }
            Some((from, to)) => {
                answer = answer
                    .status(StatusCode::PARTIAL_CONTENT)
                    .header(CONTENT_RANGE, format!("bytes {from}-{}/{len}", to - 1));
                (from, to)
            }
        },
    };
    answer = answer.header(CONTENT_LENGTH, to - from);
    if *method == Method::HEAD {
        return answer.body(Body::empty()).expect("an answer");
    }
    let part = bytes.slice(index(from)..index(to));
    if let Some(Fault::StallAfter(n)) = shared.faults().take_in(from, to) {
        end = End::StallAfter(n);
    }
    answer
        .body(body(Arc::clone(shared), stop.clone(), part, end))
        .expect("an answer")
}

fn range_refused(len: usize) -> Response<Body> {
    Response::builder()
        .status(StatusCode::RANGE_NOT_SATISFIABLE)
        .header(CONTENT_RANGE, format!("bytes */{len}"))
        .body(Body::empty())
        .expect("a refusal")
}

fn with_wrong_byte(bytes: &Bytes, at: u64) -> Bytes {
    let mut wrong = bytes.to_vec();
    if let Some(byte) = wrong.get_mut(index(at)) {
        *byte = !*byte;
    }
    Bytes::from(wrong)
}

fn index(n: u64) -> usize {
    usize::try_from(n).expect("a test file fits into memory")
}

fn body(shared: Arc<Shared>, stop: CancellationToken, part: Bytes, end: End) -> Body {
    struct Sending {
        shared: Arc<Shared>,
        stop: CancellationToken,
        left: Bytes,
        sent: u64,
        end: End,
        line: Line,
    }
    let pace = shared.pace();
    let line = shared.sky.line();
    let piece = pace.map_or(line.piece(PIECE), |(piece, _)| piece);
    let pause = pace.map_or(Duration::ZERO, |(_, pause)| pause);
    let first = Sending {
        line,
        shared,
        stop,
        left: part,
        sent: 0,
        end,
    };
    Body::from_stream(stream::unfold(Some(first), move |now| async move {
        let mut now = now?;
        let cut = |why: &str| Some((Err(io::Error::other(why.to_owned())), None));
        if now.stop.is_cancelled() {
            return cut("the fake hub went down");
        }
        let room = match now.end {
            End::Whole => u64::MAX,
            End::CutAfter(n) if now.sent >= n => {
                // A body that fails at once takes what is still buffered with it; a line does not.
                tokio::time::sleep(FLUSH).await;
                return cut("cut as asked");
            }
            End::StallAfter(n) if now.sent >= n => {
                now.stop.cancelled().await;
                return cut("the fake hub went down");
            }
            End::CutAfter(n) | End::StallAfter(n) => n - now.sent,
        };
        if now.left.is_empty() {
            return None;
        }
        if !pause.is_zero() && now.sent > 0 {
            tokio::time::sleep(pause).await;
        }
        let size = piece
            .min(now.left.len())
            .min(usize::try_from(room).unwrap_or(usize::MAX));
        now.shared.sky.wait_for(&mut now.line, size as u64).await;
        let next = now.left.split_to(size);
        now.sent += size as u64;
        now.shared.sent.fetch_add(size as u64, Ordering::Relaxed);
        Some((Ok(next), Some(now)))
    }))
}
