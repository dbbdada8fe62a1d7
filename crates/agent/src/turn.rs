use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use plimsoll_units::TokensPerSecond;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::tools::{TurnTools, repair};
use crate::{
    Answer, ChatModel, Cost, FinishReason, Item, ModelError, Piece, Pieces, Reasoning, Refusal, Request, Row,
    ToolCall, ToolChoice, ToolResult, ToolSpec, Usage,
};

/// What a turn tells while it runs.
#[derive(Debug)]
pub enum TurnEvent {
    /// The server asked for patience; the request is sent again after this time. Nothing of it was worked on.
    Waiting {
        after: Duration,
        why: ModelError,
    },
    PromptRead {
        done: u32,
        total: u32,
    },
    Text(String),
    Reasoning(String),
    /// The whole answer of one call of the model, as it goes back with the next.
    Answered {
        items: Vec<Item>,
        usage: Usage,
    },
    /// What became of the calls in the answer before, in their order.
    Results(Vec<ToolResult>),
    /// The last one, always, and once.
    End {
        end: End,
        figures: TurnFigures,
    },
}

/// How a turn ended.
#[derive(Debug)]
pub enum End {
    Complete,
    /// The reply limit or the window's end.
    Length,
    /// By the person: the connection is closed and the server has stopped too.
    Stopped,
    Failed(ModelError),
}

/// What a turn took. What was not given is missing, never 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TurnFigures {
    pub usage: Usage,
    /// From sending to the first piece of text or reasoning.
    pub first_token: Option<Duration>,
    pub decode: Option<TokensPerSecond>,
}

/// How often and how long a request is sent again, where that is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    pub tries_max: u32,
    /// Of all waiting together. A server that wants more is told to the person instead.
    pub wait_max: Duration,
    /// Where the server does not say how long; doubled each time.
    pub wait_first: Duration,
}

impl Patience {
    /// The first refusal is told.
    pub const NONE: Self = Self {
        tries_max: 1,
        wait_max: Duration::ZERO,
        wait_first: Duration::ZERO,
    };
    /// For a cloud that is asked for a person who waits.
    pub const CLOUD: Self = Self {
        tries_max: 4,
        wait_max: Duration::from_mins(1),
        wait_first: Duration::from_secs(1),
    };
}

/// One question and its answer.
pub struct Turn;

impl Turn {
    /// Asks the model, does what it calls for where there are `tools`, and tells `out` what comes, until the one
    /// [`TurnEvent::End`]. A listener that is gone
    /// stops the turn: nobody would read the rest.
    pub async fn run(
        model: &dyn ChatModel,
        request: Request,
        patience: Patience,
        tools: Option<TurnTools<'_>>,
        out: &mpsc::Sender<TurnEvent>,
        stop: &CancellationToken,
    ) {
        let mut figures = TurnFigures::default();
        let asking = Asking {
            model,
            patience,
            work: tools,
            out,
        };
        let answer = AssertUnwindSafe(asking.to_the_end(request, &mut figures)).catch_unwind();
        let end = tokio::select! { biased;
            () = stop.cancelled() => End::Stopped,
            () = out.closed() => End::Stopped,
            end = answer => end.unwrap_or(End::Failed(ModelError::Defect)),
        };
        // The only place that sends an end; if nobody listens there is nobody to tell.
        let _ = out.send(TurnEvent::End { end, figures }).await;
    }
}

/// One question, with everyone who has a part in it.
struct Asking<'a> {
    model: &'a dyn ChatModel,
    patience: Patience,
    work: Option<TurnTools<'a>>,
    out: &'a mpsc::Sender<TurnEvent>,
}

