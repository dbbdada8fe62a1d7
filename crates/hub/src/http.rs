//! Requests to the hub and to whom it sends us: which client, which headers, which redirects.

use std::error::Error;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_os::clock;
use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use reqwest::{Client, Method, Proxy, Response, StatusCode, redirect};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use url::{Host, Url};

use crate::patience::Trouble;
use crate::{BadAnswer, HubConfig, HubError, Proxies, Setting, Token};

const REDIRECTS_MAX: usize = 8;

/// Two clients: one knows the proxies, one knows none, for loopback. Built when first needed, so that a system
/// without certificates can still reach a mirror on loopback, and anew after a certificate or a proxy was the
/// trouble: what a person then changes in the system counts at the next attempt, not at the next start.
#[derive(Debug)]
pub(crate) struct Network {
    outside: Mutex<Option<Client>>,
    loopback: Mutex<Option<Client>>,
    config: HubConfig,
}

/// Why an attempt did not bring an answer to work with.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Worth another attempt.
    Passing(Trouble),
    /// Not.
    Final(HubError),
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        Self::Final(error)
    }
}

/// An answer and who gave it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Response,
    pub(crate) from: Answerer,
    /// Headers of the hub's own redirect, which describe the file better than the CDN's answer.
    pub(crate) redirect: Option<HeaderMap>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answerer {
    /// The site that was asked.
    Site,
    /// Somebody it sent us to.
    Elsewhere,
}

/// What a request wants besides its address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ask<'a> {
    /// Sent to the site itself only, never along a redirect to somebody else.
    pub(crate) token: Option<&'a Token>,
    pub(crate) site_headers: HeaderMap,
    pub(crate) elsewhere_headers: HeaderMap,
    /// A redirect to elsewhere whose headers already say this much is an answer, not to be followed.
    pub(crate) enough: Option<HeaderName>,
    /// Where the site sent us before: asked directly, as somebody else than the site.
    pub(crate) via: Option<Url>,
}

impl Network {
    pub(crate) fn new(config: HubConfig) -> Self {
        Self {
            outside: Mutex::default(),
            loopback: Mutex::default(),
            config,
        }
    }

    /// One request through all its redirects.
    pub(crate) async fn send(
        &self,
        method: Method,
        url: &Url,
        ask: &Ask<'_>,
        file: &str,
    ) -> Result<Answer, Failure> {
        let site = url.origin();
        let mut at = ask.via.as_ref().unwrap_or(url).clone();
        let mut redirect = None;
        for _ in 0..=REDIRECTS_MAX {
            // Also a mirror whose files lie on its own host: what it signed once need not hear the token again.
            let from = if at.origin() == site && ask.via.is_none() {
                Answerer::Site
            } else {
                Answerer::Elsewhere
            };
            let mut request = self
                .client(&at)?
                .request(method.clone(), at.clone())
                .header(ACCEPT_ENCODING, "identity");
            match from {
                Answerer::Site => {
                    request = request.headers(ask.site_headers.clone());
                    if let Some(token) = ask.token {
                        request = request.header(AUTHORIZATION, format!("Bearer {}", token.secret()));
                    }
                }
                Answerer::Elsewhere => request = request.headers(ask.elsewhere_headers.clone()),
            }
            let sent = tokio::time::timeout(self.config.patience.stall, request.send()).await;
            let response = match sent {
                Err(_) => return Err(Failure::Passing(Trouble::Stalled)),
                Ok(Err(error)) => return Err(self.unreachable(error.without_url(), &at, file)),
                Ok(Ok(response)) => response,
            };
            let Some(next) = redirected(&response, &at, file)? else {
                return Ok(Answer {
                    response,
                    from,
                    redirect,
                });
            };
            let enough = ask
                .enough
                .as_ref()
                .is_some_and(|name| response.headers().contains_key(name));
            if enough && next.origin() != site {
                return Ok(Answer {
                    response,
                    from,
                    redirect,
                });
            }
            if from == Answerer::Site && redirect.is_none() && next.origin() != site {
                redirect = Some(response.headers().clone());
            }
            at = next;
        }
        Err(bad_answer(&at, file, BadAnswer::Redirects(REDIRECTS_MAX)).into())
    }

    /// A client for somebody else's library, which follows redirects itself but only on the same site.
    pub(crate) fn client_for_api(&self, url: &Url) -> Result<Client, HubError> {
        let stay = redirect::Policy::custom(|attempt| {
            let before = attempt.previous().last().map(Url::origin);
            if attempt.previous().len() > REDIRECTS_MAX || before != Some(attempt.url().origin()) {
                attempt.stop()
            } else {
                attempt.follow()
            }
        });
        self.builder(is_loopback(url))?
            .redirect(stay)
            .build()
            .map_err(HubError::Client)
    }

