use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_units::Bytes;

use super::error::{Action, FileError, on};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Usual,
    /// 0600: only this person may read it.
    Private,
}

/// Puts `bytes` at `path`, whole: a reader sees the old content or the new, also after a loss of power.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    replace_with_mode(path, bytes, Mode::Usual)
}

/// The same, readable by this person only.
pub fn replace_private(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    replace_with_mode(path, bytes, Mode::Private)
}

fn replace_with_mode(path: &Path, bytes: &[u8], mode: Mode) -> Result<(), FileError> {
    let beside = Beside::new(path);
    let mut file = create_new(&beside.0, mode)?;
    file.write_all(bytes).map_err(on(Action::Write, path))?;
    file.sync_all().map_err(on(Action::Sync, path))?;
    drop(file);
    beside.become_(path)
}

/// The whole content, unless it is larger than `limit`.
pub fn read_up_to(path: &Path, limit: Bytes) -> Result<Vec<u8>, FileError> {
    let file = File::open(path).map_err(on(Action::Open, path))?;
    let mut bytes = Vec::new();
    // One more than allowed tells "at the limit" from "past it", whatever the file's length claims to be.
    file.take(limit.0.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(on(Action::Read, path))?;
    if bytes.len() as u64 > limit.0 {
        return Err(FileError::TooLarge {
            path: path.to_owned(),
            limit,
        });
    }
    Ok(bytes)
}

/// The folder and all above it; no error when it is there.
pub fn create_dir(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(on(Action::CreateFolder, path))
}

/// The same, and only this person may enter it.
pub fn create_private_dir(path: &Path) -> Result<(), FileError> {
    create_dir(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))
            .map_err(on(Action::CreateFolder, path))?;
    }
    // On Windows the folder inherits the access list of the person's own data folder.
    Ok(())
}

/// How a file came to its second place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// One copy on disk under two names.
    Linked,
    Copied,
}

/// Gives `from` a second name, or a copy where the volume cannot link. `to` is replaced whole.
#[expect(clippy::disallowed_methods, reason = "this is the home of links")]
pub fn link_or_copy(from: &Path, to: &Path) -> Result<Placed, FileError> {
    // A hard link to a symbolic link would keep the link, not the file.
    let from = fs::canonicalize(from).map_err(on(Action::Open, from))?;
    let beside = Beside::new(to);
    if fs::hard_link(&from, &beside.0).is_ok() {
        beside.become_(to)?;
        return Ok(Placed::Linked);
    }
    let mut source = File::open(&from).map_err(on(Action::Open, &from))?;
    let mut copy = create_new(&beside.0, Mode::Usual)?;
    io::copy(&mut source, &mut copy).map_err(on(Action::Copy, to))?;
    copy.sync_all().map_err(on(Action::Sync, to))?;
    drop(copy);
    beside.become_(to)?;
    Ok(Placed::Copied)
}

/// A symbolic link at `at` that holds `target` as it is given (relative targets stay relative); replaces what
/// is there. Windows without the right to make links answers an error; use [`link_or_copy`] then.
pub fn symlink(target: &Path, at: &Path) -> Result<(), FileError> {
    let beside = Beside::new(at);
    #[cfg(unix)]
    let made = std::os::unix::fs::symlink(target, &beside.0);
    #[cfg(windows)]
    let made = std::os::windows::fs::symlink_file(target, &beside.0);
    made.map_err(on(Action::Link, at))?;
    beside.become_(at)
}

/// A file that was not there before, filled from `from` and synced: what an archive holds. More than `limit`
/// is an error, and so is a file that exists. Returns how much was written.
pub fn write_new(path: &Path, from: &mut dyn Read, limit: Bytes, run: Run) -> Result<Bytes, FileError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(if run == Run::Yes { 0o755 } else { 0o644 });
    }
    #[cfg(not(unix))]
    let _ = run;
    let mut file = options.open(path).map_err(on(Action::Open, path))?;
    let copied = io::copy(&mut from.take(limit.0.saturating_add(1)), &mut file);
    let copied = Bytes(copied.map_err(on(Action::Write, path))?);
    if copied > limit {
        return Err(FileError::TooLarge {
            path: path.to_owned(),
            limit,
        });
    }
    file.sync_all().map_err(on(Action::Sync, path))?;
    Ok(copied)
}

/// Whether a file may be run as a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    Yes,
    No,
}

/// Moves a finished folder to its final name on the same volume, where nothing may be yet.
pub fn publish_folder(part: &Path, to: &Path) -> Result<(), FileError> {
    if to.exists() {
        return Err(FileError::new(
            Action::Rename,
            to,
            io::ErrorKind::AlreadyExists.into(),
        ));
    }
    sync_folder_of(&part.join("."))?;
    rename(part, to)
}

