use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_os::names::UnsafeName;
use plimsoll_units::Bytes;

use crate::{Etag, RepoId};

/// A model on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// `ORG/NAME/PATH` in the library, `KEEPER:PATH` elsewhere, the path being that of the first part. The same
    /// after every scan.
    pub id: String,
    pub place: Place,
    /// Of the first part, inside the repository or the keeper's folder; another program's own name for the
    /// model where its files have none.
    pub path: String,
    /// The parts that are there, in their order.
    pub files: Vec<FoundFile>,
    /// Names of the parts that are not.
    pub missing: Vec<String>,
    /// Projectors that lie beside the model.
    pub projectors: Vec<FoundFile>,
    /// Of all parts that are there.
    pub bytes: Bytes,
    pub state: FoundState,
}

impl Found {
    /// What an engine is given: the first part.
    #[must_use]
    pub fn first(&self) -> Option<&Path> {
        self.files
            .first()
            .filter(|_| self.state == FoundState::Ready)
            .map(|file| file.at.as_path())
    }

    /// Where the hub has this file: certain in the library, a guess by names elsewhere.
    #[must_use]
    pub fn at_hub(&self) -> Option<(&RepoId, &str)> {
        match &self.place {
            Place::Library { repo, .. } => Some((repo, &self.path)),
            Place::Elsewhere { likely, .. } => likely.as_ref().map(|(repo, path)| (repo, path.as_str())),
        }
    }

    /// Who keeps it; `None` for the library.
    #[must_use]
    pub const fn keeper(&self) -> Option<Keeper> {
        match &self.place {
            Place::Library { .. } => None,
            Place::Elsewhere { source, .. } => Some(source.keeper),
        }
    }
}

/// Whose a model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Ours to change.
    Library {
        repo: RepoId,
        /// The commit whose files these are. Others may hold the same model; see [`crate::Library::remove`].
        commit: String,
    },
    /// Read and used in place, never written, moved or removed.
    Elsewhere {
        source: Source,
        /// The repository and path it was probably fetched from.
        likely: Option<(RepoId, String)>,
    },
}

/// Whoever keeps models in a place of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keeper {
    LmStudio,
    Ollama,
    LlamaCpp,
    Jan,
    Gpt4All,
    /// A folder that the person named.
    Folder,
}

impl Keeper {
    /// As ids begin.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LmStudio => "lmstudio",
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llama.cpp",
            Self::Jan => "jan",
            Self::Gpt4All => "gpt4all",
            Self::Folder => "folder",
        }
    }
}

impl fmt::Display for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A folder with models that are not the library's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub keeper: Keeper,
    pub folder: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub at: PathBuf,
    /// Inside the repository or the keeper's folder.
    pub path: String,
    pub bytes: Bytes,
    /// The name of the content, where the layout tells it.
    pub etag: Option<Etag>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundState {
    /// Every part is there. Whether its bytes are right, only hashing tells.
    Ready,
    Incomplete,
}

/// Something that was passed over.
#[derive(Debug)]
pub struct Odd {
    pub at: PathBuf,
    pub why: OddReason,
}

impl Odd {
    pub(super) fn new(at: &Path, why: OddReason) -> Self {
        Self {
            at: at.to_owned(),
            why,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OddReason {
    #[error("cannot be read")]
    Unreadable(#[source] io::Error),
    #[error(transparent)]
    Name(#[from] UnsafeName),
    #[error("the name is not Unicode")]
    NotUnicode,
    #[error("is no repository's folder")]
    NoRepository,
    #[error("more than {0} files; the rest was not looked at")]
    TooMany(usize),
    #[error("its manifest makes no sense: {0}")]
    Manifest(&'static str),
    #[error("holds no single GGUF model: {0}")]
    Unusable(&'static str),
    #[error("is not there")]
    Gone,
}
