use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plimsoll_gguf::part_names;
use plimsoll_units::Bytes;

use super::found::{FoundFile, FoundState};
use crate::Etag;
use crate::layout::PARTS_MAX;

/// A model file in one folder tree.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) file: FoundFile,
    /// False for a pointer to nothing and for an empty file.
    pub(super) there: bool,
    modified: SystemTime,
}

impl Entry {
    pub(super) fn of(at: PathBuf, path: String) -> Self {
        let etag = std::fs::read_link(&at)
            .ok()
            .and_then(|target| Etag::parse(target.file_name()?.to_str()?));
        // Follows the pointer; one that leads nowhere is a part that is missing.
        let about = std::fs::metadata(&at).ok().filter(std::fs::Metadata::is_file);
        let bytes = Bytes(about.as_ref().map_or(0, std::fs::Metadata::len));
        let modified = about
            .and_then(|about| about.modified().ok())
            .unwrap_or(SystemTime::UNIX_EPOCH);
        Self {
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
}

/// The files of one model.
pub(super) struct Group {
    pub(super) path: String,
    pub(super) files: Vec<FoundFile>,
    pub(super) missing: Vec<String>,
    pub(super) projectors: Vec<FoundFile>,
    pub(super) bytes: Bytes,
    pub(super) state: FoundState,
    pub(super) modified: SystemTime,
}

/// Which models a projector serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Serves {
    /// Those of its own folder, or all when it lies at the top: one repository.
    Repository,
    /// Those of its own folder.
    Folder,
    /// Those whose names begin as its own does: many repositories in one flat folder.
    Prefix,
}

/// Puts files together to models.
pub(super) fn group(entries: &[Entry], serves: Serves) -> Vec<Group> {
    let by_path: BTreeMap<&str, &Entry> = entries
        .iter()
        .filter(|entry| entry.there)
        .map(|entry| (entry.file.path.as_str(), entry))
        .collect();
    let projectors: Vec<&Entry> = by_path
        .values()
        .copied()
        .filter(|entry| is_projector(split(&entry.file.path).1))
        .collect();
    let mut done: BTreeSet<String> = BTreeSet::new();
    let mut groups = Vec::new();
    for entry in entries {
        let path = &entry.file.path;
        let (inside, name) = split(path);
        if is_companion(name) {
            continue;
        }
        let paths = parts_of(path);
        let Some(first) = paths.first().cloned() else {
            continue;
        };
        if !done.insert(first.clone()) {
            continue;
        }
        let (mut files, mut missing, mut modified) = (Vec::new(), Vec::new(), SystemTime::UNIX_EPOCH);
        for part in &paths {
            match by_path.get(part.as_str()) {
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
        let matches = |projector: &&&Entry| {
            let (folder, projector) = split(&projector.file.path);
            match serves {
                Serves::Repository => folder == inside || folder.is_empty(),
                Serves::Folder => folder == inside,
                Serves::Prefix => {
                    let own = projector.to_ascii_lowercase().find("mmproj").unwrap_or_default();
                    folder == inside && own > 0 && name.get(..own) == projector.get(..own)
                }
            }
        };
        groups.push(Group {
            path: first,
            bytes: files.iter().map(|file| file.bytes).sum(),
            projectors: projectors
                .iter()
                .filter(matches)
                .map(|entry| entry.file.clone())
                .collect(),
            files,
            missing,
            state,
            modified,
        });
    }
    groups
}

/// The paths of all parts of the model that this file belongs to, the file's own alone when it is whole.
pub(crate) fn parts_of(path: &str) -> Vec<String> {
    let (inside, name) = split(path);
    match part_names(name) {
        Some(names) if names.len() <= PARTS_MAX => {
            names.into_iter().map(|name| format!("{inside}{name}")).collect()
        }
        Some(_) | None => vec![path.to_owned()],
    }
}

/// The folder with its slash, and the name.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rfind('/')
        .map_or(("", path), |slash| path.split_at(slash + 1))
}

pub(crate) fn is_projector(name: &str) -> bool {
    name.to_ascii_lowercase().contains("mmproj")
}

/// GGUF files that are no model by themselves.
pub(crate) fn is_companion(name: &str) -> bool {
    is_projector(name) || name.to_ascii_lowercase().starts_with("imatrix")
}

/// The same file under two names counts once.
pub(super) fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
