//! What the hub says about files before any of their bytes travel.
//!
//! A file's identity comes from one `HEAD` of its address, as the hub's own clients do it: commit, size and the
//! content's hash are in its headers, before the redirect to the CDN. `hf-hub` cannot be used for this part: its
//! `get_file_metadata` follows the redirect and then misses the headers of the hub, its listings drop the sha256
//! of large files, and it pauses by its own rule when the hub names a time. It does list repositories
//! ([`crate::Listing`]).

use plimsoll_gguf::part_names;
use plimsoll_os::names::safe_relative;
use plimsoll_units::Bytes;
use reqwest::Method;
use reqwest::header::{CONTENT_LENGTH, ETAG, HeaderMap, HeaderName};
use tokio::time::sleep;
use tracing::debug;
use url::Url;

use crate::http::{Ask, Failure, bad_answer, error_code, refusal, under};
use crate::layout::{PARTS_MAX, is_commit};
use crate::patience::{Fruitless, Next};
use crate::{Absent, Address, BadAnswer, Etag, Hub, HubError, RepoId};

const LINKED_ETAG: HeaderName = HeaderName::from_static("x-linked-etag");
const LINKED_SIZE: HeaderName = HeaderName::from_static("x-linked-size");
const REPO_COMMIT: HeaderName = HeaderName::from_static("x-repo-commit");

/// Size and hash that somebody checked before: the hub must still agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    pub bytes: Option<Bytes>,
    pub sha256: Option<String>,
}

/// A file that is asked for, before the hub said anything about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub address: Address,
    pub pin: Option<Pin>,
}

/// A file at the hub, by the commit that cannot change under us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    pub repo: RepoId,
    /// As it was asked for: a branch, a tag or a commit.
    pub revision: String,
    pub commit: String,
    pub path: String,
    pub bytes: Bytes,
    pub etag: Etag,
    pub(crate) pin: Option<Pin>,
}

impl RemoteFile {
    /// Known for every large file; small ones in git itself have none.
    #[must_use]
    pub fn sha256(&self) -> Option<&str> {
        self.etag.sha256()
    }

    /// Where it is at its commit.
    pub(crate) fn address(&self) -> Address {
        Address {
            repo: self.repo.clone(),
            path: self.path.clone(),
            revision: self.commit.clone(),
        }
    }
}

/// All files of a variant: every part of a split model, projector included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSet {
    pub files: Vec<RemoteFile>,
}

impl FileSet {
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

impl Hub {
    /// Asks about one address; for a part of a split model, about all its parts.
    pub async fn file_set(&self, address: &Address) -> Result<FileSet, HubError> {
        let (folder, name) = match address.path.rsplit_once('/') {
            Some((folder, name)) => (format!("{folder}/"), name),
            None => (String::new(), address.path.as_str()),
        };
        let names = part_names(name)
            .filter(|names| names.len() <= PARTS_MAX)
            .unwrap_or_else(|| vec![name.to_owned()]);
        let wanted: Vec<Wanted> = names
            .iter()
            .map(|name| Wanted {
                address: Address {
                    path: format!("{folder}{name}"),
                    ..address.clone()
                },
                pin: None,
            })
            .collect();
        self.file_set_of(&wanted).await
    }

    /// Asks about exactly these files; those that are pinned by commit, size and hash need no question before
    /// they are fetched. The parts of a set that name the same branch get the same commit, also when somebody
    /// uploads while we ask.
    pub async fn file_set_of(&self, wanted: &[Wanted]) -> Result<FileSet, HubError> {
        let mut files: Vec<RemoteFile> = Vec::new();
        for one in wanted {
            let mut at = one.address.clone();
            if let Some(first) = files
                .iter()
                .find(|file| file.repo == at.repo && file.revision == at.revision)
            {
                at.revision.clone_from(&first.commit);
            }
            let mut file = self.remote_file(&at, one.pin.as_ref()).await?;
            file.revision.clone_from(&one.address.revision);
            files.push(file);
        }
        Ok(FileSet { files })
    }

    pub(crate) fn resolve_url(&self, repo: &RepoId, revision: &str, path: &str) -> Url {
        let mut segments: Vec<&str> = repo.as_str().split('/').collect();
        segments.extend(["resolve", revision]);
        segments.extend(path.split('/'));
        under(&self.config().endpoint, &segments)
    }

    async fn remote_file(&self, at: &Address, pin: Option<&Pin>) -> Result<RemoteFile, HubError> {
        safe_relative(&at.path)?;
        safe_relative(&at.revision)?;
        match fully_pinned(at, pin) {
            Some(file) => Ok(file),
            None => self.ask(at, pin).await,
        }
    }

