"""Chapter 16: bytes, FLOPs and memory of the backward pass for a shape, and its recorded times.

The formulas are those that `gdn_ref.proofs.ch16_cost` checks.
"""

import math

import numpy as np

from .. import wy
from ..chunking import decay
from ..proofs import ch16_cost
from ..proofs.ch14_designs import C, H_k, H_v, T, b, d_k, d_v
from ..proofs.ch16_sums import crossings_by_sums
from ..proofs.data import hard_inputs, relative_error
from .ch12_measure import chunk_with_decay, dg_by_crossing, parts_of_dg
from .ch14_model import BANDWIDTH, PEAK, SLICE, record, shape

TRAINING = "B4 T4096 H16/32 D128"
NAMES = ("inverses", "chunk_states", "state_gradients", "chunk_gradients")


def _values(x, chunk):
    return {T: x.lengths[0], C: chunk, b: 2, d_k: x.d_k, d_v: x.d_v, H_k: x.H_k, H_v: x.H_v}


def kernel_bytes(x, chunk=64):
    """Bytes of each kernel (eq-backward-bytes), for sequences of one length."""
    return {
        name: len(x.lengths) * int(claim.subs(_values(x, chunk)))
        for name, claim in ch16_cost.KERNELS.items()
    }


def floor_bytes(x):
    """Inputs once, gradients once (eq-backward-floor)."""
    return len(x.lengths) * int(ch16_cost.FLOOR.subs(_values(x, 64)))


def kernel_flops(x, chunk=64):
    """FLOPs of the products of kernels 1 to 3 (eq-backward-flops)."""
    at = _values(x, chunk) | {ch16_cost.s: math.ceil(x.d_v / SLICE)}
    return {name: x.tokens * x.H_v * int(claim.subs(at)) for name, claim in ch16_cost.FLOPS.items()}


def memory(x, chunk=64):
    """Bytes of what the backward pass makes for itself, by name; the gradients left out."""
    numbers = x.tokens * x.H_v
    states = 2 * numbers * x.d_k * x.d_v // chunk
    return {"inverses": 2 * numbers * chunk, "decays": 4 * numbers, "states": states,
            "gradients of states": states}  # fmt: skip


