use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::Value;
use uuid::Uuid;

use crate::branches::{Branch, branches};
use crate::conversations::{Conversation, get, head, moved_on, name_by, open, set_model};
use crate::db::{Db, Failed};
use crate::events::{self, Event, UsageRecord};
use crate::writers::{Writers, mark_interrupted};
use crate::{Limited, Store, StoreError};

const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// A branch longer than this is not followed further: no person writes it, and a circle would never end.
pub(crate) const BRANCH_MAX: i64 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Complete,
    Length,
    Stopped,
    Failed,
    /// Its writer was gone before it was.
    Interrupted,
}

impl End {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Length => "length",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [
            Self::Complete,
            Self::Length,
            Self::Stopped,
            Self::Failed,
            Self::Interrupted,
        ]
        .into_iter()
        .find(|end| end.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub id: String,
    /// The message it follows.
    pub parent: Option<String>,
    pub role: Role,
    pub text: String,
    pub reasoning: String,
    pub created_at: i64,
    pub ended_at: Option<i64>,
    /// `None` on a person's message and while the answer is being written.
    pub end: Option<End>,
    /// As the caller gave it.
    pub stats: Option<Value>,
    pub fault: Option<Value>,
    /// What an answer is made of beside its words, in order.
    pub events: Vec<Event>,
}

impl Message {
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.role == Role::Assistant && self.end.is_none()
    }
}

/// What came of an answer since the last batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    pub reasoning: String,
    pub events: Vec<Event>,
    /// Of calls of a model that ended since.
    pub usages: Vec<UsageRecord>,
}

impl Piece {
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty() && self.events.is_empty() && self.usages.is_empty()
    }

    /// Puts what came later behind this.
    pub fn extend(&mut self, later: Self) {
        self.text.push_str(&later.text);
        self.reasoning.push_str(&later.reasoning);
        self.events.extend(later.events);
        self.usages.extend(later.usages);
    }

    fn bytes(&self) -> usize {
        let events: usize = self.events.iter().map(|event| event.body.len()).sum();
        self.text.len() + self.reasoning.len() + events
    }
}

/// The end of an answer, with what was not yet written of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    pub last: Piece,
    pub end: End,
    pub stats: Option<Value>,
    pub fault: Option<Value>,
    pub at: i64,
}

/// A turn that has begun: what was said before it, the question, and the answer that is still empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Begun {
    /// By message: where it stands among others in the same place.
    pub branches: BTreeMap<String, Branch>,
    /// Without the two new messages.
    pub before: Vec<Message>,
    /// As it is now.
    pub conversation: Conversation,
    pub user: Message,
    pub answer: Message,
}

impl Store {
    /// A person's message and an empty answer behind it, both or neither. The conversation is answered by `model`
    /// from here on. Outlives our process when this returns, and is on the disk a moment later: the person waits
    /// for the answer meanwhile.
    pub async fn begin_turn(
        &self,
        conversation: &str,
        text: &str,
        model: &str,
        now: i64,
    ) -> Result<Begun, StoreError> {
        let (conversation, text, model) = (conversation.to_owned(), text.to_owned(), model.to_owned());
        self.ask_in_haste(move |db| db.begin_turn(&conversation, text, &model, now))
            .await
    }

    /// Another empty answer to the last question, beside the one that it had. Otherwise as [`Self::begin_turn`].
    pub async fn begin_turn_again(
        &self,
        conversation: &str,
        model: &str,
        now: i64,
    ) -> Result<Begun, StoreError> {
        let (conversation, model) = (conversation.to_owned(), model.to_owned());
        self.ask_in_haste(move |db| db.begin_turn_again(&conversation, &model, now))
            .await
    }

    /// A person's message behind the last one. The first gives the conversation its title.
    pub async fn add_user_message(
        &self,
        conversation: &str,
        text: &str,
        now: i64,
    ) -> Result<Message, StoreError> {
        let (conversation, text) = (conversation.to_owned(), text.to_owned());
        self.ask(move |db| db.add_user_message(&conversation, text, now))
            .await
    }

