//! Which quantisation is taken: context, bits and place give way together, by the wish.

use plimsoll_catalog::Catalog;
use plimsoll_hardware::Machine;
use plimsoll_planner::{Chosen, Goal, Situation, Verdict, Why, Wishes, best_variant};

use crate::machines::{processor_only, with_card};

fn choose(id: &str, machine: &Machine, goal: Goal) -> Chosen<'static> {
    let catalog = Catalog::packaged().unwrap();
    let situation = Situation::of(machine, Some(catalog));
    let wishes = Wishes {
        goal,
        ..Wishes::default()
    };
    let model = catalog.model(id).unwrap();
    best_variant(model, &situation, &wishes).unwrap().unwrap()
}

fn bits(chosen: &Chosen) -> u64 {
    chosen.plan.model.file_bytes.0 * 8 / chosen.plan.model.parameters
}

#[test]
fn where_there_is_room_the_usual_one_is_taken() {
    let card = with_card("NVIDIA GeForce RTX 4090", 24_564, 23_900, 64);
    let chosen = choose("qwen3-30b-a3b-instruct-2507", &card, Goal::Balanced);
    let model = Catalog::packaged()
        .unwrap()
        .model("qwen3-30b-a3b-instruct-2507")
        .unwrap();
    assert_eq!(chosen.variant.quant, model.default_quant);
    assert_eq!(chosen.plan.verdict, Verdict::Fits);
    assert!(
        !chosen
            .plan
            .why
            .iter()
            .any(|why| matches!(why, Why::VariantChosen { .. }))
    );
}

#[test]
fn bits_give_way_before_a_context_that_can_be_worked_with() {
    let small = processor_only(20, 8, Some(60_000_000_000));
    let chosen = choose("qwen3-30b-a3b-instruct-2507", &small, Goal::Balanced);
    assert_eq!(chosen.plan.verdict, Verdict::Fits);
    assert!(
        chosen.plan.settings.context >= 8_192,
        "{}",
        chosen.plan.settings.context
    );
    assert!(bits(&chosen) < 5);
}

#[test]
fn the_wish_decides() {
    let card = with_card("NVIDIA GeForce RTX 3060", 12_288, 11_700, 32);
    let [balanced, longest, fastest] = [Goal::Balanced, Goal::LongestContext, Goal::Fastest]
        .map(|goal| choose("qwen3-30b-a3b-instruct-2507", &card, goal));
    assert!(longest.plan.settings.context >= balanced.plan.settings.context);
    let decode = |chosen: &Chosen| chosen.plan.speed.unwrap().decode.mid;
    assert!(decode(&fastest) >= decode(&balanced));
    assert!(fastest.plan.settings.context <= 8_192);
    for chosen in [balanced, longest, fastest] {
        assert_ne!(chosen.plan.verdict, Verdict::TooBig, "{}", chosen.variant.quant);
        let told = chosen
            .plan
            .why
            .iter()
            .any(|why| matches!(why, Why::VariantChosen { .. }));
        let model = Catalog::packaged()
            .unwrap()
            .model("qwen3-30b-a3b-instruct-2507")
            .unwrap();
        assert_eq!(told, chosen.variant.quant != model.default_quant);
    }
}
