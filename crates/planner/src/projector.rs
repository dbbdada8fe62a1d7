use plimsoll_catalog::Model;
use plimsoll_gguf::{BadReason, Header, HeaderError, Metadata};
use plimsoll_units::Bytes;

/// What turns pictures into rows for the model: its weights, and what it works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Projector {
    weights: Bytes,
    compute: Bytes,
}

/// More than any encoder of pictures has; a header beyond is broken.
const WIDTH_MAX: u32 = 1 << 17;
const SIDE_MAX: u32 = 1 << 13;

/// Families whose pictures have no fixed size: the side of the picture, in merged patches, that llama-server works
/// out once at the start (`set_warmup_n_tokens` of its `clip.cpp`), and how many patches each way become one.
const SIDES: [(&str, u64, u32); 8] = [
    ("qwen2vl_merger", 46, 2),
    ("qwen2.5vl_merger", 46, 2),
    ("qwen3vl_merger", 46, 2),
    ("qwen2.5o", 46, 2),
    ("gemma4v", 16, 3),
    ("pixtral", 16, 1),
    ("lightonocr", 16, 1),
    ("lfm2", 16, 2),
];

impl Projector {
    /// From the header of its file. What it works in was measured with pictures of 224 to 896 points a side and
    /// widths of 64 to 256 on b10434: within a twelfth, at most 0.8 MiB.
    pub fn from_header(header: &Header) -> Result<Self, HeaderError> {
        let architecture = header.architecture()?;
        if architecture != "clip" {
            return Err(bad(
                "general.architecture",
                BadReason::OutOfRange {
                    value: architecture.to_owned(),
                },
            ));
        }
        let weights = header.tensors.iter().map(|tensor| tensor.bytes).sum();
        // Each encoder has its own buffers.
        let compute = match (encoder(header)?, sounds(header)?) {
            (None, None) => Self::of_size(weights).compute,
            (pictures, sounds) => pictures.unwrap_or_default().plus(sounds.unwrap_or_default()),
        };
        Ok(Self { weights, compute })
    }

    /// Without its header: what it works in is taken to be a quarter of its weights, as it is for the encoders of
    /// Gemma 3 and Qwen2.5-VL at half precision.
    #[must_use]
    pub const fn of_size(weights: Bytes) -> Self {
        Self {
            weights,
            compute: Bytes(weights.0 / 4),
        }
    }

    /// Of a model of the catalog that sees pictures.
    #[must_use]
    pub fn of_model(model: &Model) -> Option<Self> {
        let ours = model.projectors.first()?;
        Some(Self::of_size(ours.file.bytes))
    }

    /// All that it takes.
    #[must_use]
    pub const fn bytes(&self) -> Bytes {
        self.weights.plus(self.compute)
    }
}

/// A number of the encoder of pictures (`vision`) or of sounds (`audio`).
fn number(metadata: &Metadata, part: &str, key: &str, most: u32) -> Result<Option<u64>, HeaderError> {
    let key = format!("clip.{part}.{key}");
    match metadata.u32(&key)? {
        Some(value) if value > most => Err(bad(
            &key,
            BadReason::OutOfRange {
                value: value.to_string(),
            },
        )),
        value => Ok(value.map(u64::from)),
    }
}

/// Encoders of sounds that are Whisper's: two convolutions, of which the second halves the length, and layers of
/// attention.
const WHISPERS: [&str; 7] = [
    "qwen2a",
    "qwen2.5o",
    "ultravox",
    "voxtral",
    "meralion",
    "musicflamingo",
    "glma",
];
/// Half a minute, which llama-server works out once at the start, after the convolutions.
const SOUND_ROWS: u64 = 1_500;

/// What an encoder of sounds works in; `None` when the file has none. Of other kinds than Whisper's it is taken to be
/// a quarter of the weights.
fn sounds(header: &Header) -> Result<Option<Bytes>, HeaderError> {
    let metadata = &header.metadata;
    let own = header
        .tensors
        .iter()
        .filter(|tensor| tensor.name.starts_with("a."));
    let weights: Bytes = own.map(|tensor| tensor.bytes).sum();
    if weights == Bytes::ZERO {
        return Ok(None);
    }
    let of_size = Projector::of_size(weights).compute;
    let kind = metadata
        .text("clip.audio.projector_type")?
        .or(metadata.text("clip.projector_type")?);
    let width = number(metadata, "audio", "embedding_length", WIDTH_MAX)?;
    let inner = number(metadata, "audio", "feed_forward_length", WIDTH_MAX)?;
    let (Some(width), Some(inner)) = (width, inner) else {
        return Ok(Some(of_size));
    };
    if !kind.is_some_and(|kind| WHISPERS.contains(&kind)) {
        return Ok(Some(of_size));
    }
    // Below twice the width the convolutions decide.
    let row = inner.max(2 * width) + 3 * width;
    Ok(Some(Bytes(4 * row).times(SOUND_ROWS)))
}

