//! What the search chooses: devices, layers, experts, and what it says when nothing fits.

use plimsoll_gguf::{Header, Value};
use plimsoll_hardware::Backend;
use plimsoll_planner::{DeviceUse, Engine, Release, Shape, Situation, Verdict, Why, Wishes, plan};
use plimsoll_units::Bytes;
use serde_json::json;

use crate::machines::{GIB, codes, context, fixture, machine, make, processor_only, with_card};

#[test]
fn two_cards_share_what_one_cannot_hold() {
    let card = |id: &str| {
        json!({ "id": id, "name": "NVIDIA GeForce RTX 3090", "vendor": "NVIDIA", "kind": "discrete",
                "backends": ["cuda"], "totalBytes": 24 * GIB, "freeBytes": 23 * GIB })
    };
    let two = machine(&json!({ "memory": { "totalBytes": 64 * GIB }, "devices": [card("a"), card("b")] }));
    let large = fixture("qwen3-30b").shape();
    let plan = make(&large, &two, &context(131_072));
    assert_eq!(plan.verdict, Verdict::Fits);
    let layers: f64 = plan.settings.tensor_split.iter().sum();
    assert!(
        (layers - 49.0).abs() < f64::EPSILON,
        "48 layers and the output: {layers}"
    );
    assert_eq!(plan.memory.devices.len(), 2);
    for device in &plan.memory.devices {
        assert!(device.need.total() <= device.need.budget, "{}", device.id);
    }
    // What one card holds stays on one: a split is no faster.
    let small = make(&fixture("qwen3-8b").shape(), &two, &context(16_384));
    assert_eq!((small.verdict, small.memory.devices.len()), (Verdict::Fits, 1));
    assert_eq!(small.settings.devices, DeviceUse::One(0));
    assert!(
        small
            .settings
            .arguments()
            .windows(2)
            .any(|pair| pair == ["--split-mode", "none"])
    );
    // Who names the layers gets llama.cpp's own split.
    let told = Wishes {
        gpu_layers: Some(999),
        ..context(8192)
    };
    let told = make(&fixture("qwen3-8b").shape(), &two, &told);
    assert_eq!((told.memory.devices.len(), told.settings.gpu_layers), (2, 37));
}

#[test]
fn experts_go_to_the_host_before_layers_do() {
    let shape = fixture("qwen3-30b").shape();
    let card = with_card("NVIDIA GeForce RTX 4060", 8188, 7700, 64);
    let plan = make(&shape, &card, &Wishes::default());
    assert_eq!(plan.verdict, Verdict::Spills);
    assert_eq!(plan.settings.gpu_layers, 49, "attention stays on the card");
    assert!((1..48).contains(&plan.settings.host_expert_layers));
    assert!(
        plan.settings.context >= 16_384,
        "not the context first: {}",
        plan.settings.context
    );
    assert!(codes(&plan).contains(&"expertsOnHost"));
    let dense = make(&fixture("gemma-3-12b").shape(), &card, &context(32_768));
    assert_eq!(dense.verdict, Verdict::Spills);
    assert!((1..49).contains(&dense.settings.gpu_layers));
}

#[test]
fn a_model_too_big_says_by_how_much() {
    let plan = make(
        &fixture("qwen3-30b").shape(),
        &processor_only(8, 4, None),
        &Wishes::default(),
    );
    assert_eq!(plan.verdict, Verdict::TooBig);
    let Why::TooBig { needed, budget } = plan.why[0] else {
        panic!("{:?}", plan.why)
    };
    assert!(
        needed > Bytes::gib(17) && budget < Bytes::gib(7),
        "{needed} of {budget}"
    );
    assert!(
        plan.memory.host.total() >= needed,
        "nothing that fills with use is added to it"
    );
}

#[test]
fn an_engine_without_the_backend_leaves_the_card_out() {
    let card = with_card("NVIDIA GeForce RTX 4090", 24_564, 23_900, 64);
    let engine = Engine {
        release: Release::CHECKED,
        backends: Some(vec![Backend::Vulkan]),
    };
    let situation = Situation {
        engine,
        ..Situation::of(&card, None)
    };
    let plan = plan(&fixture("qwen3-8b").shape(), &situation, &Wishes::default()).unwrap();
    assert!(plan.memory.devices.is_empty());
    assert_eq!(plan.settings.devices, DeviceUse::None);
    let codes = codes(&plan);
    assert!(
        codes.contains(&"deviceLeftOut") && codes.contains(&"cpuOnly"),
        "{codes:?}"
    );
}

#[test]
fn an_unknown_architecture_is_planned_with_a_wider_range() {
    let mut known = fixture("llama-3.1-8b").header();
    let plan_of = |header: &Header| {
        let shape = Shape::from_header(header).unwrap();
        make(&shape, &processor_only(64, 8, None), &context(8192))
    };
    let exact = plan_of(&known);
    let mut metadata = plimsoll_gguf::Metadata::default();
    for (key, value) in known.metadata.iter() {
        let value = if key == "general.architecture" {
            Value::Text("novel".into())
        } else {
            value.clone()
        };
        metadata.insert(key.replace("llama.", "novel."), value);
    }
    known.metadata = metadata;
    let guess = plan_of(&known);
    assert!(
        codes(&guess).contains(&"unknownArchitecture") && !codes(&exact).contains(&"unknownArchitecture")
    );
    assert_eq!(guess.memory.host.kinds.weights, exact.memory.host.kinds.weights);
    assert!(guess.memory.low < exact.memory.low && guess.memory.high > exact.memory.high);
    assert!(guess.memory.host.budget < exact.memory.host.budget);
}
