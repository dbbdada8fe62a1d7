use plimsoll_wire::{HubGate, HubSearch, HubVariant, HubVariants, VariantState};

use super::library::{fit, speed};
use crate::lang::{clean, params};
use crate::out::{Out, QUIET, STRONG, styled};

pub(crate) fn found(out: &Out, found: &HubSearch) -> String {
    if found.repos.is_empty() {
        return out.lang.text("search.nothing").to_owned();
    }
    let head = [
        "search.repository",
        "search.downloads",
        "models.licence",
        "search.gate",
        "search.quants",
    ];
    let mut table = out.table(&head.map(|key| out.lang.text(key)));
    for repo in &found.repos {
        table.add_row([
            clean(&repo.id),
            out.lang.count(repo.downloads),
            clean(repo.licence.as_deref().unwrap_or_default()),
            gate(out, repo.gate),
            clean(&repo.quants.join(" ")),
        ]);
    }
    let mut lines = vec![table.trim_fmt()];
    if found.more {
        lines.push(styled(QUIET, out.lang.text("search.more")));
    }
    lines.push(styled(QUIET, out.lang.text("search.next")));
    lines.join("\n")
}

pub(crate) fn variants(out: &Out, found: &HubVariants) -> String {
    let about = params! {
        repo = clean(&found.repo), licence = clean(found.licence.as_deref().unwrap_or("–")),
    };
    let mut lines = vec![styled(STRONG, &out.say("search.holds", &about))];
    if found.gate != HubGate::Open {
        lines.push(out.say("search.accept", &params! { url = clean(&found.url) }));
    }
    if found.variants.is_empty() {
        lines.push(out.lang.text("search.noModels").to_owned());
        return lines.join("\n");
    }
    let head = [
        "search.variant",
        "models.size",
        "models.fit",
        "models.context",
        "models.speed",
        "search.file",
    ];
    let mut table = out.table(&head.map(|key| out.lang.text(key)));
    for variant in &found.variants {
        let plan = variant.fit.as_ref().and_then(|fit| fit.plan.as_ref());
        table.add_row([
            clean(&variant.quant),
            out.lang.bytes(variant.bytes),
            plan.map_or_else(|| why_not(out, variant), |plan| fit(out, plan.verdict)),
            plan.map(|plan| out.lang.count(plan.settings.context.into()))
                .unwrap_or_default(),
            speed(out, plan),
            clean(&variant.path)
                + if variant.state == VariantState::OnDisk {
                    " ✓"
                } else {
                    ""
                },
        ]);
    }
    lines.push(table.trim_fmt());
    let read: u64 = found
        .variants
        .iter()
        .filter_map(|variant| variant.fit.as_ref())
        .map(|fit| fit.fetched_bytes)
        .sum();
    lines.push(styled(QUIET, &out.say("search.read", &params! { bytes = read })));
    if let Some(variant) = found.variants.first() {
        let first = params! { id = clean(&variant.id) };
        lines.push(styled(QUIET, &out.say("search.pull", &first)));
    }
    lines.join("\n")
}

fn why_not(out: &Out, variant: &HubVariant) -> String {
    let fault = variant.fit.as_ref().and_then(|fit| fit.fault.as_ref());
    fault.map_or_else(String::new, |fault| {
        out.lang
            .code("fault", &super::fault::name_of(&fault.code), &fault.params)
    })
}

fn gate(out: &Out, gate: HubGate) -> String {
    let key = match gate {
        HubGate::Open => return String::new(),
        HubGate::Automatic => "search.automatic",
        HubGate::Manual => "search.manual",
    };
    out.lang.text(key).to_owned()
}
