use plimsoll_units::Bytes;

use super::LogLine;

/// llama.cpp's kinds of memory, as its log names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferKind {
    Weights,
    /// Key-value cache and recurrent state.
    Context,
    Compute,
    /// Logits; llama.cpp does not count them among its three kinds.
    Output,
}

/// One buffer that the engine says it has allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// llama.cpp's name of the pool: `CPU`, `CPU_Mapped`, `Vulkan0`, `CUDA_Host`, …
    pub pool: String,
    pub kind: BufferKind,
    pub bytes: Bytes,
}

/// The projector works out its own buffer, which is planned apart.
const OF_PROJECTOR: &str = "reserve_compute_meta";
/// What comes after this belongs to the model that drafts, which is planned apart as well.
const DRAFTING: &str = "loading draft model";

/// The buffers of the model itself in these lines of one child (printed at verbosity 4). Equal pool and kind are
/// summed: a model with two caches prints two lines.
#[must_use]
pub(crate) fn buffers<S: AsRef<str>>(lines: &[S]) -> Vec<Buffer> {
    let mut found: Vec<Buffer> = Vec::new();
    for line in lines {
        let text = LogLine::parse(line.as_ref()).text;
        if text.contains(DRAFTING) {
            break;
        }
        let Some(buffer) = buffer(text).filter(|_| !text.starts_with(OF_PROJECTOR)) else {
            continue;
        };
        // The compute buffer is printed again when it is reserved anew: the last figure stands.
        match found
            .iter_mut()
            .find(|have| have.pool == buffer.pool && have.kind == buffer.kind)
        {
            Some(have) if buffer.kind == BufferKind::Compute => have.bytes = buffer.bytes,
            Some(have) => have.bytes = have.bytes.plus(buffer.bytes),
            None => found.push(buffer),
        }
    }
    found
}

/// `load_tensors:   CPU_Mapped model buffer size =    92.10 MiB`
fn buffer(text: &str) -> Option<Buffer> {
    let (before, after) = text.split_once(" buffer size = ")?;
    let words = before.rsplit_once(": ").map_or(before, |(_, words)| words);
    let (pool, kind) = words.trim().rsplit_once(' ')?;
    let kind = match kind {
        "model" => BufferKind::Weights,
        "KV" | "RS" => BufferKind::Context,
        "compute" => BufferKind::Compute,
        "output" => BufferKind::Output,
        _ => return None,
    };
    let mib: f64 = after.trim().strip_suffix("MiB")?.trim().parse().ok()?;
    Some(Buffer {
        pool: pool.trim().to_owned(),
        kind,
        bytes: from_mib(mib)?,
    })
}

/// Layers on devices, of all with the output counted as one: `load_tensors: offloaded 29/29 layers to GPU`. The last
/// load counts; `None` where the engine did not say it, as a build without devices does not.
#[must_use]
pub(crate) fn offloaded<S: AsRef<str>>(lines: &[S]) -> Option<(u32, u32)> {
    lines.iter().rev().find_map(|line| {
        let text = LogLine::parse(line.as_ref()).text;
        let counts = text.split_once("offloaded ")?.1.strip_suffix(" layers to GPU")?;
        let (some, all) = counts.split_once('/')?;
        Some((some.trim().parse().ok()?, all.trim().parse().ok()?))
    })
}

fn from_mib(mib: f64) -> Option<Bytes> {
    // Past a pebibyte it is no memory size; below, the product is exact enough for a figure of two decimals.
    let bytes = (mib.is_finite() && (0.0..1e9).contains(&mib)).then_some(mib * f64::from(1 << 20))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to lie in 0..1e15"
    )]
    Some(Bytes(bytes.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_load_gives_its_buffers() {
        let lines = [
            "0.00.400.306 I load_tensors:          AMX model buffer size =    95.34 MiB",
            "0.00.400.313 I load_tensors:   CPU_Mapped model buffer size =    92.10 MiB",
            "0.00.738.537 I llama_context:        CPU  output buffer size =     0.19 MiB",
            "0.00.738.644 I llama_kv_cache:        CPU KV buffer size =    90.00 MiB",
            "0.00.799.089 I llama_kv_cache: size =   90.00 MiB (  4096 cells,  30 layers,  1/1 seqs)",
            "0.00.804.645 I sched_reserve:        CPU compute buffer size =    17.51 MiB",
        ];
        let found = buffers(&lines);
        let shown: Vec<String> = found
            .iter()
            .map(|buffer| format!("{} {:?} {}", buffer.pool, buffer.kind, buffer.bytes.0))
            .collect();
        assert_eq!(
            shown,
            [
                "AMX Weights 99971236",
                "CPU_Mapped Weights 96573850",
                "CPU Output 199229",
                "CPU Context 94371840",
                "CPU Compute 18360566",
            ]
        );
    }

    /// llama-server b10434 with `SmolLM2`, a projector, and `SmolLM2` once more as what drafts.
    #[test]
    fn what_lies_beside_the_model_is_not_its_own() {
        let own = [
            "0.00.165.156 I load_tensors:          CPU model buffer size =    92.10 MiB",
            "0.00.428.057 I llama_kv_cache:        CPU KV buffer size =    90.00 MiB",
            "0.00.782.702 I sched_reserve:        CPU compute buffer size =     4.66 MiB",
        ];
        let beside = [
            "0.00.837.513 I reserve_compute_meta:        CPU compute buffer size =     6.50 MiB",
            "0.01.247.756 I common_speculative_init_result: loading draft model '/models/small.gguf'",
            "0.01.460.749 I load_tensors:          CPU model buffer size =    92.10 MiB",
            "0.01.801.588 I llama_kv_cache:        CPU KV buffer size =    90.00 MiB",
            "0.02.107.237 I sched_reserve:        CPU compute buffer size =     4.66 MiB",
        ];
        assert_eq!(buffers(&[&own[..], &beside[..]].concat()), buffers(&own));
    }

    #[test]
    fn layers_on_devices_are_counted_by_the_last_load() {
        let lines = [
            "0.00.400.306 I load_tensors: offloaded 12/29 layers to GPU",
            "0.09.400.306 I load_tensors: offloaded 29/29 layers to GPU",
            "0.09.400.306 I load_tensors: offloading output layer to GPU",
        ];
        assert_eq!(offloaded(&lines), Some((29, 29)));
        assert_eq!(offloaded(&lines[2..]), None);
        assert_eq!(
            offloaded(&["load_tensors: offloaded 99999999999/1 layers to GPU"]),
            None
        );
    }

    #[test]
    fn caches_add_up_and_a_repeated_compute_buffer_does_not() {
        let lines = [
            "llama_kv_cache: CUDA0 KV buffer size = 10.00 MiB",
            "llama_kv_cache: CUDA0 KV buffer size = 5.00 MiB",
            "sched_reserve: CUDA0 compute buffer size = 300.00 MiB",
            "sched_reserve: CUDA0 compute buffer size = 200.00 MiB",
            "llama_kv_cache: CUDA0 KV buffer size = NaN MiB",
        ];
        let found = buffers(&lines);
        assert_eq!(found[0].bytes, Bytes::mib(15));
        assert_eq!(found[1].bytes, Bytes::mib(200));
    }
}
