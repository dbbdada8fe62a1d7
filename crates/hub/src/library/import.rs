use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plimsoll_gguf::{FileSet, Limits};
use plimsoll_os::files;
use plimsoll_os::names::{safe_component, safe_relative};
use plimsoll_units::Bytes;
use sha2::{Digest, Sha256};

use super::Found;
use super::check::sha256_of;
use super::group::is_companion;
use super::remove::remove_parts;
use super::scan::models_of;
use crate::fetch::{is_whole, place_pointer};
use crate::hex::hex;
use crate::layout::{LOCAL_OWNER, RepoFolder, is_commit};
use crate::{Etag, HubError, Note, RepoId, Watcher};

/// Where a content belongs, when somebody knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    pub repo: RepoId,
    /// A commit, or a name for one that we need not know.
    pub revision: String,
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imported {
    Done(Box<Found>),
    Stopped,
}

/// A part of the model that is taken in.
struct Piece {
    from: PathBuf,
    name: String,
    bytes: Bytes,
    etag: Etag,
}

pub(super) fn import(
    cache: &Path,
    spare: Bytes,
    path: &Path,
    known: &dyn Fn(&str) -> Option<Home>,
    watcher: &dyn Watcher,
    stops: &dyn Fn() -> bool,
) -> Result<Imported, HubError> {
    // The header first: what is no model, cut or incomplete is told before anything is hashed or placed.
    let set = FileSet::read(path, &Limits::default()).map_err(|source| HubError::Header {
        path: path.to_owned(),
        source,
    })?;
    let Some(pieces) = hash(&set, watcher, stops)? else {
        return Ok(Imported::Stopped);
    };
    let homes: Option<Vec<Home>> = pieces
        .iter()
        .map(|piece| known(piece.etag.as_str()).filter(is_usable))
        .collect();
    let (repo, commit, paths) = match homes.as_deref() {
        Some([first, rest @ ..])
            if rest
                .iter()
                .all(|home| home.repo == first.repo && home.revision == first.revision) =>
        {
            let commit = if is_commit(&first.revision) {
                first.revision.clone()
            } else {
                commit_of(&pieces)
            };
            (
                first.repo.clone(),
                commit,
                homes.iter().flatten().map(|home| home.path.clone()).collect(),
            )
        }
        Some(_) | None => local_place(cache, &pieces)?,
    };

    let folder = RepoFolder::new(cache, &repo);
    files::create_dir(&folder.blobs())?;
    check_space(cache, &folder, spare, &pieces)?;
    for (piece, inside) in pieces.iter().zip(&paths) {
        place(&folder, piece, watcher)?;
        place_pointer(&folder, &folder.pointer(&commit, inside), inside, &piece.etag)?;
    }
    if repo.is_local() {
        files::create_dir(&folder.refs())?;
        files::replace(&folder.reference("main"), commit.as_bytes())?;
    }
    let models = models_of(cache, &repo, &mut { usize::MAX }, &mut Vec::new());
    let is_it = |found: &Found| {
        paths.contains(&found.path)
            || found
                .projectors
                .iter()
                .any(|projector| paths.contains(&projector.path))
    };
    let found = models.into_iter().find(is_it);
    found
        .map(|found| Imported::Done(Box::new(found)))
        .ok_or_else(|| HubError::NotInLibrary {
            id: format!("{repo}/{}", paths.join(", ")),
        })
}

/// A projector can be known too, but only a safe name may become a path.
fn is_usable(home: &Home) -> bool {
    safe_relative(&home.path).is_ok()
}

/// Hashes every part; `None` when stopped.
fn hash(
    set: &FileSet,
    watcher: &dyn Watcher,
    stops: &dyn Fn() -> bool,
) -> Result<Option<Vec<Piece>>, HubError> {
    let total: Bytes = set.parts.iter().map(|part| part.bytes).sum();
    let mut before = Bytes::ZERO;
    let mut pieces = Vec::new();
    for part in &set.parts {
        let name = part
            .path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let name = safe_component(&name)?;
        let looked_at = stamp(&part.path);
        let hashed = sha256_of(&part.path, stops, &mut |here| {
            watcher.moved(before.plus(here.min(part.bytes)), total);
        })?;
        let Some(sha256) = hashed else { return Ok(None) };
        if looked_at != stamp(&part.path) || looked_at.is_none_or(|(bytes, _)| bytes != part.bytes) {
            return Err(HubError::Changed {
                file: name,
                expected: "the file as it was when the import began".to_owned(),
                found: "a file that is being written".to_owned(),
            });
        }
        let etag = Etag::parse(&sha256).ok_or_else(|| HubError::HashMismatch {
            file: name.clone(),
            expected: String::new(),
            found: sha256,
        })?;
        pieces.push(Piece {
            from: part.path.clone(),
            name,
            bytes: part.bytes,
            etag,
        });
        before = before.plus(part.bytes);
    }
    Ok(Some(pieces))
}

/// Size and time: a file that changes under our hands is not taken.
fn stamp(path: &Path) -> Option<(Bytes, Option<SystemTime>)> {
    std::fs::metadata(path)
        .ok()
        .map(|about: Metadata| (Bytes(about.len()), about.modified().ok()))
}

