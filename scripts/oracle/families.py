"""The tensors of each architecture, as llama.cpp's `load_arch_tensors` asks for them (b11434)."""

from gguf import GGMLQuantizationType as T

from family import Family, expert_numbers, per_layer, state_numbers


def transformer(path, architecture, *, biased=False, head_norms=False, row_norms=False, fused=False, gate=False,
                post_norms=False, feed_norm="ffn_norm", first_norm=True, gated=True, rope_freqs=0, long_factors=False,
                experts=None, dense_layers=0, every=1, shared=0, choice_bias=False, output_bias=False, draft=0,
                numbers=None, **shape):
    """`experts` is (count, used, width)."""
    more = dict(numbers or {})
    if experts:
        more = {**expert_numbers(experts), **more}
    if draft:
        more["nextn_predict_layers"] = draft
        shape["layers"] += draft
    family = Family(path, architecture, more=more, **shape)
    family.ends()
    if rope_freqs:
        family.file.small("rope_freqs.weight", rope_freqs)
    if long_factors:
        family.file.small("rope_factors_long.weight", shape["head"] // 2)
        family.file.small("rope_factors_short.weight", shape["head"] // 2)
    for layer in range(family.layers):
        if first_norm:
            family.norm(layer, "attn_norm")
        family.attention(layer, biased=biased, head_norms=head_norms, row_norms=row_norms, fused=fused, gate=gate)
        if output_bias:
            family.file.small(f"blk.{layer}.attn_output.bias", family.d)
        if feed_norm:
            family.norm(layer, feed_norm)
        if post_norms:
            family.norm(layer, "post_attention_norm")
            family.norm(layer, "post_ffw_norm")
        if experts and layer >= dense_layers and (layer + 1) % every == 0:
            family.experts(layer, experts[0], experts[2], shared=shared, bias=choice_bias)
        else:
            family.dense(layer, gate=gated, fused=fused and not experts)
        if layer >= family.layers - draft:
            family.draft(layer)
    family.close()


def glm4(path, **shape):
    family = Family(path, "glm4", **shape)
    family.ends()
    for layer in range(family.layers):
        family.norm(layer, "attn_norm")
        family.attention(layer)
        for name in ("ffn_norm", "post_attention_norm", "post_ffw_norm"):
            family.norm(layer, name)
        family.dense(layer, fused=True)
    family.close()


def gptoss(path, *, experts, **shape):
    count, used, wide = experts
    numbers = {"expert_count": count, "expert_used_count": used, "expert_feed_forward_length": wide,
               "attention.sliding_window": 128}
    family = Family(path, "gpt-oss", more=numbers, mix=T.Q8_0, theta=150000.0, **shape)
    family.ends()
    for layer in range(family.layers):
        at = f"blk.{layer}."
        family.norm(layer, "attn_norm")
        family.attention(layer, biased=True)
        family.file.small(at + "attn_output.bias", family.d)
        family.file.small(at + "attn_sinks.weight", family.heads)
        family.norm(layer, "post_attention_norm")
        family.file.small(at + "ffn_gate_inp.bias", count)
        family.experts(layer, count, wide, mix=T.MXFP4)
        for name, rows in (("gate", wide), ("up", wide), ("down", family.d)):
            family.file.small(f"{at}ffn_{name}_exps.bias", rows, count)
    family.close()


def gemma3n(path, **shape):
    width, streams, rank = 256, 4, 64
    family = Family(path, "gemma3n", tied=True, more={
        "attention.sliding_window": 512, "final_logit_softcapping": 30.0,
        "embedding_length_per_layer_input": width}, **shape)
    d, file = family.d, family.file
    family.ends()
    file.matrix("altup_proj.weight", d, d, streams - 1, mix=T.F16)
    file.matrix("altup_unembd_proj.weight", d, d, streams - 1, mix=T.F16)
    file.matrix("per_layer_token_embd.weight", width * family.layers, family.vocabulary)
    file.matrix("per_layer_model_proj.weight", d, width * family.layers, mix=T.F16)
    file.small("per_layer_proj_norm.weight", width)
    for layer in range(family.layers):
        at = f"blk.{layer}."
        family.norm(layer, "attn_norm")
        family.attention(layer, head_norms=True)
        for name in ("ffn_norm", "post_attention_norm", "post_ffw_norm", "post_norm", "altup_router_norm",
                     "laurel_post_norm", "altup_correct_scale"):
            family.norm(layer, name)
        family.dense(layer)
        family.put(layer, "inp_gate", d, width)
        family.put(layer, "proj", width, d)
        file.small(at + "altup_correct_coef.weight", streams, streams)
        file.small(at + "altup_predict_coef.weight", streams, streams * streams)
        file.small(at + "altup_router.weight", d, streams)
        family.put(layer, "laurel_l", d, rank)
        family.put(layer, "laurel_r", rank, d)
    family.close()


def gemma4(path, *, window, pattern, shared=0, extra=0, experts=None, wide_head=512, values=True, wides=None, **shape):
    """`extra` is the width of the layers' own inputs; `pattern` says which layers have a window."""
    small = shape["head"]
    numbers = {
        "attention.sliding_window": window, "attention.sliding_window_pattern": pattern,
        "attention.key_length": wide_head, "attention.value_length": wide_head,
        "attention.key_length_swa": small, "attention.value_length_swa": small,
        "rope.dimension_count": wide_head, "rope.dimension_count_swa": small,
        "attention.shared_kv_layers": shared, "final_logit_softcapping": 30.0,
        "embedding_length_per_layer_input": extra,
    }
    if wides:
        numbers["feed_forward_length"] = wides
    if experts:
        numbers.update(expert_numbers(experts))
    family = Family(path, "gemma4", tied=True, more=numbers, **shape)
    d, file = family.d, family.file
    family.ends()
    file.small("rope_freqs.weight", wide_head // 2)
    if extra:
        file.matrix("per_layer_token_embd.weight", extra * family.layers, family.vocabulary)
        file.matrix("per_layer_model_proj.weight", d, extra * family.layers, mix=T.BF16)
        file.small("per_layer_proj_norm.weight", extra)
    for layer in range(family.layers):
        family.head = small if pattern[layer] else wide_head
        family.norm(layer, "attn_norm")
        queries, keys = family.sizes(layer)
        family.put(layer, "attn_q", d, queries)
        family.put(layer, "attn_output", queries, d)
        family.norm(layer, "attn_q_norm", family.head)
        if layer < family.layers - shared:
            family.put(layer, "attn_k", d, keys)
            if values or pattern[layer]:
                family.put(layer, "attn_v", d, keys, more=True)
            family.norm(layer, "attn_k_norm", family.head)
        for name in ("ffn_norm", "post_attention_norm", "post_ffw_norm"):
            family.norm(layer, name)
        family.norm(layer, "layer_output_scale", 1)
        family.dense(layer, per_layer(wides, layer) if wides else None)
        if experts:
            family.experts(layer, experts[0], experts[2], fused=True)
            file.small(f"blk.{layer}.ffn_gate_inp.scale", d)
            for name in ("pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"):
                family.norm(layer, name)
        if extra:
            family.put(layer, "inp_gate", d, extra)
            family.put(layer, "proj", extra, d)
            family.norm(layer, "post_norm")
    family.close()


def delta(path, architecture, *, key_heads, value_heads, width=128, experts=None, shared=0, draft=0, interval=4,
          sections=False, **shape):
    """Qwen3-Next (`ssm_ba`) and Qwen3.5 (`ssm_alpha`, `ssm_beta`)."""
    inner = width * value_heads
    channels = inner + 2 * width * key_heads
    numbers = {**state_numbers(inner=inner, width=width, groups=key_heads, rank=value_heads),
               "full_attention_interval": interval, "rope.dimension_count": 64}
    if sections:
        numbers["rope.dimension_sections"] = [11, 11, 10, 0]
    if experts:
        numbers.update(expert_numbers(experts), expert_shared_feed_forward_length=shared)
    if draft:
        numbers["nextn_predict_layers"] = draft
        shape["layers"] += draft
    family = Family(path, architecture, more=numbers, **shape)
    family.ends()
    for layer in range(family.layers):
        at = f"blk.{layer}."
        drafts = layer >= family.layers - draft
        family.norm(layer, "attn_norm")
        family.norm(layer, "post_attention_norm")
        if drafts or (layer + 1) % interval == 0:
            family.attention(layer, head_norms=True, query_factor=2)
        else:
            family.put(layer, "attn_qkv", family.d, channels, mix=T.Q5_K)
            family.put(layer, "attn_gate", family.d, inner)
            family.file.small(at + "ssm_conv1d.weight", 4, channels)
            family.file.small(at + "ssm_dt.bias", value_heads)
            family.file.small(at + "ssm_a", value_heads)
            if architecture == "qwen3next":
                family.put(layer, "ssm_ba", family.d, 2 * value_heads)
            else:
                family.put(layer, "ssm_beta", family.d, value_heads)
                family.put(layer, "ssm_alpha", family.d, value_heads)
            family.norm(layer, "ssm_norm", width)
            family.put(layer, "ssm_out", inner, family.d)
        if experts:
            family.experts(layer, experts[0], experts[2], shared=shared)
            family.norm(layer, "ffn_gate_inp_shexp")
        else:
            family.dense(layer)
        if drafts:
            family.draft(layer)
    family.close()


def hybrid(path, architecture, *, inner, width, groups, rank, attending, experts=None, shared=0, both=False,
           norm=True, numbers=None, **shape):
    """Mamba-2 layers and those in `attending`; `both` has them side by side (Falcon-H1)."""
    kv_heads = shape.pop("kv_heads")
    if not both:
        kv_heads = [kv_heads if layer in attending else 0 for layer in range(shape["layers"])]
    more = {**state_numbers(inner=inner, width=width, groups=groups, rank=rank), **(numbers or {})}
    if experts:
        more.update(expert_numbers(experts), expert_shared_feed_forward_length=shared)
    family = Family(path, architecture, kv_heads=kv_heads, more=more, **shape)
    family.ends()
    for layer in range(family.layers):
        family.norm(layer, "attn_norm")
        if both or layer not in attending:
            family.mamba2(layer, inner=inner, width=width, groups=groups, rank=rank, norm=norm)
        if both or layer in attending:
            family.attention(layer)
        if both:
            family.file.small(f"blk.{layer}.ffn_norm", family.d)
        else:
            family.norm(layer, "ffn_norm")
        if experts:
            family.experts(layer, experts[0], experts[2], shared=shared)
        else:
            family.dense(layer)
    family.close()


def nemotron(path, architecture, *, pattern, inner, width, groups, rank, experts=None, shared=0, draft=0, **shape):
    """`pattern`: M for Mamba-2, * for attention, E or - for a feed-forward part."""
    kv, wide = shape.pop("kv_heads"), shape.pop("feed_forward")
    count = len(pattern) + draft
    pattern += "D" * draft
    more = {**state_numbers(inner=inner, width=width, groups=groups, rank=rank),
            "attention.layer_norm_epsilon": 1e-5,
            "feed_forward_length": [wide if kind in "E-D" else 0 for kind in pattern]}
    if experts:
        more.update(expert_numbers(experts, shared_count=1), expert_shared_feed_forward_length=shared,
                    expert_weights_norm=True, expert_weights_scale=2.5)
    if draft:
        more["nextn_predict_layers"] = draft
    family = Family(path, architecture, layers=count, kv_heads=[kv if kind in "*D" else 0 for kind in pattern],
                    more=more, **shape)
    family.ends()
    for layer, kind in enumerate(pattern):
        family.norm(layer, "attn_norm")
        if kind == "M":
            family.mamba2(layer, inner=inner, width=width, groups=groups, rank=rank)
        if kind in "*D":
            family.attention(layer)
        if kind in "ED":
            family.experts(layer, experts[0], experts[2], shared=shared, bias=True, gate=False)
        if kind == "-":
            family.dense(layer, wide, gate=False)
        if kind == "D":
            family.norm(layer, "post_attention_norm")
            family.draft(layer)
    family.close()


def shortconv(path, architecture, *, attending, experts=None, dense_layers=0, **shape):
    kv = shape.pop("kv_heads")
    more = {"shortconv.l_cache": 3}
    if experts:
        more.update(expert_numbers(experts), leading_dense_block_count=dense_layers, expert_gating_func=2)
    family = Family(path, architecture, tied=True, more=more,
                    kv_heads=[kv if layer in attending else 0 for layer in range(shape["layers"])], **shape)
    family.ends("token_embd_norm")
    for layer in range(family.layers):
        family.norm(layer, "attn_norm")
        family.norm(layer, "ffn_norm")
        if layer in attending:
            family.attention(layer, head_norms=True)
        else:
            family.file.small(f"blk.{layer}.shortconv.conv.weight", 3, family.d)
            family.put(layer, "shortconv.in_proj", family.d, 3 * family.d)
            family.put(layer, "shortconv.out_proj", family.d, family.d)
        if experts and layer >= dense_layers:
            family.experts(layer, experts[0], experts[2], bias=True)
        else:
            family.dense(layer)
    family.close()


def latent(path, *, rank, turned, plain, value, experts, shared_count, dense_layers, query_rank=0, numbers=None,
           **shape):
    more = {
        "attention.key_length": rank + turned, "attention.value_length": rank,
        "attention.key_length_mla": plain + turned, "attention.value_length_mla": value,
        "attention.kv_lora_rank": rank, "attention.q_lora_rank": query_rank or None, "rope.dimension_count": turned,
        "leading_dense_block_count": dense_layers, **expert_numbers(experts, shared_count=shared_count),
        "expert_weights_scale": 2.5, "expert_weights_norm": True, "expert_gating_func": 2, **(numbers or {}),
    }
    family = Family(path, "deepseek2", kv_heads=1, head=rank + turned, more=more, **shape)
    d, heads = family.d, family.heads
    family.ends()
    for layer in range(family.layers):
        family.norm(layer, "attn_norm")
        family.norm(layer, "attn_kv_a_norm", rank)
        if query_rank:
            family.norm(layer, "attn_q_a_norm", query_rank)
            family.put(layer, "attn_q_a", d, query_rank)
            family.put(layer, "attn_q_b", query_rank, heads * (plain + turned))
        else:
            family.put(layer, "attn_q", d, heads * (plain + turned))
        family.put(layer, "attn_kv_a_mqa", d, rank + turned)
        family.put(layer, "attn_k_b", plain, rank, heads)
        family.put(layer, "attn_v_b", rank, value, heads)
        family.put(layer, "attn_output", heads * value, d)
        family.norm(layer, "ffn_norm")
        if layer < dense_layers:
            family.dense(layer)
        else:
            family.experts(layer, experts[0], experts[2], shared=experts[2] * shared_count, bias=bool(query_rank))
    family.close()


def kimi(path, *, attending, channel, rank, turned, plain, value, experts, shared_count, dense_layers, **shape):
    more = {
        "attention.key_length": rank + turned, "attention.value_length": rank,
        "attention.key_length_mla": plain + turned, "attention.value_length_mla": value,
        "attention.kv_lora_rank": rank, "rope.dimension_count": turned, "kda.head_dim": channel, "ssm.conv_kernel": 4,
        "leading_dense_block_count": dense_layers, **expert_numbers(experts, shared_count=shared_count),
        "expert_weights_scale": 2.446, "expert_gating_func": 2,
    }
    kv_heads = [1 if layer in attending else 0 for layer in range(shape["layers"])]
    family = Family(path, "kimi-linear", kv_heads=kv_heads, head=rank + turned, more=more, **shape)
    d, heads, inner = family.d, family.heads, family.heads * channel
    family.ends()
    for layer in range(family.layers):
        at = f"blk.{layer}."
        family.norm(layer, "attn_norm")
        if layer in attending:
            family.norm(layer, "attn_kv_a_norm", rank)
            family.put(layer, "attn_q", d, heads * (plain + turned))
            family.put(layer, "attn_kv_a_mqa", d, rank + turned)
            family.put(layer, "attn_k_b", plain, rank, heads)
            family.put(layer, "attn_v_b", rank, value, heads)
            family.put(layer, "attn_output", heads * value, d)
        else:
            for name in "qkv":
                family.put(layer, f"attn_{name}", d, inner)
                family.file.small(f"{at}ssm_conv1d_{name}.weight", 4, 1, inner)
            for name in ("f", "g"):
                family.put(layer, f"ssm_{name}_a", d, channel)
                family.put(layer, f"ssm_{name}_b", channel, inner)
            family.put(layer, "ssm_beta", d, heads)
            family.file.small(at + "ssm_a", 1, heads)
            family.file.small(at + "ssm_dt.bias", inner)
            family.norm(layer, "ssm_norm", channel)
            family.put(layer, "attn_output", inner, d)
        family.norm(layer, "ffn_norm")
        if layer < dense_layers:
            family.dense(layer)
        else:
            family.experts(layer, experts[0], experts[2], shared=experts[2] * shared_count, bias=True)
    family.close()


def deci(path, *, attends, wides, **shape):
    """`attends`: K/V heads per layer, 0 for one matrix instead, `None` for no attention at all."""
    heads = shape.pop("heads")
    more = {"feed_forward_length": wides}
    family = Family(path, "deci", more=more, heads=[0 if kv is None else heads for kv in attends],
                    kv_heads=[kv or 0 for kv in attends], **shape)
    family.ends()
    family.file.small("rope_freqs.weight", family.head // 2)
    for layer, kv in enumerate(attends):
        if kv is not None:
            family.norm(layer, "attn_norm")
            if kv:
                family.attention(layer)
            else:
                family.put(layer, "attn_output", family.d, family.d)
        if wides[layer]:
            family.norm(layer, "ffn_norm")
            family.dense(layer, wides[layer])
    family.close()
