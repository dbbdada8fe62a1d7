//! What architectures do differently, as far as memory goes: read from llama.cpp's `src/models/*.cpp` of b11434.

use std::fmt;

/// Which of the builders makes the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GraphKind {
    /// Attention and a feed-forward part per layer, in the usual order.
    Transformer,
    Gemma3n,
    Gemma4,
    /// Three layers of gated delta rule, one of attention (Qwen3-Next and later).
    DeltaNet,
    /// Mamba-2 layers, attention layers and feed-forward parts in a model's own order.
    StateSpace,
    ShortConv,
    /// Low-rank keys and values (`DeepSeek`).
    Latent,
    /// The same, and gated delta rule with a decay per channel (Kimi).
    LatentDelta,
}

/// Where rows that give no output leave the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// After the attention of the last layer.
    LastLayer,
    /// There, but after the norm that follows attention.
    LastLayerNormed,
    /// Before the last norm; what comes before stays, because a drafting head may read it.
    BeforeNorm,
    /// The same without a reader.
    BeforeNormFreely,
    /// After the last norm, which a drafting head may read.
    AfterNorm,
}

/// Which layers have a rotary position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    All,
    /// All but every so many.
    AllBut(u32),
    Windowed,
    /// The header says whether any (`rope.scaling.finetuned`).
    IfSaid,
    None,
}

/// Positions of four parts (`GGML_MROPE_SECTIONS`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sections {
    Never,
    IfSaid,
    Always,
}

/// An architecture, or several that share a graph.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether a family does one thing"
)]
pub(crate) struct Family {
    names: &'static [&'static str],
    pub(crate) graph: GraphKind,
    pub(crate) exit: Exit,
    pub(crate) turn: Turn,
    pub(crate) sections: Sections,
    /// Every how many layers one looks at everything, when the header does not say; `None` for families without
    /// windows.
    pub(crate) window_period: Option<u32>,
    /// Taken when the header names no window.
    pub(crate) window: u32,
    /// Token rows are scaled by an input of their own.
    pub(crate) scaled_rows: bool,
    /// Token rows are scaled or normed in the graph.
    pub(crate) treated_rows: bool,
    /// The query is scaled before attention.
    pub(crate) scaled_query: bool,
    /// Norms per head come after the rotary position.
    pub(crate) norms_after_turn: bool,
    /// Norms after attention and after the feed-forward part count as a layer's own (`cb(cur, "norm", il)`).
    pub(crate) ties_post_attention: bool,
    pub(crate) ties_post_feed: bool,
    /// The residual is the first argument of the last sum.
    pub(crate) residual_first: bool,
    /// Scores of the chosen experts are brought to a sum of one, unless the header decides.
    pub(crate) norms_experts: Option<bool>,
    /// Softmax over the chosen experts only.
    pub(crate) softmax_of_chosen: bool,
    /// Rows are weighted before they go to the experts, not after.
    pub(crate) weighs_before: bool,
    /// Held against llama.cpp's own dry run.
    pub(crate) checked: bool,
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names_first())
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// A plain pre-norm transformer.
const PLAIN: Family = Family {
    names: &[],
    graph: GraphKind::Transformer,
    exit: Exit::LastLayer,
    turn: Turn::All,
    sections: Sections::Never,
    window_period: None,
    window: 0,
    scaled_rows: false,
    treated_rows: false,
    scaled_query: false,
    norms_after_turn: false,
    ties_post_attention: true,
    ties_post_feed: true,
    residual_first: false,
    norms_experts: Some(true),
    softmax_of_chosen: false,
    weighs_before: false,
    checked: true,
};

/// Built from what the tensor names say; its plan has a wider range.
static GENERAL: Family = Family {
    checked: false,
    ..PLAIN
};

