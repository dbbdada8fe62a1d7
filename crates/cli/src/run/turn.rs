//! One turn in a terminal: from the question to exactly one end.

use std::io::BufRead;

use indicatif::ProgressBar;
use plimsoll_app::Hearing;
use plimsoll_wire::{
    ChatEnd, Event, Fault, FaultCode, Fix, LoadedModel, ModelStatus, OpenConversation, Params, Router,
    StartTurn, Started, StopTurn, TurnStats,
};

use super::Session;
use crate::failure::Failure;
use crate::interrupts::Interrupts;
use crate::lang::{clean, params};

/// How a turn ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) text: String,
    pub(super) end: ChatEnd,
    pub(super) stats: Option<TurnStats>,
    pub(super) fault: Option<Fault>,
}

/// What is done with the pieces as they come.
pub(super) trait Show {
    fn event(&mut self, event: &Event);
    fn text(&mut self, text: &str);
    fn reasoning(&mut self, text: &str);
}

/// Shows nothing: the answer counts as a whole.
pub(super) struct Silent;
impl Show for Silent {
    fn event(&mut self, _: &Event) {}
    fn text(&mut self, _: &str) {}
    fn reasoning(&mut self, _: &str) {}
}

/// Asks and shows the answer. The first interrupt stops the answer, a second one gives up waiting for that.
pub(super) async fn run(
    session: &Session,
    interrupts: &mut Interrupts,
    asked: StartTurn,
    show: &mut impl Show,
) -> Result<Ended, Failure> {
    let waiting = session.out.spinner();
    let ended = follow(session, interrupts, asked, show, &waiting).await;
    waiting.finish_and_clear();
    ended
}

async fn follow(
    session: &Session,
    interrupts: &mut Interrupts,
    asked: StartTurn,
    show: &mut impl Show,
    waiting: &ProgressBar,
) -> Result<Ended, Failure> {
    let conversation = asked.conversation.clone();
    let mut hearing = session.app.hear();
    let (id, early) = start(session, interrupts, asked, &mut hearing, show, waiting).await?;
    let mut turn = Turn {
        session,
        interrupts,
        hearing,
        conversation,
        id,
        early: early.into_iter(),
        text: String::new(),
        stop: Stop::NotAsked,
    };
    loop {
        let event = turn.next_event().await?;
        if let Some(ended) = turn.hear(event, show, waiting).await? {
            return Ok(ended);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    NotAsked,
    Asked,
}

/// A turn that has begun.
struct Turn<'a> {
    session: &'a Session,
    interrupts: &'a mut Interrupts,
    hearing: Hearing,
    conversation: String,
    id: String,
    early: std::vec::IntoIter<Event>,
    text: String,
    stop: Stop,
}

impl Turn<'_> {
    async fn next_event(&mut self) -> Result<Event, Failure> {
        if let Some(event) = self.early.next() {
            return Ok(event);
        }
        loop {
            tokio::select! {
                event = self.hearing.next() => return event.ok_or_else(gone),
                () = self.interrupts.next() => match self.stop {
                    Stop::Asked => return Err(Failure::Interrupted),
                    Stop::NotAsked => {
                        self.stop = Stop::Asked;
                        self.session.ask(StopTurn { conversation: self.conversation.clone() }).await?;
                    }
                },
            }
        }
    }

    /// What an event means for this turn; its end when it was the end.
    async fn hear(
        &mut self,
        event: Event,
        show: &mut impl Show,
        waiting: &ProgressBar,
    ) -> Result<Option<Ended>, Failure> {
        match &event {
            Event::TurnStarted { turn, .. } if *turn == self.id => show.event(&event),
            Event::TurnWaiting { turn, after_ms, .. } if *turn == self.id => {
                let wait = params! { seconds = after_ms.div_ceil(1_000) };
                waiting.set_message(self.session.out.say("chat.patience", &wait));
                show.event(&event);
            }
            Event::PromptRead {
                turn, done, total, ..
            } if *turn == self.id => {
                let share = params! { done = u64::from(*done), total = u64::from(*total) };
                waiting.set_message(self.session.out.say("chat.reading", &share));
                show.event(&event);
            }
            Event::TextAdded { turn, text, .. } if *turn == self.id => {
                waiting.finish_and_clear();
                self.text.push_str(text);
                show.event(&event);
                show.text(text);
            }
            Event::ReasoningAdded { turn, text, .. } if *turn == self.id => {
                waiting.finish_and_clear();
                show.event(&event);
                show.reasoning(text);
            }
            Event::TurnEnded {
                turn,
                end,
                stats,
                fault,
                ..
            } if *turn == self.id => {
                show.event(&event);
                let text = std::mem::take(&mut self.text);
                return Ok(Some(Ended {
                    text,
                    end: *end,
                    stats: stats.clone(),
                    fault: fault.clone(),
                }));
            }
            Event::RouterChanged { router } => {
                loading(self.session, router, waiting);
                show.event(&event);
            }
            Event::Missed => return self.catch_up(show).await,
            Event::TurnStarted { .. }
            | Event::TurnWaiting { .. }
            | Event::ToolsMoved { .. }
            | Event::ToolAsked { .. }
            | Event::PromptRead { .. }
            | Event::TextAdded { .. }
            | Event::ReasoningAdded { .. }
            | Event::TurnEnded { .. }
            | Event::SetupMoved { .. }
            | Event::TransferMoved { .. }
            | Event::Sampled { .. }
            | Event::LibraryChanged
            | Event::Compared { .. }
            | Event::EnginesChanged
            | Event::SettingsChanged
            | Event::EndpointUsed { .. }
            | Event::MachineChanged
            | Event::ConversationChanged { .. }
            | Event::ContextChanged { .. } => {}
        }
        Ok(None)
    }

    /// What is stored of the answer, after events were lost.
    async fn catch_up(&mut self, show: &mut impl Show) -> Result<Option<Ended>, Failure> {
        let stored = self
            .session
            .ask(OpenConversation {
                id: self.conversation.clone(),
            })
            .await?;
        let Some(message) = stored.messages.into_iter().find(|message| message.id == self.id) else {
            return Ok(None);
        };
        if let Some(missed) = message.text.strip_prefix(&self.text) {
            show.text(missed);
            self.text.clone_from(&message.text);
        }
        Ok(message.end.map(|end| Ended {
            text: message.text,
            end,
            stats: message.stats,
            fault: message.fault,
        }))
    }
}