    /// An empty answer behind the last message, to be filled by [`Self::append`] and ended by
    /// [`Self::finish_answer`]. Only one at a time is written in a conversation.
    pub async fn begin_answer(&self, conversation: &str, now: i64) -> Result<Message, StoreError> {
        let conversation = conversation.to_owned();
        self.ask(move |db| db.begin_answer(&conversation, now)).await
    }

    /// A batch of a running answer; on the disk when this returns. Callers gather what came for about 250 ms.
    pub async fn append(&self, answer: &str, piece: Piece) -> Result<(), StoreError> {
        let answer = answer.to_owned();
        self.ask(move |db| db.append(&answer, &piece)).await
    }

    /// Ends an answer, exactly once. Outlives our process when this returns, and is on the disk a moment later.
    pub async fn finish_answer(&self, answer: &str, finish: Finish) -> Result<Message, StoreError> {
        let answer = answer.to_owned();
        self.ask_in_haste(move |db| db.finish_answer(&answer, &finish))
            .await
    }
}

impl Db {
    fn begin_turn(
        &mut self,
        conversation: &str,
        text: String,
        model: &str,
        now: i64,
    ) -> Result<Begun, StoreError> {
        check_size(text.len())?;
        self.write(|transaction, writers| {
            check_idle(transaction, writers, conversation, now)?;
            set_model(transaction, conversation, model)?;
            let before = open(transaction, conversation)?.messages;
            let user = add_user_message(transaction, conversation, text, now)?;
            let answer = begin_answer(transaction, writers, conversation, now)?;
            Ok(Begun {
                branches: branches(transaction, conversation)?,
                before,
                conversation: get(transaction, conversation)?,
                user,
                answer,
            })
        })
    }

    fn begin_turn_again(&mut self, conversation: &str, model: &str, now: i64) -> Result<Begun, StoreError> {
        self.write(|transaction, writers| {
            check_idle(transaction, writers, conversation, now)?;
            set_model(transaction, conversation, model)?;
            let mut before = open(transaction, conversation)?.messages;
            while before
                .last()
                .is_some_and(|message| message.role == Role::Assistant)
            {
                before.pop();
            }
            let user = before.pop().ok_or_else(|| StoreError::NoQuestion {
                conversation: conversation.to_owned(),
            })?;
            moved_on(transaction, conversation, &user.id, now)?;
            let answer = begin_answer(transaction, writers, conversation, now)?;
            Ok(Begun {
                branches: branches(transaction, conversation)?,
                before,
                conversation: get(transaction, conversation)?,
                user,
                answer,
            })
        })
    }

    fn add_user_message(
        &mut self,
        conversation: &str,
        text: String,
        now: i64,
    ) -> Result<Message, StoreError> {
        check_size(text.len())?;
        self.write(|transaction, _| add_user_message(transaction, conversation, text, now))
    }

    fn begin_answer(&mut self, conversation: &str, now: i64) -> Result<Message, StoreError> {
        self.write(|transaction, writers| {
            get(transaction, conversation)?;
            check_idle(transaction, writers, conversation, now)?;
            begin_answer(transaction, writers, conversation, now)
        })
    }

    fn append(&mut self, answer: &str, piece: &Piece) -> Result<(), StoreError> {
        if piece.is_empty() {
            return Ok(());
        }
        self.write(|transaction, writers| {
            let (text, reasoning) = (&piece.text, &piece.reasoning);
            let before = count(transaction, writers.me(), answer, piece.bytes())?;
            if !text.is_empty() || !reasoning.is_empty() {
                let sql = "INSERT INTO pieces (message, number, text, reasoning) VALUES (?1, ?2, ?3, ?4)";
                // It has at least a byte, so the count before it is a number of its own.
                transaction
                    .prepare_cached(sql)?
                    .execute(params![answer, before, text, reasoning])?;
            }
            events::add(transaction, answer, &piece.events, &piece.usages)
        })
    }

