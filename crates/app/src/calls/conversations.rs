//! Finding conversations, their branches, how they are asked, and taking them elsewhere.

use std::sync::Arc;

use plimsoll_agent::Sampling;
use plimsoll_os::clock;
use plimsoll_store::Shown;
use plimsoll_wire::{
    ChatSettingsReply, Conversation, Done, Emptied, EmptyTrash, Event, ExportConversation, Exported,
    FoundConversation, FoundConversations, ImportConversation, ReadChatSettings, SearchConversations,
    SetChatSettings, SetModelSettings, ShowBranch, Snip,
};

use super::chat::tell;
use crate::app::App;
use crate::fault::Failed;
use crate::routes::{CloudName, local_route};
use crate::{chat_settings, portable, to_wire};

/// More than a person looks through.
const FOUND_MAX: usize = 60;

pub(super) async fn search(app: Arc<App>, call: SearchConversations) -> Result<FoundConversations, Failed> {
    let shown = if call.trash { Shown::Trash } else { Shown::Kept };
    let mut found = app.store.search(&call.words, shown, FOUND_MAX + 1).await?;
    let more = found.len() > FOUND_MAX;
    found.truncate(FOUND_MAX);
    let found = found
        .into_iter()
        .map(|one| FoundConversation {
            conversation: to_wire::conversation_summary(one.conversation),
            in_title: one.in_title,
            hits: one.hits,
            message: one.message,
            snippet: one
                .snippet
                .into_iter()
                .map(|snip| Snip {
                    text: snip.text,
                    hit: snip.hit,
                })
                .collect(),
        })
        .collect();
    Ok(FoundConversations { found, more })
}

pub(super) async fn show_branch(app: Arc<App>, call: ShowBranch) -> Result<Conversation, Failed> {
    let opened = app
        .store
        .show_branch(&call.conversation, &call.message, clock::now_s())
        .await?;
    Ok(to_wire::conversation(opened))
}

pub(super) async fn read_settings(
    app: Arc<App>,
    call: ReadChatSettings,
) -> Result<ChatSettingsReply, Failed> {
    let own = match &call.id {
        Some(id) => chat_settings::kept(app.store.conversation(id).await?.settings),
        None => plimsoll_wire::ChatSettings::default(),
    };
    let (dialect, advice) = match CloudName::read(&call.model) {
        Some(name) => (app.routes.route(name).await?.1.dialect, Sampling::default()),
        None => (
            local_route("http://127.0.0.1", &call.model, None)?.dialect,
            app.advice(&call.model),
        ),
    };
    Ok(ChatSettingsReply {
        own,
        model: app.memo.model_settings(&call.model).await?,
        advice: chat_settings::advised(advice),
        takes: chat_settings::takes(&dialect),
        thinking: chat_settings::thinking_choice(&dialect),
    })
}

pub(super) async fn set_settings(app: Arc<App>, call: SetChatSettings) -> Result<Done, Failed> {
    chat_settings::check(&call.settings)?;
    let settings = serde_json::to_value(call.settings).unwrap_or_default();
    tell(
        &app,
        app.store.set_conversation_settings(&call.id, settings).await?,
    );
    Ok(Done {})
}

pub(super) async fn set_model_settings(app: Arc<App>, call: SetModelSettings) -> Result<Done, Failed> {
    chat_settings::check(&call.settings)?;
    app.memo.keep_model_settings(&call.model, call.settings).await?;
    app.bus.tell(Event::SettingsChanged);
    Ok(Done {})
}

pub(super) async fn empty_trash(app: Arc<App>, _: EmptyTrash) -> Result<Emptied, Failed> {
    let gone = app.store.empty_trash(i64::MAX).await?;
    Ok(Emptied {
        conversations: u32::try_from(gone).unwrap_or(u32::MAX),
    })
}

pub(super) async fn export(app: Arc<App>, call: ExportConversation) -> Result<Exported, Failed> {
    let (title, text, ending) = if let Some(words) = &call.words {
        let opened = app.store.open_conversation(&call.id, clock::now_s()).await?;
        let text = portable::markdown(&opened, words);
        (opened.conversation.title, text, "md")
    } else {
        let whole = app.store.whole_conversation(&call.id).await?;
        (
            whole.conversation.title.clone(),
            portable::document(whole),
            "json",
        )
    };
    let name = portable::file_name(&title, ending);
    if !call.save {
        return Ok(Exported {
            name,
            text: Some(text),
            path: None,
        });
    }
    let folder = app.config().downloads()?;
    let saved = app
        .jobs
        .start_blocking(move |_| portable::save(&folder, &name, &text))
        .await
        .unwrap_or_else(|error| Err(error.into()))?;
    Ok(Exported {
        name: saved
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        text: None,
        path: Some(saved.display().to_string()),
    })
}

pub(super) async fn import(app: Arc<App>, call: ImportConversation) -> Result<Conversation, Failed> {
    let whole = portable::read(&call.text, clock::now_s())?;
    let added = app.store.add_conversation(whole).await?;
    let id = added.id.clone();
    tell(&app, added);
    let opened = app.store.open_conversation(&id, clock::now_s()).await?;
    Ok(to_wire::conversation(opened))
}
