//! Whether a GPU of a name or an instruction set sits on a card or in a processor.

use super::names::{Vendor, is_tegra, plain};

/// Where a GPU sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// With memory of its own.
    Card,
    /// With the machine's memory; the small ones are not worth planning on.
    Processor { worth_planning_on: bool },
}

const WORTH: Place = Place::Processor {
    worth_planning_on: true,
};
const SMALL: Place = Place::Processor {
    worth_planning_on: false,
};
/// NVIDIA's own systems on a chip, by compute capability: Jetson from TX1 to Thor, and GB10.
pub(crate) fn is_nvidia_chip(compute: (u32, u32)) -> bool {
    [(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0), (12, 1)].contains(&compute)
}

/// Where a GPU of that name sits; `None` where the name does not tell.
pub(crate) fn place_of(
    name: &str,
    vendor: Option<Vendor>,
    gfx: Option<&str>,
    compute: Option<(u32, u32)>,
) -> Option<Place> {
    let lower = plain(name);
    match vendor? {
        Vendor::Nvidia => Some(if is_tegra(&lower) || compute.is_some_and(is_nvidia_chip) {
            WORTH
        } else {
            Place::Card
        }),
        Vendor::Amd => amd(&lower, gfx),
        Vendor::Intel => intel(&lower),
        // A Mac with an Apple chip, or that chip under Linux.
        Vendor::Apple => Some(WORTH),
        Vendor::Qualcomm | Vendor::Arm => Some(SMALL),
    }
}

/// By LLVM's name of the instruction set: in processors these, on cards all others. The small ones have two
/// compute units, made to show a desktop.
fn amd_by_gfx(gfx: &str) -> Place {
    match gfx {
        "gfx902" | "gfx909" | "gfx90c" | "gfx1013" | "gfx1033" | "gfx1035" | "gfx1103" | "gfx1150"
        | "gfx1151" | "gfx1152" | "gfx1153" => WORTH,
        "gfx1036" | "gfx1037" | "gfx801" | "gfx810" => SMALL,
        _ => Place::Card,
    }
}

fn amd(lower: &str, gfx: Option<&str>) -> Option<Place> {
    // Mesa's names of the chips, in parentheses behind the name, and those of the PCI list.
    const SMALL_CHIPS: [&str; 6] = [
        "raphael",
        "mendocino",
        "granite ridge",
        "stoney",
        "carrizo",
        "dragon range",
    ];
    const CHIPS: [&str; 16] = [
        "raven",
        "picasso",
        "renoir",
        "cezanne",
        "lucienne",
        "barcelo",
        "vangogh",
        "van gogh",
        "rembrandt",
        "phoenix",
        "hawk point",
        "strix",
        "krackan",
        "custom gpu 0405",
        "custom gpu 0932",
        "bc-250",
    ];
    // A server's processor, whose GPU has the instruction set of the card of the same generation.
    if lower.contains("mi300a") {
        return Some(WORTH);
    }
    if let Some(gfx) = gfx.filter(|gfx| gfx.len() >= 6) {
        return Some(amd_by_gfx(gfx));
    }
    if SMALL_CHIPS.iter().any(|chip| lower.contains(chip)) {
        return Some(SMALL);
    }
    if CHIPS.iter().any(|chip| lower.contains(chip)) {
        return Some(WORTH);
    }
    amd_by_words(lower)
}

/// By the model in the name.
fn amd_by_words(lower: &str) -> Option<Place> {
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_ascii_alphanumeric()))
        .filter(|w| !w.is_empty())
        .collect();
    let has = |word: &str| words.contains(&word);
    // `RX 6600M`, `Radeon Pro`, `Instinct`, `R9700`: cards. `RX Vega 11 Graphics` is in a processor.
    let vega_in_processor = has("vega")
        && (has("graphics")
            || words
                .iter()
                .any(|w| matches!(*w, "3" | "6" | "7" | "8" | "9" | "10" | "11")));
    if vega_in_processor && !has("64") && !has("56") && !has("pro") {
        return Some(WORTH);
    }
    if [
        "rx", "instinct", "firepro", "pro", "vii", "r9", "r9700", "w6800", "w7800", "w7900", "fury", "nano",
    ]
    .iter()
    .any(|word| has(word))
        || words
            .iter()
            .any(|word| word.starts_with("mi") && word[2..].starts_with(|c: char| c.is_ascii_digit()))
        || [
            "navi",
            "vega 10",
            "vega 20",
            "vega10",
            "vega20",
            "polaris",
            "ellesmere",
            "tahiti",
            "hawaii",
            "fiji",
            "tonga",
            "arcturus",
            "aldebaran",
            "baffin",
            "lexa",
        ]
        .iter()
        .any(|chip| lower.contains(chip))
    {
        return Some(Place::Card);
    }
    // `780M`, `890M`, `8060S`: without `RX` these are parts of a processor.
    if words.iter().any(|word| is_processor_model(word)) {
        return Some(WORTH);
    }
    // `AMD Radeon(TM) Graphics`, `Radeon Graphics`: what drivers call the GPU of a Ryzen.
    let rest: Vec<&&str> = words
        .iter()
        .filter(|word| {
            ![
                "amd",
                "ati",
                "radeon",
                "graphics",
                "series",
                "gpu",
                "igpu",
                "tm",
                "r",
                "apu",
                "integrated",
                "processor",
            ]
            .contains(*word)
        })
        .collect();
    if rest.is_empty() && (has("graphics") || has("igpu") || has("apu") || has("integrated")) {
        return Some(WORTH);
    }
    if has("ryzen") || has("athlon") || has("epyc") {
        // A GPU that carries its processor's name.
        return Some(
            if has("hs") || has("ai") || words.iter().any(|word| is_mobile_ryzen(word)) {
                WORTH
            } else {
                SMALL
            },
        );
    }
    if ["r2", "r3", "r4", "r5", "r6", "r7"].iter().any(|word| has(word)) && has("graphics") {
        return Some(SMALL);
    }
    None
}

