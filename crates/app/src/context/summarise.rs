//! How a summary is asked for, and what is made of the answer.

use std::time::Duration;

use futures_util::StreamExt as _;
use plimsoll_agent::context::{
    CutPlan, Digest, ForkFacts, SummaryNote, Way, choose_way, fork_instruction, is_cached_enough,
    read_summary, summary_request_text, summary_row_text,
};
use plimsoll_agent::{
    Answer, ChatModel as _, Item, ModelError, Part, Piece, Refusal, Request, RouteModel, Row, Sampling,
    Transcript,
};
use plimsoll_store::Store;
use plimsoll_units::Tokens;
use plimsoll_wire::CompactionOutcome;
use serde_json::Value;
use uuid::Uuid;

use super::live::Live;
use super::rows::{Active, KeptCompaction, Named, shortened};

/// A summary that takes longer than this is not waited for.
const SUMMARY_MAX: Duration = Duration::from_mins(10);
/// Where forks that were not cached are remembered.
const MISSES: &str = "context.forkMisses";
/// So much of a parent's bytes a fork has to repeat.
const PROVED_PERCENT: usize = 90;

/// What is to be summarised, as it was when somebody asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) plan: CutPlan,
    /// The rows that the summary will stand for.
    pub(crate) rows: Vec<Named>,
    /// All rows that are sent, and the request that they were last sent with.
    transcript: Transcript,
    parent: Option<Request>,
    parent_prompt: Option<Tokens>,
    window: Option<Tokens>,
    reserve: Tokens,
    /// Millionths of a token for a byte.
    per_byte: u64,
    model: String,
}

impl Asked {
    pub(crate) fn of(live: &Live, plan: CutPlan) -> Self {
        let sent = live.sent_rows();
        let rows = sent
            .into_iter()
            .filter(|row| plan.summarise.contains(&row.id))
            .collect();
        let terms = live.terms();
        Self {
            rows,
            transcript: live.transcript(&[]),
            parent: live.parent.clone(),
            parent_prompt: live.parent_prompt,
            window: terms.and_then(|terms| terms.window),
            reserve: terms.map_or(Tokens(0), |terms| terms.reserve),
            per_byte: live.rates().per_byte(),
            model: terms.map(|terms| terms.model.clone()).unwrap_or_default(),
            plan,
        }
    }

    fn tokens(&self, bytes: usize) -> u64 {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        bytes.saturating_mul(self.per_byte).div_ceil(1_000_000)
    }

    fn reply_max(&self) -> u32 {
        let window = self.window.map_or(u32::MAX, |window| window.0);
        (window / 8).clamp(128, 4_096)
    }
}

/// Someone who can be asked for a summary.
#[derive(Clone)]
pub(crate) struct Summariser {
    pub(crate) model: RouteModel,
    pub(crate) store: Store,
    /// Our own server: prefixes can be proved there, and its cache is this conversation's slot.
    pub(crate) own: bool,
    pub(crate) prices: Option<(u64, u64)>,
}

impl Summariser {
    /// A whole compaction, not yet written down. Never changes anything.
    pub(crate) async fn make(&self, asked: &Asked) -> Result<Active, CompactionOutcome> {
        let mut kept = KeptCompaction {
            notes: asked.plan.prunes.clone(),
            before: asked.plan.before,
            after: asked.plan.after,
            by: asked.model.clone(),
            ..KeptCompaction::default()
        };
        let id = Uuid::now_v7().simple().to_string();
        if asked.plan.summarise.is_empty() {
            return Ok(Active { id, kept });
        }
        let (summary, forked) = tokio::time::timeout(SUMMARY_MAX, self.summary(asked))
            .await
            .map_err(|_| CompactionOutcome::TimedOut)??;
        let note = SummaryNote {
            rows: asked.rows.len(),
            id: id.clone(),
            with_tool: false,
        };
        let row = summary_row_text(&summary, &note);
        let gone: usize = asked
            .rows
            .iter()
            .map(|named| super::rows::words(&named.row).len())
            .sum();
        // A summary that is longer than what it stands for is none.
        if row.len() >= gone {
            return Err(CompactionOutcome::RejectedLarger);
        }
        kept.after = asked.plan.after.saturating_sub(asked.plan.summary) + asked.tokens(row.len());
        if kept.after >= kept.before {
            return Err(CompactionOutcome::RejectedLarger);
        }
        kept.sources.clone_from(&asked.plan.summarise);
        kept.row = Some(row);
        kept.summary = summary;
        kept.forked = forked;
        Ok(Active { id, kept })
    }

