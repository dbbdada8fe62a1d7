use std::io::Cursor;

use plimsoll_units::Bytes;

use crate::header::{ARRAY, array_opening, name, opening, value};
use crate::source::Source;
use crate::{Array, BadReason, Header, HeaderError, Limited, Limits, Metadata, Value};

/// Records in a row that make a piece a list of words.
const WORDS_IN_A_ROW: usize = 6;
/// The longest word of a tokenizer's list; published ones stay below 300 bytes.
const WORD_MAX: u64 = 1 << 10;
/// Of a piece's numbers or letters; the rest are where one list ends and the next begins.
const MOST: (usize, usize) = (9, 10);

impl Header {
    /// How many tensors a file lists, from its first bytes.
    pub fn tensor_count(start: &[u8], limits: &Limits) -> Result<u64, HeaderError> {
        let mut source = Source::new(Cursor::new(start), Bytes(start.len() as u64), limits);
        opening(&mut source, limits).map(|(_, tensors, _)| tensors)
    }

    /// Whether a piece from somewhere in a file is of its header (words, their kinds and scores, a template, names
    /// of tensors) and not of its data. A guess: what is made of it has to be checked.
    #[must_use]
    pub fn looks_like(piece: &[u8]) -> bool {
        is_words(piece) || is_small_numbers(piece) || is_scores(piece) || is_prose(piece)
    }

    /// The header of a file without the words of its tokenizer: what `start`, its first bytes, says, and the entries
    /// and the tensors found in `stretch`, which begins at `at` and holds the whole list of tensors. Also gives
    /// where that list begins, as [`Self::read_placed`] does.
    ///
    /// The list of tensors must hold as many as the file says, begin at offset 0, have no gap, and end where the file
    /// ends. Everything else is an error, and the header has to be read whole.
    pub fn read_found(
        start: &[u8],
        (at, stretch): (Bytes, &[u8]),
        file_bytes: Bytes,
        limits: &Limits,
    ) -> Result<(Self, Bytes), HeaderError> {
        let mut source = Source::new(Cursor::new(start), file_bytes, limits);
        let (version, tensor_count, entry_count) = opening(&mut source, limits)?;
        let mut metadata = before_the_words(&mut source, entry_count, limits)?;
        let places =
            (0..stretch.len()).filter(|place| begins_a_list(stretch.get(*place..).unwrap_or_default()));
        for place in places {
            for (key, value) in entries_until(stretch, place, file_bytes, limits) {
                metadata.set(key, value);
            }
            let rest = stretch.get(place..).unwrap_or_default();
            let tensors_at = at.plus(Bytes(place as u64));
            let mut source = Source::from(Cursor::new(rest), tensors_at, file_bytes, limits);
            let read = Self::with_tensors(
                &mut source,
                (version, tensor_count),
                metadata.clone(),
                file_bytes,
                limits,
            );
            if let Ok(header) = read
                && header.fills_its_file()?
            {
                return Ok((header, tensors_at));
            }
        }
        Err(HeaderError::bad("tensors", BadReason::Missing))
    }

    /// Whether the data of the tensors ends where the file ends, but for the padding of the last.
    pub(crate) fn fills_its_file(&self) -> Result<bool, HeaderError> {
        let end = self
            .tensors
            .last()
            .map_or(Bytes::ZERO, |last| last.offset.plus(last.bytes));
        let alignment = u64::from(self.metadata.u32("general.alignment")?.unwrap_or(32));
        Ok(self.file_bytes.less(self.data_offset.plus(end)).0 < alignment)
    }
}

/// The entries up to the first array that is too long to be kept, with how long it is.
fn before_the_words(
    source: &mut Source<Cursor<&[u8]>>,
    entry_count: u64,
    limits: &Limits,
) -> Result<Metadata, HeaderError> {
    let mut metadata = Metadata::default();
    for _ in 0..entry_count {
        let key = name(source, Limited::KeyBytes, limits.key_bytes)?;
        let kind = source.u32()?;
        if kind != ARRAY {
            let value = value(source, &key, kind, limits)?;
            metadata.set(key, value);
            continue;
        }
        let (item_kind, len) = array_opening(source, limits)?;
        let long = len > limits.kept_array_items;
        let items = if long {
            Vec::new()
        } else {
            crate::header::items(source, &key, (item_kind, len), limits)?
        };
        metadata.set(key, Value::Array(Array { len, items }));
        if long {
            break;
        }
    }
    Ok(metadata)
}

/// The entries whose last ends at `end`: the longest row of them.
fn entries_until(stretch: &[u8], end: usize, file_bytes: Bytes, limits: &Limits) -> Vec<(String, Value)> {
    let before = stretch.get(..end).unwrap_or_default();
    (0..end)
        .filter(|from| begins_a_key(before.get(*from..).unwrap_or_default()))
        .find_map(|from| {
            let mut source = Source::from(
                Cursor::new(before.get(from..).unwrap_or_default()),
                Bytes(from as u64),
                file_bytes,
                limits,
            );
            let mut entries = Vec::new();
            while source.position() < end as u64 {
                let key = name(&mut source, Limited::KeyBytes, limits.key_bytes).ok()?;
                let kind = source.u32().ok()?;
                let value = value(&mut source, &key, kind, limits).ok()?;
                entries.push((key, value));
            }
            Some(entries)
        })
        .unwrap_or_default()
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    bytes.try_into().ok().map(u32::from_le_bytes)
}

