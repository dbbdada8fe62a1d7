//! Names of GPUs: whose they are, which are none, and when two mean the same.

use std::borrow::Cow;

use plimsoll_units::Bytes;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Vendor {
    Nvidia,
    Amd,
    Intel,
    Apple,
    Qualcomm,
    /// Makers of GPUs in other chips for phones and boards: Arm, Imagination, Broadcom, Vivante.
    Arm,
}

impl Vendor {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nvidia => "NVIDIA",
            Self::Amd => "AMD",
            Self::Intel => "Intel",
            Self::Apple => "Apple",
            Self::Qualcomm => "Qualcomm",
            Self::Arm => "Arm",
        }
    }

    /// By PCI id, and by the ids that Vulkan knows besides.
    pub(crate) const fn by_id(id: u32) -> Option<Self> {
        Some(match id {
            0x10de => Self::Nvidia,
            0x1002 | 0x1022 => Self::Amd,
            0x8086 => Self::Intel,
            0x106b => Self::Apple,
            0x5143 | 0x4d4f_4351 => Self::Qualcomm,
            0x13b5 | 0x1010 | 0x14e4 | 0x10001 => Self::Arm,
            _ => return None,
        })
    }
}

/// Names of programs that draw with the processor.
pub(crate) fn is_software(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "llvmpipe",
        "lavapipe",
        "softpipe",
        "swiftshader",
        "swrast",
        "basic render driver",
        "basic display",
        "software rasterizer",
        "software adapter",
        "apple software renderer",
        "portable computing language",
        "pocl",
    ]
    .iter()
    .any(|known| name.contains(known))
}

/// GPUs that a virtual machine or a remote session makes up; a model cannot run on them, whatever card of the
/// host their name holds.
pub(crate) fn is_virtual(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "virtio",
        "venus (",
        "virgl",
        "vmware",
        "svga3d",
        "svga ii",
        "virtualbox",
        "vboxvga",
        "vbox",
        "qxl",
        "bochs",
        "cirrus",
        "red hat",
        "parallels",
        "paravirtual",
        "hyper-v",
        "remote display",
        "remote desktop",
        "indirect display",
        "virtual display",
        "virtual monitor",
        "virtual adapter",
        "displaylink",
        "parsec",
        "citrix",
        "gfxstream",
        "aspeed",
        "es1000",
        "rage xl",
        "matrox",
        "mgag200",
    ]
    .iter()
    .any(|known| name.contains(known))
}

/// The device's own name inside the wrappers of layered drivers: `MTL0 (Apple M5)`,
/// `Microsoft Direct3D12 (NVIDIA GeForce RTX 4090)`, `NVIDIA GeForce GTX 970/PCIe/SSE2`.
pub(crate) fn unwrapped(name: &str) -> &str {
    let mut name = name.trim().trim_matches(['"', '\'', '`', ',']).trim();
    for wrapper in [
        "MTL",
        "Metal",
        "Microsoft Direct3D12",
        "D3D12",
        "zink Vulkan",
        "zink",
    ] {
        if let Some(rest) = name.strip_prefix(wrapper) {
            let rest = rest
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .trim_start();
            if let Some(inner) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
                name = inner.trim();
            }
        }
    }
    if let Some(at) = name.find("/PCIe/") {
        name = &name[..at];
    }
    name.strip_suffix("/SSE2").unwrap_or(name).trim()
}

pub(crate) fn vendor_of(name: &str) -> Option<Vendor> {
    let lower = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if super::mention::is_processor_gpu(&lower) {
        return Some(Vendor::Amd);
    }
    // Names of AMD processors hold `Radeon`, those of Intel's cards no other maker's words.
    if has(&["nvidia", "geforce", "quadro", "tesla", "rtx", "gtx", "nvgpu"]) || is_tegra(&lower) {
        Some(Vendor::Nvidia)
    } else if has(&[
        "radeon",
        "amd",
        "ryzen",
        "instinct",
        "firepro",
        "gfx9",
        "gfx10",
        "gfx11",
        "gfx12",
        "radv",
        "navi",
        "phoenix",
        "rembrandt",
        "cezanne",
        "renoir",
        "raphael",
        "strix",
        "vangogh",
    ]) {
        Some(Vendor::Amd)
    } else if has(&[
        "battlemage",
        "alchemist",
        "dg2",
        "meteor lake",
        "lunar lake",
        "arrow lake",
        "intel",
        "arc(tm)",
        "iris",
        "uhd graphics",
        "hd graphics",
    ]) || lower.starts_with("arc ")
    {
        Some(Vendor::Intel)
    } else if lower.starts_with("apple") {
        Some(Vendor::Apple)
    } else if has(&["adreno", "qualcomm", "snapdragon"]) {
        Some(Vendor::Qualcomm)
    } else if has(&[
        "mali-",
        "immortalis",
        "powervr",
        "videocore",
        "v3d",
        "vivante",
        "img bxe",
    ]) {
        Some(Vendor::Arm)
    } else if starts_like_a_data_center_card(&lower) {
        Some(Vendor::Nvidia)
    } else {
        None
    }
}

/// `A100-SXM4-80GB`, `H100 PCIe`, `GH200 480GB`: without the maker's name.
fn starts_like_a_data_center_card(lower: &str) -> bool {
    let first = lower.split([' ', '-']).next().unwrap_or_default();
    [
        "a10", "a10g", "a30", "a40", "a100", "a800", "h20", "h100", "h200", "h800", "b100", "b200", "b300",
        "l4", "l40", "l40s", "v100", "p40", "p100", "t4", "gb10", "gb200", "gb300", "gh200", "k80", "m40",
    ]
    .contains(&first)
}

