use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_os::{Environment, files};
use plimsoll_units::Bytes;
use url::Url;

use crate::{HubError, Setting};

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";
/// A token file holds one line; more than this is no token.
const TOKEN_FILE_MAX: Bytes = Bytes::kib(4);

/// An access token of the hub. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// `None` for text that cannot be sent in a header, such as an empty one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let usable = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        usable.then(|| Self(text.to_owned()))
    }

    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

/// Where a token came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TokenOrigin {
    #[default]
    Nowhere,
    Environment,
    /// The file that `hf auth login` writes.
    File,
}

/// How the outside is reached. Loopback is always reached directly.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Proxies {
    /// What the system's own settings say.
    #[default]
    System,
    /// What the environment says.
    Given {
        https: Option<String>,
        http: Option<String>,
        except: Option<String>,
    },
}

/// Addresses of proxies can hold passwords.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("System"),
            Self::Given { https, http, except } => f
                .debug_struct("Given")
                .field("https", &https.is_some())
                .field("http", &http.is_some())
                .field("except", except)
                .finish(),
        }
    }
}

/// How long to keep trying. The defaults are for people's lines; tests shorten them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Attempts in a row that brought nothing before it is given up.
    pub fruitless_max: u32,
    /// The same as long as nobody at all was reached: a person waits for the word that the line is down.
    pub unreached_max: u32,
    /// Times a file may be begun again from its first byte.
    pub fresh_starts_max: u32,
    /// The first pause; each further one doubles.
    pub first_pause: Duration,
    pub longest_pause: Duration,
    /// The longest pause a server may ask for; more is an error with the time in it.
    pub longest_told_pause: Duration,
    pub connect: Duration,
    /// Silence after which a connection is dropped and the rest asked for again.
    pub stall: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            fruitless_max: 9,
            unreached_max: 5,
            fresh_starts_max: 3,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
            longest_told_pause: Duration::from_mins(5),
            connect: Duration::from_secs(15),
            stall: Duration::from_secs(30),
        }
    }
}

/// How a transfer is spread over connections. The defaults are for people's lines; tests make them small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lanes {
    /// Connections that a transfer begins with.
    pub first: usize,
    /// Connections that it may come to have, if more of them bring more.
    pub most: usize,
    /// Smaller ranges are not asked for, except for what is left at the end.
    pub range_least: Bytes,
    /// At most so much is lost of each connection when the program is killed.
    pub range_most: Bytes,
}

impl Default for Lanes {
    fn default() -> Self {
        Self {
            first: 6,
            most: 24,
            range_least: Bytes::mib(4),
            range_most: Bytes::mib(64),
        }
    }
}

/// Everything the hub needs to know, as values.
#[derive(Debug, Clone)]
pub struct HubConfig {
    /// Without a slash at its end.
    pub endpoint: Url,
    pub token: Option<Token>,
    pub token_origin: TokenOrigin,
    /// Where [`crate::Hub::set_token`] keeps one: `HF_TOKEN_PATH`, or `token` in `HF_HOME`.
    pub token_file: Option<PathBuf>,
    /// The folder that holds `models--ORG--NAME`.
    pub cache: PathBuf,
    /// Nothing is asked of the hub.
    pub offline: bool,
    pub proxies: Proxies,
    pub user_agent: String,
    pub patience: Patience,
    pub lanes: Lanes,
    /// Space that is left alone when a transfer is checked against the free space.
    pub spare: Bytes,
}

impl HubConfig {
    /// The public hub, without a token.
    pub fn new(cache: PathBuf) -> Result<Self, HubError> {
        Ok(Self {
            endpoint: endpoint(DEFAULT_ENDPOINT)?,
            token: None,
            token_origin: TokenOrigin::Nowhere,
            token_file: None,
            cache,
            offline: false,
            proxies: Proxies::default(),
            user_agent: concat!("plimsoll/", env!("CARGO_PKG_VERSION")).to_owned(),
            patience: Patience::default(),
            lanes: Lanes::default(),
            spare: Bytes::mib(64),
        })
    }

    /// What `HF_ENDPOINT`, `HF_TOKEN` (or the file that `hf auth login` wrote), `HF_HUB_OFFLINE` and the proxy
    /// variables say.
    pub fn from_environment(environment: &Environment, cache: PathBuf) -> Result<Self, HubError> {
        let mut config = Self::new(cache)?;
        if let Some(given) = environment.filled("HF_ENDPOINT") {
            config.endpoint = endpoint(given)?;
        }
        config.token_file = token_file(environment);
        (config.token, config.token_origin) = token(environment, config.token_file.as_deref())?;
        config.offline =
            environment.switched_on("HF_HUB_OFFLINE") || environment.switched_on("TRANSFORMERS_OFFLINE");
        config.proxies = proxies(environment);
        Ok(config)
    }

    /// Points at another hub.
    pub fn set_endpoint(&mut self, text: &str) -> Result<(), HubError> {
        self.endpoint = endpoint(text)?;
        Ok(())
    }
}

fn endpoint(text: &str) -> Result<Url, HubError> {
    let bad = || HubError::BadSetting {
        what: Setting::Endpoint,
    };
    let url = Url::parse(text.trim().trim_end_matches('/')).map_err(|_| bad())?;
    let usable =
        matches!(url.scheme(), "http" | "https") && url.host_str().is_some() && !url.cannot_be_a_base();
    if usable { Ok(url) } else { Err(bad()) }
}

