//! The packaged data, and what a lookup finds in it.

#![expect(clippy::expect_used, reason = "a test stops where its ground is missing")]

use plimsoll_catalog::{Ability, Asset, Catalog};
use plimsoll_units::{Bytes, BytesPerSecond};

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
fn what_asks_for_consent_says_so() {
    for model in catalog().models() {
        let asks = model.licence.name.contains("Gemma") || model.licence.name.contains("Llama");
        assert_eq!(model.licence.consent, asks, "{}", model.id);
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
}