    /// One question, as often as it takes.
    pub(crate) async fn ask(&self, at: &Address, pin: Option<&Pin>) -> Result<RemoteFile, HubError> {
        if self.config().offline {
            return Err(HubError::Offline);
        }
        let mut fruitless = Fruitless::default();
        loop {
            let trouble = match self.head(at, pin).await {
                Ok(file) => return Ok(file),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(trouble)) => trouble,
            };
            match fruitless.next(&trouble, &self.config().patience, false, rand::random()) {
                Next::After(pause) => {
                    debug!(repo = %at.repo, path = at.path, ?trouble, ?pause, "asking the hub again");
                    sleep(pause).await;
                }
                Next::GiveUp => {
                    let nothing = (Bytes::ZERO, Bytes::ZERO);
                    return Err(self.gave_up(trouble, &at.path, &self.config().endpoint, nothing));
                }
            }
        }
    }

    async fn head(&self, at: &Address, pin: Option<&Pin>) -> Result<RemoteFile, Failure> {
        let url = self.resolve_url(&at.repo, &at.revision, &at.path);
        let token = self.token();
        let ask = Ask {
            token: token.as_ref(),
            enough: Some(REPO_COMMIT),
            ..Ask::default()
        };
        let answer = self.network().send(Method::HEAD, &url, &ask, &at.path).await?;
        let status = answer.response.status();
        if !(status.is_success() || status.is_redirection()) {
            return Err(refusal(
                &answer,
                &at.path,
                &|headers| not_found(headers, at),
                at.repo.as_str(),
            ));
        }
        // The headers of the hub count, wherever the answer came from in the end.
        let own = answer.response.headers();
        let headers = answer
            .redirect
            .as_ref()
            .filter(|headers| headers.contains_key(&REPO_COMMIT))
            .unwrap_or(own);
        let bad = |what| Failure::Final(bad_answer(&url, &at.path, what));

        let commit = text(headers, &REPO_COMMIT).ok_or_else(|| bad(BadAnswer::NoHeader("x-repo-commit")))?;
        if !is_commit(commit) {
            return Err(bad(BadAnswer::Header {
                name: "x-repo-commit",
                value: short(commit),
            }));
        }
        let etag = text(headers, &LINKED_ETAG).or_else(|| text(headers, &ETAG));
        let etag = etag.ok_or_else(|| bad(BadAnswer::NoHeader("etag")))?;
        let etag = Etag::parse(etag).ok_or_else(|| {
            bad(BadAnswer::Header {
                name: "etag",
                value: short(etag),
            })
        })?;
        // The length of a redirect is that of its own text.
        let length = if status.is_success() {
            text(own, &CONTENT_LENGTH)
        } else {
            None
        };
        let size = text(headers, &LINKED_SIZE)
            .or(length)
            .ok_or_else(|| bad(BadAnswer::NoHeader("x-linked-size")))?;
        let size = size.parse().map_err(|_| {
            bad(BadAnswer::Header {
                name: "x-linked-size",
                value: short(size),
            })
        })?;

        let file = RemoteFile {
            repo: at.repo.clone(),
            revision: at.revision.clone(),
            commit: commit.to_ascii_lowercase(),
            path: at.path.clone(),
            bytes: Bytes(size),
            etag,
            pin: pin.cloned(),
        };
        file.check_pin()?;
        Ok(file)
    }
}

impl RemoteFile {
    fn check_pin(&self) -> Result<(), HubError> {
        let Some(pin) = &self.pin else { return Ok(()) };
        let changed = |expected: String, found: String| HubError::Changed {
            file: self.path.clone(),
            expected,
            found,
        };
        if let Some(sha256) = pin
            .sha256
            .as_deref()
            .filter(|sha256| *sha256 != self.etag.as_str())
        {
            return Err(changed(sha256.to_owned(), self.etag.to_string()));
        }
        match pin.bytes.filter(|bytes| *bytes != self.bytes) {
            Some(bytes) => Err(changed(
                format!("{} bytes", bytes.0),
                format!("{} bytes", self.bytes.0),
            )),
            None => Ok(()),
        }
    }
}

/// With a commit, a size and a hash nothing is left to ask: the address cannot come to mean another file, and
/// whatever comes is measured against the hash.
pub(crate) fn fully_pinned(at: &Address, pin: Option<&Pin>) -> Option<RemoteFile> {
    let pin = pin.filter(|_| is_commit(&at.revision))?;
    let etag = Etag::parse(pin.sha256.as_deref()?)?;
    etag.sha256()?;
    Some(RemoteFile {
        repo: at.repo.clone(),
        revision: at.revision.clone(),
        commit: at.revision.to_ascii_lowercase(),
        path: at.path.clone(),
        bytes: pin.bytes?,
        etag,
        pin: Some(pin.clone()),
    })
}

/// Which of the three is missing, as the hub's error code says.
pub(crate) fn not_found(headers: &HeaderMap, at: &Address) -> HubError {
    let (what, name) = match error_code(headers) {
        Some("RepoNotFound") => (Absent::Repository, at.repo.to_string()),
        Some("RevisionNotFound") => (Absent::Revision, at.revision.clone()),
        Some(_) | None => (Absent::File, at.path.clone()),
    };
    HubError::NotFound {
        repo: at.repo.to_string(),
        what,
        name,
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn short(value: &str) -> String {
    value.chars().take(80).collect()
}
