use plimsoll_wire::{
    CatalogReply, Library, LibraryModel, LibraryState, ModelEntry, Removed, Variant, VariantState, Verdict,
    VerifyReply,
};

use crate::lang::{clean, params};
use crate::out::{Out, QUIET, STRONG, styled};

pub(crate) fn models(out: &Out, library: &Library) -> String {
    let mut lines = vec![styled(STRONG, out.lang.text("models.onDisk"))];
    if library.models.is_empty() {
        lines.push(out.lang.text("models.none").to_owned());
    } else {
        let head = [
            "word.id",
            "models.size",
            "models.fit",
            "models.context",
            "models.speed",
            "models.state",
        ];
        let mut table = out.table(&head.map(|key| out.lang.text(key)));
        for model in &library.models {
            table.add_row(row(out, model));
        }
        lines.push(table.trim_fmt());
    }
    let place =
        params! { folder = clean(&library.folder), used = library.used_bytes, free = library.free_bytes };
    lines.push(styled(QUIET, &out.say("models.folder", &place)));
    let absent: Vec<(&ModelEntry, &Variant)> = library
        .catalog
        .iter()
        .flat_map(|entry| entry.variants.iter().map(move |variant| (entry, variant)))
        .filter(|(_, variant)| variant.state != VariantState::OnDisk)
        .collect();
    if !absent.is_empty() {
        lines.push(String::new());
        lines.push(styled(STRONG, out.lang.text("models.toPull")));
        let head = [
            "word.id",
            "models.size",
            "models.fit",
            "models.context",
            "models.speed",
            "models.licence",
            "models.facts",
        ];
        let mut table = out.table(&head.map(|key| out.lang.text(key)));
        for (entry, variant) in absent {
            let plan = variant.plan.as_ref();
            table.add_row([
                clean(&format!("{}:{}", entry.id, variant.quant)),
                out.lang.bytes(variant.bytes),
                plan.map(|plan| fit(out, plan.verdict)).unwrap_or_default(),
                plan.map(|plan| out.lang.count(plan.settings.context.into()))
                    .unwrap_or_default(),
                speed(out, plan),
                clean(&entry.licence.name),
                if variant.unverified {
                    out.lang.text("models.unverified").to_owned()
                } else {
                    String::new()
                },
            ]);
        }
        lines.push(table.trim_fmt());
    }
    lines.join("\n")
}

fn row(out: &Out, model: &LibraryModel) -> [String; 6] {
    let plan = model.plan.as_ref();
    let state = match (&model.fault, model.state) {
        (Some(fault), _) => out
            .lang
            .code("fault", &super::fault::name_of(&fault.code), &fault.params),
        (None, state) => out.lang.text(state_key(state)).to_owned(),
    };
    let state = match model.keeper {
        Some(keeper) => format!("{state}, {}", super::folders::keeper(out, keeper)),
        None => state,
    };
    [
        clean(&model.id),
        out.lang.bytes(model.bytes),
        plan.map(|plan| fit(out, plan.verdict)).unwrap_or_default(),
        plan.map(|plan| out.lang.count(plan.settings.context.into()))
            .unwrap_or_default(),
        speed(out, plan),
        state,
    ]
}

pub(super) fn speed(out: &Out, plan: Option<&plimsoll_wire::Plan>) -> String {
    let range = plan
        .and_then(|plan| plan.speed.as_ref())
        .map(|speed| speed.decode_tps);
    range.map(|range| out.lang.number(range.mid)).unwrap_or_default()
}

pub(super) fn fit(out: &Out, verdict: Verdict) -> String {
    let key = match verdict {
        Verdict::Fits => "models.fits",
        Verdict::Spills => "models.spills",
        Verdict::TooBig => "models.tooBig",
    };
    out.lang.text(key).to_owned()
}

const fn state_key(state: LibraryState) -> &'static str {
    match state {
        LibraryState::Ready => "models.ready",
        LibraryState::Incomplete => "models.incomplete",
        LibraryState::Damaged => "models.damaged",
    }
}

pub(crate) fn refreshed(out: &Out, reply: &CatalogReply) -> String {
    let key = if reply.newer {
        "models.newer"
    } else {
        "models.noNewer"
    };
    let said = params! {
        issued = clean(&reply.issued), serial = reply.serial, models = u64::from(reply.models),
        left = reply.left_out.len() as u64,
    };
    out.say(key, &said)
}

pub(crate) fn imported(out: &Out, model: &LibraryModel) -> String {
    out.say(
        "models.added",
        &params! { id = clean(&model.id), bytes = model.bytes },
    )
}

pub(crate) fn verified(out: &Out, reply: &VerifyReply) -> String {
    let id = clean(&reply.id);
    let mut lines = Vec::new();
    if reply.damaged.is_empty() {
        lines.push(out.say("verify.right", &params! { id = id }));
    } else {
        lines.push(out.say("verify.damaged", &params! { id = id }));
        lines.extend(reply.damaged.iter().map(|file| format!("  - {}", clean(file))));
    }
    if !reply.unpinned.is_empty() {
        lines.push(out.say(
            "verify.unpinned",
            &params! { files = clean(&reply.unpinned.join(", ")) },
        ));
    }
    lines.join("\n")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form of every reply's text")]
pub(crate) fn removed(out: &Out, reply: &Removed) -> String {
    // An imported file shares its bytes with the person's own.
    let key = if reply.freed_bytes == 0 {
        "models.removedLink"
    } else {
        "models.removed"
    };
    out.say(key, &params! { bytes = reply.freed_bytes })
}
