//! The accounting of one conversation while it is talked about.

use plimsoll_agent::context::{
    Anchor, CutPlan, Head, HeadPart, NoCut, Policy, Rates, RowFacts, SizeClass, measure, measure_head,
    route_key,
};
use plimsoll_agent::{Answer, Item, Request, Route, Row, ToolSpec, Transcript};
use plimsoll_os::clock;
use plimsoll_store::{Store, StoreError};
use plimsoll_units::Tokens;
use plimsoll_wire::{
    CompactionMode, CompactionOutcome, GateDecision, GateMoment, ReplayFact, ReplayLine, ReplayPart,
    ReplayUsage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::driver::Driver;
use super::names;
use super::rows::{Active, Named, assemble, facts, summary_id, transcript};
use crate::app::LOCAL;
use crate::turns::ReadyModel;

/// Room for a reply that nobody limits, in tokens; never more than a quarter of the window.
const REPLY_RESERVE: u32 = 4_096;

/// What is kept with a conversation between runs: enough to show its reading before a model is ready.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptState {
    anchor: Anchor,
    limits: ReplayFact,
    route: ReplayFact,
    head: Option<ReplayFact>,
}

/// What a request is allowed, and where it goes.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) route: Route,
    pub(crate) model: String,
    /// Of the route, for what is learned: with what the price of an image hangs on.
    pub(crate) rates_key: String,
    pub(crate) window: Option<Tokens>,
    pub(crate) reserve: Tokens,
    pub(crate) tool_result: Tokens,
    /// Our own server counts requests without answering them.
    pub(crate) countable: bool,
}

impl Terms {
    /// `reply_max`: as the conversation has it.
    pub(crate) fn of(ready: &ReadyModel, reply_max: Option<u32>, tool_result: Tokens) -> Self {
        let window = ready.window;
        let own = ready.by == LOCAL;
        let quarter = window.map_or(u32::MAX, |window| window.0 / 4);
        let reserve = reply_max.unwrap_or(REPLY_RESERVE).min(quarter);
        let terms = Self {
            route: ready.route.clone(),
            model: ready.name.clone(),
            rates_key: String::new(),
            window,
            reserve: Tokens(reserve),
            tool_result: Tokens(tool_result.0.min(quarter)),
            countable: own,
        };
        Self {
            rates_key: terms.key(),
            ..terms
        }
    }

    fn key(&self) -> String {
        // A loaded model's router has another port in every run: what it is, is the model.
        if self.countable {
            return format!("local {}", self.model);
        }
        let protocol = format!("{:?}", self.route.protocol);
        route_key(&protocol, &self.route.base_url, &self.model)
    }
}

/// A summary that was made while nobody asked, to be used at the next turn if nothing changed meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) made: Active,
    /// The rows that it stands for, as they were.
    pub(crate) rows: Vec<Named>,
}

pub(crate) struct Live {
    pub(crate) conversation: String,
    driver: Driver,
    /// Steps that are not in the store yet.
    steps: Vec<String>,
    pub(crate) active: Vec<Active>,
    /// Of the branch that is shown, all of them, word for word.
    raw: Vec<Named>,
    /// How many of them were there before the answer that runs.
    before_answer: usize,
    policy: Option<Policy>,
    terms: Option<Terms>,
    system: String,
    head: Option<Head>,
    pub(crate) mode: CompactionMode,
    pub(crate) pending: Option<Pending>,
    /// A compaction was begun and has not ended. Seen by whoever holds the lock next: it was stopped.
    compacting: bool,
    pub(crate) decision: Option<GateDecision>,
    /// The last request that was answered: what a fork goes on from.
    pub(crate) parent: Option<Request>,
    pub(crate) parent_prompt: Option<Tokens>,
    limits: Option<ReplayFact>,
    route: Option<ReplayFact>,
    head_fact: Option<ReplayFact>,
    /// Sizes of images whose price was asked for in this run.
    priced: Vec<SizeClass>,
}

