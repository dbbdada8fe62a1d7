//! The two servers: what each address answers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, ETAG, IF_RANGE, LOCATION, RANGE, USER_AGENT,
};
use axum::http::{HeaderMap, Method, Response, StatusCode};
use axum::serve::Listener;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::answer::{bare, file, refusal};
use super::fault::{At, Fault, Script};
use super::repo::{Commit, FakeFile, Repos, Storage};
use super::weather::Sky;
use super::{Seen, api};

/// What both servers know. Mutexes and not an owner task: every lock is held for a few lines of plain code.
#[derive(Debug, Default)]
pub(super) struct Shared {
    repos: Mutex<Repos>,
    faults: Mutex<Script>,
    pub(super) seen: Mutex<Vec<Seen>>,
    pub(super) complaints: Mutex<Vec<String>>,
    pub(super) pace: Mutex<Option<(usize, Duration)>>,
    /// What the JSON interface answers, whatever is asked.
    pub(super) said: Mutex<Option<bytes::Bytes>>,
    pub(super) sent: AtomicU64,
    pub(super) sky: Sky,
    links: AtomicU64,
    links_expired: AtomicU64,
}

impl Shared {
    pub(super) fn repos(&self) -> MutexGuard<'_, Repos> {
        self.repos.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, Script> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn pace(&self) -> Option<(usize, Duration)> {
        *self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn complain(&self, what: impl Into<String>) {
        self.complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what.into());
    }

    pub(super) fn expire_links(&self) {
        self.links_expired
            .store(self.links.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn see(&self, at: At, method: &Method, path: &str, headers: &HeaderMap) {
        let text = |name| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        if !headers.contains_key(USER_AGENT) {
            self.complain(format!("{method} {path} does not say who asks (User-Agent)"));
        }
        if at != At::Api && text(ACCEPT_ENCODING).is_some_and(|coding| coding != "identity") {
            self.complain(format!(
                "{method} {path} accepts compressed bytes, whose ranges mean nothing"
            ));
        }
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Seen {
                at,
                method: method.to_string(),
                path: path.to_owned(),
                range: text(RANGE),
                if_range: text(IF_RANGE),
                token: headers.contains_key(AUTHORIZATION),
            });
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "both servers end with the token of the fake"
    )]
    pub(super) fn serve<L: Listener>(self: &Arc<Self>, hub: L, cdn: L, cdn_at: &str, stop: &CancellationToken)
    where
        L::Addr: std::fmt::Debug,
    {
        let cdn_at: Arc<str> = Arc::from(cdn_at);
        let (shared, until) = (Arc::clone(self), stop.clone());
        let hub_routes = Router::new().fallback(move |request: Request| {
            let (shared, until, cdn_at) = (Arc::clone(&shared), until.clone(), Arc::clone(&cdn_at));
            async move { on_hub(shared, until, &cdn_at, request).await }
        });
        let (shared, until) = (Arc::clone(self), stop.clone());
        let cdn_routes = Router::new().fallback(move |request: Request| {
            let (shared, until) = (Arc::clone(&shared), until.clone());
            async move { on_cdn(shared, until, request).await }
        });
        for (listener, routes) in [(hub, hub_routes), (cdn, cdn_routes)] {
            let stop = stop.clone();
            tokio::spawn(async move {
                // Dropping the future closes the port at once; running bodies see the same token.
                tokio::select! {
                    () = stop.cancelled() => {}
                    _ = async { axum::serve(listener, routes).await } => {}
                }
            });
        }
    }
}

/// A path's segments, each percent-decoded; `None` for what is no valid encoding.
fn segments(path: &str) -> Option<Vec<String>> {
    path.trim_start_matches('/').split('/').map(decode).collect()
}

