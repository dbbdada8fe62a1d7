//! The account and the archive as the wire tells them.

use plimsoll_agent::Row;
use plimsoll_agent::context::{NoCut, SizeClass};
use plimsoll_store::{Compaction, Opened};
use plimsoll_wire::{
    Archive, ArchiveRow, CompactionLine, CompactionMode, ContextReading, ContextView, Cost, CostBy,
    CutPreview, ReadingKind, ReplayRowKind, TurnStats,
};

use super::live::Live;
use super::names;
use super::rows::{Active, KeptCompaction, Named, assemble, is_summary, words};

/// Of what stays, so many characters are shown.
const PREVIEW_CHARS: usize = 200;
const FOUND_MAX: usize = 100;

pub(crate) fn view(live: &mut Live, opened: &Opened, all: &[Compaction]) -> ContextView {
    let look = live.look();
    let image_price = SizeClass::ALL
        .into_iter()
        .filter_map(|class| live.rates().learned_image(class))
        .max()
        .map(|tokens| tokens.0);
    let (cost, turn_cost) = costs(opened);
    ContextView {
        conversation: opened.conversation.id.clone(),
        reading: look.as_ref().map_or_else(unknown, |look| look.reading.clone()),
        window: look.as_ref().and_then(|look| look.window),
        threshold: look.as_ref().and_then(|look| look.threshold),
        mode: live.mode,
        compacting: live.is_compacting() && live.pending.is_none(),
        pending: live.pending.is_some(),
        decision: live.decision.clone(),
        cost,
        turn_cost,
        image_price,
        compactions: lines(&super::named_rows(&opened.messages), all),
    }
}

/// While somebody else has the account.
pub(crate) fn busy(conversation: &str, opened: &Opened, all: &[Compaction]) -> ContextView {
    let (cost, turn_cost) = costs(opened);
    ContextView {
        conversation: conversation.to_owned(),
        reading: unknown(),
        window: None,
        threshold: None,
        mode: CompactionMode::default(),
        compacting: true,
        pending: false,
        decision: None,
        cost,
        turn_cost,
        image_price: None,
        compactions: lines(&super::named_rows(&opened.messages), all),
    }
}

fn unknown() -> ContextReading {
    ContextReading {
        kind: ReadingKind::Unknown,
        tokens: None,
        error: None,
        typical: None,
        high: None,
        age_s: None,
    }
}

/// Of all answers, and of the last. Unknown of one is unknown of all: a sum without it would be too low.
fn costs(opened: &Opened) -> (Option<Cost>, Option<Cost>) {
    let stats: Vec<TurnStats> = opened
        .messages
        .iter()
        .filter_map(|message| serde_json::from_value(message.stats.clone()?).ok())
        .collect();
    let of_cloud: Vec<&TurnStats> = stats.iter().filter(|stats| stats.route != "local").collect();
    let sum = of_cloud.iter().try_fold(None, |sum: Option<Cost>, stats| {
        let cost = stats.cost?;
        Some(Some(match sum {
            None => cost,
            Some(sum) => Cost {
                dollars: sum.dollars + cost.dollars,
                by: if sum.by == cost.by { sum.by } else { CostBy::Prices },
            },
        }))
    });
    (sum.flatten(), stats.last().and_then(|stats| stats.cost))
}

fn holding(all: &[Compaction]) -> Vec<(Active, i64)> {
    all.iter()
        .filter(|one| one.undone_at.is_none())
        .filter_map(|one| {
            let kept: KeptCompaction = serde_json::from_str(&one.body).ok()?;
            Some((
                Active {
                    id: one.id.clone(),
                    kept,
                },
                one.made_at,
            ))
        })
        .collect()
}

/// The rows that a compaction stands for, with those of the ones that it has taken up.
fn sources(active: &[Active], of: &Active, out: &mut Vec<String>) {
    for source in &of.kept.sources {
        match source.strip_prefix("s:") {
            Some(earlier) => {
                if let Some(earlier) = active.iter().find(|one| one.id == earlier && one.id != of.id) {
                    sources(active, earlier, out);
                }
            }
            None => out.push(source.clone()),
        }
    }
}

