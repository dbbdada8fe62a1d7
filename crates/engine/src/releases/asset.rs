//! What the name of a release's file says: `llama-b11459-bin-ubuntu-cuda-13.4-x64.tar.gz`.
//!
//! The names are read by rules and not by a list: toolkits move with every month, and words were renamed before
//! (`hip-radeon` became `rocm-7.2`). A word that no rule knows makes the build one that is never taken.

use std::fmt;

/// What a file of a release is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssetName {
    /// Holds llama-server.
    Engine(Build),
    /// The libraries of a toolkit, for the engine of the same platform and toolkit.
    Runtime(Build),
    /// The page, Apple's framework, and what else is no build.
    Other,
}

/// For what a build is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// `linux`, `macos` or `windows`; another word of the name for other systems, such as `android`.
    pub os: String,
    /// `x86_64`, `aarch64` or another word; empty where the name has none.
    pub arch: String,
    pub backing: Backing,
    pub toolkit: Option<Toolkit>,
    /// What stands beside these: `fp16` of SYCL, `avx512` of builds for one kind of processor.
    pub variant: Option<String>,
}

/// What a build computes with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backing {
    Cpu,
    Cuda,
    Rocm,
    Vulkan,
    Metal,
    Sycl,
    /// Known, and never chosen: they drive nothing that another build does not drive better.
    OpenVino,
    OpenCl,
    /// Words that no rule knows.
    Unknown(String),
}

/// Version of a toolkit; the parts after the second do not decide whether a driver fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Toolkit {
    pub major: u32,
    pub minor: u32,
}

impl Toolkit {
    /// Of `13.4` or `2026.4.1`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts
            .all(|part| part.parse::<u32>().is_ok())
            .then_some(Self { major, minor })
    }
}

impl fmt::Display for Toolkit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl AssetName {
    /// Reads any name; nothing about it is an error.
    #[must_use]
    pub fn read(name: &str) -> Self {
        let stem = [".tar.gz", ".tgz", ".tar.xz", ".zip"]
            .iter()
            .find_map(|ending| name.strip_suffix(ending));
        let Some(stem) = stem else { return Self::Other };
        // The tag may stand in the name or not: `cudart-llama-bin-win-…` has none.
        let (engine, rest) = match (stem.strip_prefix("cudart-llama"), stem.strip_prefix("llama")) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => return Self::Other,
        };
        let Some((_, words)) = rest.split_once("-bin-") else {
            return Self::Other;
        };
        let build = Build::read(words);
        if engine {
            Self::Engine(build)
        } else {
            Self::Runtime(build)
        }
    }
}

impl Build {
    /// Of `ubuntu-cuda-13.4-x64`: system first, processor somewhere behind, the rest is what it computes with.
    fn read(words: &str) -> Self {
        let words: Vec<&str> = words.split('-').collect();
        let at = words.iter().rposition(|word| arch_of(word).is_some());
        let arch = at.and_then(|at| arch_of(words[at])).unwrap_or_default();
        let os = os_of(words[0]);
        let rest: Vec<&str> = words
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != 0 && Some(*place) != at)
            .map(|(_, word)| *word)
            .collect();
        let known = ["linux", "macos", "windows"].contains(&os);
        let mut build = Self {
            os: os.to_owned(),
            arch: arch.to_owned(),
            backing: Backing::Cpu,
            toolkit: None,
            variant: None,
        };
        match rest.as_slice() {
            // Macs with Apple's chips compute with their GPU in every build.
            [] | ["kleidiai"] if os == "macos" && arch == "aarch64" => build.backing = Backing::Metal,
            [] | ["cpu"] if known => {}
            // Builds of before 2025, one for each kind of processor.
            [variant @ ("avx512" | "avx2" | "avx" | "noavx")]
            | ["cpu", variant @ ("avx512" | "avx2" | "avx" | "noavx")] => {
                build.variant = Some((*variant).to_owned());
            }
            ["cuda", version] if Toolkit::read(version).is_some() => {
                (build.backing, build.toolkit) = (Backing::Cuda, Toolkit::read(version));
            }
            // `cuda-cu12.4`, `cuda12.4`
            _ if rest.iter().all(|word| word.starts_with("cu")) => {
                build.backing = Backing::Cuda;
                build.toolkit = rest.iter().find_map(|word| {
                    Toolkit::read(word.trim_start_matches(|c: char| c.is_ascii_alphabetic()))
                });
            }
            ["rocm", version] => (build.backing, build.toolkit) = (Backing::Rocm, Toolkit::read(version)),
            ["rocm" | "hip"] | ["hip", "radeon"] => build.backing = Backing::Rocm,
            ["vulkan"] => build.backing = Backing::Vulkan,
            ["metal"] => build.backing = Backing::Metal,
            ["sycl"] => build.backing = Backing::Sycl,
            ["sycl", variant @ ("fp16" | "fp32")] => {
                (build.backing, build.variant) = (Backing::Sycl, Some((*variant).to_owned()));
            }
            ["openvino", version] => {
                (build.backing, build.toolkit) = (Backing::OpenVino, Toolkit::read(version));
            }
            ["opencl", "adreno"] => build.backing = Backing::OpenCl,
            ["snapdragon"] => {
                (build.backing, build.variant) = (Backing::OpenCl, Some("snapdragon".to_owned()));
            }
            other => build.backing = Backing::Unknown(other.join("-")),
        }
        // A toolkit that cannot be read is one that no driver can be held against.
        if build.backing == Backing::Cuda && build.toolkit.is_none() {
            build.backing = Backing::Unknown(rest.join("-"));
        }
        build
    }

    /// How people name it: `cuda-13.4`, `vulkan`, `sycl-fp16`.
    #[must_use]
    pub fn flavour(&self) -> String {
        let word = match &self.backing {
            Backing::Cpu => "cpu",
            Backing::Cuda => "cuda",
            Backing::Rocm => "rocm",
            Backing::Vulkan => "vulkan",
            Backing::Metal => "metal",
            Backing::Sycl => "sycl",
            Backing::OpenVino => "openvino",
            Backing::OpenCl => "opencl",
            Backing::Unknown(words) => words,
        };
        let toolkit = self.toolkit.map(|toolkit| toolkit.to_string());
        let parts = [Some(word.to_owned()), toolkit, self.variant.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("-")
    }

    #[must_use]
    pub fn is_for(&self, os: &str, arch: &str) -> bool {
        self.os == os && self.arch == arch
    }
}

