//! Telling a damaged file from one that is merely in the way, and keeping it.

use std::path::{Path, PathBuf};

use plimsoll_os::files::{self, FileError};
use rusqlite::{Connection, ErrorCode, ffi};

/// Up to here every opening looks through the whole file; it takes milliseconds.
const ALWAYS_CHECKED_MAX: u64 = 16 << 20;
/// What belongs to the database file.
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];

/// A name beside the database: `plimsoll.db` and `-wal` make `plimsoll.db-wal`.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Where `SQLite` keeps what is not in the file yet.
pub(crate) fn log_of(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// A log with something in it means that somebody has the file open, or did not close it.
pub(crate) fn has_log(path: &Path) -> bool {
    std::fs::metadata(log_of(path)).is_ok_and(|about| about.len() > 0)
}

/// Looks through the file when it is small or was left open, which is when damage is likely.
pub(crate) fn check(connection: &Connection, path: &Path, left_open: bool) -> Result<(), rusqlite::Error> {
    let small = std::fs::metadata(path).is_ok_and(|about| about.len() <= ALWAYS_CHECKED_MAX);
    if !small && !left_open {
        return Ok(());
    }
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(rusqlite::Error::SqliteFailure(
        ffi::Error::new(ffi::SQLITE_CORRUPT),
        Some(verdict),
    ))
}

/// True only for content that is wrong; locks, rights and full disks pass by themselves.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Gives the file and its log another name. Whoever wants can look for what is left in it.
pub(crate) fn keep_aside(path: &Path, now: i64) -> Result<PathBuf, FileError> {
    let mut kept = beside(path, &format!(".damaged-{now}"));
    let mut number = 1;
    while kept.exists() {
        number += 1;
        kept = beside(path, &format!(".damaged-{now}-{number}"));
    }
    for ending in COMPANIONS {
        let from = beside(path, ending);
        if from.exists() {
            files::publish(&from, &beside(&kept, ending))?;
        }
    }
    Ok(kept)
}