/// Starts the turn and keeps what happens before its id is known.
async fn start(
    session: &Session,
    interrupts: &mut Interrupts,
    asked: StartTurn,
    hearing: &mut Hearing,
    show: &mut impl Show,
    waiting: &ProgressBar,
) -> Result<(String, Vec<Event>), Failure> {
    let mut early = Vec::new();
    let starting = session.app.ask(asked);
    tokio::pin!(starting);
    loop {
        let event = tokio::select! {
            started = &mut starting => {
                let Started { id } = started?;
                return Ok((id, early));
            }
            event = hearing.next() => event,
            () = interrupts.next() => return Err(Failure::Interrupted),
        };
        match event {
            Some(event @ Event::RouterChanged { .. }) => {
                if let Event::RouterChanged { router } = &event {
                    loading(session, router, waiting);
                }
                show.event(&event);
            }
            Some(event) => early.push(event),
            None => return Err(gone()),
        }
    }
}

/// A model that is on its way into memory, as one line.
pub(super) fn loading(session: &Session, router: &Router, waiting: &ProgressBar) {
    let out = &session.out;
    let message = match router {
        Router::Starting => out.lang.text("chat.engineStarting").to_owned(),
        Router::Waiting { .. } => out.lang.text("chat.engineAgain").to_owned(),
        Router::Ready { models, .. } => match models.iter().find(|model| is_coming(model)) {
            Some(model) => {
                let name = clean(&model.name);
                match (&model.progress, model.status) {
                    (_, ModelStatus::Proving) => out.say("chat.proving", &params! { name = name }),
                    (Some(stage), _) => {
                        out.say("chat.loadingAt", &params! { name = name, share = stage.value })
                    }
                    (None, _) => out.say("chat.loading", &params! { name = name }),
                }
            }
            None => String::new(),
        },
        Router::Off | Router::Failed { .. } => String::new(),
    };
    waiting.set_message(message);
}

fn is_coming(model: &LoadedModel) -> bool {
    match model.status {
        ModelStatus::Loading | ModelStatus::Proving => true,
        ModelStatus::Unloaded | ModelStatus::Ready | ModelStatus::Failed => false,
    }
}

fn gone() -> Failure {
    Fault {
        code: FaultCode::Internal,
        params: Params::new(),
        trace: Vec::new(),
        fixes: vec![Fix::ReportBug],
    }
    .into()
}

/// The longest line that is read from a person.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// The next line of standard input; `None` at its end. The thread that waits for it may outlive the wait: a
/// terminal cannot be told to stop listening.
pub(super) async fn line() -> Option<String> {
    let read = tokio::task::spawn_blocking(|| {
        use std::io::Read;
        let mut line = String::new();
        match std::io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line),
        }
    });
    read.await.ok().flatten()
}