/// The system, in the words of a machine. Linux is named after the distribution that a build was made on, and runs on
/// others.
fn os_of(word: &str) -> &str {
    match word {
        "ubuntu" | "linux" | "debian" => "linux",
        "win" | "windows" => "windows",
        "macos" | "darwin" | "osx" => "macos",
        other => other,
    }
}

fn arch_of(word: &str) -> Option<&str> {
    Some(match word {
        "x64" | "x86_64" | "amd64" => "x86_64",
        "arm64" | "aarch64" => "aarch64",
        "x86" | "s390x" | "ppc64le" | "riscv64" | "loongarch64" => word,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str) -> String {
        match AssetName::read(name) {
            AssetName::Engine(build) => format!("{} {} {}", build.os, build.arch, build.flavour()),
            AssetName::Runtime(build) => format!("runtime {} {} {}", build.os, build.arch, build.flavour()),
            AssetName::Other => "other".to_owned(),
        }
    }

    #[test]
    fn names_of_three_years() {
        for (name, read) in [
            (
                "llama-b11459-bin-ubuntu-cuda-13.4-x64.tar.gz",
                "linux x86_64 cuda-13.4",
            ),
            (
                "cudart-llama-b11459-bin-ubuntu-cuda-13.4-arm64.tar.gz",
                "runtime linux aarch64 cuda-13.4",
            ),
            (
                "cudart-llama-bin-win-cuda-12.4-x64.zip",
                "runtime windows x86_64 cuda-12.4",
            ),
            (
                "llama-b4000-bin-win-cuda-cu12.2.0-x64.zip",
                "windows x86_64 cuda-12.2",
            ),
            ("llama-b7902-bin-win-hip-radeon-x64.zip", "windows x86_64 rocm"),
            (
                "llama-b9934-bin-ubuntu-rocm-7.2-x64.tar.gz",
                "linux x86_64 rocm-7.2",
            ),
            (
                "llama-b11211-bin-win-rocm-10.0-x64.zip",
                "windows x86_64 rocm-10.0",
            ),
            (
                "llama-b9934-bin-ubuntu-sycl-fp16-x64.tar.gz",
                "linux x86_64 sycl-fp16",
            ),
            (
                "llama-b9934-bin-ubuntu-openvino-2026.2.1-x64.tar.gz",
                "linux x86_64 openvino-2026.2",
            ),
            ("llama-b7902-bin-macos-arm64.tar.gz", "macos aarch64 metal"),
            ("llama-b7902-bin-macos-x64.tar.gz", "macos x86_64 cpu"),
            ("llama-b7902-bin-ubuntu-x64.tar.gz", "linux x86_64 cpu"),
            ("llama-b4000-bin-win-avx2-x64.zip", "windows x86_64 cpu-avx2"),
            (
                "llama-b7902-bin-win-opencl-adreno-arm64.zip",
                "windows aarch64 opencl",
            ),
            (
                "llama-b7902-bin-910b-openEuler-aarch64-aclgraph.tar.gz",
                "910b aarch64 openEuler-aclgraph",
            ),
            (
                "llama-b11459-bin-linux-arm64-snapdragon.tar.gz",
                "linux aarch64 opencl-snapdragon",
            ),
            ("llama-b9934-ui.tar.gz", "other"),
            ("llama-b9934-xcframework.zip", "other"),
            ("notes.txt", "other"),
            // Renamed: known to be for this machine, and for what it is not known.
            (
                "llama-b12000-bin-ubuntu-nvidia-14-x64.tar.gz",
                "linux x86_64 nvidia-14",
            ),
            (
                "llama-b12000-bin-ubuntu-cuda-next-x64.tar.gz",
                "linux x86_64 cuda-next",
            ),
        ] {
            assert_eq!(row(name), read, "{name}");
        }
        let renamed = AssetName::read("llama-b12000-bin-ubuntu-cuda-next-x64.tar.gz");
        assert!(
            matches!(
                renamed,
                AssetName::Engine(Build {
                    backing: Backing::Unknown(_),
                    ..
                })
            ),
            "{renamed:?}"
        );
    }

    #[test]
    fn no_name_is_too_strange_to_be_read() {
        for name in [
            "",
            "-",
            "llama-bin-.zip",
            "llama-b1-bin--.zip",
            "cudart-llama.zip",
            "llama-bin-x64.zip",
        ] {
            let _ = AssetName::read(name);
        }
    }
}
