"""Our layer beside flash-linear-attention's, with the same weights: how far apart, and why.

    python kernels/bench/compare_layer.py --json book/_data/bench/layer_h100.json

Needs a CUDA GPU, flash-linear-attention and transformers. All in bfloat16; relative Frobenius
distances of the layers' outputs:

apart    ours from fla's
exact    from fla's, ours with the rule in float64, which is rounded to bfloat16 once, at its end.
         What is left is fla's own rounding, and what two roundings after the rule make of any
         difference: no kernel can be much nearer to fla's, unless it rounds as fla's does
ours, fla  each from our layer in float64
"""

import argparse
import copy
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch
from compare import relative, write_record

from gdn_ref import GatedDeltaNet, chunk_gated_delta_rule, layer_weights, layers

SIZES = {  # hidden, key heads, their size, value heads, their size, tokens
    "of the test": (256, 2, 64, 4, 128, 300),
    "one value head a key head": (1024, 8, 128, 8, 128, 1024),
    "Qwen3-Next": (2048, 16, 128, 32, 128, 1024),
}


def exact_rule(q, k, v, *, backend, **options):
    """The rule in float64, its outputs in v's dtype."""
    exact = {n: x.double() if torch.is_tensor(x) else x for n, x in options.items()}
    o, S = chunk_gated_delta_rule(*(x.double() for x in (q, k, v)), backend="reference", **exact)
    return o.to(v.dtype), S


@torch.no_grad()
def measure(net, ours, x):
    """The four distances."""
    theirs, found = net(x)[0], ours(x)
    with patch.object(layers, "chunk_gated_delta_rule", exact_rule):
        nearest = ours(x)
    exact = copy.deepcopy(ours).double()(x.double())
    distance = partial(relative, expected=theirs.double())
    return {
        "apart": distance(found),
        "exact": distance(nearest),
        "ours": relative(found, exact),
        "fla": relative(theirs, exact),
    }


@torch.no_grad()
def pair(hidden, H, K, HV, V, negative):
    """fla's layer, and ours with its weights."""
    from fla.layers import GatedDeltaNet as Theirs

    torch.manual_seed(0)
    options = {"allow_neg_eigval": negative, "conv_bias": True}
    net = Theirs(hidden, V / K, K, H, HV, **options).cuda().eval()
    net.A_log.copy_(torch.linspace(-2, 0, HV))
    net = net.bfloat16()
    made = {"num_v_heads": HV, "head_v_dim": V, "device": "cuda", "dtype": torch.bfloat16}
    ours = GatedDeltaNet(hidden, H, K, **made, **options)
    ours.load_state_dict(layer_weights.from_fla(net.state_dict()))
    return net, ours


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the record to this file")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and PyTorch sees none")
    rows = []
    for name, (hidden, H, K, HV, V, T) in SIZES.items():
        for negative in (False, True):
            net, ours = pair(hidden, H, K, HV, V, negative)
            x = torch.randn(2, T, hidden, device="cuda", dtype=torch.bfloat16)
            row = {"layer": name, "negative": negative, **measure(net, ours, x)}
            rows.append(row)
            figures = "  ".join(f"{n} {row[n]:.1e}" for n in ("apart", "exact", "ours", "fla"))
            print(f"{name:26} beta to {1 + negative}: {figures}")
    what = "bfloat16 outputs of two layers with the same weights, relative distances"
    write_record(arguments.json, what, {"rows": rows}, ("fla",))


if __name__ == "__main__":
    main()
