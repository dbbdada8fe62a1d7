//! Names and places in the shared Hugging Face cache.
//!
//! Everything here came from outside once: repository names, revisions, paths, even the `ETag` that becomes a
//! file name. A value of these types has been checked and may be joined to a path.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use plimsoll_os::names::{safe_component, safe_relative};

use crate::HubError;

/// The owner under which imported files of unknown origin lie. No account of this name publishes models.
pub const LOCAL_OWNER: &str = "local";
pub(crate) const PARTIAL: &str = ".ranges.incomplete";
pub(crate) const OLDER_PARTIAL: &str = ".incomplete";
/// More parts than any published model has; a name may claim 99,999.
pub(crate) const PARTS_MAX: usize = 512;

/// `ORG/NAME`, or a bare name as the oldest repositories have it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoId(String);

impl RepoId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder of this repository inside the cache.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("models--{}", self.0.replace('/', "--"))
    }

    /// The repository that a folder of the cache belongs to; `None` for data sets and foreign folders.
    #[must_use]
    pub fn from_folder(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("models--")?;
        rest.replacen("--", "/", 1).parse().ok()
    }

    /// Files of unknown origin are kept under this owner.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.0
            .split_once('/')
            .is_some_and(|(owner, _)| owner == LOCAL_OWNER)
    }
}

impl FromStr for RepoId {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self, HubError> {
        let part_ok = |part: &str| {
            (1..=96).contains(&part.len())
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
                && !part.starts_with(['-', '.'])
                && !part.ends_with(['-', '.'])
                && !part.contains("--")
                && !part.contains("..")
                && safe_component(part).is_ok()
        };
        let ok = match text.split_once('/') {
            Some((owner, name)) => part_ok(owner) && part_ok(name),
            None => part_ok(text),
        };
        if ok {
            Ok(Self(text.to_owned()))
        } else {
            Err(HubError::BadRepository {
                name: text.chars().take(120).collect(),
            })
        }
    }
}

impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A file at the hub: `ORG/NAME/PATH`, with or without `hf:` in front, and `@REVISION` behind when it is not
/// the newest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub repo: RepoId,
    pub path: String,
    pub revision: String,
}

impl FromStr for Address {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self, HubError> {
        let rest = text.strip_prefix("hf:").unwrap_or(text);
        let bad = || HubError::BadRepository {
            name: text.chars().take(120).collect(),
        };
        let (rest, revision) = match rest.rsplit_once('@') {
            Some((rest, revision)) => (rest, safe_relative(revision)?),
            None => (rest, "main".to_owned()),
        };
        let (owner, rest) = rest.split_once('/').ok_or_else(bad)?;
        let (name, path) = rest.split_once('/').ok_or_else(bad)?;
        Ok(Self {
            repo: format!("{owner}/{name}").parse()?,
            path: safe_relative(path)?,
            revision,
        })
    }
}

/// The name of a content: the sha256 of a large file, a git id of a small one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Etag(String);

