use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use plimsoll_os::files::{self, FileError};
use plimsoll_os::jobs::{Root, Scope};
use plimsoll_units::Bytes;
use url::Url;

use crate::http::{Network, host_of};
use crate::patience::Trouble;
use crate::space::Promises;
use crate::{HubConfig, HubError, Ledger, MemoryLedger, Setting, Token, TokenOrigin};

/// The hub, as configured. Clones share connections.
#[derive(Debug, Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: HubConfig,
    network: Network,
    ledger: Arc<dyn Ledger>,
    promises: Promises,
    /// A lock instead of an owner: held for a copy or an assignment.
    token: RwLock<(Option<Token>, TokenOrigin)>,
    /// Writing and hashing; ends with the last clone.
    jobs: Root,
}

impl Hub {
    /// With a ledger that ends with the program.
    #[must_use]
    pub fn new(config: HubConfig) -> Self {
        Self::with_ledger(config, Arc::new(MemoryLedger::default()))
    }

    #[must_use]
    pub fn with_ledger(config: HubConfig, ledger: Arc<dyn Ledger>) -> Self {
        let network = Network::new(config.clone());
        Self {
            inner: Arc::new(Inner {
                token: RwLock::new((config.token.clone(), config.token_origin)),
                config,
                network,
                ledger,
                promises: Promises::default(),
                jobs: Root::new(),
            }),
        }
    }

    /// The same hub with its files in another folder.
    #[must_use]
    pub fn with_cache(&self, cache: PathBuf) -> Self {
        let mut config = self.config().clone();
        (config.token, config.token_origin) = self.with_token(Clone::clone);
        config.cache = cache;
        Self::with_ledger(config, Arc::clone(&self.inner.ledger))
    }

    #[must_use]
    pub fn config(&self) -> &HubConfig {
        &self.inner.config
    }

    /// What is sent with the next question.
    pub(crate) fn token(&self) -> Option<Token> {
        self.with_token(|(token, _)| token.clone())
    }

    #[must_use]
    pub fn token_origin(&self) -> TokenOrigin {
        self.with_token(|(_, origin)| *origin)
    }

    /// Keeps a token in the file that the hub's own tools use, and asks with it from now on; an empty text removes
    /// it. What the environment gives goes before the file at the next start, as it does for those tools.
    ///
    /// # Errors
    /// When the text cannot be a token, when no place for the file is known, or when the file cannot be written.
    pub fn set_token(&self, text: &str) -> Result<(), HubError> {
        let bad = || HubError::BadSetting { what: Setting::Token };
        let file = self.config().token_file.as_ref().ok_or_else(bad)?;
        let next = if text.trim().is_empty() {
            match files::remove_file(file) {
                Ok(()) | Err(FileError::Missing { .. }) => (None, TokenOrigin::Nowhere),
                Err(error) => return Err(error.into()),
            }
        } else {
            let token = Token::new(text).ok_or_else(bad)?;
            if let Some(folder) = file.parent() {
                files::create_dir(folder)?;
            }
            files::replace_private(file, token.secret().as_bytes())?;
            (Some(token), TokenOrigin::File)
        };
        *self.inner.token.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(())
    }

    fn with_token<T>(&self, read: impl FnOnce(&(Option<Token>, TokenOrigin)) -> T) -> T {
        read(&self.inner.token.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn network(&self) -> &Network {
        &self.inner.network
    }

    pub(crate) fn ledger(&self) -> &dyn Ledger {
        self.inner.ledger.as_ref()
    }

    pub(crate) fn promises(&self) -> &Promises {
        &self.inner.promises
    }

    pub(crate) fn jobs(&self) -> Scope {
        self.inner.jobs.scope()
    }

    /// The last trouble of many, as the error that ends the attempt; `progress` is what came and what should.
    pub(crate) fn gave_up(
        &self,
        trouble: Trouble,
        file: &str,
        url: &Url,
        progress: (Bytes, Bytes),
    ) -> HubError {
        let (host, file) = (host_of(url), file.to_owned());
        match trouble {
            Trouble::Unreachable(source) => HubError::Unreachable { host, file, source },
            Trouble::Proxy(source) => HubError::Proxy {
                host,
                file,
                source: Some(source),
            },
            Trouble::Cut => HubError::BrokenOff {
                host,
                file,
                done: progress.0,
                total: progress.1,
            },
            Trouble::Stalled => HubError::Stalled {
                host,
                file,
                after: self.config().patience.stall,
            },
            Trouble::Server(status) | Trouble::LinkExpired(status) => {
                HubError::Refused { host, file, status }
            }
            Trouble::TooMany(retry_after) => HubError::TooManyRequests { host, retry_after },
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_os::{Environment, files};
    use plimsoll_units::Bytes;

    use super::Hub;
    use crate::{HubConfig, HubError, Setting, Token, TokenOrigin};

    fn hub(home: &std::path::Path) -> Hub {
        let environment = Environment::from_pairs([("HF_HOME", home.to_str().unwrap().to_owned())]);
        Hub::new(HubConfig::from_environment(&environment, home.join("hub")).unwrap())
    }

    #[tokio::test]
    async fn a_token_is_kept_for_the_hubs_own_tools_and_removed_again() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("token");
        let first = hub(home.path());
        assert_eq!(
            (first.token(), first.token_origin()),
            (None, TokenOrigin::Nowhere)
        );

        first.set_token(" hf_new\n").unwrap();
        assert_eq!(
            (first.token(), first.token_origin()),
            (Token::new("hf_new"), TokenOrigin::File)
        );
        assert_eq!(files::read_up_to(&file, Bytes(100)).unwrap(), b"hf_new");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(
                std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
        assert_eq!(
            hub(home.path()).token(),
            Token::new("hf_new"),
            "the next start finds it"
        );

        let refused = first.set_token("two words").unwrap_err();
        assert!(matches!(refused, HubError::BadSetting { what: Setting::Token }));
        assert_eq!(first.token(), Token::new("hf_new"), "the old one stays");

        for _ in 0..2 {
            first.set_token("").unwrap();
            assert_eq!(
                (first.token(), first.token_origin()),
                (None, TokenOrigin::Nowhere)
            );
            assert!(!file.exists());
        }
    }
}
