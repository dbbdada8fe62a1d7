use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plimsoll_os::files;
use plimsoll_os::names::safe_relative;
use plimsoll_units::Bytes;
use tokio_util::sync::CancellationToken;

use super::found::{Found, FoundState, Odd, OddReason, Place};
use super::group::{Entry, Group, Serves, group};
use crate::RepoId;
use crate::layout::{RepoFolder, is_gguf};

/// Deeper than any repository goes.
const DEPTH_MAX: usize = 16;
/// A cache with more model files than this is not walked to its end.
const FILES_MAX: usize = 20_000;
const REFERENCE_MAX: Bytes = Bytes(256);

#[derive(Debug, Default)]
pub struct Scan {
    pub models: Vec<Found>,
    pub odd: Vec<Odd>,
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
        for group in group(&entries, Serves::Repository) {
            let rank = (group.state == FoundState::Ready, commit == main, group.modified);
            match best.get(&group.path) {
                Some((_, known)) if *known >= rank => {}
                Some(_) | None => {
                    best.insert(group.path.clone(), (found(repo, &commit, group), rank));
                }
            }
        }
    }
    best.into_values().map(|(found, _)| found).collect()
}

fn found(repo: &RepoId, commit: &str, group: Group) -> Found {
    Found {
        id: format!("{repo}/{}", group.path),
        place: Place::Library {
            repo: repo.clone(),
            commit: commit.to_owned(),
        },
        path: group.path,
        files: group.files,
        missing: group.missing,
        projectors: group.projectors,
        bytes: group.bytes,
        state: group.state,
    }
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
        entries.push(Entry::of(child, path));
    }
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
