"""One decoding step of the whole layer, and what its rule takes of it, on one GPU.

    python kernels/bench/layer_step.py --json _build/bench/layer_step.json

Needs a CUDA GPU. The layer has the sizes of Qwen3-Next's, in bfloat16. The rule is called with
norm, gate and sigmoid inside, as the layer does, and with the three done in PyTorch before it.

device    CUDA-graph replays (`compare.device_us`), a call
eager     calls from Python, one after the other: what a user waits for
error     of the step's output against the layer in float64, relative Frobenius
"""

import argparse
import copy
from functools import partial
from pathlib import Path

import torch
from compare import device_us, eager_us, relative, write_record

from gdn_ref import GatedDeltaNet, GatedDeltaNetCache, fused_recurrent_gated_delta_rule
from gdn_ref.ops import log_decay, unit_rows

HIDDEN, H, HV, D, PROMPT = 2048, 16, 32, 128, 64


def rule(net, inside, q, k, v, a, b, S):
    """One token by the rule, with all of it inside one kernel or with PyTorch's before it."""
    if inside:
        g, beta = a, b
        options = dict.fromkeys(("use_gate_in_kernel", "use_beta_sigmoid_in_kernel"), True)
        options |= {"use_qk_l2norm_in_kernel": True, "A_log": net.A_log, "dt_bias": net.dt_bias}
    else:
        q, k = unit_rows(q.float()).to(q.dtype), unit_rows(k.float()).to(k.dtype)
        g, beta, options = log_decay(a.float(), net.A_log, net.dt_bias), b.float().sigmoid(), {}
    return fused_recurrent_gated_delta_rule(
        q, k, v, g=g, beta=beta, initial_state=S, output_final_state=True, **options
    )


@torch.no_grad()
def measure(N, device="cuda", dtype=torch.bfloat16):
    """The figures of a batch of `N` sequences."""
    torch.manual_seed(0)
    net = GatedDeltaNet(HIDDEN, H, D, num_v_heads=HV, head_v_dim=D, device=device, dtype=dtype)
    net.A_log.fill_(-2)
    x = torch.randn(N, PROMPT + 1, HIDDEN, device=device, dtype=dtype)
    prompt, token = x.split([PROMPT, 1], dim=1)
    cache = GatedDeltaNetCache()
    net(prompt, cache)
    exact = copy.deepcopy(net).double()(x.double())[:, -1:]
    vectors = (torch.randn(N, 1, heads, D, device=device, dtype=dtype) for heads in (H, H, HV))
    numbers = (net.a_proj(token), net.b_proj(token))
    tensors = (*vectors, *numbers, cache.recurrent_state)
    calls = {
        "layer": lambda: net(token, copy.copy(cache)),
        "rule, all inside": partial(rule, net, True, *tensors),
        "rule, PyTorch before": partial(rule, net, False, *tensors),
    }
    error = relative(calls["layer"](), exact)
    times = {
        name: {"device_us": device_us(call), "eager_us": eager_us(call)}
        for name, call in calls.items()
    }
    return {"sequences": N, "error": error, "times": times}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the results to this file")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and PyTorch sees none")
    rows = [measure(N) for N in (1, 8, 64)]
    for row in rows:
        print(f"{row['sequences']:3} sequences, error {row['error']:.1e}")
        for name, x in row["times"].items():
            print(f"    {name:22} device {x['device_us']:8.1f} us  eager {x['eager_us']:8.1f} us")
    write_record(arguments.json, "a decoding step of the layer, bfloat16", {"rows": rows})


if __name__ == "__main__":
    main()