fn token(environment: &Environment, file: Option<&Path>) -> Result<(Option<Token>, TokenOrigin), HubError> {
    let named = environment
        .filled("HF_TOKEN")
        .or_else(|| environment.filled("HUGGING_FACE_HUB_TOKEN"));
    if let Some(text) = named {
        return Token::new(text)
            .map(|token| (Some(token), TokenOrigin::Environment))
            .ok_or(HubError::BadSetting { what: Setting::Token });
    }
    let implicit = !environment.switched_on("HF_HUB_DISABLE_IMPLICIT_TOKEN");
    // Most people have no such file, and one that cannot be read must not stop a download of an open model.
    let text = file
        .filter(|_| implicit)
        .and_then(|file| files::read_up_to(file, TOKEN_FILE_MAX).ok())
        .unwrap_or_default();
    Ok(match Token::new(&String::from_utf8_lossy(&text)) {
        Some(token) => (Some(token), TokenOrigin::File),
        None => (None, TokenOrigin::Nowhere),
    })
}

fn token_file(environment: &Environment) -> Option<PathBuf> {
    let home = || {
        environment
            .path("HF_HOME")
            .or_else(|| Some(caches(environment)?.join("huggingface")))
    };
    environment
        .path("HF_TOKEN_PATH")
        .or_else(|| Some(home()?.join("token")))
}

fn caches(environment: &Environment) -> Option<PathBuf> {
    let given = environment
        .path("XDG_CACHE_HOME")
        .filter(|path| path.is_absolute());
    given.or_else(|| Some(environment.home_of_person()?.join(".cache")))
}

fn proxies(environment: &Environment) -> Proxies {
    // Both cases are in use; the lower one wins, as with curl.
    let any = |lower: &str, upper: &str| {
        environment
            .filled(lower)
            .or_else(|| environment.filled(upper))
            .map(str::to_owned)
    };
    let all = any("all_proxy", "ALL_PROXY");
    let https = any("https_proxy", "HTTPS_PROXY").or_else(|| all.clone());
    let http = any("http_proxy", "HTTP_PROXY").or(all);
    if https.is_none() && http.is_none() {
        return Proxies::System;
    }
    Proxies::Given {
        https,
        http,
        except: any("no_proxy", "NO_PROXY"),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_os::Environment;

    use super::{HubConfig, Proxies, Token};
    use crate::{HubError, Setting};

    fn config(pairs: &[(&str, &str)]) -> Result<HubConfig, HubError> {
        HubConfig::from_environment(&Environment::from_pairs(pairs.iter().copied()), "cache".into())
    }

    #[test]
    fn the_environment_is_honoured() {
        let config = config(&[
            ("HF_ENDPOINT", "http://mirror.example:8000/hub/"),
            ("HF_TOKEN", " hf_secret "),
            ("HF_HUB_OFFLINE", "1"),
            ("HTTPS_PROXY", "http://proxy:3128"),
            ("NO_PROXY", "internal.example"),
        ])
        .unwrap();
        assert_eq!(config.endpoint.as_str(), "http://mirror.example:8000/hub");
        assert_eq!(config.token, Token::new("hf_secret"));
        assert!(config.offline);
        assert_eq!(
            config.proxies,
            Proxies::Given {
                https: Some("http://proxy:3128".into()),
                http: None,
                except: Some("internal.example".into())
            }
        );
    }

    #[test]
    fn without_settings_it_is_the_public_hub() {
        let config = config(&[]).unwrap();
        assert_eq!(config.endpoint.as_str(), "https://huggingface.co/");
        assert_eq!(
            (config.token, config.offline, config.proxies),
            (None, false, Proxies::System)
        );
    }

    #[test]
    fn a_login_of_the_hubs_own_tool_counts() {
        let home = tempfile::tempdir().unwrap();
        plimsoll_os::files::replace(&home.path().join("token"), b"hf_from_file\n").unwrap();
        let path = home.path().to_str().unwrap();
        assert_eq!(
            config(&[("HF_HOME", path)]).unwrap().token,
            Token::new("hf_from_file")
        );
        let refused = config(&[("HF_HOME", path), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]).unwrap();
        assert_eq!(refused.token, None);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for bad in ["nonsense", "ftp://hub", "mailto:hub@example.com"] {
            let refused = config(&[("HF_ENDPOINT", bad)]).unwrap_err();
            assert!(
                matches!(
                    refused,
                    HubError::BadSetting {
                        what: Setting::Endpoint
                    }
                ),
                "{bad}"
            );
        }
        let refused = config(&[("HF_TOKEN", "two words")]).unwrap_err();
        assert!(matches!(refused, HubError::BadSetting { what: Setting::Token }));
    }

    #[test]
    fn secrets_are_not_printed() {
        let config = config(&[("HF_TOKEN", "hf_secret"), ("HTTPS_PROXY", "http://me:pass@proxy")]).unwrap();
        let shown = format!("{config:?}");
        assert!(
            !shown.contains("hf_secret") && !shown.contains("pass@"),
            "{shown}"
        );
    }
}
