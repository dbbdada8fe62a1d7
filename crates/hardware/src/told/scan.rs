//! Finding numbers, sizes and labels in lines.

use std::ops::Range;

use plimsoll_units::Bytes;

/// A size as it stands in a line: `24564MiB`, `32,607 MiB`, `31.65 GB`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) at: Range<usize>,
    pub(super) bytes: Bytes,
    /// One letter for the unit, as `4g`; a number with a letter may be anything.
    pub(super) short: bool,
}

/// All sizes of a line. Memory is counted in powers of two whatever the unit is called: tools write `MB` for both,
/// and modules are sold in `GB` of 2^30 bytes. Rates (`GB/s`) are no sizes.
pub(super) fn amounts(line: &str) -> Vec<Amount> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let start = at;
        let end = number_end(bytes, start);
        at = end;
        if !may_start(bytes, start) {
            continue;
        }
        let mut unit_at = end;
        while unit_at < bytes.len() && unit_at - end < 2 && bytes[unit_at] == b' ' {
            unit_at += 1;
        }
        let unit_end = unit_at
            + bytes[unit_at..]
                .iter()
                .take_while(|byte| byte.is_ascii_alphabetic())
                .count();
        let Some(step) = step(&line[unit_at..unit_end]) else {
            continue;
        };
        let short = unit_end - unit_at == 1 && !line[unit_at..unit_end].eq("B");
        let follows = bytes.get(unit_end).copied();
        let rate = follows == Some(b'/') && bytes.get(unit_end + 1).is_some_and(|&b| b == b's');
        if rate || follows.is_some_and(|byte| byte.is_ascii_digit() || byte == b'_') {
            continue;
        }
        // A single letter belongs to its number, without a blank.
        if short && unit_at != end {
            continue;
        }
        if let Some(value) = scaled(&line[start..end], step) {
            found.push(Amount {
                at: start..unit_end,
                bytes: value,
                short,
            });
            at = unit_end;
        }
    }
    found
}

/// The first size with a whole unit.
pub(super) fn amount(text: &str) -> Option<Bytes> {
    amounts(text)
        .into_iter()
        .find(|amount| !amount.short)
        .map(|amount| amount.bytes)
}

/// The first size, also with a unit of one letter.
pub(super) fn any_amount(text: &str) -> Option<Bytes> {
    amounts(text).first().map(|amount| amount.bytes)
}

fn may_start(bytes: &[u8], start: usize) -> bool {
    let before = start.checked_sub(1).map(|at| bytes[at]);
    match before {
        None => true,
        Some(b'-' | b'.' | b'_') => {
            // Part of a name (`A100-80GB`) or a second part of a number.
            start
                .checked_sub(2)
                .is_none_or(|at| !bytes[at].is_ascii_alphanumeric())
        }
        Some(byte) => !byte.is_ascii_alphanumeric(),
    }
}

/// Digits, with commas between groups of three and one point.
fn number_end(bytes: &[u8], start: usize) -> usize {
    let digits = |from: usize| {
        from + bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut end = digits(start);
    while bytes.get(end) == Some(&b',') && end - start <= 27 {
        let next = digits(end + 1);
        if next - end != 4 {
            break;
        }
        end = next;
    }
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        let next = digits(end + 1);
        // `0000:01:00.0` and versions are no fractions.
        if bytes.get(next) != Some(&b'.') {
            end = next;
        }
    }
    end
}

fn step(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "byte" | "bytes" => 1,
        "b" => (unit == "B").then_some(1)?,
        "k" | "kb" | "kib" | "ki" => 1 << 10,
        "m" | "mb" | "mib" | "mi" | "mbyte" | "mbytes" => 1 << 20,
        "g" | "gb" | "gib" | "gi" | "gbyte" | "gbytes" => 1 << 30,
        "t" | "tb" | "tib" | "ti" => 1 << 40,
        _ => return None,
    })
}

/// `number` times `step`, rounded down; `None` for what is no number. Too large a number gives the largest size,
/// which is recognised as absurd later.
pub(super) fn scaled(number: &str, step: u64) -> Option<Bytes> {
    let number: String = number.chars().filter(|&c| c != ',').collect();
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty()
        || !whole
            .bytes()
            .chain(fraction.bytes())
            .all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let Ok(whole) = whole.parse::<u64>() else {
        return Some(Bytes(u64::MAX));
    };
    let fraction = &fraction[..fraction.len().min(18)];
    let part = if fraction.is_empty() {
        0
    } else {
        let digits = u32::try_from(fraction.len()).unwrap_or(18);
        u128::from(fraction.parse::<u64>().ok()?) * u128::from(step) / 10_u128.pow(digits)
    };
    let bytes = u128::from(whole) * u128::from(step) + part;
    Some(Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)))
}

