use plimsoll_agent::{End, TurnFigures};
use plimsoll_store as store;
use plimsoll_units::{Tokens, TokensPerSecond};
use plimsoll_wire as wire;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The only route there is so far.
const LOCAL: &str = "local";

pub(crate) fn conversation(opened: store::Opened) -> wire::Conversation {
    wire::Conversation {
        summary: conversation_summary(opened.conversation),
        messages: opened.messages.into_iter().map(message).collect(),
        running: opened.running,
    }
}

pub(crate) fn conversation_summary(conversation: store::Conversation) -> wire::ConversationSummary {
    wire::ConversationSummary {
        id: conversation.id,
        title: conversation.title,
        created_at: conversation.created_at,
        updated_at: conversation.updated_at,
        model: conversation.model,
        deleted_at: conversation.deleted_at,
    }
}

pub(crate) fn message(message: store::Message) -> wire::Message {
    wire::Message {
        id: message.id,
        role: match message.role {
            store::Role::User => wire::Role::User,
            store::Role::Assistant => wire::Role::Assistant,
        },
        text: message.text,
        reasoning: message.reasoning,
        created_at: message.created_at,
        stats: message.stats.and_then(read),
        end: message.end.map(|end| match end {
            store::End::Complete => wire::ChatEnd::Complete,
            store::End::Length => wire::ChatEnd::Length,
            store::End::Stopped => wire::ChatEnd::Stopped,
            store::End::Failed => wire::ChatEnd::Failed,
            store::End::Interrupted => wire::ChatEnd::Interrupted,
        }),
        fault: message.fault.and_then(read),
    }
}

/// What an older or newer version kept in another form is left out; the message itself is still shown.
fn read<T: DeserializeOwned>(kept: Value) -> Option<T> {
    serde_json::from_value(kept).ok()
}

pub(crate) fn chat_end(end: &End) -> wire::ChatEnd {
    match end {
        End::Complete => wire::ChatEnd::Complete,
        End::Length => wire::ChatEnd::Length,
        End::Stopped => wire::ChatEnd::Stopped,
        End::Failed(_) => wire::ChatEnd::Failed,
    }
}

pub(crate) fn stored_end(end: wire::ChatEnd) -> store::End {
    match end {
        wire::ChatEnd::Complete => store::End::Complete,
        wire::ChatEnd::Length => store::End::Length,
        wire::ChatEnd::Stopped => store::End::Stopped,
        wire::ChatEnd::Failed => store::End::Failed,
        wire::ChatEnd::Interrupted => store::End::Interrupted,
    }
}

pub(crate) fn turn_stats(model: &str, figures: &TurnFigures, window: Option<Tokens>) -> wire::TurnStats {
    wire::TurnStats {
        route: LOCAL.to_owned(),
        model: model.to_owned(),
        prompt_tokens: figures.prompt.map(|tokens| tokens.0),
        cached_tokens: figures.cached.map(|tokens| tokens.0),
        completion_tokens: figures.completion.map(|tokens| tokens.0),
        first_token_ms: figures.first_token.map(|time| time.as_secs_f64() * 1000.0),
        decode_tps: figures.decode.map(TokensPerSecond::get),
        window: window.map(|tokens| tokens.0),
    }
}