/// A length and so many bytes of a plain name.
fn plain_name(bytes: &[u8], most: u64) -> Option<&[u8]> {
    let len = u64_at(bytes, 0).filter(|len| (1..=most).contains(len))?;
    let name = bytes.get(8..8 + usize::try_from(len).ok()?)?;
    name.iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(byte))
        .then_some(name)
}

/// The first record of a list of tensors: name, dimensions, type, and the offset 0.
fn begins_a_list(bytes: &[u8]) -> bool {
    let Some(name) = plain_name(bytes, 63) else {
        return false;
    };
    let after = 8 + name.len();
    let Some(dimensions) = u32_at(bytes, after).filter(|count| (1..=Limits::DIMENSIONS).contains(count))
    else {
        return false;
    };
    u64_at(bytes, after + 4 + dimensions as usize * 8 + 4) == Some(0)
}

fn begins_a_key(bytes: &[u8]) -> bool {
    plain_name(bytes, 127).is_some_and(|name| {
        name.contains(&b'.') && u32_at(bytes, 8 + name.len()).is_some_and(|kind| kind <= 12)
    })
}

/// Several length-prefixed runs of bytes in a row, as the words of a tokenizer and the names of tensors are.
fn is_words(piece: &[u8]) -> bool {
    let row = |from: usize| {
        let mut at = from;
        for _ in 0..WORDS_IN_A_ROW {
            let len = u64_at(piece, at).filter(|len| (1..=WORD_MAX).contains(len))?;
            at = at.checked_add(8)?.checked_add(usize::try_from(len).ok()?)?;
        }
        Some(())
    };
    // A list of words runs through the whole piece; a list of tensors has numbers between its names.
    let lists = (0..piece.len().min(1 << 10)).any(|from| row(from).is_some());
    lists
        || piece
            .windows(7)
            .filter(|window| window == b".weight")
            .take(3)
            .count()
            == 3
}

fn mostly(part: usize, whole: usize) -> bool {
    whole > 0 && part.saturating_mul(MOST.1) >= whole.saturating_mul(MOST.0)
}

/// The kinds of words: 1 to 6 in 32 bits (`enum llama_token_type`).
fn is_small_numbers(piece: &[u8]) -> bool {
    (0..4).any(|shift| {
        let numbers = piece.len().saturating_sub(shift) / 4;
        let small =
            (0..numbers).filter(|at| u32_at(piece, shift + at * 4).is_some_and(|n| (1..=6).contains(&n)));
        mostly(small.count(), numbers)
    })
}

/// The scores of words: whole numbers below 0 as 32-bit floats, or one number over and over.
fn is_scores(piece: &[u8]) -> bool {
    (0..4).any(|shift| {
        let numbers = piece.len().saturating_sub(shift) / 4;
        let whole = (0..numbers).filter(|at| {
            u32_at(piece, shift + at * 4)
                .map(f32::from_bits)
                .is_some_and(|score| score <= -1.0 && score.fract() == 0.0 && score > -1e7)
        });
        mostly(whole.count(), numbers)
    })
}

/// A chat template.
fn is_prose(piece: &[u8]) -> bool {
    let letters = piece
        .iter()
        .filter(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r'));
    mostly(letters.count(), piece.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_not_taken_for_a_header() {
        let zeros = [0u8; 4096];
        assert!(!Header::looks_like(&zeros));
        let ones: Vec<u8> = std::iter::repeat_n(1f32.to_le_bytes(), 1024).flatten().collect();
        assert!(!Header::looks_like(&ones));
        let mut state = 7u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            u8::try_from(state >> 56).unwrap_or_default()
        })
        .take(4096)
        .collect();
        assert!(!Header::looks_like(&noise));
        assert!(!Header::looks_like(&[]));
    }

    #[test]
    fn every_part_of_a_tokenizer_is_known() {
        let words: Vec<u8> = (0u64..400)
            .flat_map(|n| {
                let word = format!("Ġ{n}");
                [&(word.len() as u64).to_le_bytes()[..], word.as_bytes()].concat()
            })
            .collect();
        // From any byte on, as a piece begins anywhere.
        for from in 0..30 {
            assert!(Header::looks_like(&words[from..from + 2048]), "{from}");
        }
        let kinds: Vec<u8> = std::iter::repeat_n(1u32.to_le_bytes(), 512).flatten().collect();
        let scores: Vec<u8> = (0u16..512)
            .flat_map(|n| (-1.0 - f32::from(n)).to_le_bytes())
            .collect();
        for from in 0..4 {
            assert!(Header::looks_like(&kinds[from..from + 1024]));
            assert!(Header::looks_like(&scores[from..from + 1024]));
        }
        assert!(Header::looks_like(
            "{%- if messages[0].role == 'system' -%}\n".repeat(40).as_bytes()
        ));
    }
}
