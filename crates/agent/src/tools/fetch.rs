//! A page from the network, but none from the person's own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Url};
use serde_json::{Value, json};

use super::{Effect, Tool, ToolError, text_of};
use crate::ToolSpec;

const PAGE_BYTES_MAX: usize = 2 << 20;
const REDIRECTS_MAX: usize = 5;
const WAIT_MAX: Duration = Duration::from_secs(30);
const URL_BYTES_MAX: usize = 4_096;

/// Which addresses may be asked.
pub(super) type MayAsk = fn(IpAddr) -> bool;

pub(super) struct Fetch {
    spec: ToolSpec,
    client: Client,
    may_ask: MayAsk,
}

impl Fetch {
    /// Never through a proxy: it would look names up for us, and its answer could be anywhere.
    pub(super) fn new(may_ask: MayAsk) -> Result<Self, reqwest::Error> {
        let redirects = move |attempt: Attempt<'_>| {
            if attempt.previous().len() > REDIRECTS_MAX {
                return attempt.error("too many redirects");
            }
            if allowed(attempt.url(), may_ask) {
                attempt.follow()
            } else {
                attempt.error("it leads to an address that may not be asked")
            }
        };
        Ok(Self {
            spec: ToolSpec {
                name: "fetch_page".into(),
                description: "Fetches a page from the internet by its address and gives its text.".into(),
                parameters: json!({
                    "type": "object",
                    "properties": {"url": {"type": "string", "description": "http or https"}},
                    "required": ["url"],
                    "additionalProperties": false,
                }),
            },
            client: Client::builder()
                .no_proxy()
                .redirect(Policy::custom(redirects))
                .dns_resolver(Arc::new(Careful(may_ask)))
                .timeout(WAIT_MAX)
                .build()?,
            may_ask,
        })
    }

    fn url(&self, arguments: &Value) -> Result<Url, ToolError> {
        let text = text_of(arguments, "url")?;
        let wrong = |problem: &str| ToolError::Fetch {
            url: text.chars().take(200).collect(),
            problem: problem.to_owned(),
        };
        if text.len() > URL_BYTES_MAX {
            return Err(wrong("the address is too long"));
        }
        let url = Url::parse(text).map_err(|_| wrong("it is no address"))?;
        if !allowed(&url, self.may_ask) {
            return Err(wrong(
                "only http and https to public addresses are fetched, nothing on this computer or in its network",
            ));
        }
        Ok(url)
    }
}

impl Tool for Fetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan(&self, arguments: &Value) -> Result<Effect, ToolError> {
        Ok(Effect::Fetches {
            url: self.url(arguments)?.to_string(),
        })
    }

    fn run(&self, arguments: Value, _: Effect) -> BoxFuture<'_, Result<String, ToolError>> {
        async move {
            let url = self.url(&arguments)?;
            let failed = |problem: String| ToolError::Fetch {
                url: url.to_string(),
                problem,
            };
            let response = self
                .client
                .get(url.clone())
                .send()
                .await
                .map_err(|error| failed(chain(&error.without_url())))?;
            if !response.status().is_success() {
                return Err(failed(format!("it answered with {}", response.status())));
            }
            let kind = response
                .headers()
                .get(CONTENT_TYPE)
                .and_then(|kind| kind.to_str().ok())
                .unwrap_or_default()
                .to_lowercase();
            let readable = ["text/", "json", "xml"].iter().any(|part| kind.contains(part)) || kind.is_empty();
            if !readable {
                return Err(failed(format!("it is {kind}, which is no text")));
            }
            let mut body = Vec::new();
            let mut chunks = response.bytes_stream();
            let mut cut = false;
            while let Some(chunk) = chunks.next().await {
                body.extend_from_slice(&chunk.map_err(|error| failed(chain(&error.without_url())))?);
                if body.len() > PAGE_BYTES_MAX {
                    body.truncate(PAGE_BYTES_MAX);
                    cut = true;
                    break;
                }
            }
            let text = String::from_utf8_lossy(&body);
            let mut text = if kind.contains("html") {
                without_markup(&text)
            } else {
                text.into_owned()
            };
            if cut {
                text.push_str("\n[The page is longer than what is fetched.]");
            }
            Ok(text)
        }
        .boxed()
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// By its scheme, and by its address where it names one itself; names are looked at when they are looked up.
fn allowed(url: &Url, may_ask: MayAsk) -> bool {
    let literal = url
        .host_str()
        .map(|host| host.trim_matches(['[', ']']).parse::<IpAddr>());
    let host = match literal {
        Some(Ok(address)) => may_ask(address),
        Some(Err(_)) => true,
        None => false,
    };
    matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none() && host
}

