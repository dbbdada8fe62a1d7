use plimsoll_wire::{ConversationSummary, Conversations, FoundConversations};

use crate::lang::{clean, params};
use crate::out::{Out, QUIET, STRONG, styled};

/// The end of an id tells conversations apart: its beginning is the time.
const ID_SHOWN: usize = 8;

pub(crate) fn conversations(out: &Out, listed: &Conversations) -> String {
    if listed.conversations.is_empty() {
        return out.lang.text("conversations.none").to_owned();
    }
    let head = ["word.id", "conversations.title", "conversations.model"];
    let mut table = out.table(&head.map(|key| out.lang.text(key)));
    for one in &listed.conversations {
        table.add_row([
            short(&one.id),
            title(out, one),
            clean(one.model.as_deref().unwrap_or("–")),
        ]);
    }
    table.trim_fmt()
}

pub(crate) fn found_conversations(out: &Out, found: &FoundConversations) -> String {
    if found.found.is_empty() {
        return out.lang.text("conversations.nothing").to_owned();
    }
    let mut lines = Vec::new();
    for one in &found.found {
        let hits = params! { hits = u64::from(one.hits) };
        lines.push(format!(
            "{}  {}  {}",
            short(&one.conversation.id),
            styled(STRONG, &title(out, &one.conversation)),
            styled(QUIET, &out.say("conversations.hits", &hits)),
        ));
        if !one.snippet.is_empty() {
            let text: String = one
                .snippet
                .iter()
                .map(|snip| {
                    let text = clean(&snip.text);
                    if snip.hit { styled(STRONG, &text) } else { text }
                })
                .collect();
            lines.push(format!("          {text}"));
        }
    }
    if found.more {
        lines.push(styled(QUIET, out.lang.text("conversations.more")));
    }
    lines.join("\n")
}

fn title(out: &Out, one: &ConversationSummary) -> String {
    if one.title.is_empty() {
        out.lang.text("conversations.untitled").to_owned()
    } else {
        clean(&one.title)
    }
}

fn short(id: &str) -> String {
    let start = id.len().saturating_sub(ID_SHOWN);
    clean(id.get(start..).unwrap_or(id))
}
