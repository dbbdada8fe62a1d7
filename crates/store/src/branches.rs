//! The other ways a conversation went: questions that were asked differently, answers that were asked for again.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension as _, Transaction, params};

use crate::conversations::{Opened, get, moved_on, open, set_model};
use crate::db::{Db, Failed};
use crate::messages::{
    BRANCH_MAX, Begun, Message, Role, begin_answer, check_idle, check_size, insert, new_message, path_to,
};
use crate::{Store, StoreError};

/// Where a message stands among those in the same place of a conversation, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// From 1.
    pub place: u32,
    pub of: u32,
    /// The id of the one before it.
    pub before: Option<String>,
    /// The id of the one after it.
    pub after: Option<String>,
}

impl Store {
    /// A person's message in the place of another one, and an empty answer behind it. The message that was there
    /// stays with all that followed, on a branch that is not shown. Otherwise as [`Self::begin_turn`].
    pub async fn begin_turn_instead(
        &self,
        conversation: &str,
        of: &str,
        text: &str,
        model: &str,
        now: i64,
    ) -> Result<Begun, StoreError> {
        let (conversation, of) = (conversation.to_owned(), of.to_owned());
        let (text, model) = (text.to_owned(), model.to_owned());
        self.ask_in_haste(move |db| db.begin_turn_instead(&conversation, &of, text, &model, now))
            .await
    }

    /// Another empty answer to the question that `message` is or answers. Otherwise as [`Self::begin_turn`].
    pub async fn begin_turn_beside(
        &self,
        conversation: &str,
        message: &str,
        model: &str,
        now: i64,
    ) -> Result<Begun, StoreError> {
        let (conversation, message) = (conversation.to_owned(), message.to_owned());
        let model = model.to_owned();
        self.ask_in_haste(move |db| db.begin_turn_beside(&conversation, &message, &model, now))
            .await
    }

    /// Shows the branch that this message is on, to its newest end.
    pub async fn show_branch(
        &self,
        conversation: &str,
        message: &str,
        now: i64,
    ) -> Result<Opened, StoreError> {
        let (conversation, message) = (conversation.to_owned(), message.to_owned());
        self.ask(move |db| db.show_branch(&conversation, &message, now))
            .await
    }
}

impl Db {
    fn begin_turn_instead(
        &mut self,
        conversation: &str,
        of: &str,
        text: String,
        model: &str,
        now: i64,
    ) -> Result<Begun, StoreError> {
        check_size(text.len())?;
        self.write(|transaction, writers| {
            check_idle(transaction, writers, conversation, now)?;
            let (role, parent) = place_of(transaction, conversation, of)?;
            if role != Role::User {
                return Err(StoreError::NoMessage { id: of.to_owned() }.into());
            }
            set_model(transaction, conversation, model)?;
            let before = before(transaction, parent.as_deref())?;
            let user = new_message(Role::User, parent, text, now);
            insert(transaction, conversation, &user, None)?;
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

    fn begin_turn_beside(
        &mut self,
        conversation: &str,
        message: &str,
        model: &str,
        now: i64,
    ) -> Result<Begun, StoreError> {
        self.write(|transaction, writers| {
            check_idle(transaction, writers, conversation, now)?;
            let question = match place_of(transaction, conversation, message)? {
                (Role::User, _) => Some(message.to_owned()),
                (Role::Assistant, question) => question,
            };
            let no_question = || StoreError::NoQuestion {
                conversation: conversation.to_owned(),
            };
            let mut before = before(transaction, question.as_deref())?;
            let user = before.pop().ok_or_else(no_question)?;
            if user.role != Role::User {
                return Err(no_question().into());
            }
            set_model(transaction, conversation, model)?;
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

    fn show_branch(&mut self, conversation: &str, message: &str, now: i64) -> Result<Opened, StoreError> {
        self.write(|transaction, writers| {
            check_idle(transaction, writers, conversation, now)?;
            place_of(transaction, conversation, message)?;
            let end = newest_end(transaction, message)?;
            // Looking at another branch is no change that would move the conversation to the top.
            let sql = "UPDATE conversations SET head = ?2 WHERE id = ?1";
            transaction.execute(sql, params![conversation, end])?;
            open(transaction, conversation)
        })
    }
}

/// Every message that has others in its place.
pub(crate) fn branches(
    transaction: &Transaction<'_>,
    conversation: &str,
) -> Result<BTreeMap<String, Branch>, Failed> {
    let mut rows = transaction.prepare_cached(
        "SELECT id, ifnull(parent, ''), role FROM messages
         WHERE conversation = ?1 AND (ifnull(parent, ''), role) IN (
            SELECT ifnull(parent, ''), role FROM messages WHERE conversation = ?1 GROUP BY 1, 2 HAVING count(*) > 1
         ) ORDER BY 2, 3, id",
    )?;
    let rows: Vec<(String, (String, String))> = rows
        .query_map(params![conversation], |row| {
            Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
        })?
        .collect::<Result<_, _>>()?;
    let mut all = BTreeMap::new();
    for together in rows.chunk_by(|one, other| one.1 == other.1) {
        let id = |at: usize| together.get(at).map(|(id, _)| id.clone());
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        for (at, (one, _)) in together.iter().enumerate() {
            let branch = Branch {
                place: number(at + 1),
                of: number(together.len()),
                before: at.checked_sub(1).and_then(id),
                after: id(at + 1),
            };
            all.insert(one.clone(), branch);
        }
    }
    Ok(all)
}

/// Whose message it is and what it follows. Refused when it is not one of this conversation.
fn place_of(
    transaction: &Transaction<'_>,
    conversation: &str,
    message: &str,
) -> Result<(Role, Option<String>), Failed> {
    let found = transaction
        .prepare_cached("SELECT role = 'user', parent FROM messages WHERE id = ?1 AND conversation = ?2")?
        .query_row(params![message, conversation], |row| {
            let role = if row.get(0)? { Role::User } else { Role::Assistant };
            Ok((role, row.get(1)?))
        })
        .optional()?;
    found.ok_or_else(|| {
        StoreError::NoMessage {
            id: message.to_owned(),
        }
        .into()
    })
}

fn before(transaction: &Transaction<'_>, last: Option<&str>) -> Result<Vec<Message>, Failed> {
    match last {
        Some(last) => path_to(transaction, last),
        None => Ok(Vec::new()),
    }
}

/// Ids are given in the order of time, so the largest is the newest.
fn newest_end(transaction: &Transaction<'_>, from: &str) -> Result<String, Failed> {
    let mut next = transaction.prepare_cached("SELECT max(id) FROM messages WHERE parent = ?1")?;
    let mut end = from.to_owned();
    for _ in 0..BRANCH_MAX {
        match next.query_row(params![end], |row| row.get::<_, Option<String>>(0))? {
            Some(child) => end = child,
            None => break,
        }
    }
    Ok(end)
}
