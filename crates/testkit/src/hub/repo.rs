use std::collections::BTreeMap;
use std::fmt::Write as _;

use bytes::Bytes;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// How the hub stores a file, which decides what its answers look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    /// In git itself: answered directly, the `ETag` is a git object id.
    Plain,
    /// In LFS: redirected to the CDN, the linked `ETag` is the sha256.
    Lfs,
    /// As LFS, with the extra header of the chunked store.
    Xet,
}

/// A file of a fake repository.
#[derive(Debug, Clone)]
pub struct FakeFile {
    pub(super) bytes: Bytes,
    pub(super) sha256: String,
    /// What git calls a blob of these bytes.
    pub(super) oid: String,
    pub(super) storage: Storage,
}

impl FakeFile {
    fn new(bytes: Bytes, storage: Storage) -> Self {
        let sha256 = sha256_hex(&bytes);
        let git = Sha1::new()
            .chain_update(format!("blob {}\0", bytes.len()))
            .chain_update(&bytes);
        Self {
            oid: hex(&git.finalize()),
            bytes,
            sha256,
            storage,
        }
    }

    /// A large file, as models are.
    pub fn lfs(bytes: impl Into<Bytes>) -> Self {
        Self::new(bytes.into(), Storage::Lfs)
    }

    /// A large file in the hub's chunked store.
    pub fn xet(bytes: impl Into<Bytes>) -> Self {
        Self::new(bytes.into(), Storage::Xet)
    }

    /// A small text file in git.
    pub fn plain(bytes: impl Into<Bytes>) -> Self {
        Self::new(bytes.into(), Storage::Plain)
    }

    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    #[must_use]
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What the hub calls this content: the sha256 for large files, 40 digits for files in git.
    #[must_use]
    pub fn etag(&self) -> &str {
        match self.storage {
            Storage::Plain => &self.oid,
            Storage::Lfs | Storage::Xet => &self.sha256,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Commit {
    pub(super) id: String,
    pub(super) files: BTreeMap<String, FakeFile>,
}

#[derive(Debug, Default)]
pub(super) struct Repo {
    pub(super) commits: Vec<Commit>,
    /// Nothing without this token.
    pub(super) gate: Option<String>,
    /// No file without this token; everybody may see what there is.
    pub(super) terms: Option<String>,
    pub(super) facts: RepoFacts,
}

/// What the hub tells of a repository beside its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepoFacts {
    pub downloads: u64,
    pub likes: u64,
    pub licence: Option<String>,
}

impl Repo {
    /// The commit that a branch name or a commit id means.
    pub(super) fn at(&self, revision: &str) -> Option<&Commit> {
        match revision {
            "main" => self.commits.last(),
            id => self.commits.iter().find(|commit| commit.id == id),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Repos {
    repos: BTreeMap<String, Repo>,
    releases: BTreeMap<String, FakeFile>,
}

impl Repos {
    pub(super) fn commit(&mut self, name: &str, files: &[(&str, FakeFile)]) -> String {
        let repo = self.repos.entry(name.to_owned()).or_default();
        let mut all = repo
            .commits
            .last()
            .map(|commit| commit.files.clone())
            .unwrap_or_default();
        all.extend(
            files
                .iter()
                .map(|(path, file)| ((*path).to_owned(), file.clone())),
        );
        let mut story = format!("{name} {}", repo.commits.len());
        for (path, file) in &all {
            write!(story, " {path} {}", file.sha256).expect("writing to a string");
        }
        let id = sha256_hex(story.as_bytes())[..40].to_owned();
        repo.commits.push(Commit {
            id: id.clone(),
            files: all,
        });
        id
    }

    /// Gives the last commit another id.
    pub(super) fn rename_last(&mut self, name: &str, id: &str) {
        let last = self.repos.get_mut(name).and_then(|repo| repo.commits.last_mut());
        id.clone_into(&mut last.expect("something was committed").id);
    }

    pub(super) fn gate(&mut self, name: &str, token: &str) {
        self.repos.entry(name.to_owned()).or_default().gate = Some(token.to_owned());
    }

    pub(super) fn set_terms(&mut self, name: &str, token: &str) {
        self.repos.entry(name.to_owned()).or_default().terms = Some(token.to_owned());
    }

    pub(super) fn set_facts(&mut self, name: &str, facts: RepoFacts) {
        self.repos.entry(name.to_owned()).or_default().facts = facts;
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Repo)> {
        self.repos.iter().map(|(name, repo)| (name.as_str(), repo))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Repo> {
        self.repos.get(name)
    }

    pub(super) fn release(&mut self, path: &str, bytes: Bytes) {
        self.releases.insert(path.to_owned(), FakeFile::lfs(bytes));
    }

    pub(super) fn released(&self, path: &str) -> Option<&FakeFile> {
        self.releases.get(path)
    }

    /// The file with this content, wherever it lies.
    pub(super) fn blob(&self, sha256: &str) -> Option<FakeFile> {
        let in_repos = self
            .repos
            .values()
            .flat_map(|repo| &repo.commits)
            .flat_map(|commit| commit.files.values());
        in_repos
            .chain(self.releases.values())
            .find(|file| file.sha256 == sha256)
            .cloned()
    }
}

pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string");
        hex
    })
}
