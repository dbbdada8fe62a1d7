//! A model behind the gates: before every call it is decided whether the conversation fits, and what a server
//! counts is heard.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use plimsoll_agent::{ChatModel, ModelError, Part, Piece, Pieces, Request, RouteModel, Row, Transcript};
use plimsoll_units::Tokens;
use plimsoll_wire::{CompactionOutcome, GateDecision, GateMoment, GateVerdict, ReadingKind};

use super::live::Live;
use super::owner::{Contexts, Shared};
use super::summarise::{Asked, Summariser};

/// Gates of one call: a count, a compaction, a count of what is left, and one more of each after a refusal.
const GATES_MAX: usize = 8;

pub(crate) struct GatedModel {
    inner: RouteModel,
    contexts: Contexts,
    live: Shared,
    summariser: Summariser,
    conversation: String,
    answer: String,
    /// Rows of the transcript that the turn began with.
    rows_before: usize,
    /// Rows of the answer that were there at the last call.
    rows_seen: AtomicUsize,
    called: AtomicBool,
}

impl GatedModel {
    pub(crate) fn new(
        contexts: Contexts,
        live: Shared,
        summariser: Summariser,
        conversation: &str,
        answer: &str,
        transcript: &Transcript,
    ) -> Self {
        Self {
            inner: summariser.model.clone(),
            contexts,
            live,
            summariser,
            conversation: conversation.to_owned(),
            answer: answer.to_owned(),
            rows_before: transcript.stable().len(),
            rows_seen: AtomicUsize::new(0),
            called: AtomicBool::new(false),
        }
    }

    pub(crate) fn live(&self) -> Shared {
        self.live.clone()
    }

    async fn gated(&self, request: Request) -> Result<Pieces, ModelError> {
        let dynamic = request.transcript.dynamic().to_vec();
        let grown = request
            .transcript
            .stable()
            .get(self.rows_before..)
            .unwrap_or_default()
            .to_vec();
        let seen = self.rows_seen.swap(grown.len(), Ordering::Relaxed);
        let moment = if !self.called.swap(true, Ordering::Relaxed) {
            GateMoment::BeforeTurn
        } else if grown.len() > seen && matches!(grown.last(), Some(Row::Results(_))) {
            GateMoment::AfterTools
        } else {
            GateMoment::BeforeCall
        };
        let mut live = self.live.lock().await;
        live.end_stopped();
        live.set_head(request.transcript.system(), &request.tools);
        live.set_answer(&self.answer, &grown);
        if moment == GateMoment::BeforeTurn {
            self.contexts.use_pending(&mut live).await;
        }
        if self.summariser.own {
            self.price_image(&mut live, &request).await;
        }
        let mut request = self.pass(&mut live, request, &dynamic, moment).await?;
        live.sending();
        // Whoever looks at the meter does not wait for the server.
        drop(live);
        let mut answer = self.inner.answer(request.clone()).await;
        if answer.is_err() {
            let mut live = self.live.lock().await;
            // What the server refuses for its length is cut once, looked at again, and sent once.
            let too_long = match &answer {
                Err(ModelError::Overflow { prompt, window }) => Some((Some(*prompt), Some(*window))),
                Err(ModelError::TooLong { window, .. }) => Some((None, *window)),
                Ok(_) | Err(_) => None,
            };
            if let Some((prompt, window)) = too_long {
                live.rejected(prompt, window);
                let before = live.active.len();
                request = self
                    .pass(&mut live, request, &dynamic, GateMoment::BeforeCall)
                    .await?;
                if live.active.len() > before {
                    live.sending();
                    answer = self.inner.answer(request.clone()).await;
                }
            }
            match &answer {
                Err(ModelError::Overflow { prompt, window }) if too_long.is_some() => {
                    live.rejected(Some(*prompt), Some(*window));
                }
                Err(_) => live.failed(),
                Ok(_) => {}
            }
        }
        let (shared, id) = (self.live.clone(), self.answer.clone());
        let heard = answer?.then(move |piece| {
            let finished = match &piece {
                Ok(Piece::Finished(answer)) => {
                    Some((shared.clone(), id.clone(), request.clone(), answer.clone()))
                }
                Ok(Piece::PromptRead { .. } | Piece::Text(_) | Piece::Reasoning(_)) | Err(_) => None,
            };
            async move {
                if let Some((shared, id, request, answer)) = finished {
                    shared.lock().await.answered(request, &answer, &id);
                }
                piece
            }
        });
        Ok(heard.boxed())
    }

