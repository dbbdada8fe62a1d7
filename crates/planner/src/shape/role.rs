//! What a tensor is for, by the names that llama.cpp gives tensors (`src/llama-arch.cpp`).

/// What a weight is for, as far as that decides where it lies and how large the graph is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Role {
    /// Rows that are looked up by token: always on the host.
    Rows,
    Logits,
    OutputNorm,
    AttentionNorm,
    Query,
    Key,
    Value,
    FusedQkv,
    QueryBias,
    KeyBias,
    ValueBias,
    QueryNorm,
    KeyNorm,
    /// A gate on what attention gives, from the layer's input.
    AttentionGate,
    AttentionOutput,
    OutputBias,
    Sinks,
    /// Latent attention: the query's two steps, the compressed pair, and its unfolding.
    QueryDown,
    QueryDownNorm,
    QueryUp,
    PairDown,
    PairDownNorm,
    PairUp,
    KeyUp,
    ValueUp,
    /// `post_attention_norm`: after attention, or before the feed-forward part where that has no norm of its own.
    PostAttentionNorm,
    FeedNorm,
    PostFeedNorm,
    Gate,
    GateBias,
    Up,
    UpBias,
    Down,
    DownBias,
    Router,
    RouterBias,
    RouterScale,
    /// Added to the odds for choosing experts only.
    ChoiceBias,
    GateExperts,
    UpExperts,
    GateUpExperts,
    DownExperts,
    GateExpertsBias,
    UpExpertsBias,
    DownExpertsBias,
    SharedGate,
    SharedUp,
    SharedDown,
    SharedRouter,
    LatentDown,
    LatentUp,
    /// Gemma 4's second way, beside the dense one.
    ExpertNorm,
    DensePostNorm,
    ExpertPostNorm,
    LayerScale,
    StateIn,
    StateConv,
    StateConvBias,
    StateStep,
    StateStepBias,
    StateDecay,
    StateSkip,
    StateNorm,
    StateOut,
    StateBeta,
    StateAlpha,
    StateBetaAlpha,
    QueryConv,
    KeyConv,
    ValueConv,
    ForgetDown,
    ForgetUp,
    StateGateDown,
    StateGateUp,
    ShortConv,
    ShortIn,
    ShortOut,
    LayerInputGate,
    LayerInputOut,
    LayerInputNorm,
    /// Of the whole model, on the device of the first layer.
    LayerInputs,
    LayerInputsNorm,
    AltupSplit,
    AltupMerge,
    AltupCorrect,
    AltupCorrectScale,
    AltupPredict,
    AltupRouter,
    AltupRouterNorm,
    LaurelDown,
    LaurelUp,
    LaurelNorm,
    /// A matrix of a family that is not known in detail.
    Matrix,
    /// Whatever else is small.
    Small,
}

/// How many roles there are: `Role` is its own index.
pub(crate) const ROLES: usize = Role::Small as usize + 1;

