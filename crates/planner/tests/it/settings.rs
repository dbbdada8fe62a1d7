//! What is asked and what is passed on.

use plimsoll_planner::{CacheType, PlanError, Situation, Wishes, plan};
use plimsoll_units::Bytes;

use crate::machines::{context, fixture, make, processor_only, with_card};

#[test]
fn wishes_without_sense_are_refused() {
    let shape = fixture("SmolLM2").shape();
    let box_ = processor_only(16, 4, None);
    let ask = |wishes: Wishes| plan(&shape, &Situation::of(&box_, None), &wishes);
    for wishes in [
        Wishes {
            context: Some(0),
            ..Wishes::default()
        },
        Wishes {
            slots: Some(0),
            ..Wishes::default()
        },
        Wishes {
            slots: Some(100_000),
            ..Wishes::default()
        },
        Wishes {
            batch: Some(0),
            ..Wishes::default()
        },
        Wishes {
            tensor_split: Some(vec![1.0, f64::NAN]),
            ..Wishes::default()
        },
        Wishes {
            tensor_split: Some(vec![-1.0]),
            ..Wishes::default()
        },
        Wishes {
            tensor_split: Some(vec![1.0; 99]),
            ..Wishes::default()
        },
    ] {
        assert!(
            matches!(ask(wishes.clone()), Err(PlanError::OutOfRange { .. })),
            "{wishes:?}"
        );
    }
    assert!("q5_1".parse::<CacheType>().is_err());
}

#[test]
fn the_arguments_leave_the_engine_nothing_to_choose() {
    let card = with_card("NVIDIA GeForce RTX 4060", 8188, 7700, 32);
    let plan = make(&fixture("llama-3.1-8b").shape(), &card, &context(8192));
    insta::assert_snapshot!(plan.settings.arguments().join(" "), @"--ctx-size 8192 --parallel 1 --batch-size 512 --ubatch-size 512 --cache-type-k f16 --cache-type-v f16 --flash-attn on --n-gpu-layers 33 --cache-ram 1024 --fit off --load-mode none --repack --ctx-checkpoints 0");
    let wishes = Wishes {
        slots: Some(4),
        kv: Some(CacheType::Q8_0),
        cache_ram: Some(Bytes::mib(512)),
        ..context(8192)
    };
    let plan = make(
        &fixture("gemma-3-270m").shape(),
        &processor_only(16, 4, None),
        &wishes,
    );
    insta::assert_snapshot!(plan.settings.arguments().join(" "), @"--ctx-size 8192 --parallel 4 --batch-size 128 --ubatch-size 128 --cache-type-k q8_0 --cache-type-v q8_0 --flash-attn on --n-gpu-layers 0 --cache-ram 512 --fit off --load-mode none --repack --ctx-checkpoints 4 --kv-unified --device none");
}
