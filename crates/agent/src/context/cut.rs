use std::collections::BTreeSet;

use plimsoll_units::Tokens;
use serde::{Deserialize, Serialize};

use super::{Digest, Rates, RowFacts, RowKind, SizeClass, Thoughts, Weight};

/// A result that is longer than this is shortened when it is old.
const OLD_RESULT_BYTES: u64 = 2_000;
/// What is left of it.
const SHORT_RESULT_BYTES: u64 = 800;
/// Shorter results are not worth a note that says they are the same.
const SAME_RESULT_BYTES: u64 = 200;
/// Tokens of what stands where something was cut.
const NOTE_BYTES: u64 = 120;
/// Results with the newest images keep them.
const IMAGES_KEPT: u32 = 2;

/// What a cut has to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutLimits {
    /// Tokens of instructions and tools.
    pub head: u64,
    pub window: Tokens,
    pub threshold: Tokens,
    pub reserve: Tokens,
    pub thoughts: Thoughts,
}

impl CutLimits {
    /// What stays at the end, word for word.
    fn tail(self) -> u64 {
        u64::from(self.threshold.0).saturating_sub(self.head) / 4
    }

    /// What a summary may take.
    #[must_use]
    pub fn summary(self) -> Tokens {
        Tokens((self.threshold.0 / 6).clamp(128, 4_096))
    }

    /// Where pruning alone is enough.
    fn pruned_enough(self) -> u64 {
        u64::from(self.threshold.0) / 10 * 7
    }

    fn room(self) -> u64 {
        u64::from(self.window.0.saturating_sub(self.reserve.0))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PruneKind {
    /// The same result comes again later.
    Same,
    /// Only the beginning and the end stay.
    Short,
    /// A note instead of the image.
    Image,
}

/// Something of a row that is replaced by a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prune {
    pub row: String,
    /// Of a result, its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    pub kind: PruneKind,
    /// Bytes that stay.
    pub keep_bytes: u64,
}

/// What would be cut, in the order in which it is done: notes first, then a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CutPlan {
    pub prunes: Vec<Prune>,
    /// Rows that a summary stands for from then on; empty where pruning is enough.
    pub summarise: Vec<String>,
    /// Rows that stay word for word.
    pub keep: Vec<String>,
    /// Tokens of the whole request, estimated.
    pub before: u64,
    pub after: u64,
    /// Of the rows that stay, without instructions, tools and summary.
    pub tail: u64,
    /// Of the summary, at most; 0 where there is none.
    pub summary: u64,
    /// Also the newest results had to be shortened.
    pub squeezed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCut {
    #[error("nothing can be cut")]
    Nothing,
    /// The last message of the person does not fit, whatever is cut.
    #[error("the row {row} alone is larger than the window")]
    TooLarge { row: String, tokens: u64 },
}

/// Rows that are never parted: a message, an answer, or an answer with its calls and their results.
struct Unit {
    rows: std::ops::Range<usize>,
    cost: u64,
}

/// Says what to cut so that the conversation fits again. Kept are the last question, whole tool groups, a tail
/// by its tokens and the newest images; notes come first, a summary only where they are not enough.
pub fn plan_cut(rows: &[RowFacts], rates: &Rates, limits: CutLimits) -> Result<CutPlan, NoCut> {
    let question = rows.iter().rposition(|row| row.kind == RowKind::User);
    let weight_of = |n: usize, row: &RowFacts| {
        let mut weight = row.weight;
        let goes_back = match limits.thoughts {
            Thoughts::Never => false,
            Thoughts::InTurn => question.is_none_or(|question| n > question),
            Thoughts::Always => true,
        };
        if !goes_back {
            weight.thought_bytes = 0;
        }
        weight
    };
    let mut weights: Vec<Weight> = rows
        .iter()
        .enumerate()
        .map(|(n, row)| weight_of(n, row))
        .collect();
    let total = |weights: &[Weight]| weights.iter().map(|weight| rates.estimate(*weight)).sum::<u64>();
    let before = limits.head + total(&weights);
    let units = units(rows, &weights, rates);
    let tail_from = tail_start(&units, limits.tail());
    let is_kept = |n: usize| n >= tail_from || Some(n) == question;

    let mut plan = CutPlan {
        before,
        ..CutPlan::default()
    };
    prune_old(rows, &mut weights, tail_from, &mut plan.prunes);
    let pruned = limits.head + total(&weights);
    if !plan.prunes.is_empty() && pruned <= limits.pruned_enough() && pruned < before {
        plan.keep = rows.iter().map(|row| row.id.clone()).collect();
        plan.after = pruned;
        plan.tail = pruned - limits.head;
        return Ok(plan);
    }

    let sources: Vec<usize> = (0..rows.len()).filter(|n| !is_kept(*n)).collect();
    let summarised: u64 = sources.iter().map(|n| rates.estimate(weights[*n])).sum();
    let summary = u64::from(limits.summary().0);
    // A summary of a summary alone would only lose words.
    let fresh = sources.iter().any(|n| rows[*n].kind != RowKind::Summary);
    let with_summary = fresh && summarised > summary;
    if with_summary {
        plan.summarise = sources.iter().map(|n| rows[*n].id.clone()).collect();
        // Notes in rows that leave anyway are no work.
        let gone: BTreeSet<&str> = plan.summarise.iter().map(String::as_str).collect();
        plan.prunes.retain(|prune| !gone.contains(prune.row.as_str()));
    }
    let kept: Vec<usize> = (0..rows.len()).filter(|n| !with_summary || is_kept(*n)).collect();
    plan.summary = if with_summary { summary } else { 0 };
    let fixed = limits.head + plan.summary;
    let mut tail: u64 = kept.iter().map(|n| rates.estimate(weights[*n])).sum();
    if fixed + tail > limits.room() {
        let over = fixed + tail - limits.room();
        squeeze(rows, &mut weights, &kept, rates, over, &mut plan);
        tail = kept.iter().map(|n| rates.estimate(weights[*n])).sum();
    }
    if let Some(question) = question
        && limits.head + rates.estimate(weights[question]) > limits.room()
    {
        return Err(NoCut::TooLarge {
            row: rows[question].id.clone(),
            tokens: rates.estimate(weights[question]),
        });
    }
    plan.keep = kept.iter().map(|n| rows[*n].id.clone()).collect();
    plan.tail = tail;
    plan.after = fixed + tail;
    if plan.prunes.is_empty() && plan.summarise.is_empty() || plan.after >= before {
        return Err(NoCut::Nothing);
    }
    Ok(plan)
}

fn units(rows: &[RowFacts], weights: &[Weight], rates: &Rates) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for (n, (row, weight)) in rows.iter().zip(weights).enumerate() {
        let cost = rates.estimate(*weight);
        let joins = row.kind == RowKind::Results && n > 0 && rows[n - 1].calls > 0;
        match units.last_mut() {
            Some(last) if joins => {
                last.rows.end = n + 1;
                last.cost += cost;
            }
            Some(_) | None => units.push(Unit { rows: n..n + 1, cost }),
        }
    }
    units
}