/// What an encoder of pictures works in; `None` when the file has none (one for sounds).
fn encoder(header: &Header) -> Result<Option<Bytes>, HeaderError> {
    let metadata = &header.metadata;
    let read = |key: &str, most: u32| number(metadata, "vision", key, most);
    let (Some(patch), Some(width)) = (
        read("patch_size", SIDE_MAX)?,
        read("embedding_length", WIDTH_MAX)?,
    ) else {
        return Ok(None);
    };
    let inner = read("feed_forward_length", WIDTH_MAX)?.unwrap_or(4 * width);
    let rows = read("projection_dim", WIDTH_MAX)?.unwrap_or(width);
    let merged = read("spatial_merge_size", 16)?.or(read("projector.scale_factor", 16)?);
    let kind = kind(metadata)?;
    let side = match SIDES.iter().find(|(name, ..)| kind == Some(name)) {
        Some(&(_, side, merge)) => side * merged.unwrap_or(merge.into()),
        None => read("image_size", SIDE_MAX)?.unwrap_or(0) / patch.max(1),
    };
    let gated = header
        .tensors
        .iter()
        .any(|tensor| tensor.name == "v.blk.0.ffn_gate.weight");
    let activations = if gated { 2 * inner } else { inner };
    // The points of the picture stay beside the widest part of a layer and the state; at the end there are the rows
    // before and after their last matrix, beside two states.
    let in_layers = 3 * patch * patch + activations + width;
    let at_end = 2 * rows + 2 * width;
    Ok(Some(Bytes(4 * in_layers.max(at_end)).times(side * side)))
}

fn kind(metadata: &Metadata) -> Result<Option<&str>, HeaderError> {
    Ok(metadata
        .text("clip.vision.projector_type")?
        .or(metadata.text("clip.projector_type")?))
}

fn bad(field: &str, reason: BadReason) -> HeaderError {
    HeaderError::BadField {
        field: field.into(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_gguf::{Metadata, Tensor, TensorType, Value};

    use super::*;

    fn header(image: u64, width: u64, inner: u64) -> Header {
        let mut metadata = Metadata::default();
        metadata.insert("general.architecture".into(), Value::Text("clip".into()));
        metadata.insert("clip.projector_type".into(), Value::Text("mlp".into()));
        for (key, value) in [
            ("image_size", image),
            ("patch_size", 14),
            ("embedding_length", width),
            ("feed_forward_length", inner),
            ("projection_dim", 576),
        ] {
            metadata.insert(format!("clip.vision.{key}"), Value::Unsigned(value));
        }
        let dims = [576, 576, 1, 1];
        Header {
            version: 3,
            metadata,
            tensors: vec![Tensor {
                name: "mm.2.weight".into(),
                dims,
                kind: TensorType::F32,
                offset: Bytes::ZERO,
                bytes: Tensor::size("mm.2.weight", dims, TensorType::F32).unwrap(),
                part: 0,
            }],
            data_offset: Bytes::ZERO,
            file_bytes: Bytes::mib(3),
        }
    }

    /// `reserve_compute_meta` in the log of llama-server b10434, `SmolLM2` with a projector of random weights:
    /// (picture, width, inner width, MiB).
    #[test]
    fn a_real_server_works_in_what_is_planned() {
        for (image, width, inner, seen) in [
            (448, 64, 128, 4.75),
            (224, 64, 128, 1.19),
            (448, 256, 1024, 7.31),
            (896, 256, 512, 26.0),
        ] {
            let planned = Projector::from_header(&header(image, width, inner)).unwrap();
            let off = planned.compute.as_mib() / seen - 1.0;
            assert!(
                off.abs() < 0.08,
                "{image} {width}: {} for {seen} MiB",
                planned.compute.as_mib()
            );
            assert_eq!(planned.bytes(), planned.weights.plus(planned.compute));
        }
    }

    /// The same of b11434 with an encoder of sounds: (width, inner width, MiB).
    #[test]
    fn a_real_server_hears_in_what_is_planned() {
        for (width, inner, seen) in [
            (64, 256, 2.56),
            (128, 512, 5.13),
            (256, 1024, 10.25),
            (256, 512, 7.32),
        ] {
            let mut metadata = Metadata::default();
            metadata.insert("general.architecture".into(), Value::Text("clip".into()));
            metadata.insert("clip.projector_type".into(), Value::Text("qwen2a".into()));
            for (key, value) in [("embedding_length", width), ("feed_forward_length", inner)] {
                metadata.insert(format!("clip.audio.{key}"), Value::Unsigned(value));
            }
            let mut file = header(224, 64, 128);
            file.tensors[0].name = "a.blk.0.ffn_up.weight".into();
            let planned = Projector::from_header(&Header {
                metadata,
                ..file.clone()
            })
            .unwrap();
            let off = (planned.compute.as_mib() - seen).abs();
            assert!(off < 0.01, "{width}: {} for {seen} MiB", planned.compute.as_mib());
            // Beside one of pictures each has its own buffers.
            let pictures = Projector::from_header(&header(224, 64, 128)).unwrap().compute;
            let mut both = file.metadata.clone();
            both.insert("clip.audio.projector_type".into(), Value::Text("qwen2a".into()));
            for (key, value) in [("embedding_length", width), ("feed_forward_length", inner)] {
                both.insert(format!("clip.audio.{key}"), Value::Unsigned(value));
            }
            let both = Projector::from_header(&Header {
                metadata: both,
                ..file
            })
            .unwrap();
            assert_eq!(both.compute, planned.compute.plus(pictures));
        }
    }

    #[test]
    fn a_header_with_nonsense_is_an_error_and_one_for_sounds_has_its_weights() {
        // The first value of a key stays.
        let with = |key: &str, value: Value| {
            let known = header(448, 64, 128);
            let mut metadata = Metadata::default();
            metadata.insert(key.to_owned(), value);
            for (key, value) in known.metadata.iter() {
                metadata.insert(key.to_owned(), value.clone());
            }
            Projector::from_header(&Header { metadata, ..known })
        };
        assert!(with("clip.vision.patch_size", Value::Unsigned(1 << 30)).is_err());
        assert!(with("general.architecture", Value::Text("llama".into())).is_err());
        assert!(
            with("clip.vision.patch_size", Value::Unsigned(0)).is_ok(),
            "no division by it"
        );
    }
}
