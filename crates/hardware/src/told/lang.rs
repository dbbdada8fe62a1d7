//! Words and numbers of systems that do not speak English, brought into the form that the readers know.

use std::borrow::Cow;

/// What Windows prints in German, French and Spanish, in lower case, and what it is in English. A longer phrase stands
/// before its own end.
const PHRASES: [(&str, &str); 19] = [
    ("gesamter physischer speicher", "Total Physical Memory"),
    ("gesamter physikalischer speicher", "Total Physical Memory"),
    ("verfügbarer physischer speicher", "Available Physical Memory"),
    ("verfügbarer physikalischer speicher", "Available Physical Memory"),
    ("installierter physischer speicher", "Installed Physical Memory"),
    ("dedizierter gpu-speicher", "Dedicated GPU memory"),
    ("gemeinsam genutzter gpu-speicher", "Shared GPU memory"),
    ("gemeinsamer gpu-speicher", "Shared GPU memory"),
    ("gpu-arbeitsspeicher", "GPU memory"),
    ("gpu-speicher", "GPU memory"),
    ("mémoire physique totale", "Total Physical Memory"),
    ("mémoire physique disponible", "Available Physical Memory"),
    ("mémoire gpu dédiée", "Dedicated GPU memory"),
    ("mémoire gpu partagée", "Shared GPU memory"),
    ("cantidad total de memoria física", "Total Physical Memory"),
    ("memoria física total", "Total Physical Memory"),
    ("memoria física disponible", "Available Physical Memory"),
    ("memoria de gpu dedicada", "Dedicated GPU memory"),
    ("memoria de gpu compartida", "Shared GPU memory"),
];
/// First words of the head of `free`'s table, and of the row below it.
const HEADS: [(&str, &str); 3] = [("gesamt", "frei"), ("total", "libre"), ("totale", "libera")];
const ROWS: [&str; 3] = ["Speicher:", "Mém:", "Mem :"];

/// The line as an English system would have printed it, where it is not English.
pub(super) fn in_english(line: &str) -> Cow<'_, str> {
    let trimmed = line.trim_start();
    let head = HEADS
        .iter()
        .any(|(first, later)| trimmed.starts_with(first) && trimmed.contains(later));
    if head {
        return Cow::Borrowed("total used free shared buff/cache available");
    }
    if let Some(rest) = ROWS.iter().find_map(|row| trimmed.strip_prefix(row))
        && rest.split_whitespace().count() >= 5
    {
        return Cow::Owned(format!("Mem:{}", numbers(rest)));
    }
    // Most lines are plain ASCII without any of these.
    let lower = line.to_lowercase();
    let Some((phrase, english)) = PHRASES.iter().find(|(phrase, _)| lower.contains(phrase)) else {
        return Cow::Borrowed(line);
    };
    let rest = lower.split_once(phrase).map_or("", |(_, rest)| rest);
    // Units keep their capitals, which tell bytes from bits.
    let rest = numbers(rest)
        .replace(" mo", " MB")
        .replace(" go", " GB")
        .replace(" mb", " MB")
        .replace(" gb", " GB");
    Cow::Owned(format!("{english}{rest}"))
}

/// `16.263` and `16 263` are sixteen thousand, `1,4` is less than two.
fn numbers(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let mut out = String::with_capacity(text.len());
    for (at, &c) in chars.iter().enumerate() {
        let inside = at > 0 && digit(at - 1) && digit(at + 1);
        let three = inside && digit(at + 2) && digit(at + 3) && !digit(at + 4);
        match c {
            '.' | '\u{a0}' | '\u{202f}' if three => {}
            ',' if inside => out.push('.'),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::in_english;

    #[test]
    fn lines_of_other_languages_read_like_english_ones() {
        for (line, english) in [
            (
                "Gesamter physischer Speicher:  32.581 MB",
                "Total Physical Memory:  32581 MB",
            ),
            (
                "Dedizierter GPU-Speicher 1,4/12,0 GB",
                "Dedicated GPU memory 1.4/12.0 GB",
            ),
            (
                "Mémoire physique totale : 16\u{a0}263 Mo",
                "Total Physical Memory : 16263 MB",
            ),
            (
                "Speicher:  62Gi 12Gi 30Gi 1,2Gi 20Gi 50Gi",
                "Mem:  62Gi 12Gi 30Gi 1.2Gi 20Gi 50Gi",
            ),
            (
                "      gesamt  benutzt  frei  gemns.  Puffer/Cache verfügbar",
                "total used free shared buff/cache available",
            ),
            (
                "Total Physical Memory:     16,429 MB",
                "Total Physical Memory:     16,429 MB",
            ),
            (
                "NVIDIA GeForce RTX 4090, 24564 MiB",
                "NVIDIA GeForce RTX 4090, 24564 MiB",
            ),
        ] {
            assert_eq!(in_english(line), english);
        }
    }
}
