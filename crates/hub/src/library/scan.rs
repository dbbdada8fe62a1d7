use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plimsoll_gguf::part_names;
use plimsoll_os::files;
use plimsoll_os::names::{UnsafeName, safe_relative};
use plimsoll_units::Bytes;
use tokio_util::sync::CancellationToken;

use crate::layout::{PARTS_MAX, RepoFolder, is_gguf};
use crate::{Etag, RepoId};

/// Deeper than any repository goes.
const DEPTH_MAX: usize = 16;
/// A cache with more model files than this is not walked to its end.
const FILES_MAX: usize = 20_000;
const REFERENCE_MAX: Bytes = Bytes(256);

/// A model on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// `ORG/NAME/PATH`, the path being that of the first part. The same after every scan.
    pub id: String,
    pub repo: RepoId,
    /// The commit whose files these are. Others may hold the same model; see [`crate::Library::remove`].
    pub commit: String,
    /// Of the first part, inside the repository.
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
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub at: PathBuf,
    /// Inside the repository.
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

/// Something in the cache that was passed over.
#[derive(Debug)]
pub struct Odd {
    pub at: PathBuf,
    pub why: OddReason,
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
    #[error("more than {0} model files; the rest was not looked at")]
    TooMany(usize),
}

#[derive(Debug, Default)]
pub struct Scan {
    pub models: Vec<Found>,
    pub odd: Vec<Odd>,
}

/// A model file in one snapshot.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) file: FoundFile,
    /// False for a pointer to nothing and for an empty file.
    pub(super) there: bool,
    modified: SystemTime,
}

pub(super) fn scan(cache: &Path, stop: &CancellationToken) -> Scan {
    let mut scan = Scan::default();
    let mut budget = FILES_MAX;
    for folder in children(cache, &mut scan.odd) {
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else {
            scan.odd.push(Odd {
                at: folder,
                why: OddReason::NotUnicode,
            });
            continue;
        };
        if !name.starts_with("models--") || stop.is_cancelled() {
            continue;
        }
        let Some(repo) = RepoId::from_folder(name) else {
            scan.odd.push(Odd {
                at: folder,
                why: OddReason::NoRepository,
            });
            continue;
        };
        let models = models_of(cache, &repo, &mut budget, &mut scan.odd);
        scan.models.extend(models);
    }
    scan.models.sort_by(|a, b| a.id.cmp(&b.id));
    scan
}

/// The models of one repository, each once, from the revision that serves best.
pub(super) fn models_of(cache: &Path, repo: &RepoId, budget: &mut usize, odd: &mut Vec<Odd>) -> Vec<Found> {
    let folder = RepoFolder::new(cache, repo);
    let main = files::read_up_to(&folder.reference("main"), REFERENCE_MAX).unwrap_or_default();
    let main = String::from_utf8_lossy(&main).trim().to_owned();
    let mut best: BTreeMap<String, (Found, (bool, bool, SystemTime))> = BTreeMap::new();
    for (commit, entries) in snapshots(&folder, budget, odd) {
        for (found, modified) in group(repo, &commit, &entries) {
            let rank = (found.state == FoundState::Ready, commit == main, modified);
            match best.get(&found.path) {
                Some((_, known)) if *known >= rank => {}
                Some(_) | None => {
                    best.insert(found.path.clone(), (found, rank));
                }
            }
        }
    }
    best.into_values().map(|(found, _)| found).collect()
}

/// The model files of every snapshot, by commit.
pub(super) fn snapshots(
    folder: &RepoFolder,
    budget: &mut usize,
    odd: &mut Vec<Odd>,
) -> Vec<(String, Vec<Entry>)> {
    let root = folder.snapshots();
    if !root.is_dir() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for snapshot in children(&root, odd) {
        // Real folders only: what is removed later must lie inside the cache.
        if !snapshot.symlink_metadata().is_ok_and(|about| about.is_dir()) {
            continue;
        }
        let Some(commit) = snapshot
            .file_name()
            .and_then(|name| name.to_str())
            .map(str::to_owned)
        else {
            odd.push(Odd {
                at: snapshot,
                why: OddReason::NotUnicode,
            });
            continue;
        };
        let mut entries = Vec::new();
        walk(&snapshot, "", 0, &mut entries, budget, odd);
        entries.sort_by(|a, b| a.file.path.cmp(&b.file.path));
        all.push((commit, entries));
    }
    all
}

