use serde::Deserialize;

/// The architecture in numbers, as the GGUF header would give them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShapeFacts {
    /// `general.architecture`.
    pub architecture: String,
    pub layers: u32,
    pub embedding: u32,
    /// Of dense layers; 0 when every layer has experts.
    pub feed_forward: u32,
    pub heads: u32,
    pub kv_heads: u32,
    pub head_dim: u32,
    pub vocabulary: u32,
    pub tied_embeddings: bool,
    #[serde(default)]
    pub experts: Option<u32>,
    #[serde(default)]
    pub experts_used: Option<u32>,
    #[serde(default)]
    pub expert_feed_forward: Option<u32>,
    /// Of the expert that every token passes.
    #[serde(default)]
    pub shared_expert_feed_forward: Option<u32>,
    /// First layers without experts.
    #[serde(default)]
    pub leading_dense_layers: Option<u32>,
    /// Tokens in the window of a sliding layer.
    #[serde(default)]
    pub sliding_window: Option<u32>,
    /// Every n-th layer sees everything.
    #[serde(default)]
    pub sliding_window_period: Option<u32>,
    #[serde(default)]
    pub full_attention_layers: Option<u32>,
    /// Every n-th layer has attention; the others keep a recurrent state.
    #[serde(default)]
    pub full_attention_interval: Option<u32>,
    #[serde(default)]
    pub recurrent_layers: Option<u32>,
    /// Last layers that use the cache of earlier ones.
    #[serde(default)]
    pub shared_kv_layers: Option<u32>,
    /// Of the layers that see everything, where it differs from `head_dim`.
    #[serde(default)]
    pub head_dim_global: Option<u32>,
    /// Of the layers that see everything, where it differs from `kv_heads`.
    #[serde(default)]
    pub kv_heads_global: Option<u32>,
    /// Extra layers at the end that guess the next tokens.
    #[serde(default)]
    pub mtp_layers: Option<u32>,
    /// Attention over a compressed key and value.
    #[serde(default)]
    pub mla: Option<Mla>,
    #[serde(default)]
    pub recurrent: Option<Recurrent>,
    /// One letter a layer, as the publisher writes it: `M` state space, `E` experts, `*` attention.
    #[serde(default)]
    pub pattern: Option<String>,
    /// Names of fields that nobody confirmed.
    #[serde(default)]
    pub unverified: Vec<String>,
    pub source: String,
}

/// Ranks and widths of multi-head latent attention.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Mla {
    pub query_rank: Option<u32>,
    pub kv_rank: Option<u32>,
    pub rope_dim: Option<u32>,
    pub nope_dim: Option<u32>,
    pub value_dim: Option<u32>,
    /// Of the second, small key by which tokens are chosen.
    pub indexer_dim: Option<u32>,
}

/// The state of a recurrent layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Recurrent {
    pub state_size: Option<u32>,
    pub conv_kernel: Option<u32>,
    pub inner_size: Option<u32>,
    pub time_step_rank: Option<u32>,
    pub groups: Option<u32>,
    pub heads: Option<u32>,
    pub head_dim: Option<u32>,
    /// Tokens that a short convolution keeps.
    pub short_convolution: Option<u32>,
}
