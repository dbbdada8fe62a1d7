//! Cases that broke others (13 to 22 of the list), and the joints between the rules.

use plimsoll_gguf::{Array, Header, HeaderError, Value};
use plimsoll_hardware::{Backend, Machine};
use plimsoll_planner::{
    Anchor, Basis, CacheType, DeviceUse, Engine, Held, LoadMode, Outputs, Part, Plan, PlanError, Release,
    Shape, Situation, Verdict, Why, Wishes, plan,
};
use plimsoll_units::Bytes;
use serde_json::json;

use crate::machines::{GIB, fixture, machine, processor_only, with_card};

fn make(shape: &Shape, machine: &Machine, wishes: &Wishes) -> Plan {
    plan(shape, &Situation::of(machine, None), wishes).unwrap()
}

fn codes(plan: &Plan) -> Vec<&'static str> {
    plan.why.iter().map(|why| why.say().0).collect()
}

fn context(context: u32) -> Wishes {
    Wishes {
        context: Some(context),
        ..Wishes::default()
    }
}

#[test]
fn case_13_an_8_gb_card_holds_an_8b_with_8k() {
    let shape = fixture("llama-3.1-8b").shape();
    let card = with_card("NVIDIA GeForce RTX 4060", 8188, 7700, 32);
    let plan = make(&shape, &card, &context(8192));
    assert_eq!(
        (plan.verdict, plan.settings.gpu_layers),
        (Verdict::Fits, 33),
        "nothing of it on the host"
    );
    assert_eq!(plan.settings.key_type, CacheType::F16);
    assert!(codes(&plan).contains(&"allOnDevice"));
    // By itself it takes a longer context, if need be with a smaller cache, and still spills nothing.
    let plan = make(&shape, &card, &Wishes::default());
    assert_eq!(plan.verdict, Verdict::Fits);
    assert!(plan.settings.context >= 16_384, "{}", plan.settings.context);
}

#[test]
fn case_14_a_sliding_window_is_priced_as_a_window() {
    let shape = fixture("gemma-3-12b").shape();
    let plan = make(&shape, &processor_only(128, 16, None), &context(131_072));
    // All 48 layers in full would be 48 GiB; eight are full, the others see 1,024 tokens.
    let full = Bytes(2 * 2 * 8 * 256).times(48 * 131_072);
    assert_eq!(full, Bytes::gib(48));
    let context = plan.memory.host.kinds.context;
    assert!(context > Bytes::gib(8) && context < Bytes::gib(9), "{context}");
    assert!(
        plan.settings.checkpoints.is_some(),
        "a window can only go back to a saved state"
    );
    assert!(
        plan.memory
            .host
            .overhead
            .iter()
            .any(|part| part.part == Part::Checkpoints)
    );
}

#[test]
fn case_15_experts_need_memory_in_full_and_time_in_part() {
    let sparse = fixture("qwen3-30b").shape();
    let dense = fixture("qwen3-8b").shape();
    let card = with_card("NVIDIA GeForce RTX 4090", 24_564, 23_900, 64);
    let situation = Situation::of(&card, Some(plimsoll_catalog::Catalog::packaged().unwrap()));
    let wishes = context(8192);
    let (sparse, dense) = (
        plan(&sparse, &situation, &wishes).unwrap(),
        plan(&dense, &situation, &wishes).unwrap(),
    );
    assert_eq!(sparse.verdict, Verdict::Fits);
    assert!(sparse.memory.devices[0].need.kinds.weights > Bytes::gib(17));
    assert!(sparse.model.active_parameters < dense.model.parameters / 2);
    let (fast, slow) = (sparse.speed.unwrap().decode, dense.speed.unwrap().decode);
    assert!(
        fast.mid > slow.mid,
        "{} words a second against {}",
        fast.mid,
        slow.mid
    );
}

#[test]
fn case_16_a_projector_is_priced() {
    let shape = fixture("llama-3.1-8b").shape();
    let card = with_card("NVIDIA GeForce RTX 4070", 12_282, 11_600, 32);
    let wishes = Wishes {
        projector: Some(Bytes::mib(850)),
        ..context(8192)
    };
    let with = make(&shape, &card, &wishes);
    let without = make(&shape, &card, &context(8192));
    assert_eq!(with.memory.devices[0].need.projector, Bytes::mib(850));
    let more = with.memory.devices[0]
        .need
        .total()
        .less(without.memory.devices[0].need.total());
    assert_eq!(more, Bytes::mib(850));
}

#[test]
fn case_17_what_our_own_model_holds_counts_as_free() {
    let shape = fixture("llama-3.1-8b").shape();
    let card = with_card("NVIDIA GeForce RTX 4070", 12_282, 2_000, 32);
    assert_ne!(make(&shape, &card, &Wishes::default()).verdict, Verdict::Fits);
    let held = Held {
        host: Bytes::ZERO,
        devices: vec![("gpu0".to_owned(), Bytes::mib(9_200))],
    };
    let situation = Situation {
        held,
        ..Situation::of(&card, None)
    };
    assert_eq!(
        plan(&shape, &situation, &Wishes::default()).unwrap().verdict,
        Verdict::Fits
    );
}

