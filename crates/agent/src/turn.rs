use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use plimsoll_units::{Tokens, TokensPerSecond};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{ChatModel, FinishReason, ModelError, Piece, Request};

/// What a turn tells while it runs.
#[derive(Debug)]
pub enum TurnEvent {
    PromptRead {
        done: u32,
        total: u32,
    },
    Text(String),
    Reasoning(String),
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
    pub prompt: Option<Tokens>,
    pub cached: Option<Tokens>,
    pub completion: Option<Tokens>,
    /// From sending to the first piece of text or reasoning.
    pub first_token: Option<Duration>,
    pub decode: Option<TokensPerSecond>,
}

/// One question and its answer.
pub struct Turn;

impl Turn {
    /// Asks the model and tells `out` what comes, until the one [`TurnEvent::End`]. A listener that is gone
    /// stops the turn: nobody would read the rest.
    pub async fn run(
        model: &dyn ChatModel,
        request: Request,
        out: &mpsc::Sender<TurnEvent>,
        stop: &CancellationToken,
    ) {
        let mut figures = TurnFigures::default();
        let answer = AssertUnwindSafe(stream(model, request, out, &mut figures)).catch_unwind();
        let end = tokio::select! { biased;
            () = stop.cancelled() => End::Stopped,
            () = out.closed() => End::Stopped,
            end = answer => end.unwrap_or(End::Failed(ModelError::Defect)),
        };
        // The only place that sends an end; if nobody listens there is nobody to tell.
        let _ = out.send(TurnEvent::End { end, figures }).await;
    }
}

async fn stream(
    model: &dyn ChatModel,
    request: Request,
    out: &mpsc::Sender<TurnEvent>,
    figures: &mut TurnFigures,
) -> End {
    let sent = Instant::now();
    let mut pieces = match model.answer(request).await {
        Ok(pieces) => pieces,
        Err(error) => return End::Failed(error),
    };
    while let Some(piece) = pieces.next().await {
        let event = match piece {
            Ok(Piece::PromptRead { done, total }) => TurnEvent::PromptRead { done, total },
            Ok(Piece::Text(text)) => TurnEvent::Text(text),
            Ok(Piece::Reasoning(text)) => TurnEvent::Reasoning(text),
            Ok(Piece::Finished { reason, usage, speed }) => {
                if let Some(usage) = usage {
                    figures.prompt = Some(usage.prompt);
                    figures.cached = usage.cached;
                    figures.completion = Some(usage.completion);
                }
                figures.decode = speed.and_then(|speed| speed.decode);
                return match reason {
                    FinishReason::Stop => End::Complete,
                    FinishReason::Length => End::Length,
                };
            }
            Err(error) => return End::Failed(error),
        };
        if figures.first_token.is_none() && !matches!(event, TurnEvent::PromptRead { .. }) {
            figures.first_token = Some(sent.elapsed());
        }
        if out.send(event).await.is_err() {
            return End::Stopped;
        }
    }
    End::Failed(ModelError::Cut { source: None })
}
