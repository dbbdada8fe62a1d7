//! What to run on a machine: the best model of the catalog that answers in acceptable time.

use plimsoll_catalog::{Ability, Catalog, EngineNeedKind, Model, Variant};
use plimsoll_units::{Bytes, BytesPerSecond};

use crate::plan::{Plan, Verdict};
use crate::{Projector, Shape, Situation, Why, Wishes, plan};

/// A turn as an assistant has it: a question with what goes along, and a paragraph of answer.
const PROMPT_TOKENS: u32 = 1_024;
/// Tokens of a usual answer.
pub const ANSWER_TOKENS: u32 = 256;
/// What a model that thinks writes before it answers.
const THINKING_TOKENS: u32 = 768;
/// Longer than this for a turn is no conversation.
const TURN_SECONDS_MOST: f64 = 60.0;
/// Up to here nobody minds waiting; from here on it takes from what the quality of an answer is worth, a half at
/// the limit.
const TURN_SECONDS_FREE: f64 = 20.0;
/// The first message of a conversation carries the instructions and the tools of an agent with it.
const START_TOKENS: u32 = 2_048;
const START_SECONDS_MOST: f64 = 90.0;
/// Below this rank an answer is to be checked word by word: a cloud model serves better where one may be used.
const CLOUD_BELOW_RANK: u8 = 20;
/// Taken for the RAM of a machine that does not tell its bandwidth: a slow one of today. Only for choosing, no
/// speed is told from it.
const HOST_BANDWIDTH_ASSUMED: BytesPerSecond = BytesPerSecond::gb(25);
/// The same for a device.
const DEVICE_BANDWIDTH_ASSUMED: BytesPerSecond = BytesPerSecond::gb(150);
const ALTERNATIVES_MOST: usize = 6;

/// What Plimsoll would run here, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommendation {
    /// `None` when nothing fits: `why` says so.
    pub pick: Option<Pick>,
    pub why: Vec<Why>,
    pub alternatives: Vec<Alternative>,
    pub rejected: Vec<Rejected>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pick {
    /// Catalog id.
    pub model: String,
    pub quant: String,
    pub name: String,
    /// Of all files.
    pub download: Bytes,
    pub on_disk: bool,
    pub plan: Plan,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Alternative {
    pub pick: Pick,
    pub why: Vec<Why>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    pub model: String,
    pub quant: String,
    pub name: String,
    pub why: Why,
}

pub(crate) struct Entry<'a> {
    model: &'a Model,
    pick: Pick,
    turn_seconds: f64,
    start_seconds: f64,
}

impl Entry<'_> {
    /// Quality, less what few bits and waiting take from it.
    pub(crate) fn worth(&self) -> f64 {
        let over = (self.turn_seconds - TURN_SECONDS_FREE).max(0.0);
        let patience = 1.0 - 0.5 * over / (TURN_SECONDS_MOST - TURN_SECONDS_FREE);
        f64::from(self.model.quality.rank) * kept_quality(&self.pick.plan) * patience.max(0.0)
    }

    /// The gate that it does not pass, if any.
    pub(crate) fn too_slow(&self) -> Option<Why> {
        if self.turn_seconds > TURN_SECONDS_MOST {
            Some(Why::TooSlow {
                seconds: self.turn_seconds,
                limit: TURN_SECONDS_MOST,
            })
        } else if self.start_seconds > START_SECONDS_MOST {
            Some(Why::SlowStart {
                tokens: START_TOKENS,
                seconds: self.start_seconds,
                limit: START_SECONDS_MOST,
            })
        } else {
            None
        }
    }

    fn rejected(self, why: Why) -> Rejected {
        Rejected {
            model: self.pick.model,
            quant: self.pick.quant,
            name: self.pick.name,
            why,
        }
    }
}

/// What a mix of few bits leaves of a model's quality. Ours, editorial: at four bits and a little more the loss is
/// hard to notice, at three it shows, at two it is plain.
pub(crate) fn kept_quality(plan: &Plan) -> f64 {
    let bits = plan.model.file_bytes.as_f64() * 8.0 / Bytes(plan.model.parameters.max(1)).as_f64();
    if bits >= 4.0 {
        1.0
    } else if bits >= 3.3 {
        0.92
    } else if bits >= 2.4 {
        0.75
    } else {
        0.5
    }
}

