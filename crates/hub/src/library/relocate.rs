//! The library's way to another folder, on this disk or another: every file is copied, synced and read again
//! before the old one goes, so that an end at any moment leaves a library that is whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use plimsoll_os::files::{self, PartFile};
use plimsoll_os::names::safe_relative;
use plimsoll_units::Bytes;
use sha2::{Digest, Sha256};

use super::check::sha256_of;
use super::group::real;
use super::import::same_volume;
use crate::hex::hex;
use crate::layout::PARTIAL;
use crate::{FreshStart, HubError, Note, Watcher};

/// Names of repositories' folders begin so; what else lies in a cache is not ours to move.
const REPOSITORY: &str = "models--";
/// Ends the name of a file that is not all there yet. Its name tells whose it is, so that a second try finds it.
const PART: &str = ".moving";
/// Temporary files of whoever replaces something just now.
const TEMPORARY: &str = ".plimsoll-";
const PIECE: usize = 1 << 20;
/// As deep as a scan goes.
const DEPTH_MAX: usize = 20;
/// Other programs may fetch while we copy; after so many rounds they are too busy to be followed.
const ROUNDS_MAX: usize = 5;
/// In a library's folder that was chosen: without it a disk that is not there would look like an empty library.
pub(crate) const MARK: &str = ".plimsoll-library";

/// How a copy of the library ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relocated {
    /// All of it is at the new place and was read again there.
    Done { files: u64, bytes: Bytes },
    /// What was copied stays, and the next try goes on from there.
    Stopped,
}

/// Something below the cache, by its path inside.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Thing {
    File {
        bytes: Bytes,
        identity: (u64, u64),
        modified: SystemTime,
    },
    Link {
        target: PathBuf,
    },
}

type Things = BTreeMap<String, Thing>;

/// Copies all models from one cache to another.
pub(super) fn copy(
    from: &Path,
    to: &Path,
    spare: Bytes,
    watcher: &dyn Watcher,
    stops: &dyn Fn() -> bool,
) -> Result<Relocated, HubError> {
    files::create_dir(to)?;
    let (from, to) = (real(from), real(to));
    if from == to || to.starts_with(&from) || from.starts_with(&to) {
        return Err(HubError::OutsideLibrary { path: to });
    }
    let linking = same_volume(&from, &to);
    let mut names: BTreeMap<(u64, u64), PathBuf> = BTreeMap::new();
    for _ in 0..ROUNDS_MAX {
        let mut things = things(&from);
        // What an earlier move to here left behind.
        things.retain(|path, _| !path.ends_with(PART));
        let total: Bytes = things.values().map(size).sum();
        let open: Vec<(&String, &Thing)> = things
            .iter()
            .filter(|(path, thing)| !is_there(&to, path, thing))
            .collect();
        if open.is_empty() {
            files::replace(
                &to.join(MARK),
                b"Models of Plimsoll and other programs lie here.\n",
            )?;
            return Ok(Relocated::Done {
                files: things.len() as u64,
                bytes: total,
            });
        }
        let needed: Bytes = open.iter().map(|(path, thing)| left(&to, path, thing)).sum();
        if !linking {
            check_space(&to, needed, spare)?;
        }
        let mut done = total.less(open.iter().map(|(_, thing)| size(thing)).sum());
        watcher.moved(done, total);
        for (path, thing) in open {
            if stops() {
                return Ok(Relocated::Stopped);
            }
            let (source, target) = (from.join(path), to.join(path));
            if let Some(folder) = target.parent() {
                files::create_dir(folder)?;
            }
            match thing {
                Thing::Link { target: leads } => {
                    // A file system without links gets a copy, as a download there would have.
                    if let Err(error) = files::symlink(leads, &target) {
                        if error.is_disk_full() {
                            return Err(error.into());
                        }
                        files::link_or_copy(&source, &target)?;
                    }
                }
                Thing::File { bytes, identity, .. } => {
                    let before = done;
                    let mut moved =
                        |here: Bytes| watcher.moved(before.plus(here.min(*bytes)).min(total), total);
                    // The same file under a second name stays one file.
                    let known = names.get(identity).filter(|_| *identity != (0, 0));
                    let placed = match known {
                        Some(known) => files::link_or_copy(known, &target).map(|_| true)?,
                        None if linking => files::link_or_copy(&source, &target).map(|_| true)?,
                        None => carry(&source, &target, *bytes, watcher, stops, &mut moved)?,
                    };
                    if !placed {
                        return Ok(Relocated::Stopped);
                    }
                    names.insert(*identity, target);
                    done = done.plus(*bytes);
                }
            }
            watcher.moved(done.min(total), total);
        }
    }
    Err(HubError::Changed {
        file: from.display().to_string(),
        expected: "a library that nobody changes for a while".to_owned(),
        found: "new files in every round".to_owned(),
    })
}