impl Etag {
    /// From a header, with its quotes and weakness mark, or from a file name. `None` when it could not be a
    /// file name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("W/").unwrap_or(text).trim_matches('"');
        let ok = (8..=128).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        ok.then(|| Self(text.to_owned()))
    }

    /// The same as a sha256, when it is one.
    #[must_use]
    pub fn sha256(&self) -> Option<&str> {
        let is_hash = self.0.len() == 64
            && self
                .0
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        is_hash.then_some(self.0.as_str())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Etag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A full commit id, the only kind of revision that cannot come to mean something else.
#[must_use]
pub(crate) fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Model files, by the ending that llama.cpp goes by.
pub(crate) fn is_gguf(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"))
}

/// Where the files of one repository lie.
#[derive(Debug, Clone)]
pub(crate) struct RepoFolder {
    cache: PathBuf,
    name: String,
}

impl RepoFolder {
    pub(crate) fn new(cache: &Path, repo: &RepoId) -> Self {
        Self {
            cache: cache.to_owned(),
            name: repo.folder(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.cache.join(&self.name)
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.path().join("blobs")
    }

    pub(crate) fn blob(&self, etag: &Etag) -> PathBuf {
        self.blobs().join(etag.as_str())
    }

    /// The name of an unfinished download, after the content: a run that was killed is found by the next one.
    pub(crate) fn part(&self, etag: &Etag) -> PathBuf {
        self.blobs().join(format!("{etag}{PARTIAL}"))
    }

    /// The same as older versions of us and of the hub's own tools had it. Those fill it from its first byte on
    /// and go by its length, which a part of ours must never be taken for.
    pub(crate) fn older_part(&self, etag: &Etag) -> PathBuf {
        self.blobs().join(format!("{etag}{OLDER_PARTIAL}"))
    }

    pub(crate) fn snapshots(&self) -> PathBuf {
        self.path().join("snapshots")
    }

    pub(crate) fn refs(&self) -> PathBuf {
        self.path().join("refs")
    }

    pub(crate) fn pointer(&self, commit: &str, path: &str) -> PathBuf {
        join(&self.snapshots().join(commit), path)
    }

    pub(crate) fn reference(&self, revision: &str) -> PathBuf {
        join(&self.refs(), revision)
    }

    /// The lock that the hub's own tools take while they fetch this content.
    pub(crate) fn lock(&self, etag: &Etag) -> PathBuf {
        self.cache
            .join(".locks")
            .join(&self.name)
            .join(format!("{etag}.lock"))
    }

    /// From a pointer in a snapshot to the blob, as a relative path: the cache may be moved as a whole.
    pub(crate) fn target(path: &str, etag: &Etag) -> PathBuf {
        let up = path.split('/').count() + 1;
        let mut target: PathBuf = std::iter::repeat_n("..", up).collect();
        target.push("blobs");
        target.push(etag.as_str());
        target
    }
}

/// `/` in names from the hub means a folder on every system.
fn join(folder: &Path, relative: &str) -> PathBuf {
    relative
        .split('/')
        .fold(folder.to_owned(), |path, part| path.join(part))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::{Address, Etag, RepoFolder, RepoId};

    #[test]
    fn repositories_map_to_folders_and_back() {
        for name in ["unsloth/SmolLM2-135M-Instruct-GGUF", "gpt2", "a.b/c_d-e"] {
            let repo: RepoId = name.parse().unwrap();
            assert_eq!(RepoId::from_folder(&repo.folder()), Some(repo));
        }
        assert_eq!(RepoId::from_folder("datasets--a--b"), None);
        assert_eq!(
            RepoId::from_folder("models--a--b--c"),
            None,
            "such a name does not exist at the hub"
        );
    }

    #[test]
    fn names_that_are_no_repository_are_refused() {
        for name in [
            "", "/", "a/", "/b", "../b", "a/..", "a/b/c", "a--b/c", "a/b c", "ä/b", "nul/x", ".git/x",
            "a\0/b",
        ] {
            assert!(name.parse::<RepoId>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn addresses_are_read_with_and_without_revision() {
        let plain: Address = "hf:org/repo/sub dir/größe.gguf".parse().unwrap();
        assert_eq!(
            (plain.repo.as_str(), plain.path.as_str(), plain.revision.as_str()),
            ("org/repo", "sub dir/größe.gguf", "main")
        );
        let pinned: Address = "org/repo/f.gguf@refs/pr/3".parse().unwrap();
        assert_eq!(pinned.revision, "refs/pr/3");
        for bad in [
            "hf:org/repo",
            "org",
            "hf:org/repo/../x",
            "hf:org/repo//x",
            "hf:org/repo/x@../../y",
        ] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
    }

    #[test]
    fn etags_become_file_names_only_when_they_can() {
        let hash = "a".repeat(64);
        assert_eq!(
            Etag::parse(&format!("\"{hash}\"")).unwrap().sha256(),
            Some(hash.as_str())
        );
        assert_eq!(
            Etag::parse("W/\"0123456789abcdef0123456789abcdef01234567\"")
                .unwrap()
                .sha256(),
            None
        );
        for bad in ["", "\"\"", "../../../../etc/passwd", "a/b/c/d/e/f", "short"] {
            assert_eq!(Etag::parse(bad), None, "{bad:?}");
        }
        assert_eq!(Etag::parse(&"a".repeat(129)), None);
    }

    #[test]
    fn pointers_lead_back_to_the_blob() {
        let etag = Etag::parse(&"b".repeat(64)).unwrap();
        let target = RepoFolder::target("deep/er/file.gguf", &etag);
        assert_eq!(
            target,
            PathBuf::from(format!("../../../../blobs/{}", "b".repeat(64)))
        );
    }

    proptest! {
        #[test]
        fn no_repository_name_leads_out_of_the_cache(text in "[a-z./\\\\-]{0,16}|\\PC{0,16}") {
            if let Ok(repo) = text.parse::<RepoId>() {
                let folder = repo.folder();
                prop_assert!(!folder.contains(['/', '\\']) && folder.starts_with("models--"));
                prop_assert_eq!(RepoId::from_folder(&folder), Some(repo));
            }
        }

        #[test]
        fn no_etag_leads_out_of_the_blobs(text in "[a-f0-9./\"\\\\-]{0,70}|\\PC{0,16}") {
            if let Some(etag) = Etag::parse(&text) {
                prop_assert!(!etag.as_str().contains(['/', '\\', '.']));
            }
        }
    }
}
