//! Turns that run: one for each conversation, from the question to exactly one end.

mod answer;
mod approvals;
mod batch;
mod kept;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use plimsoll_os::clock;
use plimsoll_os::jobs::Scope;
use plimsoll_store::{Begun, Finish, Message, Piece, Store};
use plimsoll_wire::{ChatEnd, Event, Fault, FaultCode, TurnStats};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::bus::Bus;
use crate::chat_settings;
use crate::fault::{Failed, ToFault as _, fault};
use crate::memo::Memo;
use crate::to_wire;

pub(crate) use answer::{Answering, LocalAnswering, Question, ReadyModel, Streaming};
pub(crate) use approvals::Approvals;
pub(crate) use kept::{named_rows, tool_uses, whole_transcript};

/// What a turn is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask<'a> {
    /// A new message.
    New(&'a str),
    /// A new message in the place of another one.
    Instead { of: &'a str, text: &'a str },
    /// The last question, once more.
    Again,
    /// A question, by itself or by an answer to it, once more.
    Beside(&'a str),
}

/// How the work on an answer ended, before it is written down.
pub(crate) struct Outcome {
    pub(crate) end: ChatEnd,
    pub(crate) stats: Option<TurnStats>,
    pub(crate) fault: Option<Fault>,
    /// What is not in the store yet.
    pub(crate) unsaved: Piece,
}

#[derive(Debug, Clone)]
struct Running {
    model: String,
    stop: CancellationToken,
}

/// The state lives in the watch: a turn is put in and taken out in one atomic step by the job that runs it,
/// which is all that an owner task would add.
#[derive(Clone)]
pub(crate) struct Turns {
    running: watch::Sender<BTreeMap<String, Running>>,
    bus: Bus,
    store: Store,
    jobs: Scope,
}

/// A conversation's place among the running turns. Given back when dropped, whatever happened.
struct Claim {
    conversation: String,
    running: watch::Sender<BTreeMap<String, Running>>,
    stop: CancellationToken,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.running.send_modify(|running| {
            running.remove(&self.conversation);
        });
    }
}

impl Turns {
    pub(crate) fn new(bus: Bus, store: Store, jobs: Scope) -> Self {
        Self {
            running: watch::Sender::new(BTreeMap::new()),
            bus,
            store,
            jobs,
        }
    }

    /// Conversations with a turn running.
    pub(crate) fn running(&self) -> Vec<String> {
        self.running.borrow().keys().cloned().collect()
    }

    pub(crate) fn is_running(&self, conversation: &str) -> bool {
        self.running.borrow().contains_key(conversation)
    }

    /// Conversations that this model answers in now.
    pub(crate) fn running_on(&self, model: &str) -> Vec<String> {
        let running = self.running.borrow();
        running
            .iter()
            .filter(|(_, turn)| turn.model == model)
            .map(|(conversation, _)| conversation.clone())
            .collect()
    }

    /// Stops everything that this model answers, and waits for it: its memory is to be given back.
    pub(crate) async fn stop_on(&self, model: &str) {
        for conversation in self.running_on(model) {
            self.stop_and_wait(&conversation).await;
        }
    }

    /// Asks the turn to stop. Nothing happens when none runs.
    pub(crate) fn stop(&self, conversation: &str) {
        if let Some(turn) = self.running.borrow().get(conversation) {
            turn.stop.cancel();
        }
    }

    /// Stops the turn and waits for its end.
    pub(crate) async fn stop_and_wait(&self, conversation: &str) {
        self.stop(conversation);
        self.ended(conversation).await;
    }

    /// Waits until no turn runs in the conversation.
    pub(crate) async fn ended(&self, conversation: &str) {
        let mut running = self.running.subscribe();
        // The sender is ours: waiting cannot fail.
        let _ = running
            .wait_for(|running| !running.contains_key(conversation))
            .await;
    }

