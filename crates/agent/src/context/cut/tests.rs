use plimsoll_units::Tokens;
use proptest::prelude::*;

use super::{CutLimits, NoCut, PruneKind, plan_cut};
use crate::context::{Digest, Images, Rates, ResultFacts, RowFacts, RowKind, SizeClass, Thoughts, Weight};

fn limits(window: u32) -> CutLimits {
    CutLimits {
        head: 300,
        window: Tokens(window),
        threshold: Tokens(window / 4 * 3),
        reserve: Tokens(window / 8),
        thoughts: Thoughts::Never,
    }
}

fn row(n: usize, kind: RowKind, bytes: u64) -> RowFacts {
    RowFacts {
        id: format!("r{n}"),
        kind,
        digest: Digest::of(&n.to_le_bytes()),
        weight: Weight::text(bytes),
        calls: 0,
        results: Vec::new(),
    }
}

fn group(rows: &mut Vec<RowFacts>, sizes: &[u64]) {
    let mut calls = row(rows.len(), RowKind::Answer, 40);
    calls.calls = u32::try_from(sizes.len()).unwrap();
    rows.push(calls);
    let mut results = row(rows.len(), RowKind::Results, sizes.iter().sum());
    for (k, bytes) in sizes.iter().enumerate() {
        let name = format!("c{}-{k}", rows.len());
        results.results.push(ResultFacts {
            digest: Digest::of(name.as_bytes()),
            call: name,
            bytes: *bytes,
        });
    }
    rows.push(results);
}

fn chat(turns: usize, bytes: u64) -> Vec<RowFacts> {
    let mut rows = Vec::new();
    for _ in 0..turns {
        rows.push(row(rows.len(), RowKind::User, bytes));
        rows.push(row(rows.len(), RowKind::Answer, bytes));
    }
    rows.push(row(rows.len(), RowKind::User, bytes));
    rows
}

#[test]
fn a_long_talk_keeps_its_end_and_summarises_the_rest() {
    let rows = chat(20, 1_200);
    let plan = plan_cut(&rows, &Rates::default(), limits(16_384)).unwrap();
    assert!(plan.prunes.is_empty() && !plan.squeezed);
    assert_eq!(plan.summarise.len() + plan.keep.len(), rows.len());
    assert_eq!(plan.keep.last().unwrap(), "r40", "the question");
    assert!(plan.after < 16_384 / 2, "{}", plan.after);
}

#[test]
fn long_old_results_give_way_before_anything_is_summarised() {
    let mut rows = chat(1, 400);
    group(&mut rows, &[24_000]);
    rows.extend(chat(3, 400).into_iter().enumerate().map(|(k, mut row)| {
        row.id = format!("l{k}");
        row
    }));
    let mut tight = limits(8_192);
    tight.threshold = Tokens(4_096);
    let plan = plan_cut(&rows, &Rates::default(), tight).unwrap();
    assert!(plan.summarise.is_empty());
    assert_eq!(plan.prunes.len(), 1);
    assert_eq!(
        (plan.prunes[0].kind, plan.prunes[0].row.as_str()),
        (PruneKind::Short, "r4")
    );
    assert!(plan.before - plan.after > 5_000);
}

#[test]
fn the_same_result_stays_once_and_only_the_newest_images_stay() {
    let mut rows = Vec::new();
    for n in 0..6 {
        rows.push(row(rows.len(), RowKind::User, 100));
        group(&mut rows, &[1_000]);
        let last = rows.last_mut().unwrap();
        last.results[0].digest = Digest::of(b"the same");
        last.weight.images = Images::one(SizeClass::Large);
        last.id = format!("shot{n}");
    }
    rows.push(row(rows.len(), RowKind::User, 8_000));
    let plan = plan_cut(&rows, &Rates::default(), limits(16_384)).unwrap();
    let of = |kind| plan.prunes.iter().filter(|prune| prune.kind == kind).count();
    assert!(of(PruneKind::Same) >= 4, "{plan:?}");
    assert!(of(PruneKind::Image) >= 3, "{plan:?}");
    assert!(
        !plan.prunes.iter().any(|prune| prune.row == "shot5"),
        "the newest stays: {plan:?}"
    );
}

#[test]
fn the_newest_results_are_shortened_when_nothing_else_helps() {
    let mut rows = chat(1, 400);
    group(&mut rows, &[120_000, 120_000, 120_000]);
    let plan = plan_cut(&rows, &Rates::default(), limits(65_536)).unwrap();
    assert!(plan.squeezed);
    assert!(plan.after <= 65_536 - 65_536 / 8, "{}", plan.after);
}

#[test]
fn a_question_that_never_fits_is_named_and_nothing_is_cut_for_nothing() {
    let mut rows = chat(2, 100);
    assert_eq!(
        plan_cut(&rows, &Rates::default(), limits(16_384)),
        Err(NoCut::Nothing)
    );
    rows.last_mut().unwrap().weight.text_bytes = 400_000;
    let found = plan_cut(&rows, &Rates::default(), limits(16_384));
    assert!(
        matches!(&found, Err(NoCut::TooLarge { row, .. }) if row == "r4"),
        "{found:?}"
    );
}

proptest! {
    /// Whatever a conversation is: no group is parted, the question stays, every row is either kept or
    /// summarised, and the plan makes it smaller.
    #[test]
    fn plans_are_whole(kinds in prop::collection::vec((0_u8..4, 1_u64..30_000), 1..60), window in 4_096_u32..1_000_000) {
        let mut rows = Vec::new();
        for (kind, bytes) in kinds {
            match kind {
                0 => rows.push(row(rows.len(), RowKind::User, bytes)),
                1 => rows.push(row(rows.len(), RowKind::Answer, bytes)),
                _ => group(&mut rows, &[bytes, bytes / 3 + 1]),
            }
        }
        let Ok(plan) = plan_cut(&rows, &Rates::default(), limits(window)) else { return Ok(()) };
        prop_assert!(plan.after < plan.before);
        let gone = |id: &str| plan.summarise.iter().any(|one| one == id);
        for pair in rows.windows(2) {
            if pair[0].calls > 0 && pair[1].kind == RowKind::Results {
                prop_assert_eq!(gone(&pair[0].id), gone(&pair[1].id));
            }
        }
        if let Some(question) = rows.iter().rev().find(|row| row.kind == RowKind::User) {
            prop_assert!(!gone(&question.id));
        }
        prop_assert!(!gone(&rows.last().unwrap().id));
        prop_assert_eq!(plan.keep.len() + plan.summarise.len(), rows.len());
        for prune in &plan.prunes {
            prop_assert!(!gone(&prune.row));
        }
    }
}
