//! The packaged data, and what a lookup finds in it.

#![expect(clippy::expect_used, reason = "a test stops where its ground is missing")]

use plimsoll_catalog::{Ability, Asset, Catalog, CatalogError, DraftKind, EngineNeedKind, SignedCatalog};
use plimsoll_units::{Bytes, BytesPerSecond};
use serde_json::{Value, json};

fn catalog() -> &'static Catalog {
    Catalog::packaged().expect("the packaged catalog is whole")
}

#[test]
fn the_three_real_models_are_found_by_id_and_by_hash() {
    let real = [
        (
            "smollm2-135m-instruct",
            "Q4_1",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
        (
            "qwen2.5-coder-0.5b-instruct",
            "Q4_K_M",
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        ),
        (
            "gemma-3-270m",
            "Q4_K_M",
            253_113_024,
            "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        ),
    ];
    for (id, quant, bytes, hash) in real {
        let (model, variant) = catalog().find(id).expect("by id");
        assert_eq!(
            (variant.quant.as_str(), variant.bytes()),
            (quant, Bytes(bytes)),
            "{id}"
        );
        let (by_hash, _, file) = catalog()
            .by_sha256(&hash.to_uppercase())
            .expect("by hash, any case");
        assert_eq!(by_hash.id, model.id);
        assert_eq!(
            catalog().by_place(&file.repo, &file.path).expect("by place").0.id,
            model.id
        );
    }
    assert!(catalog().model("gemma-3-270m").expect("known").can(Ability::Base));
}

#[test]
fn a_quant_can_be_named_in_any_case_and_an_unknown_one_is_not_replaced() {
    assert_eq!(catalog().find("Qwen3-1.7B:q8_0").expect("known").1.quant, "Q8_0");
    assert!(catalog().find("qwen3-1.7b:Q9").is_none());
    assert!(catalog().find("no-such-model").is_none());
}

#[test]
fn terms_of_their_own_are_read_first() {
    const OPEN: [&str; 5] = [
        "Apache-2.0",
        "MIT",
        "Modified MIT",
        "NVIDIA Open Model License",
        "OpenMDW-1.1",
    ];
    for model in catalog().models() {
        let open = OPEN.contains(&model.licence.name.as_str());
        assert_eq!(model.licence.consent, !open, "{}", model.id);
        assert!(
            !model.quality.reason.is_empty(),
            "{} has a rank without a reason",
            model.id
        );
    }
}

#[test]
fn a_cuda_build_brings_its_runtime() {
    let engines = &catalog().engines;
    let linux: Vec<&Asset> = engines.for_platform("linux", "x86_64").collect();
    let cuda = linux
        .iter()
        .find(|asset| asset.backend == "cuda")
        .expect("a CUDA build");
    let runtime = engines.runtime_of(cuda).expect("its runtime");
    assert!(runtime.name.starts_with("cudart-") && runtime.toolkit == cuda.toolkit);
    let vulkan = linux
        .iter()
        .find(|asset| asset.backend == "vulkan")
        .expect("a Vulkan build");
    assert!(engines.runtime_of(vulkan).is_none());
}

#[test]
fn every_entry_says_in_german_as_well_what_it_is() {
    for model in catalog().models() {
        let german = model.about_in.get("de").map(String::as_str).unwrap_or_default();
        assert!(
            german.len() >= 10 && german != model.about,
            "{}: {german:?}",
            model.id
        );
    }
}

#[test]
fn bandwidth_is_found_by_words_and_the_longest_name_wins() {
    let find = |name| catalog().bandwidth.find(name).map(|row| row.bytes_per_second);
    assert_eq!(find("NVIDIA GeForce RTX 4090"), Some(BytesPerSecond::gb(1008)));
    assert_eq!(
        find("NVIDIA GeForce RTX 4070 Ti SUPER"),
        Some(BytesPerSecond::gb(672))
    );
    assert_eq!(find("AMD Radeon RX 7900 XT"), Some(BytesPerSecond::gb(800)));
    assert_eq!(find("Apple M1"), Some(BytesPerSecond::gb(68)));
    assert_eq!(find("NVIDIA GB10"), Some(BytesPerSecond::gb(273)));
    // A laptop 4090 has half the bus of the card: unknown is better than wrong.
    assert_eq!(find("NVIDIA GeForce RTX 4090 Laptop GPU"), None);
    assert_eq!(find("llvmpipe (LLVM 15.0.6, 256 bits)"), None);
    assert_eq!(find(""), None);

    // One name, two widths: the memory or the cores tell them apart.
    let build = |name, gib: u64, cores| {
        let memory = (gib > 0).then(|| Bytes::gib(gib).less(Bytes::mib(300)));
        let row = catalog().bandwidth.find_build(name, memory, cores);
        row.map(|row| row.bytes_per_second)
    };
    assert_eq!(build("Apple M3 Max", 36, None), Some(BytesPerSecond::gb(300)));
    assert_eq!(build("Apple M3 Max", 64, None), Some(BytesPerSecond::gb(400)));
    assert_eq!(build("Apple M3 Max", 0, Some(30)), Some(BytesPerSecond::gb(300)));
    assert_eq!(build("Apple M4 Max", 36, None), Some(BytesPerSecond::gb(410)));
    assert_eq!(
        build("NVIDIA GeForce RTX 3060", 8, None),
        Some(BytesPerSecond::gb(240))
    );
    assert_eq!(
        build("NVIDIA GeForce RTX 3060", 12, None),
        Some(BytesPerSecond::gb(360))
    );
    assert_eq!(
        build("Intel(R) Arc(TM) A770 Graphics", 8, None),
        Some(BytesPerSecond::gb(512))
    );
    assert_eq!(
        build("NVIDIA A100-SXM4-80GB", 80, None),
        Some(BytesPerSecond::gb(2039))
    );
    assert_eq!(
        build("NVIDIA GeForce RTX 3060", 0, None),
        Some(BytesPerSecond::gb(360)),
        "the name alone"
    );
}

#[test]
fn every_file_of_models_keeps_to_the_schema() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/models");
    let schema: Value = read(concat!(env!("CARGO_MANIFEST_DIR"), "/schema/models.schema.json"));
    let schema = jsonschema::validator_for(&schema).expect("the schema is one");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is here") {
        let path = entry.expect("readable").path();
        let value = read(path.to_str().expect("plain names"));
        let wrong: Vec<String> = schema
            .iter_errors(&value)
            .map(|error| format!("{} {error}", error.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", path.display());
        assert!(
            value["models"]
                .as_array()
                .is_some_and(|models| models.iter().all(|model| catalog()
                    .model(model["id"].as_str().unwrap_or_default())
                    .is_some())),
            "{} is not packaged",
            path.display()
        );
        files += 1;
    }
    assert!(files > 20, "{files} families");
    // And it does refuse: a hash that is none, a rank beyond the scale, a verified file without a commit.
    let good = read(&format!("{folder}/gpt-oss.json"));
    let spoilt = |pointer: &str, value: Value| {
        let mut copy = good.clone();
        *copy.pointer_mut(pointer).expect("there") = value;
        schema.is_valid(&copy)
    };
    let file = "/models/1/variants/0/files/0";
    assert!(schema.is_valid(&good));
    assert!(!spoilt(&format!("{file}/sha256"), json!("abc")));
    assert!(!spoilt("/models/0/quality/rank", json!(101)));
    assert!(!spoilt(&format!("{file}/revision"), json!("main")));
}

fn read(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("readable")).expect("JSON")
}

#[test]
fn there_is_something_for_every_size_of_machine() {
    let all: Vec<_> = catalog().models().collect();
    assert!(all.len() >= 60, "{} models", all.len());
    // In millions of parameters.
    let between = |from: u64, to: u64| {
        let within = from * 1_000_000..to * 1_000_000;
        all.iter()
            .filter(|model| model.can(Ability::Chat) && within.contains(&model.parameters))
            .count()
    };
    for (from, to, least) in [
        (100, 1_000, 6),
        (1_000, 3_000, 8),
        (3_000, 6_000, 8),
        (6_000, 15_000, 10),
        (15_000, 40_000, 15),
        (40_000, 130_000, 6),
        (130_000, 500_000, 4),
        (500_000, 1_100_000, 3),
    ] {
        let have = between(from, to);
        assert!(
            have >= least,
            "{have} models from {from} to {to} million parameters"
        );
    }
    let several = all.iter().filter(|model| model.variants.len() > 1).count();
    assert!(several >= 25, "{several} models in several sizes");
}

#[test]
fn what_two_projects_did_not_pin_is_not_called_verified() {
    let mut verified = 0;
    for model in catalog().models() {
        for file in model.variants.iter().flat_map(|variant| &variant.files) {
            if file.verified {
                let measured = file.source.contains("measured");
                assert!(
                    measured || file.source.contains("; "),
                    "{}: {}",
                    file.path,
                    file.source
                );
                verified += 1;
            }
            assert!(
                !(file.verified && file.source.contains("memory")),
                "{}",
                file.path
            );
        }
        // What a shape leaves to memory names fields that it has.
        for name in &model.shape.unverified {
            assert!(name.chars().all(char::is_alphanumeric), "{}: {name}", model.id);
        }
    }
    assert!(verified >= 40, "{verified} files");
}

#[test]
fn pictures_need_a_projector_and_a_draft_has_a_kind() {
    let gemma = catalog().model("gemma-4-12b-it").expect("known");
    assert!(gemma.can(Ability::Vision) && gemma.projectors[0].file.bytes > Bytes::mib(100));
    assert_eq!(gemma.drafts[0].kind, DraftKind::Mtp);
    assert_eq!(gemma.engine.as_ref().expect("known").build, 8660);
    assert_eq!(
        gemma.engine.as_ref().expect("known").kind,
        EngineNeedKind::Minimum
    );
}

/// A key pair, and the text of the signature over some bytes.
fn sign(bytes: &[u8]) -> (String, String) {
    let pair = minisign::KeyPair::generate_unencrypted_keypair().expect("keys");
    let signature = minisign::sign(Some(&pair.pk), &pair.sk, bytes, None, None).expect("signed");
    (pair.pk.to_base64(), signature.into_string())
}

fn bundle(change: impl Fn(&mut Value)) -> Vec<u8> {
    let models = read(concat!(env!("CARGO_MANIFEST_DIR"), "/models/gpt-oss.json"))["models"].clone();
    let mut bundle = json!({ "schema": 1, "serial": 7, "issued": "2026-12-24", "models": models });
    change(&mut bundle);
    serde_json::to_vec(&bundle).expect("JSON")
}

#[test]
fn a_newer_catalog_with_unknown_fields_still_loads() {
    let newer = bundle(|bundle| {
        bundle["mirrors"] = json!(["somewhere"]);
        bundle["models"][0]["embodiment"] = json!({ "legs": 4 });
        bundle["models"][0]["variants"][0]["files"][0]["chunks"] = json!([1, 2, 3]);
        let mut alien = bundle["models"][1].clone();
        alien["id"] = json!("of-the-future");
        alien["abilities"] = json!(["chat", "telepathy"]);
        bundle["models"].as_array_mut().expect("a list").push(alien);
    });
    let (key, signature) = sign(&newer);
    let opened = SignedCatalog::open(&newer, &signature, &key).expect("it loads");
    assert_eq!((opened.serial, opened.issued.as_str()), (7, "2026-12-24"));
    assert!(opened.catalog.model("gpt-oss-20b").is_some());
    assert!(
        opened.catalog.model("qwen3-8b").is_none(),
        "the models are the new ones"
    );
    assert_eq!(opened.left_out, ["of-the-future"]);
    assert_eq!(opened.catalog.engines.tag, catalog().engines.tag);
}

#[test]
fn nothing_of_a_catalog_is_used_that_its_publisher_did_not_sign() {
    let good = bundle(|_| {});
    let (key, signature) = sign(&good);
    let (other_key, _) = sign(&good);
    let changed = bundle(|bundle| bundle["serial"] = json!(8));
    let refused = |bytes: &[u8], signature: &str, key: &str| SignedCatalog::open(bytes, signature, key).err();
    assert!(refused(&good, &signature, &key).is_none());
    assert!(matches!(
        refused(&changed, &signature, &key),
        Some(CatalogError::Signature(_))
    ));
    assert!(matches!(
        refused(&good, &signature, &other_key),
        Some(CatalogError::Signature(_))
    ));
    assert!(matches!(
        refused(&good, "no signature", &key),
        Some(CatalogError::Signature(_))
    ));
    assert!(matches!(
        refused(&good, &signature, "no key"),
        Some(CatalogError::Key(_))
    ));
    let empty = bundle(|bundle| bundle["models"] = json!([{ "id": "x" }]));
    let (key, signature) = sign(&empty);
    assert!(matches!(
        refused(&empty, &signature, &key),
        Some(CatalogError::Empty)
    ));
    let later = bundle(|bundle| bundle["schema"] = json!(2));
    let (key, signature) = sign(&later);
    assert!(matches!(
        refused(&later, &signature, &key),
        Some(CatalogError::Schema { found: 2 })
    ));
}

#[test]
fn every_provider_says_what_it_speaks_and_where_that_is_written() {
    use plimsoll_catalog::{CacheMapping, Protocol, ReasoningCarrier};
    let ids: Vec<&str> = catalog()
        .providers
        .iter()
        .map(|provider| provider.id.as_str())
        .collect();
    for id in [
        "openai",
        "anthropic",
        "openrouter",
        "groq",
        "deepseek",
        "gemini",
        "vllm",
        "sglang",
        "lm-studio",
        "ollama",
        "llama-server",
        "custom",
    ] {
        assert!(ids.contains(&id), "{id}");
    }
    for provider in &catalog().providers {
        let carrier = provider.dialect.reasoning;
        let fits = match provider.protocol {
            Protocol::OpenaiChat => !matches!(
                carrier,
                ReasoningCarrier::EncryptedItems | ReasoningCarrier::Signatures
            ),
            Protocol::OpenaiResponses => {
                matches!(carrier, ReasoningCarrier::None | ReasoningCarrier::EncryptedItems)
            }
            Protocol::AnthropicMessages => {
                matches!(carrier, ReasoningCarrier::None | ReasoningCarrier::Signatures)
            }
        };
        assert!(fits, "{}: {carrier:?} has no place in its protocol", provider.id);
    }
    // A mapping is declared, model by model where it has to be.
    let openai = catalog().provider("openai").unwrap();
    assert_eq!(openai.dialect_of("gpt-5").cache, CacheMapping::None);
    assert_eq!(
        openai.dialect_of("gpt-5.6-sol").cache,
        CacheMapping::OpenaiBreakpoints
    );
    assert_eq!(openai.dialect_of("who-knows").cache, CacheMapping::None);
    // One that does not think has no thoughts to seal, and refuses to be asked for them.
    assert_eq!(openai.dialect_of("gpt-4o").reasoning, ReasoningCarrier::None);
}
