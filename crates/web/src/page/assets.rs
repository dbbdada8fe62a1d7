use axum::extract::Path;
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use plimsoll_wire::FaultCode;
use rust_embed::{EmbeddedFile, RustEmbed};

use super::{refused, wants_a_page};

/// The built page. A debug build reads the folder each time, so that `npm run build` shows at once.
#[derive(RustEmbed)]
#[folder = "../../ui/dist"]
#[allow_missing = true]
struct Built;

const INDEX: &str = "index.html";
const NOT_BUILT: &str = include_str!("../../pages/not-built.html");
const LOCKED: &str = include_str!("../../pages/locked.html");

pub(crate) async fn index() -> Response {
    page(Built::get(INDEX))
}

fn page(index: Option<EmbeddedFile>) -> Response {
    match index {
        Some(found) => whole(found, "no-store"),
        None => (StatusCode::NOT_FOUND, Html(NOT_BUILT)).into_response(),
    }
}

/// A file of the page, or the page itself for an address that the page's own router knows.
pub(crate) async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    match Built::get(&path) {
        // Built files carry a hash in their name; the rest may change with the next build.
        Some(found) if path.starts_with("assets/") => whole(found, "private, max-age=31536000, immutable"),
        Some(found) => whole(found, "no-store"),
        None if wants_a_page(&headers) => index().await,
        None => refused(FaultCode::NotFound),
    }
}

/// For a browser that did not come through a link of ours.
pub(crate) fn locked() -> Response {
    (StatusCode::UNAUTHORIZED, Html(LOCKED)).into_response()
}

fn whole(found: EmbeddedFile, keep: &'static str) -> Response {
    let kind = found.metadata.mimetype();
    let kind = if kind.starts_with("text/") {
        format!("{kind}; charset=utf-8")
    } else {
        kind.to_owned()
    };
    (
        [
            (header::CONTENT_TYPE, kind),
            (header::CACHE_CONTROL, keep.to_owned()),
        ],
        found.data,
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_without_its_page_says_how_to_make_it() {
        let answer = page(None);
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        let body = axum::body::to_bytes(answer.into_body(), 1 << 16).await.unwrap();
        assert!(String::from_utf8_lossy(&body).contains("npm run build"));
    }
}