    async fn summary(&self, asked: &Asked) -> Result<(String, bool), CompactionOutcome> {
        if let Some((fork, facts)) = self.fork(asked).await
            && choose_way(facts) == Way::Fork
        {
            let answer = self.whole(fork).await.map_err(|error| outcome(&error))?;
            self.remember_cached(asked, &answer).await;
            if let Ok(summary) = read_summary(&answer.items) {
                return Ok((summary, true));
            }
            // One attempt under a prompt of its own, and no more.
        }
        let answer = self
            .whole(standalone(asked))
            .await
            .map_err(|error| outcome(&error))?;
        match read_summary(&answer.items) {
            Ok(summary) => Ok((summary, false)),
            Err(why) => {
                tracing::debug!(%why, "an answer that is no summary");
                Err(CompactionOutcome::ProviderError)
            }
        }
    }

    /// The parent's own last request and one row more: everything that makes its prompt is the same.
    async fn fork(&self, asked: &Asked) -> Option<(Request, ForkFacts)> {
        let parent = asked.parent.clone()?;
        let mut transcript = asked.transcript.clone();
        transcript.user(&fork_instruction());
        let fork = Request {
            transcript,
            stop: Vec::new(),
            sampling: Sampling {
                reply_max: Some(asked.reply_max()),
                ..parent.sampling
            },
            ..parent.clone()
        };
        let parent_tokens = asked
            .parent_prompt
            .map_or(asked.plan.before, |prompt| prompt.0.into());
        let appended =
            asked.plan.before.saturating_sub(parent_tokens) + asked.tokens(fork_instruction().len());
        let room = asked.window.map_or(u64::MAX, |window| window.0.into());
        let missed = self.is_missed(&asked.model).await;
        let structured = parent.format.is_some();
        let no_room = parent_tokens + appended + u64::from(asked.reply_max()) > room;
        let unproved = missed || structured || no_room || !self.is_proved(&parent, &fork).await;
        let (input_price, cached_price) = self
            .prices
            .unwrap_or((if self.own { 1 } else { 10 }, u64::from(!self.own)));
        let facts = ForkFacts {
            parent: parent_tokens,
            appended,
            standalone: asked.tokens(summary_request_text(asked.rows.iter().map(|named| &named.row)).len()),
            input_price,
            cached_price,
            structured,
            unproved,
            missed,
            no_room,
            ..ForkFacts::default()
        };
        Some((fork, facts))
    }

    /// The parent's prompt is the beginning of the fork's: as the template renders it where we can ask, else as
    /// bytes.
    async fn is_proved(&self, parent: &Request, fork: &Request) -> bool {
        let common = |one: &[u8], two: &[u8]| one.iter().zip(two).take_while(|(a, b)| a == b).count();
        let enough = |same: usize, of: usize| same.saturating_mul(100) >= of.saturating_mul(PROVED_PERCENT);
        if self.own {
            let (Ok(before), Ok(after)) =
                tokio::join!(self.model.rendered(parent), self.model.rendered(fork))
            else {
                return false;
            };
            return enough(common(before.as_bytes(), after.as_bytes()), before.len());
        }
        // Equal rows are equal bytes: the adapters promise it.
        fork.transcript.stable().starts_with(parent.transcript.stable()) && fork.tools == parent.tools
    }

    /// A fork that was not cached is not tried again with this model, template and build.
    async fn remember_cached(&self, asked: &Asked, answer: &Answer) {
        let (Some(cached), Some(parent)) = (answer.usage.cached, asked.parent_prompt) else {
            return;
        };
        tracing::debug!(cached = cached.0, parent = parent.0, "a fork's cache");
        if is_cached_enough(cached.0.into(), parent.0.into()) {
            return;
        }
        let key = self.cache_key(&asked.model).await;
        let mut missed = self.misses().await;
        missed.push(key);
        let value = serde_json::to_value(missed).unwrap_or_default();
        if let Err(error) = self
            .store
            .change_settings([(MISSES.to_owned(), value)].into())
            .await
        {
            tracing::warn!(%error, "a cache miss is not remembered");
        }
    }

