//! What is known of a conversation's context, and what was decided about it.

use plimsoll_wire::{
    Archive, ArchiveRow, CompactionDone, ContextReading, ContextView, CutPreview, GateDecision, ReplayLine,
    ReplayReport,
};

use crate::lang::{Lang, clean, params};
use crate::out::{BAD, Out, QUIET, STRONG, styled};

/// The name of a code, as the wire writes it.
fn code<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(_) | Err(_) => String::new(),
    }
}

fn word(lang: &Lang, area: &str, code: &str) -> String {
    lang.code(area, code, &params! {})
}

/// `58,014 ± 4 (counted, and what came after)`.
pub(crate) fn reading(out: &Out, reading: &ContextReading) -> String {
    let kind = word(&out.lang, "readingKind", &code(&reading.kind));
    let Some(tokens) = reading.tokens else {
        return kind;
    };
    let count = |tokens: u32| out.lang.count(tokens.into());
    let error = reading
        .error
        .filter(|error| *error > 0)
        .map_or_else(String::new, |error| format!(" ± {}", count(error)));
    format!("{}{error} ({kind})", count(tokens))
}

/// What a gate decided, and why, in one line.
pub(crate) fn decision(out: &Out, decision: &GateDecision) -> String {
    let moment = word(&out.lang, "gateMoment", &code(&decision.moment));
    let verdict = word(&out.lang, "gateVerdict", &code(&decision.verdict));
    let reason = word(&out.lang, "gateReason", &code(&decision.reason));
    let row = decision
        .row
        .as_deref()
        .map_or_else(String::new, |row| format!(" [{}]", clean(row)));
    format!("{moment}: {verdict} – {reason}{row}")
}

pub(crate) fn replay(out: &Out, report: &ReplayReport) -> String {
    let mut lines = Vec::new();
    if !report.about.is_empty() {
        lines.push(styled(STRONG, &clean(&report.about)));
    }
    for line in &report.lines {
        lines.push(one(out, line));
        lines.extend(line.wrong.iter().map(|wrong| {
            let text = out.say("replay.wrong", &params! { wrong = clean(wrong) });
            styled(BAD, &format!("      {text}"))
        }));
    }
    let steps = u64::try_from(report.lines.len()).unwrap_or(u64::MAX);
    lines.push(if report.wrong == 0 {
        styled(QUIET, &out.say("replay.right", &params! { steps = steps }))
    } else {
        styled(
            BAD,
            &out.say(
                "replay.wrongs",
                &params! { steps = steps, wrong = u64::from(report.wrong) },
            ),
        )
    });
    lines.join("\n")
}

fn one(out: &Out, line: &ReplayLine) -> String {
    let mut text = format!(
        "{:>4}  {:<12}  {}",
        line.step,
        line.does,
        reading(out, &line.reading)
    );
    let mut add = |more: String| {
        text.push_str("  ");
        text.push_str(&more);
    };
    if let Some(gate) = &line.decision {
        add(decision(out, gate));
    }
    if let Some(heard) = &line.heard {
        if let Some(tokens) = heard.predicted {
            add(out.say("replay.predicted", &params! { tokens = u64::from(tokens) }));
        }
        if let Some(tokens) = heard.image {
            add(out.say("replay.image", &params! { tokens = u64::from(tokens) }));
        }
        if let Some(why) = &heard.refused {
            add(out.say("replay.refused", &params! { why = clean(why) }));
        }
    }
    if let Some(plan) = &line.plan {
        add(cut(out, plan));
    }
    if let Some(floor) = &line.floor {
        let mut values = params! { tokens = u64::from(floor.floor) };
        if !floor.leave_out.is_empty() {
            values.extend(params! { tools = clean(&floor.leave_out.join(" ")) });
        }
        add(out.say(
            if floor.fits {
                "replay.floorFits"
            } else {
                "replay.floorTooHigh"
            },
            &values,
        ));
    }
    if let Some(why) = &line.lost {
        add(out.say("replay.lost", &params! { why = clean(why) }));
    }
    if line.began == Some(false) {
        add(out.lang.text("replay.busy").to_owned());
    }
    text
}

/// What would be cut.
pub(crate) fn cut(out: &Out, plan: &plimsoll_wire::CutPlan) -> String {
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    out.say(
        "replay.plan",
        &params! {
            rows = count(plan.summarise.len()), notes = count(plan.notes.len()),
            before = u64::from(plan.before), after = u64::from(plan.after)
        },
    )
}

/// The meter, and what was done.
pub(crate) fn context(out: &Out, view: &ContextView) -> String {
    let window = view.window.map_or_else(String::new, |window| {
        out.say("context.ofWindow", &params! { window = u64::from(window) })
    });
    let mut lines = vec![styled(
        STRONG,
        &format!("{}{window}", reading(out, &view.reading)),
    )];
    if let Some(threshold) = view.threshold {
        lines.push(out.say("context.threshold", &params! { tokens = u64::from(threshold) }));
    }
    lines.push(word(&out.lang, "contextMode", &code(&view.mode)));
    if let Some(gate) = &view.decision {
        lines.push(decision(out, gate));
    }
    if let Some(tokens) = view.image_price {
        lines.push(out.say("replay.image", &params! { tokens = u64::from(tokens) }));
    }
    if let Some(cost) = view.cost {
        lines.push(out.say("context.cost", &params! { dollars = cost.dollars }));
    }
    for line in &view.compactions {
        lines.push(out.say(
            "context.line",
            &params! {
                id = clean(&line.id), rows = u64::from(line.rows), notes = u64::from(line.notes),
                before = u64::from(line.before_tokens), after = u64::from(line.after_tokens)
            },
        ));
    }
    lines.join("\n")
}

pub(crate) fn compacted(out: &Out, done: &CompactionDone) -> String {
    let outcome = word(&out.lang, "compactionOutcome", &code(&done.outcome));
    format!("{outcome}\n{}", context(out, &done.context))
}

pub(crate) fn preview(out: &Out, preview: &CutPreview) -> String {
    let mut lines = Vec::new();
    match &preview.plan {
        Some(plan) => lines.push(cut(out, plan)),
        None => lines.push(word(
            &out.lang,
            "gateReason",
            preview.why.as_deref().unwrap_or("nothingKnown"),
        )),
    }
    lines.extend(preview.keep.iter().map(|row| archive_row(out, row)));
    lines.join("\n")
}

pub(crate) fn archive(out: &Out, archive: &Archive) -> String {
    if archive.rows.is_empty() {
        return out.lang.text("context.notFound").to_owned();
    }
    let rows: Vec<String> = archive.rows.iter().map(|row| archive_row(out, row)).collect();
    rows.join("\n\n")
}

fn archive_row(out: &Out, row: &ArchiveRow) -> String {
    let kind = word(&out.lang, "rowKind", &code(&row.kind));
    format!(
        "{}\n{}",
        styled(QUIET, &format!("{kind} {}", clean(&row.id))),
        clean(&row.text)
    )
}
