use plimsoll_wire::{MemoryNeed, OverheadPart, Pick, Plan, PlanSpeed, Recommendation, SpeedBasis, Verdict};

use super::{about, reasons};
use crate::gauge::{self, Layer, Load};
use crate::lang::{clean, params};
use crate::out::{Out, QUIET, STRONG, styled};

/// The plan in one line: verdict, context, memory, speed.
pub(crate) fn plan_line(out: &Out, plan: &Plan) -> String {
    let used = plan
        .memory
        .devices
        .iter()
        .map(|device| device.need.total_bytes)
        .sum::<u64>();
    let used = used.saturating_add(plan.memory.host.total_bytes);
    let params = params! {
        model = named(&plan.model.id, &plan.model.quant), verdict = verdict(out, plan.verdict),
        context = u64::from(plan.settings.context), used = used,
    };
    let mut line = out.say("plan.line", &params);
    if let Some(speed) = &plan.speed {
        line.push_str(", ");
        line.push_str(&tokens_a_second(out, speed));
    }
    line
}

pub(crate) fn plan(out: &Out, plan: &Plan) -> String {
    let mut lines = vec![
        styled(STRONG, &named(&plan.model.id, &plan.model.quant)),
        out.say(
            "plan.about",
            &params! {
                architecture = clean(&plan.model.architecture),
                parameters = plan.model.parameters,
                bytes = plan.model.file_bytes,
                trained = u64::from(plan.model.context_trained),
            },
        ),
        String::new(),
        format!("{} {}", verdict_is(out, plan.verdict), settings(out, plan)),
    ];
    lines.extend(reasons(out, "reason", &plan.why));
    lines.push(String::new());
    for device in &plan.memory.devices {
        lines.extend(pool(out, &clean(&device.id), &device.need));
    }
    lines.extend(pool(out, out.lang.text("plan.host"), &plan.memory.host));
    lines.push(out.say(
        "plan.range",
        &params! { low = plan.memory.low_bytes, high = plan.memory.high_bytes },
    ));
    lines.push(String::new());
    match &plan.speed {
        Some(speed) => lines.extend(speeds(out, speed)),
        None => lines.push(out.lang.text("plan.noSpeed").to_owned()),
    }
    lines.push(String::new());
    lines.push(styled(
        QUIET,
        &format!("llama-server {}", clean(&plan.settings.arguments.join(" "))),
    ));
    lines.join("\n")
}

/// An id of the library or catalog says its quantisation already.
fn named(id: &str, quant: &str) -> String {
    clean(&if id.ends_with(&format!(":{quant}")) {
        id.to_owned()
    } else {
        format!("{id} {quant}")
    })
}

fn verdict(out: &Out, verdict: Verdict) -> String {
    let key = match verdict {
        Verdict::Fits => "verdict.fits",
        Verdict::Spills => "verdict.spills",
        Verdict::TooBig => "verdict.tooBig",
    };
    out.lang.text(key).to_owned()
}

fn verdict_is(out: &Out, verdict: Verdict) -> &str {
    out.lang.text(match verdict {
        Verdict::Fits => "verdictIs.fits",
        Verdict::Spills => "verdictIs.spills",
        Verdict::TooBig => "verdictIs.tooBig",
    })
}

fn settings(out: &Out, plan: &Plan) -> String {
    let settings = &plan.settings;
    out.say(
        "plan.settings",
        &params! {
            context = u64::from(settings.context),
            slots = u64::from(settings.slots),
            kv = if settings.kv_type_k == settings.kv_type_v {
                settings.kv_type_k.clone()
            } else {
                format!("{}/{}", settings.kv_type_k, settings.kv_type_v)
            },
            layers = u64::from(settings.gpu_layers),
        },
    )
}

/// The part of the overhead that is weights once more: shown beside them, because it can be larger than they are.
const REARRANGED: &str = "repack";

/// A memory pool as a hull, with its text twin below.
fn pool(out: &Out, name: &str, need: &MemoryNeed) -> Vec<String> {
    if need.total_bytes == 0 && need.budget_bytes == 0 {
        return Vec::new();
    }
    let is_rearranged = |part: &&OverheadPart| part.code == REARRANGED;
    let (rearranged, beyond): (Vec<&OverheadPart>, Vec<&OverheadPart>) =
        need.overhead_parts.iter().partition(is_rearranged);
    let rearranged = rearranged
        .iter()
        .fold(0_u64, |sum, part| sum.saturating_add(part.bytes));
    let other = need
        .projector_bytes
        .saturating_add(need.overhead_bytes.saturating_sub(rearranged));
    let load = Load {
        layers: [
            need.weights_bytes,
            rearranged,
            need.context_bytes,
            need.compute_bytes,
            other,
        ],
        line: need.budget_bytes,
    };
    let params =
        params! { name = name, used = need.total_bytes, line = need.budget_bytes, over = load.over() };
    let key = if load.over() > 0 {
        "gauge.over"
    } else {
        "gauge.under"
    };
    let legend: Vec<String> = Layer::ALL
        .into_iter()
        .zip(load.layers)
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(layer, bytes)| {
            let name = out.lang.text(layer_key(layer));
            format!("{} {name} {}", layer.mark(out.charset), out.lang.bytes(bytes))
        })
        .collect();
    let mut parts = parts(out, beyond);
    if need.projector_bytes > 0 {
        let projector = out.lang.bytes(need.projector_bytes);
        parts.insert(0, format!("{} {projector}", out.lang.text("part.projector")));
    }
    let mut lines = vec![
        out.say(key, &params),
        gauge::row(&load, out.width().min(72), out.charset),
        styled(QUIET, &legend.join("  ")),
    ];
    if !parts.is_empty() {
        lines.push(styled(
            QUIET,
            &out.say("gauge.parts", &params! { parts = parts.join(", ") }),
        ));
    }
    lines.push(String::new());
    lines
}

