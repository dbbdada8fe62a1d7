//! Conversations that are answered at once.

use plimsoll_hardware::Machine;
use plimsoll_planner::{Goal, Plan, Shape, Situation, Verdict, Wishes, plan};
use plimsoll_units::Bytes;

use crate::machines::{codes, fixture, fixtures, make, processor_only, with_card};

const SEVERAL: u32 = 4;

fn wishes(goal: Goal, slots: Option<u32>) -> Wishes {
    Wishes {
        goal,
        slots,
        choose_slots: slots.is_none(),
        ..Wishes::default()
    }
}

fn total(plan: &Plan) -> Bytes {
    let devices = plan.memory.devices.iter().map(|device| device.need.total());
    devices.sum::<Bytes>().plus(plan.memory.host.total())
}

#[test]
fn several_share_what_costs_nothing_else() {
    let card = with_card("NVIDIA GeForce RTX 4090", 24_564, 23_500, 64);
    let shape = fixture("llama-3.1-8b").shape();
    let chosen = make(&shape, &card, &wishes(Goal::Balanced, None));
    let one = make(&shape, &card, &wishes(Goal::Balanced, Some(1)));
    assert_eq!((chosen.settings.slots, one.settings.slots), (SEVERAL, 1));
    assert!(codes(&chosen).contains(&"slotsShared"));
    assert_eq!(chosen.settings.context, one.settings.context);
    assert!(total(&chosen).less(total(&one)) < Bytes::mib(64), "only outputs");
    let arguments = chosen.settings.arguments();
    assert!(
        arguments.windows(2).any(|pair| pair == ["--parallel", "4"]),
        "{arguments:?}"
    );
    assert!(
        arguments.contains(&"--kv-unified".to_owned()),
        "one cache for all: {arguments:?}"
    );
}

#[test]
fn nobody_gets_a_sliver_of_a_context() {
    let here = processor_only(16, 4, Some(20_000_000_000));
    let told = Wishes {
        context: Some(8_192),
        ..wishes(Goal::Balanced, None)
    };
    let plan = make(&fixture("SmolLM2").shape(), &here, &told);
    assert_eq!((plan.settings.slots, plan.settings.context), (1, 8_192));
    assert!(codes(&plan).contains(&"slotsTooNarrow"), "{:?}", codes(&plan));
}

#[test]
fn who_says_how_many_gets_them_and_no_reason() {
    let card = with_card("NVIDIA GeForce RTX 4090", 24_564, 23_500, 64);
    let shape = fixture("gemma-3-12b").shape();
    for slots in [1, 4] {
        let told = Wishes {
            choose_slots: true,
            ..wishes(Goal::Balanced, Some(slots))
        };
        let plan = make(&shape, &card, &told);
        assert_eq!(plan.settings.slots, slots);
        assert!(codes(&plan).iter().all(|code| !code.starts_with("slots")));
    }
    // And who says nothing at all has one conversation, whose context is its own.
    assert_eq!(make(&shape, &card, &Wishes::default()).settings.slots, 1);
}

/// What was chosen is what was asked about, and takes nothing from the goal.
fn holds(shape: &Shape, machine: &Machine, goal: Goal) -> u32 {
    let situation = Situation::of(machine, None);
    let make = |wishes: &Wishes| plan(shape, &situation, wishes).unwrap();
    let chosen = make(&wishes(goal, None));
    let one = make(&wishes(goal, Some(1)));
    let slots = chosen.settings.slots;
    let name = format!("{} {goal:?}", shape.architecture);
    if one.verdict == Verdict::TooBig {
        assert_eq!(chosen, one, "{name}");
        return slots;
    }
    let (reason, rest) = chosen.why.split_last().unwrap();
    assert!(
        reason.say().0.starts_with("slots"),
        "{name}: every choice has its reason, not {reason:?}"
    );
    if slots == 1 {
        assert_eq!(
            (rest, &chosen.memory),
            (one.why.as_slice(), &one.memory),
            "{name}"
        );
        return slots;
    }
    assert_eq!(chosen.verdict, one.verdict, "{name}");
    assert!(chosen.settings.context >= one.settings.context, "{name}");
    assert!(chosen.settings.context >= SEVERAL * 4_096, "{name}");
    if goal != Goal::LongestContext {
        assert!(chosen.settings.gpu_layers >= one.settings.gpu_layers, "{name}");
        assert!(
            chosen.settings.host_expert_layers <= one.settings.host_expert_layers,
            "{name}"
        );
    }
    for need in chosen
        .memory
        .devices
        .iter()
        .map(|device| &device.need)
        .chain([&chosen.memory.host])
    {
        assert!(need.total() <= need.budget, "{name}");
    }
    slots
}

#[test]
fn whatever_is_chosen_takes_nothing_from_the_goal() {
    let machines = [
        with_card("NVIDIA GeForce RTX 4060", 8_188, 7_700, 32),
        with_card("NVIDIA GeForce RTX 4090", 24_564, 23_500, 64),
        processor_only(16, 8, Some(60_000_000_000)),
    ];
    let goals = [Goal::Balanced, Goal::LongestContext, Goal::Fastest];
    let mut seen = Vec::new();
    for fixture in fixtures().iter().step_by(4) {
        let shape = fixture.shape();
        for machine in &machines {
            seen.extend(goals.map(|goal| holds(&shape, machine, goal)));
        }
    }
    let several = seen.iter().filter(|&&slots| slots == SEVERAL).count();
    assert!(
        several > seen.len() / 10,
        "{several} of {} have several",
        seen.len()
    );
    assert!(several < seen.len(), "and some have one");
}