    /// Through the gates, until the request may go out as it is then.
    async fn pass(
        &self,
        live: &mut Live,
        mut request: Request,
        dynamic: &[Row],
        moment: GateMoment,
    ) -> Result<Request, ModelError> {
        let mut moment = moment;
        for _ in 0..GATES_MAX {
            request.transcript = live.transcript(dynamic);
            let Some(decision) = live.gate(moment) else { break };
            match decision.verdict {
                GateVerdict::Send | GateVerdict::Wait => break,
                GateVerdict::Suggest | GateVerdict::Warn => {
                    self.contexts.tell(&self.conversation, false);
                    break;
                }
                GateVerdict::Count => self.count(live, &request).await,
                GateVerdict::Compact => match self.compact(live).await {
                    CompactionOutcome::Committed => moment = GateMoment::BeforeCall,
                    // Whatever failed, the history is as it was. What fits all the same is sent.
                    CompactionOutcome::TimedOut if !fits(&decision) => {
                        return Err(ModelError::CompactionTimedOut);
                    }
                    CompactionOutcome::NoOp
                    | CompactionOutcome::DiscardedStale
                    | CompactionOutcome::RejectedLarger
                    | CompactionOutcome::TimedOut
                    | CompactionOutcome::Cancelled
                    | CompactionOutcome::ProviderError
                    | CompactionOutcome::Busy => {
                        if fits(&decision) {
                            break;
                        }
                        return Err(too_long(&decision));
                    }
                },
                GateVerdict::Refuse => return Err(too_long(&decision)),
            }
        }
        Ok(request)
    }

    async fn count(&self, live: &mut Live, request: &Request) {
        match self.inner.count(request).await {
            Ok(tokens) => live.counted(tokens),
            Err(error) => {
                tracing::debug!(%error, "the server does not count");
                live.cannot_count();
            }
        }
    }

    /// Two counts that differ by one image are its price, and no estimate. Once in each run and for each size: the
    /// projector may be another one than last time.
    async fn price_image(&self, live: &mut Live, request: &Request) {
        let Some((size, without)) = without_last_image(&request.transcript) else {
            return;
        };
        if !live.prices_anew(size) {
            return;
        }
        let other = Request {
            transcript: without,
            ..request.clone()
        };
        let (with, without) = tokio::join!(self.inner.count(request), self.inner.count(&other));
        if let (Ok(with), Ok(without)) = (with, without) {
            live.image_counted(&super::names::name(size), with, without);
        }
    }

    /// Makes and writes down a compaction now. Changes nothing when it fails.
    async fn compact(&self, live: &mut Live) -> CompactionOutcome {
        compact(&self.contexts, &self.summariser, live).await
    }
}

/// Cuts what can be cut, asks for a summary where that is not enough, and writes it down.
pub(crate) async fn compact(
    contexts: &Contexts,
    summariser: &Summariser,
    live: &mut Live,
) -> CompactionOutcome {
    if live.pending.is_some() {
        contexts.use_pending(live).await;
        return CompactionOutcome::Committed;
    }
    if !live.begin_compaction() {
        return CompactionOutcome::Busy;
    }
    let conversation = live.conversation.clone();
    contexts.tell(&conversation, true);
    let outcome = if let Some(Ok(plan)) = live.cut() {
        let asked = Asked::of(live, plan);
        match summariser.make(&asked).await {
            Ok(made) => contexts.commit(live, made).await,
            Err(outcome) => {
                live.end_compaction(outcome, None);
                outcome
            }
        }
    } else {
        live.end_compaction(CompactionOutcome::NoOp, None);
        CompactionOutcome::NoOp
    };
    contexts.tell(&conversation, false);
    outcome
}

/// Whether a request fits although it should have been compacted.
fn fits(decision: &GateDecision) -> bool {
    match (decision.window, decision.reading.tokens) {
        (Some(window), Some(tokens)) => decision.reading.kind != ReadingKind::Rejected && tokens < window,
        _ => true,
    }
}

fn too_long(decision: &GateDecision) -> ModelError {
    let prompt = Tokens(decision.reading.tokens.unwrap_or_default());
    let window = Tokens(decision.window.unwrap_or_default());
    match &decision.row {
        Some(row) => ModelError::MessageTooLarge {
            row: row.clone(),
            prompt,
            window,
        },
        None => ModelError::Overflow { prompt, window },
    }
}

/// The same transcript without its last image, and how large that is.
fn without_last_image(transcript: &Transcript) -> Option<(plimsoll_agent::context::SizeClass, Transcript)> {
    let rows = transcript.stable();
    let last = rows.iter().rposition(
        |row| matches!(row, Row::User(parts) if parts.iter().any(|part| matches!(part, Part::Image(_)))),
    )?;
    let mut found = None;
    let mut without = Transcript::new(transcript.system());
    for (n, row) in rows.iter().enumerate() {
        match row {
            Row::User(parts) if n == last => {
                let mut kept = parts.clone();
                let at = kept.iter().rposition(|part| matches!(part, Part::Image(_)))?;
                if let Part::Image(image) = kept.remove(at) {
                    found = Some(plimsoll_agent::context::size_class(&image));
                }
                without.push(Row::User(kept));
            }
            Row::User(_) | Row::Assistant(_) | Row::Results(_) => without.push(row.clone()),
        }
    }
    Some((found?, without))
}

impl ChatModel for GatedModel {
    fn answer(&self, request: Request) -> BoxFuture<'_, Result<Pieces, ModelError>> {
        self.gated(request).boxed()
    }
}
