//! Conversations as documents: one that comes back whole, and Markdown to be read elsewhere.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use plimsoll_os::files::{self, Run};
use plimsoll_os::names;
use plimsoll_store as store;
use plimsoll_units::Bytes;
use plimsoll_wire::{ChatSettings, Fault, FaultCode, MarkdownWords};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chat_settings;
use crate::fault::{Failed, fault};
use crate::turns::tool_uses;

const FORMAT: &str = "plimsoll/conversation";
const VERSION: u32 = 1;
/// Of a document that is read.
const DOCUMENT_BYTES_MAX: usize = 64 << 20;
const NAME_CHARS: usize = 60;
/// Files of one name that a folder may hold.
const NAMES_MAX: u32 = 1_000;

/// The form is described in `docs/conversation-format.md`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    format: String,
    version: u32,
    title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    created_at: i64,
    updated_at: i64,
    #[serde(default)]
    settings: ChatSettings,
    /// The last message of the branch that is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shown: Option<String>,
    messages: Vec<DocumentMessage>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DocumentMessage {
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    role: plimsoll_wire::Role,
    text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reasoning: String,
    created_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<plimsoll_wire::ChatEnd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stats: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<DocumentEvent>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    usage: Vec<DocumentUsage>,
}

#[derive(Serialize, Deserialize)]
struct DocumentEvent {
    kind: String,
    body: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DocumentUsage {
    route: String,
    model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cached: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache_write: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<u32>,
    /// In millionths of a millionth of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_by: Option<plimsoll_wire::CostBy>,
}

/// Everything that was ever said, on every branch. What tools were allowed stays here.
pub(crate) fn document(whole: store::Whole) -> String {
    let store::Whole {
        conversation,
        messages,
        head,
    } = whole;
    let document = Document {
        format: FORMAT.to_owned(),
        version: VERSION,
        title: conversation.title,
        model: conversation.model,
        created_at: conversation.created_at,
        updated_at: conversation.updated_at,
        settings: chat_settings::kept(conversation.settings),
        shown: head,
        messages: messages.into_iter().map(out).collect(),
    };
    // Our own plain structs always become JSON.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

pub(crate) fn read(text: &str, now: i64) -> Result<store::Whole, Failed> {
    if text.len() > DOCUMENT_BYTES_MAX {
        return Err(bad(format!(
            "{} bytes are more than the {DOCUMENT_BYTES_MAX} that are read",
            text.len()
        ))
        .into());
    }
    let document: Document = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    if document.format != FORMAT || document.version > VERSION {
        return Err(bad(format!("{} of version {}", document.format, document.version)).into());
    }
    chat_settings::check(&document.settings)?;
    let conversation = store::Conversation {
        id: String::new(),
        title: document.title,
        model: document.model,
        created_at: document.created_at,
        updated_at: now,
        deleted_at: None,
        tools: None,
        settings: serde_json::to_value(document.settings).ok(),
    };
    Ok(store::Whole {
        conversation,
        messages: document.messages.into_iter().map(back).collect(),
        head: document.shown,
    })
}

fn out(one: store::WholeMessage) -> DocumentMessage {
    let store::WholeMessage { message, usages } = one;
    let told = crate::to_wire::message(message.clone());
    DocumentMessage {
        id: message.id,
        parent: message.parent,
        role: told.role,
        text: message.text,
        reasoning: message.reasoning,
        created_at: message.created_at,
        ended_at: message.ended_at,
        end: told.end,
        stats: message.stats,
        fault: message.fault,
        events: message
            .events
            .into_iter()
            .map(|event| DocumentEvent {
                body: serde_json::from_str(&event.body).unwrap_or(Value::String(event.body)),
                kind: event.kind,
            })
            .collect(),
        usage: usages
            .into_iter()
            .map(|usage| DocumentUsage {
                route: usage.route,
                model: usage.model,
                input: usage.input,
                cached: usage.cached,
                cache_write: usage.cache_write,
                output: usage.output,
                reasoning: usage.reasoning,
                total: usage.total,
                cost: usage.cost.map(|(amount, _)| amount),
                cost_by: usage.cost.map(|(_, by)| match by {
                    store::CostBy::Provider => plimsoll_wire::CostBy::Provider,
                    store::CostBy::Prices => plimsoll_wire::CostBy::Prices,
                }),
            })
            .collect(),
    }
}

fn back(one: DocumentMessage) -> store::WholeMessage {
    let cost = |usage: &DocumentUsage| {
        let by = match usage.cost_by? {
            plimsoll_wire::CostBy::Provider => store::CostBy::Provider,
            plimsoll_wire::CostBy::Prices => store::CostBy::Prices,
        };
        Some((usage.cost?, by))
    };
    store::WholeMessage {
        usages: one
            .usage
            .into_iter()
            .map(|usage| store::UsageRecord {
                cost: cost(&usage),
                route: usage.route,
                model: usage.model,
                input: usage.input,
                cached: usage.cached,
                cache_write: usage.cache_write,
                output: usage.output,
                reasoning: usage.reasoning,
                total: usage.total,
            })
            .collect(),
        message: store::Message {
            id: one.id,
            parent: one.parent,
            role: match one.role {
                plimsoll_wire::Role::User => store::Role::User,
                plimsoll_wire::Role::Assistant => store::Role::Assistant,
            },
            text: one.text,
            reasoning: one.reasoning,
            created_at: one.created_at,
            ended_at: one.ended_at,
            end: one.end.map(crate::to_wire::stored_end),
            stats: one.stats,
            fault: one.fault,
            events: one
                .events
                .into_iter()
                .map(|event| store::Event {
                    kind: event.kind,
                    body: match event.body {
                        Value::String(text) => text,
                        body @ (Value::Null
                        | Value::Bool(_)
                        | Value::Number(_)
                        | Value::Array(_)
                        | Value::Object(_)) => body.to_string(),
                    },
                })
                .collect(),
        },
    }
}

/// The branch that is shown, as a text.
pub(crate) fn markdown(opened: &store::Opened, words: &MarkdownWords) -> String {
    let mut text = String::new();
    let title = one_line(&opened.conversation.title);
    if !title.is_empty() {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "# {title}\n");
    }
    for message in &opened.messages {
        let heading = match message.role {
            store::Role::User => &words.you,
            store::Role::Assistant => &words.answer,
        };
        let _ = writeln!(text, "## {heading}\n");
        if !message.reasoning.trim().is_empty() {
            folded(&mut text, &words.thought, message.reasoning.trim());
        }
        for tool in tool_uses(&message.events) {
            let title = format!("{}: {}", words.tool, one_line(&tool.name));
            let result = tool.result.map(|result| result.text).unwrap_or_default();
            let mut body = fenced(&tool.arguments);
            if !result.is_empty() {
                body.push_str("\n\n");
                body.push_str(&fenced(&result));
            }
            folded(&mut text, &title, &body);
        }
        if !message.text.trim().is_empty() {
            let _ = writeln!(text, "{}\n", message.text.trim());
        }
    }
    text
}

fn folded(text: &mut String, title: &str, body: &str) {
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        text,
        "<details><summary>{title}</summary>\n\n{body}\n\n</details>\n"
    );
}