fn is_processor_model(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let letter = &word[digits.len()..];
    let number = digits.bytes().all(|byte| byte.is_ascii_digit());
    number
        && ((digits.len() == 3 && letter == "m" && matches!(digits.as_bytes()[0], b'6'..=b'9'))
            || (digits.len() == 4 && letter == "s" && digits.starts_with("80")))
}

/// `7840u`, `5800h`, `8845hs`, and the desktop parts with a large GPU: `8700g`.
fn is_mobile_ryzen(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.len() == 4
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && matches!(&word[4..], "u" | "h" | "hs" | "g" | "ge" | "c")
}

fn intel(lower: &str) -> Option<Place> {
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty())
        .collect();
    let has = |word: &str| words.contains(&word);
    let in_processor = ["mtl", "arl", "lnl", "ptl", "meteor", "lunar", "panther", "arrow"];
    if in_processor.iter().any(|chip| has(chip))
        && (has("arc") || has("lnl") || has("lunar") || has("ptl") || has("panther"))
    {
        return Some(WORTH);
    }
    if has("dg2")
        || has("bmg")
        || has("battlemage")
        || has("alchemist")
        || has("dg1")
        || lower.contains("data center gpu")
        || lower.contains("iris xe max")
    {
        return Some(Place::Card);
    }
    if has("arc") || words.iter().any(|word| is_arc_card(word)) {
        if words.iter().any(|word| is_arc_card(word)) {
            return Some(Place::Card);
        }
        // `Arc Graphics`, `Arc 140V`, `Arc B390`: the larger GPUs inside Core Ultra.
        return Some(WORTH);
    }
    if has("uhd") || has("hd") || has("iris") || has("graphics") || has("gma") {
        return Some(SMALL);
    }
    None
}

/// `a770`, `b580`, `a770m`, `b60`; but `b390` and `b370` are parts of Panther Lake.
fn is_arc_card(word: &str) -> bool {
    let digits = word.get(1..).unwrap_or_default().trim_end_matches('m');
    let plain = matches!(digits.len(), 2 | 3) && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain && matches!(word.as_bytes()[0], b'a' | b'b') && !matches!(word, "b390" | "b370")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::names::{gfx_in, vendor_of};

    fn place(name: &str) -> Option<Place> {
        place_of(name, vendor_of(name), gfx_in(name).as_deref(), None)
    }

    #[test]
    fn cards_by_their_names() {
        for name in [
            "NVIDIA GeForce RTX 4060 Laptop GPU",
            "Tesla V100-PCIE-16GB",
            "NVIDIA GH200 480GB",
            "AMD Radeon RX 7900 XTX (RADV NAVI31)",
            "AMD Radeon RX 6600M",
            "AMD Radeon Graphics gfx906",
            "AMD Instinct MI300X",
            "AMD Radeon AI PRO R9700",
            "Radeon RX Vega 64",
            "AMD Radeon VII",
            "AMD Radeon Pro W6800",
            "Intel(R) Arc(TM) A770 Graphics",
            "Intel(R) Arc(tm) B580 Graphics (BMG G21)",
            "Intel(R) Arc(TM) Pro B70 Graphics",
            "Intel(R) Data Center GPU Flex 170",
            "Battlemage G31 [Intel Graphics]",
        ] {
            assert_eq!(place(name), Some(Place::Card), "{name}");
        }
    }

    #[test]
    fn parts_of_processors_by_their_names() {
        for name in [
            "NVIDIA GB10",
            "Orin",
            "NVIDIA Thor",
            "Apple M3 Max",
            "AMD Radeon 780M Graphics (RADV PHOENIX)",
            "AMD Radeon(TM) 8060S Graphics",
            "Radeon 8060S Graphics, gfx1151",
            "AMD Radeon(TM) Graphics",
            "AMD Radeon Graphics (RADV GFX1151)",
            "AMD Radeon RX Vega 11 Graphics",
            "AMD Radeon Vega 8 Graphics",
            "AMD Custom GPU 0405 (RADV VANGOGH)",
            "AMD Instinct MI300A",
            "Intel(R) Arc(TM) 140V GPU (16GB)",
            "Intel(R) Arc(TM) Graphics",
            "Intel Arc B390",
            "Intel(R) Arc(tm) Graphics (MTL)",
        ] {
            assert_eq!(place(name), Some(WORTH), "{name}");
        }
        for name in [
            "AMD Ryzen 7 7800X3D 8-Core Processor (RADV RAPHAEL_MENDOCINO)",
            "Intel(R) UHD Graphics 770",
            "Intel(R) Iris(R) Xe Graphics",
            "Intel(R) HD Graphics 4000",
            "Intel(R) Graphics (RKL GT1)",
            "Qualcomm(R) Adreno(TM) X1-85 GPU",
            "Mali-G610",
        ] {
            assert_eq!(place(name), Some(SMALL), "{name}");
        }
    }
}
