use plimsoll_wire::{Check, EngineList, EngineOffer, EnginePassed, NewestEngines};

use crate::lang::{clean, params};
use crate::out::{Out, QUIET, styled};

pub(crate) fn engines(out: &Out, list: &EngineList) -> String {
    let mut lines = Vec::new();
    if list.engines.is_empty() {
        lines.push(out.lang.text("engine.none").to_owned());
    } else {
        let head = [
            "word.id",
            "engine.version",
            "engine.backends",
            "engine.origin",
            "engine.folder",
            "engine.state",
        ];
        let mut table = out.table(&head.map(|key| out.lang.text(key)));
        for engine in &list.engines {
            let state = match (&engine.fault, engine.in_use) {
                (Some(fault), _) => {
                    out.lang
                        .code("fault", &super::fault::name_of(&fault.code), &fault.params)
                }
                (None, true) => out.lang.text("engine.inUse").to_owned(),
                (None, false) => String::new(),
            };
            table.add_row([
                clean(&engine.id),
                clean(&engine.version),
                clean(&engine.backends.join(" ")),
                out.lang.code("engineOrigin", &engine.origin, &params! {}),
                clean(&engine.folder),
                state,
            ]);
        }
        lines.push(table.trim_fmt());
    }
    for engine in &list.engines {
        for skipped in &engine.instead_of {
            let about = params! {
                id = clean(&engine.id), flavour = clean(&skipped.flavour), problem = clean(skipped.problem.trim())
            };
            lines.push(out.say("engine.insteadOf", &about));
        }
    }
    if let Some(previous) = &list.previous {
        lines.push(styled(
            QUIET,
            &out.say("engine.previous", &params! { id = clean(previous) }),
        ));
    }
    if !list.offers.is_empty() {
        lines.push(styled(QUIET, out.lang.text("engine.available")));
    }
    lines.extend(builds(out, &list.offers, &list.passed));
    lines.join("\n")
}

pub(crate) fn newest_engines(out: &Out, newest: &NewestEngines) -> String {
    let key = if newest.in_use {
        "engine.newestInUse"
    } else {
        "engine.newest"
    };
    let mut lines = vec![out.say(key, &params! { tag = clean(&newest.tag) })];
    lines.extend(builds(out, &newest.offers, &newest.passed));
    lines.join("\n")
}

/// Each with its reason.
fn builds(out: &Out, offers: &[EngineOffer], passed: &[EnginePassed]) -> Vec<String> {
    let why = |offer: &EngineOffer| out.lang.code("engineWhy", &offer.why.code, &offer.why.params);
    let pairs: Vec<_> = offers
        .iter()
        .map(|offer| (clean(&offer.flavour), why(offer)))
        .collect();
    let passed = passed.iter().map(|passed| {
        let why = out
            .lang
            .code("engineMisfit", &passed.why.code, &passed.why.params);
        styled(QUIET, &format!("{}: {why}", clean(&passed.name)))
    });
    (!pairs.is_empty())
        .then(|| out.pairs(&pairs))
        .into_iter()
        .chain(passed)
        .collect()
}

pub(crate) fn check(out: &Out, check: &Check) -> String {
    let steps = check.steps.iter().map(|step| {
        let name = out.lang.code("step", &step.code, &params! {});
        let how = out.lang.text(if step.passed {
            "engine.passed"
        } else {
            "engine.failed"
        });
        (format!("{how}  {name}"), clean(step.detail.trim()))
    });
    let pairs: Vec<_> = steps.collect();
    let key = if check.passed {
        "engine.checkPassed"
    } else {
        "engine.checkFailed"
    };
    format!(
        "{}\n{}",
        out.pairs(&pairs),
        out.say(key, &params! { id = clean(&check.engine) })
    )
}