/// Chooses from the catalog. `on_disk` tells whether a variant (`id`, `quant`) is here already.
#[must_use]
pub fn recommend(
    situation: &Situation,
    catalog: &Catalog,
    on_disk: &dyn Fn(&str, &str) -> bool,
) -> Recommendation {
    let assumed = assume_bandwidths(situation);
    let assumed = Situation {
        machine: &assumed,
        ..situation.clone()
    };
    let mut rejected = Vec::new();
    let mut entries = Vec::new();
    for model in catalog.models() {
        for variant in &model.variants {
            let reject = |why| Rejected {
                model: model.id.clone(),
                quant: variant.quant.clone(),
                name: model.name.clone(),
                why,
            };
            if !model.can(Ability::Chat) {
                rejected.push(reject(Why::NotForChat));
                continue;
            }
            if let Some(needed) = needs_engine(model, situation) {
                let have = situation.engine.release.build;
                rejected.push(reject(Why::NeedsEngine { needed, have }));
                continue;
            }
            let shape = Shape::from_catalog(model, variant);
            // No check refuses such wishes.
            let wishes = Wishes {
                projector: Projector::of_model(model),
                ..Wishes::default()
            };
            let Ok(plan) = plan(&shape, &assumed, &wishes) else {
                continue;
            };
            match judge(&plan, &shape) {
                Some(why) => rejected.push(reject(why)),
                None => entries.push(entry(model, variant, plan, on_disk)),
            }
        }
    }
    choose(situation, entries, rejected)
}

/// The build that the model needs, when the engine is older.
fn needs_engine(model: &Model, situation: &Situation) -> Option<u32> {
    let need = model.engine.as_ref()?;
    let older = need.build > situation.engine.release.build;
    match need.kind {
        EngineNeedKind::Minimum if older => Some(need.build),
        EngineNeedKind::Minimum | EngineNeedKind::SeenWorking => None,
    }
}

pub(crate) fn entry<'a>(
    model: &'a Model,
    variant: &'a Variant,
    plan: Plan,
    on_disk: &dyn Fn(&str, &str) -> bool,
) -> Entry<'a> {
    let thinking = if model.can(Ability::Reasoning) {
        THINKING_TOKENS
    } else {
        0
    };
    let seconds = |prompt, answer| {
        let speed = plan.speed.as_ref();
        speed.map_or(f64::INFINITY, |speed| speed.turn_seconds(prompt, answer))
    };
    let turn_seconds = seconds(PROMPT_TOKENS, ANSWER_TOKENS + thinking);
    let start_seconds = seconds(START_TOKENS, 1);
    let pick = Pick {
        model: model.id.clone(),
        quant: variant.quant.clone(),
        name: model.name.clone(),
        download: variant.bytes().plus(
            model
                .projectors
                .first()
                .map_or(Bytes::ZERO, |projector| projector.file.bytes),
        ),
        on_disk: on_disk(&model.id, &variant.quant),
        plan,
    };
    Entry {
        model,
        pick,
        turn_seconds,
        start_seconds,
    }
}

/// Why a plan is no choice at all.
pub(crate) fn judge(plan: &Plan, shape: &Shape) -> Option<Why> {
    match plan.verdict {
        Verdict::TooBig => plan
            .why
            .iter()
            .find(|why| matches!(why, Why::TooBig { .. }))
            .cloned(),
        // Spilled experts cost little and are judged by time, as is a model that runs beside a device too small for
        // it; spilled layers are never our choice.
        Verdict::Spills if !shape.has_experts() && !plan.memory.devices.is_empty() => {
            let missing = plan.memory.host.kinds.weights;
            Some(Why::WouldSpill { missing })
        }
        Verdict::Spills | Verdict::Fits => None,
    }
}

fn choose(situation: &Situation, mut entries: Vec<Entry>, mut rejected: Vec<Rejected>) -> Recommendation {
    entries.sort_by(|a, b| {
        // Whatever passes the gates comes first; among those the worth decides, among the others the time.
        let (slow_a, slow_b) = (a.too_slow().is_some(), b.too_slow().is_some());
        slow_a.cmp(&slow_b).then_with(|| {
            if slow_a {
                a.turn_seconds.total_cmp(&b.turn_seconds)
            } else {
                b.worth().total_cmp(&a.worth())
            }
        })
    });
    let mut entries = best_variants(entries, &mut rejected).into_iter();
    let Some(chosen) = entries.next() else {
        return nothing(rejected);
    };
    let rank = chosen.model.quality.rank;
    let why = reasons(&chosen);
    let (turn_seconds, size) = (chosen.turn_seconds, chosen.pick.download);
    let pick = tell(situation, chosen.pick);
    let speed_known = pick.plan.speed.is_some();
    let why = why
        .into_iter()
        .filter(|why| speed_known || !is_time(why))
        .collect();
    let mut alternatives = Vec::new();
    for entry in entries {
        if !entry.pick.on_disk {
            if let Some(why) = entry.too_slow() {
                rejected.push(entry.rejected(why));
                continue;
            }
            if alternatives.len() >= ALTERNATIVES_MOST {
                let rank = entry.model.quality.rank;
                rejected.push(entry.rejected(Why::Behind { rank }));
                continue;
            }
        }
        let mut why = Vec::new();
        if entry.pick.on_disk {
            why.push(Why::AlreadyHere);
        }
        if entry.model.quality.rank > rank {
            why.push(Why::SmarterSlower {
                seconds: entry.turn_seconds,
            });
        } else if entry.turn_seconds < turn_seconds * 0.8 {
            why.push(Why::Faster {
                seconds: entry.turn_seconds,
            });
        }
        if entry.pick.download < size {
            why.push(Why::Smaller {
                bytes: entry.pick.download,
            });
        }
        alternatives.push(Alternative {
            pick: tell(situation, entry.pick),
            why,
        });
    }
    // What is here already needs no download: first.
    alternatives.sort_by_key(|alternative| !alternative.pick.on_disk);
    Recommendation {
        pick: Some(pick),
        why,
        alternatives,
        rejected,
    }
}

