//! Planned beside measured: every real model, two contexts, two kinds of cache, one slot and four. Run with
//! `--no-capture` to see the table; `scripts/bench --proof` does.

use plimsoll_testkit::{TinyGguf, real};
use plimsoll_wire::{LoadModel, MakePlan, PlanWishes, Proof, RunBench, SpeedBasis, StopRouter};

use super::room::{Room, SMOLLM2};

const MIB: u64 = 1 << 20;
/// Touched or not, pages round up and the allocator keeps some: plan and fact may be so far apart.
const APART_MOST: u64 = 40 * MIB;

/// Of one part, by the engine's own log. Four slots with small batches are planned up to 2.4 MiB above what the
/// scheduler finds.
const PART_APART_MOST: u64 = 3 * MIB;

async fn load(room: &Room, model: &str, wishes: &PlanWishes) -> Proof {
    room.app
        .ask(LoadModel {
            model: model.to_owned(),
            wishes: wishes.clone(),
        })
        .await
        .unwrap();
    room.loaded(model).await.unwrap().proof.expect("it was measured")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_planned_is_what_it_takes() {
    let room = Room::with_engine().await;
    let mut models = vec![SMOLLM2.to_owned()];
    for file in [real::QWEN_CODER, real::GEMMA3] {
        models.push(room.import(file).await.id);
    }
    println!(
        "{:34} {:>7} {:>5} {:>5} {:>9} {:>9} {:>7}  weights   context   compute",
        "model (MiB)", "context", "cache", "slots", "planned", "resident", "apart"
    );
    let mut wrong = Vec::new();
    let mut apart_most = 0;
    for model in &models {
        for context in [2_048, 8_192] {
            for kv in ["f16", "q8_0"] {
                for slots in [1, 4] {
                    let wishes = PlanWishes {
                        context: Some(context),
                        kv: Some(kv.to_owned()),
                        slots: Some(slots),
                        ..PlanWishes::default()
                    };
                    let proof = load(&room, model, &wishes).await;
                    let apart = proof.planned_bytes.abs_diff(proof.resident_bytes);
                    apart_most = apart_most.max(apart);
                    let part = |code: &str| {
                        let part = proof.parts.iter().find(|part| part.code == code).unwrap();
                        // The log is read at a verbosity that names every buffer.
                        let reported = part.reported_bytes.expect("the engine reports it");
                        assert!(
                            reported.abs_diff(part.planned_bytes)
                                <= (part.planned_bytes / 1000).max(PART_APART_MOST),
                            "{model} {wishes:?}: {part:?}"
                        );
                        format!("{}/{}", part.planned_bytes / MIB, reported / MIB)
                    };
                    println!(
                        "{model:34} {context:7} {kv:>5} {slots:5} {:9.1} {:9.1} {:7.1}  {:9} {:9} {:9}",
                        mib(proof.planned_bytes),
                        mib(proof.resident_bytes),
                        mib(apart),
                        part("weights"),
                        part("context"),
                        part("compute"),
                    );
                    if apart > APART_MOST {
                        wrong.push(format!(
                            "{model} {context} {kv} {slots}: {:.1} MiB apart",
                            mib(apart)
                        ));
                    }
                }
            }
        }
    }
    println!("at most {:.1} MiB apart", mib(apart_most));
    room.app.end().await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `SmolLM2` with a projector beside it, and with itself as what drafts: each is planned, passed on and taken.
#[tokio::test(flavor = "multi_thread")]
async fn what_lies_beside_a_model_is_planned_and_loaded() {
    let room = Room::with_engine().await;
    let model = room.import(real::SMOLLM2).await;
    let beside = std::path::Path::new(&model.path).with_file_name("mmproj-tiny.gguf");
    #[expect(
        clippy::disallowed_methods,
        reason = "a crash in a test may leave half a file"
    )]
    std::fs::write(&beside, TinyGguf::projector(576, 448).bytes()).unwrap();
    let context = PlanWishes {
        context: Some(2_048),
        ..PlanWishes::default()
    };
    let drafted = PlanWishes {
        draft: Some(SMOLLM2.to_owned()),
        ..context.clone()
    };
    for (wishes, option, code) in [
        (context, "mmproj = ", "projector"),
        (drafted, "spec-draft-model = ", "draft"),
    ] {
        let proof = load(&room, SMOLLM2, &wishes).await;
        let preset = std::fs::read_to_string(room.home().join("home/run/preset.ini")).unwrap();
        assert!(preset.lines().any(|line| line.starts_with(option)), "{preset}");
        let part = |code: &str| proof.parts.iter().find(|part| part.code == code).unwrap();
        assert!(part(code).planned_bytes > 2 * MIB, "{:?}", part(code));
        let apart = proof.planned_bytes.abs_diff(proof.resident_bytes);
        println!(
            "{code}: {:.1} MiB planned, {:.1} resident, {:.1} apart",
            mib(proof.planned_bytes),
            mib(proof.resident_bytes),
            mib(apart)
        );
        assert!(apart <= APART_MOST, "{code}: {:.1} MiB apart", mib(apart));
        // The model's own buffers are told as they are, without those beside it.
        let own = part("compute");
        let reported = own.reported_bytes.unwrap();
        assert!(reported.abs_diff(own.planned_bytes) <= PART_APART_MOST, "{own:?}");
    }
    room.app.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bench_teaches_the_next_plan() {
    let room = Room::with_engine().await;
    let plan = |room: &Room| {
        let app = std::sync::Arc::clone(&room.app);
        async move {
            let call = MakePlan {
                model: SMOLLM2.to_owned(),
                wishes: PlanWishes::default(),
                machine: None,
                anchors: None,
            };
            app.ask(call).await.unwrap()
        }
    };
    let before = plan(&room).await.speed.expect("the bandwidth is known");
    assert_eq!(before.basis, SpeedBasis::Table);
    let measured = room
        .app
        .ask(RunBench {
            model: SMOLLM2.to_owned(),
        })
        .await
        .unwrap();
    assert!(measured.prompt_tokens > 256 && measured.prefill_tps > measured.decode_tps);
    let after = plan(&room).await;
    let speed = after.speed.unwrap();
    assert_eq!(speed.basis, SpeedBasis::Measured);
    assert!(
        after.why.iter().any(|why| why.code == "speedOfOwnRun"),
        "{:?}",
        after.why
    );
    let off = speed.decode_tps.mid / measured.decode_tps;
    assert!((0.9..1.1).contains(&off), "{speed:?} after {measured:?}");
    let off = speed.prefill_tps.mid / measured.prefill_tps;
    assert!(
        (0.6..1.6).contains(&off),
        "another length of prompt: {speed:?} after {measured:?}"
    );
    // The library's memory was learned as well: the next load is planned with what the last one took.
    room.app.ask(StopRouter {}).await.unwrap();
    let wishes = PlanWishes {
        context: Some(1_024),
        ..PlanWishes::default()
    };
    let proof = load(&room, SMOLLM2, &wishes).await;
    let apart = proof.planned_bytes.abs_diff(proof.resident_bytes);
    assert!(apart <= 25 * MIB, "{:.1} MiB apart", mib(apart));
    room.app.end().await;
}

fn mib(bytes: u64) -> f64 {
    plimsoll_units::Bytes(bytes).as_f64() / plimsoll_units::Bytes(MIB).as_f64()
}
