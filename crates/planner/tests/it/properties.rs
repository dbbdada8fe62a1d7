//! What must hold for all machines, wishes and headers.

use plimsoll_gguf::{Header, Metadata, Value};
use plimsoll_planner::memory::{HostCpu, Load, MemoryBackend, Pool, breakdown};
use plimsoll_planner::{CacheType, Outputs, Plan, Release, Shape, Situation, Verdict, Wishes, plan};
use plimsoll_units::Bytes;
use proptest::prelude::*;
use serde_json::json;

use crate::machines::{fixtures, machine};

fn shapes() -> &'static [Shape] {
    static SHAPES: std::sync::OnceLock<Vec<Shape>> = std::sync::OnceLock::new();
    SHAPES.get_or_init(|| fixtures().iter().map(crate::machines::Fixture::shape).collect())
}

/// Sizes in MiB; a card of 0 is none.
fn place(ram: u64, cards: &[u64]) -> plimsoll_hardware::Machine {
    let card = |(number, mib): (usize, &u64)| {
        json!({ "id": format!("gpu{number}"), "name": "NVIDIA GeForce RTX 3090", "vendor": "NVIDIA",
                "kind": "discrete", "backends": ["cuda"], "totalBytes": mib << 20 })
    };
    let cards: Vec<_> = cards.iter().filter(|&&mib| mib > 0).collect();
    machine(&json!({
        "memory": { "totalBytes": ram << 20, "bandwidthBytesPerS": 50_000_000_000_u64 },
        "devices": cards.into_iter().enumerate().map(card).collect::<Vec<_>>(),
    }))
}

fn sound(plan: &Plan) -> Result<(), TestCaseError> {
    if let Some(speed) = &plan.speed {
        for range in [speed.decode, speed.prefill, speed.first_token_s] {
            prop_assert!(range.low.is_finite() && range.high.is_finite() && range.low > 0.0);
            prop_assert!(range.low <= range.mid && range.mid <= range.high);
        }
    }
    prop_assert!(plan.memory.low <= plan.memory.high);
    let needs = || {
        plan.memory
            .devices
            .iter()
            .map(|device| &device.need)
            .chain([&plan.memory.host])
    };
    if plan.verdict != Verdict::TooBig {
        for need in needs() {
            prop_assert!(need.total() <= need.budget, "{} of {}", need.total(), need.budget);
        }
    }
    prop_assert!(plan.settings.context >= 1 && plan.settings.ubatch <= plan.settings.batch.max(1));
    prop_assert!(!plan.why.is_empty());
    Ok(())
}

fn ask(shape: &Shape, place: &plimsoll_hardware::Machine, wishes: &Wishes) -> Plan {
    plan(shape, &Situation::of(place, None), wishes).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn more_memory_never_gives_a_worse_verdict(
        model in 0..shapes().len(),
        ram in 600u64..80_000,
        cards in prop::collection::vec(0u64..30_000, 0..3),
        more_ram in 0u64..20_000,
        more in 0u64..12_000,
        which in 0usize..3,
        context in prop::option::of(512u32..100_000),
    ) {
        let shape = &shapes()[model];
        let wishes = Wishes { context, ..Wishes::default() };
        let before = ask(shape, &place(ram, &cards), &wishes);
        let mut larger = cards.clone();
        // A card that is there grows; a new one would change the question.
        if let Some(card) = larger.get_mut(which).filter(|card| **card > 0) {
            *card += more;
        }
        let after = ask(shape, &place(ram + more_ram, &larger), &wishes);
        sound(&before)?;
        sound(&after)?;
        prop_assert!(after.verdict <= before.verdict, "{:?} became {:?}", before.verdict, after.verdict);
    }

    /// By steps of 1,024: within less llama.cpp's own allocator may find a better gap for a longer mask.
    #[test]
    fn a_longer_context_never_needs_less(
        model in 0..shapes().len(),
        steps in 1u32..30,
        more in 1u32..30,
        slots in 1u32..5,
        kind in 0usize..3,
        devices in 0usize..3,
        ubatch in prop::sample::select(vec![64u32, 128, 512, 1024]),
    ) {
        let pools: Vec<Pool> =
            (0..devices).map(|_| Pool { backend: MemoryBackend::Cuda, free: Bytes::gib(24) }).collect();
        let total = |context: u32| {
            let load = Load {
                context,
                slots,
                unified: true,
                key_type: CacheType::ALL[kind],
                value_type: CacheType::ALL[kind],
                batch: 1024,
                ubatch,
                flash_attention: true,
                outputs: Outputs::Server,
                gpu_layers: 999,
                tensor_split: Vec::new(),
                host_experts: 0,
                rollback: 0,
            };
            let told = breakdown(&shapes()[model], &load, &pools, HostCpu::plain(), Release::CHECKED);
            told.devices.iter().map(|kinds| kinds.total()).sum::<Bytes>().plus(told.host.total())
        };
        let (short, long) = (total(steps * 1024), total((steps + more) * 1024));
        prop_assert!(long >= short, "{short} for {} and {long} for {}", steps * 1024, (steps + more) * 1024);
    }

    #[test]
    fn wishes_never_break_a_plan(
        model in 0..shapes().len(),
        ram in 100u64..60_000,
        cards in prop::collection::vec(200u64..30_000, 0..4),
        context in prop::option::of(1u32..1 << 27),
        slots in prop::option::of(1u32..64),
        kv in prop::option::of(0usize..3),
        batch in prop::option::of(1u32..5000),
        ubatch in prop::option::of(1u32..5000),
        gpu_layers in prop::option::of(any::<u32>()),
        host_experts in prop::option::of(any::<u32>()),
        split in prop::option::of(prop::collection::vec(0.0f64..5.0, 0..5)),
    ) {
        let wishes = Wishes {
            context,
            slots,
            kv: kv.map(|kind| CacheType::ALL[kind]),
            batch,
            ubatch,
            gpu_layers,
            host_experts,
            tensor_split: split,
            ..Wishes::default()
        };
        sound(&ask(&shapes()[model], &place(ram, &cards), &wishes))?;
    }

    /// A header with numbers changed at random is an error or a plan, never nonsense.
    #[test]
    fn no_header_makes_nonsense(
        model in 0..shapes().len(),
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0u32..64), 1..5),
        general in any::<bool>(),
    ) {
        let header = fixtures()[model].header();
        let mut entries: Vec<(String, Value)> =
            header.metadata.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
        for (at, value, shift) in hits {
            let at = at.index(entries.len());
            entries[at].1 = Value::Unsigned(value >> shift);
        }
        let mut metadata = Metadata::default();
        for (key, value) in entries {
            let keep = !general || key != "general.architecture";
            metadata.insert(key, if keep { value } else { Value::Text("novel".into()) });
        }
        if let Ok(shape) = Shape::from_header(&Header { metadata, ..header }) {
            sound(&ask(&shape, &place(16_000, &[8_000]), &Wishes::default()))?;
            sound(&ask(&shape, &place(16_000, &[]), &Wishes { context: Some(1 << 26), ..Wishes::default() }))?;
        }
    }
}
