//! What was measured and what was being transferred.

use plimsoll_units::Bytes;
use rusqlite::{Row, params};
use serde_json::Value;

use crate::db::Db;
use crate::{Store, StoreError};

/// Older ones of the same kind and model are dropped.
const MEASUREMENTS_KEPT: i64 = 500;

/// Something measured on this machine: a speed, the memory of a loaded model.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    pub taken_at: i64,
    /// What was measured; the caller's own word.
    pub kind: String,
    pub model: String,
    pub body: Value,
}

/// A transfer as it has to be known after a restart.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferRecord {
    pub id: String,
    /// The model or engine that is fetched.
    pub subject: String,
    pub state: TransferState,
    pub done: Bytes,
    pub total: Bytes,
    pub started_at: i64,
    pub updated_at: i64,
    /// What the caller needs to take it up again.
    pub body: Value,
    pub fault: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferState {
    /// Also after a crash: whoever finds it so takes it up again.
    Running,
    Paused,
    Cancelled,
    Failed,
    Done,
}

impl TransferState {
    const ALL: [Self; 5] = [
        Self::Running,
        Self::Paused,
        Self::Cancelled,
        Self::Failed,
        Self::Done,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Done => "done",
        }
    }
}

impl Store {
    pub async fn record_measurement(&self, measurement: Measurement) -> Result<(), StoreError> {
        self.ask(move |db| db.record_measurement(&measurement)).await
    }

    /// The latest first; of one model, or of all.
    pub async fn measurements(
        &self,
        kind: &str,
        model: Option<&str>,
    ) -> Result<Vec<Measurement>, StoreError> {
        let (kind, model) = (kind.to_owned(), model.map(str::to_owned));
        self.ask(move |db| db.measurements(&kind, model.as_deref())).await
    }

    /// Adds a transfer or writes its new state over the old one.
    pub async fn save_transfer(&self, transfer: TransferRecord) -> Result<(), StoreError> {
        self.ask(move |db| db.save_transfer(&transfer)).await
    }

    /// In the order in which they were started.
    pub async fn transfers(&self) -> Result<Vec<TransferRecord>, StoreError> {
        self.ask(Db::transfers).await
    }

    pub async fn forget_transfer(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.ask(move |db| {
            db.write(|transaction, _| {
                transaction.execute("DELETE FROM transfers WHERE id = ?1", params![id])?;
                Ok(())
            })
        })
        .await
    }
}

impl Db {
    fn record_measurement(&mut self, measurement: &Measurement) -> Result<(), StoreError> {
        let Measurement {
            taken_at,
            kind,
            model,
            body,
        } = measurement;
        self.write(|transaction, _| {
            transaction.execute(
                "INSERT INTO measurements (taken_at, kind, model, body) VALUES (?1, ?2, ?3, ?4)",
                params![taken_at, kind, model, body.to_string()],
            )?;
            transaction.execute(
                "DELETE FROM measurements WHERE kind = ?1 AND model = ?2 AND id NOT IN (
                    SELECT id FROM measurements WHERE kind = ?1 AND model = ?2 ORDER BY taken_at DESC, id DESC LIMIT ?3
                 )",
                params![kind, model, MEASUREMENTS_KEPT],
            )?;
            Ok(())
        })
    }

    fn measurements(&mut self, kind: &str, model: Option<&str>) -> Result<Vec<Measurement>, StoreError> {
        self.read(|transaction| {
            let mut rows = transaction.prepare_cached(
                "SELECT taken_at, kind, model, body FROM measurements
                 WHERE kind = ?1 AND (?2 IS NULL OR model = ?2) ORDER BY taken_at DESC, id DESC",
            )?;
            let found = rows.query_map(params![kind, model], |row| {
                let body: String = row.get(3)?;
                let body = serde_json::from_str(&body).unwrap_or_default();
                Ok(Measurement {
                    taken_at: row.get(0)?,
                    kind: row.get(1)?,
                    model: row.get(2)?,
                    body,
                })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    fn save_transfer(&mut self, transfer: &TransferRecord) -> Result<(), StoreError> {
        let whole = |bytes: Bytes| i64::try_from(bytes.0).unwrap_or(i64::MAX);
        self.write(|transaction, _| {
            transaction.execute(
                "INSERT INTO transfers
                    (id, subject, state, done_bytes, total_bytes, started_at, updated_at, body, fault)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                 ON CONFLICT (id) DO UPDATE SET
                    state = excluded.state, done_bytes = excluded.done_bytes, total_bytes = excluded.total_bytes,
                    updated_at = excluded.updated_at, body = excluded.body, fault = excluded.fault",
                params![
                    transfer.id,
                    transfer.subject,
                    transfer.state.name(),
                    whole(transfer.done),
                    whole(transfer.total),
                    transfer.started_at,
                    transfer.updated_at,
                    transfer.body.to_string(),
                    transfer.fault.as_ref().map(Value::to_string),
                ],
            )?;
            Ok(())
        })
    }

    fn transfers(&mut self) -> Result<Vec<TransferRecord>, StoreError> {
        self.read(|transaction| {
            let mut rows = transaction.prepare_cached(
                "SELECT id, subject, state, done_bytes, total_bytes, started_at, updated_at, body, fault
                 FROM transfers ORDER BY started_at, id",
            )?;
            let found = rows.query_map([], transfer_from)?.collect::<Result<_, _>>()?;
            Ok(found)
        })
    }
}

fn transfer_from(row: &Row<'_>) -> Result<TransferRecord, rusqlite::Error> {
    let state: String = row.get(2)?;
    let (body, fault): (String, Option<String>) = (row.get(7)?, row.get(8)?);
    let whole = |bytes: i64| Bytes(u64::try_from(bytes).unwrap_or(0));
    Ok(TransferRecord {
        id: row.get(0)?,
        subject: row.get(1)?,
        // The table takes no other word.
        state: TransferState::ALL
            .into_iter()
            .find(|known| known.name() == state)
            .unwrap_or(TransferState::Failed),
        done: whole(row.get(3)?),
        total: whole(row.get(4)?),
        started_at: row.get(5)?,
        updated_at: row.get(6)?,
        body: serde_json::from_str(&body).unwrap_or_default(),
        fault: fault.and_then(|fault| serde_json::from_str(&fault).ok()),
    })
}
