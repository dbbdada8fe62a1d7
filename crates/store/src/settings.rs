use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use crate::db::Db;
use crate::{Limited, Store, StoreError};

const SETTING_BYTES_MAX: usize = 1 << 20;

impl Store {
    /// The value of a setting; `None` when it was never set.
    pub async fn setting(&self, name: &str) -> Result<Option<Value>, StoreError> {
        let name = name.to_owned();
        self.ask(move |db| db.setting(&name)).await
    }

    pub async fn settings(&self) -> Result<BTreeMap<String, Value>, StoreError> {
        self.ask(Db::settings).await
    }

    /// Sets several at once, all or none. `Null` takes a setting back to "never set".
    pub async fn change_settings(&self, changes: BTreeMap<String, Value>) -> Result<(), StoreError> {
        self.ask(move |db| db.change_settings(&changes)).await
    }
}

impl Db {
    fn setting(&mut self, name: &str) -> Result<Option<Value>, StoreError> {
        self.read(|transaction| {
            let text: Option<String> = transaction
                .query_row(
                    "SELECT value FROM settings WHERE name = ?1",
                    params![name],
                    |row| row.get(0),
                )
                .optional()?;
            Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
        })
    }

    fn settings(&mut self) -> Result<BTreeMap<String, Value>, StoreError> {
        self.read(|transaction| {
            let mut rows = transaction.prepare_cached("SELECT name, value FROM settings")?;
            let all = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let all: Vec<(String, String)> = all.collect::<Result<_, _>>()?;
            let readable = |(name, text): (String, String)| Some((name, serde_json::from_str(&text).ok()?));
            Ok(all.into_iter().filter_map(readable).collect())
        })
    }

    fn change_settings(&mut self, changes: &BTreeMap<String, Value>) -> Result<(), StoreError> {
        self.write(|transaction, _| {
            for (name, value) in changes {
                if value.is_null() {
                    transaction.execute("DELETE FROM settings WHERE name = ?1", params![name])?;
                    continue;
                }
                let text = value.to_string();
                if text.len() > SETTING_BYTES_MAX {
                    let (bytes, limit) = (text.len(), SETTING_BYTES_MAX);
                    return Err(StoreError::TooLarge {
                        what: Limited::SettingBytes,
                        bytes,
                        limit,
                    }
                    .into());
                }
                transaction.execute(
                    "INSERT INTO settings (name, value) VALUES (?1, ?2)
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    params![name, text],
                )?;
            }
            Ok(())
        })
    }
}