fn walk(
    at: &Path,
    inside: &str,
    depth: usize,
    entries: &mut Vec<Entry>,
    budget: &mut usize,
    odd: &mut Vec<Odd>,
) {
    for child in children(at, odd) {
        let Some(name) = child.file_name().and_then(|name| name.to_str()) else {
            odd.push(Odd {
                at: child,
                why: OddReason::NotUnicode,
            });
            continue;
        };
        let path = if inside.is_empty() {
            name.to_owned()
        } else {
            format!("{inside}/{name}")
        };
        // Folders are followed only when they are real: a link could lead anywhere, or in a circle.
        let kind = match child.symlink_metadata() {
            Ok(about) => about.file_type(),
            Err(error) => {
                odd.push(Odd {
                    at: child,
                    why: OddReason::Unreadable(error),
                });
                continue;
            }
        };
        if kind.is_dir() {
            if depth < DEPTH_MAX {
                walk(&child, &path, depth + 1, entries, budget, odd);
            }
            continue;
        }
        if !is_gguf(name) || name.starts_with('.') {
            continue;
        }
        if let Err(error) = safe_relative(&path) {
            odd.push(Odd {
                at: child,
                why: error.into(),
            });
            continue;
        }
        if *budget == 0 {
            if !matches!(
                odd.last(),
                Some(Odd {
                    why: OddReason::TooMany(_),
                    ..
                })
            ) {
                odd.push(Odd {
                    at: child,
                    why: OddReason::TooMany(FILES_MAX),
                });
            }
            return;
        }
        *budget -= 1;
        entries.push(entry(child, path));
    }
}

fn entry(at: PathBuf, path: String) -> Entry {
    let etag = std::fs::read_link(&at)
        .ok()
        .and_then(|target| Etag::parse(target.file_name()?.to_str()?));
    // Follows the pointer; one that leads nowhere is a part that is missing.
    let about = std::fs::metadata(&at).ok().filter(std::fs::Metadata::is_file);
    let bytes = Bytes(about.as_ref().map_or(0, std::fs::Metadata::len));
    let modified = about
        .and_then(|about| about.modified().ok())
        .unwrap_or(SystemTime::UNIX_EPOCH);
    Entry {
        file: FoundFile {
            at,
            path,
            bytes,
            etag,
        },
        there: bytes > Bytes::ZERO,
        modified,
    }
}

/// Puts the files of one snapshot together to models.
fn group(repo: &RepoId, commit: &str, entries: &[Entry]) -> Vec<(Found, SystemTime)> {
    let mut done: BTreeSet<String> = BTreeSet::new();
    let mut models = Vec::new();
    for entry in entries {
        let path = &entry.file.path;
        let (inside, name) = split(path);
        if is_companion(name) {
            continue;
        }
        let paths: Vec<String> = match part_names(name) {
            Some(names) if names.len() <= PARTS_MAX => {
                names.into_iter().map(|name| format!("{inside}{name}")).collect()
            }
            Some(_) | None => vec![path.clone()],
        };
        let Some(first) = paths.first().cloned() else {
            continue;
        };
        if !done.insert(first.clone()) {
            continue;
        }
        let (mut files, mut missing, mut modified) = (Vec::new(), Vec::new(), SystemTime::UNIX_EPOCH);
        for part in &paths {
            match entries
                .iter()
                .find(|entry| entry.there && entry.file.path == *part)
            {
                Some(entry) => {
                    files.push(entry.file.clone());
                    modified = modified.max(entry.modified);
                }
                None => missing.push(split(part).1.to_owned()),
            }
        }
        let state = if missing.is_empty() {
            FoundState::Ready
        } else {
            FoundState::Incomplete
        };
        let found = Found {
            id: format!("{repo}/{first}"),
            repo: repo.clone(),
            commit: commit.to_owned(),
            path: first,
            bytes: files.iter().map(|file| file.bytes).sum(),
            projectors: projectors(entries, inside),
            files,
            missing,
            state,
        };
        models.push((found, modified));
    }
    models
}

/// A projector serves the models of its own folder, or all when it lies at the top.
fn projectors(entries: &[Entry], inside: &str) -> Vec<FoundFile> {
    let serves = |entry: &&Entry| {
        let (folder, name) = split(&entry.file.path);
        entry.there && is_projector(name) && (folder == inside || folder.is_empty())
    };
    entries
        .iter()
        .filter(serves)
        .map(|entry| entry.file.clone())
        .collect()
}

fn split(path: &str) -> (&str, &str) {
    path.rfind('/')
        .map_or(("", path), |slash| path.split_at(slash + 1))
}

fn is_projector(name: &str) -> bool {
    name.to_ascii_lowercase().contains("mmproj")
}

/// GGUF files that are no model by themselves.
pub(super) fn is_companion(name: &str) -> bool {
    is_projector(name) || name.to_ascii_lowercase().starts_with("imatrix")
}

fn children(folder: &Path, odd: &mut Vec<Odd>) -> Vec<PathBuf> {
    let mut unreadable = |at: &Path, error| {
        let why = OddReason::Unreadable(error);
        odd.push(Odd {
            at: at.to_owned(),
            why,
        });
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        // A cache that was never used is empty, not odd.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            unreadable(folder, error);
            return Vec::new();
        }
    };
    let mut children = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => children.push(entry.path()),
            Err(error) => unreadable(folder, error),
        }
    }
    children.sort();
    children
}