impl Live {
    /// With what the store kept.
    pub(crate) async fn load(store: &Store, conversation: &str) -> Result<Self, StoreError> {
        let record = store.context(conversation).await?;
        let kept: Option<KeptState> = record.state.and_then(|state| serde_json::from_str(&state).ok());
        let mode = record
            .mode
            .and_then(|mode| serde_json::from_value(Value::String(mode)).ok())
            .unwrap_or_default();
        let mut live = Self {
            conversation: conversation.to_owned(),
            driver: Driver::default(),
            steps: Vec::new(),
            active: Vec::new(),
            raw: Vec::new(),
            before_answer: 0,
            policy: None,
            terms: None,
            system: String::new(),
            head: None,
            mode,
            pending: None,
            compacting: false,
            decision: None,
            parent: None,
            parent_prompt: None,
            limits: None,
            route: None,
            head_fact: None,
            priced: Vec::new(),
        };
        live.load_compactions(store).await?;
        let anchor = kept
            .as_ref()
            .and_then(|kept| serde_json::to_value(&kept.anchor).ok());
        live.does(ReplayFact::Restart { anchor });
        if let Some(kept) = kept {
            live.does(kept.route);
            live.does(kept.limits);
            if let Some(head) = kept.head {
                live.does(head);
            }
        }
        Ok(live)
    }

    pub(crate) async fn load_compactions(&mut self, store: &Store) -> Result<(), StoreError> {
        self.active = store
            .compactions(&self.conversation)
            .await?
            .into_iter()
            .filter(|one| one.undone_at.is_none())
            .filter_map(|one| {
                Some(Active {
                    kept: serde_json::from_str(&one.body).ok()?,
                    id: one.id,
                })
            })
            .collect();
        Ok(())
    }

    /// One step: done, and written down as a replay has it.
    fn does(&mut self, fact: ReplayFact) -> ReplayLine {
        if matches!(fact, ReplayFact::Limits { .. }) {
            self.limits = Some(fact.clone());
        }
        if matches!(fact, ReplayFact::Head { .. }) {
            self.head_fact = Some(fact.clone());
        }
        if matches!(fact, ReplayFact::Route { .. }) {
            self.route = Some(fact.clone());
        }
        let (step, line) = self.driver.does(clock::now_s(), fact);
        self.steps.extend(serde_json::to_string(&step).ok());
        line
    }

    /// Where the next requests go and what holds for them. `rates`: what was learned there before.
    pub(crate) fn set_terms(&mut self, terms: Terms, rates: Option<Value>) {
        let policy = Policy::new(&terms.route, &terms.model);
        let route = ReplayFact::Route {
            route: terms.key(),
            thoughts: names::thoughts(policy.thoughts()),
            rates,
        };
        let same_route = matches!((&self.route, &route),
            (Some(ReplayFact::Route { route: one, .. }), ReplayFact::Route { route: two, .. }) if one == two);
        if !same_route || self.terms.is_none() {
            self.does(route);
        }
        self.policy = Some(policy);
        self.terms = Some(terms);
        self.set_limits();
    }

    fn set_limits(&mut self) {
        let Some(terms) = &self.terms else { return };
        let limits = ReplayFact::Limits {
            window: terms.window.map(|window| window.0),
            reserve: terms.reserve.0,
            tool_result: terms.tool_result.0,
            threshold: None,
            countable: terms.countable,
            mode: self.mode,
        };
        if self.limits.as_ref() != Some(&limits) {
            self.does(limits);
        }
    }

    pub(crate) fn set_mode(&mut self, mode: CompactionMode) {
        self.mode = mode;
        if self.terms.is_some() {
            self.set_limits();
        } else if let Some(ReplayFact::Limits {
            window,
            reserve,
            tool_result,
            threshold,
            countable,
            ..
        }) = self.limits.clone()
        {
            self.does(ReplayFact::Limits {
                window,
                reserve,
                tool_result,
                threshold,
                countable,
                mode,
            });
        }
    }

    /// Our server does not count after all.
    pub(crate) fn cannot_count(&mut self) {
        if let Some(terms) = &mut self.terms {
            terms.countable = false;
        }
        if let Some(ReplayFact::Limits {
            window,
            reserve,
            tool_result,
            threshold,
            mode,
            ..
        }) = self.limits.clone()
        {
            self.does(ReplayFact::Limits {
                window,
                reserve,
                tool_result,
                threshold,
                countable: false,
                mode,
            });
        }
    }

    pub(crate) fn set_head(&mut self, system: &str, tools: &[ToolSpec]) {
        system.clone_into(&mut self.system);
        let head = measure_head(system, tools);
        if self.head != Some(head) {
            self.head = Some(head);
            let part = |part: HeadPart| ReplayPart {
                bytes: part.bytes,
                digest: Some(part.digest.to_string()),
            };
            self.does(ReplayFact::Head {
                system: part(head.system),
                tools: part(head.tools),
            });
        }
    }

