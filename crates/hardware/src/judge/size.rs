use plimsoll_units::Bytes;

use crate::machine_file::MEMORY_MAX;
use crate::note::Note;

/// Reads `25753026560`, `16 kB`, `4096 MiB`. `None` for what is no size; for one that no machine has a note is
/// left as well.
pub(crate) fn size(text: &str, source: &str, notes: &mut Vec<Note>) -> Option<Bytes> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return None;
    }
    let step = match unit.trim() {
        "" | "B" => 1,
        "kB" | "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    // Too many digits for the type are more than any machine has, too.
    let bytes = number.parse().map_or(Bytes(u64::MAX), |n| Bytes(n).times(step));
    if bytes > MEMORY_MAX {
        let value = text.chars().take(40).collect();
        notes.push(Note::AbsurdValue {
            source: source.to_owned(),
            value,
        });
        return None;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        let mut notes = Vec::new();
        let mut read = |text: &str| size(text, "x", &mut notes);
        assert_eq!(read("25753026560"), Some(Bytes(25_753_026_560)));
        assert_eq!(read(" 16 kB\n"), Some(Bytes::kib(16)));
        assert_eq!(read("4096 MiB"), Some(Bytes::mib(4096)));
        for text in ["", "max", "-1", "12 parsec", "1.5 GiB"] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert!(notes.is_empty());
        for text in [
            "99999999999999999999999999",
            "1125899906842625",
            "9999999999999 MiB",
        ] {
            assert_eq!(size(text, "x", &mut notes), None, "{text:?}");
        }
        assert_eq!(notes.len(), 3, "{notes:?}");
    }
}
