//! The quick search beside one that works everything out: every layer of every graph, every number of layers or
//! experts on the host from the first on, nothing declined beforehand.

use plimsoll_catalog::Catalog;
use plimsoll_hardware::Machine;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn shapes() -> &'static [Shape] {
    static SHAPES: std::sync::OnceLock<Vec<Shape>> = std::sync::OnceLock::new();
    SHAPES.get_or_init(|| {
        let models = Catalog::packaged().unwrap().models();
        models
            .filter_map(|model| Some(Shape::from_catalog(model, model.variant(None)?)))
            .collect()
    })
}

fn plodding(shape: &Shape) -> Shape {
    Shape {
        looks: Vec::new(),
        memo: crate::memory::Memo::default(),
        ..shape.clone()
    }
}

fn machine(kind: &str, backend: &str, devices: &[u64], ram_gib: u64) -> Machine {
    let shared = kind == "unified";
    let devices = &devices[..devices.len().min(if shared { 1 } else { 8 })];
    let device = |(number, &mib): (usize, &u64)| {
        let mib = if shared { mib.min(ram_gib * 768) } else { mib };
        json!({ "id": format!("gpu{number}"), "name": "card", "vendor": "", "kind": kind, "backends": [backend],
                "totalBytes": mib << 20, "freeBytes": (mib - mib / 32) << 20,
                "bandwidthBytesPerS": 400_000_000_000_u64 })
    };
    let machine = json!({
        "os": { "name": "linux", "version": "12", "arch": "x86_64" },
        "cpu": { "name": "some processor", "physicalCores": 8, "logicalCores": 16, "features": ["avx2"] },
        "memory": { "totalBytes": ram_gib << 30, "bandwidthBytesPerS": 60_000_000_000_u64 },
        "devices": devices.iter().enumerate().map(device).collect::<Vec<_>>(),
    });
    Machine::from_json(machine.to_string().as_bytes()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_quick_search_plans_what_the_plodding_one_does(
        model in 0..shapes().len(),
        (kind, backend) in prop::sample::select(vec![
            ("discrete", "cuda"), ("discrete", "cuda"), ("discrete", "vulkan"), ("remote", "rpc"), ("unified", "metal"),
        ]),
        devices in prop::collection::vec(3_000_u64..40_000, 0..3),
        ram in prop::sample::select(vec![8_u64, 16, 32, 64, 128]),
        goal in prop::sample::select(vec![Goal::Balanced, Goal::Balanced, Goal::Fastest]),
        context in prop::option::weighted(0.3, 1_000_u32..80_000),
        slots in prop::sample::select(vec![None, Some(4)]),
    ) {
        let shape = &shapes()[model];
        let here = machine(kind, backend, &devices, ram);
        let situation = Situation::of(&here, None);
        let wishes = Wishes { goal, context, slots, ..Wishes::default() };
        let quick = plan(shape, &situation, &wishes).unwrap();
        let slow = plan(&plodding(shape), &situation, &wishes).unwrap();
        prop_assert_eq!(quick, slow);
    }
}
