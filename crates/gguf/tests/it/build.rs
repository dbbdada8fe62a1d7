//! Writes GGUF bytes by hand, so that tests can also write wrong ones.

use plimsoll_gguf::TensorType;

#[derive(Clone)]
pub(crate) enum Meta {
    U32(u32),
    U64(u64),
    F32(f32),
    Bool(bool),
    Text(String),
    U32s(Vec<u32>),
    Bools(Vec<bool>),
    Texts(Vec<String>),
}

#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) version: u32,
    pub(crate) metadata: Vec<(String, Meta)>,
    pub(crate) tensors: Vec<(String, Vec<u64>, TensorType)>,
}

impl Model {
    /// A llama of two layers with everything a real file has, only small.
    pub(crate) fn small() -> Self {
        let mut metadata: Vec<(String, Meta)> = vec![
            ("general.architecture".into(), Meta::Text("llama".into())),
            ("general.file_type".into(), Meta::U32(15)),
            ("llama.block_count".into(), Meta::U32(2)),
            ("llama.context_length".into(), Meta::U64(8192)),
            ("llama.embedding_length".into(), Meta::U32(256)),
            ("llama.attention.layer_norm_rms_epsilon".into(), Meta::F32(1e-5)),
            ("llama.attention.head_count_kv".into(), Meta::U32s(vec![2, 4])),
            (
                "llama.attention.sliding_window_pattern".into(),
                Meta::Bools(vec![true, false]),
            ),
            ("tokenizer.ggml.add_bos_token".into(), Meta::Bool(false)),
            (
                "tokenizer.chat_template".into(),
                Meta::Text("{{ messages }}".repeat(50)),
            ),
        ];
        metadata.push((
            "tokenizer.ggml.tokens".into(),
            Meta::Texts((0..5000).map(|n| format!("token {n}")).collect()),
        ));
        metadata.push(("tokenizer.ggml.token_type".into(), Meta::U32s(vec![1; 5000])));
        let mut tensors = vec![("token_embd.weight".to_owned(), vec![256, 5000], TensorType::Q4_K)];
        for layer in 0..2 {
            tensors.push((
                format!("blk.{layer}.attn_norm.weight"),
                vec![256],
                TensorType::F32,
            ));
            tensors.push((
                format!("blk.{layer}.attn_q.weight"),
                vec![256, 256],
                TensorType::Q6_K,
            ));
            tensors.push((
                format!("blk.{layer}.ffn_gate_exps.weight"),
                vec![256, 64, 4],
                TensorType::MXFP4,
            ));
        }
        Self {
            version: 3,
            metadata,
            tensors,
        }
    }

    pub(crate) fn with(mut self, key: &str, value: Meta) -> Self {
        self.metadata.retain(|(known, _)| known != key);
        self.metadata.push((key.into(), value));
        self
    }

    pub(crate) fn header(&self) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend(self.version.to_le_bytes());
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.metadata.len() as u64).to_le_bytes());
        for (key, value) in &self.metadata {
            text(&mut out, key);
            put(&mut out, value);
        }
        let mut offset = 0u64;
        for (name, dims, kind) in &self.tensors {
            text(&mut out, name);
            out.extend(u32::try_from(dims.len()).unwrap().to_le_bytes());
            for dim in dims {
                out.extend(dim.to_le_bytes());
            }
            out.extend(kind.id().to_le_bytes());
            out.extend(offset.to_le_bytes());
            offset = offset
                .saturating_add(bytes(dims, *kind))
                .checked_next_multiple_of(32)
                .unwrap_or(u64::MAX);
        }
        out
    }

    /// Where the last byte of tensor data is.
    pub(crate) fn file_bytes(&self) -> u64 {
        let mut end = 0;
        let mut offset = 0u64;
        for (_, dims, kind) in &self.tensors {
            end = offset + bytes(dims, *kind);
            offset = end.next_multiple_of(32);
        }
        (self.header().len() as u64).next_multiple_of(32) + end
    }
}

fn bytes(dims: &[u64], kind: TensorType) -> u64 {
    let (block, block_bytes) = kind.block();
    (dims.iter().fold(1u64, |n, dim| n.saturating_mul(*dim)) / block).saturating_mul(block_bytes)
}

pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn array(out: &mut Vec<u8>, kind: u32, len: usize) {
    out.extend(9u32.to_le_bytes());
    out.extend(kind.to_le_bytes());
    out.extend((len as u64).to_le_bytes());
}

fn put(out: &mut Vec<u8>, value: &Meta) {
    match value {
        Meta::U32(n) => {
            out.extend(4u32.to_le_bytes());
            out.extend(n.to_le_bytes());
        }
        Meta::U64(n) => {
            out.extend(10u32.to_le_bytes());
            out.extend(n.to_le_bytes());
        }
        Meta::F32(n) => {
            out.extend(6u32.to_le_bytes());
            out.extend(n.to_le_bytes());
        }
        Meta::Bool(yes) => {
            out.extend(7u32.to_le_bytes());
            out.push(u8::from(*yes));
        }
        Meta::Text(value) => {
            out.extend(8u32.to_le_bytes());
            text(out, value);
        }
        Meta::U32s(items) => {
            array(out, 4, items.len());
            for n in items {
                out.extend(n.to_le_bytes());
            }
        }
        Meta::Bools(items) => {
            array(out, 7, items.len());
            for yes in items {
                out.push(u8::from(*yes));
            }
        }
        Meta::Texts(items) => {
            array(out, 8, items.len());
            for item in items {
                text(out, item);
            }
        }
    }
}
