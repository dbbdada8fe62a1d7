//! Case 16: what drafts for a model is in the sum.

use plimsoll_planner::{Draft, DraftUse, Need, Part, Plan, Wishes};
use plimsoll_units::Bytes;

use crate::machines::{context, fixture, make, processor_only, with_card};

fn with(name: &str, draft: Option<Draft>) -> Plan {
    let card = with_card("NVIDIA RTX PRO 6000", 98_304, 96_000, 128);
    let wishes = Wishes {
        draft,
        ..context(16_384)
    };
    make(&fixture(name).shape(), &card, &wishes)
}

fn drafting(need: &Need) -> Bytes {
    let parts = need.overhead.iter().filter(|part| part.part == Part::Draft);
    parts.map(|part| part.bytes).sum()
}

#[test]
fn layers_of_its_own_and_the_states_to_go_back_to() {
    for name in ["qwen3.6-27b", "qwen3.6-35b", "glm-4.5-air"] {
        let (plain, drafted) = (with(name, None), with(name, Some(Draft::Own)));
        let need = |plan: &Plan| plan.memory.devices[0].need.clone();
        assert!(drafting(&need(&drafted)) > Bytes::ZERO, "{name}");
        assert!(need(&drafted).total() > need(&plain).total(), "{name}");
        let arguments = drafted.settings.arguments();
        assert!(
            arguments
                .windows(2)
                .any(|pair| pair == ["--spec-type", "draft-mtp"])
        );
        // Three states besides the present one, of every recurrent layer.
        let recurrent = name.starts_with("qwen3.6");
        assert_eq!(
            need(&drafted).kinds.context > need(&plain).kinds.context,
            recurrent,
            "{name}"
        );
    }
}

/// In the log of llama-server b10434 with `SmolLM2` drafting for itself, batch 128: 92.10 MiB of weights, 90.00 of cache
/// and 4.66 to work in, once more for what drafts.
#[test]
fn a_real_server_drafts_in_what_is_planned() {
    let shape = fixture("SmolLM2").shape();
    let wishes = Wishes {
        draft: Some(Draft::Model(Box::new(shape.clone()))),
        batch: Some(128),
        ..context(4_096)
    };
    let plan = make(&shape, &processor_only(16, 4, None), &wishes);
    let seen = 92.10 + 90.00 + 4.66;
    let planned = drafting(&plan.memory.host).as_mib();
    assert!((planned - seen).abs() < 0.1, "{planned} for {seen} MiB");
    let arguments = plan.settings.arguments();
    let told = ["--spec-type", "draft-simple"];
    assert!(arguments.windows(2).any(|pair| pair == told), "{arguments:?}");
}

#[test]
fn a_small_model_beside_it() {
    let draft = fixture("qwen3-8b").shape();
    let plan = with("qwen3-30b", Some(Draft::Model(Box::new(draft.clone()))));
    assert_eq!(plan.settings.draft, Some(DraftUse::Model));
    assert!(
        drafting(&plan.memory.devices[0].need) >= Bytes::gib(4),
        "its weights at the least"
    );
    // One of other words is left out, and so are layers that the file does not have.
    for draft in [Draft::Model(Box::new(draft)), Draft::Own] {
        let plan = with("llama-3.1-8b", Some(draft));
        assert_eq!(plan.settings.draft, None);
        assert_eq!(drafting(&plan.memory.devices[0].need), Bytes::ZERO);
    }
}
