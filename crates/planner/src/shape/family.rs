/// Architectures whose graph was checked against llama.cpp, and the rule for all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Llama,
    Qwen2,
    Qwen3,
    Qwen3Moe,
    Gemma3,
    GptOss,
    /// Built from what the tensor names say; its plan has a wider range.
    General,
}

impl Family {
    pub(crate) fn of(architecture: &str) -> Self {
        match architecture {
            "llama" => Self::Llama,
            "qwen2" => Self::Qwen2,
            "qwen3" => Self::Qwen3,
            "qwen3moe" => Self::Qwen3Moe,
            "gemma3" => Self::Gemma3,
            "gpt-oss" => Self::GptOss,
            _ => Self::General,
        }
    }

    /// Every how many layers one looks at everything, when the header does not say.
    pub(crate) const fn window_period(self) -> Option<u32> {
        match self {
            Self::Gemma3 => Some(6),
            Self::GptOss => Some(2),
            // Without knowing which layers are windowed, all count in full: never too little.
            Self::Llama | Self::Qwen2 | Self::Qwen3 | Self::Qwen3Moe | Self::General => None,
        }
    }

    /// The embedding is scaled by a per-row input.
    pub(crate) const fn scales_rows(self) -> bool {
        matches!(self, Self::Gemma3)
    }

    /// The query is scaled before attention.
    pub(crate) const fn scales_query(self) -> bool {
        matches!(self, Self::Gemma3)
    }

    /// Rows without an output leave before the last feed-forward part.
    pub(crate) const fn exits_early(self) -> bool {
        !matches!(self, Self::GptOss)
    }
}
