use std::fmt::Debug;

use plimsoll_wire::{ReplayExpected, ReplayLine};

/// What is not as expected: `field: expected, found`.
pub(super) fn compare(expect: &ReplayExpected, line: &ReplayLine) -> Vec<String> {
    let mut wrong = Vec::new();
    let decision = line.decision.as_ref();
    let heard = line.heard.as_ref();
    let plan = line.plan.as_ref();
    let floor = line.floor.as_ref();
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    same(&mut wrong, "kind", expect.kind.as_ref(), Some(&line.reading.kind));
    near(
        &mut wrong,
        "tokens",
        expect.tokens,
        line.reading.tokens,
        expect.within,
    );
    same(
        &mut wrong,
        "verdict",
        expect.verdict.as_ref(),
        decision.map(|it| &it.verdict),
    );
    same(
        &mut wrong,
        "reason",
        expect.reason.as_ref(),
        decision.map(|it| &it.reason),
    );
    same(
        &mut wrong,
        "row",
        expect.row.as_ref(),
        decision.and_then(|it| it.row.as_ref()),
    );
    same(
        &mut wrong,
        "anchored",
        expect.anchored.as_ref(),
        heard.map(|it| &it.anchored),
    );
    near(
        &mut wrong,
        "image",
        expect.image,
        heard.and_then(|it| it.image),
        expect.within,
    );
    same(
        &mut wrong,
        "refused",
        expect.refused.as_ref(),
        heard.and_then(|it| it.refused.as_ref()),
    );
    same(&mut wrong, "lost", expect.lost.as_ref(), line.lost.as_ref());
    same(&mut wrong, "began", expect.began.as_ref(), line.began.as_ref());
    let summarised = plan.map(|it| count(it.summarise.len()));
    same(
        &mut wrong,
        "summarised",
        expect.summarised.as_ref(),
        summarised.as_ref(),
    );
    let notes = plan.map(|it| count(it.notes.len()));
    same(&mut wrong, "notes", expect.notes.as_ref(), notes.as_ref());
    same(&mut wrong, "fits", expect.fits.as_ref(), floor.map(|it| &it.fits));
    same(
        &mut wrong,
        "leaveOut",
        expect.leave_out.as_ref(),
        floor.map(|it| &it.leave_out),
    );
    if let Some(most) = expect.at_most
        && plan.is_none_or(|it| it.after > most)
    {
        wrong.push(format!("atMost: {most}, {:?}", plan.map(|it| it.after)));
    }
    wrong
}

fn same<T: PartialEq + Debug>(wrong: &mut Vec<String>, name: &str, expected: Option<&T>, found: Option<&T>) {
    if let Some(expected) = expected
        && found != Some(expected)
    {
        wrong.push(format!("{name}: {expected:?}, {found:?}"));
    }
}

fn near(wrong: &mut Vec<String>, name: &str, expected: Option<u32>, found: Option<u32>, within: Option<f64>) {
    let Some(expected) = expected else { return };
    let room = within.unwrap_or(0.0) / 100.0 * f64::from(expected);
    if found.is_none_or(|found| (f64::from(found) - f64::from(expected)).abs() > room) {
        wrong.push(format!("{name}: {expected}, {found:?}"));
    }
}
