use std::time::Duration;

use axum::body::{self, Body, Bytes, HttpBody};

/// A body comes from this machine: a minute without its end is a client that hangs.
const TIME_MAX: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyRefusal {
    TooLarge,
    /// Cut off or too slow.
    Broken,
}

/// The whole body, at most `limit` bytes. What claims to be larger is not read at all.
pub(crate) async fn read(body: Body, limit: usize) -> Result<Bytes, BodyRefusal> {
    let claimed = body.size_hint().lower();
    if usize::try_from(claimed).map_or(true, |claimed| claimed > limit) {
        return Err(BodyRefusal::TooLarge);
    }
    match tokio::time::timeout(TIME_MAX, body::to_bytes(body, limit)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if over_limit(&error) => Err(BodyRefusal::TooLarge),
        Ok(Err(_)) | Err(_) => Err(BodyRefusal::Broken),
    }
}

fn over_limit(error: &axum::Error) -> bool {
    std::error::Error::source(error)
        .is_some_and(<dyn std::error::Error>::is::<http_body_util::LengthLimitError>)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn pieces(count: usize) -> Body {
        Body::from_stream(stream::iter((0..count).map(|_| Ok::<_, std::io::Error>("1234"))))
    }

    #[tokio::test]
    async fn the_limit_holds_with_and_without_a_claimed_length() {
        assert_eq!(read(Body::from("1234"), 4).await.as_deref(), Ok(&b"1234"[..]));
        assert_eq!(read(Body::from("12345"), 4).await, Err(BodyRefusal::TooLarge));
        assert_eq!(read(pieces(2), 8).await.as_deref(), Ok(&b"12341234"[..]));
        assert_eq!(read(pieces(3), 8).await, Err(BodyRefusal::TooLarge));
        let broken = Body::from_stream(stream::iter([Err::<&str, _>(std::io::Error::other("cut"))]));
        assert_eq!(read(broken, 8).await, Err(BodyRefusal::Broken));
    }
}