#[test]
fn case_18_a_large_vocabulary_times_a_large_batch_is_priced() {
    let shape = fixture("gemma-3-12b").shape();
    let ask = |outputs| Wishes {
        batch: Some(2048),
        ubatch: Some(2048),
        outputs: Some(outputs),
        ..context(8192)
    };
    let big = processor_only(64, 8, None);
    let bench = make(&shape, &big, &ask(Outputs::Bench)).memory.host.kinds.compute;
    let server = make(&shape, &big, &ask(Outputs::Server))
        .memory
        .host
        .kinds
        .compute;
    let logits = Bytes(4 * 262_208 * 2048);
    assert!(bench > logits, "{bench} holds {logits}");
    assert!(server < logits, "a server keeps one row a slot: {server}");
}

#[test]
fn case_19_a_header_with_nonsense_is_a_typed_error() {
    let good = fixture("llama-3.1-8b").header();
    let set = |key: &str, value: Value| {
        let mut metadata = plimsoll_gguf::Metadata::default();
        for (known, old) in good.metadata.iter() {
            if known != key {
                metadata.insert(known.to_owned(), old.clone());
            }
        }
        metadata.insert(key.to_owned(), value);
        Shape::from_header(&Header {
            metadata,
            ..good.clone()
        })
    };
    let field = |result: Result<Shape, HeaderError>| match result {
        Err(HeaderError::BadField { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    for (key, value) in [
        ("llama.attention.head_count", Value::Unsigned(0)),
        ("llama.block_count", Value::Unsigned(1 << 40)),
        ("llama.block_count", Value::Unsigned(0)),
        ("llama.block_count", Value::Unsigned(33)),
        ("llama.embedding_length", Value::Unsigned(u64::MAX)),
        ("llama.embedding_length", Value::Float(f64::NAN)),
        ("llama.context_length", Value::Unsigned(0)),
        ("llama.context_length", Value::Signed(-5)),
        (
            "llama.attention.head_count_kv",
            Value::Array(Array {
                len: 1,
                items: vec![Value::Unsigned(8)],
            }),
        ),
        ("general.architecture", Value::Text(String::new())),
    ] {
        assert_eq!(field(set(key, value.clone())), key, "{value:?}");
    }
    let empty = Header {
        tensors: Vec::new(),
        ..good.clone()
    };
    assert_eq!(field(Shape::from_header(&empty)), "llama.block_count");
}

#[test]
fn case_20_a_context_beyond_the_trained_one_is_capped_with_the_reason() {
    let shape = fixture("SmolLM2").shape();
    let plan = make(&shape, &processor_only(64, 8, None), &context(100_000));
    assert_eq!(plan.settings.context, 8192);
    assert!(plan.why.contains(&Why::ContextCapped {
        asked: 100_000,
        trained: 8192
    }));
    // Two slots share twice as much.
    let wishes = Wishes {
        slots: Some(2),
        ..context(100_000)
    };
    assert_eq!(
        make(&shape, &processor_only(64, 8, None), &wishes)
            .settings
            .context,
        16_384
    );
}

#[test]
fn case_21_a_mac_keeps_its_reserve() {
    let mac = machine(&json!({
        "os": { "name": "macos", "version": "15", "arch": "aarch64" },
        "cpu": { "name": "Apple M3 Max", "physicalCores": 16, "logicalCores": 16, "features": ["asimddp"] },
        "memory": { "totalBytes": 64 * GIB, "availableBytes": 58 * GIB },
        "devices": [{ "id": "metal", "name": "Apple M3 Max", "vendor": "Apple", "kind": "unified",
                      "backends": ["metal"], "totalBytes": 48 * GIB, "freeBytes": 48 * GIB }],
    }));
    let shape = fixture("qwen3-30b").shape();
    let plan = make(&shape, &mac, &context(262_144));
    let all = plan.memory.devices[0].need.total().plus(plan.memory.host.total());
    match plan.verdict {
        Verdict::Fits | Verdict::Spills => {
            assert!(all <= Bytes::gib(56), "{all} of 64 GiB leave 8 to the system");
        }
        Verdict::TooBig => assert!(all > Bytes::gib(48), "{all}"),
    }
    assert!(plan.why.contains(&Why::ReserveKept {
        reserve: Bytes::gib(8)
    }));
    assert_eq!(
        plan.settings.load_mode,
        LoadMode::Map,
        "Metal computes from the mapped file"
    );
}

#[test]
fn case_22_a_long_prompt_on_a_slow_machine_has_its_time() {
    let shape = fixture("llama-3.1-8b").shape();
    let wishes = Wishes {
        prompt_tokens: Some(19_600),
        ..Wishes::default()
    };
    let speed = make(&shape, &processor_only(32, 4, Some(40_000_000_000)), &wishes)
        .speed
        .unwrap();
    assert_eq!(speed.prompt_tokens, 19_600);
    let answer = 300.0 / speed.decode.mid;
    assert!(
        speed.first_token_s.mid > 2.0 * answer,
        "reading is most of the turn"
    );
    assert!(
        speed.first_token_s.low < speed.first_token_s.mid
            && speed.first_token_s.mid < speed.first_token_s.high
    );
}

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

#[test]
fn a_machine_without_a_bandwidth_has_no_speed() {
    let plan = make(
        &fixture("SmolLM2").shape(),
        &processor_only(16, 4, None),
        &Wishes::default(),
    );
    assert_eq!(plan.speed, None);
    assert!(plan.why.contains(&Why::BandwidthUnknown {
        part: "memory".into()
    }));
    assert_eq!(
        plan.settings.batch, 128,
        "a piece that a slow processor reads in well under a second"
    );
}

#[test]
fn pieces_of_a_prompt_take_well_under_a_second() {
    for (cores, bandwidth) in [(2, 12_000_000_000), (8, 60_000_000_000), (64, 400_000_000_000)] {
        for model in ["SmolLM2", "llama-3.1-8b", "qwen3-30b"] {
            let box_ = processor_only(64, cores, Some(bandwidth));
            let plan = make(&fixture(model).shape(), &box_, &Wishes::default());
            let seconds = f64::from(plan.settings.batch) / plan.speed.unwrap().prefill.mid;
            assert!(
                seconds < 0.5 || plan.settings.batch == 32,
                "{model} on {cores}: {seconds}"
            );
        }
    }
}

#[test]
fn measured_runs_move_the_speed_and_narrow_its_range() {
    let shape = fixture("qwen3-8b").shape();
    let box_ = processor_only(32, 8, Some(60_000_000_000));
    let table = make(&shape, &box_, &Wishes::default()).speed.unwrap();
    let anchor = Anchor::of(fixture("SmolLM2").shape(), Some(300.0), Some(3000.0)).unwrap();
    let situation = Situation {
        anchors: vec![anchor],
        ..Situation::of(&box_, None)
    };
    let measured = plan(&shape, &situation, &Wishes::default()).unwrap();
    assert!(measured.why.contains(&Why::SpeedMeasured { runs: 1 }));
    let measured = measured.speed.unwrap();
    assert_eq!((table.basis, measured.basis), (Basis::Table, Basis::Measured));
    let width = |range: plimsoll_planner::Range| range.high / range.low;
    assert!(width(measured.decode) < width(table.decode));
    assert!(Anchor::of(shape, Some(f64::NAN), Some(-1.0)).is_none());
}

#[test]
fn wishes_without_sense_are_refused() {
    let shape = fixture("SmolLM2").shape();
    let box_ = processor_only(16, 4, None);
    let ask = |wishes: Wishes| plan(&shape, &Situation::of(&box_, None), &wishes);
    for wishes in [
        Wishes {
            context: Some(0),
            ..Wishes::default()
        },
        Wishes {
            slots: Some(0),
            ..Wishes::default()
        },
        Wishes {
            slots: Some(100_000),
            ..Wishes::default()
        },
        Wishes {
            batch: Some(0),
            ..Wishes::default()
        },
        Wishes {
            tensor_split: Some(vec![1.0, f64::NAN]),
            ..Wishes::default()
        },
        Wishes {
            tensor_split: Some(vec![-1.0]),
            ..Wishes::default()
        },
        Wishes {
            tensor_split: Some(vec![1.0; 99]),
            ..Wishes::default()
        },
    ] {
        assert!(
            matches!(ask(wishes.clone()), Err(PlanError::OutOfRange { .. })),
            "{wishes:?}"
        );
    }
    assert!("q5_1".parse::<CacheType>().is_err());
}

#[test]
fn the_arguments_leave_the_engine_nothing_to_choose() {
    let card = with_card("NVIDIA GeForce RTX 4060", 8188, 7700, 32);
    let plan = make(&fixture("llama-3.1-8b").shape(), &card, &context(8192));
    insta::assert_snapshot!(plan.settings.arguments().join(" "), @"--ctx-size 8192 --parallel 1 --batch-size 512 --ubatch-size 512 --cache-type-k f16 --cache-type-v f16 --flash-attn on --n-gpu-layers 33 --cache-ram 1024 --fit off --load-mode none");
    let wishes = Wishes {
        slots: Some(4),
        kv: Some(CacheType::Q8_0),
        cache_ram: Some(Bytes::mib(512)),
        ..context(8192)
    };
    let plan = make(
        &fixture("gemma-3-270m").shape(),
        &processor_only(16, 4, None),
        &wishes,
    );
    insta::assert_snapshot!(plan.settings.arguments().join(" "), @"--ctx-size 8192 --parallel 4 --batch-size 128 --ubatch-size 128 --cache-type-k q8_0 --cache-type-v q8_0 --flash-attn on --n-gpu-layers 0 --cache-ram 512 --fit off --load-mode none --kv-unified --device none --ctx-checkpoints 4");
}
