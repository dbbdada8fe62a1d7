use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use plimsoll_units::Bytes;

use crate::source::Source;
use crate::{Array, BadReason, HeaderError, Limited, Limits, Metadata, Tensor, TensorType, Value};

/// The head of one GGUF file, or of a whole split set put together.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    pub version: u32,
    pub metadata: Metadata,
    pub tensors: Vec<Tensor>,
    /// Where the tensor data of (the first part of) the file starts.
    pub data_offset: Bytes,
    /// Of all parts together.
    pub file_bytes: Bytes,
}

impl Header {
    /// Reads the head of one file. A split model needs [`crate::FileSet::read`].
    pub fn read_file(path: &Path, limits: &Limits) -> Result<Self, HeaderError> {
        let open = |source| HeaderError::Open {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(open)?;
        let about = file.metadata().map_err(open)?;
        if about.is_dir() {
            return Err(open(std::io::ErrorKind::IsADirectory.into()));
        }
        Self::read(
            BufReader::with_capacity(256 << 10, file),
            Bytes(about.len()),
            limits,
        )
    }

    /// Reads a head from its first byte on. `file_bytes` is the length of the whole file, also when `input` holds
    /// only its beginning; [`HeaderError::Cut`] then says how many bytes are needed.
    pub fn read(input: impl Read, file_bytes: Bytes, limits: &Limits) -> Result<Self, HeaderError> {
        Ok(Self::read_placed(input, file_bytes, limits)?.0)
    }

    /// The same, with the place where the list of tensors begins: what [`Self::read_apart`] goes by.
    pub fn read_placed(
        input: impl Read,
        file_bytes: Bytes,
        limits: &Limits,
    ) -> Result<(Self, Bytes), HeaderError> {
        let mut source = Source::new(input, file_bytes, limits);
        let (version, tensor_count, entry_count) = opening(&mut source, limits)?;

        let mut metadata = Metadata::default();
        for _ in 0..entry_count {
            let key = name(&mut source, Limited::KeyBytes, limits.key_bytes)?;
            let kind = source.u32()?;
            let value = value(&mut source, &key, kind, limits)?;
            if !metadata.insert(key.clone(), value) {
                return Err(HeaderError::bad(&key, BadReason::Twice));
            }
        }

        let tensors_at = Bytes(source.position());
        let header = Self::with_tensors(&mut source, (version, tensor_count), metadata, file_bytes, limits)?;
        Ok((header, tensors_at))
    }

    /// The list of tensors from here on, held against the length of the file.
    pub(crate) fn with_tensors<R: Read>(
        source: &mut Source<R>,
        (version, tensor_count): (u32, u64),
        metadata: Metadata,
        file_bytes: Bytes,
        limits: &Limits,
    ) -> Result<Self, HeaderError> {
        let alignment = u64::from(metadata.u32("general.alignment")?.unwrap_or(32));
        if !alignment.is_power_of_two() {
            return Err(HeaderError::bad(
                "general.alignment",
                BadReason::OutOfRange {
                    value: alignment.to_string(),
                },
            ));
        }
        let mut tensors: Vec<Tensor> = Vec::new();
        let mut seen = HashSet::new();
        let mut end = 0u64;
        for _ in 0..tensor_count {
            let tensor = tensor(source, end, limits)?;
            if !seen.insert(tensor.name.clone()) {
                return Err(HeaderError::bad(&tensor.name, BadReason::Twice));
            }
            end = tensor
                .bytes
                .checked_add(tensor.offset)
                .and_then(|end| end.0.checked_next_multiple_of(alignment))
                .ok_or_else(|| HeaderError::bad(&tensor.name, BadReason::Overflow))?;
            tensors.push(tensor);
        }

        let data_offset = Bytes(source.position()).round_up(alignment);
        // The last tensor need not be padded to the end of the file.
        let data_end = tensors
            .last()
            .map_or(Bytes::ZERO, |last| last.offset.plus(last.bytes));
        let needed = data_offset.plus(data_end);
        if !tensors.is_empty() && needed > file_bytes {
            return Err(HeaderError::Cut {
                needed,
                have: file_bytes,
            });
        }
        Ok(Self {
            version,
            metadata,
            tensors,
            data_offset,
            file_bytes,
        })
    }

    /// `general.architecture`: the prefix of the keys that describe the model.
    pub fn architecture(&self) -> Result<&str, HeaderError> {
        const KEY: &str = "general.architecture";
        match self.metadata.text(KEY)? {
            None => Err(HeaderError::bad(KEY, BadReason::Missing)),
            Some("") => Err(HeaderError::bad(KEY, BadReason::Empty)),
            Some(name) => Ok(name),
        }
    }

    /// The name of the tensor type mix, from `general.file_type`; `None` when the file does not say.
    #[must_use]
    pub fn quant(&self) -> Option<&'static str> {
        // `enum llama_ftype`; 1024 means "guessed".
        Some(match self.metadata.get("general.file_type")?.as_u64()? & !1024 {
            0 => "F32",
            1 => "F16",
            2 => "Q4_0",
            3 => "Q4_1",
            7 => "Q8_0",
            8 => "Q5_0",
            9 => "Q5_1",
            10 => "Q2_K",
            11 => "Q3_K_S",
            12 => "Q3_K_M",
            13 => "Q3_K_L",
            14 => "Q4_K_S",
            15 => "Q4_K_M",
            16 => "Q5_K_S",
            17 => "Q5_K_M",
            18 => "Q6_K",
            19 => "IQ2_XXS",
            20 => "IQ2_XS",
            21 => "Q2_K_S",
            22 => "IQ3_XS",
            23 => "IQ3_XXS",
            24 => "IQ1_S",
            25 => "IQ4_NL",
            26 => "IQ3_S",
            27 => "IQ3_M",
            28 => "IQ2_S",
            29 => "IQ2_M",
            30 => "IQ4_XS",
            31 => "IQ1_M",
            32 => "BF16",
            36 => "TQ1_0",
            37 => "TQ2_0",
            38 => "MXFP4",
            39 => "NVFP4",
            _ => return None,
        })
    }
}