    fn finish_answer(&mut self, answer: &str, finish: &Finish) -> Result<Message, StoreError> {
        let Finish {
            last,
            end,
            stats,
            fault,
            at,
        } = finish;
        let json = |value: &Option<Value>| value.as_ref().map(Value::to_string);
        self.write(|transaction, writers| {
            count(transaction, writers.me(), answer, last.bytes())?;
            events::add(transaction, answer, &last.events, &last.usages)?;
            gather(transaction, answer)?;
            transaction.execute(
                "UPDATE messages SET text = text || ?2, reasoning = reasoning || ?3, ended = ?4, ended_at = ?5,
                    stats = ?6, fault = ?7, writer = NULL
                 WHERE id = ?1",
                params![answer, last.text, last.reasoning, end.name(), at, json(stats), json(fault)],
            )?;
            transaction.execute(
                "UPDATE conversations SET updated_at = ?2
                 WHERE id = (SELECT conversation FROM messages WHERE id = ?1)",
                params![answer, at],
            )?;
            let ended = branch(transaction, answer, 1)?.pop();
            ended.ok_or_else(|| StoreError::NoMessage { id: answer.to_owned() }.into())
        })
    }
}

fn add_user_message(
    transaction: &Transaction<'_>,
    conversation: &str,
    text: String,
    now: i64,
) -> Result<Message, Failed> {
    let parent = head(transaction, conversation)?;
    let message = new_message(Role::User, parent, text, now);
    insert(transaction, conversation, &message, None)?;
    name_by(transaction, conversation, &message.text)?;
    moved_on(transaction, conversation, &message.id, now)?;
    Ok(message)
}

pub(crate) fn begin_answer(
    transaction: &Transaction<'_>,
    writers: &Writers,
    conversation: &str,
    now: i64,
) -> Result<Message, Failed> {
    let parent = head(transaction, conversation)?;
    let message = new_message(Role::Assistant, parent, String::new(), now);
    insert(transaction, conversation, &message, Some(writers.me()))?;
    moved_on(transaction, conversation, &message.id, now)?;
    Ok(message)
}

/// Refuses while an answer is written in the conversation, by this process or another one that is alive.
pub(crate) fn check_idle(
    transaction: &Transaction<'_>,
    writers: &Writers,
    conversation: &str,
    now: i64,
) -> Result<(), Failed> {
    mark_interrupted(transaction, writers, now)?;
    let running: bool = transaction.query_row(
        "SELECT EXISTS (SELECT 1 FROM messages WHERE conversation = ?1 AND writer IS NOT NULL)",
        params![conversation],
        |row| row.get(0),
    )?;
    if running {
        let conversation = conversation.to_owned();
        return Err(StoreError::AnswerRunning { conversation }.into());
    }
    Ok(())
}

pub(crate) fn new_message(role: Role, parent: Option<String>, text: String, now: i64) -> Message {
    Message {
        id: Uuid::now_v7().to_string(),
        parent,
        role,
        text,
        reasoning: String::new(),
        created_at: now,
        ended_at: None,
        end: None,
        stats: None,
        fault: None,
        events: Vec::new(),
    }
}

pub(crate) fn check_size(bytes: usize) -> Result<(), StoreError> {
    if bytes > MESSAGE_BYTES_MAX {
        return Err(StoreError::TooLarge {
            what: Limited::MessageBytes,
            bytes,
            limit: MESSAGE_BYTES_MAX,
        });
    }
    Ok(())
}

pub(crate) fn insert(
    transaction: &Transaction<'_>,
    conversation: &str,
    message: &Message,
    writer: Option<&str>,
) -> Result<(), Failed> {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    transaction.execute(
        "INSERT INTO messages (id, conversation, parent, role, text, reasoning, created_at, writer)
         VALUES (?1, ?2, ?3, ?4, ?5, '', ?6, ?7)",
        params![
            message.id,
            conversation,
            message.parent,
            role,
            message.text,
            message.created_at,
            writer
        ],
    )?;
    Ok(())
}

