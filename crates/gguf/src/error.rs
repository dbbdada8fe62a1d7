use std::fmt;
use std::path::PathBuf;

use plimsoll_units::Bytes;

use crate::ValueKind;

/// Why a file's header cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    #[error("opening {path}", path = .path.display())]
    Open { path: PathBuf, source: std::io::Error },
    #[error("reading the header")]
    Read { source: std::io::Error },
    #[error("the file does not start with GGUF")]
    NotGguf,
    /// The bytes that are there make sense; more must follow. `needed` is the least that the header tells so far.
    #[error("the file ends after {have} of at least {needed}")]
    Cut { needed: Bytes, have: Bytes },
    #[error("{what} {claimed} is over the limit of {limit}")]
    TooLarge { what: Limited, claimed: u64, limit: u64 },
    #[error("{field}: {reason}")]
    BadField { field: String, reason: BadReason },
    #[error("parts {missing:?} of {count} are missing")]
    MissingParts { count: u32, missing: Vec<String> },
}

/// What a limit was put on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    HeaderBytes,
    MetadataEntries,
    KeyBytes,
    TextBytes,
    ArrayItems,
    Tensors,
    TensorNameBytes,
    Dimensions,
    Parts,
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HeaderBytes => "header size",
            Self::MetadataEntries => "number of metadata entries",
            Self::KeyBytes => "length of a key",
            Self::TextBytes => "length of a text",
            Self::ArrayItems => "length of an array",
            Self::Tensors => "number of tensors",
            Self::TensorNameBytes => "length of a tensor name",
            Self::Dimensions => "number of dimensions",
            Self::Parts => "number of parts",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadReason {
    #[error("missing")]
    Missing,
    #[error("named twice")]
    Twice,
    #[error("empty")]
    Empty,
    #[error("not text")]
    NotText,
    #[error("unknown value type {0}")]
    UnknownValueType(u32),
    #[error("unknown tensor type {0}")]
    UnknownTensorType(u32),
    #[error("version {0} is not readable")]
    Version(u32),
    #[error("written for another byte order")]
    ByteOrder,
    #[error("expected {expected}, found {found}")]
    Kind { expected: ValueKind, found: ValueKind },
    #[error("{value} is out of range")]
    OutOfRange { value: String },
    #[error("rows of {row} values do not divide into blocks of {block}")]
    RowLength { row: u64, block: u64 },
    #[error("its size does not fit into 64 bits")]
    Overflow,
    #[error("at {found}, expected at {expected}")]
    Offset { found: u64, expected: u64 },
    #[error("the file name does not end in -00001-of-0000N.gguf")]
    PartName,
}

impl HeaderError {
    /// A complaint about one field. Its name may come from the file, so only its start is kept.
    pub(crate) fn bad(field: &str, reason: BadReason) -> Self {
        Self::BadField {
            field: field.chars().take(120).collect(),
            reason,
        }
    }
}
