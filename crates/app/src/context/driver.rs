use plimsoll_agent::context::{
    Account, Anchor, Counted, CutLimits, CutPlan, GateLimits, Head, HeadPart, Heard, NoCut, Rates, RowFacts,
    RowKind, Sent, Thoughts, ToolWeight, check_floor, default_threshold, plan_cut,
};
use plimsoll_agent::context::{AnchorLost, Digest};
use plimsoll_units::Tokens;
use plimsoll_wire::{
    FloorReport, ReplayExpected, ReplayFact, ReplayHeard, ReplayLine, ReplayPart, ReplayStep, ReplayUsage,
};

use super::{expected, names};

/// Plays facts into an account. The app plays what happens, a replay what was written down: the same code, so
/// that a written conversation decides as the live one did.
#[derive(Debug, Default)]
pub(crate) struct Driver {
    pub(crate) account: Account,
    limits: GateLimits,
    rows: Vec<RowFacts>,
    sent: Option<Sent>,
    route: Option<(String, Thoughts)>,
    head: Head,
    /// Of an earlier run, until the rows are there.
    stored: Option<Anchor>,
    now: i64,
    steps: u32,
}

impl Driver {
    pub(crate) fn rows(&self) -> &[RowFacts] {
        &self.rows
    }

    /// A count of an earlier run waits for the rows that it counted.
    pub(crate) const fn waits_for_rows(&self) -> bool {
        self.stored.is_some()
    }

    /// Does one step and says what came of it.
    pub(crate) fn play(&mut self, step: &ReplayStep) -> ReplayLine {
        self.now = step.at.unwrap_or(self.now);
        self.steps = self.steps.saturating_add(1);
        let mut line = ReplayLine {
            step: self.steps,
            at: self.now,
            does: does(&step.fact).to_owned(),
            reading: names::reading(&self.account.reading(self.now)),
            decision: None,
            heard: None,
            plan: None,
            floor: None,
            lost: None,
            began: None,
            wrong: Vec::new(),
        };
        self.fact(&step.fact, &mut line);
        line.reading = match &line.decision {
            Some(decision) => decision.reading.clone(),
            None => names::reading(&self.account.reading(self.now)),
        };
        if let Some(expect) = &step.expect {
            line.wrong = expected::compare(expect, &line);
        }
        line
    }

    #[expect(clippy::too_many_lines, reason = "one arm a fact")]
    fn fact(&mut self, fact: &ReplayFact, line: &mut ReplayLine) {
        let lost = |lost: Option<AnchorLost>| lost.map(names::name);
        match fact {
            ReplayFact::Route {
                route,
                thoughts,
                rates,
            } => {
                let rates: Option<Rates> = rates.clone().and_then(|kept| serde_json::from_value(kept).ok());
                let thoughts = names::our_thoughts(*thoughts);
                let first = rates.clone().unwrap_or_default();
                line.lost = lost(self.account.set_route(route, thoughts, first));
                if let Some(rates) = rates {
                    *self.account.rates_mut() = rates;
                }
                self.route = Some((route.clone(), thoughts));
            }
            ReplayFact::Limits {
                window,
                reserve,
                tool_result,
                threshold,
                countable,
                mode,
            } => {
                self.limits = GateLimits {
                    window: window.map(Tokens),
                    reserve: Tokens(*reserve),
                    tool_result: Tokens(*tool_result),
                    threshold: threshold.map(Tokens),
                    countable: *countable,
                    mode: names::our_mode(*mode),
                    question: None,
                };
            }
            ReplayFact::Head { system, tools } => {
                self.head = Head {
                    system: head_part(system),
                    tools: head_part(tools),
                };
                self.account.set_head(self.head);
            }
            ReplayFact::Rows { rows, replace } => {
                if *replace {
                    self.rows.clear();
                }
                let from = self.rows.len();
                self.rows.extend(rows.iter().map(names::our_row));
                if from > 0 {
                    self.rows[from..].iter().for_each(|row| self.account.add_row(row));
                } else {
                    line.lost = lost(self.account.set_rows(&self.rows));
                }
                if let Some(stored) = self.stored.take() {
                    line.lost = lost(self.account.restore(stored).err());
                }
            }
            ReplayFact::Send => self.sent = Some(self.account.sent()),
            ReplayFact::Answer { usage } => line.heard = self.answered(usage.as_ref()),
            ReplayFact::Fail => self.sent = None,
            ReplayFact::Reject { prompt, window } => {
                if let Some(sent) = self.sent.take() {
                    let heard =
                        self.account
                            .rejected(&sent, prompt.map(Tokens), window.map(Tokens), self.now);
                    line.heard = Some(heard_line(&heard));
                }
            }
            ReplayFact::Count { tokens } => {
                let sent = self.account.sent();
                line.heard = Some(heard_line(&self.account.counted(
                    &sent,
                    Tokens(*tokens),
                    self.now,
                )));
            }
            ReplayFact::ImageCounted { size, with, without } => {
                let class = names::size_class(size);
                let lesson =
                    self.account
                        .rates_mut()
                        .learn_image_exactly(class, Tokens(*with), Tokens(*without));
                line.heard = Some(heard_line(&Heard {
                    image: Some(lesson),
                    ..Heard::default()
                }));
            }
            ReplayFact::Gate { moment } => {
                self.limits.question = self
                    .rows
                    .iter()
                    .rfind(|row| row.kind == RowKind::User)
                    .map(|row| (row.id.clone(), row.weight));
                let decision = self
                    .account
                    .gate(names::our_moment(*moment), &self.limits, self.now);
                line.decision = Some(names::decision(&decision));
            }
            ReplayFact::Begin => line.began = Some(self.account.begin_compaction()),
            ReplayFact::End { outcome, left } => {
                let left = left.map(u64::from);
                self.account
                    .end_compaction(names::our_outcome(*outcome), left, self.now);
            }
            ReplayFact::Unblock => self.account.unblock(),
            ReplayFact::Plan => match self.cut() {
                Some(Ok(plan)) => line.plan = Some(names::plan(&plan)),
                Some(Err(no)) => line.lost = Some(no_cut(&no).to_owned()),
                None => {}
            },
            ReplayFact::Floor { system, tools } => line.floor = self.floor(*system, tools),
            ReplayFact::Restart { anchor } => self.restart(anchor.as_ref()),
        }
    }