/// In a fence that is longer than any in it.
fn fenced(body: &str) -> String {
    let (mut longest, mut now) = (2, 0);
    for letter in body.chars() {
        now = if letter == '`' { now + 1 } else { 0 };
        longest = longest.max(now);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence}\n{}\n{fence}", body.trim_end())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A file name from a title, on every system.
pub(crate) fn file_name(title: &str, ending: &str) -> String {
    let kept: String = title
        .chars()
        .filter(|letter| {
            letter.is_alphanumeric() || letter.is_whitespace() || matches!(letter, '-' | '_' | ',')
        })
        .collect();
    let kept: String = one_line(&kept).chars().take(NAME_CHARS).collect();
    let name = format!("{}.{ending}", kept.trim_end());
    match names::safe_component(&name) {
        Ok(name) if !kept.is_empty() => name,
        Ok(_) | Err(_) => format!("conversation.{ending}"),
    }
}

/// Writes a new file; one of the same name stays as it is.
pub(crate) fn save(folder: &Path, name: &str, text: &str) -> Result<PathBuf, Failed> {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "txt"));
    let mut number = 1;
    loop {
        let name = if number == 1 {
            name.to_owned()
        } else {
            format!("{stem} ({number}).{ending}")
        };
        let path = folder.join(name);
        if !path.exists() || number >= NAMES_MAX {
            let limit = Bytes(u64::try_from(text.len()).unwrap_or(u64::MAX));
            files::write_new(&path, &mut text.as_bytes(), limit, Run::No)?;
            return Ok(path);
        }
        number += 1;
    }
}

fn bad(why: String) -> Fault {
    let mut fault = fault(FaultCode::ConversationBad, []);
    fault.trace.push(why);
    fault
}

#[cfg(test)]
mod tests {
    use super::{fenced, file_name, read, save};

    #[test]
    fn a_title_becomes_a_name_that_every_system_takes() {
        assert_eq!(file_name("What is a / b?\nNext", "md"), "What is a b Next.md");
        assert_eq!(file_name("../..", "json"), "conversation.json");
        assert_eq!(file_name("CON", "json"), "conversation.json");
        assert_eq!(file_name("Ebbe & Flut", "md"), "Ebbe Flut.md");
        assert!(file_name(&"ä".repeat(500), "md").chars().count() < 70);
    }

    #[test]
    fn a_fence_holds_what_has_fences() {
        assert_eq!(fenced("a ``` b"), "````\na ``` b\n````");
        assert_eq!(fenced("a"), "```\na\n```");
    }

    #[test]
    fn nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let first = save(folder.path(), "a.md", "one").unwrap();
        let second = save(folder.path(), "a.md", "two").unwrap();
        assert!(second.ends_with("a (2).md"), "{}", second.display());
        assert_eq!(std::fs::read_to_string(first).unwrap(), "one");
    }

    #[test]
    fn what_is_no_document_is_refused() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"format":"other","version":1,"title":"","createdAt":1,"updatedAt":1,"messages":[]}"#,
            r#"{"format":"plimsoll/conversation","version":2,"title":"","createdAt":1,"updatedAt":1,"messages":[]}"#,
        ] {
            assert!(read(text, 1).is_err(), "{text}");
        }
    }
}