pub(super) fn is_tegra(lower: &str) -> bool {
    let first = lower
        .trim_start_matches("nvidia ")
        .split([' ', '-', '('])
        .next()
        .unwrap_or_default();
    matches!(
        first,
        "orin" | "xavier" | "thor" | "tegra" | "jetson" | "gb10" | "nano" | "tx1" | "tx2"
    )
}

/// Lower case without trade marks.
pub(super) fn plain(name: &str) -> String {
    name.to_lowercase()
        .replace("(tm)", " ")
        .replace("(r)", " ")
        .replace(['®', '™'], " ")
}

/// What a slice of a card is at least, by its profile: `1g.10gb`, `MIG 2g.20gb`, `1g.10gb+me`. A slice has somewhat
/// less than its name says, from 95 % of it (9728 MiB of a `1g.10gb` of an A100) up.
pub(crate) fn mig_size(name: &str) -> Option<Bytes> {
    let lower = name.to_ascii_lowercase();
    lower
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .find_map(|word| {
            let (compute, memory) = word.split_once("g.")?;
            // `1c.3g.20gb`: a part of the slice for computing.
            let compute = compute.rsplit('.').next()?;
            let gib: u64 = memory.strip_suffix("gb")?.parse().ok()?;
            let plausible = matches!(compute.as_bytes(), [b'1'..=b'7']) && (1..=512).contains(&gib);
            plausible.then(|| Bytes::mib(gib * 1024 * 95 / 100))
        })
}

/// `gfx1100`, from anywhere in a text.
pub(crate) fn gfx_in(text: &str) -> Option<String> {
    let lower: Cow<'_, str> = if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    };
    lower.match_indices("gfx").find_map(|(at, _)| {
        let rest = &lower[at + 3..];
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        (3..=4)
            .contains(&digits)
            .then(|| format!("gfx{}", &rest[..digits]))
    })
}

/// Words that tell one model from another, without makers, trade marks and what drivers add in parentheses.
pub(crate) fn canonical(name: &str) -> Vec<String> {
    const FILLING: [&str; 22] = [
        "nvidia",
        "amd",
        "ati",
        "intel",
        "corporation",
        "corp",
        "inc",
        "geforce",
        "radeon",
        "graphics",
        "gpu",
        "card",
        "tm",
        "r",
        "advanced",
        "micro",
        "devices",
        "series",
        "edition",
        "tesla",
        "quadro",
        "igpu",
    ];
    let mut name = plain(name);
    while let Some(open) = name.find('(') {
        let Some(close) = name[open..].find(')') else {
            break;
        };
        name.replace_range(open..=open + close, " ");
    }
    words(&name)
        .into_iter()
        .filter(|word| !FILLING.contains(&word.as_str()))
        .collect()
}

/// Lower-case words; a letter run before a model's number stands alone: `RTX3090Ti` reads like `RTX 3090 Ti`.
pub(crate) fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut words = Vec::new();
    for word in lower
        .split(|c: char| !(c.is_alphanumeric() || c == '+'))
        .filter(|word| !word.is_empty())
    {
        let mut rest = word;
        for prefix in ["rtx", "gtx", "rx"] {
            if let Some(number) = rest
                .strip_prefix(prefix)
                .filter(|n| n.starts_with(|c: char| c.is_ascii_digit()))
            {
                words.push(prefix.to_owned());
                rest = number;
            }
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let suffix = &rest[digits..];
        if digits == 4 && matches!(suffix, "ti" | "super" | "xt" | "xtx" | "gre") {
            words.push(rest[..digits].to_owned());
            words.push(suffix.to_owned());
        } else {
            words.push(rest.to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ways_to_write_one_name() {
        assert_eq!(canonical("NVIDIA GeForce RTX 3090 Ti"), canonical("RTX3090Ti"));
        assert_eq!(
            canonical("AMD Radeon RX 7900 XTX (RADV NAVI31)"),
            canonical("Radeon RX 7900 XTX")
        );
        assert_ne!(
            canonical("NVIDIA GeForce RTX 3060"),
            canonical("NVIDIA GeForce RTX 3060 Ti")
        );
    }

    #[test]
    fn a_slice_has_its_size_in_its_name() {
        for (name, mib) in [
            ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", Some(9728)),
            ("MIG 2g.20gb", Some(19456)),
            ("1g.10gb+me", Some(9728)),
            ("NVIDIA H100 80GB HBM3 MIG 3g.40gb", Some(38912)),
            ("MIG 1c.3g.20gb", Some(19456)),
            ("NVIDIA A100-SXM4-80GB", None),
            ("9g.10gb", None),
        ] {
            assert_eq!(mig_size(name).map(|bytes| bytes.0 >> 20), mib, "{name}");
        }
    }

    #[test]
    fn wrappers_come_off_and_made_up_devices_are_known() {
        assert_eq!(unwrapped("MTL0 (Apple M5 Max)"), "Apple M5 Max");
        assert_eq!(
            unwrapped("Microsoft Direct3D12 (NVIDIA GeForce RTX 4090)"),
            "NVIDIA GeForce RTX 4090"
        );
        assert!(is_virtual("Virtio-GPU Venus (NVIDIA GeForce RTX 5080)"));
        assert!(is_virtual("Apple Paravirtual device"));
        assert!(is_software("llvmpipe (LLVM 15.0.6, 256 bits)"));
        assert!(!is_software("AMD Radeon 780M Graphics (RADV PHOENIX)"));
    }
}
