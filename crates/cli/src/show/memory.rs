use plimsoll_wire::Settings;

use crate::lang::params;
use crate::out::Out;

/// Where nothing was ever set.
const USUAL_MINUTES: u32 = 30;

pub(crate) fn memory(out: &Out, settings: &Settings) -> String {
    let idle = match settings.idle_minutes.unwrap_or(USUAL_MINUTES) {
        0 => out.lang.text("memory.never").to_owned(),
        minutes => out.say("memory.after", &params! { minutes = minutes }),
    };
    let sleep = if settings.release_on_sleep == Some(true) {
        "memory.sleepFrees"
    } else {
        "memory.sleepKeeps"
    };
    format!("{idle}\n{}", out.lang.text(sleep))
}