/// Takes away what lies at the new place as well. A file that came meanwhile stays, with its folder. Says how much
/// space that gave back, and how many files stayed.
pub(super) fn clear(from: &Path, to: &Path) -> Result<(Bytes, u64), HubError> {
    let (from, to) = (real(from), real(to));
    if from == to || !to.join(MARK).is_file() {
        return Err(HubError::OutsideLibrary { path: from });
    }
    let (mut freed, mut stayed) = (Bytes::ZERO, 0);
    // Names of the same bytes give nothing back.
    let gives_back = !same_volume(&from, &to);
    let things = things(&from);
    // Pointers first, so that an end in between leaves bytes without a name and never a name without bytes.
    let (links, plain): (Vec<_>, Vec<_>) = things
        .iter()
        .partition(|(_, thing)| matches!(thing, Thing::Link { .. }));
    for (path, thing) in links.into_iter().chain(plain) {
        if is_there(&to, path, thing) {
            files::remove_file(&from.join(path))?;
            if gives_back {
                freed = freed.plus(size(thing));
            }
        } else {
            stayed += 1;
        }
    }
    for folder in repositories(&from) {
        remove_empty(&folder, 0);
    }
    let _ = files::remove_file(&from.join(MARK));
    Ok((freed, stayed))
}

/// Takes away what a copy that was given up left at the new place: parts always, and whole files only when the
/// place was empty before.
pub(super) fn give_up(from: &Path, to: &Path, was_empty: bool) -> Result<Bytes, HubError> {
    let (from, to) = (real(from), real(to));
    if from == to || to.join(MARK).is_file() {
        return Ok(Bytes::ZERO);
    }
    let ours = things(&from);
    let mut freed = Bytes::ZERO;
    for (path, thing) in things(&to) {
        let part = path
            .strip_suffix(PART)
            .is_some_and(|whole| ours.contains_key(whole));
        let copy = was_empty
            && ours
                .get(&path)
                .is_some_and(|original| size(original) == size(&thing));
        if part || copy {
            files::remove_file(&to.join(&path))?;
            freed = freed.plus(size(&thing));
        }
    }
    for folder in repositories(&to) {
        remove_empty(&folder, 0);
    }
    Ok(freed)
}

/// Nothing of anybody's models is there.
pub(super) fn is_empty(cache: &Path) -> bool {
    repositories(cache).is_empty()
}

/// One file, over the border of two disks. False when stopped on the way. What an earlier try left is used, and
/// thrown away when it turns out not to fit.
fn carry(
    source: &Path,
    target: &Path,
    bytes: Bytes,
    watcher: &dyn Watcher,
    stops: &dyn Fn() -> bool,
    moved: &mut dyn FnMut(Bytes),
) -> Result<bool, HubError> {
    match carry_once(source, target, bytes, watcher, stops, moved) {
        Err(HubError::HashMismatch { file, .. }) => {
            watcher.noted(Note::StartedOver {
                file,
                why: FreshStart::HashMismatch,
            });
            carry_once(source, target, bytes, watcher, stops, moved)
        }
        other => other,
    }
}

fn carry_once(
    source: &Path,
    target: &Path,
    bytes: Bytes,
    watcher: &dyn Watcher,
    stops: &dyn Fn() -> bool,
    moved: &mut dyn FnMut(Bytes),
) -> Result<bool, HubError> {
    let name = target
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let beside = target.with_file_name(format!("{name}{PART}"));
    let reader = PartFile::open_to_read(source)?;
    let part = PartFile::open(&beside)?;
    // What an earlier try wrote counts, and is read again with the rest; what is longer is no part of this.
    if part.len()? > bytes {
        part.set_len(Bytes::ZERO)?;
    }
    let written = part.len()?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; PIECE];
    let mut at = Bytes::ZERO;
    loop {
        if stops() {
            part.sync_data()?;
            return Ok(false);
        }
        let got = reader.read_at(at, &mut buffer)?;
        if got == 0 {
            break;
        }
        let piece = &buffer[..got];
        hasher.update(piece);
        let end = at.plus(Bytes(got as u64));
        if end > written {
            let skip = usize::try_from(written.less(at).0).unwrap_or(usize::MAX).min(got);
            part.write_at(at.plus(Bytes(skip as u64)), &piece[skip..])?;
        }
        at = end;
        moved(at);
    }
    let expected = hex(&hasher.finalize());
    part.sync_data()?;
    part.drop_cached();
    watcher.noted(Note::Checking { file: name.clone() });
    // What the other disk gives back, not what we meant to write.
    let Some(found) = sha256_of(&beside, stops, &mut |_| {})? else {
        return Ok(false);
    };
    if found != expected || at != bytes {
        files::remove_file(&beside)?;
        return Err(HubError::HashMismatch {
            file: name,
            expected,
            found,
        });
    }
    // The time tells the next look that this file was read again here.
    if let Ok(modified) = std::fs::metadata(source).and_then(|about| about.modified()) {
        part.set_modified(modified)?;
    }
    drop(part);
    files::publish(&beside, target)?;
    Ok(true)
}

