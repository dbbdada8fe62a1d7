//! A whole conversation with all its branches, to be taken elsewhere and back.

use std::collections::BTreeMap;

use rusqlite::{Transaction, params};
use serde_json::Value;
use uuid::Uuid;

use crate::conversations::{Conversation, check_settings, get, head, title_from};
use crate::db::{Db, Failed};
use crate::events;
use crate::messages::{Message, check_size, from_row, insert};
use crate::{End, Role, Store, StoreError, UsageRecord};

/// Of one conversation that comes in.
const MESSAGES_MAX: usize = 100_000;

/// A conversation with everything that was ever said in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    pub conversation: Conversation,
    /// Whatever follows another message stands behind it.
    pub messages: Vec<WholeMessage>,
    /// The last message of the branch that is shown.
    pub head: Option<String>,
}

/// A message with what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeMessage {
    pub message: Message,
    pub usages: Vec<UsageRecord>,
}

impl Store {
    pub async fn whole_conversation(&self, id: &str) -> Result<Whole, StoreError> {
        let id = id.to_owned();
        self.ask(move |db| db.whole_conversation(&id)).await
    }

    /// A new conversation with all of this, under ids of its own. What may be done in it is not taken along: that
    /// is for the person here to say.
    pub async fn add_conversation(&self, whole: Whole) -> Result<Conversation, StoreError> {
        self.ask(move |db| db.add_conversation(&whole)).await
    }
}

impl Db {
    fn whole_conversation(&mut self, id: &str) -> Result<Whole, StoreError> {
        self.read(|transaction| {
            let conversation = get(transaction, id)?;
            let mut rows = transaction.prepare_cached(
                "SELECT m.id, m.parent, m.role,
                    m.text || coalesce((SELECT group_concat(text, '' ORDER BY number) FROM pieces WHERE message = m.id), ''),
                    m.reasoning || coalesce(
                        (SELECT group_concat(reasoning, '' ORDER BY number) FROM pieces WHERE message = m.id), ''),
                    m.created_at, m.ended_at, m.ended, m.stats, m.fault,
                    (SELECT json_group_array(json_array(kind, body) ORDER BY number) FROM events WHERE message = m.id)
                 FROM messages m WHERE m.conversation = ?1 ORDER BY m.id",
            )?;
            let messages: Vec<Message> = rows
                .query_map(params![id], from_row)?
                .collect::<Result<_, _>>()?;
            let messages = messages
                .into_iter()
                .map(|message| {
                    let usages = events::usages(transaction, &message.id)?;
                    Ok(WholeMessage { message, usages })
                })
                .collect::<Result<_, Failed>>()?;
            Ok(Whole {
                head: head(transaction, id)?,
                conversation,
                messages,
            })
        })
    }

    fn add_conversation(&mut self, whole: &Whole) -> Result<Conversation, StoreError> {
        if whole.messages.len() > MESSAGES_MAX {
            return Err(StoreError::Tangled {
                problem: "there are too many",
            });
        }
        self.write(|transaction, _| {
            let old = &whole.conversation;
            let id = Uuid::now_v7().to_string();
            let settings = old.settings.as_ref().map(Value::to_string);
            if let Some(settings) = &settings {
                check_settings(settings.len())?;
            }
            let title = title_from(&old.title);
            // A title that came along is not to be replaced.
            let by = (!title.is_empty()).then_some("person");
            transaction.execute(
                "INSERT INTO conversations (id, title, model, created_at, updated_at, settings, titled_by)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![id, title, old.model, old.created_at, old.updated_at, settings, by],
            )?;
            let mut ids: BTreeMap<&str, (String, Role)> = BTreeMap::new();
            for one in &whole.messages {
                add_message(transaction, &id, one, &mut ids)?;
            }
            let head = match &whole.head {
                Some(head) => Some(
                    ids.get(head.as_str())
                        .ok_or(StoreError::Tangled {
                            problem: "what is shown is not there",
                        })?
                        .0
                        .clone(),
                ),
                None => None,
            };
            let sql = "UPDATE conversations SET head = ?2 WHERE id = ?1";
            transaction.execute(sql, params![id, head])?;
            get(transaction, &id)
        })
    }
}

fn add_message<'a>(
    transaction: &Transaction<'_>,
    conversation: &str,
    one: &'a WholeMessage,
    ids: &mut BTreeMap<&'a str, (String, Role)>,
) -> Result<(), Failed> {
    let message = &one.message;
    let parent = match &message.parent {
        None => None,
        Some(parent) => Some(ids.get(parent.as_str()).cloned().ok_or(StoreError::Tangled {
            problem: "one follows a message that does not stand before it",
        })?),
    };
    let follows = parent.as_ref().map(|(_, role)| *role);
    let answers_nothing = message.role == Role::Assistant && follows != Some(Role::User);
    if answers_nothing {
        return Err(StoreError::Tangled {
            problem: "one answers no question",
        }
        .into());
    }
    let size: usize = message.events.iter().map(|event| event.body.len()).sum();
    check_size(size + message.text.len() + message.reasoning.len())?;
    let placed = Message {
        id: Uuid::now_v7().to_string(),
        parent: parent.map(|(id, _)| id),
        ..message.clone()
    };
    insert(transaction, conversation, &placed, None)?;
    let end = match message.role {
        Role::User => None,
        Role::Assistant => Some(message.end.unwrap_or(End::Interrupted)),
    };
    let json = |value: &Option<Value>| value.as_ref().map(Value::to_string);
    transaction.execute(
        "UPDATE messages SET reasoning = ?2, ended = ?3, ended_at = ?4, stats = ?5, fault = ?6 WHERE id = ?1",
        params![
            placed.id,
            message.reasoning,
            end.map(End::name),
            end.map(|_| message.ended_at.unwrap_or(message.created_at)),
            json(&message.stats),
            json(&message.fault)
        ],
    )?;
    events::add(transaction, &placed.id, &message.events, &one.usages)?;
    if ids.insert(&message.id, (placed.id, message.role)).is_some() {
        return Err(StoreError::Tangled {
            problem: "two have one id",
        }
        .into());
    }
    Ok(())
}