    /// A certificate does not become valid by asking again; everything else may be better next time.
    fn unreachable(&self, error: reqwest::Error, at: &Url, file: &str) -> Failure {
        // The libraries below have no codes for these, only words.
        let says = |word: &str| {
            std::iter::successors(error.source(), |&error| error.source())
                .any(|error| error.to_string().to_ascii_lowercase().contains(word))
        };
        if says("certificate") {
            self.forget_client(at);
            return HubError::Certificate {
                host: host_of(at),
                file: file.to_owned(),
                source: error,
            }
            .into();
        }
        let through_proxy = says("tunnel") || says("proxy") || (error.is_connect() && self.is_proxied(at));
        Failure::Passing(if through_proxy {
            self.forget_client(at);
            Trouble::Proxy(error)
        } else {
            Trouble::Unreachable(error)
        })
    }

    /// As far as our own settings say; the system's are the library's business.
    fn is_proxied(&self, at: &Url) -> bool {
        let Proxies::Given { https, http, except } = &self.config.proxies else {
            return false;
        };
        let named = match at.scheme() {
            "https" => https.is_some(),
            _ => http.is_some(),
        };
        let host = host_of(at);
        let excepted = except.iter().flat_map(|list| list.split(',')).any(|one| {
            let one = one.trim().trim_start_matches('.');
            one == "*" || (!one.is_empty() && (host == one || host.ends_with(&format!(".{one}"))))
        });
        named && !excepted && !is_loopback(at)
    }

    fn place(&self, url: &Url) -> &Mutex<Option<Client>> {
        if is_loopback(url) {
            &self.loopback
        } else {
            &self.outside
        }
    }

    fn forget_client(&self, url: &Url) {
        *self.place(url).lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn client(&self, url: &Url) -> Result<Client, HubError> {
        let loopback = is_loopback(url);
        // Held while it is built: two askers at once get one.
        let mut place = self.place(url).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = place.as_ref() {
            return Ok(client.clone());
        }
        let finish = |builder: reqwest::ClientBuilder| builder.redirect(redirect::Policy::none()).build();
        let client = match finish(self.builder(loopback)?) {
            // Without certificates of the system there is no https, but loopback rarely wants it.
            Err(_) if loopback => finish(self.builder(loopback)?.tls_certs_only([])),
            other => other,
        };
        let client = client.map_err(HubError::Client)?;
        Ok(place.insert(client).clone())
    }

    fn builder(&self, loopback: bool) -> Result<reqwest::ClientBuilder, HubError> {
        let mut builder = Client::builder()
            .user_agent(&self.config.user_agent)
            .connect_timeout(self.config.patience.connect)
            // HTTP/2 would put all ranges of a file on one connection, and one lost packet would hold up all.
            .http1_only()
            .tcp_keepalive(Duration::from_secs(30));
        if loopback {
            return Ok(builder.no_proxy());
        }
        if let Proxies::Given { https, http, except } = &self.config.proxies {
            let bad = |_| HubError::BadSetting { what: Setting::Proxy };
            let except = except.as_deref().and_then(reqwest::NoProxy::from_string);
            builder = builder.no_proxy();
            if let Some(address) = https {
                builder = builder.proxy(Proxy::https(address).map_err(bad)?.no_proxy(except.clone()));
            }
            if let Some(address) = http {
                builder = builder.proxy(Proxy::http(address).map_err(bad)?.no_proxy(except));
            }
        }
        Ok(builder)
    }
}

/// Where a redirect leads; `None` when the answer is none.
fn redirected(response: &Response, at: &Url, file: &str) -> Result<Option<Url>, HubError> {
    let is_redirect = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    if !is_redirect {
        return Ok(None);
    }
    let header = response
        .headers()
        .get(LOCATION)
        .ok_or_else(|| bad_answer(at, file, BadAnswer::NoHeader("location")))?;
    let text = String::from_utf8_lossy(header.as_bytes());
    let next = at
        .join(&text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    // The address itself may be signed, so it is not shown.
    let next = next.ok_or_else(|| {
        bad_answer(
            at,
            file,
            BadAnswer::Header {
                name: "location",
                value: "not an http address".into(),
            },
        )
    })?;
    if at.scheme() == "https" && next.scheme() == "http" && !is_loopback(&next) {
        return Err(bad_answer(at, file, BadAnswer::Downgrade));
    }
    Ok(Some(next))
}

/// What a status means that is no success.
pub(crate) fn refusal(
    answer: &Answer,
    file: &str,
    not_found: &dyn Fn(&HeaderMap) -> HubError,
    repo: &str,
) -> Failure {
    let status = answer.response.status().as_u16();
    let headers = answer.response.headers();
    let host = host_of(answer.response.url());
    match (status, answer.from) {
        (408 | 425 | 500..=508 | 510..=599, _) => Failure::Passing(Trouble::Server(status)),
        (402 | 509, _) => HubError::Quota { host, status }.into(),
        (407, _) => HubError::Proxy {
            host,
            file: file.to_owned(),
            source: None,
        }
        .into(),
        (429, _) => Failure::Passing(Trouble::TooMany(pause_wanted(headers))),
        (401 | 403 | 404 | 410, Answerer::Elsewhere) => Failure::Passing(Trouble::LinkExpired(status)),
        // The hub answers strangers 401 for what is not there, and says so in a header of its own.
        (401 | 404, Answerer::Site) if error_code(headers).is_some_and(|code| code.ends_with("NotFound")) => {
            not_found(headers).into()
        }
        (401 | 403, Answerer::Site) => HubError::NeedsToken {
            repo: repo.to_owned(),
            status,
        }
        .into(),
        (404, Answerer::Site) => not_found(headers).into(),
        _ => HubError::Refused {
            host,
            file: file.to_owned(),
            status,
        }
        .into(),
    }
}

/// The hub's own word for what went wrong.
pub(crate) fn error_code(headers: &HeaderMap) -> Option<&str> {
    headers.get("x-error-code")?.to_str().ok()
}

/// `Retry-After` in seconds or as a date, else the hub's own rate-limit header (`…;t=SECONDS`).
fn pause_wanted(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    if let Some(after) = text(RETRY_AFTER.as_str()) {
        if let Ok(seconds) = after.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let until = OffsetDateTime::parse(after, &Rfc2822).ok()?.unix_timestamp();
        return Some(Duration::from_secs(
            u64::try_from(until - clock::now_s()).unwrap_or(0),
        ));
    }
    let limit = text("ratelimit")?;
    let seconds = limit
        .split(';')
        .find_map(|field| field.trim().strip_prefix("t="))?;
    seconds.parse().ok().map(Duration::from_secs)
}

pub(crate) fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

pub(crate) fn bad_answer(url: &Url, file: &str, what: BadAnswer) -> HubError {
    HubError::BadAnswer {
        host: host_of(url),
        file: file.to_owned(),
        what,
    }
}

/// This machine, by name or by number.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost") || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).to_canonical().is_loopback(),
        None => false,
    }
}

