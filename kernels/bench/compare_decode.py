"""Decoding beside its peers: time, bandwidth, error, on one GPU in one run.

    python kernels/bench/compare_decode.py --json book/_data/bench/decode_h200.json

Needs a CUDA GPU. `gdn_ref.decode` updates a pool of states in place, [K, V] or [V, K], and so does
FlashInfer's, [V, K]; fla's recurrent kernel reads one tensor of states and writes another. Those
that are installed get the same bfloat16 queries, keys and values of one to four tokens a sequence,
and do the norm, the gate and the sigmoid inside.

device    CUDA-graph replays (`compare.device_us`), a call. Small batches would find their states in
          the GPU's cache, where a model's other layers leave none of them: so a graph goes round as
          many states as fill `ROUND_BYTES`, each call with its own, slots in a random order
held      the same after a second of the same calls, when a GPU may be at its limit of power
eager     calls from Python, one after the other, on the same states: what a user waits for
floor     the time in which states, inputs and outputs could be read or written once, at the
          bandwidth of a large copy in the same run; `fraction` is floor over device
error     outputs and state against the float64 reference, relative Frobenius
"""

import argparse
import math
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import torch
from compare import HELD_S, copy_bandwidth, device_us, eager_us, relative, write_record
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
    g, beta = (x.bfloat16().float() for x in (g, 4 * (beta - 1)))  # raw, as a model's layers give
    tokens = {"q": q, "k": k, "v": v, "g": g, "beta": beta}
    tokens["A_log"] = torch.linspace(-3.5, -2.0, HV, device="cuda")  # decays about .95
    tokens["dt_bias"] = torch.linspace(-0.5, 0.5, HV, device="cuda")
    S = S.to(dtype)
    calls = math.ceil(ROUND_BYTES / S.nbytes)
    slots = torch.randperm(N * calls, generator=torch.Generator().manual_seed(0)).cuda()
    return tokens, S, list(slots.view(calls, N).unbind())


def pool_of(S, slots, v_first):
    """A pool with the states in each call's slots; [K, V] or [V, K] in memory."""
    pool = (S.mT if v_first else S).repeat(len(slots), 1, 1, 1)
    for used in slots:
        pool[used] = S.mT if v_first else S
    return pool


def ours(tokens, S, slots, v_first=False):
    """Call number i of a round, as a function of i, and the state that call 0 left."""
    pool = pool_of(S, slots, v_first)
    options = INSIDE | {"state_v_first": v_first}

    def call(i):
        return gdn_ref.decode(**tokens, pool=pool, slot_idx=slots[i], **options)

    return call, lambda result: (result, pool[slots[0]].mT if v_first else pool[slots[0]])


def ours_v_first(tokens, S, slots):
    return ours(tokens, S, slots, v_first=True)


def fla(tokens, S, slots):
    from fla.ops.gated_delta_rule import fused_recurrent_gated_delta_rule

    states = [S.clone() for _ in slots]

    def call(i):
        return fused_recurrent_gated_delta_rule(
            **tokens, initial_state=states[i], output_final_state=True, **INSIDE
        )

    return call, lambda result: result


def flashinfer(tokens, S, slots):
    """It wants raw gates in 16 bits, and slots in 32 that begin at 16 bytes."""
    from flashinfer.gdn_decode import gated_delta_rule_decode_pretranspose

    q, k, v, A_log, dt_bias = (tokens[name] for name in ("q", "k", "v", "A_log", "dt_bias"))
    a, b = tokens["g"].bfloat16(), tokens["beta"].bfloat16()
    pool, outputs = pool_of(S, slots, v_first=True), [torch.empty_like(v) for _ in slots]
    places = [x.int() for x in slots]

    def call(i):
        return gated_delta_rule_decode_pretranspose(
            q, k, v, None, A_log, a, dt_bias, b, output=outputs[i],
            initial_state=pool, initial_state_indices=places[i],
        )[0]  # fmt: skip

    return call, lambda result: (result, pool[slots[0]].mT)


CONTENDERS = {
    "gdn_ref": ours,
    "gdn_ref-v-first": ours_v_first,
    "fla": fla,
    "flashinfer": flashinfer,
}


def run(contender, tokens, S, slots, exact):
    """All figures of one contender on one case; a contender that refuses says why."""
    try:
        call, results = contender(tokens, S, slots)
        errors = [relative(x, right) for x, right in zip(results(call(0)), exact, strict=True)]
    except Exception as error:
        return {"refuses": f"{type(error).__name__}: {error}".splitlines()[0][:120]}
    kept = []

    def one_round():
        kept.clear()
        kept.extend(call(i) for i in range(len(slots)))  # so that no two calls write to one place

    figures = dict(zip(("error_o", "error_state"), errors, strict=True))
    figures["device_us"] = device_us(one_round) / len(slots)
    figures["held_us"] = device_us(one_round, warm_s=HELD_S, rounds=1) / len(slots)
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
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no case after this")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and PyTorch sees none")
    warnings.simplefilter("ignore")
    calls = {name: CONTENDERS[name] for name in args.contenders.split(",")}
    for name in {"fla", "flashinfer"} & set(calls):
        if find_spec(name) is None:
            print(f"{name}: not installed")
            calls.pop(name)

    bandwidth = copy_bandwidth()
    begin, rows = time.perf_counter(), []
    for pool, N, T in tqdm([(pool, N, T) for pool in POOLS for N in BATCHES for T in TOKENS]):
        if time.perf_counter() - begin > args.seconds:
            break
        tokens, S, slots = case(N, T, POOLS[pool])
        exact = exact_results(tokens, S)
        parts = [tokens[name] for name in ("q", "k", "v", "v", "g", "beta")]
        moved = sum(x.nbytes for x in (*parts, S, S))
        row = {"pool": pool, "sequences": N, "tokens": T, "calls_a_round": len(slots)}
        row |= {"bytes": moved, "floor_us": moved / bandwidth * 1e6}
        row["runs"] = {name: run(x, tokens, S, slots, exact) for name, x in calls.items()}
        for found in row["runs"].values():
            if "device_us" in found:
                found["fraction"] = row["floor_us"] / found["device_us"]
        rows.append(row)
        del tokens, S, slots, exact
        torch.cuda.empty_cache()

    what = f"decoding, bfloat16, heads {H}/{HV}, D={D}, norm, gate and sigmoid inside"
    write_record(args.json, what, {"copy_bytes_per_s": bandwidth, "rows": rows}, calls)
    show(rows, calls)


def show(rows, calls):
    """One line a case: microseconds on the device and from Python, fraction, errors."""
    heading = "".join(f"{name + ': device held fraction eager errors':>56}" for name in calls)
    print(f"{'pool':9}{'N':>4}{'T':>3}{'floor':>9}{heading}")
    for row in rows:
        line = f"{row['pool']:9}{row['sequences']:4}{row['tokens']:3}{row['floor_us']:9.1f}"
        for x in row["runs"].values():
            if "refuses" in x:
                line += f"{x['refuses'][:55]:>56}"
                continue
            line += f"{x['device_us']:18.1f}{x['held_us']:8.1f}{x['fraction']:6.0%}"
            line += f"{x['eager_us']:8.1f}{x['error_o']:8.1e}{x['error_state']:8.1e}"
        print(line)


if __name__ == "__main__":
    main()