/// The layout wants a commit. One made from the content is the same on every machine and cannot be mistaken for
/// another content's.
fn commit_of(pieces: &[Piece]) -> String {
    let mut hasher = Sha256::new();
    for piece in pieces {
        hasher.update(piece.etag.as_str());
        hasher.update(&piece.name);
    }
    hex(&hasher.finalize()).chars().take(40).collect()
}

/// A place under `local/NAME`, where NAME is the file's own name made fit; a second model of the same file name
/// gets some digits of its hash as well.
fn local_place(cache: &Path, pieces: &[Piece]) -> Result<(RepoId, String, Vec<String>), HubError> {
    let commit = commit_of(pieces);
    let digits: String = commit.chars().take(8).collect();
    let first = pieces.first().map_or("", |piece| piece.name.as_str());
    let stem = fit(first);
    let plain = if stem.is_empty() {
        format!("model-{digits}")
    } else {
        stem
    };
    let taken = |repo: &RepoId| {
        let folder = RepoFolder::new(cache, repo);
        let reference = files::read_up_to(&folder.reference("main"), Bytes(256)).unwrap_or_default();
        folder.path().exists() && String::from_utf8_lossy(&reference).trim() != commit
    };
    if is_companion(first) {
        return Err(HubError::NoModel {
            name: first.to_owned(),
        });
    }
    let mut repo: RepoId = format!("{LOCAL_OWNER}/{plain}").parse()?;
    if taken(&repo) {
        repo = format!("{LOCAL_OWNER}/{plain}-{digits}").parse()?;
    }
    Ok((
        repo,
        commit,
        pieces.iter().map(|piece| piece.name.clone()).collect(),
    ))
}

/// The stem of a file name as a repository's name.
fn fit(name: &str) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    // Without `-00001-of-00003`.
    let stem = match plimsoll_gguf::part_names(name) {
        Some(_) => stem.rsplitn(4, '-').nth(3).unwrap_or(stem),
        None => stem,
    };
    let mut fitted = String::new();
    for character in stem.chars() {
        let character = if character.is_ascii_alphanumeric() || "_.".contains(character) {
            character
        } else {
            '-'
        };
        let doubled = "-.".contains(character) && fitted.ends_with(['-', '.']);
        if !doubled {
            fitted.push(character);
        }
    }
    let short: String = fitted.trim_matches(['-', '.']).chars().take(80).collect();
    short.trim_matches(['-', '.']).to_owned()
}

/// Only what has to be copied takes space.
fn check_space(cache: &Path, folder: &RepoFolder, spare: Bytes, pieces: &[Piece]) -> Result<(), HubError> {
    let copied = |piece: &&Piece| {
        !is_whole(&folder.blob(&piece.etag), piece.bytes) && !same_volume(&piece.from, &folder.blobs())
    };
    let needed: Bytes = pieces.iter().filter(copied).map(|piece| piece.bytes).sum();
    if needed == Bytes::ZERO {
        return Ok(());
    }
    let free = files::free_space(cache)?;
    let needed = needed.plus(spare);
    if needed > free {
        return Err(HubError::DiskFull {
            folder: cache.to_owned(),
            needed,
            free,
        });
    }
    Ok(())
}

#[cfg(unix)]
pub(super) fn same_volume(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let volume = |path: &Path| std::fs::metadata(path).map(|about| about.dev());
    matches!((volume(one), volume(other)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(not(unix))]
pub(super) fn same_volume(one: &Path, other: &Path) -> bool {
    let drive = |path: &Path| {
        std::fs::canonicalize(path)
            .ok()?
            .components()
            .next()
            .map(|c| c.as_os_str().to_owned())
    };
    matches!((drive(one), drive(other)), (Some(one), Some(other)) if one == other)
}

fn place(folder: &RepoFolder, piece: &Piece, watcher: &dyn Watcher) -> Result<(), HubError> {
    let blob = folder.blob(&piece.etag);
    // One that is there was right once. Somebody may take a model in again because it no longer is.
    if is_whole(&blob, piece.bytes)
        && sha256_of(&blob, &|| false, &mut |_| {})?.as_deref() == piece.etag.sha256()
    {
        return Ok(());
    }
    watcher.noted(Note::Placing {
        file: piece.name.clone(),
    });
    files::link_or_copy(&piece.from, &blob)?;
    // A download of the same content that was begun is finished by this.
    remove_parts(folder, &piece.etag).map(drop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::fit;
    use crate::RepoId;

    #[test]
    fn file_names_become_repository_names() {
        for (name, wanted) in [
            (
                "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M.gguf",
                "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M",
            ),
            ("big model-00002-of-00003.gguf", "big-model"),
            ("größe  (neu).gguf", "gr-e-neu"),
            ("モデル.gguf", ""),
            ("..--..gguf", ""),
        ] {
            assert_eq!(fit(name), wanted, "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_fitted_name_is_a_repository(name in "\\PC{0,120}") {
            let fitted = fit(&name);
            if !fitted.is_empty() {
                let repo = format!("local/{fitted}").parse::<RepoId>();
                // Names that Windows reserves stay refused; the caller says so.
                prop_assert!(repo.is_ok() || plimsoll_os::names::safe_component(&fitted).is_err(), "{fitted:?}");
            }
        }
    }
}