static FAMILIES: [Family; 27] = [
    Family {
        names: &[
            "llama",
            "qwen2",
            "qwen3",
            "qwen3moe",
            "mistral3",
            "minimax-m2",
            "deci",
            "ernie4_5",
            "ernie4_5-moe",
            "seed_oss",
            "apertus",
        ],
        ..PLAIN
    },
    Family {
        names: &["qwen3vl", "qwen3vlmoe"],
        sections: Sections::Always,
        ..PLAIN
    },
    Family {
        names: &["qwen3next"],
        graph: GraphKind::DeltaNet,
        exit: Exit::AfterNorm,
        ..PLAIN
    },
    Family {
        names: &["qwen35", "qwen35moe"],
        graph: GraphKind::DeltaNet,
        exit: Exit::AfterNorm,
        sections: Sections::Always,
        ..PLAIN
    },
    Family {
        names: &["gemma3"],
        window_period: Some(6),
        scaled_rows: true,
        scaled_query: true,
        ties_post_feed: false,
        ..PLAIN
    },
    Family {
        names: &["gemma3n"],
        graph: GraphKind::Gemma3n,
        exit: Exit::BeforeNormFreely,
        window_period: Some(5),
        scaled_rows: true,
        ties_post_feed: false,
        ..PLAIN
    },
    Family {
        names: &["gemma4"],
        graph: GraphKind::Gemma4,
        exit: Exit::AfterNorm,
        window_period: Some(6),
        scaled_rows: true,
        ties_post_feed: false,
        ..PLAIN
    },
    Family {
        names: &["gpt-oss"],
        exit: Exit::BeforeNorm,
        window_period: Some(2),
        norms_experts: Some(false),
        softmax_of_chosen: true,
        ..PLAIN
    },
    Family {
        names: &["llama4"],
        window_period: Some(4),
        window: 8192,
        turn: Turn::AllBut(4),
        norms_experts: Some(false),
        weighs_before: true,
        ..PLAIN
    },
    Family {
        names: &["phi3"],
        scaled_query: true,
        residual_first: true,
        ..PLAIN
    },
    Family {
        names: &["deepseek2"],
        graph: GraphKind::Latent,
        norms_experts: None,
        ..PLAIN
    },
    Family {
        names: &["glm4"],
        sections: Sections::IfSaid,
        ..PLAIN
    },
    Family {
        names: &["glm4moe"],
        sections: Sections::IfSaid,
        norms_experts: None,
        ..PLAIN
    },
    Family {
        names: &["granite", "granitemoe"],
        turn: Turn::IfSaid,
        ..PLAIN
    },
    Family {
        names: &["granitehybrid"],
        graph: GraphKind::StateSpace,
        turn: Turn::IfSaid,
        ..PLAIN
    },
    Family {
        names: &["lfm2", "lfm2moe"],
        graph: GraphKind::ShortConv,
        ..PLAIN
    },
    Family {
        names: &["nemotron_h", "nemotron_h_moe"],
        graph: GraphKind::StateSpace,
        exit: Exit::AfterNorm,
        turn: Turn::None,
        norms_experts: None,
        ..PLAIN
    },
    Family {
        names: &["falcon-h1"],
        graph: GraphKind::StateSpace,
        ..PLAIN
    },
    Family {
        names: &["olmo2"],
        window_period: Some(4),
        ties_post_feed: false,
        ..PLAIN
    },
    Family {
        names: &["hunyuan-dense", "hunyuan-moe"],
        norms_after_turn: true,
        ..PLAIN
    },
    Family {
        names: &["afmoe"],
        window_period: Some(4),
        exit: Exit::LastLayerNormed,
        turn: Turn::AllBut(4),
        treated_rows: true,
        norms_experts: None,
        ..PLAIN
    },
    Family {
        names: &["exaone4"],
        window_period: Some(4),
        turn: Turn::Windowed,
        ties_post_feed: false,
        ..PLAIN
    },
    Family {
        names: &["bailingmoe2"],
        norms_experts: None,
        ..PLAIN
    },
    Family {
        names: &["muse-glimmer"],
        window_period: Some(4),
        exit: Exit::LastLayerNormed,
        turn: Turn::Windowed,
        treated_rows: true,
        ties_post_attention: false,
        ties_post_feed: false,
        ..PLAIN
    },
    Family {
        names: &["smollm3"],
        turn: Turn::AllBut(4),
        ..PLAIN
    },
    Family {
        names: &["kimi-linear"],
        graph: GraphKind::LatentDelta,
        turn: Turn::None,
        ..PLAIN
    },
    Family {
        names: &["qwen2vl"],
        sections: Sections::Always,
        ..PLAIN
    },
];

impl Family {
    pub(crate) fn of(architecture: &str) -> &'static Self {
        FAMILIES
            .iter()
            .find(|family| family.names.contains(&architecture))
            .unwrap_or(&GENERAL)
    }

    /// The architecture that the family is called by.
    pub(crate) fn names_first(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}
