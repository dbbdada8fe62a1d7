use plimsoll_units::Bytes;

/// How much a header may claim. The defaults are several times above the largest published model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Everything before the tensor data: mostly the tokenizer's word list.
    pub header_bytes: Bytes,
    pub metadata_entries: u64,
    pub key_bytes: u64,
    /// One text value; chat templates are the long ones.
    pub text_bytes: u64,
    pub array_items: u64,
    /// Longer arrays are counted and skipped: no part of a plan needs the words of a tokenizer.
    pub kept_array_items: u64,
    pub tensors: u64,
    /// llama.cpp refuses longer names.
    pub tensor_name_bytes: u64,
    pub parts: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes: Bytes::mib(256),
            metadata_entries: 1 << 16,
            key_bytes: 1 << 10,
            text_bytes: 16 << 20,
            array_items: 16 << 20,
            kept_array_items: 4096,
            tensors: 1 << 16,
            tensor_name_bytes: 63,
            parts: 1000,
        }
    }
}

impl Limits {
    /// llama.cpp's own bound.
    pub(crate) const DIMENSIONS: u32 = 4;
}