    fn answered(&mut self, usage: Option<&ReplayUsage>) -> Option<ReplayHeard> {
        let sent = self.sent.take()?;
        let counted = usage.map_or_else(Counted::default, |usage| Counted {
            prompt: usage.prompt.map(Tokens),
            completion: usage.completion.map(Tokens),
            thought: usage.thought.map(Tokens),
            answer_bytes: usage.answer_bytes,
            thought_bytes: usage.thought_bytes,
            provable: !usage.not_provable,
            images_sent: !usage.image_dropped,
        });
        Some(heard_line(&self.account.answered(&sent, counted, self.now)))
    }

    /// What would be cut now; `None` where no window is known.
    pub(crate) fn cut(&self) -> Option<Result<CutPlan, NoCut>> {
        let told = self.limits.window;
        let window = match self.account.learned_window() {
            Some(learned) => Some(told.map_or(learned, |told| told.min(learned))),
            None => told,
        }?;
        let GateLimits {
            reserve,
            tool_result,
            threshold,
            ..
        } = self.limits;
        let limits = CutLimits {
            head: self.account.floor(),
            window,
            threshold: threshold.unwrap_or_else(|| default_threshold(window, reserve, tool_result)),
            reserve,
            thoughts: self
                .route
                .as_ref()
                .map(|(_, thoughts)| *thoughts)
                .unwrap_or_default(),
        };
        Some(plan_cut(&self.rows, self.account.rates(), limits))
    }

    fn floor(&self, system: u32, tools: &[plimsoll_wire::ReplayTool]) -> Option<FloorReport> {
        let tools: Vec<ToolWeight> = tools
            .iter()
            .map(|tool| ToolWeight {
                name: tool.name.clone(),
                tokens: tool.tokens.into(),
            })
            .collect();
        let check = check_floor(system.into(), &tools, self.limits.window?, self.limits.reserve);
        Some(FloorReport {
            floor: names::small(check.floor),
            fits: check.fits,
            leave_out: check.leave_out,
        })
    }

    /// What the store kept is all that is left: the last count, and what was learned.
    fn restart(&mut self, anchor: Option<&serde_json::Value>) {
        let kept = self.account.anchor().cloned();
        let rates = self.account.rates().clone();
        self.stored = anchor.map_or(kept, |anchor| serde_json::from_value(anchor.clone()).ok());
        self.account = Account::new();
        self.account.set_head(self.head);
        if let Some((route, thoughts)) = &self.route {
            self.account.set_route(route, *thoughts, rates);
        }
        self.rows.clear();
        self.sent = None;
    }
}

fn head_part(part: &ReplayPart) -> HeadPart {
    let digest = part
        .digest
        .as_deref()
        .map_or_else(|| Digest::of(&part.bytes.to_le_bytes()), Digest::read);
    HeadPart {
        digest,
        bytes: part.bytes,
    }
}

fn heard_line(heard: &Heard) -> ReplayHeard {
    let text_refused = heard.text.and_then(Result::err);
    let image_refused = heard.image.and_then(Result::err);
    ReplayHeard {
        anchored: heard.anchored,
        predicted: heard.predicted.map(|tokens| tokens.0),
        text: heard.text.and_then(Result::ok),
        image: heard.image.and_then(Result::ok).map(|(_, price)| price.0),
        refused: heard.refused.or(image_refused).or(text_refused).map(names::name),
    }
}

const fn no_cut(no: &NoCut) -> &'static str {
    match no {
        NoCut::Nothing => "nothingToCut",
        NoCut::TooLarge { .. } => "messageTooLarge",
    }
}

const fn does(fact: &ReplayFact) -> &'static str {
    match fact {
        ReplayFact::Route { .. } => "route",
        ReplayFact::Limits { .. } => "limits",
        ReplayFact::Head { .. } => "head",
        ReplayFact::Rows { .. } => "rows",
        ReplayFact::Send => "send",
        ReplayFact::Answer { .. } => "answer",
        ReplayFact::Fail => "fail",
        ReplayFact::Reject { .. } => "reject",
        ReplayFact::Count { .. } => "count",
        ReplayFact::ImageCounted { .. } => "imageCounted",
        ReplayFact::Gate { .. } => "gate",
        ReplayFact::Begin => "begin",
        ReplayFact::End { .. } => "end",
        ReplayFact::Unblock => "unblock",
        ReplayFact::Plan => "plan",
        ReplayFact::Floor { .. } => "floor",
        ReplayFact::Restart { .. } => "restart",
    }
}

impl Driver {
    /// The step of something that happens now, with what was decided as its expectation.
    pub(crate) fn does(&mut self, at: i64, fact: ReplayFact) -> (ReplayStep, ReplayLine) {
        let mut step = ReplayStep {
            at: Some(at),
            fact,
            expect: None,
        };
        let line = self.play(&step);
        step.expect = line.decision.as_ref().map(|decision| ReplayExpected {
            kind: Some(decision.reading.kind),
            tokens: decision.reading.tokens,
            verdict: Some(decision.verdict),
            reason: Some(decision.reason),
            ..ReplayExpected::default()
        });
        (step, line)
    }
}
