use plimsoll_units::Bytes;

const ALIGNMENT: usize = 32;
const F32: u32 = 0;

/// A value of GGUF metadata.
#[derive(Debug, Clone, PartialEq)]
pub enum GgufValue {
    U16(u16),
    U32(u32),
    I32(i32),
    U64(u64),
    F32(f32),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    U32s(Vec<u32>),
    F32s(Vec<f32>),
    I32s(Vec<i32>),
}

#[derive(Debug, Clone)]
struct Tensor {
    name: String,
    dims: Vec<u64>,
    seed: u64,
}

impl Tensor {
    fn bytes(&self) -> usize {
        usize::try_from(self.dims.iter().product::<u64>() * 4).expect("a tiny tensor")
    }
}

/// Builds small GGUF files that any reader takes for real: a complete llama of two layers with random
/// weights, in one file or in splits. Change or take away what a test wants broken.
///
/// The same settings give the same bytes.
#[derive(Debug, Clone)]
pub struct TinyGguf {
    metadata: Vec<(String, GgufValue)>,
    tensors: Vec<Tensor>,
}

impl TinyGguf {
    /// A llama with two layers, a width of 64 and 32 words.
    #[must_use]
    pub fn llama() -> Self {
        const WIDTH: u64 = 64;
        const KV: u64 = 32;
        const INNER: u64 = 128;
        const WORDS: u64 = 32;
        const LAYERS: u32 = 2;
        let mut tiny = Self {
            metadata: Vec::new(),
            tensors: Vec::new(),
        }
        .with("general.architecture", GgufValue::Text("llama".into()))
        .with("general.name", GgufValue::Text("Tiny".into()))
        .with("general.file_type", GgufValue::U32(0))
        .with("llama.block_count", GgufValue::U32(LAYERS))
        .with("llama.context_length", GgufValue::U32(512))
        .with("llama.embedding_length", GgufValue::U32(64))
        .with("llama.feed_forward_length", GgufValue::U32(128))
        .with("llama.attention.head_count", GgufValue::U32(4))
        .with("llama.attention.head_count_kv", GgufValue::U32(2))
        .with("llama.attention.layer_norm_rms_epsilon", GgufValue::F32(1e-5))
        .with("llama.rope.dimension_count", GgufValue::U32(16))
        .with("llama.vocab_size", GgufValue::U32(32))
        .with("tokenizer.ggml.model", GgufValue::Text("llama".into()))
        .with(
            "tokenizer.ggml.tokens",
            GgufValue::Texts((0..WORDS).map(|n| format!("w{n}")).collect()),
        )
        .with("tokenizer.ggml.scores", GgufValue::F32s(vec![0.0; 32]))
        .with("tokenizer.ggml.token_type", GgufValue::I32s(vec![1; 32]))
        .tensor("token_embd.weight", &[WIDTH, WORDS])
        .tensor("output_norm.weight", &[WIDTH])
        .tensor("output.weight", &[WIDTH, WORDS]);
        for layer in 0..LAYERS {
            for (name, dims) in [
                ("attn_norm", &[WIDTH][..]),
                ("attn_q", &[WIDTH, WIDTH]),
                ("attn_k", &[WIDTH, KV]),
                ("attn_v", &[WIDTH, KV]),
                ("attn_output", &[WIDTH, WIDTH]),
                ("ffn_norm", &[WIDTH]),
                ("ffn_gate", &[WIDTH, INNER]),
                ("ffn_up", &[WIDTH, INNER]),
                ("ffn_down", &[INNER, WIDTH]),
            ] {
                tiny = tiny.tensor(&format!("blk.{layer}.{name}.weight"), dims);
            }
        }
        tiny
    }

