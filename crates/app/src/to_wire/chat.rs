use std::collections::BTreeMap;

use plimsoll_agent::{Cost, Effect, End, TurnFigures};
use plimsoll_store as store;
use plimsoll_units::{Tokens, TokensPerSecond};
use plimsoll_wire as wire;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::chat_settings;
use crate::turns::tool_uses;

pub(crate) fn conversation(opened: store::Opened) -> wire::Conversation {
    wire::Conversation {
        tools: tool_settings(opened.conversation.tools.clone()),
        settings: chat_settings::kept(opened.conversation.settings.clone()),
        summary: conversation_summary(opened.conversation),
        messages: opened
            .messages
            .into_iter()
            .map(|one| message_among(one, &opened.branches))
            .collect(),
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

/// Off, until somebody says otherwise.
pub(crate) fn tool_settings(kept: Option<Value>) -> wire::ToolSettings {
    kept.and_then(read).unwrap_or_default()
}

pub(crate) fn tool_effect(effect: &Effect) -> wire::ToolEffect {
    match effect {
        Effect::Nothing => wire::ToolEffect::Nothing,
        Effect::Reads { path } => wire::ToolEffect::Reads {
            path: path.display().to_string(),
        },
        Effect::Writes { path, before, after } => wire::ToolEffect::Writes {
            path: path.display().to_string(),
            before: before.clone(),
            after: after.clone(),
        },
        Effect::Fetches { url } => wire::ToolEffect::Fetches { url: url.clone() },
    }
}

pub(crate) fn branch(branch: store::Branch) -> wire::Branch {
    wire::Branch {
        place: branch.place,
        of: branch.of,
        before: branch.before,
        after: branch.after,
    }
}

/// With its place among others.
pub(crate) fn message_among(
    one: store::Message,
    branches: &BTreeMap<String, store::Branch>,
) -> wire::Message {
    wire::Message {
        branch: branches.get(&one.id).cloned().map(branch),
        ..message(one)
    }
}

pub(crate) fn message(message: store::Message) -> wire::Message {
    wire::Message {
        tools: tool_uses(&message.events),
        id: message.id,
        parent: message.parent,
        branch: None,
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

/// `route`: `local` or a provider's id.
pub(crate) fn turn_stats(
    route: &str,
    model: &str,
    figures: &TurnFigures,
    window: Option<Tokens>,
) -> wire::TurnStats {
    let count = |tokens: Option<Tokens>| tokens.map(|tokens| tokens.0);
    let usage = figures.usage;
    wire::TurnStats {
        route: route.to_owned(),
        model: model.to_owned(),
        prompt_tokens: count(usage.input),
        cached_tokens: count(usage.cached),
        cache_write_tokens: count(usage.cache_write),
        completion_tokens: count(usage.output),
        reasoning_tokens: count(usage.reasoning),
        cost: cost(usage.cost),
        first_token_ms: figures.first_token.map(|time| time.as_secs_f64() * 1000.0),
        decode_tps: figures.decode.map(TokensPerSecond::get),
        window: count(window),
        tools_left_out: Vec::new(),
    }
}

fn cost(cost: Cost) -> Option<wire::Cost> {
    let (amount, by) = match cost {
        Cost::Unknown => return None,
        Cost::Reported(amount) => (amount, wire::CostBy::Provider),
        Cost::Computed(amount) => (amount, wire::CostBy::Prices),
    };
    Some(wire::Cost {
        dollars: amount.dollars(),
        by,
    })
}

/// What one call of a model took, as the store keeps it.
pub(crate) fn usage_record(route: &str, model: &str, usage: &plimsoll_agent::Usage) -> store::UsageRecord {
    let count = |tokens: Option<Tokens>| tokens.map(|tokens| tokens.0);
    store::UsageRecord {
        route: route.to_owned(),
        model: model.to_owned(),
        input: count(usage.input),
        cached: count(usage.cached),
        cache_write: count(usage.cache_write),
        output: count(usage.output),
        reasoning: count(usage.reasoning),
        total: count(usage.total),
        cost: match usage.cost {
            Cost::Unknown => None,
            Cost::Reported(amount) => Some((amount.0, store::CostBy::Provider)),
            Cost::Computed(amount) => Some((amount.0, store::CostBy::Prices)),
        },
    }
}