/// A whole number with or without commas and nothing else.
pub(super) fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',') {
        return None;
    }
    let digits: String = text.chars().filter(|&c| c != ',').collect();
    digits.parse().ok()
}

/// The number that a text begins with.
pub(super) fn leading_number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

/// What stands after the first `mark`.
pub(super) fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.find(mark).map(|at| &text[at + mark.len()..])
}

/// What stands after `label`, whatever its case, and a colon or an equals sign.
pub(super) fn field<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '|' | '-' | '*' | '"'));
    let rest = strip_ignoring_case(line, label)?.trim_start_matches('"');
    let rest = rest.trim_start();
    let value = rest.strip_prefix([':', '='])?;
    Some(value.trim().trim_matches(|c| matches!(c, '"' | ',' | '|')).trim())
}

/// `text` without `prefix`, whatever the case of ASCII letters.
pub(super) fn strip_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Whether a word stands in a text that is in lower case, with no letter or digit beside it.
pub(super) fn has_word(lower: &str, word: &str) -> bool {
    lower.match_indices(word).any(|(at, _)| {
        let before = lower[..at].chars().next_back();
        let behind = lower[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !behind.is_some_and(char::is_alphanumeric)
    })
}

/// A line cut to a number of bytes, at a character.
pub(super) fn cut(line: &str, max: usize) -> &str {
    let mut end = line.len().min(max);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}

/// The text before the last group in parentheses and what is in it; groups inside it belong to it.
pub(super) fn split_groups(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let inner = text.strip_suffix(')')?;
    let mut depth = 1_u32;
    for (at, byte) in inner.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((inner[..at].trim_end(), &inner[at + 1..]));
        }
    }
    None
}

/// Addresses such as `0000:01:00.0`, `00000000:01:00.0` and `01:00.0`, in the kernel's form.
pub(super) fn pci_address(text: &str) -> Option<String> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '|' | '[' | ']' | '/' | '"'))
        .find_map(address)
}

fn address(word: &str) -> Option<String> {
    let word = word.trim_end_matches(':').to_ascii_lowercase();
    let (rest, function) = word.rsplit_once('.')?;
    let mut parts = rest.rsplit(':');
    let (device, bus) = (parts.next()?, parts.next()?);
    let domain = parts.next().unwrap_or("0");
    if parts.next().is_some() || function.len() != 1 || device.len() != 2 || bus.len() != 2 {
        return None;
    }
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let (domain, bus, device, function) = (number(domain)?, number(bus)?, number(device)?, number(function)?);
    Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_found_and_other_numbers_are_not() {
        let sizes = |line: &str| amounts(line).iter().map(|a| a.bytes.0).collect::<Vec<_>>();
        assert_eq!(
            sizes("|  0%   31C    P8  27W /  480W |     750MiB /  24564MiB |  1% |"),
            [750 << 20, 24564 << 20]
        );
        assert_eq!(sizes("GPU memory: 32,607 MiB."), [32607 << 20]);
        assert_eq!(
            sizes("total 15.5 GB, 936 GB/s, 3200 MT/s, 450 W"),
            [(31 << 30) / 2]
        );
        assert_eq!(sizes("A100-SXM4-80GB at 0000:01:00.0"), [0_u64; 0]);
        assert_eq!(sizes("docker run -m 4g"), [4 << 30]);
        assert_eq!(sizes("25149440(0x17fc000) KB"), [0_u64; 0]);
        assert_eq!(sizes("Größe: 16 GB"), [16 << 30]);
    }

    #[test]
    fn fractions_round_down_and_too_many_digits_are_absurd() {
        assert_eq!(scaled("10922.67", 1 << 20), Some(Bytes(11_453_249_617)));
        assert_eq!(scaled("5726.63", 1_000_000), Some(Bytes(5_726_630_000)));
        assert_eq!(scaled("99999999999999999999999", 1), Some(Bytes(u64::MAX)));
        assert_eq!(scaled("30.97787857055664", 1 << 30), Some(Bytes(33_262_243_839)));
        assert_eq!(scaled("", 1), None);
    }

    #[test]
    fn groups_and_addresses() {
        assert_eq!(
            split_groups("Intel(R) Arc(tm) A770 (DG2) (Intel(R) driver)"),
            Some(("Intel(R) Arc(tm) A770 (DG2)", "Intel(R) driver"))
        );
        assert_eq!(split_groups("a ) b"), None);
        assert_eq!(split_groups(")"), None);
        assert_eq!(
            pci_address("| 00000000:0A:00.0 Off |").as_deref(),
            Some("0000:0a:00.0")
        );
        assert_eq!(pci_address("at 01:00.0 VGA").as_deref(), Some("0000:01:00.0"));
        assert_eq!(pci_address("at 12:30 in 0.1"), None);
    }
}
