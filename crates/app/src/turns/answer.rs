use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_agent::{
    ChatModel, End, Limits, OpenAiChat, Request, Route, Sampling, Transcript, Turn, TurnEvent, TurnFigures,
};
use plimsoll_store::{Piece, Store, StoreError};
use plimsoll_units::Tokens;
use plimsoll_wire::{ChatEnd, Event, Fault, FaultCode};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Outcome;
use super::batch::{Batch, Kind};
use crate::bus::Bus;
use crate::fault::ToFault as _;
use crate::to_wire;

/// A page that paints sixty times a second sees every second frame change.
const TELL_EVERY: Duration = Duration::from_millis(30);
/// After a loss of power at most this much of an answer is missing.
const SAVE_EVERY: Duration = Duration::from_millis(250);
const EVENTS_WAITING: usize = 256;

/// What is asked.
pub(crate) struct Question {
    pub(crate) transcript: Transcript,
    pub(crate) model: String,
}

/// Someone who answers a question: the app with its router, or a test.
pub(crate) trait Answering: Send + Sync + 'static {
    /// Never fails: a failure is an outcome.
    fn answer(
        &self,
        conversation: &str,
        turn: &str,
        question: Question,
        stop: &CancellationToken,
    ) -> impl Future<Output = Outcome> + Send;
}

/// A model that is ready to be asked.
pub(crate) struct ReadyModel {
    pub(crate) id: String,
    pub(crate) route: Route,
    /// The name that its server knows it by.
    pub(crate) name: String,
    pub(crate) window: Option<Tokens>,
    pub(crate) sampling: Sampling,
}

/// Streams an answer to the page and into the store.
#[derive(Clone)]
pub(crate) struct Streaming {
    pub(crate) bus: Bus,
    pub(crate) store: Store,
    pub(crate) http: reqwest::Client,
}

impl Streaming {
    pub(crate) async fn stream(
        &self,
        conversation: &str,
        turn: &str,
        transcript: Transcript,
        model: ReadyModel,
        stop: &CancellationToken,
    ) -> Outcome {
        let chat = OpenAiChat::new(self.http.clone(), model.route, Limits::default());
        let request = Request {
            model: model.name,
            rows: transcript.into_rows(),
            sampling: model.sampling,
            slot: None,
        };
        let (out, events) = mpsc::channel(EVENTS_WAITING);
        let asking = async {
            Turn::run(&chat as &dyn ChatModel, request, &out, stop).await;
            drop(out);
        };
        let passing_on = PassingOn {
            streaming: self,
            conversation,
            turn,
            to_tell: Batch::default(),
            told_at: None,
            unsaved: Piece::default(),
            saving: None,
            save_at: Instant::now() + SAVE_EVERY,
        };
        let ((), (unsaved, ended)) = tokio::join!(asking, passing_on.run(events));
        let (end, figures) = ended.unwrap_or((End::Stopped, TurnFigures::default()));
        let fault: Option<Fault> = match &end {
            End::Failed(error) => Some(error.to_fault()),
            End::Complete | End::Length | End::Stopped => None,
        };
        Outcome {
            end: to_wire::chat_end(&end),
            stats: Some(to_wire::turn_stats(&model.id, &figures, model.window)),
            fault,
            unsaved,
        }
    }
}

/// What came of a batch that was to be saved: nothing, or the batch itself and why it is still unsaved.
type Saved = Result<(), (Piece, StoreError)>;

struct PassingOn<'a> {
    streaming: &'a Streaming,
    conversation: &'a str,
    turn: &'a str,
    to_tell: Batch,
    told_at: Option<Instant>,
    unsaved: Piece,
    /// Saving runs beside the stream: a slow disk must not hold up a word.
    saving: Option<BoxFuture<'static, Saved>>,
    save_at: Instant,
}

