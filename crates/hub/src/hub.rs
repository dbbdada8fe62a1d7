use std::sync::Arc;

use plimsoll_os::jobs::{Root, Scope};
use plimsoll_units::Bytes;
use url::Url;

use crate::http::{Network, host_of};
use crate::patience::Trouble;
use crate::{HubConfig, HubError};

/// The hub, as configured. Clones share connections.
#[derive(Debug, Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: HubConfig,
    network: Network,
    /// Writing and hashing; ends with the last clone.
    jobs: Root,
}

impl Hub {
    #[must_use]
    pub fn new(config: HubConfig) -> Self {
        let network = Network::new(config.clone());
        Self {
            inner: Arc::new(Inner {
                config,
                network,
                jobs: Root::new(),
            }),
        }
    }

    #[must_use]
    pub fn config(&self) -> &HubConfig {
        &self.inner.config
    }

    pub(crate) fn network(&self) -> &Network {
        &self.inner.network
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
