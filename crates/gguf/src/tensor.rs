use std::fmt;

use plimsoll_units::Bytes;

use crate::{BadReason, HeaderError};

/// One tensor as the header lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    pub name: String,
    /// Innermost first; missing dimensions are 1.
    pub dims: [u64; 4],
    pub kind: TensorType,
    /// From the start of the data of its part.
    pub offset: Bytes,
    pub bytes: Bytes,
    /// Which file of a split set, counted from 0.
    pub part: u16,
}

impl Tensor {
    /// The checked size of a tensor, or why there is none.
    pub fn size(name: &str, dims: [u64; 4], kind: TensorType) -> Result<Bytes, HeaderError> {
        let (block, block_bytes) = kind.block();
        if !dims[0].is_multiple_of(block) {
            return Err(HeaderError::bad(
                name,
                BadReason::RowLength { row: dims[0], block },
            ));
        }
        dims[1..]
            .iter()
            .try_fold(dims[0] / block, |n, &dim| n.checked_mul(dim))
            .and_then(|blocks| blocks.checked_mul(block_bytes))
            // llama.cpp counts in signed 64 bits.
            .filter(|&bytes| i64::try_from(bytes).is_ok())
            .map(Bytes)
            .ok_or_else(|| HeaderError::bad(name, BadReason::Overflow))
    }

    /// The number of values. Fits, because the size in bytes was checked and no type is smaller than a bit.
    #[must_use]
    pub fn values(&self) -> u64 {
        self.dims.iter().fold(1, |n: u64, &dim| n.saturating_mul(dim))
    }
}

macro_rules! tensor_types {
    ($($name:ident = $id:literal, $text:literal, $block:literal, $bytes:literal;)*) => {
        /// How the values of a tensor are stored (`enum ggml_type`). Types that ggml has removed are unknown.
        #[expect(non_camel_case_types, reason = "the names that everybody uses for them")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum TensorType { $($name),* }

        impl TensorType {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The type with this number in a file.
            #[must_use]
            pub const fn from_id(id: u32) -> Option<Self> {
                match id { $($id => Some(Self::$name),)* _ => None }
            }
            #[must_use]
            pub const fn id(self) -> u32 {
                match self { $(Self::$name => $id),* }
            }
            /// Values in one block, and its bytes.
            #[must_use]
            pub const fn block(self) -> (u64, u64) {
                match self { $(Self::$name => ($block, $bytes)),* }
            }
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
            /// By its name in either case: `q8_0`, `Q4_K`.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name().eq_ignore_ascii_case(name))
            }
        }
    };
}

tensor_types! {
    F32 = 0, "F32", 1, 4;
    F16 = 1, "F16", 1, 2;
    Q4_0 = 2, "Q4_0", 32, 18;
    Q4_1 = 3, "Q4_1", 32, 20;
    Q5_0 = 6, "Q5_0", 32, 22;
    Q5_1 = 7, "Q5_1", 32, 24;
    Q8_0 = 8, "Q8_0", 32, 34;
    Q8_1 = 9, "Q8_1", 32, 36;
    Q2_K = 10, "Q2_K", 256, 84;
    Q3_K = 11, "Q3_K", 256, 110;
    Q4_K = 12, "Q4_K", 256, 144;
    Q5_K = 13, "Q5_K", 256, 176;
    Q6_K = 14, "Q6_K", 256, 210;
    Q8_K = 15, "Q8_K", 256, 292;
    IQ2_XXS = 16, "IQ2_XXS", 256, 66;
    IQ2_XS = 17, "IQ2_XS", 256, 74;
    IQ3_XXS = 18, "IQ3_XXS", 256, 98;
    IQ1_S = 19, "IQ1_S", 256, 50;
    IQ4_NL = 20, "IQ4_NL", 32, 18;
    IQ3_S = 21, "IQ3_S", 256, 110;
    IQ2_S = 22, "IQ2_S", 256, 82;
    IQ4_XS = 23, "IQ4_XS", 256, 136;
    I8 = 24, "I8", 1, 1;
    I16 = 25, "I16", 1, 2;
    I32 = 26, "I32", 1, 4;
    I64 = 27, "I64", 1, 8;
    F64 = 28, "F64", 1, 8;
    IQ1_M = 29, "IQ1_M", 256, 56;
    BF16 = 30, "BF16", 1, 2;
    TQ1_0 = 34, "TQ1_0", 256, 54;
    TQ2_0 = 35, "TQ2_0", 256, 66;
    MXFP4 = 39, "MXFP4", 32, 17;
    NVFP4 = 40, "NVFP4", 64, 36;
    Q1_0 = 41, "Q1_0", 128, 18;
    Q2_0 = 42, "Q2_0", 64, 18;
}

impl TensorType {
    #[must_use]
    pub const fn is_quantized(self) -> bool {
        self.block().0 > 1
    }

    /// Bytes of one row of `values`; a started block counts whole.
    #[must_use]
    pub const fn row_bytes(self, values: u64) -> u64 {
        let (block, bytes) = self.block();
        values.div_ceil(block).saturating_mul(bytes)
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
