//! Calls of tools that wait for the person.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_agent::{Approval, Approver, Effect, ToolCall};
use plimsoll_store::Store;
use plimsoll_wire::{Event, ToolAnswer, ToolSettings};
use tokio::sync::oneshot;

use crate::bus::Bus;
use crate::to_wire;

/// Stands in the list of allowed tools for all of them.
const ALL: &str = "*";

/// By conversation and call.
type Waiting = BTreeMap<(String, String), oneshot::Sender<ToolAnswer>>;

/// A map and no task: entries are only put in and taken out.
#[derive(Clone, Default)]
pub(crate) struct Approvals(Arc<Mutex<Waiting>>);

impl Approvals {
    /// Nothing happens when the call no longer waits.
    pub(crate) fn answer(&self, conversation: &str, call: &str, answer: ToolAnswer) {
        if let Some(waiting) = self.take(conversation, call) {
            let _ = waiting.send(answer);
        }
    }

    fn take(&self, conversation: &str, call: &str) -> Option<oneshot::Sender<ToolAnswer>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&(conversation.to_owned(), call.to_owned()))
    }

    fn wait_for(&self, conversation: &str, call: &str) -> oneshot::Receiver<ToolAnswer> {
        let (told, answer) = oneshot::channel();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((conversation.to_owned(), call.to_owned()), told);
        answer
    }
}

/// Asks the person who looks at one conversation.
pub(super) struct Asker {
    pub(super) approvals: Approvals,
    pub(super) bus: Bus,
    pub(super) store: Store,
    pub(super) conversation: String,
    pub(super) turn: String,
    pub(super) settings: Mutex<ToolSettings>,
}

impl Asker {
    fn is_allowed(&self, tool: &str) -> bool {
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        settings.allowed.iter().any(|one| one == tool || one == ALL)
    }

    /// From now on without asking, in this conversation.
    async fn remember(&self, what: &str) {
        let settings = {
            let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
            settings.allowed.push(what.to_owned());
            settings.clone()
        };
        let Ok(kept) = serde_json::to_value(settings) else {
            return;
        };
        if let Err(error) = self.store.set_conversation_tools(&self.conversation, kept).await {
            tracing::warn!(%error, "what was allowed is not kept");
        }
    }
}

/// Takes the question back when the turn is stopped meanwhile.
struct Asked<'a>(&'a Approvals, &'a str, &'a str);
impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.take(self.1, self.2);
    }
}

impl Approver for Asker {
    fn ask<'a>(&'a self, call: &'a ToolCall, effect: &'a Effect) -> BoxFuture<'a, Approval> {
        async move {
            if self.is_allowed(&call.name) {
                return Approval::Allowed;
            }
            let answer = self.approvals.wait_for(&self.conversation, &call.id);
            let _asked = Asked(&self.approvals, &self.conversation, &call.id);
            self.bus.tell(Event::ToolAsked {
                conversation: self.conversation.clone(),
                turn: self.turn.clone(),
                call: call.id.clone(),
                tool: call.name.clone(),
                effect: to_wire::tool_effect(effect),
            });
            match answer.await.unwrap_or(ToolAnswer::No) {
                ToolAnswer::No => return Approval::Refused,
                ToolAnswer::Once => {}
                ToolAnswer::Tool => self.remember(&call.name).await,
                ToolAnswer::Conversation => self.remember(ALL).await,
            }
            Approval::Allowed
        }
        .boxed()
    }
}
