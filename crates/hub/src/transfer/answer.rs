//! What the status and the headers of an answer say about the bytes that follow. The rule: bytes of two versions
//! never meet in one file.

use reqwest::StatusCode;
use reqwest::header::{
    CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_RANGE, RANGE,
};

use super::Item;
use super::board::Open;
use crate::http::{Answer, Answerer, Ask, bad_answer};
use crate::{BadAnswer, Etag, FreshStart, HubError};

/// Where the body of an answer belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belongs {
    /// Where it was asked for.
    There,
    /// At the first byte: it is the whole file, though less was asked for.
    AtFirstByte(FreshStart),
    /// Nowhere. Begin the file anew, in one piece where `single`.
    Nowhere { why: FreshStart, single: bool },
    /// The status is a refusal.
    Refused,
}

/// The headers of a request for what a grant lacks. `elsewhere` is what the other site called the content before.
pub(super) fn ask<'a>(item: &'a Item, open: Open, elsewhere: Option<&str>) -> Ask<'a> {
    let mut ask = Ask {
        token: item.token.as_ref(),
        ..Ask::default()
    };
    if open.whole {
        return ask;
    }
    let put = |headers: &mut HeaderMap, name: HeaderName, value: &str| {
        // Numbers and checked names only; a value that is none would just not be sent.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    let range = format!("bytes={}-{}", open.from, open.end.saturating_sub(1));
    for headers in [&mut ask.site_headers, &mut ask.elsewhere_headers] {
        put(headers, RANGE, &range);
    }
    if let Some(etag) = &item.etag {
        put(&mut ask.site_headers, IF_RANGE, &format!("\"{etag}\""));
    }
    if let Some(etag) = elsewhere {
        put(&mut ask.elsewhere_headers, IF_RANGE, etag);
    }
    ask
}

/// Judges an answer; keeps in `elsewhere` what the other site calls the content.
pub(super) fn judge(
    item: &Item,
    answer: &Answer,
    open: Open,
    elsewhere: &mut Option<String>,
) -> Result<Belongs, HubError> {
    let headers = answer.response.headers();
    let changed = |expected: String, found: String| HubError::Changed {
        file: item.file.clone(),
        expected,
        found,
    };
    let other_size = |found: u64| changed(format!("{} bytes", item.bytes.0), format!("{found} bytes"));

    // What the site says of the file it redirects to, or of the bytes it sends itself.
    let said = match (&answer.redirect, answer.from) {
        (Some(redirect), _) => redirect.get("x-linked-etag"),
        (None, Answerer::Site) => headers.get("x-linked-etag").or_else(|| headers.get(ETAG)),
        (None, Answerer::Elsewhere) => None,
    };
    let said = said.and_then(|value| value.to_str().ok()).and_then(Etag::parse);
    if let (Some(expected), Some(said)) = (&item.etag, said)
        && *expected != said
    {
        return Err(changed(expected.to_string(), said.to_string()));
    }

    let now = (answer.from == Answerer::Elsewhere)
        .then(|| strong_etag(headers))
        .flatten();
    let other_content = matches!((&*elsewhere, &now), (Some(before), Some(now)) if before != now);

    match answer.response.status() {
        StatusCode::PARTIAL_CONTENT => {
            let Some((first, size)) = content_range(headers) else {
                return Err(bad_answer(
                    &item.url,
                    &item.file,
                    BadAnswer::NoHeader("content-range"),
                ));
            };
            if let Some(size) = size.filter(|size| *size != item.bytes.0) {
                return Err(other_size(size));
            }
            if other_content || first != open.from {
                return Ok(Belongs::Nowhere {
                    why: FreshStart::Changed,
                    single: false,
                });
            }
            if now.is_some() {
                *elsewhere = now;
            }
            Ok(Belongs::There)
        }
        StatusCode::OK => {
            let length = headers
                .get(CONTENT_LENGTH)
                .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
            if let Some(length) = length.filter(|length| *length != item.bytes.0) {
                return Err(other_size(length));
            }
            *elsewhere = now;
            if open.whole {
                return Ok(Belongs::There);
            }
            Ok(Belongs::AtFirstByte(if other_content {
                FreshStart::Changed
            } else {
                FreshStart::NoRanges
            }))
        }
        // The range lies within the file, so this is about something else than our range.
        StatusCode::RANGE_NOT_SATISFIABLE if !open.whole => Ok(Belongs::Nowhere {
            why: FreshStart::NoRanges,
            single: true,
        }),
        _ => Ok(Belongs::Refused),
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
