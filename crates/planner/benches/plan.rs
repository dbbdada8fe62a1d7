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
use std::time::Instant;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use plimsoll_catalog::Catalog;
use plimsoll_planner::memory::{HostCpu, Load, MemoryBackend, Pool, breakdown};
use plimsoll_planner::{CacheType, Outputs, Release, Shape, Situation, Wishes, plan, recommend};
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
        c.bench_function(
            &format!("plan {name} for an 8 GB card, for the first time"),
            |b| {
                b.iter_batched(
                    || machines::fixture(name).shape(),
                    |shape| plan(&shape, &situation, &Wishes::default()),
                    BatchSize::SmallInput,
                );
            },
        );
    }
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
    c.bench_function("breakdown llama-3.1-8b, for the first time", |b| {
        b.iter_batched(
            || machines::fixture("llama-3.1-8b").shape(),
            |shape| breakdown(&shape, &load, &pools, HostCpu::plain(), Release::CHECKED),
            BatchSize::SmallInput,
        );
    });
}

fn whole_catalog(c: &mut Criterion) {
    let catalog = Catalog::packaged().expect("the packaged catalog");
    let made = || -> Vec<Shape> {
        let models = catalog.models();
        models
            .filter_map(|model| Some(Shape::from_catalog(model, model.variant(None)?)))
            .collect()
    };
    let shapes = made();
    let card = machines::with_card("NVIDIA GeForce RTX 3060", 12_288, 11_700, 32);
    let situation = Situation::of(&card, Some(catalog));
    c.bench_function(&format!("plan all {} models of the catalog", shapes.len()), |b| {
        b.iter(|| {
            for shape in &shapes {
                let _ = black_box(plan(shape, &situation, &Wishes::default()));
            }
        });
    });
    let title = format!(
        "plan all {} models of the catalog, for the first time",
        shapes.len()
    );
    c.bench_function(&title, |b| {
        b.iter_batched(
            made,
            |shapes| {
                for shape in &shapes {
                    let _ = black_box(plan(shape, &situation, &Wishes::default()));
                }
            },
            BatchSize::SmallInput,
        );
    });
}

/// What comes before the plans, and after them.
fn around(c: &mut Criterion) {
    let catalog = Catalog::packaged().expect("the packaged catalog");
    c.bench_function("shapes of the default variants of the catalog", |b| {
        b.iter(|| {
            for model in catalog.models() {
                let _ = black_box(
                    model
                        .variant(None)
                        .map(|variant| Shape::from_catalog(model, variant)),
                );
            }
        });
    });
    let card = machines::with_card("NVIDIA GeForce RTX 3060", 12_288, 11_700, 32);
    let situation = Situation::of(&card, Some(catalog));
    c.bench_function("recommend from every variant of the catalog", |b| {
        b.iter(|| recommend(black_box(&situation), catalog, &|_, _| false));
    });
}

/// The model of the catalog whose plan takes longest, for each of some machines.
fn dearest(c: &mut Criterion) {
    let catalog = Catalog::packaged().expect("the packaged catalog");
    let shapes: Vec<(&str, Shape)> = catalog
        .models()
        .filter_map(|model| {
            Some((
                model.id.as_str(),
                Shape::from_catalog(model, model.variant(None)?),
            ))
        })
        .collect();
    for (name, mib, ram) in [
        ("NVIDIA GeForce RTX 3060", 12_288, 32),
        ("NVIDIA GeForce RTX 4060", 8_188, 16),
        ("NVIDIA GeForce RTX 4090", 24_564, 64),
    ] {
        let card = machines::with_card(name, mib, mib * 95 / 100, ram);
        let situation = Situation::of(&card, Some(catalog));
        let least = |shape: &Shape| {
            let once = || {
                let began = Instant::now();
                let _ = black_box(plan(shape, &situation, &Wishes::default()));
                began.elapsed()
            };
            (0..30).map(|_| once()).min().unwrap_or_default()
        };
        let slow = shapes.iter().max_by_key(|(_, shape)| least(shape));
        let (id, shape) = slow.expect("a model");
        c.bench_function(&format!("plan {id}, the dearest for {name}"), |b| {
            b.iter(|| plan(black_box(shape), &situation, &Wishes::default()));
        });
    }
}

criterion_group!(benches, one_model, whole_catalog, dearest, around);
criterion_main!(benches);
