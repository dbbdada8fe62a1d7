//! What a repository holds, by `hf-hub`.

use std::time::Duration;

use futures_util::StreamExt;
use hf_hub::repository::RepoTreeEntry;
use hf_hub::{HFClient, HFError, HFRepository, RepoTypeModel};
use plimsoll_os::names::safe_relative;
use plimsoll_units::Bytes;

use crate::http::{bad_answer, host_of};
use crate::layout::{is_commit, is_gguf};
use crate::search::{Gate, short};
use crate::{Absent, BadAnswer, Hub, HubError, RepoId};

/// Whole listings take a second or two; this is for servers that never finish.
pub(crate) const LISTING_TIME_MAX: Duration = Duration::from_mins(1);
const FILES_MAX: usize = 5_000;

/// The files of a repository at one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub repo: RepoId,
    pub commit: String,
    /// Whether the terms have to be accepted on the site first.
    pub gate: Gate,
    /// By the repository's tag.
    pub licence: Option<String>,
    pub files: Vec<Listed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub path: String,
    pub bytes: Bytes,
}

impl Listing {
    /// The model files among them.
    pub fn gguf(&self) -> impl Iterator<Item = &Listed> {
        self.files.iter().filter(|file| is_gguf(&file.path))
    }
}

impl Hub {
    /// Lists a repository at a branch, tag or commit. Names that would not be safe on disk are left out.
    pub async fn list(&self, repo: &RepoId, revision: &str) -> Result<Listing, HubError> {
        if self.config().offline {
            return Err(HubError::Offline);
        }
        let listing = tokio::time::timeout(LISTING_TIME_MAX, self.list_slowly(repo, revision)).await;
        listing.unwrap_or_else(|_| {
            Err(HubError::Stalled {
                host: host_of(&self.config().endpoint),
                file: repo.to_string(),
                after: LISTING_TIME_MAX,
            })
        })
    }

    async fn list_slowly(&self, repo: &RepoId, revision: &str) -> Result<Listing, HubError> {
        let failed = |error| self.api_error(repo.as_str(), revision, error);
        let client = self.api_client().map_err(|error| match error {
            ApiSetup::Own(error) => error,
            ApiSetup::Theirs(error) => failed(error),
        })?;
        let (owner, name) = hf_hub::split_id(repo.as_str());
        let repository: HFRepository<RepoTypeModel> = client.model(owner, name);
        let about = repository
            .info()
            .revision(revision)
            .send()
            .await
            .map_err(failed)?;
        let no_listing = || bad_answer(&self.config().endpoint, repo.as_str(), BadAnswer::Listing);
        let commit = about
            .sha
            .filter(|commit| is_commit(commit))
            .ok_or_else(no_listing)?;

        let tree = repository
            .list_tree()
            .revision(commit.clone())
            .recursive(true)
            .limit(FILES_MAX)
            .send()
            .map_err(failed)?;
        let mut tree = std::pin::pin!(tree);
        let mut files = Vec::new();
        while let Some(entry) = tree.next().await {
            match entry.map_err(failed)? {
                RepoTreeEntry::File { path, size, .. } if safe_relative(&path).is_ok() => {
                    files.push(Listed {
                        path,
                        bytes: Bytes(size),
                    });
                }
                RepoTreeEntry::File { .. } | RepoTreeEntry::Directory { .. } => {}
            }
        }
        let licence = about
            .tags
            .iter()
            .flatten()
            .find_map(|tag| tag.strip_prefix("license:"));
        Ok(Listing {
            repo: repo.clone(),
            commit,
            gate: Gate::of(about.gated.as_ref()),
            licence: licence.map(short),
            files,
        })
    }

    pub(crate) fn api_client(&self) -> Result<HFClient, ApiSetup> {
        let config = self.config();
        let client = self
            .network()
            .client_for_api(&config.endpoint)
            .map_err(ApiSetup::Own)?;
        // Without a token hf-hub would look into the environment by itself. A line break cannot be sent in a
        // header, so it sends none.
        let token = self.token();
        let token = token.as_ref().map_or("\n", |token| token.secret());
        HFClient::builder()
            .client(client)
            .endpoint(config.endpoint.as_str())
            .token(token)
            .cache_dir(&config.cache)
            .cache_enabled(false)
            .build()
            .map_err(ApiSetup::Theirs)
    }

    /// `repo`: what was asked about, a repository or words.
    pub(crate) fn api_error(&self, repo: &str, revision: &str, error: HFError) -> HubError {
        let repo_name = repo.to_owned();
        let missing = |what, name: &str| HubError::NotFound {
            repo: repo.to_owned(),
            what,
            name: name.to_owned(),
        };
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "theirs may grow; what has no code of ours keeps its own words"
        )]
        match error {
            HFError::AuthRequired { context } if context.error_code.as_deref() == Some("RepoNotFound") => {
                missing(Absent::Repository, repo)
            }
            HFError::AuthRequired { context } | HFError::Forbidden { context } => HubError::NeedsToken {
                repo: repo_name,
                status: context.status.as_u16(),
            },
            HFError::RevisionNotFound { context, .. }
                if context
                    .as_ref()
                    .is_some_and(|context| context.error_code.as_deref() == Some("RepoNotFound")) =>
            {
                missing(Absent::Repository, repo)
            }
            HFError::RevisionNotFound { .. } => missing(Absent::Revision, revision),
            HFError::RepoNotFound { .. } => missing(Absent::Repository, repo),
            HFError::RateLimited { retry_after, .. } => HubError::TooManyRequests {
                host: host_of(&self.config().endpoint),
                retry_after,
            },
            HFError::Request { source, .. }
                if std::iter::successors(std::error::Error::source(&source), |&error| error.source())
                    .any(|error| error.to_string().contains("certificate")) =>
            {
                HubError::Certificate {
                    host: host_of(&self.config().endpoint),
                    file: repo_name,
                    source: source.without_url(),
                }
            }
            HFError::Http { context } => HubError::Refused {
                host: host_of(&self.config().endpoint),
                file: repo_name,
                status: context.status.as_u16(),
            },
            HFError::Request { source, .. } if !source.is_decode() => HubError::Unreachable {
                host: host_of(&self.config().endpoint),
                file: repo_name,
                source: source.without_url(),
            },
            other => HubError::Api {
                repo: repo_name,
                source: Box::new(other),
            },
        }
    }
}

pub(crate) enum ApiSetup {
    Own(HubError),
    Theirs(HFError),
}