    /// All rows of the branch that is shown.
    pub(crate) fn set_rows(&mut self, rows: Vec<Named>) {
        self.raw = rows;
        self.before_answer = self.raw.len();
        self.sync();
    }

    /// What the answer that runs has brought so far.
    pub(crate) fn set_answer(&mut self, answer: &str, rows: &[Row]) {
        self.raw.truncate(self.before_answer);
        self.raw.extend(rows.iter().enumerate().map(|(n, row)| Named {
            id: format!("{answer}/{n}"),
            row: row.clone(),
        }));
        self.sync();
    }

    /// Tells the accounting what rows there are now.
    fn sync(&mut self) {
        let Some(policy) = &self.policy else { return };
        let now: Vec<RowFacts> = assemble(&self.raw, &self.active)
            .iter()
            .filter_map(|named| facts(named, policy))
            .collect();
        let known = self.driver.rows();
        let same = known
            .iter()
            .zip(&now)
            .take_while(|(known, row)| known.digest == row.digest && known.id == row.id)
            .count();
        let waits = self.driver.waits_for_rows();
        if same == now.len() && same == known.len() && !waits {
            return;
        }
        let replace = same < known.len() || waits;
        let from = if replace { 0 } else { same };
        let rows = now.iter().skip(from).map(names::row).collect();
        self.does(ReplayFact::Rows { rows, replace });
    }

    /// The rows as they are sent.
    pub(crate) fn sent_rows(&self) -> Vec<Named> {
        assemble(&self.raw, &self.active)
    }

    pub(crate) fn transcript(&self, dynamic: &[Row]) -> Transcript {
        transcript(&self.system, &self.sent_rows(), dynamic)
    }

    pub(crate) fn gate(&mut self, moment: GateMoment) -> Option<GateDecision> {
        let decision = self.does(ReplayFact::Gate { moment }).decision;
        // What is thought of while the person reads is not what became of their message.
        if moment != GateMoment::Idle {
            self.decision.clone_from(&decision);
        }
        decision
    }

    /// For the meter. Not written down: looking changes nothing.
    pub(crate) fn look(&mut self) -> Option<GateDecision> {
        let (_, line) = self.driver.does(
            clock::now_s(),
            ReplayFact::Gate {
                moment: GateMoment::Display,
            },
        );
        line.decision
    }

    pub(crate) fn counted(&mut self, tokens: Tokens) {
        self.does(ReplayFact::Count { tokens: tokens.0 });
    }

    /// Whether the price of this size was not asked for in this run.
    pub(crate) fn prices_anew(&mut self, size: SizeClass) -> bool {
        let anew = !self.priced.contains(&size);
        if anew {
            self.priced.push(size);
        }
        anew
    }

    pub(crate) fn image_counted(&mut self, size: &str, with: Tokens, without: Tokens) {
        self.does(ReplayFact::ImageCounted {
            size: size.to_owned(),
            with: with.0,
            without: without.0,
        });
    }

    pub(crate) fn sending(&mut self) {
        self.does(ReplayFact::Send);
    }

    pub(crate) fn failed(&mut self) {
        self.does(ReplayFact::Fail);
    }

    pub(crate) fn rejected(&mut self, prompt: Option<Tokens>, window: Option<Tokens>) {
        self.does(ReplayFact::Reject {
            prompt: prompt.map(|tokens| tokens.0),
            window: window.map(|tokens| tokens.0),
        });
    }

    /// An answer came to this request.
    pub(crate) fn answered(&mut self, request: Request, answer: &Answer, id: &str) {
        let usage = answer.usage;
        let row = Row::Assistant(answer.items.clone());
        let count = |tokens: Option<Tokens>| tokens.map(|tokens| tokens.0);
        let thought: u64 = answer
            .items
            .iter()
            .map(|item| match item {
                Item::Reasoning(thought) => u64::try_from(thought.text.len()).unwrap_or(u64::MAX),
                Item::Text { .. } | Item::Call(_) => 0,
            })
            .sum();
        let bytes = self
            .policy
            .as_ref()
            .and_then(|policy| measure("", &row, policy))
            .map_or(0, |facts| facts.weight.text_bytes);
        let told = usage.input.is_some().then(|| ReplayUsage {
            prompt: count(usage.input),
            cached: count(usage.cached),
            completion: count(usage.output),
            thought: count(usage.reasoning),
            answer_bytes: bytes,
            thought_bytes: thought,
            not_provable: usage.disputed,
            image_dropped: false,
        });
        self.does(ReplayFact::Answer { usage: told });
        self.parent = Some(request);
        self.parent_prompt = usage.input;
        let mut rows: Vec<Row> = self.raw[self.before_answer.min(self.raw.len())..]
            .iter()
            .map(|named| named.row.clone())
            .collect();
        rows.push(row);
        self.set_answer(id, &rows);
    }