    /// A projector of the llava kind with two blocks and random weights, for a text model `width` wide: llama-server
    /// takes pictures of `side` points with it, each for `(side / 14)²` tokens.
    #[must_use]
    pub fn projector(width: u32, side: u32) -> Self {
        const OWN: u32 = 64;
        const INNER: u32 = 128;
        const PATCH: u32 = 14;
        let patches = u64::from(side / PATCH).pow(2);
        let text = |text: &str| GgufValue::Text(text.into());
        let [wide, own, inner] = [width, OWN, INNER].map(u64::from);
        let mut tiny = Self {
            metadata: Vec::new(),
            tensors: Vec::new(),
        }
        .with("general.architecture", text("clip"))
        .with("general.name", text("Tiny projector"))
        .with("general.type", text("mmproj"))
        .with("clip.has_vision_encoder", GgufValue::Bool(true))
        .with("clip.has_llava_projector", GgufValue::Bool(true))
        .with("clip.projector_type", text("mlp"))
        .with("clip.use_gelu", GgufValue::Bool(true))
        .with("clip.vision.image_size", GgufValue::U32(side))
        .with("clip.vision.patch_size", GgufValue::U32(PATCH))
        .with("clip.vision.embedding_length", GgufValue::U32(OWN))
        .with("clip.vision.feed_forward_length", GgufValue::U32(INNER))
        .with("clip.vision.projection_dim", GgufValue::U32(width))
        .with("clip.vision.block_count", GgufValue::U32(2))
        .with("clip.vision.attention.head_count", GgufValue::U32(4))
        .with("clip.vision.attention.layer_norm_epsilon", GgufValue::F32(1e-5))
        .with("clip.vision.image_mean", GgufValue::F32s(vec![0.5; 3]))
        .with("clip.vision.image_std", GgufValue::F32s(vec![0.5; 3]))
        .tensor("v.class_embd", &[own])
        .tensor("v.patch_embd.weight", &[PATCH.into(), PATCH.into(), 3, own])
        .tensor("v.position_embd.weight", &[own, patches + 1])
        .tensor("v.pre_ln.weight", &[own])
        .tensor("v.pre_ln.bias", &[own]);
        for block in 0..2 {
            for (name, dims) in [
                ("attn_q", [own, own]),
                ("attn_k", [own, own]),
                ("attn_v", [own, own]),
                ("attn_out", [own, own]),
                ("ffn_up", [own, inner]),
                ("ffn_down", [inner, own]),
            ] {
                tiny = tiny
                    .tensor(&format!("v.blk.{block}.{name}.weight"), &dims)
                    .tensor(&format!("v.blk.{block}.{name}.bias"), &dims[1..]);
            }
            for norm in ["ln1", "ln2"] {
                for part in ["weight", "bias"] {
                    tiny = tiny.tensor(&format!("v.blk.{block}.{norm}.{part}"), &[own]);
                }
            }
        }
        tiny.tensor("mm.0.weight", &[own, wide])
            .tensor("mm.0.bias", &[wide])
            .tensor("mm.2.weight", &[wide, wide])
            .tensor("mm.2.bias", &[wide])
    }

    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.with("general.name", GgufValue::Text(name.into()))
    }

    /// Sets a metadata key, or adds it.
    #[must_use]
    pub fn with(mut self, key: &str, value: GgufValue) -> Self {
        match self.metadata.iter_mut().find(|(known, _)| known == key) {
            Some(entry) => entry.1 = value,
            None => self.metadata.push((key.to_owned(), value)),
        }
        self
    }

    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        self.metadata.retain(|(known, _)| known != key);
        self
    }

    /// Adds an F32 tensor with data made from its name.
    #[must_use]
    pub fn tensor(mut self, name: &str, dims: &[u64]) -> Self {
        let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325, |seed: u64, byte| {
            (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        self.tensors.push(Tensor {
            name: name.to_owned(),
            dims: dims.to_vec(),
            seed,
        });
        self
    }

    /// Adds a tensor of about `size`, for files that take a while to transfer.
    #[must_use]
    pub fn padded(self, size: Bytes) -> Self {
        self.tensor("padding.weight", &[(size.0 / 4).max(1)])
    }

    /// The whole file.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        write(&self.metadata, &self.tensors)
    }

    /// The same model as a set of split files, named `STEM-00001-of-0000N.gguf` as llama.cpp names them:
    /// the first file holds all metadata, the others only what a split needs.
    ///
    /// # Panics
    /// When there are fewer tensors than splits.
    #[must_use]
    pub fn splits(&self, stem: &str, count: u16) -> Vec<(String, Vec<u8>)> {
        let per_file = self.tensors.len().div_ceil(usize::from(count));
        let groups: Vec<&[Tensor]> = self.tensors.chunks(per_file).collect();
        assert_eq!(
            groups.len(),
            usize::from(count),
            "{} tensors do not fill {count} files",
            self.tensors.len()
        );
        let all = i32::try_from(self.tensors.len()).expect("a tiny model");
        (0..count)
            .zip(groups)
            .map(|(number, tensors)| {
                let mut metadata = if number == 0 {
                    self.metadata.clone()
                } else {
                    Vec::new()
                };
                metadata.push(("split.no".into(), GgufValue::U16(number)));
                metadata.push(("split.count".into(), GgufValue::U16(count)));
                metadata.push(("split.tensors.count".into(), GgufValue::I32(all)));
                (
                    format!("{stem}-{:05}-of-{count:05}.gguf", number + 1),
                    write(&metadata, tensors),
                )
            })
            .collect()
    }
}

