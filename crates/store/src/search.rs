//! Words in all conversations.

use std::collections::BTreeMap;

use rusqlite::types::Value as Sql;
use rusqlite::{Row, Transaction, params_from_iter};

use crate::conversations::{Conversation, Shown, from_row};
use crate::db::{Db, Failed};
use crate::{Store, StoreError};

/// More words than these make no search narrower.
const WORDS_MAX: usize = 8;
const WORD_CHARS_MAX: usize = 64;
/// The index knows groups of three letters. Shorter words are looked for in the text itself.
const INDEXED_CHARS: usize = 3;
/// Messages that are looked at, the newest first.
const HITS_MAX: usize = 1_000;
/// Around a word that was found.
const SNIPPET_CHARS: usize = 32;

/// A conversation in which every word was found, in its title or in one message.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub conversation: Conversation,
    pub in_title: bool,
    /// Messages that hold every word.
    pub hits: u32,
    /// The newest of them.
    pub message: Option<String>,
    /// What stands around the first word there.
    pub snippet: Vec<Snip>,
}

/// A piece of a text around what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snip {
    pub text: String,
    /// One of the words.
    pub hit: bool,
}

impl Store {
    /// Conversations that hold all of these words, the latest change first. Case does not count.
    pub async fn search(&self, words: &str, shown: Shown, limit: usize) -> Result<Vec<Found>, StoreError> {
        let words: Vec<String> = words
            .split_whitespace()
            .take(WORDS_MAX)
            .map(|word| word.chars().take(WORD_CHARS_MAX).collect())
            .collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        self.ask(move |db| db.search(&words, shown, limit)).await
    }
}

impl Db {
    fn search(&mut self, words: &[String], shown: Shown, limit: usize) -> Result<Vec<Found>, StoreError> {
        self.read(|transaction| {
            let mut found: BTreeMap<String, Found> = BTreeMap::new();
            for conversation in titles(transaction, words, shown)? {
                let one = Found {
                    conversation,
                    in_title: true,
                    hits: 0,
                    message: None,
                    snippet: Vec::new(),
                };
                found.insert(one.conversation.id.clone(), one);
            }
            for (conversation, message, text) in messages(transaction, words, shown)? {
                let one = found.entry(conversation.id.clone()).or_insert_with(|| Found {
                    conversation,
                    in_title: false,
                    hits: 0,
                    message: None,
                    snippet: Vec::new(),
                });
                one.hits += 1;
                if one.message.is_none() {
                    one.message = Some(message);
                    one.snippet = snippet(&text, words);
                }
            }
            let mut found: Vec<Found> = found.into_values().collect();
            found.sort_by(|one, other| {
                let key = |found: &Found| (found.conversation.updated_at, found.conversation.id.clone());
                key(other).cmp(&key(one))
            });
            found.truncate(limit);
            Ok(found)
        })
    }
}

const CONVERSATION: &str =
    "c.id, c.title, c.model, c.created_at, c.updated_at, c.deleted_at, c.tools, c.settings";

fn titles(
    transaction: &Transaction<'_>,
    words: &[String],
    shown: Shown,
) -> Result<Vec<Conversation>, Failed> {
    let Query { from, values } = query("title_words", "c.title", "c.number", words);
    let sql = format!(
        "SELECT {CONVERSATION} FROM conversations c {from} AND (c.deleted_at IS NOT NULL) = {} LIMIT {HITS_MAX}",
        deleted(shown)
    );
    let mut rows = transaction.prepare(&sql)?;
    let found = rows
        .query_map(params_from_iter(values), from_row)?
        .collect::<Result<_, _>>()?;
    Ok(found)
}

/// The newest first, each with its text.
fn messages(
    transaction: &Transaction<'_>,
    words: &[String],
    shown: Shown,
) -> Result<Vec<(Conversation, String, String)>, Failed> {
    let Query { from, values } = query("message_words", "m.text", "m.number", words);
    let sql = format!(
        "SELECT {CONVERSATION}, m.id, m.text FROM messages m JOIN conversations c ON c.id = m.conversation
         {from} AND (c.deleted_at IS NOT NULL) = {} ORDER BY m.number DESC LIMIT {HITS_MAX}",
        deleted(shown)
    );
    let mut rows = transaction.prepare(&sql)?;
    let read = |row: &Row<'_>| Ok((from_row(row)?, row.get(8)?, row.get(9)?));
    let found = rows
        .query_map(params_from_iter(values), read)?
        .collect::<Result<_, _>>()?;
    Ok(found)
}

fn deleted(shown: Shown) -> u8 {
    u8::from(shown == Shown::Trash)
}

