use std::path::{Path, PathBuf};

use plimsoll_units::Bytes;

use crate::{BadReason, Header, HeaderError, Limited, Limits};

/// A model with all its files.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSet {
    /// The first part's metadata, the tensors of all parts.
    pub header: Header,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub path: PathBuf,
    pub bytes: Bytes,
}

impl FileSet {
    /// Reads a model from its only file, or from any part of a split one; the others are found beside it.
    pub fn read(path: &Path, limits: &Limits) -> Result<Self, HeaderError> {
        let given = Header::read_file(path, limits)?;
        let count = given.metadata.u32("split.count")?.unwrap_or(1);
        if count <= 1 {
            let bytes = given.file_bytes;
            return Ok(Self {
                header: given,
                parts: vec![Part {
                    path: path.to_owned(),
                    bytes,
                }],
            });
        }
        if u64::from(count) > limits.parts {
            return Err(HeaderError::TooLarge {
                what: Limited::Parts,
                claimed: count.into(),
                limit: limits.parts,
            });
        }
        let paths = siblings(path, count)?;
        let missing: Vec<String> = paths
            .iter()
            .filter(|path| !path.is_file())
            .map(|path| {
                path.file_name()
                    .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
            })
            .collect();
        if !missing.is_empty() {
            return Err(HeaderError::MissingParts { count, missing });
        }
        Self::join(&paths, limits)
    }

    fn join(paths: &[PathBuf], limits: &Limits) -> Result<Self, HeaderError> {
        let headers: Result<Vec<Header>, HeaderError> =
            paths.iter().map(|path| Header::read_file(path, limits)).collect();
        let headers = headers?;
        let parts = paths.iter().zip(&headers).map(|(path, header)| Part {
            path: path.clone(),
            bytes: header.file_bytes,
        });
        let parts = parts.collect();
        Ok(Self {
            header: Header::join(headers)?,
            parts,
        })
    }
}

impl Header {
    /// The header of a split model from those of its parts, in the order of their file names.
    pub fn join(parts: Vec<Self>) -> Result<Self, HeaderError> {
        let mut whole: Option<Self> = None;
        for (number, mut part) in (0u16..).zip(parts) {
            // The file names say the order; the files must agree, or two models are mixed.
            let says = part.metadata.u32("split.no")?.unwrap_or(0);
            if says != u32::from(number) {
                return Err(HeaderError::bad(
                    "split.no",
                    BadReason::OutOfRange {
                        value: says.to_string(),
                    },
                ));
            }
            part.tensors.iter_mut().for_each(|tensor| tensor.part = number);
            match &mut whole {
                None => whole = Some(part),
                Some(whole) => {
                    whole.file_bytes = whole.file_bytes.plus(part.file_bytes);
                    whole.tensors.append(&mut part.tensors);
                }
            }
        }
        let header = whole.ok_or_else(|| HeaderError::bad("split.count", BadReason::Empty))?;
        let found = u32::try_from(header.tensors.len()).unwrap_or(u32::MAX);
        match header.metadata.u32("split.tensors.count")? {
            Some(count) if count != found => Err(HeaderError::bad(
                "split.tensors.count",
                BadReason::OutOfRange {
                    value: format!("{count}, found {found}"),
                },
            )),
            _ => Ok(header),
        }
    }
}

/// A file name alone must not make us build a hundred thousand more.
const PARTS_MAX: u32 = 1000;

/// The file names of all parts of a split model, from the name of any one of them: `name-00002-of-00005.gguf`.
/// `None` for a name that is not such a part.
#[must_use]
pub fn part_names(name: &str) -> Option<Vec<String>> {
    let stem = name.strip_suffix(".gguf")?;
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (prefix, number) = rest.rsplit_once('-')?;
    let five_digits = |text: &str| {
        (text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse::<u32>().ok())?
    };
    let (number, count) = (five_digits(number)?, five_digits(count)?);
    (count <= PARTS_MAX && (1..=count).contains(&number)).then(|| {
        (1..=count)
            .map(|n| format!("{prefix}-{n:05}-of-{count:05}.gguf"))
            .collect()
    })
}

fn siblings(path: &Path, count: u32) -> Result<Vec<PathBuf>, HeaderError> {
    path.file_name()
        .and_then(|name| part_names(&name.to_string_lossy()))
        .filter(|names| names.len() == count as usize)
        .map(|names| names.iter().map(|name| path.with_file_name(name)).collect())
        .ok_or_else(|| HeaderError::bad("split.count", BadReason::PartName))
}