impl Asking<'_> {
    /// Asks, does what the model calls for, and asks again, until there is an answer.
    async fn to_the_end(&self, mut request: Request, figures: &mut TurnFigures) -> End {
        let mut rounds = 0;
        let mut cost: Option<Cost> = None;
        loop {
            let Answer {
                reason,
                mut items,
                usage,
                speed,
            } = match self.one(&request, figures).await {
                Ok(answer) => answer,
                Err(end) => return end,
            };
            let sum = cost.map_or(usage.cost, |before| before.plus(usage.cost));
            cost = Some(sum);
            figures.usage = Usage { cost: sum, ..usage };
            figures.decode = speed.and_then(|speed| speed.decode);
            if self.work.is_some() {
                items = repaired(items, &request.tools);
                own_ids(&mut items, &request);
            }
            let calls: Vec<ToolCall> = items.iter().filter_map(Item::call).cloned().collect();
            let answered = TurnEvent::Answered {
                items: items.clone(),
                usage,
            };
            if self.out.send(answered).await.is_err() {
                return End::Stopped;
            }
            match reason {
                FinishReason::Length => return End::Length,
                FinishReason::Refused => {
                    return End::Failed(ModelError::Broken {
                        why: Refusal::Content,
                        kind: "refusal".into(),
                        message: String::new(),
                    });
                }
                FinishReason::Stop | FinishReason::Calls => {}
            }
            let Some(work) = self
                .work
                .filter(|work| !calls.is_empty() && rounds < work.limits.rounds_max)
            else {
                return End::Complete;
            };
            let results = work.all(&calls).await;
            if self.out.send(TurnEvent::Results(results.clone())).await.is_err() {
                return End::Stopped;
            }
            request.transcript.push_stable(Row::Assistant(items));
            request.transcript.push_stable(Row::Results(results));
            rounds += 1;
            if rounds == work.limits.rounds_max {
                // It has to answer with what it has.
                request.tool_choice = ToolChoice::None;
            }
        }
    }

    /// One answer of the model, told piece by piece.
    async fn one(&self, request: &Request, figures: &mut TurnFigures) -> Result<Answer, End> {
        let (sent, mut pieces) = self.open(request).await?;
        let mut words = Words {
            text: String::new(),
            told: 0,
            hold_back: self.work.is_some(),
        };
        while let Some(piece) = pieces.next().await {
            let event = match piece {
                Ok(Piece::PromptRead { done, total }) => TurnEvent::PromptRead { done, total },
                Ok(Piece::Text(text)) => match words.hear(&text) {
                    Some(text) => TurnEvent::Text(text),
                    None => continue,
                },
                Ok(Piece::Reasoning(text)) => TurnEvent::Reasoning(text),
                Ok(Piece::Finished(answer)) => {
                    // A call that was written as words is none.
                    if words.hold_back && repair::find(&words.text, &request.tools).is_some() {
                        return Ok(answer);
                    }
                    if let Some(text) = words.rest()
                        && self.out.send(TurnEvent::Text(text)).await.is_err()
                    {
                        return Err(End::Stopped);
                    }
                    return Ok(answer);
                }
                Err(error) => {
                    // What had come is the person's, whatever it might have become.
                    if let Some(text) = words.rest() {
                        let _ = self.out.send(TurnEvent::Text(text)).await;
                    }
                    return Err(End::Failed(error));
                }
            };
            if figures.first_token.is_none() && !matches!(event, TurnEvent::PromptRead { .. }) {
                figures.first_token = Some(sent.elapsed());
            }
            if self.out.send(event).await.is_err() {
                return Err(End::Stopped);
            }
        }
        Err(End::Failed(ModelError::Cut { source: None }))
    }

    /// Sends the request until it is worked on. Waiting is told, so that nothing happens behind the person's back.
    async fn open(&self, request: &Request) -> Result<(Instant, Pieces), End> {
        let mut waited = Duration::ZERO;
        let mut next = self.patience.wait_first;
        for _ in 1..self.patience.tries_max {
            let sent = Instant::now();
            let error = match self.model.answer(request.clone()).await {
                Ok(pieces) => return Ok((sent, pieces)),
                Err(error) => error,
            };
            let Some(asked) = error.retry_after() else {
                return Err(End::Failed(error));
            };
            let after = asked.unwrap_or(next);
            if waited + after > self.patience.wait_max {
                return Err(End::Failed(error));
            }
            if self
                .out
                .send(TurnEvent::Waiting { after, why: error })
                .await
                .is_err()
            {
                return Err(End::Stopped);
            }
            tokio::time::sleep(after).await;
            waited += after;
            next *= 2;
        }
        let sent = Instant::now();
        match self.model.answer(request.clone()).await {
            Ok(pieces) => Ok((sent, pieces)),
            Err(error) => Err(End::Failed(error)),
        }
    }
}

/// The words of an answer: what could still become a call is not told yet.
struct Words {
    text: String,
    told: usize,
    hold_back: bool,
}

impl Words {
    fn hear(&mut self, more: &str) -> Option<String> {
        self.text.push_str(more);
        if self.hold_back && self.told == 0 && repair::may_begin(&self.text) {
            return None;
        }
        self.rest()
    }

    fn rest(&mut self) -> Option<String> {
        let rest = self.text[self.told..].to_owned();
        self.told = self.text.len();
        (!rest.is_empty()).then_some(rest)
    }
}

/// Calls that came as words become calls: in the answer, or, where there is none, in the thoughts.
fn repaired(items: Vec<Item>, tools: &[ToolSpec]) -> Vec<Item> {
    if tools.is_empty() || items.iter().any(|item| item.call().is_some()) {
        return items;
    }
    let gather = |of: fn(&Item) -> Option<&str>| items.iter().filter_map(of).collect::<String>();
    let text = gather(|item| match item {
        Item::Text { text } => Some(text.as_str()),
        Item::Reasoning(_) | Item::Call(_) => None,
    });
    let thoughts = gather(|item| match item {
        Item::Reasoning(Reasoning { text, .. }) => Some(text.as_str()),
        Item::Text { .. } | Item::Call(_) => None,
    });
    let found = match repair::find(&text, tools) {
        Some(found) => found,
        None if text.trim().is_empty() => match repair::find(&thoughts, tools) {
            Some(found) => repair::Found {
                before: String::new(),
                ..found
            },
            None => return items,
        },
        None => return items,
    };
    let mut mended: Vec<Item> = items
        .into_iter()
        .filter(|item| matches!(item, Item::Reasoning(_)))
        .collect();
    if !found.before.is_empty() {
        mended.push(Item::text(found.before));
    }
    mended.extend(found.calls.into_iter().map(Item::Call));
    mended
}

/// Ids that the conversation has already had get a new end: some servers count from 0 in every answer.
fn own_ids(items: &mut [Item], request: &Request) {
    let mut taken: BTreeSet<String> = request
        .transcript
        .stable()
        .iter()
        .flat_map(|row| match row {
            Row::Assistant(items) => items
                .iter()
                .filter_map(Item::call)
                .map(|call| call.id.clone())
                .collect(),
            Row::User(_) | Row::Results(_) => Vec::new(),
        })
        .collect();
    for item in items {
        let Item::Call(call) = item else { continue };
        let first = call.id.clone();
        let mut number = 1;
        while !taken.insert(call.id.clone()) {
            number += 1;
            call.id = format!("{first}_{number}");
        }
    }
}