impl Role {
    /// From a tensor's name within its layer; `None` when no family that is known has it.
    pub(super) fn of_layer(name: &str) -> Option<Self> {
        Some(match name {
            "attn_norm.weight" => Self::AttentionNorm,
            "attn_q.weight" => Self::Query,
            "attn_k.weight" => Self::Key,
            "attn_v.weight" => Self::Value,
            "attn_qkv.weight" => Self::FusedQkv,
            "attn_q.bias" | "attn_qkv.bias" => Self::QueryBias,
            "attn_k.bias" => Self::KeyBias,
            "attn_v.bias" => Self::ValueBias,
            "attn_q_norm.weight" => Self::QueryNorm,
            "attn_k_norm.weight" => Self::KeyNorm,
            "attn_gate.weight" => Self::AttentionGate,
            "attn_output.weight" => Self::AttentionOutput,
            "attn_output.bias" => Self::OutputBias,
            "attn_sinks.weight" => Self::Sinks,
            "attn_q_a.weight" => Self::QueryDown,
            "attn_q_a_norm.weight" => Self::QueryDownNorm,
            "attn_q_b.weight" => Self::QueryUp,
            "attn_kv_a_mqa.weight" => Self::PairDown,
            "attn_kv_a_norm.weight" => Self::PairDownNorm,
            "attn_kv_b.weight" => Self::PairUp,
            "attn_k_b.weight" => Self::KeyUp,
            "attn_v_b.weight" => Self::ValueUp,
            "post_attention_norm.weight" => Self::PostAttentionNorm,
            "ffn_norm.weight" | "ffn_norm" => Self::FeedNorm,
            "post_ffw_norm.weight" => Self::PostFeedNorm,
            "ffn_gate.weight" => Self::Gate,
            "ffn_gate.bias" => Self::GateBias,
            "ffn_up.weight" => Self::Up,
            "ffn_up.bias" => Self::UpBias,
            "ffn_down.weight" => Self::Down,
            "ffn_down.bias" => Self::DownBias,
            "ffn_gate_inp.weight" => Self::Router,
            "ffn_gate_inp.bias" => Self::RouterBias,
            "ffn_gate_inp.scale" => Self::RouterScale,
            "exp_probs_b.bias" => Self::ChoiceBias,
            "ffn_gate_exps.weight" => Self::GateExperts,
            "ffn_up_exps.weight" => Self::UpExperts,
            "ffn_gate_up_exps.weight" => Self::GateUpExperts,
            "ffn_down_exps.weight" => Self::DownExperts,
            "ffn_gate_exps.bias" => Self::GateExpertsBias,
            "ffn_up_exps.bias" => Self::UpExpertsBias,
            "ffn_down_exps.bias" => Self::DownExpertsBias,
            "ffn_gate_shexp.weight" => Self::SharedGate,
            "ffn_up_shexp.weight" => Self::SharedUp,
            "ffn_down_shexp.weight" => Self::SharedDown,
            "ffn_gate_inp_shexp.weight" => Self::SharedRouter,
            "ffn_latent_down.weight" => Self::LatentDown,
            "ffn_latent_up.weight" => Self::LatentUp,
            "pre_ffw_norm_2.weight" => Self::ExpertNorm,
            "post_ffw_norm_1.weight" => Self::DensePostNorm,
            "post_ffw_norm_2.weight" => Self::ExpertPostNorm,
            "layer_output_scale.weight" => Self::LayerScale,
            "ssm_in.weight" => Self::StateIn,
            "ssm_conv1d.weight" => Self::StateConv,
            "ssm_conv1d.bias" => Self::StateConvBias,
            "ssm_dt.weight" => Self::StateStep,
            "ssm_dt.bias" => Self::StateStepBias,
            "ssm_a" => Self::StateDecay,
            "ssm_d" => Self::StateSkip,
            "ssm_norm.weight" => Self::StateNorm,
            "ssm_out.weight" => Self::StateOut,
            "ssm_beta.weight" => Self::StateBeta,
            "ssm_alpha.weight" => Self::StateAlpha,
            "ssm_ba.weight" => Self::StateBetaAlpha,
            "ssm_conv1d_q.weight" => Self::QueryConv,
            "ssm_conv1d_k.weight" => Self::KeyConv,
            "ssm_conv1d_v.weight" => Self::ValueConv,
            "ssm_f_a.weight" => Self::ForgetDown,
            "ssm_f_b.weight" => Self::ForgetUp,
            "ssm_g_a.weight" => Self::StateGateDown,
            "ssm_g_b.weight" => Self::StateGateUp,
            "shortconv.conv.weight" => Self::ShortConv,
            "shortconv.in_proj.weight" => Self::ShortIn,
            "shortconv.out_proj.weight" => Self::ShortOut,
            "inp_gate.weight" => Self::LayerInputGate,
            "proj.weight" => Self::LayerInputOut,
            "post_norm.weight" => Self::LayerInputNorm,
            "altup_correct_coef.weight" => Self::AltupCorrect,
            "altup_correct_scale.weight" => Self::AltupCorrectScale,
            "altup_predict_coef.weight" => Self::AltupPredict,
            "altup_router.weight" => Self::AltupRouter,
            "altup_router_norm.weight" => Self::AltupRouterNorm,
            "laurel_l.weight" => Self::LaurelDown,
            "laurel_r.weight" => Self::LaurelUp,
            "laurel_post_norm.weight" => Self::LaurelNorm,
            _ => return None,
        })
    }

    /// One matrix an expert, of which a token reads few.
    pub(crate) const fn is_expert(self) -> bool {
        matches!(
            self,
            Self::GateExperts | Self::UpExperts | Self::GateUpExperts | Self::DownExperts
        )
    }

    /// What llama-server's `--n-cpu-moe` keeps on the host.
    pub(crate) const fn stays_with_experts(self) -> bool {
        self.is_expert()
            || matches!(
                self,
                Self::GateExpertsBias | Self::UpExpertsBias | Self::DownExpertsBias
            )
    }

    /// Multiplied with the activations by a kernel for matrices; the rest is added, scaled, convolved or looked up.
    pub(crate) const fn is_matrix(self) -> bool {
        matches!(
            self,
            Self::Logits
                | Self::Query
                | Self::Key
                | Self::Value
                | Self::FusedQkv
                | Self::AttentionGate
                | Self::AttentionOutput
                | Self::QueryDown
                | Self::QueryUp
                | Self::PairDown
                | Self::PairUp
                | Self::KeyUp
                | Self::ValueUp
                | Self::Gate
                | Self::Up
                | Self::Down
                | Self::Router
                | Self::GateExperts
                | Self::UpExperts
                | Self::GateUpExperts
                | Self::DownExperts
                | Self::SharedGate
                | Self::SharedUp
                | Self::SharedDown
                | Self::SharedRouter
                | Self::LatentDown
                | Self::LatentUp
                | Self::StateIn
                | Self::StateStep
                | Self::StateOut
                | Self::StateBeta
                | Self::StateAlpha
                | Self::StateBetaAlpha
                | Self::ForgetDown
                | Self::ForgetUp
                | Self::StateGateDown
                | Self::StateGateUp
                | Self::ShortIn
                | Self::ShortOut
                | Self::LayerInputGate
                | Self::LayerInputOut
                | Self::LayerInputs
                | Self::AltupSplit
                | Self::AltupMerge
                | Self::AltupCorrect
                | Self::AltupPredict
                | Self::AltupRouter
                | Self::LaurelDown
                | Self::LaurelUp
                | Self::Matrix
        )
    }
}