/// The first row of what stays. The last unit always does.
fn tail_start(units: &[Unit], budget: u64) -> usize {
    let mut sum = 0;
    let mut from = units.last().map_or(0, |last| last.rows.start);
    for (n, unit) in units.iter().rev().enumerate() {
        sum += unit.cost;
        if n > 0 && sum > budget {
            break;
        }
        from = unit.rows.start;
    }
    from
}

fn prune_old(rows: &[RowFacts], weights: &mut [Weight], tail_from: usize, prunes: &mut Vec<Prune>) {
    let mut later: BTreeSet<Digest> = BTreeSet::new();
    let mut images = 0;
    for n in (0..rows.len()).rev() {
        let (row, old) = (&rows[n], n < tail_from);
        for result in row.results.iter().rev() {
            let again = !later.insert(result.digest);
            if !old {
                continue;
            }
            let (kind, keep) = if again && result.bytes >= SAME_RESULT_BYTES {
                (PruneKind::Same, NOTE_BYTES)
            } else if result.bytes > OLD_RESULT_BYTES {
                (PruneKind::Short, SHORT_RESULT_BYTES)
            } else {
                continue;
            };
            shorten(&mut weights[n], result.bytes, keep);
            prunes.push(Prune {
                row: row.id.clone(),
                call: Some(result.call.clone()),
                kind,
                keep_bytes: keep,
            });
        }
        let count = row.weight.images.total();
        if count == 0 {
            continue;
        }
        images += count;
        if old && images > IMAGES_KEPT {
            drop_images(&mut weights[n], &row.id, prunes);
        }
    }
    prunes.reverse();
}

fn shorten(weight: &mut Weight, bytes: u64, keep: u64) {
    weight.text_bytes = weight.text_bytes.saturating_sub(bytes).saturating_add(keep);
}

fn drop_images(weight: &mut Weight, row: &str, prunes: &mut Vec<Prune>) {
    let count: u32 = SizeClass::ALL.iter().map(|class| weight.images.of(*class)).sum();
    weight.images = super::Images::default();
    weight.text_bytes += u64::from(count) * NOTE_BYTES;
    prunes.push(Prune {
        row: row.to_owned(),
        call: None,
        kind: PruneKind::Image,
        keep_bytes: 0,
    });
}

/// What has to stay is still too long: the longest results give way, the newest too, then the images.
fn squeeze(
    rows: &[RowFacts],
    weights: &mut [Weight],
    kept: &[usize],
    rates: &Rates,
    over: u64,
    plan: &mut CutPlan,
) {
    let mut over = over;
    let mut long: Vec<(u64, usize, &str)> = kept
        .iter()
        .flat_map(|n| {
            rows[*n]
                .results
                .iter()
                .map(move |result| (result.bytes, *n, result.call.as_str()))
        })
        .filter(|(bytes, ..)| *bytes > OLD_RESULT_BYTES)
        .collect();
    long.sort_unstable_by(|one, two| two.cmp(one));
    for (bytes, n, call) in long {
        if over == 0 {
            return;
        }
        let done = plan
            .prunes
            .iter()
            .any(|prune| prune.row == rows[n].id && prune.call.as_deref() == Some(call));
        if done {
            continue;
        }
        // Only as much as has to go, and a third more for the estimate's sake.
        let excess = over.saturating_mul(1_000_000) / rates.per_byte().max(1);
        let keep = bytes
            .saturating_sub(excess / 3 * 4 + NOTE_BYTES)
            .max(SHORT_RESULT_BYTES);
        if keep >= bytes {
            continue;
        }
        over = over.saturating_sub(rates.text(bytes - keep));
        shorten(&mut weights[n], bytes, keep);
        plan.squeezed = true;
        plan.prunes.push(Prune {
            row: rows[n].id.clone(),
            call: Some(call.to_owned()),
            kind: PruneKind::Short,
            keep_bytes: keep,
        });
    }
    for n in kept {
        if over == 0 {
            return;
        }
        if weights[*n].images.total() > 0 {
            let with = rates.estimate(weights[*n]);
            drop_images(&mut weights[*n], &rows[*n].id, &mut plan.prunes);
            over = over.saturating_sub(with.saturating_sub(rates.estimate(weights[*n])));
            plan.squeezed = true;
        }
    }
}

#[cfg(test)]
mod tests;
