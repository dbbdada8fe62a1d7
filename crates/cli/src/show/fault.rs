use plimsoll_wire::{Fault, Fix};

use crate::out::{Detail, Out, QUIET, styled};

/// What went wrong, what it means, and the ways on as commands that can be typed.
pub(crate) fn fault(out: &Out, fault: &Fault) -> String {
    let code = name_of(&fault.code);
    let mut lines = vec![
        format!(
            "{} {}",
            out.lang.text("word.fault"),
            out.lang.code("fault", &code, &fault.params)
        ),
        format!("  {}", out.lang.code("faultAbout", &code, &fault.params)),
    ];
    lines.extend(fault.fixes.iter().map(|fix| {
        let fix: &Fix = fix;
        format!("  > {}", out.lang.code("fix", &name_of(fix), &fault.params))
    }));
    match out.detail {
        Detail::Full => {
            lines.push(styled(QUIET, &format!("  {} {code}", out.lang.text("word.code"))));
            lines.extend(fault.params.iter().map(|(name, value)| {
                let value = serde_json::to_string(value).unwrap_or_default();
                styled(QUIET, &format!("  {name} = {value}"))
            }));
            lines.extend(fault.trace.iter().map(|cause| {
                styled(
                    QUIET,
                    &format!("  {} {}", out.lang.text("word.cause"), crate::lang::clean(cause)),
                )
            }));
        }
        Detail::Short => {}
    }
    lines.join("\n")
}

/// A unit variant as the wire spells it.
pub(crate) fn name_of<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}