/// What follows the tables, and its values.
struct Query {
    from: String,
    values: Vec<Sql>,
}

fn query(index: &str, column: &str, number: &str, words: &[String]) -> Query {
    let (long, short): (Vec<&String>, Vec<&String>) = words
        .iter()
        .partition(|word| word.chars().count() >= INDEXED_CHARS);
    let mut values = Vec::new();
    let mut conditions = Vec::new();
    if !long.is_empty() {
        // A quoted word is a word, whatever it holds.
        let quoted: Vec<String> = long
            .iter()
            .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
            .collect();
        values.push(Sql::Text(quoted.join(" ")));
        conditions.push(format!(
            "{number} IN (SELECT rowid FROM {index} WHERE {index} MATCH ?{})",
            values.len()
        ));
    }
    for word in short {
        values.push(Sql::Text(word.to_lowercase()));
        conditions.push(format!("instr(lower({column}), ?{}) > 0", values.len()));
    }
    Query {
        from: format!("WHERE {}", conditions.join(" AND ")),
        values,
    }
}

/// The text around the first of the words that stands in it, in one line.
fn snippet(text: &str, words: &[String]) -> Vec<Snip> {
    let Some((start, end)) = first(text, words) else {
        return Vec::new();
    };
    let from = text[..start]
        .char_indices()
        .rev()
        .nth(SNIPPET_CHARS - 1)
        .map_or(0, |(at, _)| at);
    let to = text[end..]
        .char_indices()
        .nth(SNIPPET_CHARS * 2)
        .map_or(text.len(), |(at, _)| end + at);
    let mut snips = Vec::new();
    let mut plain = String::from(if from > 0 { "…" } else { "" });
    let mut at = from;
    while let Some((start, end)) = first(&text[at..to], words) {
        plain.push_str(&text[at..at + start]);
        push(&mut snips, &plain, false);
        plain.clear();
        push(&mut snips, &text[at + start..at + end], true);
        at += end;
    }
    plain.push_str(&text[at..to]);
    if to < text.len() {
        plain.push('…');
    }
    push(&mut snips, &plain, false);
    snips
}

fn push(snips: &mut Vec<Snip>, text: &str, hit: bool) {
    if !text.is_empty() {
        let text = text.replace(['\n', '\r', '\t'], " ");
        snips.push(Snip { text, hit });
    }
}

/// The first place of any word, in bytes. Letter by letter, because another case may have another length.
fn first(text: &str, words: &[String]) -> Option<(usize, usize)> {
    let words: Vec<Vec<char>> = words
        .iter()
        .map(|word| word.chars().flat_map(char::to_lowercase).collect())
        .collect();
    text.char_indices().find_map(|(start, _)| {
        let length = words
            .iter()
            .filter_map(|word| starts_with(&text[start..], word))
            .max()?;
        Some((start, start + length))
    })
}

/// How many bytes of the text are this word, if it begins with it.
fn starts_with(text: &str, word: &[char]) -> Option<usize> {
    let mut wanted = word.iter();
    for (at, letter) in text.char_indices() {
        for low in letter.to_lowercase() {
            match wanted.next() {
                Some(next) if *next == low => {}
                Some(_) => return None,
                None => return Some(at),
            }
        }
        if wanted.as_slice().is_empty() {
            return Some(at + letter.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{first, snippet};

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_snippet_marks_every_word_in_one_line() {
        let text = format!(
            "{} The Keel\nand the hull of a ship. {}",
            "x".repeat(60),
            "y".repeat(90)
        );
        let snips = snippet(&text, &words("keel HULL"));
        let shown: String = snips
            .iter()
            .map(|snip| {
                if snip.hit {
                    format!("[{}]", snip.text)
                } else {
                    snip.text.clone()
                }
            })
            .collect();
        assert_eq!(
            shown,
            format!(
                "…{} The [Keel] and the [hull] of a ship. {}…",
                "x".repeat(27),
                "y".repeat(39)
            )
        );
    }

    #[test]
    fn a_letter_that_grows_in_another_case_is_found_where_it_stands() {
        assert_eq!(first("aİb", &words("İ")), Some((1, 3)));
        assert_eq!(first("Straße", &words("STRASSE")), None);
    }

    proptest! {
        #[test]
        fn no_text_breaks_a_snippet(text in "\\PC{0,120}", word in "\\PC{1,4}") {
            let words = words(&word);
            let joined: String = snippet(&text, &words).iter().map(|snip| snip.text.as_str()).collect();
            prop_assert!(joined.chars().count() <= text.chars().count() + 2);
        }
    }
}