/// Moves a finished part file to its final name on the same volume: synced before, folder synced after.
pub fn publish(part: &Path, to: &Path) -> Result<(), FileError> {
    let file = OpenOptions::new()
        .write(true)
        .open(part)
        .map_err(on(Action::Open, part))?;
    file.sync_all().map_err(on(Action::Sync, part))?;
    drop(file);
    rename(part, to)
}

/// Gone afterwards; no error when it was not there.
pub fn remove_file(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::new(Action::Remove, path, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The folder and everything in it is gone afterwards; links are removed, not followed.
#[expect(clippy::disallowed_methods, reason = "this is the home of removing")]
pub fn remove_tree(path: &Path) -> Result<(), FileError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::new(Action::Remove, path, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether this program may read and write a file, without opening it: opening a device file can wake what is
/// behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Yes,
    Denied,
    Missing,
}

#[cfg(unix)]
#[must_use]
pub fn access(path: &Path) -> Access {
    use rustix::fs::Access as Wanted;
    match rustix::fs::access(path, Wanted::READ_OK | Wanted::WRITE_OK) {
        Ok(()) => Access::Yes,
        Err(rustix::io::Errno::NOENT) => Access::Missing,
        Err(_) => Access::Denied,
    }
}

/// What this person may still write on the volume of `path`, which need not exist yet.
pub fn free_space(path: &Path) -> Result<Bytes, FileError> {
    let there = path.ancestors().find(|at| at.exists()).unwrap_or(path);
    fs4::available_space(there)
        .map(Bytes)
        .map_err(on(Action::MeasureFreeSpace, path))
}

/// Whether two paths, which need not exist yet, share one volume and so its free space. Where the system has no
/// number for volumes (Windows), drives and network shares are told apart, not volumes mounted into folders.
#[must_use]
pub fn same_volume(one: &Path, other: &Path) -> bool {
    let there = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        path.ancestors().find(|at| at.exists()).map(Path::to_owned)
    };
    let (Some(one), Some(other)) = (there(one), there(other)) else {
        return false;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let device = |path: &Path| fs::metadata(path).map(|about| about.dev()).ok();
        device(&one).is_some_and(|number| Some(number) == device(&other))
    }
    #[cfg(not(unix))]
    {
        let drive = |path: &Path| {
            path.components()
                .next()
                .map(|first| first.as_os_str().to_ascii_lowercase())
        };
        drive(&one) == drive(&other)
    }
}

/// Space that a file takes on its volume, which is less than its length where it has gaps and more where space
/// was reserved.
pub fn allocated(path: &Path) -> Result<Bytes, FileError> {
    let about = fs::metadata(path).map_err(on(Action::Read, path))?;
    #[cfg(unix)]
    {
        // In units of 512 bytes whatever the volume's own are (stat(2)).
        Ok(Bytes(
            std::os::unix::fs::MetadataExt::blocks(&about).saturating_mul(512),
        ))
    }
    #[cfg(not(unix))]
    Ok(Bytes(about.len()))
}

/// A name beside the target that is removed unless it becomes the target.
struct Beside(PathBuf);

impl Beside {
    fn new(target: &Path) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        // Short, so that the longest allowed name still leaves room: the target's own name is not in it.
        Self(target.with_file_name(format!(".plimsoll-{}-{n}.new", std::process::id())))
    }

    fn become_(self, target: &Path) -> Result<(), FileError> {
        rename(&self.0, target)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // After a rename nothing is here any more; after a failure the half-written file is.
        let _ = fs::remove_file(&self.0);
    }
}

fn create_new(path: &Path, mode: Mode) -> Result<File, FileError> {
    // A leftover of a killed process that had our number.
    remove_file(path)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if mode == Mode::Private {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = mode;
    options.open(path).map_err(on(Action::Open, path))
}

#[expect(clippy::disallowed_methods, reason = "this is the home of renaming")]
fn rename(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::rename(from, to).map_err(on(Action::Rename, to))?;
    sync_folder_of(to)
}

/// Without this a loss of power may bring the old name back. Windows writes the entry with the file.
fn sync_folder_of(path: &Path) -> Result<(), FileError> {
    #[cfg(unix)]
    {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let handle = File::open(folder).map_err(on(Action::Sync, folder))?;
        match handle.sync_all() {
            // Some network and FUSE file systems cannot sync a folder; the rename itself is done.
            Err(error)
                if !matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                return Err(FileError::new(Action::Sync, folder, error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
