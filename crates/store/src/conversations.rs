use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::Value;
use uuid::Uuid;

use crate::branches::{Branch, branches};
use crate::db::{Db, Failed};
use crate::messages::{Message, path_to};
use crate::writers::mark_interrupted;
use crate::{Limited, Store, StoreError};

const TITLE_BYTES_MAX: usize = 400;
/// Of what a person tells the models of one conversation: far more than a window holds.
const SETTINGS_BYTES_MAX: usize = 1 << 20;
/// Of a title that is taken from the first message.
const TITLE_CHARS: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub id: String,
    /// Empty until the first message gives it one.
    pub title: String,
    pub model: Option<String>,
    pub created_at: i64,
    pub updated_at: i64,
    /// In the trash since then.
    pub deleted_at: Option<i64>,
    /// What its models may do, as the caller gave it.
    pub tools: Option<Value>,
    /// How they are asked, as the caller gave it.
    pub settings: Option<Value>,
}

/// A conversation with the branch it shows, from the first message to the last.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    pub conversation: Conversation,
    pub messages: Vec<Message>,
    /// By message: where it stands among others in the same place. Those that stand alone are left out.
    pub branches: BTreeMap<String, Branch>,
    /// The answer that is being written, by this process or another one.
    pub running: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Kept,
    Trash,
}

impl Store {
    pub async fn create_conversation(
        &self,
        model: Option<String>,
        now: i64,
    ) -> Result<Conversation, StoreError> {
        self.ask(move |db| db.create_conversation(model, now)).await
    }

    /// The latest change first.
    pub async fn conversations(&self, shown: Shown) -> Result<Vec<Conversation>, StoreError> {
        self.ask(move |db| db.conversations(shown)).await
    }

    /// One of them, without its messages.
    pub async fn conversation(&self, id: &str) -> Result<Conversation, StoreError> {
        let id = id.to_owned();
        self.ask(move |db| db.read(|transaction| get(transaction, &id)))
            .await
    }

    pub async fn open_conversation(&self, id: &str, now: i64) -> Result<Opened, StoreError> {
        let id = id.to_owned();
        self.ask(move |db| db.open_conversation(&id, now)).await
    }

    pub async fn rename_conversation(
        &self,
        id: &str,
        title: &str,
        now: i64,
    ) -> Result<Conversation, StoreError> {
        let (id, title) = (id.to_owned(), title.trim().to_owned());
        if title.len() > TITLE_BYTES_MAX {
            let (bytes, limit) = (title.len(), TITLE_BYTES_MAX);
            return Err(StoreError::TooLarge {
                what: Limited::TitleBytes,
                bytes,
                limit,
            });
        }
        self.ask(move |db| db.set_title(&id, &title, now)).await
    }

    /// What its models may do from now on, in the caller's own form.
    pub async fn set_conversation_tools(&self, id: &str, tools: Value) -> Result<Conversation, StoreError> {
        let id = id.to_owned();
        self.ask(move |db| {
            db.write(|transaction, _| {
                let sql = "UPDATE conversations SET tools = ?2 WHERE id = ?1";
                transaction.execute(sql, params![id, tools.to_string()])?;
                get(transaction, &id)
            })
        })
        .await
    }

    /// How its models are asked from now on, in the caller's own form.
    pub async fn set_conversation_settings(
        &self,
        id: &str,
        settings: Value,
    ) -> Result<Conversation, StoreError> {
        let id = id.to_owned();
        self.ask(move |db| {
            let text = settings.to_string();
            check_settings(text.len())?;
            db.write(|transaction, _| {
                let sql = "UPDATE conversations SET settings = ?2 WHERE id = ?1";
                transaction.execute(sql, params![id, text])?;
                get(transaction, &id)
            })
        })
        .await
    }

    /// A title that a model found. One that a person gave stays, and so does one that a model gave before: then
    /// there is nothing to tell.
    pub async fn title_by_model(&self, id: &str, title: &str) -> Result<Option<Conversation>, StoreError> {
        let (id, title) = (id.to_owned(), title_from(title));
        self.ask(move |db| {
            db.write(|transaction, _| {
                let sql = "UPDATE conversations SET title = ?2, titled_by = 'model'
                           WHERE id = ?1 AND titled_by IS NULL AND ?2 <> ''";
                let changed = transaction.execute(sql, params![id, title])?;
                Ok(if changed == 0 {
                    None
                } else {
                    Some(get(transaction, &id)?)
                })
            })
        })
        .await
    }