    pub(crate) fn cut(&mut self) -> Option<Result<CutPlan, NoCut>> {
        self.does(ReplayFact::Plan);
        self.driver.cut()
    }

    /// The same, only to be shown.
    pub(crate) fn would_cut(&self) -> Option<Result<CutPlan, NoCut>> {
        self.driver.cut()
    }

    pub(crate) fn rates(&self) -> &Rates {
        self.driver.account.rates()
    }

    /// `false`: one is being made already.
    pub(crate) fn begin_compaction(&mut self) -> bool {
        if self.pending.is_some() {
            return false;
        }
        self.end_stopped();
        let began = self.does(ReplayFact::Begin).began == Some(true);
        self.compacting = began;
        began
    }

    /// What was begun and never ended was stopped with the turn that began it.
    pub(crate) fn end_stopped(&mut self) {
        if self.compacting && self.pending.is_none() {
            self.end_compaction(CompactionOutcome::Cancelled, None);
        }
    }

    pub(crate) fn end_compaction(&mut self, outcome: CompactionOutcome, left: Option<u64>) {
        self.compacting = false;
        self.does(ReplayFact::End {
            outcome,
            left: left.map(names::small),
        });
    }

    pub(crate) const fn is_compacting(&self) -> bool {
        self.compacting
    }

    /// It is in the store: from here on it holds.
    pub(crate) fn committed(&mut self, made: Active) {
        let left = made.kept.after;
        self.active.push(made);
        self.end_compaction(CompactionOutcome::Committed, Some(left));
        self.sync();
    }

    /// The person took one back, or asks for one: what gates held back is forgotten.
    pub(crate) fn unblock(&mut self) {
        self.does(ReplayFact::Unblock);
        self.sync();
    }

    /// Whether a summary that was made meanwhile still stands for what is there.
    pub(crate) fn is_fresh(&self, pending: &Pending) -> bool {
        let sent = self.sent_rows();
        let name = summary_id(&pending.made.id);
        !sent.iter().any(|row| row.id == name)
            && pending
                .rows
                .iter()
                .all(|wanted| sent.iter().any(|row| row == wanted))
    }

    /// The request that would go out if the pending summary held, to be read ahead.
    pub(crate) fn ahead(&self, pending: &Pending) -> Option<Request> {
        let mut active = self.active.clone();
        active.push(pending.made.clone());
        let rows = assemble(&self.raw, &active);
        Some(Request {
            transcript: transcript(&self.system, &rows, &[]),
            ..self.parent.clone()?
        })
    }

    /// Writes down what happened since the last time, and what the next run needs.
    pub(crate) async fn save(&mut self, store: &Store) {
        let steps = std::mem::take(&mut self.steps);
        let anchor = self.driver.account.anchor().cloned();
        // A count that does not hold any more is forgotten in the store as well.
        let state = match (anchor, self.limits.clone(), self.route.clone()) {
            (Some(anchor), Some(limits), Some(ReplayFact::Route { route, thoughts, .. })) => {
                let route = ReplayFact::Route {
                    route,
                    thoughts,
                    rates: serde_json::to_value(self.driver.account.rates()).ok(),
                };
                let head = self.head_fact.clone();
                serde_json::to_string(&KeptState {
                    anchor,
                    limits,
                    route,
                    head,
                })
                .ok()
            }
            _ => None,
        };
        if let Err(error) = store.keep_context(&self.conversation, state, steps).await {
            tracing::warn!(%error, conversation = self.conversation, "what decided about the context is not kept");
        }
        let Some(terms) = &self.terms else { return };
        let rates = serde_json::to_string(self.driver.account.rates()).unwrap_or_default();
        if let Err(error) = store.keep_route_rates(&terms.rates_key, rates).await {
            tracing::warn!(%error, "what was learned about a route is not kept");
        }
    }

    /// Before a model is ready: by which rules its rows would be sent.
    pub(crate) fn set_policy(&mut self, policy: Option<Policy>) {
        if self.terms.is_none() && policy.is_some() {
            self.policy = policy;
        }
    }

    pub(crate) fn terms(&self) -> Option<&Terms> {
        self.terms.as_ref()
    }
}