/// Adds path segments to an address, each encoded so that it stays one.
pub(crate) fn under(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty();
        for segment in segments {
            path.push(segment);
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_os::clock;
    use reqwest::header::HeaderMap;
    use url::Url;

    use super::{is_loopback, pause_wanted, under};

    #[test]
    fn loopback_is_recognised_in_all_its_names() {
        for yes in [
            "http://localhost:1/",
            "http://127.3.2.1/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://a.LOCALHOST/",
        ] {
            assert!(is_loopback(&Url::parse(yes).unwrap()), "{yes}");
        }
        for no in [
            "http://localhost.example/",
            "http://128.0.0.1/",
            "http://huggingface.co/",
        ] {
            assert!(!is_loopback(&Url::parse(no).unwrap()), "{no}");
        }
    }

    #[test]
    fn a_segment_stays_a_segment() {
        let base = Url::parse("http://hub/prefix/").unwrap();
        let url = under(
            &base,
            &["org", "name", "resolve", "refs/pr/1", "a b", "50%?#.gguf"],
        );
        assert_eq!(
            url.as_str(),
            "http://hub/prefix/org/name/resolve/refs%2Fpr%2F1/a%20b/50%25%3F%23.gguf"
        );
    }

    #[test]
    fn the_wanted_pause_is_read_in_every_form() {
        let pause = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            pause_wanted(&headers)
        };
        assert_eq!(pause("retry-after", " 7 "), Some(Duration::from_secs(7)));
        assert_eq!(
            pause("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),
            Some(Duration::ZERO),
            "long ago: now"
        );
        assert_eq!(pause("retry-after", "soon"), None);
        assert_eq!(
            pause("ratelimit", "\"resolvers\";r=0;t=55"),
            Some(Duration::from_secs(55))
        );
        let soon = time::OffsetDateTime::from_unix_timestamp(clock::now_s() + 100).unwrap();
        let text = soon
            .format(&time::format_description::well_known::Rfc2822)
            .unwrap();
        let told = pause("retry-after", &text).unwrap();
        assert!((90..=100).contains(&told.as_secs()), "{told:?}");
    }
}
