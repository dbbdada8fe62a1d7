//! What planning costs: one model, and the whole catalog, each for one machine.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a bench that cannot start may end"
)]

#[path = "../tests/it/machines.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod machines;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use plimsoll_catalog::Catalog;
use plimsoll_planner::memory::{HostCpu, Load, MemoryBackend, Pool, breakdown};
use plimsoll_planner::{CacheType, Outputs, Release, Shape, Situation, Wishes, plan};
use plimsoll_units::Bytes;

fn one_model(c: &mut Criterion) {
    let catalog = Catalog::packaged().expect("the packaged catalog");
    let card = machines::with_card("NVIDIA GeForce RTX 4060", 8_188, 7_700, 32);
    let situation = Situation::of(&card, Some(catalog));
    for name in [
        "llama-3.1-8b",
        "qwen3-30b",
        "gemma-3-12b",
        "qwen3.6-27b",
        "gpt-oss-20b",
    ] {
        let shape = machines::fixture(name).shape();
        c.bench_function(&format!("plan {name} for an 8 GB card"), |b| {
            b.iter(|| plan(black_box(&shape), &situation, &Wishes::default()));
        });
    }
    let shape = machines::fixture("llama-3.1-8b").shape();
    let pools = [Pool {
        backend: MemoryBackend::Cuda,
        free: Bytes::gib(24),
    }];
    let load = Load {
        context: 8192,
        slots: 1,
        unified: true,
        key_type: CacheType::F16,
        value_type: CacheType::F16,
        batch: 2048,
        ubatch: 512,
        flash_attention: true,
        outputs: Outputs::Server,
        gpu_layers: 999,
        tensor_split: Vec::new(),
        host_experts: 0,
        rollback: 0,
    };
    c.bench_function("breakdown llama-3.1-8b", |b| {
        b.iter(|| {
            breakdown(
                black_box(&shape),
                &load,
                &pools,
                HostCpu::plain(),
                Release::CHECKED,
            )
        });
    });
}

fn whole_catalog(c: &mut Criterion) {
    let catalog = Catalog::packaged().expect("the packaged catalog");
    let shapes: Vec<Shape> = catalog
        .models()
        .filter_map(|model| Some(Shape::from_catalog(model, model.variant(None)?)))
        .collect();
    let card = machines::with_card("NVIDIA GeForce RTX 3060", 12_288, 11_700, 32);
    let situation = Situation::of(&card, Some(catalog));
    c.bench_function(&format!("plan all {} models of the catalog", shapes.len()), |b| {
        b.iter(|| {
            for shape in &shapes {
                let _ = black_box(plan(shape, &situation, &Wishes::default()));
            }
        });
    });
}

criterion_group!(benches, one_model, whole_catalog);
criterion_main!(benches);
