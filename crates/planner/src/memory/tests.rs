//! What is worked out quickly against what is worked out in full, over the catalog and settings at random.

use plimsoll_catalog::Catalog;
use proptest::prelude::*;

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

/// The compute buffers from every layer.
fn in_full(layout: &Layout) -> Vec<Bytes> {
    let batch = batch(layout.shape, layout.load, layout.release);
    let devices = layout.pools.iter().map(|pool| pool.backend.traits());
    let backends: Vec<_> = devices.chain([backend::HOST]).collect();
    let kept = Kept::all(layout.shape);
    let sizes = compute::buffers(layout.shape, &kept, &batch, &layout.place(&batch), &backends);
    sizes.unwrap().into_iter().map(Bytes).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn quick_answers_agree_with_full_ones(
        model in 0..shapes().len(),
        backend in prop::sample::select(vec![MemoryBackend::Cuda, MemoryBackend::Vulkan, MemoryBackend::Metal, MemoryBackend::Rpc]),
        devices in prop::collection::vec(1_u64..40, 0..4),
        context in 1_u32..140_000,
        slots in 1_u32..5,
        unified: bool,
        flash in prop::bool::weighted(0.9),
        kind in 0_usize..3,
        ubatch in prop::sample::select(vec![32_u32, 128, 512, 1024]),
        gpu_layers in 0_u32..120,
        host_experts in prop::option::of(0_u32..60),
        rollback in prop::sample::select(vec![0_u32, 0, 3]),
    ) {
        let shape = &shapes()[model];
        let kind = if flash { CacheType::ALL[kind] } else { CacheType::F16 };
        let load = Load {
            context,
            slots,
            unified,
            key_type: kind,
            value_type: kind,
            batch: 1024,
            ubatch,
            flash_attention: flash,
            outputs: Outputs::Server,
            gpu_layers,
            tensor_split: Vec::new(),
            host_experts: host_experts.unwrap_or(0),
            rollback,
        };
        let pools: Vec<Pool> = devices.iter().map(|&gib| Pool { backend, free: Bytes::gib(gib) }).collect();
        let layout = Layout::of(shape, &load, &pools, HostCpu::copying()[0], Release::CHECKED);
        // The cache of the runs is that of their layers, one by one.
        let of_layers = cache_of_layers(shape, &load);
        let mut context = vec![Bytes::ZERO; pools.len() + 1];
        for (bytes, &at) in of_layers.into_iter().zip(&layout.placement.layers) {
            context[usize::from(at)] = context[usize::from(at)].plus(bytes);
        }
        let told = layout.fixed.devices.iter().chain([&layout.fixed.host]).map(|kinds| kinds.context);
        prop_assert_eq!(told.collect::<Vec<_>>(), context);
        // The least is never more than what there is, and what is remembered is what was worked out.
        let compute = layout.compute();
        for (least, full) in layout.compute_least().iter().zip(&compute) {
            prop_assert!(least <= full, "{} at the least, {} in all", least, full);
        }
        let again = in_full(&layout);
        prop_assert_eq!(&compute, &again);
        prop_assert_eq!(layout.compute(), again);
    }
}
