//! Names of GPUs in running text.

use std::ops::Range;

use super::names::gfx_in;

/// One name where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) at: Range<usize>,
    /// `2x RTX 3090`
    pub(super) count: u32,
}

struct Token<'a> {
    at: usize,
    text: &'a str,
    lower: String,
}

impl Token<'_> {
    fn end(&self) -> usize {
        self.at + self.text.len()
    }
}

/// Data-centre cards that people name without their maker.
const ALONE: [&str; 25] = [
    "a100", "a800", "h100", "h800", "h200", "h20", "b200", "b300", "v100", "p40", "p100", "k80", "m40",
    "l40", "l40s", "a10g", "a30", "a40", "a6000", "gb10", "gh200", "gb200", "gb300", "r9700", "gb203",
];
/// Cards that are sold in two sizes with the size in their name.
const SIZED: [&str; 9] = [
    "a100", "a800", "h100", "h800", "h200", "v100", "p100", "gh200", "gb200",
];
/// Words that may follow inside a name.
const WITHIN: [&str; 54] = [
    "geforce",
    "rtx",
    "gtx",
    "gt",
    "quadro",
    "tesla",
    "titan",
    "ti",
    "super",
    "xt",
    "xtx",
    "gre",
    "pro",
    "max",
    "ultra",
    "max-q",
    "laptop",
    "mobile",
    "gpu",
    "graphics",
    "series",
    "ada",
    "generation",
    "blackwell",
    "workstation",
    "server",
    "edition",
    "sff",
    "plus",
    "xe",
    "vega",
    "vii",
    "ai",
    "oem",
    "pcie",
    "nvl",
    "hd",
    "uhd",
    "iris",
    "arc",
    "radeon",
    "instinct",
    "rx",
    "custom",
    "center",
    "flex",
    "hbm3",
    "hbm2e",
    "hbm3e",
    "jetson",
    "agx",
    "orin",
    "nano",
    "d",
];

/// All of a line, in their order. `mac` allows `M2 Ultra` without its maker.
pub(super) fn mentions(line: &str, mac: bool) -> Vec<Mention> {
    let clean = without_marks(line);
    let tokens = tokens(&clean);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some(first) = starts(&tokens, at, mac) else {
            at += 1;
            continue;
        };
        let sized = tokens[at..]
            .iter()
            .take(3)
            .any(|token| SIZED.iter().any(|name| token.lower == *name) || token.lower.contains("-sxm"));
        let mut last = first;
        while let Some(next) = tokens.get(last + 1) {
            // Only blanks stand inside a name.
            let between = clean.get(tokens[last].end()..next.at).unwrap_or("|");
            let size = is_size(&next.lower) && (sized || tokens[last].lower == "1060");
            // `RX 7800 XT 16 GB`: the number belongs to its unit.
            let unit = tokens.get(last + 2).is_some_and(|unit| {
                matches!(unit.lower.as_str(), "gb" | "gib" | "mb" | "mib")
                    && next.lower.bytes().all(|byte| byte.is_ascii_digit())
            });
            if unit || !between.chars().all(|c| c == ' ') || !(continues(&next.lower) || size) {
                break;
            }
            last += 1;
        }
        let mut end = tokens[last].end();
        end = with_group(&clean, end);
        found.push(Mention {
            at: tokens[at].at..end,
            count: count(&clean, tokens[at].at, end),
        });
        at = tokens
            .iter()
            .position(|token| token.at >= end)
            .unwrap_or(tokens.len());
    }
    found
}

/// Trade marks become blanks, so that places stay where they are.
fn without_marks(line: &str) -> String {
    let mut clean = line.to_owned();
    for mark in ["(R)", "(r)", "(TM)", "(tm)", "(C)", "®", "™"] {
        clean = clean.replace(mark, &" ".repeat(mark.len()));
    }
    clean
}

fn tokens(line: &str) -> Vec<Token<'_>> {
    let separates = |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+'));
    let mut tokens = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (separates(c), start) {
            (false, None) => start = Some(at),
            (true, Some(from)) => {
                let text = &line[from..at];
                let text = text.trim_end_matches(['.', '/', '-']);
                if !text.is_empty() {
                    tokens.push(Token {
                        at: from,
                        text,
                        lower: text.to_lowercase(),
                    });
                }
                start = None;
            }
            _ => {}
        }
    }
    tokens
}

