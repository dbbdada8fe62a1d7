"""The parts that architectures share, and how they are written."""

from gguf import GGMLQuantizationType as T

from sparse import Model


def per_layer(value, layer):
    return value[layer] if isinstance(value, (list, tuple)) else value


class Family:
    """Writes a model; the methods are the parts that families share."""

    def __init__(self, path, architecture, *, layers, embedding, heads, kv_heads, head, vocabulary, context,
                 feed_forward=0, theta=1e6, tied=False, more=None, mix=T.Q4_K, draft=0, value_head=None):
        self.layers, self.d, self.heads, self.kv_heads, self.head = layers, embedding, heads, kv_heads, head
        self.wide, self.vocabulary, self.tied, self.mix = feed_forward, vocabulary, tied, mix
        numbers = {
            "block_count": layers, "context_length": context, "embedding_length": embedding,
            "attention.head_count": heads, "attention.head_count_kv": kv_heads,
            "attention.key_length": head, "attention.value_length": value_head or head,
            "rope.dimension_count": head, "vocab_size": vocabulary,
            "attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": float(theta),
        }
        if feed_forward:
            numbers["feed_forward_length"] = feed_forward
        numbers.update(more or {})
        numbers = {key: value for key, value in numbers.items() if value is not None}
        self.file = Model(path, architecture, layers, numbers)

    def ends(self, norm="output_norm"):
        self.file.matrix("token_embd.weight", self.d, self.vocabulary, mix=self.best() if self.tied else self.mix)
        self.file.small(f"{norm}.weight", self.d)
        if not self.tied:
            self.file.matrix("output.weight", self.d, self.vocabulary, mix=self.best())

    def best(self):
        return T.Q6_K if self.mix == T.Q4_K else self.mix

    def norm(self, layer, name, width=None):
        self.file.small(f"blk.{layer}.{name}.weight", width or self.d)

    def put(self, layer, name, row, *rest, more=False, mix=None):
        self.file.matrix(f"blk.{layer}.{name}.weight", row, *rest, layer=layer, mix=mix or self.mix,
                         half_more=more and self.mix == T.Q4_K)

    def sizes(self, layer):
        return per_layer(self.heads, layer) * self.head, per_layer(self.kv_heads, layer) * self.head

    def attention(self, layer, *, biased=False, head_norms=False, row_norms=False, fused=False, gate=False,
                  query_factor=1, output=True):
        queries, keys = self.sizes(layer)
        if fused:
            self.put(layer, "attn_qkv", self.d, queries + 2 * keys, mix=T.Q5_K)
        else:
            self.put(layer, "attn_q", self.d, queries * query_factor)
            self.put(layer, "attn_k", self.d, keys)
            self.put(layer, "attn_v", self.d, keys, more=True)
        if biased:
            for name, count in (("q", queries), ("k", keys), ("v", keys)):
                self.file.small(f"blk.{layer}.attn_{name}.bias", count)
        if output:
            self.put(layer, "attn_output", queries, self.d)
        if head_norms:
            self.norm(layer, "attn_q_norm", self.head)
            self.norm(layer, "attn_k_norm", self.head)
        if row_norms:
            self.norm(layer, "attn_q_norm", queries)
            self.norm(layer, "attn_k_norm", keys)
        if gate:
            self.put(layer, "attn_gate", self.d, queries)

    def dense(self, layer, wide=None, *, gate=True, fused=False):
        wide = wide or self.wide
        if gate and not fused:
            self.put(layer, "ffn_gate", self.d, wide)
        self.put(layer, "ffn_up", self.d, 2 * wide if fused else wide)
        self.put(layer, "ffn_down", wide, self.d, more=True)

    def experts(self, layer, count, wide, *, shared=0, bias=False, row=None, gate=True, fused=False, mix=None):
        row = row or self.d
        self.file.small(f"blk.{layer}.ffn_gate_inp.weight", self.d, count)
        if bias:
            self.file.small(f"blk.{layer}.exp_probs_b.bias", count)
        if fused:
            self.put(layer, "ffn_gate_up_exps", row, 2 * wide, count, mix=mix)
        else:
            if gate:
                self.put(layer, "ffn_gate_exps", row, wide, count, mix=mix)
            self.put(layer, "ffn_up_exps", row, wide, count, mix=mix)
        self.put(layer, "ffn_down_exps", wide, row, count, more=True, mix=mix)
        if shared:
            if gate:
                self.put(layer, "ffn_gate_shexp", self.d, shared)
            self.put(layer, "ffn_up_shexp", self.d, shared)
            self.put(layer, "ffn_down_shexp", shared, self.d)

    def draft(self, layer):
        """What a drafting layer has besides a layer's own tensors."""
        self.put(layer, "nextn.eh_proj", 2 * self.d, self.d)
        for name in ("enorm", "hnorm", "shared_head_norm"):
            self.norm(layer, f"nextn.{name}")

    def mamba2(self, layer, *, inner, width, groups, rank, kernel=4, norm=True, bias=True):
        channels = inner + 2 * groups * width
        at = f"blk.{layer}."
        self.put(layer, "ssm_in", self.d, inner + channels + rank)
        self.file.small(at + "ssm_conv1d.weight", kernel, channels)
        if bias:
            self.file.small(at + "ssm_conv1d.bias", channels)
        self.file.small(at + "ssm_dt.bias", rank)
        self.file.small(at + "ssm_a", 1, rank)
        self.file.small(at + "ssm_d", 1, rank)
        if norm:
            self.file.small(at + "ssm_norm.weight", inner // groups, groups)
        self.put(layer, "ssm_out", inner, self.d)

    def close(self):
        self.file.close()


def state_numbers(*, inner, width, groups, rank, kernel=4):
    return {"ssm.conv_kernel": kernel, "ssm.inner_size": inner, "ssm.state_size": width, "ssm.group_count": groups,
            "ssm.time_step_rank": rank}


def expert_numbers(experts, *, shared_count=None, **more):
    count, used, wide = experts[:3]
    return {"expert_count": count, "expert_used_count": used, "expert_feed_forward_length": wide,
            "expert_shared_count": shared_count, **more}