    async fn misses(&self) -> Vec<String> {
        let kept = self.store.setting(MISSES).await.ok().flatten();
        kept.and_then(|kept| serde_json::from_value(kept).ok())
            .unwrap_or_default()
    }

    async fn is_missed(&self, model: &str) -> bool {
        let missed = self.misses().await;
        !missed.is_empty() && missed.contains(&self.cache_key(model).await)
    }

    /// Model, template and build.
    async fn cache_key(&self, model: &str) -> String {
        let properties = if self.own {
            self.model.properties(model).await
        } else {
            None
        };
        let text = |name: &str| {
            let value = properties.as_ref().and_then(|all| all.get(name));
            value.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let template = Digest::of(text("chat_template").as_bytes());
        format!("{model} {template} {}", text("build_info"))
    }

    /// All of an answer. What it calls is not done.
    async fn whole(&self, request: Request) -> Result<Answer, ModelError> {
        let mut pieces = self.model.answer(request).await?;
        while let Some(piece) = pieces.next().await {
            if let Piece::Finished(answer) = piece? {
                return Ok(answer);
            }
        }
        Err(ModelError::Cut { source: None })
    }

    /// Reads a prompt into the cache and leaves.
    pub(crate) async fn warm(&self, mut request: Request) {
        if !self.own {
            return;
        }
        request.sampling.reply_max = Some(1);
        if let Err(error) = self.whole(request).await {
            tracing::debug!(%error, "a prompt was not read ahead");
        }
    }
}

/// The rows as text under a prompt of their own, no longer than the window takes.
fn standalone(asked: &Asked) -> Request {
    let rows: Vec<&Row> = asked.rows.iter().map(|named| &named.row).collect();
    let mut text = summary_request_text(rows.iter().copied());
    let reply = asked.reply_max();
    if let Some(window) = asked.window {
        let room = u64::from(window.0)
            .saturating_sub(u64::from(reply) + u64::from(asked.reserve.0.min(window.0 / 8)));
        let bytes = room.saturating_mul(1_000_000) / asked.per_byte.max(1) / 10 * 8;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if text.len() > bytes {
            // Every row keeps its share, so that nothing is left out as a whole.
            let frame = summary_request_text(std::iter::empty()).len() + rows.len() * 24;
            let share = bytes.saturating_sub(frame) / rows.len().max(1);
            let share = u64::try_from(share.saturating_sub(80)).unwrap_or(0).max(40);
            let short: Vec<Row> = asked
                .rows
                .iter()
                .map(|named| {
                    let words = shortened(&super::rows::words(&named.row), share, &named.id);
                    match &named.row {
                        Row::Assistant(_) => Row::Assistant(vec![Item::text(words)]),
                        Row::User(_) | Row::Results(_) => Row::User(vec![Part::text(words)]),
                    }
                })
                .collect();
            text = summary_request_text(&short);
        }
    }
    let mut transcript = Transcript::new("");
    transcript.user(&text);
    let name = asked
        .parent
        .as_ref()
        .map_or(asked.model.as_str(), |parent| parent.model.as_str());
    let mut request = Request::new(name, transcript);
    request.sampling.reply_max = Some(reply);
    request.sampling.temperature = Some(0.2);
    // Its own slot, so that it takes no other conversation's cache.
    request.slot = asked.parent.as_ref().and_then(|parent| parent.slot);
    request
}

fn outcome(error: &ModelError) -> CompactionOutcome {
    tracing::debug!(%error, "a summary was not answered");
    match error {
        ModelError::Silent { .. } => CompactionOutcome::TimedOut,
        ModelError::Refused {
            why: Refusal::Overload { .. },
            ..
        } => CompactionOutcome::Busy,
        ModelError::Unreachable { .. }
        | ModelError::Refused { .. }
        | ModelError::Overflow { .. }
        | ModelError::TooLong { .. }
        | ModelError::MessageTooLarge { .. }
        | ModelError::CompactionTimedOut
        | ModelError::Broken { .. }
        | ModelError::Cut { .. }
        | ModelError::Malformed { .. }
        | ModelError::NotText
        | ModelError::PieceTooLarge { .. }
        | ModelError::AnswerTooLarge { .. }
        | ModelError::Unsendable(_)
        | ModelError::Defect => CompactionOutcome::ProviderError,
    }
}
