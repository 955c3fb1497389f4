"""Chapter 20: the published hybrid models in numbers, and what a public log says of one of them.

The first four are the defaults of transformers 5.17.0: `Qwen3NextConfig`, `Qwen3_5TextConfig`,
`Qwen3_5MoeTextConfig` and `OlmoHybridConfig`. A test compares them with those classes.
"""

from ..proofs.ch20_model import Hybrid

QWEN = {"q_heads": 16, "head": 256, "key_heads": 16, "value_heads": 32, "d_k": 128, "d_v": 128}
MODELS = {
    "Qwen3-Next 80B-A3B": Hybrid(
        linear=36, full=12, width=2048, kv_heads=2, ffn=512, vocab=151936,
        experts=512, chosen=10, shared=512, **QWEN,
    ),
    "Qwen3.5 9B": Hybrid(
        linear=24, full=8, width=4096, kv_heads=4, ffn=12288, vocab=248320, **QWEN
    ),
    "Qwen3.5 35B-A3B": Hybrid(
        linear=30, full=10, width=2048, kv_heads=2, ffn=512, vocab=248320,
        experts=256, chosen=8, shared=512, **QWEN,
    ),
    "Olmo-Hybrid 7B": Hybrid(
        linear=24, full=8, width=3840, q_heads=30, kv_heads=30, head=128, key_heads=30,
        value_heads=30, d_k=96, d_v=192, ffn=11008, vocab=100352, gated=0,
    ),
}  # fmt: skip
NEXT = MODELS["Qwen3-Next 80B-A3B"]

# Qwen3.6 27B as its card and the log have it: only what is kept matters here. The runtime of the
# log keeps the last three inputs of a convolution of four taps, in float32
LOGGED = Hybrid(
    linear=48, full=16, width=5120, q_heads=24, kv_heads=4, head=256, key_heads=16, value_heads=48,
    d_k=128, d_v=128, ffn=0, vocab=0, taps=3,
)  # fmt: skip
LOG = {"tokens": 262144, "sequences": 4, "cache_mib": 16384.0, "states_mib": 598.5}
