//! Shapes made from catalog facts, against the sizes of the published files and against real headers.

use plimsoll_catalog::Catalog;
use plimsoll_planner::memory::{HostCpu, Load, breakdown};
use plimsoll_planner::{CacheType, Outputs, Release, Shape};
use plimsoll_units::Bytes;

use crate::machines::fixture;

fn bare(context: u32) -> Load {
    Load {
        context,
        slots: 1,
        unified: true,
        key_type: CacheType::F16,
        value_type: CacheType::F16,
        batch: 512,
        ubatch: 512,
        flash_attention: true,
        outputs: Outputs::Server,
        gpu_layers: 0,
        tensor_split: Vec::new(),
        host_experts: 0,
        rollback: 0,
    }
}

/// All weights once, as on a host that copies nothing.
fn weights(shape: &Shape) -> Bytes {
    breakdown(shape, &bare(512), &[], HostCpu::plain(), Release::CHECKED)
        .host
        .weights
}

#[test]
fn the_facts_of_every_entry_make_its_file() {
    let mut wrong = Vec::new();
    for model in Catalog::packaged().unwrap().models() {
        for variant in &model.variants {
            let shape = Shape::from_catalog(model, variant);
            // The tokenizer is the rest of the file.
            let file = variant
                .bytes()
                .less(Bytes(36 * u64::from(model.shape.vocabulary)));
            let part = weights(&shape).as_f64() / file.as_f64();
            println!("{:32} {:12} {part:.4} of the file", model.id, variant.quant);
            // Layers that only draft are in the file, and stay there.
            let drafts = model.shape.mtp_layers.unwrap_or(0) > 0;
            let least = if drafts { 0.96 } else { 0.98 };
            if !(least..=1.02).contains(&part) {
                wrong.push(format!("{} {}: {part:.4}", model.id, variant.quant));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_real_files_are_as_the_catalog_says() {
    let catalog = Catalog::packaged().unwrap();
    for (id, file) in [
        ("smollm2-135m-instruct", "SmolLM2"),
        ("qwen2.5-coder-0.5b-instruct", "Qwen2.5-Coder"),
        ("gemma-3-270m", "gemma-3-270m"),
    ] {
        let (model, variant) = catalog.find(id).unwrap();
        let planned = Shape::from_catalog(model, variant);
        let real = fixture(file).shape();
        assert_eq!(planned.architecture, real.architecture);
        assert_eq!(planned.context_trained, real.context_trained);
        assert_eq!(planned.file_bytes, real.file_bytes);
        let (planned, real) = [&planned, &real]
            .map(|shape| breakdown(shape, &bare(4096), &[], HostCpu::plain(), Release::CHECKED).host)
            .into();
        assert_eq!(
            planned.context, real.context,
            "{id}: the cache follows from the shape"
        );
        let off = planned.weights.0.abs_diff(real.weights.0);
        assert!(
            off < real.weights.0 / 50,
            "{id}: weights {} for {}",
            planned.weights,
            real.weights
        );
        let off = planned.compute.0.abs_diff(real.compute.0);
        assert!(
            off <= 1 << 20,
            "{id}: compute {} for {}",
            planned.compute,
            real.compute
        );
    }
}
