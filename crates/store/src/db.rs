//! The connection, as only its thread sees it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plimsoll_os::files::{self, FileError, Lock, PartFile};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use tracing::info;

use crate::StoreError;
use crate::damage;
use crate::schema::{MIGRATIONS, known_version};
use crate::writers::{Company, Writers};

/// Another process of ours may be in the middle of a commit; none takes this long.
const BUSY: Duration = Duration::from_secs(10);
const OPEN_LOOK: Duration = Duration::from_millis(20);

pub(crate) struct Db {
    pub(crate) connection: Connection,
    pub(crate) writers: Writers,
    path: PathBuf,
}

impl Db {
    /// Opens or makes the file and brings it up to date. One process at a time does this.
    pub(crate) fn open(path: &Path, now: i64) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
            files::create_private_dir(folder)?;
        }
        let _turn = wait_for_turn(path)?;
        if !path.exists() {
            // Chats are private from the first byte on. SQLite takes an empty file for a new one.
            files::replace_private(path, b"")?;
        }
        let opened = Self::open_file(path);
        let mut db = match opened {
            Err(StoreError::Open { path, source }) if damage::is_damage(&source) => {
                let kept = damage::keep_aside(&path, now)?;
                return Err(StoreError::Damaged { path, kept, source });
            }
            Err(StoreError::Open { path, source }) => return Err(explain(path, source, Stage::Opening)),
            other => other?,
        };
        let interrupted = db.mark_interrupted(now)?;
        if interrupted > 0 {
            info!(
                interrupted,
                "answers of a run that is gone were marked as interrupted"
            );
        }
        Ok(db)
    }

    fn open_file(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Open {
            path: path.to_owned(),
            source,
        };
        let (writers, company) = Writers::enter(path)?;
        // A log while nobody is there is what a killed process leaves.
        let unclean = company == Company::Alone && damage::has_log(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        connection
            .execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")
            .map_err(failed)?;
        damage::check(&connection, path, unclean).map_err(failed)?;

        let found: i64 = connection
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .map_err(failed)?;
        let known = known_version();
        if found > known {
            return Err(StoreError::TooNew {
                path: path.to_owned(),
                found,
                known,
            });
        }
        // The mode is kept in the file; FULL makes every commit wait for the disk, which is a few per second.
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
            .map_err(failed)?;
        MIGRATIONS
            .to_latest(&mut connection)
            .map_err(|source| StoreError::Migration {
                path: path.to_owned(),
                source: Box::new(source),
            })?;
        Ok(Self {
            connection,
            writers,
            path: path.to_owned(),
        })
    }

    /// Work that is done whole or not at all. It takes the right to write at its start, so that two processes
    /// wait for each other instead of failing half way.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &Writers) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        let done = (|| {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&transaction, &self.writers)?;
            transaction.commit()?;
            Ok(done)
        })();
        done.map_err(|failed| self.explain(failed))
    }

    /// Work whose commits do not wait for the disk; [`Self::sync`] is to follow.
    pub(crate) fn in_haste<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.set_synchronous("NORMAL")?;
        let done = work(self);
        self.set_synchronous("FULL")?;
        done
    }

    fn set_synchronous(&self, mode: &str) -> Result<(), StoreError> {
        self.connection
            .pragma_update(None, "synchronous", mode)
            .map_err(|error| self.explain(Failed::Sql(error)))
    }

    /// Waits until every commit is on the disk. `SQLite` holds no lock through this file, so that a second handle
    /// of it may be closed (<https://sqlite.org/howtocorrupt.html>, section 2.2).
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        let log = damage::log_of(&self.path);
        if log.exists() {
            PartFile::open(&log)?.sync_data()?;
        }
        Ok(())
    }

    /// Several reads that see the same moment.
    pub(crate) fn read<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        let done = (|| {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Deferred)?;
            work(&transaction)
        })();
        done.map_err(|failed| self.explain(failed))
    }

    pub(crate) fn explain(&self, failed: Failed) -> StoreError {
        let source = match failed {
            Failed::Known(error) => return error,
            Failed::Sql(source) => source,
        };
        explain(self.path.clone(), source, Stage::Working)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    Working,
}

fn explain(path: PathBuf, source: rusqlite::Error, stage: Stage) -> StoreError {
    match (source.sqlite_error_code(), stage) {
        (Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), _) => StoreError::Busy { path },
        (Some(ErrorCode::DiskFull), _) => StoreError::Full { path, source },
        (_, Stage::Opening) => StoreError::Open { path, source },
        (_, Stage::Working) => StoreError::Sql { path, source },
    }
}

/// Why a piece of work did not get done: by our rules, or by those of `SQLite`.
pub(crate) enum Failed {
    Known(StoreError),
    Sql(rusqlite::Error),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::Known(error)
    }
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<FileError> for Failed {
    fn from(error: FileError) -> Self {
        Self::Known(error.into())
    }
}

fn wait_for_turn(path: &Path) -> Result<Lock, StoreError> {
    let at = damage::beside(path, "-open");
    let until = Instant::now() + BUSY;
    loop {
        if let Some(lock) = Lock::try_exclusive(&at)? {
            return Ok(lock);
        }
        if Instant::now() > until {
            return Err(StoreError::Busy {
                path: path.to_owned(),
            });
        }
        std::thread::sleep(OPEN_LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::Db;
    use crate::StoreError;

    /// What keeps a batch through a loss of power cannot be seen in a test, only that it is switched on.
    #[test]
    fn every_commit_waits_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut db = Db::open(&folder.path().join("plimsoll.db"), 0).unwrap();
        // Also after a haste that failed.
        let failed: Result<(), _> = db.in_haste(|_| Err(StoreError::Ended));
        assert!(matches!(failed, Err(StoreError::Ended)));
        let pragma = |name: &str| -> String {
            let sql = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
            db.connection.query_row(&sql, [], |row| row.get(0)).unwrap()
        };
        let found = ["journal_mode", "synchronous", "foreign_keys", "trusted_schema"].map(pragma);
        assert_eq!(found, ["wal", "2", "1", "0"], "2 is FULL");
    }
}
