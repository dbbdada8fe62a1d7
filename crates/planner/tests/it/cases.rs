//! Cases that broke others: 13 to 23 of the list.

use plimsoll_gguf::{Array, Header, HeaderError, Value};
use plimsoll_planner::{
    CacheType, Held, LoadMode, Outputs, Part, Plan, Projector, Shape, Situation, Verdict, Why, Wishes, plan,
};
use plimsoll_units::Bytes;
use serde_json::json;

use crate::machines::{GIB, codes, context, fixture, machine, make, processor_only, with_card};

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
        projector: Some(Projector::of_size(Bytes::mib(680))),
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
fn case_23_two_that_fit_alone_are_admitted_by_their_bytes() {
    let first = fixture("llama-3.1-8b").shape();
    let second = fixture("qwen3-8b").shape();
    let card = with_card("NVIDIA GeForce RTX 4070", 12_282, 11_600, 32);
    let asked = context(16_384);
    let alone = [&first, &second].map(|shape| make(shape, &card, &asked));
    let of_device = |plan: &Plan| plan.memory.devices[0].need.total();
    for plan in &alone {
        assert_eq!(plan.verdict, Verdict::Fits);
    }
    let budget = alone[1].memory.devices[0].need.budget;
    let both = of_device(&alone[0]).plus(of_device(&alone[1]));
    assert!(both > budget, "{both} together, {budget} may be used");
    // While the first works, its bytes are gone, and the second is planned around them.
    let held = of_device(&alone[0]);
    let busy = with_card("NVIDIA GeForce RTX 4070", 12_282, 11_600 - (held.0 >> 20), 32);
    let beside = make(&second, &busy, &asked);
    assert_eq!(beside.verdict, Verdict::Spills);
    assert!(of_device(&beside).plus(held) <= Bytes::mib(11_600));
    // When it is idle it is unloaded first: what it holds counts as free.
    let situation = Situation {
        held: Held {
            host: Bytes::ZERO,
            devices: vec![("gpu0".to_owned(), held)],
        },
        ..Situation::of(&busy, None)
    };
    let instead = plan(&second, &situation, &asked).unwrap();
    assert_eq!(instead.verdict, Verdict::Fits);
    // Two small ones stay together: bytes count, not models.
    let small = fixture("SmolLM2").shape();
    assert_eq!(make(&small, &busy, &context(4_096)).verdict, Verdict::Fits);
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
