//! What to run on a machine: the best model of the catalog that answers in acceptable time.

use plimsoll_catalog::{Ability, Catalog, Model, Variant};
use plimsoll_units::{Bytes, BytesPerSecond};

use crate::plan::{Plan, Verdict};
use crate::{Shape, Situation, Why, Wishes, plan};

/// A turn as an assistant has it: instructions and a question, and a paragraph of answer.
const PROMPT_TOKENS: u32 = 1_024;
const ANSWER_TOKENS: u32 = 256;
/// What a model that thinks writes before it answers.
const THINKING_TOKENS: u32 = 256;
/// Longer than this for a turn is no conversation.
const TURN_SECONDS_MOST: f64 = 60.0;
/// A turn of this length halves what the quality of an answer is worth.
const TURN_SECONDS_HALF: f64 = 60.0;
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

struct Entry<'a> {
    model: &'a Model,
    pick: Pick,
    turn_seconds: f64,
}

impl Entry<'_> {
    /// Quality, less what few bits and waiting take from it.
    fn worth(&self) -> f64 {
        f64::from(self.model.quality.rank) * kept_quality(&self.pick.plan)
            / (1.0 + self.turn_seconds / TURN_SECONDS_HALF)
    }
}

/// What a mix of few bits leaves of a model's quality. Ours, editorial: at four bits and a little more the loss is
/// hard to notice, at three it shows, at two it is plain.
fn kept_quality(plan: &Plan) -> f64 {
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
            let shape = Shape::from_catalog(model, variant);
            // The wishes are empty, which no check refuses.
            let Ok(plan) = plan(&shape, &assumed, &Wishes::default()) else {
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

fn entry<'a>(
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
    let answer = ANSWER_TOKENS + thinking;
    let turn_seconds = plan
        .speed
        .as_ref()
        .map_or(f64::INFINITY, |speed| speed.turn_seconds(PROMPT_TOKENS, answer));
    let pick = Pick {
        model: model.id.clone(),
        quant: variant.quant.clone(),
        name: model.name.clone(),
        download: variant.bytes(),
        on_disk: on_disk(&model.id, &variant.quant),
        plan,
    };
    Entry {
        model,
        pick,
        turn_seconds,
    }
}

/// Why a plan is no choice at all.
fn judge(plan: &Plan, shape: &Shape) -> Option<Why> {
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
        // Whatever answers in time comes first; among those the worth decides, among the others the time.
        let slow = |entry: &Entry| entry.turn_seconds > TURN_SECONDS_MOST;
        slow(a).cmp(&slow(b)).then_with(|| {
            if slow(a) {
                a.turn_seconds.total_cmp(&b.turn_seconds)
            } else {
                b.worth().total_cmp(&a.worth())
            }
        })
    });
    // One mix of each model: the better one comes first.
    let mut seen: Vec<&str> = Vec::new();
    entries.retain(|entry| {
        let new = !seen.contains(&entry.model.id.as_str());
        seen.push(&entry.model.id);
        new || entry.pick.on_disk
    });
    let mut entries = entries.into_iter();
    let Some(chosen) = entries.next() else {
        return nothing(rejected);
    };
    let rank = chosen.model.quality.rank;
    let mut why = if chosen.turn_seconds > TURN_SECONDS_MOST {
        vec![Why::NothingIsQuick {
            seconds: chosen.turn_seconds,
        }]
    } else {
        vec![Why::BestQuality { rank }]
    };
    let size = chosen.pick.download;
    let pick = tell(situation, chosen.pick);
    if pick.plan.speed.is_some() {
        why.push(Why::TurnTime {
            seconds: chosen.turn_seconds,
        });
    }
    if pick.on_disk {
        why.push(Why::AlreadyHere);
    }
    let mut alternatives = Vec::new();
    for entry in entries {
        if entry.turn_seconds > TURN_SECONDS_MOST && !entry.pick.on_disk {
            rejected.push(Rejected {
                model: entry.pick.model,
                quant: entry.pick.quant,
                name: entry.pick.name,
                why: Why::TooSlow {
                    seconds: entry.turn_seconds,
                    limit: TURN_SECONDS_MOST,
                },
            });
            continue;
        }
        let mut why = Vec::new();
        if entry.pick.on_disk {
            why.push(Why::AlreadyHere);
        }
        if entry.model.quality.rank > rank {
            why.push(Why::SmarterSlower {
                seconds: entry.turn_seconds,
            });
        } else if entry.turn_seconds < chosen.turn_seconds * 0.8 {
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
    alternatives.truncate(ALTERNATIVES_MOST);
    Recommendation {
        pick: Some(pick),
        why,
        alternatives,
        rejected,
    }
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
fn assume_bandwidths(situation: &Situation) -> plimsoll_hardware::Machine {
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
    let why = smallest
        .min_by_key(|(needed, _)| *needed)
        .map(|(smallest, budget)| Why::NothingFits { smallest, budget })
        .into_iter()
        .collect();
    Recommendation {
        pick: None,
        why,
        alternatives: Vec::new(),
        rejected,
    }
}