impl PassingOn<'_> {
    /// Gives what is not saved at the end, and the end.
    async fn run(mut self, mut events: mpsc::Receiver<TurnEvent>) -> (Piece, Option<(End, TurnFigures)>) {
        let mut ended = None;
        loop {
            let tell_at = self.told_at.map_or_else(Instant::now, |at| at + TELL_EVERY);
            let may_save = self.saving.is_none() && !self.unsaved.is_empty();
            tokio::select! { biased;
                saved = saved(&mut self.saving) => self.take_back(saved),
                () = tokio::time::sleep_until(self.save_at), if may_save => self.save(),
                () = tokio::time::sleep_until(tell_at), if !self.to_tell.is_empty() => self.tell(),
                event = events.recv() => match event {
                    Some(event) => {
                        if let Some(end) = self.hear(event) {
                            ended = Some(end);
                        }
                    }
                    None => break,
                },
            }
        }
        self.tell();
        if let Some(saving) = self.saving.take() {
            let saved = saving.await;
            self.take_back(saved);
        }
        (self.unsaved, ended)
    }

    fn hear(&mut self, event: TurnEvent) -> Option<(End, TurnFigures)> {
        match event {
            TurnEvent::PromptRead { done, total } => {
                self.event(|conversation, turn| Event::PromptRead {
                    conversation,
                    turn,
                    done,
                    total,
                });
            }
            TurnEvent::Text(text) => {
                self.to_tell.add(Kind::Text, &text);
                self.unsaved.text.push_str(&text);
            }
            TurnEvent::Reasoning(text) => {
                self.to_tell.add(Kind::Reasoning, &text);
                self.unsaved.reasoning.push_str(&text);
            }
            TurnEvent::End { end, figures } => return Some((end, figures)),
        }
        None
    }

    fn tell(&mut self) {
        for (kind, text) in self.to_tell.take() {
            self.event(|conversation, turn| match kind {
                Kind::Text => Event::TextAdded {
                    conversation,
                    turn,
                    text,
                },
                Kind::Reasoning => Event::ReasoningAdded {
                    conversation,
                    turn,
                    text,
                },
            });
        }
        self.told_at = Some(Instant::now());
    }

    fn event(&self, make: impl FnOnce(String, String) -> Event) {
        self.streaming
            .bus
            .tell(make(self.conversation.to_owned(), self.turn.to_owned()));
    }

    fn save(&mut self) {
        let (store, turn) = (self.streaming.store.clone(), self.turn.to_owned());
        let piece = std::mem::take(&mut self.unsaved);
        self.saving = Some(
            async move {
                store
                    .append(&turn, piece.clone())
                    .await
                    .map_err(|error| (piece, error))
            }
            .boxed(),
        );
    }

    /// What could not be saved is tried again with the next batch, and decides at the end.
    fn take_back(&mut self, saved: Saved) {
        self.saving = None;
        self.save_at = Instant::now() + SAVE_EVERY;
        if let Err((mut piece, error)) = saved {
            tracing::warn!(%error, turn = self.turn, "a part of an answer is not saved yet");
            piece.text.push_str(&self.unsaved.text);
            piece.reasoning.push_str(&self.unsaved.reasoning);
            self.unsaved = piece;
        }
    }
}

async fn saved(saving: &mut Option<BoxFuture<'static, Saved>>) -> Saved {
    match saving {
        Some(saving) => pin!(saving).await,
        None => std::future::pending().await,
    }
}

impl Outcome {
    /// Ended before a word was asked for.
    pub(crate) fn before_asking(end: ChatEnd, fault: Option<Fault>) -> Self {
        Self {
            end,
            stats: None,
            fault,
            unsaved: Piece::default(),
        }
    }

    fn reached_nobody(&self) -> bool {
        self.fault
            .as_ref()
            .is_some_and(|fault| fault.code == FaultCode::RouteUnreachable)
    }
}

/// The app's way to an answer: the model is made ready first, which may take a while and can be stopped.
pub(crate) struct LocalAnswering {
    pub(crate) app: Arc<crate::App>,
}

impl Answering for LocalAnswering {
    async fn answer(
        &self,
        conversation: &str,
        turn: &str,
        question: Question,
        stop: &CancellationToken,
    ) -> Outcome {
        // A router may die between the look at it and the question. Nothing has reached a model then, so the
        // question is asked once more; a second failure is told.
        let first = self.attempt(conversation, turn, &question, stop).await;
        if !first.reached_nobody() {
            return first;
        }
        self.attempt(conversation, turn, &question, stop).await
    }
}

impl LocalAnswering {
    async fn attempt(
        &self,
        conversation: &str,
        turn: &str,
        question: &Question,
        stop: &CancellationToken,
    ) -> Outcome {
        let ready = tokio::select! { biased;
            () = stop.cancelled() => return Outcome::before_asking(ChatEnd::Stopped, None),
            ready = self.app.ready_model(&question.model) => ready,
        };
        match ready {
            Ok(model) => {
                let transcript = question.transcript.clone();
                let id = model.id.clone();
                let streaming = self
                    .app
                    .streaming
                    .stream(conversation, turn, transcript, model, stop);
                // Beside the answer: nobody waits for it.
                let (outcome, kept) = tokio::join!(streaming, self.app.memo.keep_last_model(&id));
                if let Err(error) = kept {
                    tracing::warn!(%error, "the last used model is not kept");
                }
                outcome
            }
            Err(failed) => Outcome::before_asking(ChatEnd::Failed, Some(failed.into())),
        }
    }
}