/// One mix of each model, the better one, which comes first; and whatever is on the disk.
fn best_variants<'a>(entries: Vec<Entry<'a>>, rejected: &mut Vec<Rejected>) -> Vec<Entry<'a>> {
    let mut kept: Vec<Entry> = Vec::new();
    for entry in entries {
        let better = kept.iter().find(|other| other.model.id == entry.model.id);
        match better.map(|other| other.pick.quant.clone()) {
            Some(quant) if !entry.pick.on_disk => {
                rejected.push(entry.rejected(Why::OtherVariant { quant }));
            }
            Some(_) | None => kept.push(entry),
        }
    }
    kept
}

/// Why this one.
fn reasons(chosen: &Entry) -> Vec<Why> {
    let rank = chosen.model.quality.rank;
    let seconds = chosen.turn_seconds;
    let quick = chosen.too_slow().is_none();
    let mut why = if quick {
        vec![Why::BestQuality { rank }]
    } else {
        vec![Why::NothingIsQuick { seconds }]
    };
    if chosen.pick.plan.verdict == Verdict::Spills && !chosen.pick.plan.memory.devices.is_empty() && quick {
        let limit = TURN_SECONDS_MOST;
        why.push(Why::SpillAdmitted { seconds, limit });
    }
    why.push(Why::TurnTime { seconds });
    why.push(Why::StartTime {
        tokens: START_TOKENS,
        seconds: chosen.start_seconds,
    });
    if kept_quality(&chosen.pick.plan) < 1.0 {
        let quant = chosen.pick.quant.clone();
        why.push(Why::FewBits { quant });
    }
    if chosen.pick.on_disk {
        why.push(Why::AlreadyHere);
    }
    if !quick || rank < CLOUD_BELOW_RANK {
        why.push(Why::CloudIsBetter { rank });
    }
    why
}

/// A reason that tells a time, which nobody hears when it rests on an assumption.
const fn is_time(why: &Why) -> bool {
    matches!(
        why,
        Why::TurnTime { .. } | Why::StartTime { .. } | Why::SpillAdmitted { .. } | Why::NothingIsQuick { .. }
    )
}

/// Takes back the speed of a plan that rests on an assumption.
fn tell(situation: &Situation, mut pick: Pick) -> Pick {
    let memory_known = situation.machine.memory.bandwidth.is_some();
    let on_host = pick.plan.memory.devices.is_empty() || pick.plan.verdict == Verdict::Spills;
    let unknown_device = |id: &str| {
        let device = situation.machine.device(id);
        device.is_some_and(|device| device.bandwidth.is_none() && table(situation, &device.name).is_none())
    };
    let unknown: Option<String> = if on_host && !memory_known {
        Some("memory".to_owned())
    } else {
        pick.plan
            .memory
            .devices
            .iter()
            .map(|device| device.id.clone())
            .find(|id| unknown_device(id))
    };
    if let Some(part) = unknown {
        pick.plan.speed = None;
        pick.plan
            .why
            .retain(|why| !matches!(why, Why::BatchChosen { .. }));
        pick.plan.why.push(Why::BandwidthUnknown { part });
    }
    pick
}

fn table(situation: &Situation, name: &str) -> Option<BytesPerSecond> {
    situation
        .catalog?
        .bandwidth
        .find(name)
        .map(|row| row.bytes_per_second)
}

/// The same machine with cautious bandwidths where none are known, so that models can be compared at all.
pub(crate) fn assume_bandwidths(situation: &Situation) -> plimsoll_hardware::Machine {
    let mut machine = situation.machine.clone();
    let assumed = |value| {
        Some(plimsoll_hardware::Sourced {
            value,
            source: "assumed".to_owned(),
        })
    };
    if machine.memory.bandwidth.is_none() {
        machine.memory.bandwidth = assumed(HOST_BANDWIDTH_ASSUMED);
    }
    for device in &mut machine.devices {
        if device.bandwidth.is_none() && table(situation, &device.name).is_none() {
            device.bandwidth = assumed(DEVICE_BANDWIDTH_ASSUMED);
        }
    }
    machine
}

fn nothing(rejected: Vec<Rejected>) -> Recommendation {
    let smallest = rejected.iter().filter_map(|one| {
        if let Why::TooBig { needed, budget } = one.why {
            Some((needed, budget))
        } else {
            None
        }
    });
    let mut why: Vec<Why> = smallest
        .min_by_key(|(needed, _)| *needed)
        .map(|(smallest, budget)| Why::NothingFits { smallest, budget })
        .into_iter()
        .collect();
    why.push(Why::CloudIsBetter { rank: 0 });
    Recommendation {
        pick: None,
        why,
        alternatives: Vec::new(),
        rejected,
    }
}