fn lines(rows: &[Named], all: &[Compaction]) -> Vec<CompactionLine> {
    let holding = holding(all);
    let active: Vec<Active> = holding.iter().map(|(active, _)| active.clone()).collect();
    holding
        .iter()
        .map(|(one, made_at)| {
            let mut of = Vec::new();
            sources(&active, one, &mut of);
            let noted = one.kept.notes.iter().map(|note| &note.row);
            let here = |id: &&String| rows.iter().any(|row| row.id == **id);
            let last = rows
                .iter()
                .rfind(|row| of.contains(&row.id) || one.kept.notes.iter().any(|note| note.row == row.id));
            let whole = of
                .iter()
                .chain(noted)
                .filter(|id| !is_summary(id))
                .all(|id| here(&id));
            let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
            CompactionLine {
                id: one.id.clone(),
                made_at: *made_at,
                rows: count(of.len()),
                notes: count(one.kept.notes.len()),
                after: last.filter(|_| whole).map(|row| message_of(&row.id).to_owned()),
                summary: one.kept.summary.clone(),
                before_tokens: names::small(one.kept.before),
                after_tokens: names::small(one.kept.after),
                by: one.kept.by.clone(),
                forked: one.kept.forked,
            }
        })
        .collect()
}

fn message_of(row: &str) -> &str {
    row.split_once('/').map_or(row, |(message, _)| message)
}

fn archive_row(named: &Named, sent: &[Named], chars: usize) -> ArchiveRow {
    let text = words(&named.row);
    ArchiveRow {
        kind: match &named.row {
            Row::User(_) if is_summary(&named.id) => ReplayRowKind::Summary,
            Row::User(_) => ReplayRowKind::User,
            Row::Assistant(_) => ReplayRowKind::Answer,
            Row::Results(_) => ReplayRowKind::Results,
        },
        archived: !sent.iter().any(|one| one == named),
        text: text.chars().take(chars).collect(),
        id: named.id.clone(),
    }
}

/// What a compaction stands for, word for word.
pub(crate) fn expand(rows: &[Named], all: &[Compaction], id: &str) -> Option<Archive> {
    let active: Vec<Active> = holding(all).into_iter().map(|(active, _)| active).collect();
    let one = active.iter().find(|one| one.id == id)?;
    let mut of = Vec::new();
    sources(&active, one, &mut of);
    of.extend(one.kept.notes.iter().map(|note| note.row.clone()));
    let sent = assemble(rows, &active);
    Some(Archive {
        rows: rows
            .iter()
            .filter(|row| of.contains(&row.id))
            .map(|row| archive_row(row, &sent, usize::MAX))
            .collect(),
    })
}

/// Rows that hold all of the words, whatever stands for them now.
pub(crate) fn search(rows: &[Named], all: &[Compaction], wanted: &str) -> Archive {
    let active: Vec<Active> = holding(all).into_iter().map(|(active, _)| active).collect();
    let sent = assemble(rows, &active);
    let wanted: Vec<String> = wanted.split_whitespace().map(str::to_lowercase).collect();
    let holds = |row: &&Named| {
        let text = words(&row.row).to_lowercase();
        !wanted.is_empty() && wanted.iter().all(|word| text.contains(word))
    };
    Archive {
        rows: rows
            .iter()
            .filter(holds)
            .take(FOUND_MAX)
            .map(|row| archive_row(row, &sent, usize::MAX))
            .collect(),
    }
}

/// What would be cut and what would stay.
pub(crate) fn preview(live: &Live) -> CutPreview {
    let sent = live.sent_rows();
    let (plan, why) = match live.would_cut() {
        Some(Ok(plan)) => (Some(names::plan(&plan)), None),
        Some(Err(NoCut::Nothing)) => (None, Some("nothingToCut")),
        Some(Err(NoCut::TooLarge { .. })) => (None, Some("messageTooLarge")),
        None => (None, Some("windowUnknown")),
    };
    let stays = |row: &&Named| plan.as_ref().is_none_or(|plan| plan.keep.contains(&row.id));
    CutPreview {
        keep: sent
            .iter()
            .filter(stays)
            .map(|row| archive_row(row, &sent, PREVIEW_CHARS))
            .collect(),
        plan,
        why: why.map(str::to_owned),
    }
}