/// Looks names up, and gives only addresses that may be asked: the connection goes to what was looked at.
struct Careful(MayAsk);

impl Resolve for Careful {
    fn resolve(&self, name: Name) -> Resolving {
        let may_ask = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let good: Vec<SocketAddr> = found.filter(|address| may_ask(address.ip())).collect();
            if good.is_empty() {
                return Err("the name leads to an address that may not be asked".into());
            }
            let addresses: Addrs = Box::new(good.into_iter());
            Ok(addresses)
        })
    }
}

/// Not this computer, not its network, not a reserved range.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            if let Some(inside) = embedded(address) {
                return is_public_v4(inside);
            }
            // 2000::/3 is what is given out; 2001:db8::/32 of it is for examples, 2002::/16 wraps any IPv4.
            let [first, second, ..] = address.segments();
            (first & 0xe000) == 0x2000 && first != 0x2002 && !(first == 0x2001 && second == 0x0db8)
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240)
}

/// The IPv4 address inside `::ffff:a.b.c.d` and `64:ff9b::a.b.c.d`.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let translated = segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0];
    let [.., high, low] = segments;
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    address
        .to_ipv4_mapped()
        .or_else(|| translated.then(|| Ipv4Addr::new(a, b, c, d)))
}

/// The words of a page, a block a line.
fn without_markup(html: &str) -> String {
    const BLOCKS: [&str; 14] = [
        "p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "pre",
    ];
    const SILENT: [&str; 4] = ["script", "style", "noscript", "svg"];
    let mut out = String::new();
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        push_words(&mut out, &rest[..open]);
        rest = &rest[open..];
        if let Some(after) = rest.strip_prefix("<!--") {
            rest = after.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let Some((tag, after)) = rest[1..].split_once('>') else {
            break;
        };
        rest = after;
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase();
        if BLOCKS.contains(&name.as_str()) && !out.ends_with('\n') {
            out.push('\n');
        }
        if SILENT.contains(&name.as_str()) && !tag.starts_with('/') && !tag.ends_with('/') {
            let end = format!("</{name}");
            let lower = rest.to_ascii_lowercase();
            rest = lower.find(&end).map_or("", |at| &rest[at..]);
        }
    }
    push_words(&mut out, rest);
    out.trim().to_owned()
}

fn push_words(out: &mut String, text: &str) {
    let text = text
        .replace("&nbsp;", " ")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&");
    for word in text.split_whitespace() {
        if !out.is_empty() && !out.ends_with(['\n', ' ']) {
            out.push(' ');
        }
        out.push_str(word);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use serde_json::json;

    use super::{Fetch, is_public, without_markup};
    use crate::tools::{Tool as _, ToolError};

    #[test]
    fn only_public_addresses_are_public() {
        for address in ["1.1.1.1", "93.184.216.34", "2606:4700::1111"] {
            assert!(is_public(address.parse::<IpAddr>().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "240.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:192.168.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
        ] {
            assert!(!is_public(address.parse::<IpAddr>().unwrap()), "{address}");
        }
    }

    #[tokio::test]
    async fn the_persons_own_network_is_refused_by_address_and_by_name() {
        let fetch = Fetch::new(is_public).unwrap();
        for url in [
            "http://127.0.0.1/",
            "http://[::1]:8080/",
            "http://192.168.0.1/admin",
            "file:///etc/passwd",
            "http://169.254.169.254/latest/meta-data",
            "http://2130706433/",
            "https://user:pass@example.com/",
            "ftp://example.com/",
        ] {
            let planned = fetch.plan(&json!({"url": url}));
            assert!(
                matches!(planned, Err(ToolError::Fetch { .. })),
                "{url}: {planned:?}"
            );
        }
        let arguments = json!({"url": "http://localhost:9/"});
        let planned = fetch.plan(&arguments).unwrap();
        let refused = fetch.run(arguments, planned).await.unwrap_err();
        assert!(refused.to_string().contains("may not be asked"), "{refused}");
    }

    #[test]
    fn a_page_becomes_its_words() {
        let page = "<html><head><style>p {}</style><script>let a = '<p>no</p>';</script></head>\
                    <body><h1>Tides</h1><!-- no --><p>High &amp;\n low.<br>Twice a day.</p><ul><li>one<li>two</ul>";
        assert_eq!(without_markup(page), "Tides\nHigh & low.\nTwice a day.\none\ntwo");
        for broken in ["<", "<p", "<!--", "<script>", "a < b", "</"] {
            let _ = without_markup(broken);
        }
    }
}
