//! Speed as it shapes a plan.

use plimsoll_planner::{Anchor, Basis, Situation, Why, Wishes, plan};

use crate::machines::{fixture, make, processor_only};

#[test]
fn a_machine_without_a_bandwidth_has_no_speed() {
    let plan = make(
        &fixture("SmolLM2").shape(),
        &processor_only(16, 4, None),
        &Wishes::default(),
    );
    assert_eq!(plan.speed, None);
    assert!(plan.why.contains(&Why::BandwidthUnknown {
        part: "memory".into()
    }));
    assert_eq!(
        plan.settings.batch, 128,
        "a piece that a slow processor reads in well under a second"
    );
}

#[test]
fn pieces_of_a_prompt_take_well_under_a_second() {
    for (cores, bandwidth) in [(2, 12_000_000_000), (8, 60_000_000_000), (64, 400_000_000_000)] {
        for model in ["SmolLM2", "llama-3.1-8b", "qwen3-30b"] {
            let box_ = processor_only(64, cores, Some(bandwidth));
            let plan = make(&fixture(model).shape(), &box_, &Wishes::default());
            let seconds = f64::from(plan.settings.batch) / plan.speed.unwrap().prefill.mid;
            assert!(
                seconds < 0.5 || plan.settings.batch == 32,
                "{model} on {cores}: {seconds}"
            );
        }
    }
}

#[test]
fn measured_runs_move_the_speed_and_narrow_its_range() {
    let shape = fixture("qwen3-8b").shape();
    let box_ = processor_only(32, 8, Some(60_000_000_000));
    let table = make(&shape, &box_, &Wishes::default()).speed.unwrap();
    let anchor = Anchor::of(fixture("SmolLM2").shape(), Some(300.0), Some(3000.0)).unwrap();
    let situation = Situation {
        anchors: vec![anchor],
        ..Situation::of(&box_, None)
    };
    let measured = plan(&shape, &situation, &Wishes::default()).unwrap();
    assert!(measured.why.contains(&Why::SpeedMeasured { runs: 1 }));
    let measured = measured.speed.unwrap();
    assert_eq!((table.basis, measured.basis), (Basis::Table, Basis::Measured));
    let width = |range: plimsoll_planner::Range| range.high / range.low;
    assert!(width(measured.decode) < width(table.decode));
    assert!(Anchor::of(shape, Some(f64::NAN), Some(-1.0)).is_none());
}