fn size(thing: &Thing) -> Bytes {
    match thing {
        Thing::File { bytes, .. } => *bytes,
        Thing::Link { .. } => Bytes::ZERO,
    }
}

/// Some file systems keep times to two seconds only.
fn is_about(one: SystemTime, other: SystemTime) -> bool {
    let apart = one.duration_since(other).or_else(|_| other.duration_since(one));
    apart.is_ok_and(|apart| apart <= Duration::from_secs(2))
}

fn left(to: &Path, path: &str, thing: &Thing) -> Bytes {
    let part = std::fs::metadata(to.join(format!("{path}{PART}"))).map_or(0, |about| about.len());
    size(thing).less(Bytes(part))
}

/// A file gets its name and the time of the original only after it was read again at the new place: one that was
/// there before has another time, and is not believed.
fn is_there(to: &Path, path: &str, thing: &Thing) -> bool {
    let target = to.join(path);
    match thing {
        Thing::Link { target: leads } => {
            // Where links cannot be made it is a file.
            std::fs::read_link(&target).map_or_else(|_| target.is_file(), |there| there == *leads)
        }
        Thing::File { bytes, modified, .. } => std::fs::symlink_metadata(&target).is_ok_and(|about| {
            about.is_file()
                && about.len() == bytes.0
                && about.modified().is_ok_and(|there| is_about(there, *modified))
        }),
    }
}

fn check_space(to: &Path, needed: Bytes, spare: Bytes) -> Result<(), HubError> {
    if needed == Bytes::ZERO {
        return Ok(());
    }
    let (free, needed) = (files::free_space(to)?, needed.plus(spare));
    if needed > free {
        return Err(HubError::DiskFull {
            folder: to.to_owned(),
            needed,
            free,
        });
    }
    Ok(())
}

/// The folders of repositories. Linked ones lie elsewhere and stay there.
fn repositories(cache: &Path) -> Vec<PathBuf> {
    let Ok(children) = std::fs::read_dir(cache) else {
        return Vec::new();
    };
    let is_ours = |entry: &std::fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir())
            && entry
                .file_name()
                .to_str()
                .is_some_and(|name| name.starts_with(REPOSITORY))
    };
    let mut folders: Vec<PathBuf> = children
        .flatten()
        .filter(is_ours)
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders
}

/// Unfinished downloads of ours.
pub(crate) fn parts_below(cache: &Path) -> Vec<PathBuf> {
    let things = things(cache);
    let parts = things.keys().filter(|path| path.ends_with(PARTIAL));
    parts.map(|path| cache.join(path)).collect()
}

fn things(cache: &Path) -> Things {
    let mut all = Things::new();
    for folder in repositories(cache) {
        walk(&folder, cache, 0, &mut all);
    }
    all
}

fn walk(at: &Path, cache: &Path, depth: usize, all: &mut Things) {
    let Ok(children) = std::fs::read_dir(at) else {
        return;
    };
    for child in children.flatten() {
        let path = child.path();
        let inside = path.strip_prefix(cache).ok().and_then(Path::to_str);
        // A name that could not be written on every system was not written by us.
        let Some(inside) = inside
            .map(|inside| inside.replace('\\', "/"))
            .filter(|inside| safe_relative(inside).is_ok())
        else {
            continue;
        };
        let Ok(about) = path.symlink_metadata() else {
            continue;
        };
        if about.is_dir() {
            if depth < DEPTH_MAX {
                walk(&path, cache, depth + 1, all);
            }
        } else if child.file_name().to_string_lossy().starts_with(TEMPORARY) {
            // Somebody is at it.
        } else if let Ok(target) = std::fs::read_link(&path) {
            all.insert(inside, Thing::Link { target });
        } else if about.is_file() {
            let thing = Thing::File {
                bytes: Bytes(about.len()),
                identity: super::same::identity(&about),
                modified: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            };
            all.insert(inside, thing);
        }
    }
}

fn remove_empty(folder: &Path, depth: usize) {
    let Ok(children) = std::fs::read_dir(folder) else {
        return;
    };
    for child in children.flatten() {
        if depth < DEPTH_MAX && child.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&child.path(), depth + 1);
        }
    }
    let _ = std::fs::remove_dir(folder);
}
