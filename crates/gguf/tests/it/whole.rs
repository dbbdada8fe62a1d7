use plimsoll_gguf::{Header, HeaderError, Limits, TensorType, Value};
use plimsoll_units::Bytes;

use crate::build::{Meta, Model};

fn read(model: &Model) -> Header {
    Header::read(
        model.header().as_slice(),
        Bytes(model.file_bytes()),
        &Limits::default(),
    )
    .unwrap()
}

#[test]
fn a_real_header_is_read_whole() {
    let model = Model::small();
    let header = read(&model);
    assert_eq!(header.architecture().unwrap(), "llama");
    assert_eq!(header.quant(), Some("Q4_K_M"));
    assert_eq!(header.tensors.len(), 7);
    assert_eq!(
        header.metadata.u32("llama.context_length").unwrap(),
        Some(8192),
        "u64 reads as well as u32"
    );
    let per_layer = header
        .metadata
        .u32_per_layer("llama.attention.head_count_kv", 2)
        .unwrap();
    assert_eq!(per_layer, Some(vec![2, 4]));
    let single = header
        .metadata
        .u32_per_layer("llama.embedding_length", 2)
        .unwrap();
    assert_eq!(single, Some(vec![256, 256]), "one number stands for every layer");
    let window = header
        .metadata
        .bool_per_layer("llama.attention.sliding_window_pattern", 2)
        .unwrap();
    assert_eq!(window, Some(vec![true, false]));
    assert_eq!(header.data_offset.0 % 32, 0);
}

#[test]
fn long_arrays_are_counted_not_kept() {
    let header = read(&Model::small());
    assert_eq!(
        header.metadata.array_len("tokenizer.ggml.tokens").unwrap(),
        Some(5000)
    );
    let Some(Value::Array(words)) = header.metadata.get("tokenizer.ggml.tokens") else {
        panic!("an array")
    };
    assert!(words.items.is_empty());
}

#[test]
fn tensor_sizes_follow_the_block_of_their_type() {
    let header = read(&Model::small());
    let experts = &header.tensors[3];
    assert_eq!(
        (experts.kind, experts.bytes),
        (TensorType::MXFP4, Bytes(256 / 32 * 17 * 64 * 4))
    );
    assert_eq!(experts.values(), 256 * 64 * 4);
    assert_eq!(header.tensors[0].bytes, Bytes(5000 * 144));
}

#[test]
fn every_type_has_a_number_a_name_and_a_block() {
    for &kind in TensorType::ALL {
        assert_eq!(TensorType::from_id(kind.id()), Some(kind));
        assert_eq!(TensorType::from_name(&kind.name().to_lowercase()), Some(kind));
        let (block, bytes) = kind.block();
        assert_eq!(kind.row_bytes(block * 3), bytes * 3);
        assert!(kind.is_quantized() == (block > 1));
    }
    // Removed from ggml, and one past the end.
    for id in [4, 5, 31, 36, 43] {
        assert_eq!(TensorType::from_id(id), None);
    }
}

#[test]
fn a_prefix_of_the_file_is_enough_and_tells_how_much_it_lacks() {
    let model = Model::small();
    let bytes = model.header();
    let file = Bytes(model.file_bytes());
    let mut have = 100;
    // As a reader over HTTP would: ask for more until it is enough.
    let header = loop {
        match Header::read(&bytes[..have], file, &Limits::default()) {
            Ok(header) => break header,
            Err(HeaderError::Cut { needed, .. }) => {
                assert!(needed.0 > have as u64, "asks for more than it has");
                have = bytes.len().min(usize::try_from(needed.0).unwrap() * 2);
            }
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(header, read(&model));
}

#[test]
fn a_typed_read_complains_about_the_wrong_kind() {
    let header = read(&Model::small().with("llama.block_count", Meta::Text("two".into())));
    let error = header.metadata.require_u32("llama.block_count").unwrap_err();
    assert_eq!(
        error.to_string(),
        "llama.block_count: expected a number, found text"
    );
    let error = header.metadata.require_u32("llama.nothing").unwrap_err();
    assert_eq!(error.to_string(), "llama.nothing: missing");
    let header = read(&Model::small().with("llama.block_count", Meta::U64(1 << 40)));
    let error = header.metadata.require_u32("llama.block_count").unwrap_err();
    assert_eq!(
        error.to_string(),
        "llama.block_count: 1099511627776 is out of range"
    );
}
