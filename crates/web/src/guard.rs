//! Who may come in: pure checks on the head of a request.
//!
//! A browser on this machine will send any web page's request to a loopback port. Three things tell such a
//! request from ours: the name it was sent to (a rebound DNS name is not ours), the page it comes from
//! (`Origin`, `Sec-Fetch-Site`), and a secret that no other page holds.

use http::uri::Authority;
use http::{HeaderMap, Uri, header};
use subtle::{Choice, ConstantTimeEq};

/// Why a request is turned away before anything looked at what it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Sent to a name that is not ours: a rebound DNS name, or a proxy that forwards to us.
    ForeignHost,
    /// Sent by a page that is not ours.
    ForeignOrigin,
}

/// The address we listen on, as a browser spells it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Door {
    pub(crate) port: u16,
}

impl Door {
    pub(crate) fn check(self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        if !self.sent_to_us(uri, headers) {
            return Err(Refusal::ForeignHost);
        }
        if !self.sent_by_us_or_no_page(headers) {
            return Err(Refusal::ForeignOrigin);
        }
        Ok(())
    }

    /// Exactly one `Host`, and it is ours. A request line with a full address must name us as well: servers
    /// disagree on which of the two counts.
    fn sent_to_us(self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return false;
        };
        let in_line = uri.authority().is_none_or(|authority| self.names_us(authority));
        in_line
            && host
                .to_str()
                .ok()
                .and_then(|host| host.parse::<Authority>().ok())
                .is_some_and(|authority| self.names_us(&authority))
    }

    fn names_us(self, authority: &Authority) -> bool {
        let name = authority.host();
        authority.port_u16() == Some(self.port)
            && !authority.as_str().contains('@')
            && (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
    }

    /// No `Origin` at all (a program, or a browser following a typed address), or our own. Requests that
    /// carry no `Origin`, such as another page's `<img>`, still say where they come from.
    fn sent_by_us_or_no_page(self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let origin = match (origins.next(), origins.next()) {
            (None, _) => true,
            (Some(origin), None) => origin.to_str().is_ok_and(|origin| self.is_our_origin(origin)),
            (Some(_), Some(_)) => false,
        };
        let site = headers
            .get("sec-fetch-site")
            .is_none_or(|site| site == "same-origin" || site == "none");
        origin && site
    }

    fn is_our_origin(self, origin: &str) -> bool {
        origin
            .strip_prefix("http://")
            .filter(|rest| !rest.contains('/'))
            .and_then(|rest| rest.parse::<Authority>().ok())
            .is_some_and(|authority| self.names_us(&authority))
    }
}

/// Whether the request shows the key, as `Authorization: Bearer` or as `x-api-key`.
pub(crate) fn shows_key(headers: &HeaderMap, key: &str) -> bool {
    let bearer = headers
        .get_all(header::AUTHORIZATION)
        .iter()
        .filter_map(|value| bearer(value.as_bytes()));
    let plain = headers
        .get_all("x-api-key")
        .iter()
        .map(http::HeaderValue::as_bytes);
    // No early exit: how many of the shown keys were wrong must not show in the time it takes.
    let found = bearer.chain(plain).fold(Choice::from(0), |found, shown| {
        found | shown.ct_eq(key.as_bytes())
    });
    !key.is_empty() && bool::from(found)
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| rest.trim_ascii())
}