/// What every file begins with: version, number of tensors, number of metadata entries.
pub(crate) fn opening<R: Read>(
    source: &mut Source<R>,
    limits: &Limits,
) -> Result<(u32, u64, u64), HeaderError> {
    let magic: [u8; 4] = match source.bytes() {
        // Too short to say what it is.
        Err(HeaderError::Cut { .. }) => return Err(HeaderError::NotGguf),
        other => other?,
    };
    if &magic != b"GGUF" {
        return Err(HeaderError::NotGguf);
    }
    let version = source.u32()?;
    if version != 0 && version.trailing_zeros() >= 16 {
        return Err(HeaderError::bad("version", BadReason::ByteOrder));
    }
    if !(2..=3).contains(&version) {
        return Err(HeaderError::bad("version", BadReason::Version(version)));
    }
    let tensor_count = source.count(Limited::Tensors, limits.tensors)?;
    let entry_count = source.count(Limited::MetadataEntries, limits.metadata_entries)?;
    Ok((version, tensor_count, entry_count))
}

/// A key or a tensor name: text that is not empty.
pub(crate) fn name<R: Read>(
    source: &mut Source<R>,
    what: Limited,
    limit: u64,
) -> Result<String, HeaderError> {
    let text = source.text(what, limit)?;
    let text = String::from_utf8(text)
        .map_err(|e| HeaderError::bad(&String::from_utf8_lossy(e.as_bytes()), BadReason::NotText))?;
    if text.is_empty() {
        Err(HeaderError::bad("name", BadReason::Empty))
    } else {
        Ok(text)
    }
}