/// Adds to the bytes of an answer that we are writing; the count before.
fn count(transaction: &Transaction<'_>, me: &str, answer: &str, bytes: usize) -> Result<i64, Failed> {
    let more = i64::try_from(bytes).unwrap_or(i64::MAX);
    let mut update = transaction.prepare_cached(
        "UPDATE messages SET written = written + ?3 WHERE id = ?1 AND writer = ?2 RETURNING written",
    )?;
    let now: Option<i64> = update
        .query_row(params![answer, me, more], |row| row.get(0))
        .optional()?;
    if let Some(now) = now {
        // An answer without end must not fill the disk.
        check_size(usize::try_from(now).unwrap_or(usize::MAX))?;
        return Ok(now - more);
    }
    let sql = "SELECT EXISTS (SELECT 1 FROM messages WHERE id = ?1)";
    let there: bool = transaction.query_row(sql, params![answer], |row| row.get(0))?;
    let id = answer.to_owned();
    Err(if there {
        StoreError::AlreadyEnded { id }
    } else {
        StoreError::NoMessage { id }
    }
    .into())
}

/// Puts the pieces of an answer into its row.
pub(crate) fn gather(transaction: &Transaction<'_>, answer: &str) -> Result<(), Failed> {
    transaction.execute(
        "UPDATE messages SET
            text = text || coalesce((SELECT group_concat(text, '' ORDER BY number) FROM pieces WHERE message = ?1), ''),
            reasoning = reasoning
                || coalesce((SELECT group_concat(reasoning, '' ORDER BY number) FROM pieces WHERE message = ?1), '')
         WHERE id = ?1",
        params![answer],
    )?;
    transaction.execute("DELETE FROM pieces WHERE message = ?1", params![answer])?;
    Ok(())
}

/// The messages from the first of a branch to this one.
pub(crate) fn path_to(transaction: &Transaction<'_>, last: &str) -> Result<Vec<Message>, Failed> {
    branch(transaction, last, BRANCH_MAX)
}

/// The last `length` messages of a branch.
fn branch(transaction: &Transaction<'_>, last: &str, length: i64) -> Result<Vec<Message>, Failed> {
    let mut rows = transaction.prepare_cached(
        "WITH RECURSIVE branch (id, parent, depth) AS (
            SELECT id, parent, 1 FROM messages WHERE id = ?1
            UNION ALL
            SELECT m.id, m.parent, b.depth + 1 FROM messages m JOIN branch b ON m.id = b.parent WHERE b.depth < ?2
         )
         SELECT m.id, m.parent, m.role,
            m.text || coalesce((SELECT group_concat(text, '' ORDER BY number) FROM pieces WHERE message = m.id), ''),
            m.reasoning
                || coalesce((SELECT group_concat(reasoning, '' ORDER BY number) FROM pieces WHERE message = m.id), ''),
            m.created_at, m.ended_at, m.ended, m.stats, m.fault,
            (SELECT json_group_array(json_array(kind, body) ORDER BY number) FROM events WHERE message = m.id)
         FROM branch b JOIN messages m ON m.id = b.id ORDER BY b.depth DESC",
    )?;
    let found = rows
        .query_map(params![last, length], from_row)?
        .collect::<Result<_, _>>()?;
    Ok(found)
}

pub(crate) fn from_row(row: &Row<'_>) -> Result<Message, rusqlite::Error> {
    let role: String = row.get(2)?;
    let ended: Option<String> = row.get(7)?;
    // What is no JSON was not written by us; the rest of the message is still worth showing.
    let json = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
    Ok(Message {
        id: row.get(0)?,
        parent: row.get(1)?,
        role: if role == "user" {
            Role::User
        } else {
            Role::Assistant
        },
        text: row.get(3)?,
        reasoning: row.get(4)?,
        created_at: row.get(5)?,
        ended_at: row.get(6)?,
        end: ended.as_deref().and_then(End::from_name),
        stats: json(row.get(8)?),
        fault: json(row.get(9)?),
        events: events::from_json(&row.get::<_, String>(10)?),
    })
}