/// Whether a name starts here; the number of the token up to which it certainly goes.
fn starts(tokens: &[Token<'_>], at: usize, mac: bool) -> Option<usize> {
    let word = tokens[at].lower.as_str();
    let next = tokens.get(at + 1).map_or("", |token| token.lower.as_str());
    let before = at.checked_sub(1).map_or("", |at| tokens[at].lower.as_str());
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let model = |text: &str, letters: &[u8]| {
        text.len() >= 2 && letters.contains(&text.as_bytes()[0]) && text.as_bytes()[1].is_ascii_digit()
    };
    let family = |prefix: &str| {
        word.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() >= 3 && number(rest))
    };
    let here = match word {
        "nvidia" => {
            [
                "geforce", "rtx", "gtx", "quadro", "tesla", "titan", "orin", "thor", "xavier", "jetson",
                "tegra",
            ]
            .contains(&next)
                || model(next, b"ahlbvptkm")
                || next.starts_with("gb") && next.len() == 4
                || next.starts_with("gh2")
        }
        "geforce" => ["rtx", "gtx", "gt", "mx"].contains(&next) || next.starts_with("mx") || number(next),
        "quadro" | "jetson" | "firepro" => continues(next),
        "tesla" => model(next, b"vptkm"),
        "titan" => ["rtx", "v", "xp", "x"].contains(&next),
        "rtx" | "gtx" => number(next) || next == "pro" || model(next, b"a"),
        "qualcomm" => next == "adreno",
        "amd" | "ati" => ["radeon", "instinct", "firepro", "custom"].contains(&next),
        // `with Radeon Graphics` is a part of a processor's name.
        "radeon" => !(["with", "w"].contains(&before) && next == "graphics") && continues(next),
        "instinct" | "apple" => model(next, b"m"),
        "rx" => number(next) && next.len() >= 3 || next == "vega",
        "intel" => match next {
            "arc" | "iris" | "uhd" | "graphics" => true,
            "hd" => tokens.get(at + 2).is_some_and(|token| token.lower == "graphics"),
            "data" => tokens.get(at + 3).is_some_and(|token| token.lower == "gpu"),
            _ => false,
        },
        "arc" => {
            model(next, b"ab")
                || ["pro", "graphics"].contains(&next)
                || (number(next) && next.ends_with(['v', 't']))
        }
        "iris" => ["plus", "xe", "pro", "graphics"].contains(&next),
        "uhd" => next == "graphics" || number(next),
        "hd" => next == "graphics",
        "adreno" | "videocore" => true,
        _ => {
            ["rtx", "gtx"].iter().any(|prefix| family(prefix))
                || (family("rx") && word.len() >= 5)
                || ALONE.contains(&word)
                || ALONE.iter().any(|name| {
                    word.strip_prefix(name)
                        .is_some_and(|rest| rest.starts_with("-pcie") || rest.starts_with("-sxm"))
                })
                || word.starts_with("mali-")
                || word.strip_prefix("nvidia-").is_some_and(|rest| {
                    model(rest, b"ahlbvt") || rest.starts_with("geforce") || rest.starts_with("rtx")
                })
                || is_instinct(word)
                || (mac && word.len() == 2 && model(word, b"m"))
                || is_processor_gpu(word)
        }
    };
    let certainly = match word {
        "nvidia" | "geforce" | "quadro" | "tesla" | "titan" | "rtx" | "gtx" | "jetson" | "amd" | "ati"
        | "radeon" | "instinct" | "firepro" | "rx" | "intel" | "arc" | "iris" | "uhd" | "hd" | "apple"
        | "qualcomm" => at + 1,
        _ => at,
    };
    here.then_some(certainly.min(tokens.len() - 1))
}

/// `mi50`, `mi300x`
fn is_instinct(word: &str) -> bool {
    let number = word
        .strip_prefix("mi")
        .unwrap_or_default()
        .trim_end_matches(['x', 'a', 'p']);
    matches!(
        number,
        "25" | "50" | "60" | "100" | "210" | "250" | "300" | "308" | "325" | "350" | "355"
    )
}

/// `780m` and `8060s` mean one thing only.
pub(super) fn is_processor_gpu(word: &str) -> bool {
    matches!(
        word,
        "610m"
            | "660m"
            | "680m"
            | "740m"
            | "760m"
            | "780m"
            | "820m"
            | "840m"
            | "860m"
            | "880m"
            | "890m"
            | "8040s"
            | "8050s"
            | "8060s"
    )
}

fn continues(word: &str) -> bool {
    if WITHIN.contains(&word) || is_instinct(word) {
        return true;
    }
    let bytes = word.as_bytes();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0 {
        let suffix = &word[digits..];
        return digits <= 4
            && (suffix.is_empty()
                || matches!(
                    suffix,
                    "m" | "s" | "ti" | "xt" | "xtx" | "gre" | "super" | "v" | "t" | "d" | "g"
                ))
            && (digits >= 3 || suffix.is_empty());
    }
    // `A770`, `W7900`, `T1000`, `M5`, `X1-85`, `A100-SXM4-80GB`
    bytes.len() >= 2
        && b"abhlmtvwpxrk".contains(&bytes[0])
        && bytes[1].is_ascii_digit()
        && (word.contains('-') || (bytes.len() <= 6 && bytes[0] != b'x'))
}

