//! What is kept of a conversation's context: compactions, the last count, the steps that decided, and what was
//! learned about routes. Bodies are the caller's own JSON.

use rusqlite::{OptionalExtension as _, Row, params};

use crate::db::Db;
use crate::{Store, StoreError};

/// Of a conversation's steps, as many as are kept behind its last restart.
const STEPS_KEPT_MAX: i64 = 20_000;

/// Rows that something stands for. Added, and marked as taken back; never changed otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    pub id: String,
    pub made_at: i64,
    /// Taken back since.
    pub undone_at: Option<i64>,
    pub body: String,
}

/// What belongs to a conversation beside its messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextRecord {
    /// The last count and what it holds for.
    pub state: Option<String>,
    /// Who decides about compaction.
    pub mode: Option<String>,
}

impl Store {
    /// In the order in which they were made, with those that were taken back.
    pub async fn compactions(&self, conversation: &str) -> Result<Vec<Compaction>, StoreError> {
        let conversation = conversation.to_owned();
        self.ask(move |db| db.compactions(&conversation)).await
    }

    /// All of it or nothing: on the disk when this returns.
    pub async fn add_compaction(
        &self,
        conversation: &str,
        id: &str,
        body: String,
        now: i64,
    ) -> Result<(), StoreError> {
        let (conversation, id) = (conversation.to_owned(), id.to_owned());
        self.ask(move |db| {
            db.write(|transaction, _| {
                transaction.execute(
                    "INSERT INTO compactions (id, conversation, made_at, body) VALUES (?1, ?2, ?3, ?4)",
                    params![id, conversation, now, body],
                )?;
                Ok(())
            })
        })
        .await
    }

    /// Takes a compaction back, and all that were made on top of it. Says how many that were.
    pub async fn undo_compaction(&self, conversation: &str, id: &str, now: i64) -> Result<usize, StoreError> {
        let (conversation, id) = (conversation.to_owned(), id.to_owned());
        self.ask(move |db| {
            db.write(|transaction, _| {
                let sql = "UPDATE compactions SET undone_at = ?3
                     WHERE conversation = ?1 AND undone_at IS NULL
                        AND number >= (SELECT number FROM compactions WHERE conversation = ?1 AND id = ?2)";
                Ok(transaction.execute(sql, params![conversation, id, now])?)
            })
        })
        .await
    }

    pub async fn context(&self, conversation: &str) -> Result<ContextRecord, StoreError> {
        let conversation = conversation.to_owned();
        self.ask(move |db| {
            db.read(|transaction| {
                let found = transaction
                    .prepare_cached("SELECT state, mode FROM contexts WHERE conversation = ?1")?
                    .query_row(params![conversation], |row| {
                        Ok(ContextRecord {
                            state: row.get(0)?,
                            mode: row.get(1)?,
                        })
                    });
                Ok(found.optional()?.unwrap_or_default())
            })
        })
        .await
    }

    /// Written over what was kept; `None` forgets it. With the steps since the last time.
    pub async fn keep_context(
        &self,
        conversation: &str,
        state: Option<String>,
        steps: Vec<String>,
    ) -> Result<(), StoreError> {
        let conversation = conversation.to_owned();
        self.ask(move |db| db.keep_context(&conversation, state.as_deref(), &steps))
            .await
    }

    pub async fn keep_context_mode(&self, conversation: &str, mode: &str) -> Result<(), StoreError> {
        let (conversation, mode) = (conversation.to_owned(), mode.to_owned());
        self.ask(move |db| {
            db.write(|transaction, _| {
                transaction.execute(
                    "INSERT INTO contexts (conversation, mode) VALUES (?1, ?2)
                     ON CONFLICT (conversation) DO UPDATE SET mode = excluded.mode",
                    params![conversation, mode],
                )?;
                Ok(())
            })
        })
        .await
    }

    /// What decided in this conversation, in order.
    pub async fn context_steps(&self, conversation: &str) -> Result<Vec<String>, StoreError> {
        let conversation = conversation.to_owned();
        self.ask(move |db| {
            db.read(|transaction| {
                let mut rows = transaction.prepare_cached(
                    "SELECT body FROM context_steps WHERE conversation = ?1 ORDER BY number",
                )?;
                let found = rows
                    .query_map(params![conversation], |row| row.get(0))?
                    .collect::<Result<_, _>>()?;
                Ok(found)
            })
        })
        .await
    }

    /// What was learned about a route.
    pub async fn route_rates(&self, route: &str) -> Result<Option<String>, StoreError> {
        let route = route.to_owned();
        self.ask(move |db| {
            db.read(|transaction| {
                let found = transaction
                    .prepare_cached("SELECT body FROM route_rates WHERE route = ?1")?
                    .query_row(params![route], |row| row.get(0));
                Ok(found.optional()?)
            })
        })
        .await
    }

    pub async fn keep_route_rates(&self, route: &str, body: String) -> Result<(), StoreError> {
        let route = route.to_owned();
        self.ask(move |db| {
            db.write(|transaction, _| {
                transaction.execute(
                    "INSERT INTO route_rates (route, body) VALUES (?1, ?2)
                     ON CONFLICT (route) DO UPDATE SET body = excluded.body",
                    params![route, body],
                )?;
                Ok(())
            })
        })
        .await
    }
}

impl Db {
    fn compactions(&mut self, conversation: &str) -> Result<Vec<Compaction>, StoreError> {
        self.read(|transaction| {
            let mut rows = transaction.prepare_cached(
                "SELECT id, made_at, undone_at, body FROM compactions WHERE conversation = ?1 ORDER BY number",
            )?;
            let found = rows
                .query_map(params![conversation], from_row)?
                .collect::<Result<_, _>>()?;
            Ok(found)
        })
    }

    fn keep_context(
        &mut self,
        conversation: &str,
        state: Option<&str>,
        steps: &[String],
    ) -> Result<(), StoreError> {
        self.write(|transaction, _| {
            transaction.execute(
                "INSERT INTO contexts (conversation, state) VALUES (?1, ?2)
                 ON CONFLICT (conversation) DO UPDATE SET state = excluded.state",
                params![conversation, state],
            )?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO context_steps (conversation, number, restart, body)
                 VALUES (?1, 1 + coalesce((SELECT max(number) FROM context_steps WHERE conversation = ?1), 0),
                    ?2 LIKE '%\"do\":\"restart\"%', ?2)",
            )?;
            for step in steps {
                insert.execute(params![conversation, step])?;
            }
            // A replay can begin at any restart: what is far behind is only needed up to the last one before.
            transaction.execute(
                "DELETE FROM context_steps WHERE conversation = ?1 AND number < (
                    SELECT max(number) FROM context_steps WHERE conversation = ?1 AND restart
                        AND number <= (SELECT max(number) FROM context_steps WHERE conversation = ?1) - ?2)",
                params![conversation, STEPS_KEPT_MAX],
            )?;
            Ok(())
        })
    }
}

fn from_row(row: &Row<'_>) -> Result<Compaction, rusqlite::Error> {
    Ok(Compaction {
        id: row.get(0)?,
        made_at: row.get(1)?,
        undone_at: row.get(2)?,
        body: row.get(3)?,
    })
}
