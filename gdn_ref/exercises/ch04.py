"""Checkers for chapter 4: the gate's bias, packed sequences, a cut, a faulty chunk form."""

import math
import warnings

import numpy as np

from .. import scalar_decay
from ..chunking import decay, scan_chunks
from ..proofs.data import hard_inputs, relative_error
from . import Wrong, exercise
from .traced import additions, operations


@exercise("04-bias-for-half-life")
def _bias_for_half_life(bias):
    for half_life, A in ((100.0, 16.0), (8.0, 1.0), (4096.0, 0.5), (0.05, 16.0)):
        found = float(bias(half_life, math.log(A)))
        got = math.log(2) / (A * np.logaddexp(0.0, found))
        if abs(got / half_life - 1) < 1e-6:
            continue
        if abs(math.log(2) / (A * math.exp(found)) / half_life - 1) < 1e-6:
            raise Wrong(
                f"half-life {half_life:g}, A = {A:g}: exp stands where softplus should; the two "
                "agree for a long memory only"
            )
        raise Wrong(
            f"with A = {A:g} that bias gives a half-life of {got:.4g} tokens, not {half_life:g}"
        )


@exercise("04-packed", keeps={0: "the caller's array of log-decays"})
def _packed(log_decays):
    q, k, v, g, *_ = hard_inputs(T=30)
    for lengths in ((30,), (12, 18), (1, 4, 20, 5), (7, 7, 7, 9)):
        start = np.cumsum((0, *lengths))
        cut = np.asarray(log_decays(g, start), dtype=float)
        if cut.shape != g.shape:
            raise Wrong(f"one log-decay a token: expected shape {g.shape}, got {cut.shape}")
        if (cut > 0).any():
            raise Wrong("log-decays are at most 0")
        for a, b in zip(start[:-1], start[1:], strict=True):
            loud = np.where((np.arange(30) < a)[:, None], 1e20 * v, v)  # what lies before this text
            O, S = scalar_decay.chunkwise(q[:b], k[:b], loud[:b], cut[:b], chunk_size=8)
            right, last = scalar_decay.recurrent(*(x[a:b] for x in (q, k, v, g)))
            if not max(relative_error(O[a:b], right), relative_error(S, last)) <= 1e-9:
                raise Wrong(f"lengths {lengths}: the text that starts at token {a} is off")


@exercise("04-rank-one")
def _rank_one(vectors):
    rng = np.random.default_rng(4)
    reset = np.log(rng.uniform(0.5, 1.0, size=12))
    reset[4] = -np.inf
    cases = {
        "mild decays": np.log(rng.uniform(0.5, 1.0, size=12)),
        "64 decays of g = -2 in float32": np.full(64, -2.0, dtype=np.float32),
        "a reset": reset,
    }
    for name, g in cases.items():
        for m in (1, 5, len(g) - 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                left, right = (np.asarray(x).ravel() for x in vectors(g, m))
                product = np.outer(left, right)
            if left.shape != (len(g) - m,) or right.shape != (m,):
                raise Wrong(
                    f"{len(g)} tokens cut after {m}: expected {len(g) - m} and {m} numbers, got "
                    f"shapes {left.shape} and {right.shape}"
                )
            block = decay(g.astype(np.float64))[1][m:, :m]
            if not np.isfinite(product).all():
                raise Wrong(f"{name}: not finite; was something divided or subtracted?")
            if np.abs(product - block).max() > 1e-5:
                raise Wrong(
                    f"{name}, cut after token {m}: the block is off; which decays lie on each "
                    "side of the cut?"
                )
    added = additions(operations(vectors, np.full(64, -0.1), 32))
    if added > 64:
        raise Wrong(f"right, but with {added} additions for C = 64; what do the sums share?")


def _which_mistakes(chunk):
    """Run a chunk form on data that isolates one part after the other."""
    q, k, v, g, _, S = hard_inputs(T=24)
    runs = {
        "one chunk from an empty state": (0 * S, 24),
        "one chunk from a state": (S, 24),
        "three chunks from a state": (S, 8),
    }
    for name, (state, size) in runs.items():
        O, last = scan_chunks(chunk, state, (q, k, v), (g,), size)
        right, right_S = scalar_decay.recurrent(q, k, v, g, state)
        for what, found, wanted in (("outputs", O, right), ("last state", last, right_S)):
            error = relative_error(found, wanted)
            if not error < 1e-9:
                yield f"{name}: relative error of the {what} {error:.0%}"


@exercise("04-faulty-chunk")
def _faulty_chunk(chunk):
    for complaint in _which_mistakes(chunk):
        raise Wrong(f"{complaint}; follow one write from its token to the end of the chunk")
