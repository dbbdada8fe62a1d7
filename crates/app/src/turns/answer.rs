use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use plimsoll_agent::{
    ChatModel, End, Item, Limits, Patience, Request, Route, RouteModel, Row, Sampling, ToolLimits, Toolbox,
    Transcript, Turn, TurnEvent, TurnFigures, TurnTools,
};
use plimsoll_os::clock;
use plimsoll_store::{Piece, Store, StoreError};
use plimsoll_units::Tokens;
use plimsoll_wire::{
    ChatEnd, ChatSettings, Event, Fault, FaultCode, Param, ToolSettings, ToolUse, TurnStats,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::approvals::{Approvals, Asker};
use super::batch::{Batch, Kind};
use super::{Outcome, kept};
use crate::app::LOCAL;
use crate::bus::Bus;
use crate::chat_settings;
use crate::context::{Contexts, GatedModel, Named, Summariser, Terms};
use crate::fault::ToFault as _;
use crate::routes::CloudName;
use crate::to_wire;

/// A page that paints sixty times a second sees every second frame change.
const TELL_EVERY: Duration = Duration::from_millis(30);
/// After a loss of power at most this much of an answer is missing.
const SAVE_EVERY: Duration = Duration::from_millis(250);
const EVENTS_WAITING: usize = 256;

/// What is asked.
#[derive(Clone)]
pub(crate) struct Question {
    pub(crate) transcript: Transcript,
    /// The same rows by their names.
    pub(crate) rows: Vec<Named>,
    pub(crate) model: String,
    pub(crate) tools: ToolSettings,
    pub(crate) settings: ChatSettings,
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
    pub(crate) http: reqwest::Client,
    /// `local` or the provider's id.
    pub(crate) by: String,
    /// The name that its server knows it by.
    pub(crate) name: String,
    pub(crate) window: Option<Tokens>,
    /// Where its conversation's text lies already, or will.
    pub(crate) slot: Option<u32>,
    pub(crate) sampling: Sampling,
    pub(crate) patience: Patience,
}

/// Streams an answer to the page and into the store.
#[derive(Clone)]
pub(crate) struct Streaming {
    pub(crate) bus: Bus,
    pub(crate) store: Store,
    pub(crate) approvals: Approvals,
    pub(crate) contexts: Contexts,
}

/// A token is about four bytes, and tools may take a quarter of the window: a byte of them for each token of it.
fn tool_bytes_max(window: Option<Tokens>) -> usize {
    window.map_or(usize::MAX, |window| {
        usize::try_from(window.0).unwrap_or(usize::MAX)
    })
}

impl Streaming {
    pub(crate) async fn stream(
        &self,
        conversation: &str,
        turn: &str,
        question: Question,
        model: ReadyModel,
        stop: &CancellationToken,
    ) -> Outcome {
        let Question {
            transcript,
            rows,
            tools,
            settings,
            ..
        } = question;
        let (toolbox, left_out) = Self::toolbox(&tools, model.window, model.route.dialect.tools);
        let asker = Asker {
            approvals: self.approvals.clone(),
            bus: self.bus.clone(),
            store: self.store.clone(),
            conversation: conversation.to_owned(),
            turn: turn.to_owned(),
            settings: Mutex::new(tools),
        };
        let turn_tools = toolbox.as_ref().map(|toolbox| TurnTools {
            toolbox,
            approver: &asker,
            limits: ToolLimits::default(),
        });
        let summariser = self.summariser(&model);
        let tool_result = toolbox.as_ref().map_or(Tokens(0), |_| {
            Tokens(u32::try_from(ToolLimits::default().result_bytes_max / 4).unwrap_or(u32::MAX))
        });
        let sampling = chat_settings::sampling(&settings, model.sampling);
        let terms = Terms::of(&model, sampling.reply_max, tool_result);
        let gated = self
            .gate(conversation, turn, rows, &transcript, terms, summariser.clone())
            .await;
        let chat: &dyn ChatModel = match &gated {
            Some(gated) => gated,
            None => &summariser.model,
        };
        let request = Request {
            sampling,
            thinking: chat_settings::thinking(&settings),
            tools: toolbox.as_ref().map(Toolbox::specs).unwrap_or_default(),
            cache_key: Some(conversation.to_owned()),
            slot: model.slot,
            ..Request::new(&model.name, transcript)
        };
        let (out, events) = mpsc::channel(EVENTS_WAITING);
        let asking = async {
            Turn::run(chat, request, model.patience, turn_tools, &out, stop).await;
            drop(out);
        };
        let passing_on = PassingOn {
            streaming: self,
            conversation,
            turn,
            by: (&model.by, &model.name),
            text_bytes: 0,
            tools: Vec::new(),
            to_tell: Batch::default(),
            told_at: None,
            unsaved: Piece::default(),
            saving: None,
            save_at: Instant::now() + SAVE_EVERY,
        };
        let ((), (unsaved, ended)) = tokio::join!(asking, passing_on.run(events));
        let (end, figures) = ended.unwrap_or((End::Stopped, TurnFigures::default()));
        if let Some(gated) = &gated {
            let ahead = matches!(end, End::Complete).then_some(summariser);
            self.contexts.while_reading(conversation, gated.live(), ahead);
        }
        let fault: Option<Fault> = match &end {
            End::Failed(error) => Some(error.to_fault()),
            End::Complete | End::Length | End::Stopped => None,
        };
        Outcome {
            end: to_wire::chat_end(&end),
            stats: Some(TurnStats {
                tools_left_out: left_out,
                ..to_wire::turn_stats(&model.by, &model.id, &figures, model.window)
            }),
            fault,
            unsaved,
        }
    }
}

impl Streaming {
    /// Who is asked for summaries: the model that answers.
    pub(crate) fn summariser(&self, model: &ReadyModel) -> Summariser {
        Summariser {
            model: RouteModel::new(model.http.clone(), model.route.clone(), Limits::default()),
            store: self.contexts.store.clone(),
            own: model.by == LOCAL,
            prices: model.route.prices.as_ref().map(|prices| {
                let cached = prices.cached.unwrap_or(prices.input);
                (prices.input.0, cached.0)
            }),
        }
    }

    /// The model behind the gates. Without its account the answer comes all the same, and that is logged.
    async fn gate(
        &self,
        conversation: &str,
        turn: &str,
        rows: Vec<Named>,
        transcript: &Transcript,
        terms: Terms,
        summariser: Summariser,
    ) -> Option<GatedModel> {
        let live = match self.contexts.of(conversation).await {
            Ok(live) => live,
            Err(error) => {
                tracing::warn!(%error, conversation, "the context of a conversation cannot be read");
                return None;
            }
        };
        let rates = self.contexts.rates(&terms).await;
        {
            let mut live = live.lock().await;
            live.set_terms(terms, rates);
            live.set_rows(rows);
        }
        let contexts = self.contexts.clone();
        Some(GatedModel::new(
            contexts,
            live,
            summariser,
            conversation,
            turn,
            transcript,
        ))
    }

    /// The tools that this conversation may use, and which of them a small window leaves out.
    fn toolbox(
        settings: &ToolSettings,
        window: Option<Tokens>,
        taken: bool,
    ) -> (Option<Toolbox>, Vec<String>) {
        if !settings.on || !taken {
            return (None, Vec::new());
        }
        let folders = settings.folders.iter().map(PathBuf::from).collect();
        let (toolbox, left_out) = Toolbox::packaged(folders, clock::now_s).within(tool_bytes_max(window));
        (Some(toolbox), left_out)
    }
}

/// What came of a batch that was to be saved: nothing, or the batch itself and why it is still unsaved.
type Saved = Result<(), (Piece, StoreError)>;

struct PassingOn<'a> {
    streaming: &'a Streaming,
    conversation: &'a str,
    turn: &'a str,
    /// Whose answer it is: route and model.
    by: (&'a str, &'a str),
    /// Of the answer's text so far.
    text_bytes: usize,
    /// What was done so far.
    tools: Vec<ToolUse>,
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
            TurnEvent::Waiting { after, why } => {
                let fault = why.to_fault();
                let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                self.event(|conversation, turn| Event::TurnWaiting {
                    conversation,
                    turn,
                    after_ms,
                    fault,
                });
            }
            TurnEvent::Answered { items, usage } => {
                let (route, model) = self.by;
                let called: Vec<ToolUse> = items.iter().filter_map(Item::call).map(kept::tool_use).collect();
                if !called.is_empty() {
                    self.tools.extend(called.iter().cloned());
                    self.tools_moved(called);
                }
                self.unsaved
                    .usages
                    .push(to_wire::usage_record(route, model, &usage));
                self.unsaved
                    .events
                    .extend(kept::row(&Row::Assistant(items), self.text_bytes));
            }
            TurnEvent::Results(results) => {
                for result in &results {
                    kept::add_result(&mut self.tools, result);
                }
                let ended = self
                    .tools
                    .iter()
                    .filter(|one| results.iter().any(|result| result.call == one.id));
                self.tools_moved(ended.cloned().collect());
                self.unsaved
                    .events
                    .extend(kept::row(&Row::Results(results), self.text_bytes));
            }
            TurnEvent::Text(text) => {
                self.text_bytes += text.len();
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

    fn tools_moved(&mut self, tools: Vec<ToolUse>) {
        // Words that came before are told before.
        self.tell();
        self.event(|conversation, turn| Event::ToolsMoved {
            conversation,
            turn,
            tools,
        });
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
            piece.extend(std::mem::take(&mut self.unsaved));
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

    fn has_said(&self) -> bool {
        self.stats
            .as_ref()
            .is_some_and(|stats| stats.first_token_ms.is_some())
    }

    /// The server took the question and is to blame for the end.
    fn failed_at_server(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| {
            let status = fault.params.get("status");
            let is_its_own = matches!(status, Some(Param::Whole(status)) if *status >= 500);
            fault.code == FaultCode::RouteBroken || (fault.code == FaultCode::RouteRefused && is_its_own)
        })
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
        let failed = first.reached_nobody() || first.failed_at_server();
        if !failed || CloudName::read(&question.model).is_some() {
            return first;
        }
        if first.has_said() {
            // The next question finds out anyway; so it finds it done.
            let (app, model) = (Arc::clone(&self.app), question.model.clone());
            self.app.jobs.keep(|_| async move {
                let gone = app.doubt_model(&model).await;
                tracing::debug!(model, gone, "an answer broke off");
            });
            return first;
        }
        // Whatever its health says: one that answers a probe cannot do just this, and one that does not is loaded again.
        let again = tokio::select! { biased;
            () = stop.cancelled() => return Outcome::before_asking(ChatEnd::Stopped, None),
            gone = self.app.doubt_model(&question.model) => gone,
        };
        if again || first.reached_nobody() {
            self.attempt(conversation, turn, &question, stop).await
        } else {
            first
        }
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
            ready = self.app.ready_model(&question.model, conversation) => ready,
        };
        match ready {
            Ok(model) => {
                let question = question.clone();
                let (id, slot) = (model.id.clone(), model.slot);
                let streaming = self
                    .app
                    .streaming
                    .stream(conversation, turn, question, model, stop);
                let keeping = async {
                    // A cloud is never what a new conversation falls back to.
                    if CloudName::read(&id).is_none()
                        && let Err(error) = self.app.memo.keep_last_model(&id).await
                    {
                        tracing::warn!(%error, "the last used model is not kept");
                    }
                };
                // Beside the answer: nobody waits for it.
                let outcome = tokio::join!(streaming, keeping).0;
                if outcome.end == ChatEnd::Stopped && CloudName::read(&id).is_none() {
                    self.app.see_it_stop(&id, slot);
                }
                outcome
            }
            Err(failed) => Outcome::before_asking(ChatEnd::Failed, Some(failed.into())),
        }
    }
}
