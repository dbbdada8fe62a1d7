use plimsoll_wire::{Check, EngineList};

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
    if !list.available.is_empty() {
        let available = params! { flavours = clean(&list.available.join(", ")) };
        lines.push(styled(QUIET, &out.say("engine.available", &available)));
    }
    lines.join("\n")
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