const fn layer_key(layer: Layer) -> &'static str {
    match layer {
        Layer::Weights => "part.weights",
        Layer::Rearranged => "part.rearranged",
        Layer::Context => "part.context",
        Layer::Compute => "part.compute",
        Layer::Other => "part.other",
    }
}

pub(crate) fn parts<'a>(out: &Out, parts: impl IntoIterator<Item = &'a OverheadPart>) -> Vec<String> {
    let shown = parts.into_iter().filter(|part| part.bytes > 0);
    shown
        .map(|part| {
            format!(
                "{} {}",
                out.lang.code("part", &part.code, &params! {}),
                out.lang.bytes(part.bytes)
            )
        })
        .collect()
}

fn tokens_a_second(out: &Out, speed: &PlanSpeed) -> String {
    let range = speed.decode_tps;
    about(out, "plan.decode", range.low, range.mid, range.high)
}

fn speeds(out: &Out, speed: &PlanSpeed) -> Vec<String> {
    let basis = out.lang.text(match speed.basis {
        SpeedBasis::Table => "plan.basisTable",
        SpeedBasis::Measured => "plan.basisMeasured",
    });
    let first = speed.first_token_s;
    let seconds = |s: f64| out.lang.seconds(s);
    let first = out.say("plan.firstToken", &params! {
        tokens = u64::from(first.prompt_tokens), low = seconds(first.low), mid = seconds(first.mid), high = seconds(first.high),
    });
    let prefill = about(
        out,
        "plan.prefill",
        speed.prefill_tps.low,
        speed.prefill_tps.mid,
        speed.prefill_tps.high,
    );
    let mut lines = vec![
        out.say(
            "plan.writes",
            &params! { speed = tokens_a_second(out, speed), basis = basis },
        ),
        prefill,
        first,
    ];
    if let Some(turn) = speed.turn_s {
        lines.push(out.say("plan.turn", &params! {
            tokens = u64::from(turn.answer_tokens), low = seconds(turn.low), mid = seconds(turn.mid), high = seconds(turn.high),
        }));
    }
    lines
}

pub(crate) fn recommendation(out: &Out, found: &Recommendation) -> String {
    let mut lines = Vec::new();
    match &found.pick {
        Some(pick) => {
            lines.push(styled(
                STRONG,
                &out.say(
                    "recommend.pick",
                    &params! { name = clean(&pick.name), quant = clean(&pick.quant) },
                ),
            ));
            lines.push(pick_line(out, pick));
        }
        None => lines.push(styled(STRONG, out.lang.text("recommend.nothing"))),
    }
    lines.extend(reasons(out, "reason", &found.why));
    if !found.alternatives.is_empty() {
        lines.push(String::new());
        lines.push(out.lang.text("recommend.alternatives").to_owned());
        for other in &found.alternatives {
            lines.push(pick_line(out, &other.pick));
            lines.extend(reasons(out, "reason", &other.why));
        }
    }
    if !found.rejected.is_empty() {
        lines.push(String::new());
        lines.push(out.lang.text("recommend.rejected").to_owned());
        lines.extend(found.rejected.iter().map(|rejected| {
            let why = out.lang.code("reason", &rejected.code, &rejected.params);
            format!("  - {} {}: {why}", clean(&rejected.name), clean(&rejected.quant))
        }));
    }
    if let Some(pick) = &found.pick
        && !pick.on_disk
    {
        lines.push(String::new());
        lines.push(format!(
            "  > plimsoll pull {}:{}",
            clean(&pick.model),
            clean(&pick.quant)
        ));
    }
    lines.join("\n")
}

fn pick_line(out: &Out, pick: &Pick) -> String {
    let place = if pick.on_disk {
        out.lang.text("recommend.onDisk").to_owned()
    } else {
        out.say("recommend.download", &params! { bytes = pick.download_bytes })
    };
    format!("  {} · {place}", plan_line(out, &pick.plan))
}