fn tensor<R: Read>(source: &mut Source<R>, expected: u64, limits: &Limits) -> Result<Tensor, HeaderError> {
    let name = name(source, Limited::TensorNameBytes, limits.tensor_name_bytes)?;
    let dimensions = source.u32()?;
    if dimensions > Limits::DIMENSIONS {
        return Err(HeaderError::TooLarge {
            what: Limited::Dimensions,
            claimed: dimensions.into(),
            limit: Limits::DIMENSIONS.into(),
        });
    }
    let mut dims = [1; 4];
    for dim in dims.iter_mut().take(dimensions as usize) {
        *dim = source.u64()?;
    }
    let id = source.u32()?;
    let kind =
        TensorType::from_id(id).ok_or_else(|| HeaderError::bad(&name, BadReason::UnknownTensorType(id)))?;
    let offset = source.u64()?;
    let bytes = Tensor::size(&name, dims, kind)?;
    if offset != expected {
        return Err(HeaderError::bad(
            &name,
            BadReason::Offset {
                found: offset,
                expected,
            },
        ));
    }
    Ok(Tensor {
        name,
        dims,
        kind,
        offset: Bytes(offset),
        bytes,
        part: 0,
    })
}

const TEXT: u32 = 8;
pub(crate) const ARRAY: u32 = 9;

pub(crate) fn value<R: Read>(
    source: &mut Source<R>,
    key: &str,
    kind: u32,
    limits: &Limits,
) -> Result<Value, HeaderError> {
    if kind != ARRAY {
        return single(source, key, kind, limits);
    }
    let (item_kind, len) = array_opening(source, limits)?;
    let mut items = Vec::new();
    if len <= limits.kept_array_items {
        items = self::items(source, key, (item_kind, len), limits)?;
    } else if item_kind == TEXT {
        for _ in 0..len {
            let text = source.count(Limited::TextBytes, limits.text_bytes)?;
            source.skip(text)?;
        }
    } else {
        let width =
            width(item_kind).ok_or_else(|| HeaderError::bad(key, BadReason::UnknownValueType(item_kind)))?;
        source.skip(len.saturating_mul(width))?;
    }
    Ok(Value::Array(Array { len, items }))
}

/// What an array holds and how many of it.
pub(crate) fn array_opening<R: Read>(
    source: &mut Source<R>,
    limits: &Limits,
) -> Result<(u32, u64), HeaderError> {
    let item_kind = source.u32()?;
    Ok((item_kind, source.count(Limited::ArrayItems, limits.array_items)?))
}

pub(crate) fn items<R: Read>(
    source: &mut Source<R>,
    key: &str,
    (item_kind, len): (u32, u64),
    limits: &Limits,
) -> Result<Vec<Value>, HeaderError> {
    (0..len).map(|_| single(source, key, item_kind, limits)).collect()
}

const fn width(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

fn single<R: Read>(
    source: &mut Source<R>,
    key: &str,
    kind: u32,
    limits: &Limits,
) -> Result<Value, HeaderError> {
    Ok(match kind {
        0 => Value::Unsigned(u8::from_le_bytes(source.bytes()?).into()),
        1 => Value::Signed(i8::from_le_bytes(source.bytes()?).into()),
        2 => Value::Unsigned(u16::from_le_bytes(source.bytes()?).into()),
        3 => Value::Signed(i16::from_le_bytes(source.bytes()?).into()),
        4 => Value::Unsigned(source.u32()?.into()),
        5 => Value::Signed(i32::from_le_bytes(source.bytes()?).into()),
        6 => Value::Float(f32::from_le_bytes(source.bytes()?).into()),
        7 => Value::Bool(u8::from_le_bytes(source.bytes()?) != 0),
        // A template may hold any bytes; for us it is only shown or searched.
        TEXT => {
            Value::Text(String::from_utf8_lossy(&source.text(Limited::TextBytes, limits.text_bytes)?).into())
        }
        10 => Value::Unsigned(source.u64()?),
        11 => Value::Signed(i64::from_le_bytes(source.bytes()?)),
        12 => Value::Float(f64::from_le_bytes(source.bytes()?)),
        // Also an array inside an array: llama.cpp refuses those as well.
        other => return Err(HeaderError::bad(key, BadReason::UnknownValueType(other))),
    })
}