    /// Begins the answer and gives its id, which is also the turn's. From here on the turn ends with exactly one
    /// `turnEnded`.
    pub(crate) async fn start<A: Answering>(
        &self,
        conversation: &str,
        ask: Ask<'_>,
        model: String,
        answering: A,
    ) -> Result<String, Failed> {
        let claim = self.claim(conversation, &model)?;
        let now = clock::now_s();
        let of_model = Memo::new(self.store.clone()).model_settings(&model).await?;
        // Another of our processes may be at it: the store knows, and refuses.
        let Begun {
            branches,
            before,
            conversation: begun,
            user,
            answer,
        } = match ask {
            Ask::New(text) => self.store.begin_turn(conversation, text, &model, now).await?,
            Ask::Instead { of, text } => {
                self.store
                    .begin_turn_instead(conversation, of, text, &model, now)
                    .await?
            }
            Ask::Again => self.store.begin_turn_again(conversation, &model, now).await?,
            Ask::Beside(message) => {
                self.store
                    .begin_turn_beside(conversation, message, &model, now)
                    .await?
            }
        };
        let turn = answer.id.clone();
        let settings = chat_settings::over(chat_settings::kept(begun.settings.clone()), of_model);
        let question = Question {
            transcript: kept::transcript(&chat_settings::system(&settings), &before, &user),
            rows: kept::named_rows(before.iter().chain([&user])),
            settings,
            tools: to_wire::tool_settings(begun.tools.clone()),
            model,
        };
        self.bus.tell(Event::TurnStarted {
            conversation: conversation.to_owned(),
            turn: turn.clone(),
            user: Box::new(to_wire::message_among(user, &branches)),
            branch: branches.get(&turn).cloned().map(to_wire::branch),
        });
        let this = self.clone();
        self.jobs
            .keep(|_| async move { this.run(claim, answer, question, answering).await });
        self.bus.tell(Event::ConversationChanged {
            conversation: to_wire::conversation_summary(begun),
        });
        Ok(turn)
    }

    fn claim(&self, conversation: &str, model: &str) -> Result<Claim, Failed> {
        let stop = self.jobs.token().child_token();
        let running = Running {
            model: model.to_owned(),
            stop: stop.clone(),
        };
        let mut claimed = false;
        self.running.send_if_modified(|all| {
            claimed = !all.contains_key(conversation);
            if claimed {
                all.insert(conversation.to_owned(), running);
            }
            claimed
        });
        if !claimed {
            return Err(busy(conversation).into());
        }
        Ok(Claim {
            conversation: conversation.to_owned(),
            running: self.running.clone(),
            stop,
        })
    }

    async fn run<A: Answering>(&self, claim: Claim, answer: Message, question: Question, answering: A) {
        let conversation = claim.conversation.clone();
        let work = answering.answer(&conversation, &answer.id, question, &claim.stop);
        let outcome = AssertUnwindSafe(work)
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Outcome {
                end: ChatEnd::Failed,
                stats: None,
                fault: Some(fault(FaultCode::Internal, [])),
                unsaved: Piece::default(),
            });
        let (end, stats, fault) = self.write_down(&answer.id, outcome).await;
        // Before it is told: whoever hears the end may start the next turn.
        drop(claim);
        // The only place that tells an end.
        self.bus.tell(Event::TurnEnded {
            conversation: conversation.clone(),
            turn: answer.id,
            end,
            stats,
            fault,
        });
        self.tell_summary(&conversation).await;
    }

    /// An end that cannot be written down is a failed one: the person would find another after a restart.
    async fn write_down(
        &self,
        answer: &str,
        outcome: Outcome,
    ) -> (ChatEnd, Option<TurnStats>, Option<Fault>) {
        let Outcome {
            end,
            stats,
            fault,
            unsaved,
        } = outcome;
        let finish = Finish {
            last: unsaved,
            end: to_wire::stored_end(end),
            stats: stats.as_ref().and_then(|stats| serde_json::to_value(stats).ok()),
            fault: fault.as_ref().and_then(|fault| serde_json::to_value(fault).ok()),
            at: clock::now_s(),
        };
        match self.store.finish_answer(answer, finish).await {
            Ok(_) => (end, stats, fault),
            Err(error) => {
                tracing::error!(%error, answer, "the end of an answer is not written down");
                (ChatEnd::Failed, stats, fault.or_else(|| Some(error.to_fault())))
            }
        }
    }

    async fn tell_summary(&self, conversation: &str) {
        match self.store.conversation(conversation).await {
            Ok(changed) => {
                let conversation = to_wire::conversation_summary(changed);
                self.bus.tell(Event::ConversationChanged { conversation });
            }
            Err(error) => tracing::warn!(%error, conversation, "a conversation cannot be read"),
        }
    }
}

fn busy(conversation: &str) -> Fault {
    fault(FaultCode::Busy, [("conversation", conversation.into())])
}
