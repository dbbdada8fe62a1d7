use std::io::Read;

use plimsoll_gguf::{BadReason, Header, HeaderError, Limited, Limits, TensorType};
use plimsoll_units::Bytes;
use proptest::prelude::*;

use crate::build::{Meta, Model};

fn read(bytes: &[u8], file: u64) -> Result<Header, HeaderError> {
    Header::read(bytes, Bytes(file), &Limits::default())
}

#[test]
fn something_else_is_not_gguf() {
    for bytes in [
        b"".as_slice(),
        b"GG",
        b"PK\x03\x04 a zip file",
        b"<!DOCTYPE html>",
    ] {
        assert!(
            matches!(read(bytes, bytes.len() as u64), Err(HeaderError::NotGguf)),
            "{bytes:?}"
        );
    }
}

#[test]
fn a_cut_file_is_found_from_its_header() {
    let model = Model::small();
    let whole = model.file_bytes();
    let error = read(&model.header(), whole - 1).unwrap_err();
    assert!(
        matches!(error, HeaderError::Cut { needed, have } if needed.0 == whole && have.0 == whole - 1),
        "{error}"
    );
    read(&model.header(), whole).unwrap();
}

/// Gives zeros without end: what a claim of 2^60 would be read from.
struct Endless;

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        buffer.fill(0);
        Ok(buffer.len())
    }
}

#[test]
fn absurd_counts_are_refused_before_anything_is_read() {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3u32.to_le_bytes());
    let start = bytes.len();
    bytes.extend((1u64 << 60).to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    let error = Header::read(
        bytes.as_slice().chain(Endless),
        Bytes(u64::MAX),
        &Limits::default(),
    )
    .unwrap_err();
    assert!(
        matches!(error, HeaderError::TooLarge { what: Limited::Tensors, claimed, .. } if claimed == 1 << 60),
        "{error}"
    );

    bytes.truncate(start);
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    for (length, what) in [(1u64 << 50, Limited::KeyBytes), (u64::MAX, Limited::KeyBytes)] {
        let mut bytes = bytes.clone();
        bytes.extend(length.to_le_bytes());
        let error = Header::read(
            bytes.as_slice().chain(Endless),
            Bytes(u64::MAX),
            &Limits::default(),
        )
        .unwrap_err();
        assert!(
            matches!(error, HeaderError::TooLarge { what: w, claimed, .. } if w == what && claimed == length),
            "{error}"
        );
    }
}

#[test]
fn a_header_has_a_size_limit_however_it_is_made_up() {
    let model = Model::small();
    let limits = Limits {
        header_bytes: Bytes(1000),
        ..Limits::default()
    };
    let error = Header::read(model.header().as_slice(), Bytes(model.file_bytes()), &limits).unwrap_err();
    assert!(
        matches!(
            error,
            HeaderError::TooLarge {
                what: Limited::HeaderBytes,
                limit: 1000,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn wrong_fields_are_named() {
    let bad = |model: Model| read(&model.header(), u64::MAX).unwrap_err().to_string();
    let tensor = |dims: Vec<u64>, kind| Model {
        tensors: vec![("blk.0.attn_q.weight".into(), dims, kind)],
        ..Model::small()
    };
    assert_eq!(
        bad(tensor(vec![100, 2], TensorType::Q4_K)),
        "blk.0.attn_q.weight: rows of 100 values do not divide into blocks of 256"
    );
    assert_eq!(
        bad(tensor(vec![1 << 40, 1 << 40], TensorType::F32)),
        "blk.0.attn_q.weight: its size does not fit into 64 bits"
    );
    assert_eq!(
        bad(tensor(vec![32, 1, 1, 1, 1], TensorType::F32)),
        "number of dimensions 5 is over the limit of 4"
    );
    assert_eq!(
        bad(Model::small().with("general.alignment", Meta::U32(48))),
        "general.alignment: 48 is out of range"
    );
    assert_eq!(
        bad(Model {
            version: 3 << 24,
            ..Model::small()
        }),
        "version: written for another byte order"
    );
    assert_eq!(
        bad(Model {
            version: 1,
            ..Model::small()
        }),
        "version: version 1 is not readable"
    );
    let mut twice = Model::small();
    twice.metadata.push(("llama.block_count".into(), Meta::U32(3)));
    assert_eq!(bad(twice), "llama.block_count: named twice");
    let mut twice = Model::small();
    twice.tensors.push(twice.tensors[0].clone());
    assert_eq!(bad(twice), "token_embd.weight: named twice");
}

#[test]
fn tensors_that_overlap_are_refused() {
    let mut bytes = Model::small().header();
    let end = bytes.len();
    // The offset of the last tensor is the last word of the header.
    bytes[end - 8..].copy_from_slice(&0u64.to_le_bytes());
    let error = read(&bytes, u64::MAX).unwrap_err();
    assert!(
        matches!(
            &error,
            HeaderError::BadField {
                reason: BadReason::Offset { found: 0, .. },
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn an_array_in_an_array_is_refused() {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3u32.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    crate::build::text(&mut bytes, "nested");
    bytes.extend(9u32.to_le_bytes());
    bytes.extend(9u32.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    assert_eq!(
        read(&bytes, 1 << 20).unwrap_err().to_string(),
        "nested: unknown value type 9"
    );
}

#[test]
fn a_reader_that_fails_says_so() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    assert!(matches!(
        Header::read(Broken, Bytes::mib(1), &Limits::default()),
        Err(HeaderError::Read { source }) if source.to_string() == "the disk is gone"
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever happens to the bytes, there is an answer, and a good one keeps its promises.
    #[test]
    fn damage_never_panics(
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        words in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..3),
        keep in any::<prop::sample::Index>(),
        cut in any::<bool>(),
        file in prop_oneof![Just(u64::MAX), 0u64..4_000_000],
    ) {
        let mut bytes = Model::small().header();
        for (at, value) in &hits {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        for (at, value) in &words {
            let at = at.index(bytes.len() - 8);
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        if cut {
            bytes.truncate(keep.index(bytes.len()));
        }
        if let Ok(header) = read(&bytes, file) {
            for tensor in &header.tensors {
                let end = header.data_offset.plus(tensor.offset).plus(tensor.bytes);
                prop_assert!(end.0 <= file, "{} ends at {end} of {file}", tensor.name);
                prop_assert!(tensor.values() > 0 || tensor.bytes == Bytes::ZERO);
            }
        }
    }

    #[test]
    fn noise_never_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..400), start in any::<bool>()) {
        if start && bytes.len() >= 8 {
            bytes[..8].copy_from_slice(b"GGUF\x03\0\0\0");
        }
        let _ = read(&bytes, bytes.len() as u64);
    }

    /// Cut anywhere inside the header: always told as cut, never as something worse.
    #[test]
    fn every_prefix_is_cut(keep in any::<prop::sample::Index>()) {
        let model = Model::small();
        let bytes = model.header();
        let keep = 4 + keep.index(bytes.len() - 4);
        let error = read(&bytes[..keep], keep as u64).unwrap_err();
        prop_assert!(
            matches!(error, HeaderError::Cut { needed, have } if needed > have && have.0 <= keep as u64),
            "{keep}: {error}"
        );
    }
}
