use std::io::Cursor;

use plimsoll_units::Bytes;

use crate::header::{name, opening, value};
use crate::source::Source;
use crate::{BadReason, Header, HeaderError, Limits};

/// Keys from here on are the tokenizer's: megabytes that are the same in every quantisation of a model.
const TOKENIZER: &str = "tokenizer.";

/// A file of the same model whose header was read whole, so that another quantisation of it can be read from two
/// small stretches of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Sibling {
    header: Header,
    tensors_at: Bytes,
}

impl Sibling {
    /// From what [`Header::read_placed`] gave.
    #[must_use]
    pub const fn new(header: Header, tensors_at: Bytes) -> Self {
        Self { header, tensors_at }
    }

    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Where the other file's list of tensors is to be looked for: first byte and the one after the last. Values
    /// of metadata differ a little in length from file to file, hence `slack` on both sides.
    #[must_use]
    pub fn stretch(&self, slack: Bytes) -> (Bytes, Bytes) {
        (self.tensors_at.less(slack), self.header.data_offset.plus(slack))
    }
}

impl Header {
    /// The header of another quantisation of the same model: what `start`, the file's first bytes, says itself,
    /// the tokenizer's facts from the sibling, and the tensors found in `stretch`, which begins at `at`.
    ///
    /// The list of tensors must begin with the sibling's first name, be without a gap, and end where the file
    /// ends. Everything else is an error, and the header has to be read whole.
    pub fn read_apart(
        start: &[u8],
        (at, stretch): (Bytes, &[u8]),
        sibling: &Sibling,
        file_bytes: Bytes,
        limits: &Limits,
    ) -> Result<Self, HeaderError> {
        let mut source = Source::new(Cursor::new(start), file_bytes, limits);
        let (version, tensor_count, entry_count) = opening(&mut source, limits)?;
        let mut metadata = sibling.header.metadata.clone();
        // What the other file does not say before its tokenizer is not to be had from this one.
        metadata.unset("general.file_type");
        for _ in 0..entry_count {
            let key = name(&mut source, crate::Limited::KeyBytes, limits.key_bytes)?;
            if key.starts_with(TOKENIZER) {
                break;
            }
            let kind = source.u32()?;
            let value = value(&mut source, &key, kind, limits)?;
            metadata.set(key, value);
        }
        let missing = || HeaderError::bad("tensors", BadReason::Missing);
        let first = sibling.header.tensors.first().ok_or_else(missing)?;
        let mut record = (first.name.len() as u64).to_le_bytes().to_vec();
        record.extend(first.name.as_bytes());
        let place = stretch
            .windows(record.len())
            .position(|window| window == record)
            .ok_or_else(missing)?;
        let rest = stretch.get(place..).ok_or_else(missing)?;
        let mut source = Source::from(
            Cursor::new(rest),
            at.plus(Bytes(place as u64)),
            file_bytes,
            limits,
        );
        let header = Self::with_tensors(&mut source, (version, tensor_count), metadata, file_bytes, limits)?;
        let same_model = header.architecture()? == sibling.header.architecture()?;
        // A list that was found by chance does not add up to the length of the file.
        if !same_model || !header.fills_its_file()? {
            return Err(missing());
        }
        Ok(header)
    }
}
