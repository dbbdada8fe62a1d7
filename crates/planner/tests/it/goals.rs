//! What gives way where not everything can be had.

use plimsoll_planner::memory::CacheType;
use plimsoll_planner::{Goal, Plan, Verdict, Wishes};

use crate::machines::{fixture, make, with_card};

fn with(name: &str, goal: Goal) -> Plan {
    let card = with_card("NVIDIA GeForce RTX 4060", 8188, 7700, 64);
    let wishes = Wishes {
        goal,
        ..Wishes::default()
    };
    let plan = make(&fixture(name).shape(), &card, &wishes);
    for need in plan
        .memory
        .devices
        .iter()
        .map(|device| &device.need)
        .chain([&plan.memory.host])
    {
        assert!(need.total() <= need.budget, "{name} {goal:?}");
    }
    plan
}

#[test]
fn a_dense_model_trades_context_for_speed() {
    let [balanced, longest, fastest] =
        [Goal::Balanced, Goal::LongestContext, Goal::Fastest].map(|goal| with("qwen3-8b", goal));
    assert_eq!(balanced.verdict, Verdict::Fits);
    assert_eq!(longest.settings.context, 40_960, "all that it was trained for");
    assert!(longest.settings.context > balanced.settings.context);
    assert_eq!(
        (fastest.verdict, fastest.settings.context),
        (Verdict::Fits, 8_192)
    );
    assert_eq!(fastest.settings.key_type, CacheType::F16);
}

#[test]
fn a_model_of_experts_keeps_its_context_and_gives_experts_away() {
    let [balanced, longest, fastest] =
        [Goal::Balanced, Goal::LongestContext, Goal::Fastest].map(|goal| with("qwen3-30b", goal));
    assert!(balanced.settings.context >= 8_192);
    assert_eq!(longest.settings.context, 262_144);
    assert!(fastest.settings.host_expert_layers <= balanced.settings.host_expert_layers);
    assert_eq!(longest.verdict, Verdict::Spills);
}
