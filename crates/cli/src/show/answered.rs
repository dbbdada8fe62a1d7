use plimsoll_wire::{Answered, Proof, TurnStats};

use super::{machine_line, plan_line};
use crate::lang::{clean, params};
use crate::out::{Out, QUIET, STRONG, styled};

/// What `ask --check` saw, one thing a line.
pub(crate) fn answered(out: &Out, seen: &Answered) -> String {
    let head = |key: &str| styled(STRONG, out.lang.text(key));
    let mut lines = vec![
        format!("{} {}", head("check.machine"), machine_line(out, &seen.machine)),
        format!("{} {}", head("check.plan"), plan_line(out, &seen.plan)),
        format!("{} {}", head("check.question"), clean(&seen.question)),
        format!("{} {}", head("check.answer"), clean(seen.answer.trim())),
    ];
    if let Some(found) = &seen.stats {
        lines.push(format!("{} {}", head("check.speed"), stats(out, found)));
    }
    if let Some(proof) = &seen.proof {
        lines.push(format!("{} {}", head("check.memory"), memory(out, proof)));
        lines.push(parts(out, proof));
        lines.extend(pools(out, proof));
        lines.extend(proof.findings.iter().map(|finding| {
            format!(
                "{} {}",
                head("check.found"),
                out.lang.code("reason", &finding.code, &finding.params)
            )
        }));
    }
    lines.join("\n")
}

/// What an answer took; what was not measured is not said.
pub(crate) fn stats(out: &Out, stats: &TurnStats) -> String {
    let number = |n: f64| out.lang.number(n);
    let said = [
        stats
            .decode_tps
            .map(|tps| out.say("stats.tps", &params! { tps = number(tps) })),
        stats.first_token_ms.map(|ms| {
            out.say(
                "stats.firstToken",
                &params! { time = out.lang.seconds(ms / 1000.0) },
            )
        }),
        stats
            .completion_tokens
            .map(|tokens| out.say("stats.written", &params! { tokens = u64::from(tokens) })),
        stats.prompt_tokens.map(|tokens| {
            let read = u64::from(tokens);
            match stats.window {
                Some(window) => out.say(
                    "stats.readOf",
                    &params! { tokens = read, window = u64::from(window) },
                ),
                None => out.say("stats.read", &params! { tokens = read }),
            }
        }),
        // Most answers cost less than a cent.
        stats.cost.map(|cost| {
            out.say(
                "stats.cost",
                &params! { dollars = format!("{:.6}", cost.dollars) },
            )
        }),
    ];
    said.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn memory(out: &Out, proof: &Proof) -> String {
    let (planned, used) = (proof.planned_bytes, proof.resident_bytes);
    let params = params! { planned = planned, used = used, apart = planned.abs_diff(used) };
    out.say(
        if used > planned {
            "check.usedMore"
        } else {
            "check.usedLess"
        },
        &params,
    )
}

/// Where the engine says that it is.
fn pools(out: &Out, proof: &Proof) -> Option<String> {
    let mut rows: Vec<(String, String)> = proof
        .pools
        .iter()
        .map(|pool| {
            let holds = pool.weights_bytes + pool.context_bytes + pool.compute_bytes;
            let said = match pool.planned_bytes {
                Some(planned) => out.say("check.reported", &params! { planned = planned, bytes = holds }),
                None => out.lang.bytes(holds),
            };
            (format!("  {}", clean(&pool.name)), said)
        })
        .collect();
    if let Some(layers) = proof.layers {
        let said = params! { on = u64::from(layers.on_devices), all = u64::from(layers.all) };
        rows.push((
            format!("  {}", out.lang.text("check.layers")),
            out.say("check.layersOf", &said),
        ));
    }
    (!rows.is_empty()).then(|| styled(QUIET, &out.pairs(&rows)))
}

fn parts(out: &Out, proof: &Proof) -> String {
    let rows = proof.parts.iter().map(|part| {
        let said = match part.reported_bytes {
            Some(bytes) => out.say(
                "check.reported",
                &params! { planned = part.planned_bytes, bytes = bytes },
            ),
            None => out.say("check.planned", &params! { bytes = part.planned_bytes }),
        };
        (
            format!("  {}", out.lang.code("part", &part.code, &params! {})),
            said,
        )
    });
    styled(QUIET, &out.pairs(&rows.collect::<Vec<_>>()))
}