/// Compares two secrets in a time that does not depend on where they differ.
pub(crate) fn same_secret(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// The value of one cookie.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(found, value)| (found == name).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOOR: Door = Door { port: 18761 };

    fn heads(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }
    fn verdict(pairs: &[(&'static str, &str)]) -> Result<(), Refusal> {
        DOOR.check(&Uri::from_static("/"), &heads(pairs))
    }

    #[test]
    fn our_names_and_no_other() {
        for host in ["127.0.0.1:18761", "localhost:18761", "LocalHost:18761"] {
            assert_eq!(verdict(&[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:18760",
            "evil.example:18761",
            "127.0.0.1.evil.example:18761",
            "localhost.:18761",
            "127.0.0.1:18761@evil.example:18761",
            "user@127.0.0.1:18761",
            "[::1]:18761",
            "0.0.0.0:18761",
            "2130706433:18761",
            "",
        ] {
            assert_eq!(verdict(&[("host", host)]), Err(Refusal::ForeignHost), "{host}");
        }
        assert_eq!(verdict(&[]), Err(Refusal::ForeignHost), "no Host at all");
        assert_eq!(
            verdict(&[("host", "127.0.0.1:18761"), ("host", "evil.example")]),
            Err(Refusal::ForeignHost),
            "two Hosts"
        );
    }

    #[test]
    fn a_full_address_in_the_request_line_must_name_us_too() {
        let headers = heads(&[("host", "127.0.0.1:18761")]);
        assert_eq!(
            DOOR.check(&Uri::from_static("http://127.0.0.1:18761/x"), &headers),
            Ok(())
        );
        assert_eq!(
            DOOR.check(&Uri::from_static("http://evil.example/x"), &headers),
            Err(Refusal::ForeignHost)
        );
    }

    #[test]
    fn our_pages_and_programs_but_no_other_page() {
        let host = ("host", "127.0.0.1:18761");
        for origin in ["http://127.0.0.1:18761", "http://localhost:18761"] {
            assert_eq!(verdict(&[host, ("origin", origin)]), Ok(()), "{origin}");
        }
        for origin in [
            "null",
            "",
            "https://127.0.0.1:18761",
            "http://127.0.0.1:18760",
            "http://127.0.0.1:18761.evil.example",
            "http://127.0.0.1:18761/",
            "http://evil.example",
            "file://",
            "chrome-extension://abc",
        ] {
            assert_eq!(
                verdict(&[host, ("origin", origin)]),
                Err(Refusal::ForeignOrigin),
                "{origin}"
            );
        }
        let twice = [
            host,
            ("origin", "http://localhost:18761"),
            ("origin", "http://evil.example"),
        ];
        assert_eq!(verdict(&twice), Err(Refusal::ForeignOrigin), "two Origins");
    }

    #[test]
    fn another_pages_image_tag_is_not_ours() {
        let host = ("host", "127.0.0.1:18761");
        for site in ["cross-site", "same-site", "nonsense"] {
            assert_eq!(
                verdict(&[host, ("sec-fetch-site", site)]),
                Err(Refusal::ForeignOrigin),
                "{site}"
            );
        }
        for site in ["same-origin", "none"] {
            assert_eq!(verdict(&[host, ("sec-fetch-site", site)]), Ok(()), "{site}");
        }
    }

    #[test]
    fn the_key_in_either_place() {
        for pairs in [
            &[("authorization", "Bearer right")][..],
            &[("authorization", "bearer  right ")],
            &[("x-api-key", "right")],
            &[("authorization", "Bearer wrong"), ("x-api-key", "right")],
        ] {
            assert!(shows_key(&heads(pairs), "right"), "{pairs:?}");
        }
        for pairs in [
            &[][..],
            &[("authorization", "right")],
            &[("authorization", "Basic right")],
            &[("authorization", "Bearer")],
            &[("authorization", "Bearer ")],
            &[("authorization", "Bearer rightx")],
            &[("x-api-key", "Bearer right")],
            &[("cookie", "key=right")],
        ] {
            assert!(!shows_key(&heads(pairs), "right"), "{pairs:?}");
        }
        assert!(
            !shows_key(&heads(&[("x-api-key", "")]), ""),
            "an unset key opens nothing"
        );
    }

    #[test]
    fn one_cookie_among_many() {
        let headers = heads(&[("cookie", "a=1; plimsoll-1=x=y"), ("cookie", "b=2")]);
        assert_eq!(cookie(&headers, "plimsoll-1"), Some("x=y"));
        assert_eq!(cookie(&headers, "b"), Some("2"));
        assert_eq!(cookie(&headers, "plimsoll"), None);
    }
}
