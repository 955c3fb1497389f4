"""Our layer beside flash-linear-attention's, with the same weights: how far apart, and why.

    python kernels/bench/compare_layer.py --json book/_data/bench/layer_h100.json

Needs a CUDA GPU, flash-linear-attention and transformers. All in bfloat16; relative Frobenius
distances of the layers' outputs:

apart    ours from fla's
rest     from fla's, ours with fla's rule: what projections, convolution and norm add
exact    from fla's, ours with the rule in float64, which is rounded to bfloat16 once, at its end:
         fla's own rounding. Much nearer to fla's comes only a kernel that rounds where fla's does
ours, fla  each from our layer in float64
"""

import argparse
import copy
from pathlib import Path
from unittest.mock import patch

import torch
from compare import relative, write_record

from gdn_ref import GatedDeltaNet, chunk_gated_delta_rule, layer_weights, layers

DISTANCES = ("apart", "rest", "exact", "ours", "fla")
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


def fla_rule(q, k, v, *, backend, **options):
    """The rule as flash-linear-attention computes it."""
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule as theirs

    return theirs(q, k, v, **options)


@torch.no_grad()
def measure(net, ours, x):
    """The five distances."""
    theirs = net(x)[0]

    def apart(rule):
        with patch.object(layers, "chunk_gated_delta_rule", rule):
            return relative(ours(x), theirs.double())

    found, exact = ours(x), copy.deepcopy(ours).double()(x.double())
    return {
        "apart": relative(found, theirs.double()),
        "rest": apart(fla_rule),
        "exact": apart(exact_rule),
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
            figures = "  ".join(f"{n} {row[n]:.1e}" for n in DISTANCES)
            print(f"{name:26} beta to {1 + negative}: {figures}")
    what = "bfloat16 outputs of two layers with the same weights, relative distances"
    write_record(arguments.json, what, {"rows": rows}, ("fla",))


if __name__ == "__main__":
    main()
