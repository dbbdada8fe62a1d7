use std::path::Path;

use plimsoll_os::files;
use plimsoll_units::Bytes;
use plimsoll_wire::{
    ConversationSummary, DeleteConversation, EmptyTrash, ExportConversation, Exported, ImportConversation,
    ListConversations, MarkdownWords, RestoreConversation, SearchConversations,
};

use super::Session;
use crate::args::ConversationCommand;
use crate::failure::{Failure, unreadable, unwritable};
use crate::lang::{clean, params};
use crate::out::Form;
use crate::show;

/// Of a document that is read.
const DOCUMENT_BYTES_MAX: Bytes = Bytes::mib(64);
/// Letters of an id that are enough where only one conversation has them.
const PART_OF_ID: usize = 4;

pub(super) async fn conversation(session: &Session, args: ConversationCommand) -> Result<(), Failure> {
    match args {
        ConversationCommand::List { trash } => {
            let listed = session.ask(ListConversations { trash }).await?;
            session.out.answer(&listed, show::conversations);
        }
        ConversationCommand::Search { words, trash } => {
            let words = words.join(" ");
            let found = session.ask(SearchConversations { words, trash }).await?;
            session.out.answer(&found, show::found_conversations);
        }
        ConversationCommand::Show { id } => {
            let exported = export(session, &id, true).await?;
            let text = |exported: &Exported| clean(exported.text.as_deref().unwrap_or_default().trim_end());
            session.out.answer(&exported, |_, exported| text(exported));
        }
        ConversationCommand::Export { id, file, markdown } => {
            let mut exported = export(session, &id, markdown).await?;
            let Some(file) = file else {
                session.out.answer(&exported, |_, exported| {
                    exported.text.as_deref().unwrap_or_default().trim_end().to_owned()
                });
                return Ok(());
            };
            let text = exported.text.take().unwrap_or_default();
            files::replace(&file, text.as_bytes()).map_err(|error| unwritable(&file, &error))?;
            exported.path = Some(file.display().to_string());
            session.out.answer(&exported, |out, exported| {
                let path = clean(exported.path.as_deref().unwrap_or_default());
                out.say("conversations.written", &params! { path = path })
            });
        }
        ConversationCommand::Import { file } => {
            let text = read(&file)?;
            let imported = session.ask(ImportConversation { text }).await?;
            session.out.answer(&imported, |out, imported| {
                let title = clean(&imported.summary.title);
                out.say(
                    "conversations.imported",
                    &params! { title = title, id = imported.summary.id.clone() },
                )
            });
        }
        ConversationCommand::Delete { id } => {
            let id = find(session, &id).await?;
            let done = session.ask(DeleteConversation { id: id.clone() }).await?;
            session.out.answer(&done, |out, _| {
                out.say("conversations.deleted", &params! { id = id.clone() })
            });
        }
        ConversationCommand::Restore { id } => {
            let id = find(session, &id).await?;
            let done = session.ask(RestoreConversation { id: id.clone() }).await?;
            session.out.answer(&done, |out, _| {
                out.say("conversations.restored", &params! { id = id.clone() })
            });
        }
        ConversationCommand::EmptyTrash { yes } => empty_trash(session, yes).await?,
    }
    Ok(())
}

async fn empty_trash(session: &Session, yes: bool) -> Result<(), Failure> {
    let held = session.ask(ListConversations { trash: true }).await?;
    let count = u64::try_from(held.conversations.len()).unwrap_or(u64::MAX);
    let mut interrupts = session.interrupts();
    if !yes && session.out.form == Form::Person && count > 0 {
        let question = session
            .out
            .say("conversations.askEmpty", &params! { count = count });
        if !super::library::agrees(session, &mut interrupts, &question).await {
            return Ok(());
        }
    }
    let emptied = session.ask(EmptyTrash {}).await?;
    session.out.answer(&emptied, |out, emptied| {
        out.say(
            "conversations.emptied",
            &params! { count = u64::from(emptied.conversations) },
        )
    });
    Ok(())
}

async fn export(session: &Session, id: &str, markdown: bool) -> Result<Exported, Failure> {
    let id = find(session, id).await?;
    let word = |key: &str| session.out.lang.text(key).to_owned();
    let words = markdown.then(|| MarkdownWords {
        you: word("conversations.you"),
        answer: word("conversations.answer"),
        thought: word("conversations.thought"),
        tool: word("conversations.tool"),
    });
    session
        .ask(ExportConversation {
            id,
            words,
            save: false,
        })
        .await
}

/// A whole id, a part of one that only one conversation has, or `last`.
pub(super) async fn find(session: &Session, typed: &str) -> Result<String, Failure> {
    let mut all: Vec<ConversationSummary> = Vec::new();
    for trash in [false, true] {
        all.extend(session.ask(ListConversations { trash }).await?.conversations);
    }
    let is_part = |one: &&ConversationSummary| {
        one.id == typed || typed.len() >= PART_OF_ID && (one.id.starts_with(typed) || one.id.ends_with(typed))
    };
    let found: Vec<&ConversationSummary> = if typed == "last" {
        all.iter().take(1).collect()
    } else {
        all.iter().filter(is_part).collect()
    };
    Ok(match found[..] {
        [one] => one.id.clone(),
        // The app says that there is none.
        _ => typed.to_owned(),
    })
}

fn read(file: &Path) -> Result<String, Failure> {
    let bytes = files::read_up_to(file, DOCUMENT_BYTES_MAX).map_err(|error| unreadable(file, &error))?;
    String::from_utf8(bytes).map_err(|error| unreadable(file, &error))
}