    /// Whether the title is still that of the first words.
    pub async fn wants_title(&self, id: &str) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.ask(move |db| {
            db.read(|transaction| {
                let sql = "SELECT titled_by IS NULL FROM conversations WHERE id = ?1";
                let found = transaction
                    .query_row(sql, params![id], |row| row.get(0))
                    .optional()?;
                Ok(found.unwrap_or(false))
            })
        })
        .await
    }

    /// To the trash. Nothing is lost until [`Self::empty_trash`].
    pub async fn delete_conversation(&self, id: &str, now: i64) -> Result<Conversation, StoreError> {
        let id = id.to_owned();
        self.ask(move |db| db.set_deleted(&id, Some(now))).await
    }

    pub async fn restore_conversation(&self, id: &str) -> Result<Conversation, StoreError> {
        let id = id.to_owned();
        self.ask(move |db| db.set_deleted(&id, None)).await
    }

    /// Removes for good what went to the trash before then; says how many conversations that were.
    pub async fn empty_trash(&self, before: i64) -> Result<usize, StoreError> {
        self.ask(move |db| {
            db.write(|transaction, _| {
                let sql = "DELETE FROM conversations WHERE deleted_at IS NOT NULL AND deleted_at < ?1";
                Ok(transaction.execute(sql, params![before])?)
            })
        })
        .await
    }
}

impl Db {
    fn create_conversation(&mut self, model: Option<String>, now: i64) -> Result<Conversation, StoreError> {
        self.write(|transaction, _| {
            let id = Uuid::now_v7().to_string();
            transaction.execute(
                "INSERT INTO conversations (id, title, model, created_at, updated_at) VALUES (?1, '', ?2, ?3, ?3)",
                params![id, model, now],
            )?;
            Ok(Conversation { id, title: String::new(), model, created_at: now, updated_at: now, deleted_at: None, tools: None, settings: None })
        })
    }

    fn conversations(&mut self, shown: Shown) -> Result<Vec<Conversation>, StoreError> {
        let deleted = shown == Shown::Trash;
        self.read(|transaction| {
            let mut rows = transaction.prepare_cached(
                "SELECT id, title, model, created_at, updated_at, deleted_at, tools, settings FROM conversations
                 WHERE (deleted_at IS NOT NULL) = ?1 ORDER BY updated_at DESC, id DESC",
            )?;
            let found = rows
                .query_map(params![deleted], from_row)?
                .collect::<Result<_, _>>()?;
            Ok(found)
        })
    }

    fn open_conversation(&mut self, id: &str, now: i64) -> Result<Opened, StoreError> {
        let opened = self.read(|transaction| open(transaction, id))?;
        if opened.running.is_none() {
            return Ok(opened);
        }
        // Its writer may have died since this store was opened.
        self.write(|transaction, writers| {
            mark_interrupted(transaction, writers, now)?;
            open(transaction, id)
        })
    }

    fn set_title(&mut self, id: &str, title: &str, now: i64) -> Result<Conversation, StoreError> {
        self.write(|transaction, _| {
            let sql =
                "UPDATE conversations SET title = ?2, updated_at = ?3, titled_by = 'person' WHERE id = ?1";
            transaction.execute(sql, params![id, title, now])?;
            get(transaction, id)
        })
    }

    fn set_deleted(&mut self, id: &str, at: Option<i64>) -> Result<Conversation, StoreError> {
        self.write(|transaction, _| {
            let sql = "UPDATE conversations SET deleted_at = ?2 WHERE id = ?1";
            transaction.execute(sql, params![id, at])?;
            get(transaction, id)
        })
    }
}

pub(crate) fn get(transaction: &Transaction<'_>, id: &str) -> Result<Conversation, Failed> {
    let mut rows = transaction.prepare_cached(
        "SELECT id, title, model, created_at, updated_at, deleted_at, tools, settings FROM conversations WHERE id = ?1",
    )?;
    let found = rows.query_row(params![id], from_row).optional()?;
    found.ok_or_else(|| StoreError::NoConversation { id: id.to_owned() }.into())
}

