use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use plimsoll_os::files::{self, Lock};
use plimsoll_units::Bytes;

use super::found::{Found, Place};
use super::group::{Entry, is_companion, parts_of};
use super::scan::snapshots;
use crate::fetch::allocated;
use crate::layout::{RepoFolder, is_commit};
use crate::{Etag, HubError};

/// What removing a model takes away.
struct Removal {
    folder: RepoFolder,
    pointers: Vec<PathBuf>,
    /// Contents that nobody points at afterwards.
    contents: Vec<Etag>,
    commits: Vec<String>,
    /// Of pointers that are the bytes themselves, as on systems without links.
    own: Bytes,
}

fn plan(cache: &Path, found: &Found) -> Result<Removal, HubError> {
    let Place::Library { repo, .. } = &found.place else {
        let path = found
            .files
            .first()
            .map_or_else(PathBuf::new, |file| file.at.clone());
        return Err(HubError::OutsideLibrary { path });
    };
    let folder = RepoFolder::new(cache, repo);
    check_inside(&folder)?;
    // All parts, the missing ones too: they may be there in another revision.
    let names: BTreeSet<String> = parts_of(&found.path).into_iter().collect();
    let all = snapshots(&folder, &mut { usize::MAX }, &mut Vec::new());
    let entries = || all.iter().flat_map(|(_, entries)| entries);
    let of_model = |entry: &&Entry| names.contains(&entry.file.path);
    if !entries().any(|entry| of_model(&entry)) {
        return Err(HubError::NotInLibrary { id: found.id.clone() });
    }
    // With its last model a repository loses its projectors as well.
    let others_left = entries().any(|entry| {
        !of_model(&entry) && !is_companion(entry.file.path.rsplit('/').next().unwrap_or_default())
    });
    let goes = |entry: &&Entry| of_model(entry) || !others_left;
    let stays: BTreeSet<&str> = entries()
        .filter(|entry| !goes(entry))
        .filter_map(|entry| entry.file.etag.as_ref().map(Etag::as_str))
        .collect();
    let contents: BTreeSet<&str> = entries()
        .filter(goes)
        .filter_map(|entry| entry.file.etag.as_ref().map(Etag::as_str))
        .filter(|content| !stays.contains(content))
        .collect();
    Ok(Removal {
        pointers: entries()
            .filter(goes)
            .map(|entry| entry.file.at.clone())
            .collect(),
        contents: contents.into_iter().filter_map(Etag::parse).collect(),
        own: entries()
            .filter(|entry| goes(entry) && entry.file.etag.is_none())
            .map(|entry| given_back(&entry.file.at))
            .sum(),
        commits: all.iter().map(|(commit, _)| commit.clone()).collect(),
        folder,
    })
}

/// What the disk would get back.
pub(super) fn frees(cache: &Path, found: &Found) -> Bytes {
    plan(cache, found).map_or(Bytes::ZERO, |removal| {
        let contents = removal.contents.iter();
        let blobs: Bytes = contents.map(|etag| given_back(&removal.folder.blob(etag))).sum();
        removal.own.plus(blobs)
    })
}

/// Removes pointers first and bytes after, so that a crash in between leaves bytes without a name, never a name
/// without bytes.
pub(super) fn remove(cache: &Path, found: &Found) -> Result<Bytes, HubError> {
    let removal = plan(cache, found)?;
    let mut freed = removal.own;
    for pointer in &removal.pointers {
        files::remove_file(pointer)?;
    }
    for etag in &removal.contents {
        freed = freed.plus(remove_content(&removal.folder, etag)?);
    }
    for commit in &removal.commits {
        remove_empty(&removal.folder.snapshots().join(commit));
    }
    tidy(&removal.folder)?;
    Ok(freed)
}

/// The folder must be a real one inside the cache: behind a link everything could lie.
fn check_inside(folder: &RepoFolder) -> Result<(), HubError> {
    for path in [folder.path(), folder.blobs(), folder.snapshots()] {
        match path.symlink_metadata() {
            Ok(about) if about.file_type().is_symlink() => return Err(HubError::OutsideLibrary { path }),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// The blob and what a download of it left. Only ever a plain file in the repository's own `blobs`.
fn remove_content(folder: &RepoFolder, etag: &Etag) -> Result<Bytes, HubError> {
    let blob = folder.blob(etag);
    let freed = given_back(&blob);
    files::remove_file(&blob)?;
    Ok(freed.plus(remove_parts(folder, etag)?))
}

/// What an unfinished download left. Somebody who fetches it just now keeps what he has.
pub(crate) fn remove_parts(folder: &RepoFolder, etag: &Etag) -> Result<Bytes, HubError> {
    let parts = [folder.part(etag), folder.older_part(etag)];
    if !parts.iter().any(|part| part.exists()) {
        return Ok(Bytes::ZERO);
    }
    let lock = folder.lock(etag);
    if let Some(locks) = lock.parent() {
        files::create_dir(locks)?;
    }
    let Some(_held) = Lock::try_exclusive(&lock)? else {
        return Ok(Bytes::ZERO);
    };
    let mut freed = Bytes::ZERO;
    for part in &parts {
        freed = freed.plus(given_back(part));
        files::remove_file(part)?;
    }
    Ok(freed)
}

/// What the disk gets back: nothing while the bytes have another name.
fn given_back(path: &Path) -> Bytes {
    let Ok(about) = path.symlink_metadata() else {
        return Bytes::ZERO;
    };
    if !about.is_file() || names_of(&about) > 1 {
        Bytes::ZERO
    } else {
        // A part with gaps takes less than its length says.
        Bytes(about.len()).min(allocated(path))
    }
}

#[cfg(unix)]
pub(crate) fn names_of(about: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(about)
}

#[cfg(not(unix))]
pub(crate) fn names_of(_: &std::fs::Metadata) -> u64 {
    1
}

/// Removes folders that hold nothing, from the bottom up. A folder that somebody fills meanwhile refuses, which
/// is why this is no removal of a tree.
fn remove_empty(folder: &Path) {
    let Ok(children) = std::fs::read_dir(folder) else {
        return;
    };
    for child in children.flatten() {
        if child.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&child.path());
        }
    }
    let _ = std::fs::remove_dir(folder);
}

/// Branch names without a snapshot go, and with the last snapshot the repository's folders.
fn tidy(folder: &RepoFolder) -> Result<(), HubError> {
    for reference in files_below(&folder.refs()) {
        let commit = files::read_up_to(&reference, Bytes(256)).unwrap_or_default();
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        if is_commit(&commit) && !folder.snapshots().join(&commit).exists() {
            files::remove_file(&reference)?;
        }
    }
    for empty in [folder.refs(), folder.snapshots(), folder.blobs()] {
        remove_empty(&empty);
    }
    let _ = std::fs::remove_dir(folder.path());
    Ok(())
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(children) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for child in children.flatten() {
        match child.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&child.path())),
            Ok(kind) if kind.is_file() => files.push(child.path()),
            Ok(_) | Err(_) => {}
        }
    }
    files
}
