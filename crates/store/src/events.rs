use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use crate::db::{Db, Failed};
use crate::{Store, StoreError};

/// Something an answer is made of, in its caller's own words. Never changed once it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub kind: String,
    pub body: String,
}

/// What one call of a model took. `None` is unknown, never 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageRecord {
    /// `local` or the provider's id.
    pub route: String,
    pub model: String,
    /// Gross: with what came from a cache and what was written to one.
    pub input: Option<u32>,
    pub cached: Option<u32>,
    pub cache_write: Option<u32>,
    /// With the thoughts.
    pub output: Option<u32>,
    pub reasoning: Option<u32>,
    pub total: Option<u32>,
    /// In millionths of a millionth of a US dollar, and who says so.
    pub cost: Option<(u64, CostBy)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostBy {
    Provider,
    /// Counted from a price list.
    Prices,
}

impl Store {
    /// What the calls of a model for this answer took, in order.
    pub async fn usages(&self, answer: &str) -> Result<Vec<UsageRecord>, StoreError> {
        let answer = answer.to_owned();
        self.ask(move |db| db.usages(&answer)).await
    }
}

impl Db {
    fn usages(&mut self, answer: &str) -> Result<Vec<UsageRecord>, StoreError> {
        self.read(|transaction| usages(transaction, answer))
    }
}

pub(crate) fn usages(transaction: &Transaction<'_>, answer: &str) -> Result<Vec<UsageRecord>, Failed> {
    let mut rows = transaction.prepare_cached(
        "SELECT route, model, input, cached, cache_write, output, reasoning, total, cost, cost_by
         FROM usages WHERE message = ?1 ORDER BY number",
    )?;
    let found = rows
        .query_map(params![answer], from_row)?
        .collect::<Result<_, _>>()?;
    Ok(found)
}

pub(crate) fn add(
    transaction: &Transaction<'_>,
    answer: &str,
    events: &[Event],
    usages: &[UsageRecord],
) -> Result<(), Failed> {
    if !events.is_empty() {
        let first = next(
            transaction,
            "SELECT max(number) FROM events WHERE message = ?1",
            answer,
        )?;
        let mut insert = transaction
            .prepare_cached("INSERT INTO events (message, number, kind, body) VALUES (?1, ?2, ?3, ?4)")?;
        for (number, event) in (first..).zip(events) {
            insert.execute(params![answer, number, event.kind, event.body])?;
        }
    }
    if !usages.is_empty() {
        let first = next(
            transaction,
            "SELECT max(number) FROM usages WHERE message = ?1",
            answer,
        )?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO usages (message, number, route, model, input, cached, cache_write, output, reasoning, total,
                cost, cost_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?;
        for (number, usage) in (first..).zip(usages) {
            let cost = usage.cost.and_then(|(amount, _)| i64::try_from(amount).ok());
            let by = cost.and(usage.cost).map(|(_, by)| match by {
                CostBy::Provider => "provider",
                CostBy::Prices => "prices",
            });
            insert.execute(params![
                answer,
                number,
                usage.route,
                usage.model,
                usage.input,
                usage.cached,
                usage.cache_write,
                usage.output,
                usage.reasoning,
                usage.total,
                cost,
                by
            ])?;
        }
    }
    Ok(())
}

fn next(transaction: &Transaction<'_>, sql: &str, answer: &str) -> Result<i64, Failed> {
    let last: Option<Option<i64>> = transaction
        .prepare_cached(sql)?
        .query_row(params![answer], |row| row.get(0))
        .optional()?;
    Ok(last.flatten().map_or(0, |last| last + 1))
}

/// From `[[kind, body], …]`.
pub(crate) fn from_json(text: &str) -> Vec<Event> {
    let pairs: Vec<(String, String)> = serde_json::from_str(text).unwrap_or_default();
    pairs
        .into_iter()
        .map(|(kind, body)| Event { kind, body })
        .collect()
}

fn from_row(row: &Row<'_>) -> Result<UsageRecord, rusqlite::Error> {
    let cost: Option<i64> = row.get(8)?;
    let by: Option<String> = row.get(9)?;
    let by = if by.as_deref() == Some("provider") {
        CostBy::Provider
    } else {
        CostBy::Prices
    };
    Ok(UsageRecord {
        route: row.get(0)?,
        model: row.get(1)?,
        input: row.get(2)?,
        cached: row.get(3)?,
        cache_write: row.get(4)?,
        output: row.get(5)?,
        reasoning: row.get(6)?,
        total: row.get(7)?,
        cost: cost
            .and_then(|cost| u64::try_from(cost).ok())
            .map(|cost| (cost, by)),
    })
}