/// The last message of the branch that is shown.
pub(crate) fn head(transaction: &Transaction<'_>, id: &str) -> Result<Option<String>, Failed> {
    let found = transaction
        .query_row(
            "SELECT head FROM conversations WHERE id = ?1",
            params![id],
            |row| row.get(0),
        )
        .optional()?;
    found.ok_or_else(|| StoreError::NoConversation { id: id.to_owned() }.into())
}

pub(crate) fn set_model(transaction: &Transaction<'_>, id: &str, model: &str) -> Result<(), Failed> {
    let sql = "UPDATE conversations SET model = ?2 WHERE id = ?1 AND model IS NOT ?2";
    transaction.execute(sql, params![id, model])?;
    Ok(())
}

/// A new message became the last one.
pub(crate) fn moved_on(transaction: &Transaction<'_>, id: &str, head: &str, now: i64) -> Result<(), Failed> {
    let sql = "UPDATE conversations SET head = ?2, updated_at = ?3 WHERE id = ?1";
    transaction.execute(sql, params![id, head, now])?;
    Ok(())
}

/// A conversation without a title takes the first words of its first message.
pub(crate) fn name_by(transaction: &Transaction<'_>, id: &str, text: &str) -> Result<(), Failed> {
    let sql = "UPDATE conversations SET title = ?2 WHERE id = ?1 AND title = ''";
    transaction.execute(sql, params![id, title_from(text)])?;
    Ok(())
}

pub(crate) fn check_settings(bytes: usize) -> Result<(), StoreError> {
    if bytes > SETTINGS_BYTES_MAX {
        return Err(StoreError::TooLarge {
            what: Limited::SettingBytes,
            bytes,
            limit: SETTINGS_BYTES_MAX,
        });
    }
    Ok(())
}

pub(crate) fn title_from(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    if line.chars().count() <= TITLE_CHARS {
        return line.to_owned();
    }
    let short: String = line.chars().take(TITLE_CHARS).collect();
    // At a word's end, unless that would leave next to nothing.
    let cut = short
        .rfind(char::is_whitespace)
        .filter(|at| *at > short.len() / 2)
        .unwrap_or(short.len());
    format!("{}…", short[..cut].trim_end())
}

pub(crate) fn open(transaction: &Transaction<'_>, id: &str) -> Result<Opened, Failed> {
    let conversation = get(transaction, id)?;
    let messages = match head(transaction, id)? {
        Some(head) => path_to(transaction, &head)?,
        None => Vec::new(),
    };
    let running = messages
        .iter()
        .find(|message| message.is_running())
        .map(|message| message.id.clone());
    Ok(Opened {
        branches: branches(transaction, id)?,
        conversation,
        messages,
        running,
    })
}

/// From `id, title, model, created_at, updated_at, deleted_at, tools, settings`.
pub(crate) fn from_row(row: &Row<'_>) -> Result<Conversation, rusqlite::Error> {
    // What is no JSON was not written by us: then it is as if nothing was said.
    let json = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
    Ok(Conversation {
        id: row.get(0)?,
        title: row.get(1)?,
        model: row.get(2)?,
        created_at: row.get(3)?,
        updated_at: row.get(4)?,
        deleted_at: row.get(5)?,
        tools: json(row.get(6)?),
        settings: json(row.get(7)?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{TITLE_CHARS, title_from};

    #[test]
    fn titles_are_the_first_words() {
        assert_eq!(title_from("\n  What is a hull?\nSecond line"), "What is a hull?");
        assert_eq!(title_from("   "), "");
        let long = "Please explain in simple words how a Plimsoll line is read by an inspector";
        assert_eq!(
            title_from(long),
            "Please explain in simple words how a Plimsoll line is read…"
        );
    }

    proptest! {
        #[test]
        fn no_title_is_longer_than_a_line(text in "\\PC{0,200}") {
            prop_assert!(title_from(&text).chars().count() <= TITLE_CHARS + 1);
        }
    }
}