fn is_size(word: &str) -> bool {
    let number = word.trim_end_matches(['g', 'b']);
    word.ends_with("gb") && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Mesa's and Intel's additions in parentheses belong to the name.
fn with_group(line: &str, end: usize) -> usize {
    let rest = &line[end..];
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    let Some(inner) = rest[blanks..].strip_prefix('(') else {
        return end;
    };
    let Some(close) = inner.find(')') else { return end };
    let group = &inner[..close];
    let chip = group.len() <= 12
        && group.starts_with(|c: char| c.is_ascii_uppercase())
        && group
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, ' ' | '-' | '_'))
        && group.chars().any(|c| c.is_ascii_uppercase())
        && !group.contains("VRAM");
    // Intel's driver puts what it may borrow behind the name of its GPU.
    let borrowed = is_size(&group.to_lowercase()) && line[..end].to_lowercase().contains("arc");
    if borrowed || group.starts_with("RADV") || gfx_in(group).is_some() && group.len() <= 10 || chip {
        end + blanks + close + 2
    } else {
        end
    }
}

/// `2x`, `2 x` or `2×` in front, `x2` or `(x2)` behind.
fn count(line: &str, start: usize, end: usize) -> u32 {
    const MOST: u32 = 16;
    let before = line[..start].trim_end();
    let in_front = before
        .strip_suffix(['x', 'X', '×', '*'])
        .map(str::trim_end)
        .and_then(|head| {
            let digits = head.bytes().rev().take_while(u8::is_ascii_digit).count();
            let from = head.len() - digits;
            let apart = head[..from]
                .chars()
                .next_back()
                .is_none_or(|c| !c.is_alphanumeric());
            head[from..].parse::<u32>().ok().filter(|_| apart)
        });
    let rest = line[end..].trim_start();
    let in_group = rest.starts_with('(');
    let behind = rest.trim_start_matches([' ', '(']);
    let behind = behind.strip_prefix(['x', '×']).and_then(|rest| {
        let digits = rest.trim_start().bytes().take_while(u8::is_ascii_digit).count();
        rest.trim_start()[..digits].parse::<u32>().ok()
    });
    // `x4`, `x8` and `x16` behind a name are lanes, unless they stand in parentheses.
    let behind = behind.filter(|count| in_group || !matches!(count, 1 | 4 | 8 | 16));
    in_front.or(behind).filter(|&n| n > 0 && n <= MOST).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<(u32, &str)> {
        mentions(line, false)
            .into_iter()
            .map(|m| (m.count, &line[m.at]))
            .collect()
    }

    #[test]
    fn names_in_sentences_and_lists() {
        assert_eq!(names("graphics card:RTX 3050Ti 4Gb"), [(1, "RTX 3050Ti")]);
        assert_eq!(
            names("NVIDIA GeForce RTX 5090, compute capability 12.0."),
            [(1, "NVIDIA GeForce RTX 5090")]
        );
        assert_eq!(
            names(
                "AMD Radeon RX 6600 XT (RADV NAVI23), NVIDIA GeForce GTX 1060 6GB, Intel(R) Graphics (RKL GT1)"
            ),
            [
                (1, "AMD Radeon RX 6600 XT (RADV NAVI23)"),
                (1, "NVIDIA GeForce GTX 1060 6GB"),
                (1, "Intel(R) Graphics (RKL GT1)")
            ]
        );
        assert_eq!(names("EPYC 7773X + 2x RTX 3090 Ti"), [(2, "RTX 3090 Ti")]);
        assert_eq!(names("NVIDIA H100 80GB HBM3."), [(1, "NVIDIA H100 80GB HBM3")]);
        assert_eq!(
            names("AMD Ryzen 7 8700G w/ Radeon 780M Graphics"),
            [(1, "Radeon 780M Graphics")]
        );
        assert_eq!(names("AMD Ryzen 5 4600H with Radeon Graphics"), []);
        assert_eq!(
            names("Qualcomm(R) Adreno(TM) X1-85 GPU"),
            [(1, "Qualcomm(R) Adreno(TM) X1-85 GPU")]
        );
        assert_eq!(
            names("[2] AMD Radeon Graphics (RADV RAPHAEL_MENDOCINO)"),
            [(1, "AMD Radeon Graphics (RADV RAPHAEL_MENDOCINO)")]
        );
    }

    #[test]
    fn other_words_are_no_names() {
        for line in [
            "NVIDIA driver 580.95, CUDA 13.0",
            "Intel(R) Core(TM) i7 CPU 870 @ 2.93GHz",
            "AMD EPYC 9654, 384 logical CPUs",
            "built with MSVC 19.29 for x64",
            "Tesla is a car, arc is a shape",
            "",
        ] {
            assert_eq!(names(line), [], "{line}");
        }
    }
}
