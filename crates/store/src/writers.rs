//! Who writes answers, and whether they are still there.
//!
//! A process that opens the store holds a lock on a file with its own random name as long as it lives; the
//! kernel lets go of it however the process ends. So another process can tell an answer that is being written
//! from one whose writer is gone, without process ids that could have been given to somebody else.

use std::path::{Path, PathBuf};

use plimsoll_os::files::{self, FileError, Lock};
use rusqlite::{Transaction, params};
use uuid::Uuid;

use crate::damage::beside;
use crate::db::{Db, Failed};
use crate::messages::gather;
use crate::{End, StoreError};

/// Who else has the store open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    Alone,
    Others,
}

pub(crate) struct Writers {
    me: String,
    folder: PathBuf,
    lock: Lock,
}

impl Writers {
    /// Takes a name. Says also whether nobody else has the store open.
    pub(crate) fn enter(database: &Path) -> Result<(Self, Company), FileError> {
        let folder = beside(database, "-writers");
        files::create_private_dir(&folder)?;
        let company = if others_are_there(&folder)? {
            Company::Others
        } else {
            Company::Alone
        };
        loop {
            let me = Uuid::new_v4().simple().to_string();
            // Nobody else can have this name, but a lock is only had when it is given.
            if let Some(lock) = Lock::try_exclusive(&folder.join(&me))? {
                return Ok((Self { me, folder, lock }, company));
            }
        }
    }

    pub(crate) fn me(&self) -> &str {
        &self.me
    }

    pub(crate) fn is_gone(&self, writer: &str) -> Result<bool, FileError> {
        if writer == self.me {
            return Ok(false);
        }
        // The name comes from the database; anything but our own kind of name belongs to nobody alive.
        let file = self.folder.join(writer);
        if Uuid::try_parse(writer).is_err() || !file.exists() {
            return Ok(true);
        }
        match Lock::try_exclusive(&file)? {
            Some(_held) => {
                files::remove_file(&file)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// Looks for locks that are held, and removes the files of those that are not.
fn others_are_there(folder: &Path) -> Result<bool, FileError> {
    let Ok(names) = std::fs::read_dir(folder) else {
        return Ok(false);
    };
    let mut there = false;
    for name in names.flatten() {
        match Lock::try_exclusive(&name.path())? {
            Some(_held) => files::remove_file(&name.path())?,
            None => there = true,
        }
    }
    Ok(there)
}

impl Drop for Writers {
    fn drop(&mut self) {
        // A name that is left over costs nothing: the next one to open finds it unlocked.
        let _ = files::remove_file(self.lock.path());
    }
}

impl Db {
    /// Ends every answer whose writer is gone; says how many there were.
    pub(crate) fn mark_interrupted(&mut self, now: i64) -> Result<usize, StoreError> {
        self.write(|transaction, writers| mark_interrupted(transaction, writers, now))
    }
}

pub(crate) fn mark_interrupted(
    transaction: &Transaction<'_>,
    writers: &Writers,
    now: i64,
) -> Result<usize, Failed> {
    let mut unfinished =
        transaction.prepare_cached("SELECT id, writer FROM messages WHERE writer IS NOT NULL")?;
    let unfinished: Vec<(String, String)> = unfinished
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut marked = 0;
    for (message, writer) in unfinished {
        if !writers.is_gone(&writer)? {
            continue;
        }
        gather(transaction, &message)?;
        transaction.execute(
            "UPDATE messages SET ended = ?2, ended_at = ?3, writer = NULL WHERE id = ?1",
            params![message, End::Interrupted.name(), now],
        )?;
        marked += 1;
    }
    Ok(marked)
}