fn write(metadata: &[(String, GgufValue)], tensors: &[Tensor]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(b"GGUF");
    out.extend(3_u32.to_le_bytes());
    out.extend((tensors.len() as u64).to_le_bytes());
    out.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        put_text(&mut out, key);
        put_value(&mut out, value);
    }
    let mut offset = 0_u64;
    for tensor in tensors {
        put_text(&mut out, &tensor.name);
        out.extend(
            u32::try_from(tensor.dims.len())
                .expect("few dimensions")
                .to_le_bytes(),
        );
        for dim in &tensor.dims {
            out.extend(dim.to_le_bytes());
        }
        out.extend(F32.to_le_bytes());
        out.extend(offset.to_le_bytes());
        offset += tensor.bytes().next_multiple_of(ALIGNMENT) as u64;
    }
    for tensor in tensors {
        out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
        let mut state = tensor.seed;
        for _ in 0..tensor.bytes() / 4 {
            // A linear congruential generator: small weights, equal on every machine.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let small = f32::from(u16::try_from(state >> 48).expect("sixteen bits")) / 65_536.0 - 0.5;
            out.extend((small / 8.0).to_le_bytes());
        }
    }
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
    out
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn put_value(out: &mut Vec<u8>, value: &GgufValue) {
    fn array<T>(out: &mut Vec<u8>, kind: u32, items: &[T], mut put: impl FnMut(&mut Vec<u8>, &T)) {
        out.extend(9_u32.to_le_bytes());
        out.extend(kind.to_le_bytes());
        out.extend((items.len() as u64).to_le_bytes());
        for item in items {
            put(out, item);
        }
    }
    fn scalar<const N: usize>(out: &mut Vec<u8>, kind: u32, bytes: [u8; N]) {
        out.extend(kind.to_le_bytes());
        out.extend(bytes);
    }
    match value {
        GgufValue::U16(n) => scalar(out, 2, n.to_le_bytes()),
        GgufValue::U32(n) => scalar(out, 4, n.to_le_bytes()),
        GgufValue::I32(n) => scalar(out, 5, n.to_le_bytes()),
        GgufValue::F32(n) => scalar(out, 6, n.to_le_bytes()),
        GgufValue::Bool(yes) => scalar(out, 7, [u8::from(*yes)]),
        GgufValue::U64(n) => scalar(out, 10, n.to_le_bytes()),
        GgufValue::Text(text) => {
            out.extend(8_u32.to_le_bytes());
            put_text(out, text);
        }
        GgufValue::Texts(texts) => array(out, 8, texts, |out, text| put_text(out, text)),
        GgufValue::U32s(items) => array(out, 4, items, |out, n| out.extend(n.to_le_bytes())),
        GgufValue::I32s(items) => array(out, 5, items, |out, n| out.extend(n.to_le_bytes())),
        GgufValue::F32s(items) => array(out, 6, items, |out, n| out.extend(n.to_le_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_units::Bytes;

    use super::{GgufValue, TinyGguf};

    #[test]
    fn the_same_settings_give_the_same_bytes() {
        assert_eq!(TinyGguf::llama().bytes(), TinyGguf::llama().bytes());
        assert_ne!(
            TinyGguf::llama().bytes(),
            TinyGguf::llama().named("Other").bytes()
        );
    }

    #[test]
    fn a_key_is_replaced_not_doubled() {
        let count = |tiny: TinyGguf| u64::from_le_bytes(tiny.bytes()[16..24].try_into().unwrap());
        let plain = count(TinyGguf::llama());
        assert_eq!(
            count(TinyGguf::llama().with("llama.block_count", GgufValue::U32(9))),
            plain
        );
        assert_eq!(count(TinyGguf::llama().without("llama.block_count")), plain - 1);
    }

    #[test]
    fn padding_makes_it_as_large_as_asked() {
        let plain = TinyGguf::llama().bytes().len();
        let padded = TinyGguf::llama().padded(Bytes::mib(1)).bytes().len();
        assert!(
            (1 << 20..(1 << 20) + 256).contains(&(padded - plain)),
            "{}",
            padded - plain
        );
    }

    #[test]
    fn splits_are_named_and_hold_every_tensor_once() {
        let tiny = TinyGguf::llama();
        let splits = tiny.splits("Tiny-F32", 3);
        let names: Vec<&str> = splits.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "Tiny-F32-00001-of-00003.gguf",
                "Tiny-F32-00002-of-00003.gguf",
                "Tiny-F32-00003-of-00003.gguf"
            ]
        );
        let tensors: u64 = splits
            .iter()
            .map(|(_, bytes)| u64::from_le_bytes(bytes[8..16].try_into().unwrap()))
            .sum();
        assert_eq!(tensors, tiny.tensors.len() as u64);
    }
}
