use std::sync::Arc;

use plimsoll_os::clock;
use plimsoll_store::Shown;
use plimsoll_wire::{
    AnswerAgain, AnswerTool, Conversation, Conversations, CreateConversation, DeleteConversation, Done,
    Event, FaultCode, ListConversations, OpenConversation, RenameConversation, RestoreConversation, SetTools,
    StartTurn, Started, StopTurn,
};

use crate::app::App;
use crate::chat_settings;
use crate::fault::{Failed, fault};
use crate::routes::CloudName;
use crate::to_wire;
use crate::turns::{Ask, LocalAnswering};

pub(super) async fn list_conversations(
    app: Arc<App>,
    call: ListConversations,
) -> Result<Conversations, Failed> {
    let shown = if call.trash { Shown::Trash } else { Shown::Kept };
    let conversations = app.store.conversations(shown).await?;
    Ok(Conversations {
        conversations: conversations
            .into_iter()
            .map(to_wire::conversation_summary)
            .collect(),
    })
}

pub(super) async fn open_conversation(app: Arc<App>, call: OpenConversation) -> Result<Conversation, Failed> {
    Ok(to_wire::conversation(
        app.store.open_conversation(&call.id, clock::now_s()).await?,
    ))
}

pub(super) async fn create_conversation(
    app: Arc<App>,
    call: CreateConversation,
) -> Result<Conversation, Failed> {
    if let Some(settings) = &call.settings {
        chat_settings::check(settings)?;
    }
    let mut created = app.store.create_conversation(call.model, clock::now_s()).await?;
    let id = created.id.clone();
    if let Some(settings) = call.settings {
        let settings = serde_json::to_value(settings).unwrap_or_default();
        created = app.store.set_conversation_settings(&id, settings).await?;
    }
    tell(&app, created);
    open_conversation(app, OpenConversation { id }).await
}

pub(super) async fn rename_conversation(app: Arc<App>, call: RenameConversation) -> Result<Done, Failed> {
    tell(
        &app,
        app.store
            .rename_conversation(&call.id, &call.title, clock::now_s())
            .await?,
    );
    Ok(Done {})
}

pub(super) async fn delete_conversation(app: Arc<App>, call: DeleteConversation) -> Result<Done, Failed> {
    app.turns.stop_and_wait(&call.id).await;
    tell(
        &app,
        app.store.delete_conversation(&call.id, clock::now_s()).await?,
    );
    app.streaming.contexts.forget(&call.id);
    Ok(Done {})
}

pub(super) async fn restore_conversation(app: Arc<App>, call: RestoreConversation) -> Result<Done, Failed> {
    tell(&app, app.store.restore_conversation(&call.id).await?);
    Ok(Done {})
}

pub(super) async fn start_turn(app: Arc<App>, call: StartTurn) -> Result<Started, Failed> {
    if call.text.trim().is_empty() {
        return Err(fault(FaultCode::BadRequest, [("what", "empty message".into())]).into());
    }
    let ask = match &call.instead {
        Some(of) => Ask::Instead { of, text: &call.text },
        None => Ask::New(&call.text),
    };
    turn(app, &call.conversation, ask, call.model).await
}

pub(super) async fn answer_again(app: Arc<App>, call: AnswerAgain) -> Result<Started, Failed> {
    let ask = match &call.message {
        Some(message) => Ask::Beside(message),
        None => Ask::Again,
    };
    turn(app, &call.conversation, ask, call.model).await
}

async fn turn(
    app: Arc<App>,
    conversation: &str,
    ask: Ask<'_>,
    model: Option<String>,
) -> Result<Started, Failed> {
    let of_conversation = app.store.conversation(conversation).await?.model;
    let model = match model.or(of_conversation) {
        Some(name) if CloudName::read(&name).is_some() => name,
        // Of a model that is ready nothing needs to be looked for on the disk.
        Some(name) => match app.router.ready(&name) {
            Some(id) => id,
            None => app.models.find_on_disk(&name).await?.id,
        },
        None => app
            .models
            .default_model()
            .await?
            .ok_or_else(|| fault(FaultCode::UnknownModel, []))?,
    };
    let answering = LocalAnswering {
        app: Arc::clone(&app),
    };
    // The person has the word: what was made meanwhile lets go.
    app.streaming.contexts.stop_idle().await;
    let id = app.turns.start(conversation, ask, model, answering).await?;
    app.title_later(conversation);
    Ok(Started { id })
}

pub(super) async fn set_tools(app: Arc<App>, call: SetTools) -> Result<Done, Failed> {
    let tools = serde_json::to_value(call.tools).unwrap_or_default();
    tell(&app, app.store.set_conversation_tools(&call.id, tools).await?);
    Ok(Done {})
}

pub(super) async fn answer_tool(app: Arc<App>, call: AnswerTool) -> Result<Done, Failed> {
    app.streaming
        .approvals
        .answer(&call.conversation, &call.call, call.answer);
    Ok(Done {})
}

pub(super) async fn stop_turn(app: Arc<App>, call: StopTurn) -> Result<Done, Failed> {
    app.turns.stop(&call.conversation);
    Ok(Done {})
}

pub(super) fn tell(app: &App, changed: plimsoll_store::Conversation) {
    app.bus.tell(Event::ConversationChanged {
        conversation: to_wire::conversation_summary(changed),
    });
}
