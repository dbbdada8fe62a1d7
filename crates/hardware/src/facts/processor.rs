//! What the processor says it can do, by its own instruction for that: the only way on Windows, and the same on
//! every system.

/// Those that decide which build of an engine runs and how fast, in the spelling of Linux.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub(super) fn features() -> Vec<&'static str> {
    use std::arch::is_x86_feature_detected as has;
    [
        ("ssse3", has!("ssse3")),
        ("sse4_2", has!("sse4.2")),
        ("avx", has!("avx")),
        ("f16c", has!("f16c")),
        ("fma", has!("fma")),
        ("avx2", has!("avx2")),
        ("bmi2", has!("bmi2")),
        ("avx_vnni", has!("avxvnni")),
        ("avx512f", has!("avx512f")),
        ("avx512bw", has!("avx512bw")),
        ("avx512vl", has!("avx512vl")),
        ("avx512vbmi", has!("avx512vbmi")),
        ("avx512_vnni", has!("avx512vnni")),
        ("avx512_bf16", has!("avx512bf16")),
        ("avx512_fp16", has!("avx512fp16")),
    ]
    .into_iter()
    .filter_map(|(name, has)| has.then_some(name))
    .collect()
}

#[cfg(target_arch = "aarch64")]
pub(super) fn features() -> Vec<&'static str> {
    use std::arch::is_aarch64_feature_detected as has;
    [
        ("asimd", has!("neon")),
        ("asimddp", has!("dotprod")),
        ("asimdhp", has!("fp16")),
        ("i8mm", has!("i8mm")),
        ("bf16", has!("bf16")),
        ("sve", has!("sve")),
        ("sve2", has!("sve2")),
    ]
    .into_iter()
    .filter_map(|(name, has)| has.then_some(name))
    .collect()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
pub(super) fn features() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    /// The kernel asks the same instruction, and hides what it was told to hide.
    #[test]
    fn what_the_kernel_lists_of_these_the_processor_has() {
        let listed = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags = listed.lines().find(|line| line.starts_with("flags")).unwrap();
        let features = super::features();
        for name in ["avx2", "fma", "avx512f", "avx512_vnni"] {
            let kernel = flags.split_ascii_whitespace().any(|flag| flag == name);
            assert_eq!(features.contains(&name), kernel, "{name}");
        }
    }
}
