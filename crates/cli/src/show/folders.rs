use plimsoll_wire::{Duplicates, Folders, Keeper};

use crate::lang::{clean, params};
use crate::out::{Out, QUIET, STRONG, styled};

pub(super) fn keeper(out: &Out, keeper: Keeper) -> String {
    let key = match keeper {
        Keeper::LmStudio => "keeper.lmStudio",
        Keeper::Ollama => "keeper.ollama",
        Keeper::LlamaCpp => "keeper.llamaCpp",
        Keeper::Jan => "keeper.jan",
        Keeper::Gpt4All => "keeper.gpt4All",
        Keeper::Folder => "keeper.folder",
    };
    out.lang.text(key).to_owned()
}

pub(crate) fn folders(out: &Out, folders: &Folders) -> String {
    let place =
        params! { folder = clean(&folders.library), used = folders.used_bytes, free = folders.free_bytes };
    let mut lines = vec![out.say("models.folder", &place)];
    if folders.missing {
        lines.push(out.lang.text("folders.missing").to_owned());
    }
    if let Some(to) = &folders.moving_to {
        lines.push(out.say("folders.moving", &params! { path = clean(to) }));
    }
    for other in &folders.others {
        lines.push(out.say(
            "folders.other",
            &params! {
                keeper = keeper(out, other.keeper), path = clean(&other.path),
                models = u64::from(other.models), bytes = other.bytes,
            },
        ));
        for problem in &other.problems {
            lines.push(format!(
                "  - {}",
                out.lang.code("passedOver", &problem.code, &problem.params)
            ));
        }
    }
    lines.join("\n")
}

pub(crate) fn duplicates(out: &Out, found: &Duplicates) -> String {
    let mut lines = Vec::new();
    if found.same.is_empty() {
        lines.push(out.lang.text("duplicates.none").to_owned());
    } else {
        lines.push(styled(
            STRONG,
            &out.say("duplicates.savable", &params! { bytes = found.savable_bytes }),
        ));
    }
    for same in &found.same {
        lines.push(out.say(
            "duplicates.one",
            &params! { bytes = same.bytes, count = same.copies.len() as u64 },
        ));
        lines.extend(same.copies.iter().map(|copy| {
            let whose = copy.keeper.map(|one| format!(" ({})", keeper(out, one)));
            format!("  - {}{}", clean(&copy.path), whose.unwrap_or_default())
        }));
    }
    if found.open_files > 0 {
        let open = params! { count = u64::from(found.open_files), bytes = found.open_bytes };
        lines.push(styled(QUIET, &out.say("duplicates.open", &open)));
    }
    lines.join("\n")
}
