use std::ffi::OsString;
use std::path::Path;

use plimsoll_os::Environment;

/// What a program needs to run at all.
const SYSTEM: [&str; 15] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "PATH",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USERPROFILE",
    "WINDIR",
    "APPDATA",
    "LOCALAPPDATA",
    "XDG_RUNTIME_DIR",
];
/// What tells backends which devices they may see and where their drivers lie.
const DEVICES: [&str; 12] = [
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "ONEAPI_DEVICE_SELECTOR",
    "ZE_AFFINITY_MASK",
    "SYCL_DEVICE_FILTER",
    "OCL_ICD_VENDORS",
    "MESA_VK_DEVICE_SELECT",
];
const DEVICE_PREFIXES: [&str; 2] = ["GGML_", "VK_"];

/// The whole environment of an engine: nothing that is not listed here, so no key and no token of the person.
/// `LLAMA_ARG_*` is left out on purpose: it would override the plan.
#[must_use]
pub(super) fn engine_environment(ours: &Environment, folder: &Path) -> Vec<(OsString, OsString)> {
    let mut pairs = ours.only(&SYSTEM);
    pairs.extend(ours.only(&DEVICES));
    pairs.extend(ours.starting_with(&DEVICE_PREFIXES));
    pairs.retain(|(name, _)| !is_secret(&name.to_string_lossy()));
    // Its own libraries first, and only those: what else lies in the person's path may be another build's.
    let libraries = if cfg!(target_os = "macos") {
        "DYLD_LIBRARY_PATH"
    } else {
        "LD_LIBRARY_PATH"
    };
    if !cfg!(windows) {
        pairs.push((libraries.into(), folder.as_os_str().to_owned()));
    }
    pairs
}

fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD"]
        .iter()
        .any(|word| upper.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_foreign_settings_stay_out() {
        let ours = Environment::from_pairs([
            ("PATH", "/bin"),
            ("OPENAI_API_KEY", "sk-1"),
            ("HF_TOKEN", "hf"),
            ("LLAMA_API_KEY", "x"),
            ("LLAMA_ARG_CTX_SIZE", "9"),
            ("LD_LIBRARY_PATH", "/other/build"),
            ("CUDA_VISIBLE_DEVICES", ""),
            ("GGML_VK_VISIBLE_DEVICES", "0"),
            ("GGML_SECRET_TOKEN", "no"),
            ("LD_PRELOAD", "evil.so"),
        ]);
        let mut got: Vec<String> = engine_environment(&ours, Path::new("/engine"))
            .into_iter()
            .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
            .collect();
        got.sort();
        let mut want = vec!["CUDA_VISIBLE_DEVICES=", "GGML_VK_VISIBLE_DEVICES=0", "PATH=/bin"];
        if cfg!(target_os = "linux") {
            want.insert(2, "LD_LIBRARY_PATH=/engine");
        }
        if !cfg!(windows) && !cfg!(target_os = "macos") {
            assert_eq!(got, want);
        }
    }
}
