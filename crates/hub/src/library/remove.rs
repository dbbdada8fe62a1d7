use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use plimsoll_gguf::part_names;
use plimsoll_os::files::{self, Lock};
use plimsoll_units::Bytes;

use super::Found;
use super::scan::{Entry, is_companion, snapshots};
use crate::fetch::allocated;
use crate::layout::{RepoFolder, is_commit};
use crate::{Etag, HubError};

/// Removes pointers first and bytes after, so that a crash in between leaves bytes without a name, never a name
/// without bytes.
pub(super) fn remove(cache: &Path, found: &Found) -> Result<Bytes, HubError> {
    let folder = RepoFolder::new(cache, &found.repo);
    check_inside(&folder)?;
    let names = paths_of(found);
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

    let mut freed = Bytes::ZERO;
    let mut contents: BTreeSet<String> = BTreeSet::new();
    for entry in entries().filter(goes) {
        match &entry.file.etag {
            Some(etag) => drop(contents.insert(etag.as_str().to_owned())),
            // No pointer but the bytes themselves, as on systems without links.
            None => freed = freed.plus(given_back(&entry.file.at)),
        }
        files::remove_file(&entry.file.at)?;
    }
    for content in contents {
        let Some(etag) = Etag::parse(&content) else {
            continue;
        };
        let still_used = entries().any(|entry| !goes(&entry) && entry.file.etag.as_ref() == Some(&etag));
        if !still_used {
            freed = freed.plus(remove_content(&folder, &etag)?);
        }
    }
    for (commit, _) in &all {
        remove_empty(&folder.snapshots().join(commit));
    }
    tidy(&folder)?;
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

/// All parts of the model, the missing ones too: they may be there in another revision.
fn paths_of(found: &Found) -> BTreeSet<String> {
    let (inside, name) = found
        .path
        .rfind('/')
        .map_or(("", found.path.as_str()), |slash| found.path.split_at(slash + 1));
    match part_names(name) {
        Some(names) => names.into_iter().map(|name| format!("{inside}{name}")).collect(),
        None => BTreeSet::from([found.path.clone()]),
    }
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