pub(super) fn decode(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let pair = [bytes.next()?, bytes.next()?];
            out.push(u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

fn refuse(status: StatusCode, code: &str) -> Response<Body> {
    Response::builder()
        .status(status)
        .header("x-error-code", code)
        .body(Body::empty())
        .expect("a refusal")
}

pub(super) fn json_answer(value: &Value) -> Response<Body> {
    Response::builder()
        .header("content-type", "application/json")
        .body(Body::from(value.to_string()))
        .expect("an answer")
}

async fn on_hub(shared: Arc<Shared>, stop: CancellationToken, cdn: &str, request: Request) -> Response<Body> {
    let (parts, _) = request.into_parts();
    shared.sky.delay().await;
    let path = parts.uri.path();
    let Some(words) = segments(path) else {
        shared.complain(format!("{path} is not a valid address"));
        return bare(StatusCode::BAD_REQUEST);
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.first() == Some(&"api")
        && let Some(said) = shared.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    {
        return Response::builder()
            .header("content-type", "application/json")
            .body(Body::from(said))
            .expect("an answer");
    }
    match words.as_slice() {
        ["api", "models"] => {
            shared.see(At::Api, &parts.method, path, &parts.headers);
            let fault = shared.faults().take(At::Api);
            if let Some(refused) = refusal(fault).await {
                return refused;
            }
            api::search(&shared, parts.uri.query().unwrap_or_default())
        }
        ["api", "models", org, name, rest @ ..] => {
            shared.see(At::Api, &parts.method, path, &parts.headers);
            let fault = shared.faults().take(At::Api);
            if let Some(refused) = refusal(fault).await {
                return refused;
            }
            api::about(&shared, &format!("{org}/{name}"), rest, &parts.headers)
        }
        ["releases", rest @ ..] => {
            shared.see(At::Resolve, &parts.method, path, &parts.headers);
            if parts.headers.contains_key(AUTHORIZATION) {
                shared.complain("a token of the hub was sent to another site");
            }
            let fault = shared.faults().take(At::Resolve);
            if let Some(refused) = refusal(fault).await {
                return refused;
            }
            let Some(found) = shared.repos().released(&rest.join("/")).cloned() else {
                return bare(StatusCode::NOT_FOUND);
            };
            redirect(&shared, cdn, &found)
                .body(Body::empty())
                .expect("a redirect")
        }
        [org, name, "resolve", revision, file_path @ ..] if !file_path.is_empty() => {
            let at = if parts.method == Method::HEAD {
                At::Head
            } else {
                At::Resolve
            };
            shared.see(at, &parts.method, path, &parts.headers);
            let fault = shared.faults().take(at);
            if let Some(refused) = refusal(fault).await {
                return refused;
            }
            let found = find(
                &shared,
                &format!("{org}/{name}"),
                revision,
                &parts.headers,
                Asked::File,
            );
            let commit = match found {
                Ok(commit) => commit,
                Err(refused) => return *refused,
            };
            let Some(found) = commit.files.get(&file_path.join("/")) else {
                return refuse(StatusCode::NOT_FOUND, "EntryNotFound");
            };
            resolve(
                &shared,
                &stop,
                cdn,
                &parts.method,
                &parts.headers,
                &commit.id,
                found,
                fault,
            )
            .await
        }
        _ => bare(StatusCode::NOT_FOUND),
    }
}

/// What is asked for: terms that have to be accepted keep strangers from files, not from their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    About,
    File,
}

/// The commit that is asked for, or what the hub says instead.
pub(super) fn find(
    shared: &Shared,
    repo: &str,
    revision: &str,
    headers: &HeaderMap,
    asked: Asked,
) -> Result<Commit, Box<Response<Body>>> {
    let repos = shared.repos();
    let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some(found) = repos.get(repo) else {
        // The hub does not tell strangers whether a private repository exists.
        let status = if token.is_some() {
            StatusCode::NOT_FOUND
        } else {
            StatusCode::UNAUTHORIZED
        };
        return Err(Box::new(refuse(status, "RepoNotFound")));
    };
    let terms = found.terms.as_ref().filter(|_| asked == Asked::File);
    if let Some(wanted) = found.gate.as_ref().or(terms) {
        match token {
            None => return Err(Box::new(refuse(StatusCode::UNAUTHORIZED, "GatedRepo"))),
            Some(given) if given != format!("Bearer {wanted}") => {
                return Err(Box::new(refuse(StatusCode::FORBIDDEN, "GatedRepo")));
            }
            Some(_) => {}
        }
    }
    found
        .at(revision)
        .cloned()
        .ok_or_else(|| Box::new(refuse(StatusCode::NOT_FOUND, "RevisionNotFound")))
}

fn redirect(shared: &Shared, cdn: &str, found: &FakeFile) -> axum::http::response::Builder {
    let link = shared.links.fetch_add(1, Ordering::Relaxed) + 1;
    Response::builder()
        .status(StatusCode::FOUND)
        .header(LOCATION, format!("{cdn}/blob/{}?link={link}", found.sha256))
}

#[expect(
    clippy::too_many_arguments,
    reason = "everything one answer of the hub depends on"
)]
async fn resolve(
    shared: &Arc<Shared>,
    stop: &CancellationToken,
    cdn: &str,
    method: &Method,
    headers: &HeaderMap,
    commit: &str,
    found: &FakeFile,
    fault: Option<Fault>,
) -> Response<Body> {
    let mut answer = match found.storage {
        Storage::Lfs | Storage::Xet => redirect(shared, cdn, found)
            .body(Body::empty())
            .expect("a redirect"),
        Storage::Plain => {
            // A small file is answered here, so that faults of data hit it as well.
            let mut data_fault = fault;
            if *method != Method::HEAD {
                shared.see(At::Data, method, "", headers);
                data_fault = shared.faults().take(At::Data).or(fault);
                if let Some(refused) = refusal(data_fault).await {
                    return refused;
                }
            }
            file(shared, stop, method, headers, found, data_fault)
        }
    };
    if fault == Some(Fault::NoMetadata) {
        answer.headers_mut().remove(ETAG);
        return answer;
    }
    let wrong = fault == Some(Fault::OtherEtag);
    let etag = if wrong {
        "0".repeat(64)
    } else {
        found.etag().to_owned()
    };
    let out = answer.headers_mut();
    out.insert("x-repo-commit", commit.parse().expect("a header value"));
    out.insert(ETAG, format!("\"{etag}\"").parse().expect("a header value"));
    if found.storage != Storage::Plain {
        out.insert(
            "x-linked-etag",
            format!("\"{etag}\"").parse().expect("a header value"),
        );
        let size = match fault {
            Some(Fault::Claims(bytes)) => bytes,
            Some(_) | None => found.len(),
        };
        out.insert("x-linked-size", size.into());
        // The length of the redirect's own text, not of the file: the trap for clients that look here.
        out.insert(CONTENT_LENGTH, 0.into());
    }
    if found.storage == Storage::Xet {
        // Where its chunks are to be had; who does not speak that protocol follows the redirect.
        out.insert("x-xet-hash", found.sha256.parse().expect("a header value"));
        let links = concat!(
            "</api/xet/read-token>; rel=\"xet-auth\", ",
            "</xet/reconstruction>; rel=\"xet-reconstruction-info\""
        );
        out.insert("link", links.parse().expect("a header value"));
    }
    answer
}

async fn on_cdn(shared: Arc<Shared>, stop: CancellationToken, request: Request) -> Response<Body> {
    let (parts, _) = request.into_parts();
    shared.sky.delay().await;
    let path = parts.uri.path();
    let at = if parts.method == Method::HEAD {
        At::Head
    } else {
        At::Data
    };
    shared.see(at, &parts.method, path, &parts.headers);
    if parts.headers.contains_key(AUTHORIZATION) {
        shared.complain(format!("the hub's token was sent to the CDN for {path}"));
    }
    let fault = shared.faults().take(at);
    if let Some(refused) = refusal(fault).await {
        return refused;
    }
    let link = parts
        .uri
        .query()
        .and_then(|query| query.strip_prefix("link="))
        .and_then(|n| n.parse::<u64>().ok());
    if link.is_none_or(|link| link <= shared.links_expired.load(Ordering::Relaxed)) {
        return bare(StatusCode::FORBIDDEN);
    }
    let found = path
        .strip_prefix("/blob/")
        .and_then(|sha256| shared.repos().blob(sha256));
    match found {
        Some(found) => file(&shared, &stop, &parts.method, &parts.headers, &found, fault),
        None => bare(StatusCode::NOT_FOUND),
    }
}
