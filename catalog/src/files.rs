use plimsoll_units::Bytes;
use serde::Deserialize;

/// One quantisation of a model.
#[derive(Debug, Clone, Deserialize)]
pub struct Variant {
    pub quant: String,
    /// In the order of a split set.
    pub files: Vec<File>,
}

impl Variant {
    /// Of all files together.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Size, hash and commit of every file were confirmed.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.files.iter().all(|file| file.verified)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct File {
    /// `owner/name` on the hub.
    pub repo: String,
    /// A commit, or `main` where none is pinned.
    pub revision: String,
    pub path: String,
    pub bytes: Bytes,
    /// Nobody gave the exact size; `bytes` is about right.
    #[serde(default)]
    pub approximate: bool,
    /// 64 hexadecimal digits, where somebody gave them.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Size, hash and revision are pinned by at least two projects independently, or were measured by us; else the
    /// hub's own word counts, and a difference is told.
    pub verified: bool,
    pub source: String,
}

impl File {
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let hash = self.sha256.as_deref();
        let is_hash = |hash: &str| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        let is_commit =
            |revision: &str| revision.len() == 40 && revision.bytes().all(|b| b.is_ascii_hexdigit());
        if self.bytes == Bytes::ZERO {
            Some("a file without a size")
        } else if hash.is_some_and(|hash| !is_hash(hash)) {
            Some("a sha256 is 64 hexadecimal digits")
        } else if self.verified && (hash.is_none() || self.approximate || !is_commit(&self.revision)) {
            Some("a verified file has a commit, a size and a hash")
        } else if self.repo.split('/').count() != 2 {
            Some("a repository is owner/name")
        } else if self.source.is_empty() {
            Some("a file without a source")
        } else {
            None
        }
    }
}

/// What turns pictures into tokens: llama.cpp's `--mmproj`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Projector {
    pub quant: String,
    pub file: File,
}

/// A small model that guesses ahead of the large one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Draft {
    pub kind: DraftKind,
    pub quant: String,
    pub file: File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DraftKind {
    /// The model's own extra layers, shipped apart.
    Mtp,
    /// A model of its own.
    Draft,
}
