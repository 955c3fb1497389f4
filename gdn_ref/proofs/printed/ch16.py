"""Chapter 16: the backward kernels; algebra against dual numbers, costs against counted plans."""

from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np

from .. import ch16_kernels as kernels
from ..ch16_cost import most_kept
from .arithmetic import inverse
from .cases import across
from .ch12 import RIGHT
from .check import printed
from .draws import gradient
from .gradients import gradients, loss_of
from .rule import sequence
from .values import Depends, NoValue, columns, entries
from .world import World

DUAL = "dual numbers in the token loop"


@cache
def backward(draw):
    """Chapter 12's letters, and those that chapter 16 adds."""
    x, world = sequence(draw, True), gradients(draw)
    dO, Z = (world.letters[name] for name in (r"d\mathbf{O}", r"\mathbf{Z}"))
    Y = np.tril(x.Gamma * (Z @ x.deltas.T), -1)
    writes = [S - g * x.S for S, g in zip(x.states[1:], x.gamma, strict=True)]  # no old state
    before = np.array([S.T @ d for S, d in zip(writes, dO, strict=True)])
    after = world.letters[r"d\mathbf{Q}"]
    J = np.tril(world.letters[r"\mathbf{J}"], -1)  # the text: strictly lower
    more = {
        r"\mathbf{Y}": Y,
        r"\mathrm{d}\boldsymbol{q}^{\text{before}}_": columns(before),
        r"\mathrm{d}\boldsymbol{q}^{\text{after}}_": columns(after),
        "J_": entries(J),
    }
    return world.with_letters(more)


def with_and_without_outputs(draw):
    """The loss asks nothing of the outputs, or something, or what the first state does not feel, or
    what cancels in the queries, before they fade and after, or what nothing asks of the last state:
    rows that are orthogonal to all of its gradient."""
    x, world = sequence(draw, True), gradients(draw)
    dS_next, asked = world.letters[r"d\mathbf{S}'"], world.letters[r"d\mathbf{O}"]
    cases, (T, d_k) = [0 * asked, asked], x.k.shape
    felt = np.array([F @ q for F, q in zip(x.F[1:], x.q, strict=True)])  # o_t = S F^t q_t + ...
    faded = np.diag(world.letters[r"\mathbf{D}_{\gamma}"])[:, None] * x.q
    for vectors in (felt, x.q, faded) if T > d_k else ():  # one more of them than of their entries
        with suppress(NoValue):  # a decay of 0, or queries of zero
            last = inverse(vectors[:d_k].T) @ vectors[d_k]
            cases.append(np.outer(np.append(last, [-1, *[0] * (T - d_k - 1)]), asked[0]))
    if len(dS_next) > d_k:
        with suppress(NoValue):  # a gradient of a low rank
            cases.append(asked[:, :1] @ across(draw.anew(3), dS_next.T).T)
    found = {
        id(dO): gradient(lambda S, dO=dO: loss_of(x, dO, dS_next, S=S), x.S, draw.exact)
        for dO in cases
    }
    dS = Depends(lambda at: found[id(at.get(r"d\mathbf{O}", asked))])
    return replace(
        world.with_letters({r"\mathrm{d}\mathbf{S}": dS}),
        ranges=world.ranges | {r"\mathrm{d}\mathbf{O}": cases},
    )


printed(
    "eq-inverse-without-beta",
    backward,
    against=DUAL,
    equal=RIGHT | {r"\tilde{\mathbf{T}} for \mathbf{L}\mathbf{B}": "chapter 11 calls it T"},
)
printed("eq-transposed-gradients", backward, against=DUAL)
printed("eq-strength-row-sums eq-crossing-sums", backward, against=DUAL)
AFTER = r"d\boldsymbol{q}^{after}_{s} for \boldsymbol{q}_{s}"
printed(
    "eq-reads-by-products",
    backward,
    against=DUAL,
    anything=r"\boldsymbol{q}",
    equal={f"{AFTER}; {AFTER}": "it holds for any vector in the place of q"},
)
STRAIGHT = r"\mathbf{N}^{\top} not transposed"
printed(
    "eq-symmetric-keys",
    backward,
    against="any matrices",
    anything=r"\mathbf{N} \mathbf{K}",
    equal={f"{STRAIGHT}; {STRAIGHT}": "products distribute over any sum"},
)
printed("eq-reverse-map", with_and_without_outputs, against=DUAL)


@cache
def plan(draw):
    """Sizes, and what the plans of the backward pass move and multiply at them."""
    H_k, group, d_k, C, N = draw.numbers(5, 1, 4)
    b, s, wide = draw.numbers(3, 1, 4)
    (b,) = draw.widths(b)
    T, H_v, d_v = C * N, H_k * group, s * wide
    inputs = kernels.inputs_of(T, H_k, H_v, d_k, d_v)
    floor, four = (
        sum(kernels.run(kernels.PLANS[name], b, C, inputs).moved.values())
        for name in ("floor", "four kernels")
    )
    letters = {
        "T": T, "H_k": H_k, "H_v": H_v, "d_k": d_k, "d_v": d_v, "C": C, "b": b, "s": s,
        r"B_\text{floor}": floor, "value": four - floor,
        "F": products(T, H_k, H_v, d_k, d_v, C, s),
    }  # fmt: skip
    return World(letters)


def products(T, H_k, H_v, d_k, d_v, C, s):
    """FLOPs of kernels 1 to 3, counted. Kernel 1 stops before the last chunk, whose state is the
    forward pass's own: it gets a chunk more, so that each of the T / C is counted."""

    def found(tokens):
        return kernels.run(kernels.FOUR, 2, C, kernels.inputs_of(tokens, H_k, H_v, d_k, d_v)).arrays

    work = 0
    for kernel, tokens, slices in (
        (kernels.chunk_states, T + C, 1),
        (kernels.state_gradients, T, s),
        (kernels.chunk_gradients, T, 1),
    ):  # fmt: skip
        names = kernel.__code__.co_varnames[: kernel.__code__.co_argcount]
        arrays = found(tokens)
        work += kernels.flops(kernel, C, {name: arrays[name] for name in names}, slices)
    return work


printed(
    "eq-backward-floor eq-backward-bytes eq-backward-flops",
    plan,
    against="bytes and products counted while the plans run",
    arithmetic="counted",
)


def segments(draw):
    """States and gradients of states kept on a walk back, counted, for every m that divides N,
    above the best one and below: N is twice a square, whose root is the best m, or six times."""
    root = draw.seed + 1
    numbers = [2 * root**2, 6 * root**2]
    divisors = [m for m in range(1, 2 * root**2 + 1) if 2 * root**2 % m == 0]
    kept = {(N, m): most_kept(N, m) for N in numbers for m in divisors}
    letters = {r"n_\text{kept}": Depends(lambda at: kept[at["N"], at["m"]])}
    return World(letters, {"N": numbers, "m": divisors})


printed("eq-backward-segments", segments, against="states counted on a walk", arithmetic="counted")
