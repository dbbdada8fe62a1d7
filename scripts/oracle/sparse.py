"""Writes GGUF files with a true header and no data: the tensors are a hole. Gigabytes on paper, kilobytes on disk."""

import numpy
import gguf
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T

ALIGNMENT = 32


def fallback(row, kind):
    """What llama-quantize takes instead when rows do not divide into the type's blocks."""
    if row % GGML_QUANT_SIZES[kind][0] == 0:
        return kind
    other = {T.Q4_K: T.Q5_0, T.Q5_K: T.Q5_1, T.Q6_K: T.Q8_0}.get(kind, T.F16)
    return other if row % GGML_QUANT_SIZES[other][0] == 0 else T.F16


def more_bits(layer, layers):
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


class Model:
    def __init__(self, path, architecture, *, layers, embedding, heads, kv_heads, head, vocabulary, context,
                 feed_forward, theta, **numbers):
        self.path, self.layers = path, layers
        self.tensors = []
        self.writer = writer = gguf.GGUFWriter(path, architecture)
        settled = {
            "block_count": layers, "context_length": context, "embedding_length": embedding,
            "feed_forward_length": feed_forward, "attention.head_count": heads,
            "attention.head_count_kv": kv_heads, "attention.key_length": head, "attention.value_length": head,
            "rope.dimension_count": head, "vocab_size": vocabulary,
        }
        for key, value in {**settled, **numbers}.items():
            writer.add_uint32(f"{architecture}.{key}", value)
        writer.add_float32(f"{architecture}.attention.layer_norm_rms_epsilon", 1e-5)
        writer.add_float32(f"{architecture}.rope.freq_base", theta)
        writer.add_string("tokenizer.ggml.model", "none")

    def small(self, name, *dims):
        self.tensors.append((name, dims, T.F32))

    def matrix(self, name, row, *rest, layer=None, mix=T.Q4_K, half_more=False):
        kind = T.Q6_K if half_more and more_bits(layer, self.layers) else mix
        self.tensors.append((name, (row, *rest), fallback(row, kind)))

    def close(self):
        total = 0
        for name, dims, kind in self.tensors:
            block, size = GGML_QUANT_SIZES[kind]
            count = int(numpy.prod(dims, dtype=numpy.int64)) // block * size
            self.writer.add_tensor_info(name, list(reversed(dims)), numpy.dtype(numpy.float16), count, raw_dtype=kind)
            total += -(-count // ALIGNMENT) * ALIGNMENT
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_ti_data_to_file()
        self.writer.close()
        head = -(-self.path.stat().st_size // ALIGNMENT) * ALIGNMENT
        with open(self.path, "r+b") as file:
            file.truncate(head + total)


def attention(model, layer, *, embedding, heads, kv_heads, head, biased=False, head_norms=False, mix=T.Q4_K):
    at = f"blk.{layer}."
    model.small(at + "attn_norm.weight", embedding)
    for name, count, more in (("q", heads, False), ("k", kv_heads, False), ("v", kv_heads, mix == T.Q4_K)):
        model.matrix(f"{at}attn_{name}.weight", embedding, count * head, layer=layer, mix=mix, half_more=more)
        if biased:
            model.small(f"{at}attn_{name}.bias", count * head)
    model.matrix(at + "attn_output.weight", heads * head, embedding, mix=mix)
    if head_norms:
        model.small(at + "attn_q_norm.weight", head)
        model.small(at + "attn_k_norm.weight", head)


def dense(path, architecture, *, tied=False, biased=False, head_norms=False, post_norms=False, rope_freqs=False,
          theta=1e6, **shape):
    model = Model(path, architecture, theta=theta, **shape)
    embedding, wide, head = shape["embedding"], shape["feed_forward"], shape["head"]
    model.matrix("token_embd.weight", embedding, shape["vocabulary"], mix=T.Q6_K if tied else T.Q4_K)
    model.small("output_norm.weight", embedding)
    if not tied:
        model.matrix("output.weight", embedding, shape["vocabulary"], mix=T.Q6_K)
    if rope_freqs:
        model.small("rope_freqs.weight", head // 2)
    for layer in range(shape["layers"]):
        at = f"blk.{layer}."
        attention(model, layer, embedding=embedding, heads=shape["heads"], kv_heads=shape["kv_heads"], head=head,
                  biased=biased, head_norms=head_norms)
        model.small(at + "ffn_norm.weight", embedding)
        if post_norms:
            model.small(at + "post_attention_norm.weight", embedding)
            model.small(at + "post_ffw_norm.weight", embedding)
        model.matrix(at + "ffn_gate.weight", embedding, wide)
        model.matrix(at + "ffn_up.weight", embedding, wide)
        model.matrix(at + "ffn_down.weight", wide, embedding, layer=layer, half_more=True)
    model.close()


def qwen3moe(path, *, experts, used, expert_width, **shape):
    model = Model(path, "qwen3moe", theta=1e6, **shape, expert_count=experts, expert_used_count=used,
                  expert_feed_forward_length=expert_width)
    embedding = shape["embedding"]
    model.matrix("token_embd.weight", embedding, shape["vocabulary"])
    model.small("output_norm.weight", embedding)
    model.matrix("output.weight", embedding, shape["vocabulary"], mix=T.Q6_K)
    for layer in range(shape["layers"]):
        at = f"blk.{layer}."
        attention(model, layer, embedding=embedding, heads=shape["heads"], kv_heads=shape["kv_heads"],
                  head=shape["head"], head_norms=True)
        model.small(at + "ffn_norm.weight", embedding)
        model.small(at + "ffn_gate_inp.weight", embedding, experts)
        model.matrix(at + "ffn_gate_exps.weight", embedding, expert_width, experts)
        model.matrix(at + "ffn_up_exps.weight", embedding, expert_width, experts)
        model.matrix(at + "ffn_down_exps.weight", expert_width, embedding, experts, layer=layer, half_more=True)
    model.close()


def gptoss(path, *, experts, used, **shape):
    model = Model(path, "gpt-oss", theta=150000.0, **shape, expert_count=experts, expert_used_count=used,
                  expert_feed_forward_length=shape["feed_forward"], **{"attention.sliding_window": 128})
    embedding, wide = shape["embedding"], shape["feed_forward"]
    model.matrix("token_embd.weight", embedding, shape["vocabulary"], mix=T.Q8_0)
    model.small("output_norm.weight", embedding)
    model.matrix("output.weight", embedding, shape["vocabulary"], mix=T.Q8_0)
    for layer in range(shape["layers"]):
        at = f"blk.{layer}."
        attention(model, layer, embedding=embedding, heads=shape["heads"], kv_heads=shape["kv_heads"],
                  head=shape["head"], biased=True, mix=T.Q8_0)
        model.small(at + "attn_output.bias", embedding)
        model.small(at + "attn_sinks.weight", shape["heads"])
        model.small(at + "post_attention_norm.weight", embedding)
        model.small(at + "ffn_gate_inp.weight", embedding, experts)
        model.small(at + "ffn_gate_inp.bias", experts)
        for name, row, rows in (("gate", embedding, wide), ("up", embedding, wide), ("down", wide, embedding)):
            model.matrix(f"{at}ffn_{name}_exps.weight", row, rows, experts, mix=T.MXFP4)
            model.small(f"{at}ffn_{name}_exps.bias", rows, experts)
    model.close()


def shape(layers, embedding, feed_forward, heads, kv_heads, head, vocabulary, context):
    return {"layers": layers, "embedding": embedding, "feed_forward": feed_forward, "heads": heads,
            "kv_heads": kv_heads, "head": head, "vocabulary": vocabulary, "context": context}


# Shapes as the models' own configurations give them.
MODELS = {
    "llama-3.1-8b-Q4_K_M.gguf": lambda path: dense(
        path, "llama", rope_freqs=True, theta=5e5, **shape(32, 4096, 14336, 32, 8, 128, 128256, 131072)),
    "qwen2.5-7b-Q4_K_M.gguf": lambda path: dense(
        path, "qwen2", biased=True, **shape(28, 3584, 18944, 28, 4, 128, 152064, 131072)),
    "qwen3-8b-Q4_K_M.gguf": lambda path: dense(
        path, "qwen3", head_norms=True, **shape(36, 4096, 12288, 32, 8, 128, 151936, 40960)),
    "gemma-3-12b-Q4_K_M.gguf": lambda path: dense(
        path, "gemma3", tied=True, head_norms=True, post_norms=True,
        **shape(48, 3840, 15360, 16, 8, 256, 262208, 131072), **{"attention.sliding_window": 1024}),
    "qwen3-30b-a3b-Q4_K_M.gguf": lambda path: qwen3moe(
        path, experts=128, used=8, expert_width=768, **shape(48, 2048, 6144, 32, 4, 128, 151936, 262144)),
    "gpt-oss-20b-MXFP4.gguf": lambda path: gptoss(
        path, experts=32, used=4, **shape(24, 2880, 2880, 64, 8, 64, 201088, 131072)),
}
