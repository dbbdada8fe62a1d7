use std::path::PathBuf;
use std::time::Duration;

use plimsoll_gguf::HeaderError;
use plimsoll_os::files::FileError;
use plimsoll_os::jobs::JobError;
use plimsoll_os::names::UnsafeName;
use plimsoll_units::Bytes;

/// What the hub says is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    Repository,
    Revision,
    File,
}

/// What is wrong with an answer that has a good status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    #[error("no {0} header")]
    NoHeader(&'static str),
    #[error("the {name} header makes no sense: {value:?}")]
    Header { name: &'static str, value: String },
    #[error("more than {0} redirects")]
    Redirects(usize),
    #[error("a redirect from https to http")]
    Downgrade,
    #[error("more bytes than the file has")]
    TooLong,
    #[error("no readable list of files")]
    Listing,
}

/// Which setting cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    Endpoint,
    Proxy,
    Token,
}

/// Everything that can go wrong between the hub and the library.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error("the hub is switched off (HF_HUB_OFFLINE)")]
    Offline,
    /// No connection, or it broke again and again without bringing anything.
    #[error("{host} cannot be reached for {file}")]
    Unreachable {
        host: String,
        file: String,
        #[source]
        source: reqwest::Error,
    },
    /// Nobody vouches for who answered: a wrong clock, a site that is somebody else, or a company's own authority
    /// that the system does not know.
    #[error("the certificate of {host} is not trusted")]
    Certificate {
        host: String,
        file: String,
        #[source]
        source: reqwest::Error,
    },
    /// The way out leads through a proxy, and it is the proxy that does not answer or refuses.
    #[error("the proxy on the way to {host} cannot be used for {file}")]
    Proxy {
        host: String,
        file: String,
        /// Missing when the proxy answered with a status of its own.
        #[source]
        source: Option<reqwest::Error>,
    },
    /// 402 or 509: what the account or the address may fetch is used up.
    #[error("{host} gives no more for now (status {status})")]
    Quota { host: String, status: u16 },
    /// The transfer ended early as often as we were willing to take it up again.
    #[error("the transfer of {file} from {host} broke off at {done} of {total}")]
    BrokenOff {
        host: String,
        file: String,
        done: Bytes,
        total: Bytes,
    },
    #[error("nothing came from {host} for {after:?} while fetching {file}")]
    Stalled {
        host: String,
        file: String,
        after: Duration,
    },
    /// Gated or private: the licence has to be accepted on the site, and a token set.
    #[error("{repo} is open only to people who accepted its terms (status {status})")]
    NeedsToken { repo: String, status: u16 },
    #[error("{repo}: no such {what:?}: {name}")]
    NotFound {
        repo: String,
        what: Absent,
        name: String,
    },
    #[error("{host} refused {file} with status {status}")]
    Refused { host: String, file: String, status: u16 },
    #[error("{host} is asked too often")]
    TooManyRequests {
        host: String,
        retry_after: Option<Duration>,
    },
    #[error("{host} answered {file} with {what}")]
    BadAnswer {
        host: String,
        file: String,
        what: BadAnswer,
    },
    /// The hub holds another file under this name than the one that was pinned or begun.
    #[error("{file} is no longer the file it was: expected {expected}, the hub has {found}")]
    Changed {
        file: String,
        expected: String,
        found: String,
    },
    /// All bytes are here and they are not the right ones. Nothing of them was kept.
    #[error("{file} does not match its hash: expected {expected}, got {found}")]
    HashMismatch {
        file: String,
        expected: String,
        found: String,
    },
    #[error("{needed} are needed at {folder}, {free} are free", folder = .folder.display())]
    DiskFull {
        folder: PathBuf,
        needed: Bytes,
        free: Bytes,
    },
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    UnsafeName(#[from] UnsafeName),
    #[error("{name:?} is no repository of the form ORG/NAME")]
    BadRepository { name: String },
    #[error("{what:?} cannot be used")]
    BadSetting { what: Setting },
    /// The system's certificates or the network library could not be set up.
    #[error("setting up the network")]
    Client(#[source] reqwest::Error),
    /// The hub's JSON interface failed in a way that has no code of its own.
    #[error("asking the hub about {repo}")]
    Api {
        repo: String,
        #[source]
        source: Box<hf_hub::HFError>,
    },
    #[error("{path}", path = .path.display())]
    Header {
        path: PathBuf,
        #[source]
        source: HeaderError,
    },
    /// A projector or a matrix of weights' importance: of use only beside its model.
    #[error("{name} belongs to a model and is none by itself")]
    NoModel { name: String },
    /// Nothing was found under this name in the library.
    #[error("{id} is not in the library")]
    NotInLibrary { id: String },
    /// The path leads out of the cache, so nothing there is ours to remove.
    #[error("{path} is not inside the library", path = .path.display())]
    OutsideLibrary { path: PathBuf },
    #[error(transparent)]
    Job(#[from] JobError),
}

impl HubError {
    /// Trying the same again later may work.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Proxy { .. }
            | Self::Quota { .. }
            | Self::BrokenOff { .. }
            | Self::Stalled { .. }
            | Self::TooManyRequests { .. }
            | Self::DiskFull { .. } => true,
            Self::Refused { status, .. } => *status >= 500,
            Self::Offline
            | Self::Certificate { .. }
            | Self::NeedsToken { .. }
            | Self::NotFound { .. }
            | Self::BadAnswer { .. }
            | Self::Changed { .. }
            | Self::HashMismatch { .. }
            | Self::File(_)
            | Self::UnsafeName(_)
            | Self::BadRepository { .. }
            | Self::BadSetting { .. }
            | Self::Client(_)
            | Self::Api { .. }
            | Self::Header { .. }
            | Self::NoModel { .. }
            | Self::NotInLibrary { .. }
            | Self::OutsideLibrary { .. }
            | Self::Job(_) => false,
        }
    }
}
