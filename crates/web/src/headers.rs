//! What every answer carries, and what never passes through us.

use axum::response::Response;
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue};

/// Scripts, fonts and connections from us only; no frames, no forms, no plug-ins. Style attributes stay
/// allowed: code highlighting colours its words with them, and the sanitiser drops them from what models
/// write.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const ALWAYS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    ),
    (HeaderName::from_static("x-dns-prefetch-control"), "off"),
];

/// Puts the protective headers on an answer; without a word on caching it is not to be kept.
pub(crate) async fn protect(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// What a request of another app hands on to the router. A list of what may pass, not of what may not: keys,
/// cookies, addresses and hop-by-hop headers stay here, also those invented tomorrow.
const REQUEST_MAY_KEEP: [HeaderName; 4] = [
    header::CONTENT_TYPE,
    header::ACCEPT,
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("anthropic-beta"),
];

/// What the router's answer hands back. Its `Access-Control-Allow-Origin: *` and `Server` do not.
const ANSWER_MAY_KEEP: [HeaderName; 4] = [
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::RETRY_AFTER,
    HeaderName::from_static("request-id"),
];

pub(crate) fn of_request(from: &HeaderMap) -> HeaderMap {
    kept(from, &REQUEST_MAY_KEEP)
}

pub(crate) fn of_answer(from: &HeaderMap) -> HeaderMap {
    kept(from, &ANSWER_MAY_KEEP)
}

fn kept(from: &HeaderMap, names: &[HeaderName]) -> HeaderMap {
    // `Connection: content-type` makes that header hop-by-hop, as the standard has it.
    let named_by_connection = |name: &HeaderName| {
        from.get_all(header::CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|word| word.trim().eq_ignore_ascii_case(name.as_str()))
    };
    let mut out = HeaderMap::new();
    for name in names.iter().filter(|name| !named_by_connection(name)) {
        for value in from.get_all(name) {
            out.append(name.clone(), value.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_hops_stay_behind() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", "application/json"),
            ("accept", "text/event-stream"),
            ("anthropic-version", "2023-06-01"),
            ("authorization", "Bearer secret"),
            ("x-api-key", "secret"),
            ("cookie", "secret"),
            ("origin", "http://localhost:18760"),
            ("host", "localhost:18760"),
            ("connection", "keep-alive, Anthropic-Version"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("proxy-authorization", "secret"),
            ("x-forwarded-for", "10.0.0.1"),
            ("accept-encoding", "gzip"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let kept = of_request(&headers);
        let names: Vec<&str> = kept.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["content-type", "accept"]);
    }

    #[test]
    fn the_routers_open_door_does_not_become_ours() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", "text/event-stream"),
            ("access-control-allow-origin", "*"),
            ("server", "llama.cpp"),
            ("set-cookie", "a=b"),
            ("content-length", "5"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let kept = of_answer(&headers);
        let names: Vec<&str> = kept.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["content-type", "content-length"]);
    }
}
