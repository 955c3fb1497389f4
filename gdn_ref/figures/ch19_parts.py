"""Chapter 19: the boxes of the block diagram, with what each computes, learns and costs.

`python -m gdn_ref.figures.ch19_parts` writes them, for the models of chapter 20, into the script
of the moving figure.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..proofs.ch19_sizes import cache_bytes
from .ch20_models import MODELS

SCRIPT = Path(__file__).parents[2] / "book/_static/figures/block-diagram.js"
BEGIN, END = "  // from the package: begin\n", "  // from the package: end\n"


@dataclass(frozen=True)
class Part:
    """One box: where it stands, what it says, and what it costs a layer of given sizes.

    `flops` counts products of matrices, of the taps and of the rule, one token, two a product.
    """

    key: str
    title: str
    formula: str
    says: str
    role: str
    place: tuple  # x, y, width, height
    after: tuple  # the boxes whose results it takes
    shape: Callable
    parameters: Callable = lambda x: 0
    flops: Callable = lambda x: 0
    keeps: Callable = lambda x: 0  # bytes from one token to the next, weights in 2 bytes


def values(x):
    return x.value_heads * x.d_v


def three(x):
    return f"{x.key_heads} x {x.d_k}, {x.key_heads} x {x.d_k}, {x.value_heads} x {x.d_v}"


def window(x):
    return 2 * (x.taps - 1) * x.channels


PARTS = (
    Part("x", "token x", "x_t", "the hidden vector of one token, after the stack's norm", "ink",
         (150, 4, 100, 30), (), lambda x: f"{x.width} numbers"),
    Part("qkv", "W_q, W_k, W_v", "W_q x, W_k x, W_v x",
         "three linear maps: what to ask for, where to write, what to write", "key",
         (6, 62, 148, 34), ("x",), lambda x: f"{x.width} to {x.channels}",
         lambda x: x.width * x.channels, lambda x: 2 * x.width * x.channels),
    Part("a", "W_a", "a = W_a x", "one number per value head: how much this token wants to forget",
         "decay", (168, 62, 60, 34), ("x",), lambda x: f"{x.width} to {x.value_heads}",
         lambda x: x.width * x.value_heads, lambda x: 2 * x.width * x.value_heads),
    Part("b", "W_b", "b = W_b x", "one number per value head: how strongly this token writes",
         "error", (242, 62, 60, 34), ("x",), lambda x: f"{x.width} to {x.value_heads}",
         lambda x: x.width * x.value_heads, lambda x: 2 * x.width * x.value_heads),
    Part("z", "W_g", "z = W_g x", "one number per value dimension: what may leave the layer",
         "first", (316, 62, 78, 34), ("x",), lambda x: f"{x.width} to {values(x)}",
         lambda x: x.width * values(x), lambda x: 2 * x.width * values(x)),
    Part("conv", "conv, SiLU", "q', k', v = silu(bias + Σ w_i x_(t−W+1+i))",
         "each channel mixes its last inputs, so a key may be that of the token before", "second",
         (6, 132, 148, 34), ("qkv",), lambda x: f"{x.channels} channels, {x.taps} taps",
         lambda x: x.taps * x.channels, lambda x: 2 * x.taps * x.channels, window),
    Part("alpha", "α", "α = exp(−A softplus(a + dt_bias))", "the share of the memory that is kept",
         "decay", (168, 132, 60, 34), ("a",), lambda x: f"{x.value_heads} numbers",
         lambda x: 2 * x.value_heads),
    Part("beta", "β", "β = σ(b), or 2 σ(b)", "the share of the old read that is erased", "error",
         (242, 132, 60, 34), ("b",), lambda x: f"{x.value_heads} numbers"),
    Part("unit", "q, k to length 1", "k = k' / √(|k'|² + 10⁻⁶), q likewise over √K",
         "so that the transition never stretches the memory", "key", (6, 202, 148, 34), ("conv",),
         three),
    Part("rule", "gated delta rule", "S = αS + β(v − αSk)kᵀ, o = Sq",
         "decay, read, correct, write, read out", "state", (6, 272, 296, 40),
         ("unit", "alpha", "beta"),
         lambda x: f"{x.value_heads} states of {x.d_k} x {x.d_v}",
         flops=lambda x: 2 * values(x) * (4 * x.d_k + 1),
         keeps=lambda x: 4 * values(x) * x.d_k),
    Part("norm", "norm, then gate", "w o / rms(o) · silu(z)",
         "the outputs of all heads get one size, then the token's gate scales each entry", "first",
         (150, 348, 244, 34), ("rule", "z"), lambda x: f"{x.value_heads} x {x.d_v}",
         lambda x: x.d_v),
    Part("out", "W_o", "y = W_o (all heads)", "back to the width of a token", "third",
         (150, 418, 100, 34), ("norm",), lambda x: f"{values(x)} to {x.width}",
         lambda x: x.width * values(x), lambda x: 2 * x.width * values(x)),
)  # fmt: skip
BY_KEY = {part.key: part for part in PARTS}


def numbers(part, x):
    """What the readout says of a part in a model."""
    return {"shape": part.shape(x), "parameters": part.parameters(x), "flops": part.flops(x),
            "keeps": part.keeps(x)}  # fmt: skip


def data():
    """Lines of JavaScript: the boxes, and their numbers in each model."""
    boxes = [
        {"key": p.key, "title": p.title, "formula": p.formula, "says": p.says, "role": p.role,
         "place": p.place, "after": p.after} for p in PARTS
    ]  # fmt: skip
    yield "  const boxes = [\n"
    yield from (f"    {json.dumps(box, ensure_ascii=False)},\n" for box in boxes)
    yield "  ];\n  const models = {\n"
    for name, x in MODELS.items():
        yield f"    {json.dumps(name)}: {{\n      cache: {cache_bytes(x)},\n"
        for p in PARTS:
            yield f"      {p.key}: {json.dumps(numbers(p, x))},\n"
        yield "    },\n"
    yield "  };\n"


def written(script):
    """The script with the data in its place."""
    before, _, rest = script.partition(BEGIN)
    return before + BEGIN + "".join(data()) + END + rest.partition(END)[2]


if __name__ == "__main__":
    SCRIPT.write_text(written(SCRIPT.read_text()))
