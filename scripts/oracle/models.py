"""The models that the planner is held against: shapes as the publishers' own configurations give them.

One or two for each architecture of the catalog. `probe` marks a shape of ours that no publisher has: it holds the
architecture's graph to llama.cpp's where no configuration is at hand.
"""

import families as f


def dense(layers, embedding, feed_forward, heads, kv_heads, head, vocabulary, context):
    return {"layers": layers, "embedding": embedding, "feed_forward": feed_forward, "heads": heads,
            "kv_heads": kv_heads, "head": head, "vocabulary": vocabulary, "context": context}


def make(builder, *names, **shape):
    return lambda path: builder(path, *names, **shape)


def every(period, layers):
    """Which layers have a window when one in `period` has none."""
    return [layer % period < period - 1 for layer in range(layers)]


MODELS = {
    "llama-3.1-8b-Q4_K_M.gguf": make(
        f.transformer, "llama", rope_freqs=64, theta=5e5, **dense(32, 4096, 14336, 32, 8, 128, 128256, 131072)),
    "qwen2.5-7b-Q4_K_M.gguf": make(
        f.transformer, "qwen2", biased=True, **dense(28, 3584, 18944, 28, 4, 128, 152064, 131072)),
    "qwen3-8b-Q4_K_M.gguf": make(
        f.transformer, "qwen3", head_norms=True, **dense(36, 4096, 12288, 32, 8, 128, 151936, 40960)),
    "gemma-3-12b-Q4_K_M.gguf": make(
        f.transformer, "gemma3", tied=True, head_norms=True, post_norms=True,
        numbers={"attention.sliding_window": 1024}, **dense(48, 3840, 15360, 16, 8, 256, 262208, 131072)),
    "qwen3-30b-a3b-Q4_K_M.gguf": make(
        f.transformer, "qwen3moe", head_norms=True, experts=(128, 8, 768),
        **dense(48, 2048, 6144, 32, 4, 128, 151936, 262144)),
    "gpt-oss-20b-MXFP4.gguf": make(
        f.gptoss, experts=(32, 4, 2880), **dense(24, 2880, 2880, 64, 8, 64, 201088, 131072)),
    "smollm3-3b-Q4_K_M.gguf": make(
        f.transformer, "smollm3", tied=True, **dense(36, 2048, 11008, 16, 4, 128, 128256, 65536)),
    "gemma-3n-e4b-Q4_K_M.gguf": make(
        f.gemma3n, **dense(35, 2048, 16384, 8, 2, 256, 262144, 32768)),
    "gemma-4-e4b-Q4_K_M.gguf": make(
        f.gemma4, window=512, pattern=every(6, 42), shared=18, extra=256,
        **dense(42, 2560, 10240, 8, 2, 256, 262144, 131072)),
    "gemma-4-26b-a4b-Q4_K_M.gguf": make(
        f.gemma4, window=1024, pattern=every(6, 30), experts=(128, 8, 704), values=False,
        layers=30, embedding=2816, feed_forward=2112, heads=16,
        kv_heads=[8 if windowed else 2 for windowed in every(6, 30)], head=256, vocabulary=262144, context=262144),
    "qwen3-vl-8b-Q4_K_M.gguf": make(
        f.transformer, "qwen3vl", head_norms=True,
        numbers={"rope.dimension_sections": [24, 20, 20, 0], "n_deepstack_layers": 3},
        **dense(36, 4096, 12288, 32, 8, 128, 151936, 262144)),
    "qwen3-vl-30b-a3b-Q4_K_M.gguf": make(
        f.transformer, "qwen3vlmoe", head_norms=True, experts=(128, 8, 768),
        numbers={"rope.dimension_sections": [24, 20, 20, 0], "n_deepstack_layers": 3},
        **dense(48, 2048, 6144, 32, 4, 128, 151936, 262144)),
    "qwen3-next-80b-a3b-Q4_K_M.gguf": make(
        f.delta, "qwen3next", key_heads=16, value_heads=32, experts=(512, 10, 512), shared=512,
        **dense(48, 2048, 5120, 16, 2, 256, 151936, 262144)),
    "qwen3.5-4b-Q4_K_M.gguf": make(
        f.delta, "qwen35", key_heads=16, value_heads=32, tied=True, sections=True,
        **dense(32, 2560, 9216, 16, 4, 256, 248320, 262144)),
    "qwen3.6-27b-Q4_K_M.gguf": make(
        f.delta, "qwen35", key_heads=16, value_heads=48, sections=True, draft=1,
        **dense(64, 5120, 17408, 24, 4, 256, 248320, 262144)),
    "qwen3.6-35b-a3b-Q4_K_M.gguf": make(
        f.delta, "qwen35moe", key_heads=16, value_heads=32, sections=True, experts=(256, 8, 512), shared=512, draft=1,
        **dense(40, 2048, 5120, 16, 2, 256, 248320, 262144)),
    "llama-4-scout-Q4_K_M.gguf": make(
        f.transformer, "llama4", experts=(16, 1, 8192), shared=8192, rope_freqs=64,
        numbers={"interleave_moe_layer_step": 1}, **dense(48, 5120, 16384, 40, 8, 128, 202048, 1048576)),
    "ministral-3-8b-Q4_K_M.gguf": make(
        f.transformer, "mistral3", numbers={"attention.temperature_scale": 0.1, "rope.scaling.type": "yarn",
                                            "rope.scaling.factor": 16.0,
                                            "rope.scaling.original_context_length": 16384},
        **dense(34, 4096, 14336, 32, 8, 128, 131072, 262144)),
    "phi-4-mini-Q4_K_M.gguf": make(
        f.transformer, "phi3", fused=True, tied=True, long_factors=True,
        numbers={"rope.scaling.type": "longrope", "rope.scaling.original_context_length": 4096,
                 "attention.sliding_window": 262144},
        **dense(32, 3072, 8192, 24, 8, 128, 200064, 131072)),
    "phi-4-Q4_K_M.gguf": make(
        f.transformer, "phi3", fused=True, **dense(40, 5120, 17920, 40, 10, 128, 100352, 16384)),
    "deepseek-v3-Q4_K_M.gguf": make(
        f.latent, rank=512, turned=64, plain=128, value=128, query_rank=1536, experts=(256, 8, 2048), shared_count=1,
        dense_layers=3, layers=61, embedding=7168, feed_forward=18432, heads=128, vocabulary=129280, context=163840,
        numbers={"expert_group_count": 8, "expert_group_used_count": 4}),
    "glm-4.7-flash-Q4_K_M.gguf": make(
        f.latent, rank=512, turned=64, plain=192, value=256, query_rank=768, experts=(64, 4, 1536), shared_count=1,
        dense_layers=1, layers=47, embedding=2048, feed_forward=10240, heads=20, vocabulary=154880, context=202752),
    "deepseek-v2-lite-Q4_K_M.gguf": make(
        f.latent, rank=512, turned=64, plain=128, value=128, experts=(64, 6, 1408), shared_count=2, dense_layers=1,
        layers=27, embedding=2048, feed_forward=10944, heads=16, vocabulary=102400, context=163840),
    "glm-4-9b-Q4_K_M.gguf": make(f.glm4, **dense(40, 4096, 13696, 32, 2, 128, 151552, 32768)),
    "glm-4.5-air-Q4_K_M.gguf": make(
        f.transformer, "glm4moe", biased=True, experts=(128, 8, 1408), shared=1408, dense_layers=1, choice_bias=True,
        feed_norm="post_attention_norm", draft=1,
        numbers={"leading_dense_block_count": 1, "expert_shared_count": 1, "expert_weights_norm": True,
                 "expert_weights_scale": 1.0, "rope.dimension_count": 64},
        **dense(46, 4096, 10944, 96, 8, 128, 151552, 131072)),
    "minimax-m2-Q4_K_M.gguf": make(
        f.transformer, "minimax-m2", row_norms=True, experts=(256, 8, 1536), choice_bias=True,
        numbers={"expert_gating_func": 2, "rope.dimension_count": 64},
        **dense(62, 3072, 1536, 48, 8, 128, 200064, 196608)),
    "granite-4.0-micro-Q4_K_M.gguf": make(
        f.transformer, "granite", tied=True,
        numbers={"logit_scale": 10.0, "residual_scale": 0.22, "embedding_scale": 12.0, "attention.scale": 0.015625},
        **dense(40, 2560, 8192, 40, 8, 64, 100352, 131072)),
    "granite-4.0-h-tiny-Q4_K_M.gguf": make(
        f.hybrid, "granitehybrid", inner=3072, width=128, groups=1, rank=48, attending=(5, 15, 25, 35), tied=True,
        experts=(64, 6, 512), shared=1024,
        numbers={"logit_scale": 6.0, "residual_scale": 0.22, "embedding_scale": 12.0, "attention.scale": 0.0078125,
                 "rope.scaling.finetuned": False},
        **dense(40, 1536, 512, 12, 4, 128, 100352, 131072)),
    "granite-4.0-h-350m-Q8_0.gguf": make(
        f.hybrid, "granitehybrid", inner=1536, width=128, groups=1, rank=48, attending=(10, 13, 17, 27), tied=True,
        numbers={"logit_scale": 3.0, "residual_scale": 0.246, "embedding_scale": 12.0, "attention.scale": 0.015625,
                 "rope.scaling.finetuned": False},
        **dense(32, 768, 2048, 12, 4, 64, 100352, 32768)),
    "lfm2-1.2b-Q4_K_M.gguf": make(
        f.shortconv, "lfm2", attending=(2, 5, 8, 10, 12, 14), **dense(16, 2048, 8192, 32, 8, 64, 65536, 128000)),
    "lfm2-8b-a1b-Q4_K_M.gguf": make(
        f.shortconv, "lfm2moe", attending=(2, 6, 10, 14, 18, 21), experts=(32, 4, 1792), dense_layers=2,
        **dense(24, 2048, 7168, 32, 8, 64, 65536, 128000)),
    "nemotron-3-nano-30b-a3b-Q4_K_M.gguf": make(
        f.nemotron, "nemotron_h_moe", pattern="MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
        inner=4096, width=128, groups=8, rank=64, experts=(128, 6, 1856), shared=3712, embedding=2688, heads=32,
        kv_heads=2, head=128, feed_forward=1856, vocabulary=131072, context=1048576),
    "nemotron-nano-9b-v2-Q4_K_M.gguf": make(
        f.nemotron, "nemotron_h", pattern="M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-",
        inner=10240, width=128, groups=8, rank=128, embedding=4480, heads=40, kv_heads=8, head=128,
        feed_forward=15680, vocabulary=131072, context=131072),
    "falcon-h1-1.5b-Q4_K_M.gguf": make(
        f.hybrid, "falcon-h1", inner=3072, width=256, groups=1, rank=48, attending=(), both=True, norm=False,
        **dense(24, 2048, 4096, 8, 2, 128, 65537, 131072)),
    "deci-probe-Q4_K_M.gguf": make(
        f.deci, attends=[8, 8, None, 8, 0, 8, 8, None, 8, 8, 8, 8],
        wides=[14336, 0, 7168, 14336, 14336, 14336, 7168, 7168, 14336, 14336, 14336, 14336],
        layers=12, embedding=4096, heads=32, head=128, vocabulary=128256, context=131072),
    "olmo-2-1b-Q4_K_M.gguf": make(
        f.transformer, "olmo2", row_norms=True, post_norms=True, first_norm=False, feed_norm=None,
        **dense(16, 2048, 8192, 16, 16, 128, 100352, 4096)),
    "olmo-3-7b-Q4_K_M.gguf": make(
        f.transformer, "olmo2", row_norms=True, post_norms=True, first_norm=False, feed_norm=None,
        numbers={"attention.sliding_window": 4096}, **dense(32, 4096, 11008, 32, 32, 128, 100278, 65536)),
    "ernie-4.5-0.3b-Q4_K_M.gguf": make(
        f.transformer, "ernie4_5", tied=True, **dense(18, 1024, 3072, 16, 2, 128, 103424, 131072)),
    "ernie-4.5-21b-a3b-Q4_K_M.gguf": make(
        f.transformer, "ernie4_5-moe", tied=True, experts=(64, 6, 1536), shared=3072, dense_layers=1,
        choice_bias=True, numbers={"expert_shared_feed_forward_length": 3072, "interleave_moe_layer_step": 1,
                                   "leading_dense_block_count": 1},
        **dense(28, 2560, 12288, 20, 4, 128, 103424, 131072)),
    "hunyuan-probe-Q4_K_M.gguf": make(
        f.transformer, "hunyuan-dense", tied=True, head_norms=True,
        **dense(32, 2048, 6144, 16, 4, 128, 120818, 262144)),
    "hunyuan-a13b-Q4_K_M.gguf": make(
        f.transformer, "hunyuan-moe", tied=True, head_norms=True, experts=(64, 8, 3072), shared=3072,
        numbers={"expert_shared_feed_forward_length": 3072},
        **dense(32, 4096, 3072, 32, 8, 128, 128167, 262144)),
    "seed-oss-36b-Q4_K_M.gguf": make(
        f.transformer, "seed_oss", biased=True, feed_norm="post_attention_norm",
        **dense(64, 5120, 27648, 80, 8, 128, 155136, 524288)),
    "apertus-8b-Q4_K_M.gguf": make(
        f.transformer, "apertus", head_norms=True, gated=False, rope_freqs=64,
        numbers={"xielu.alpha_n": [0.8] * 32, "xielu.alpha_p": [0.8] * 32, "xielu.beta": [0.5] * 32,
                 "xielu.eps": [-1e-6] * 32},
        **dense(32, 4096, 21504, 32, 8, 128, 131072, 65536)),
    "trinity-mini-Q4_K_M.gguf": make(
        f.transformer, "afmoe", head_norms=True, gate=True, post_norms=True, experts=(128, 8, 1024), shared=1024,
        dense_layers=2, choice_bias=True,
        numbers={"leading_dense_block_count": 2, "expert_shared_count": 1, "expert_weights_norm": True,
                 "expert_weights_scale": 2.826, "expert_gating_func": 2, "attention.sliding_window": 2048},
        **dense(32, 2048, 6144, 32, 4, 128, 200192, 131072)),
    "exaone-4.0-1.2b-Q4_K_M.gguf": make(
        f.transformer, "exaone4", tied=True, head_norms=True, post_norms=True, first_norm=False, feed_norm=None,
        rope_freqs=32, **dense(30, 2048, 4096, 32, 8, 64, 102400, 65536)),
    "ling-mini-probe-Q4_K_M.gguf": make(
        f.transformer, "bailingmoe2", head_norms=True, fused=True, experts=(256, 8, 512), shared=512, dense_layers=1,
        choice_bias=True,
        numbers={"leading_dense_block_count": 1, "expert_shared_count": 1, "expert_shared_feed_forward_length": 512,
                 "expert_weights_norm": True, "expert_weights_scale": 2.5, "expert_gating_func": 2,
                 "expert_group_count": 8, "expert_group_used_count": 4},
        **dense(20, 2048, 5120, 16, 4, 128, 157184, 32768)),
    "muse-glimmer-probe-Q4_K_M.gguf": make(
        f.transformer, "muse-glimmer", head_norms=True, gate=True, post_norms=True,
        numbers={"attention.sliding_window": 1024, "logit_scale": 0.5, "final_logit_softcapping": 30.0},
        **dense(52, 4096, 14336, 32, 8, 128, 200064, 131072)),
    "kimi-linear-48b-a3b-Q4_K_M.gguf": make(
        f.kimi, attending=(3, 7, 11, 15, 19, 23, 26), channel=128, rank=512, turned=64, plain=128, value=128,
        experts=(256, 8, 1024), shared_count=1, dense_layers=1, layers=27, embedding=2304, feed_forward=9216,
        heads=32, vocabulary=163840, context=1048576),
    "qwen2-vl-7b-Q4_K_M.gguf": make(
        f.transformer, "qwen2vl", biased=True, numbers={"rope.dimension_sections": [16, 24, 24, 0]},
        **dense(28, 3584, 18944, 28, 4, 128, 152064, 32768)),
    "granite-3.1-3b-a800m-Q4_K_M.gguf": make(
        f.transformer, "granitemoe", tied=True, experts=(40, 8, 512),
        numbers={"logit_scale": 6.0, "residual_scale": 0.22, "embedding_scale": 12.0, "attention.scale": 0.015625},
        **dense(32, 1536, 512, 24, 8, 64, 49155, 131072)),
}
