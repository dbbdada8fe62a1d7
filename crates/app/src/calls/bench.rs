use std::sync::Arc;

use plimsoll_engine::{Client, Timing};
use plimsoll_os::clock;
use plimsoll_store::Measurement;
use plimsoll_units::TokensPerSecond;
use plimsoll_wire::{BenchReply, FaultCode, MakePlan, PlanWishes, RunBench};
use serde_json::json;

use crate::app::App;
use crate::fault::{Failed, fault};
use crate::learned::BENCH;
use crate::machine::{Freshness, RamSpeed, fingerprint};

/// Words of the prompt, about as many tokens: long enough for full batches, short enough for a slow machine.
const PROMPT_WORDS: u32 = 512;
const ANSWER_TOKENS: u32 = 48;
/// The first run warms caches and clocks up; the median of the others counts.
const RUNS: u32 = 4;

pub(super) async fn run_bench(app: Arc<App>, call: RunBench) -> Result<BenchReply, Failed> {
    let id = app.models.find_on_disk(&call.model).await?.id;
    if let Some(conversation) = app.turns.running_on(&id).first() {
        return Err(fault(FaultCode::Busy, [("conversation", conversation.as_str().into())]).into());
    }
    let engine = app.engines.kept.in_use()?.id;
    let usable = app.make_ready(&id, None).await?;
    // Predicted before anything of this is learned.
    let words = PROMPT_WORDS.min(usable.window.map_or(u32::MAX, |window| window.0 / 2));
    let plan = MakePlan {
        model: id.clone(),
        wishes: PlanWishes {
            prompt_tokens: Some(words.max(1)),
            ..PlanWishes::default()
        },
        machine: None,
        anchors: None,
    };
    let planned = app.planner.make(&app.models, plan).await?.speed;
    let client = Client::new(&usable.target.url, &usable.target.key)?;
    let mut timings = Vec::new();
    for run in 0..RUNS {
        // Another prompt every time, also between two benches.
        let seed = u32::try_from(clock::now_ms().rem_euclid(1 << 30))
            .unwrap_or_default()
            .wrapping_add(run);
        timings.push(
            client
                .time(&usable.target.model, words, ANSWER_TOKENS, seed)
                .await?,
        );
    }
    let timings = timings.split_off(1);
    let prefill = median(&timings, |timing| timing.prefill);
    let decode = median(&timings, |timing| timing.decode);
    let prompt_tokens = timings
        .iter()
        .map(|timing| timing.prompt_tokens)
        .max()
        .unwrap_or(0);
    let machine = app.machine.read(Freshness::Known, RamSpeed::AsKnown).await?;
    let measurement = Measurement {
        taken_at: clock::now_s(),
        kind: BENCH.to_owned(),
        model: id.clone(),
        body: json!({
            "engine": engine,
            "machine": fingerprint(&machine),
            "promptTokens": prompt_tokens,
            "answerTokens": ANSWER_TOKENS,
            "prefillTps": prefill,
            "decodeTps": decode,
        }),
    };
    app.store.record_measurement(measurement).await?;
    Ok(BenchReply {
        model: id,
        engine,
        prompt_tokens,
        answer_tokens: ANSWER_TOKENS,
        runs: RUNS - 1,
        prefill_tps: prefill,
        decode_tps: decode,
        planned_prefill_tps: planned.as_ref().map(|speed| speed.prefill_tps),
        planned_decode_tps: planned.as_ref().map(|speed| speed.decode_tps),
    })
}

fn median(timings: &[Timing], of: impl Fn(&Timing) -> TokensPerSecond) -> f64 {
    let mut speeds: Vec<f64> = timings.iter().map(|timing| of(timing).get()).collect();
    speeds.sort_by(f64::total_cmp);
    speeds.get(speeds.len() / 2).copied().unwrap_or_default()
}
