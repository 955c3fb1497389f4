"""Exercises of chapter 16: strengths by row sums, a border, a segment, a kernel that runs twice."""

import math

import numpy as np

from .. import backward, wy
from ..chunking import decay
from ..proofs.ch16_cost import most_kept
from ..proofs.ch16_kernels import FOUR, BackwardMemory, gradients_of_heads, inputs_of
from ..proofs.data import hard_inputs, relative_error
from . import TOLERANCE, Wrong, exercise


def chunk_at_hand(T=16, seed=0):
    """What kernel 3 has at hand of one chunk, by name, and the gradients, by name."""
    q, k, v, g, beta, S = hard_inputs(T=T, seed=seed)
    _, _, dO, _, _, dS = hard_inputs(T=T, seed=seed + 1)
    gamma, Gamma = decay(g)
    A, column = wy.interaction(k, beta, Gamma), beta[:, None]
    R = v - gamma[:, None] * (k @ S.T)
    E = wy.solve(A, column * R)
    dE = (Gamma * (q @ k.T)).T @ dO + Gamma[-1][:, None] * (k @ dS.T)
    Z = wy.solve_transposed(A, dE)
    names = ("dS", "dq", "dk", "dv", "dg", "dbeta")
    right = dict(zip(names, backward.chunk(S, q, k, v, g, beta, dO, dS), strict=True))
    N = -np.tril(column * Gamma * (Z @ E.T), -1)
    J = Gamma * (dO @ E.T) * (q @ k.T) + N * (k @ k.T)
    a = gamma * ((q * (dO @ S)).sum(-1) - beta * (k * (Z @ S)).sum(-1))
    b = Gamma[-1] * (k * (E @ dS)).sum(-1)
    parts = {"Z": Z, "R": R, "Z_E": Z @ E.T, "overlap": k @ k.T, "Gamma": Gamma}
    return parts | {"J": J, "a": a, "b": b, "old": gamma[-1] * (S * dS).sum()}, right


@exercise("16-strength")
def _strength(dbeta):
    for seed in (0, 3):
        x, right = chunk_at_hand(seed=seed)
        found = np.asarray(dbeta(*(x[name] for name in ("Z", "R", "Z_E", "overlap", "Gamma"))))
        if found.shape != right["dbeta"].shape:
            raise Wrong(f"one number a token: expected {right['dbeta'].shape}, got {found.shape}")
        if relative_error(found, (x["Z"] * x["R"]).sum(-1)) < TOLERANCE:
            raise Wrong("what earlier tokens of the chunk had written is missing")
        if not relative_error(found, right["dbeta"]) <= TOLERANCE:  # nor if it is NaN
            raise Wrong("not the gradient; which pairs of tokens count, and which index is summed?")


@exercise("16-border")
def _border(kernel):
    import torch

    x, right = chunk_at_hand()
    out = torch.full((16,), math.nan)
    tensors = (torch.from_numpy(x[name]).float() for name in ("J", "a", "b"))
    kernel[(1,)](*tensors, out, float(x["old"]), 16)
    if bool(out.isnan().any()):
        raise Wrong("not every token gets a number")
    first, old = float(out[0] - right["dg"][0]), x["old"]
    if abs(first + old) < 1e-4:
        raise Wrong("what passes from the old state to the next is missing")
    if abs(first) > 1e-4:
        raise Wrong("the first token is off: no token lies before it, and every read of the old "
                    "state is at it or after it")  # fmt: skip
    if not relative_error(out, right["dg"]) <= 1e-4:
        raise Wrong("dg is off: from which tokens, and to which, does a decay carry anything?")


@exercise("16-segment")
def _segment(segment):
    for chunks, heads, processors in ((64, 16, 132), (512, 4, 132), (64, 256, 132), (128, 1, 132),
                                      (110, 256, 132), (110, 4, 16)):  # fmt: skip
        m = segment(chunks, heads, processors)
        options = [n for n in range(1, chunks + 1) if chunks % n == 0 and n * heads >= processors]
        options = options or [chunks]
        what = f"{chunks} chunks, {heads} heads"
        if m not in range(1, chunks + 1) or chunks % m:
            raise Wrong(f"{what}: {m} does not divide the chunks")
        if m not in options:
            raise Wrong(f"{what}: segments of {m} leave multiprocessors without a program")
        if most_kept(chunks, m) > min(most_kept(chunks, n) for n in options):
            raise Wrong(
                f"{what}: with segments of {m}, {most_kept(chunks, m)} are kept; try others"
            )


@exercise("16-twice")
def _twice(answer):
    factor, gradients = answer
    memory = BackwardMemory(2, **inputs_of(16, 1, 1, 6, 4))
    for kernel in FOUR[:3]:
        memory.run(kernel, C=16)
    names = gradients_of_heads.__code__.co_varnames[: gradients_of_heads.__code__.co_argcount]
    given = {name: memory.arrays[name] for name in names}
    beta = given["beta"][..., None]
    place = given["dV"] / beta  # as for a small beta: Z, of which each run makes dV
    right = gradients_of_heads(**given, C=16) | {"dV": given["dV"]}
    for _ in range(5):  # four trials and the run
        place = beta * place
        found = gradients_of_heads(**given | {"dV": place}, C=16) | {"dV": place}
    off = {
        name.removesuffix("_heads").lower()
        for name in found
        if relative_error(found[name], right[name]) > 1e-6
    }
    if set(gradients) != off:
        raise Wrong("not these gradients; which of them does kernel 3 compute without Z?")
    if not abs(factor * 32**4 - 1) <= TOLERANCE:
        raise Wrong("every run multiplies by beta what the run before has left; count the runs")