def at_peak(x, sequences, chunk=64):
    """Bytes alive at the peak of both passes, by name; inputs and given gradients left out.

    `sequences`: how many the backward pass takes at a time; all have one length.
    """
    N, state = len(x.lengths), 4 * len(x.lengths) * x.H_v * x.d_k * x.d_v
    vectors = {"queries and keys": 4 * x.tokens * x.H_k * x.d_k,
               "values": 2 * x.tokens * x.H_v * x.d_v}  # fmt: skip
    alive = {"outputs": vectors["values"], "last states": state}
    alive |= {f"gradients of {name}": size for name, size in vectors.items()}
    alive |= {"gradients of decays and strengths": 8 * x.tokens * x.H_v}
    alive |= {"gradients of first states": state}
    parts = memory(x, chunk)
    kept = {"inverses": parts.pop("inverses") + 2 * chunk**2, "decays": parts.pop("decays")}
    return alive | kept | {name: size * sequences // N for name, size in parts.items()}


def plan(x, keep=False, segment=None, chunk=64):
    """Bytes kept between the passes, at work in the backward pass, and moved, of one plan.

    `keep`: decays, inverses and states stay from the forward pass on. `segment`: chunks that
    kernels 2 and 3 do at a time, from a state kept once in so many (eq-backward-segments).
    """
    chunks = math.ceil(x.lengths[0] / chunk)
    m = min(segment or chunks, chunks)
    parts, moved, state = memory(x, chunk), kernel_bytes(x, chunk), memory(x, chunk)["states"]
    share = 1 if keep else min(1.0, 1 / m + (m - 1) / chunks)
    work = {"inverses": parts["inverses"] + parts["decays"], "states": int(share * state),
            "gradients": int(state * m / chunks)}  # fmt: skip
    total = sum(moved.values())
    kept = 0
    if keep:
        kept = work["inverses"] + work["states"]
        work["inverses"] = work["states"] = 0
        total += state - moved["inverses"] - moved["chunk_states"]
    elif m < chunks:
        total += moved["chunk_states"] - state + 2 * state // m
    programs = len(x.lengths) * m * x.H_k
    return {"kept": kept, "work": work, "moved": total, "programs": programs}


def kept_inputs(x):
    """Bytes of q, k, v, g and beta, which every plan keeps."""
    return 2 * x.tokens * (2 * x.H_k * x.d_k + x.H_v * x.d_v) + 8 * x.tokens * x.H_v


def backward_record():
    """The record of the backward kernels on an H100."""
    return record("backward_h100")


def times(shape_name=TRAINING):
    """Kernel -> recorded microseconds."""
    rows = backward_record()["kernels"]
    return {row["kernel"]: row["us"] for row in rows if row["shape"] == shape_name}


def history(kernel, shape_name=TRAINING):
    """(step, microseconds) of one kernel, in order."""
    rows = backward_record()["steps"]
    return [
        (row["step"], row["us"])
        for row in rows
        if (row["kernel"], row["shape"]) == (kernel, shape_name)
    ]


def training_record():
    """The record of both passes beside other packages, all in one run on an H100."""
    return record("training_h100")


def side_by_side():
    """The rows of that record, one a shape."""
    return training_record()["rows"]


def times_ours(peer, what="device_us"):
    """How many times ours a peer takes: the geometric mean over the shapes that it ran, the least.

    `what`: also `eager_us`, or `memory_bytes`.
    """
    found = training_record()["summary"][f"{peer} {what}"]
    return found["geometric_mean"], found["least"]


def errors_beside(peer):
    """(shape, gradient) -> the peer's error over ours, of the shapes that it ran."""
    return {
        (row["shape"], name): error / row["errors"]["gdn_ref"][name]
        for row in side_by_side()
        if peer in row["runs"]
        for name, error in row["errors"][peer].items()
    }


def limits(shape_name=TRAINING):
    """Kernel -> microseconds by its bytes and by its FLOPs, and the recorded ones."""
    x, found = shape(shape_name), {}
    for row in backward_record()["kernels"]:
        name, chunk = row["kernel"], row.get("chunk", 64)
        if row["shape"] == shape_name and name in NAMES:
            moved, flops = kernel_bytes(x, chunk)[name], kernel_flops(x, chunk).get(name, 0)
            found[name] = 1e6 * moved / BANDWIDTH, 1e6 * flops / PEAK, row["us"]
    return found


def rounded(x, bits, least):
    """`x` with so many significant bits, and multiples of `least` only."""
    _, exponent = np.frexp(x)
    unit = np.maximum(np.ldexp(1.0, exponent - bits), least)
    return np.round(x / unit) * unit


TYPES = {"float16": (11, 2.0**-24), "bfloat16": (8, 2.0**-133)}


def error_of_dv(scale, dtype, seed=0):
    """Relative error of dV with dE and T_inv rounded to `dtype`, dO `scale` times normal."""
    q, k, _, g, beta, _ = hard_inputs(T=64, d_k=64, d_v=64, seed=seed)
    beta = beta / 2
    dO = scale * hard_inputs(T=64, d_k=64, d_v=64, seed=seed + 1)[2]
    Gamma = decay(g)[1]
    A = wy.interaction(k, beta, Gamma)
    dE = (Gamma * (q @ k.T)).T @ dO
    right = beta[:, None] * wy.solve_transposed(A, dE)
    T_inv = wy.solve(A, np.eye(64))
    found = rounded(T_inv, *TYPES[dtype]).T @ rounded(dE, *TYPES[dtype])
    return relative_error(beta[:, None] * found, right)


def errors_of_dg(strong, weak=0.95, seeds=range(5)):
    """Relative error in float32 of dg at a token that decays by `strong`, the others by `weak`.

    Of two ways: rectangle by rectangle, and by what leaves each token and arrives there. The
    largest of some chunks.
    """
    errors = {"rectangles": 0.0, "sums": 0.0}
    for seed in seeds:
        given = list(chunk_with_decay(weak, seed=seed))
        given[4][32] = np.log(strong)
        right = dg_by_crossing(*given)[32]
        single = [x.astype(np.float32) for x in given]
        found = {
            "rectangles": dg_by_crossing(*single),
            "sums": crossings_by_sums(*parts_of_dg(*single)),
        }
        for name, dg in found.items():
            errors[name] = max(errors[name], abs(float(dg[32]) / right - 1))
    return errors
