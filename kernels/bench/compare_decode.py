"""Decoding beside flash-linear-attention: time, bandwidth, error, on one GPU in one run.

    python kernels/bench/compare_decode.py --json book/_data/bench/decode_h200.json

Needs a CUDA GPU. `gdn_ref.decode` updates a pool of states in place; fla's recurrent kernel, where
it is installed, reads one tensor of states and writes another. Both get the same bfloat16 queries,
keys and values of one to four tokens a sequence, and do the norm, the gate and the sigmoid inside.

device    CUDA-graph replays (`compare.device_us`), a call. Small batches would find their states in
          the GPU's cache, where a model's other layers leave none of them: so a graph goes round as
          many states as fill `ROUND_BYTES`, each call with its own, slots in a random order
eager     calls from Python, one after the other, on the same states: what a user waits for
floor     the time in which states, inputs and outputs could be read or written once, at the
          bandwidth of a large copy in the same run; `fraction` is floor over device
error     outputs and state against the float64 reference, relative Frobenius
"""

import argparse
import math
import warnings
from importlib.util import find_spec
from pathlib import Path

import torch
from compare import copy_bandwidth, device_us, eager_us, relative, write_record
from shapes import Shape, inputs
from tqdm import tqdm

import gdn_ref

BATCHES, TOKENS = (1, 8, 64, 256), (1, 2, 4)
H, HV, D = 16, 32, 128
POOLS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
ROUND_BYTES = 2**28  # five times the cache of an H100
INSIDE = dict.fromkeys(
    ("use_qk_l2norm_in_kernel", "use_gate_in_kernel", "use_beta_sigmoid_in_kernel"), True
)


def case(N, T, dtype):
    """Tokens and gate of a call, states of a whole round, and the slots of each call of it."""
    q, k, v, g, beta, S, _ = inputs(Shape(T, H, HV, D, D, N), "hard")
    q, k, v = (x.bfloat16() for x in (q, k, v))
    tokens = {"q": q, "k": k, "v": v, "g": g, "beta": 4 * (beta - 1)}  # raw g and beta
    tokens["A_log"] = torch.linspace(-3.5, -2.0, HV, device="cuda")  # decays about .95
    tokens["dt_bias"] = torch.linspace(-0.5, 0.5, HV, device="cuda")
    S = S.to(dtype)
    calls = math.ceil(ROUND_BYTES / S.nbytes)
    slots = torch.randperm(N * calls, generator=torch.Generator().manual_seed(0)).cuda()
    return tokens, S, list(slots.view(calls, N).unbind())


def ours(tokens, S, slots):
    """Call number i of a round, as a function of i, and the state that call 0 left."""
    pool = S.repeat(len(slots), 1, 1, 1)
    for used in slots:
        pool[used] = S

    def call(i):
        return gdn_ref.decode(**tokens, pool=pool, slot_idx=slots[i], **INSIDE)

    return call, lambda result: (result, pool[slots[0]])


def fla(tokens, S, slots):
    from fla.ops.gated_delta_rule import fused_recurrent_gated_delta_rule

    states = [S.clone() for _ in slots]

    def call(i):
        return fused_recurrent_gated_delta_rule(
            **tokens, initial_state=states[i], output_final_state=True, **INSIDE
        )

    return call, lambda result: result


CONTENDERS = {"gdn_ref": ours, "fla": fla}


def run(contender, tokens, S, slots, exact):
    """All figures of one contender on one case."""
    call, results = contender(tokens, S, slots)
    errors = [relative(x, right) for x, right in zip(results(call(0)), exact, strict=True)]
    kept = []

    def one_round():
        kept.clear()
        kept.extend(call(i) for i in range(len(slots)))  # so that no two calls write to one place

    figures = dict(zip(("error_o", "error_state"), errors, strict=True))
    figures["device_us"] = device_us(one_round) / len(slots)
    kept.clear()
    figures["eager_us"] = eager_us(lambda: call(0))
    return figures


def exact_results(tokens, S):
    """Outputs and states in float64, by the reference."""
    tokens = {name: x.double() for name, x in tokens.items()}
    pool = S.double()
    return gdn_ref.decode(**tokens, pool=pool, slot_idx=None, **INSIDE), pool


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    args = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and PyTorch sees none")
    warnings.simplefilter("ignore")
    calls = {name: CONTENDERS[name] for name in args.contenders.split(",")}
    if find_spec("fla") is None:
        print("fla: not installed")
        calls.pop("fla", None)

    bandwidth = copy_bandwidth()
    rows = []
    for pool, N, T in tqdm([(pool, N, T) for pool in POOLS for N in BATCHES for T in TOKENS]):
        tokens, S, slots = case(N, T, POOLS[pool])
        exact = exact_results(tokens, S)
        parts = [tokens[name] for name in ("q", "k", "v", "v", "g", "beta")]
        moved = sum(x.nbytes for x in (*parts, S, S))
        row = {"pool": pool, "sequences": N, "tokens": T, "calls_a_round": len(slots)}
        row |= {"bytes": moved, "floor_us": moved / bandwidth * 1e6}
        row["runs"] = {name: run(x, tokens, S, slots, exact) for name, x in calls.items()}
        for found in row["runs"].values():
            found["fraction"] = row["floor_us"] / found["device_us"]
        rows.append(row)
        del tokens, S, slots, exact
        torch.cuda.empty_cache()

    what = f"decoding, bfloat16, heads {H}/{HV}, D={D}, norm, gate and sigmoid inside"
    write_record(args.json, what, {"copy_bytes_per_s": bandwidth, "rows": rows}, calls)
    show(rows, calls)


def show(rows, calls):
    """One line a case: microseconds on the device and from Python, fraction, errors."""
    heading = "".join(f"{name + ': device fraction eager errors':>48}" for name in calls)
    print(f"{'pool':9}{'N':>4}{'T':>3}{'floor':>9}{heading}")
    for row in rows:
        line = f"{row['pool']:9}{row['sequences']:4}{row['tokens']:3}{row['floor_us']:9.1f}"
        for x in row["runs"].values():
            line += f"{x['device_us']:18.1f}{x['fraction']:6.0%}{x['eager_us']:8.1f}"
            line += f"{x['error_o']:8.1e}{x['error_state']:8.1e}"
        print(line)


if __name__ == "__main__":
    main()
