//! What is on the disk of unfinished files, and how to check stretches of finished ones.

use plimsoll_units::Bytes;
use rusqlite::{OptionalExtension as _, params};

use crate::db::Db;
use crate::{Store, StoreError};

/// An unfinished file: which content it is to become and what of it is here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// The caller's own word for the content.
    pub version: String,
    /// First byte and the byte after the last, in order.
    pub ranges: Vec<(Bytes, Bytes)>,
    /// How far its hash has come.
    pub hashed: Bytes,
    /// The hash's inner state there, in the caller's own form.
    pub hash: Vec<u8>,
    pub marks: Vec<u8>,
}

/// The inner states of a content's hash at regular places.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContentMarks {
    pub step: Bytes,
    pub states: Vec<u8>,
}

impl Store {
    /// By the path of the unfinished file.
    pub async fn part(&self, path: &str) -> Result<Option<Part>, StoreError> {
        let path = path.to_owned();
        self.ask(move |db| db.part(&path)).await
    }

    /// Written over what was known of it. On the disk when this returns.
    pub async fn save_part(&self, path: &str, part: Part) -> Result<(), StoreError> {
        let path = path.to_owned();
        self.ask(move |db| db.save_part(&path, &part)).await
    }

    pub async fn forget_part(&self, path: &str) -> Result<(), StoreError> {
        let path = path.to_owned();
        self.ask(move |db| {
            db.write(|transaction, _| {
                transaction.execute("DELETE FROM parts WHERE path = ?1", params![path])?;
                Ok(())
            })
        })
        .await
    }

    /// By the content's sha256.
    pub async fn content_marks(&self, sha256: &str) -> Result<Option<ContentMarks>, StoreError> {
        let sha256 = sha256.to_owned();
        self.ask(move |db| {
            db.read(|transaction| {
                let found = transaction
                    .prepare_cached("SELECT step, states FROM content_marks WHERE sha256 = ?1")?
                    .query_row(params![sha256], |row| {
                        Ok(ContentMarks {
                            step: from_sql(row.get(0)?),
                            states: row.get(1)?,
                        })
                    });
                Ok(found.optional()?)
            })
        })
        .await
    }

    pub async fn save_content_marks(&self, sha256: &str, marks: ContentMarks) -> Result<(), StoreError> {
        let sha256 = sha256.to_owned();
        self.ask(move |db| {
            db.write(|transaction, _| {
                transaction.execute(
                    "INSERT OR REPLACE INTO content_marks (sha256, step, states) VALUES (?1, ?2, ?3)",
                    params![sha256, to_sql(marks.step), marks.states],
                )?;
                Ok(())
            })
        })
        .await
    }
}

impl Db {
    fn part(&mut self, path: &str) -> Result<Option<Part>, StoreError> {
        self.read(|transaction| {
            let found = transaction
                .prepare_cached("SELECT version, hashed, hash, marks FROM parts WHERE path = ?1")?
                .query_row(params![path], |row| {
                    Ok(Part {
                        version: row.get(0)?,
                        ranges: Vec::new(),
                        hashed: from_sql(row.get(1)?),
                        hash: row.get(2)?,
                        marks: row.get(3)?,
                    })
                })
                .optional()?;
            let Some(mut part) = found else { return Ok(None) };
            let mut rows = transaction
                .prepare_cached("SELECT first, after FROM part_ranges WHERE path = ?1 ORDER BY first")?;
            let ranges = rows.query_map(params![path], |row| {
                Ok((from_sql(row.get(0)?), from_sql(row.get(1)?)))
            })?;
            part.ranges = ranges.collect::<Result<_, _>>()?;
            Ok(Some(part))
        })
    }

    fn save_part(&mut self, path: &str, part: &Part) -> Result<(), StoreError> {
        self.write(|transaction, _| {
            transaction.execute(
                "INSERT INTO parts (path, version, hashed, hash, marks) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (path) DO UPDATE SET version = excluded.version, hashed = excluded.hashed,
                    hash = excluded.hash, marks = excluded.marks",
                params![path, part.version, to_sql(part.hashed), part.hash, part.marks],
            )?;
            transaction.execute("DELETE FROM part_ranges WHERE path = ?1", params![path])?;
            let mut insert = transaction
                .prepare_cached("INSERT INTO part_ranges (path, first, after) VALUES (?1, ?2, ?3)")?;
            for (first, after) in &part.ranges {
                insert.execute(params![path, to_sql(*first), to_sql(*after)])?;
            }
            Ok(())
        })
    }
}

fn to_sql(bytes: Bytes) -> i64 {
    i64::try_from(bytes.0).unwrap_or(i64::MAX)
}

fn from_sql(bytes: i64) -> Bytes {
    Bytes(u64::try_from(bytes).unwrap_or(0))
}
