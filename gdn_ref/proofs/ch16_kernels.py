"""Chapter 16: the four kernels of the backward pass, and other plans, counted while they run.

As in `ch14_kernels`, a kernel gets the arrays that its parameters name and no others. Arrays have
their heads first; `H` are the states that the chunks receive, `dH` their gradients.
"""

import numpy as np

from .. import backward, wy
from ..chunking import decay
from .ch14_kernels import SMALL, Memory, chunks, decays, heads, shared
from .data import hard_inputs

FOUR_BYTES = SMALL | {"dg", "dbeta", "dS", "dS_last", "dq_heads", "dk_heads"}


class BackwardMemory(Memory):
    """A memory in which states and numbers of a token have 4 bytes."""

    def bytes(self, name, array):
        return array.size * (4 if name in FOUR_BYTES else self.b)


def inverses(k, g, beta, *, C):
    """Kernel 0: cumulative decays, and each chunk's inverse without the write strengths."""
    A = wy.interaction(chunks(shared(k, len(g) // len(k)), C), chunks(beta, C),
                       decay(chunks(g, C))[1])  # fmt: skip
    T_inv = wy.solve(A, np.broadcast_to(np.eye(C), A.shape))
    return {"c": chunks(g, C).cumsum(-1).reshape(g.shape), "T_inv": T_inv.reshape(*g.shape, C)}


def chunk_states(k, v, beta, c, T_inv, S, *, C):
    """Kernel 1: the state that each chunk receives."""
    k, v, beta, c, T_inv = _cut(C, shared(k, len(v) // len(k)), v, beta[..., None], c, T_inv)
    received = []
    for n in range(c.shape[1]):
        received.append(S)
        if n + 1 < c.shape[1]:
            gamma, _, to_end = decays(c[:, n])
            E = T_inv[:, n] @ (beta[:, n] * (v[:, n] - gamma * (k[:, n] @ S.mT)))
            S = gamma[:, -1:] * S + (to_end * E).mT @ k[:, n]
    return {"H": np.stack(received, axis=1)}


def state_gradients(q, k, dO, beta, c, T_inv, dS_last, *, C):
    """Kernel 2: from the last chunk to the first, dV and what later chunks ask of the state."""
    group = len(dO) // len(k)
    q, k, dO, beta, c, T_inv = _cut(
        C, shared(q, group), shared(k, group), dO, beta[..., None], c, T_inv
    )
    asked, Z, dS = [], [], dS_last
    for n in reversed(range(c.shape[1])):
        asked.append(dS)
        gamma, Gamma, to_end = decays(c[:, n])
        scores = Gamma * (q[:, n] @ k[:, n].mT)
        dE = scores.mT @ dO[:, n] + to_end * (k[:, n] @ dS.mT)
        Z.append(T_inv[:, n].mT @ dE)
        dS = gamma[:, -1:] * dS + (gamma * dO[:, n]).mT @ q[:, n]
        dS = dS - (beta[:, n] * gamma * Z[-1]).mT @ k[:, n]
    dV = beta.reshape(len(beta), -1, 1) * np.concatenate(Z[::-1], axis=1)
    return {"dV": dV, "dH": np.stack(asked[::-1], axis=1), "dS": dS}


def chunk_gradients(q, k, v, beta, c, T_inv, dO, dV, H, dH, *, C):
    """Kernel 3: chunks in parallel, all other gradients of the inputs; value heads are added up."""
    found = gradients_of_heads(q, k, v, beta, c, T_inv, dO, dV, H, dH, C=C)
    return add_heads(found.pop("dq_heads"), found.pop("dk_heads"), C=C) | found


def gradients_of_heads(q, k, v, beta, c, T_inv, dO, dV, H, dH, *, C):
    """The same, a gradient of q and k for each value head."""
    group, shape = len(v) // len(k), beta.shape
    q, k, v, beta, c, T_inv, dO, dV = _cut(
        C, shared(q, group), shared(k, group), v, beta[..., None], c, T_inv, dO, dV
    )
    Z = dV / beta  # where beta is small, the package keeps Z instead of dV
    gamma, Gamma, to_end = decays(c)
    read = gamma * (k @ H.mT)
    R = v - read
    E = T_inv @ (beta * R)
    X, Y = Gamma * (dO @ E.mT), np.tril(Gamma * (Z @ E.mT), -1)
    dq_old = (gamma * dO) @ H
    dk_old, dk_next = -(gamma * dV) @ H, (to_end * E) @ dH
    overlap, similar = k @ k.mT, q @ k.mT
    dbeta = (Z * R).sum(-1) - (Y * overlap).sum(-1)
    N = -beta * Y
    a, b = (q * dq_old + k * dk_old).sum(-1), (k * dk_next).sum(-1)
    old = np.exp(c[..., -1]) * (H * dH).sum((-2, -1))
    dg = crossings(X * similar + N * overlap, a, b, old)
    dq, dk = dq_old + X @ k, dk_old + dk_next + X.mT @ q + (N + N.mT) @ k
    tokens = shape[1]
    dq, dk = (x.reshape(-1, group, tokens, x.shape[-1]) for x in (dq, dk))
    return {"dq_heads": dq, "dk_heads": dk, "dbeta": dbeta.reshape(shape), "dg": dg.reshape(shape)}


def add_heads(dq_heads, dk_heads, *, C):
    """The value heads of a key head added up, in their order."""
    return {"dq": dq_heads.sum(axis=1), "dk": dk_heads.sum(axis=1)}


def crossings(J, a, b, old):
    """dg of each token r: all that goes from before r to r or after it (eq-grad-crossing)."""
    r = np.arange(J.shape[-1])
    before = r < r[:, None]  # [r, i]: is token i before token r?
    to_here_or_later = J[..., ::-1, :].cumsum(-2)[..., ::-1, :]
    rows = (before * (to_here_or_later + b[..., None, :])).sum(-1)
    return rows + (~before * a[..., None, :]).sum(-1) + old[..., None]


def at_once(q, k, v, g, beta, S, dO, dS_last, *, C):
    """The ideal: one kernel that keeps everything it makes."""
    group = len(v) // len(k)
    given = shared(q, group), shared(k, group), v, g, beta, S, dO, dS_last
    dq, dk, dV, dg, dbeta, dS = backward.gradients(*given, C)
    dq, dk = (x.reshape(-1, group, *x.shape[1:]) for x in (dq, dk))
    return add_heads(dq, dk, C=C) | {"dV": dV, "dg": dg, "dbeta": dbeta, "dS": dS}


FOUR = [inverses, chunk_states, state_gradients, chunk_gradients]
PLANS = {
    "floor": [at_once],
    "four kernels": FOUR,
    "heads added up later": [*FOUR[:3], gradients_of_heads, add_heads],
}


def inputs_of(T, H_k, H_v, d_k, d_v, seed=0):
    """Hard inputs for several heads, with gradients of outputs and last states."""
    _, _, dO, _, _, dS_last = hard_inputs(T, d_k, d_v, batch=(H_v,), seed=seed + 2)
    return heads(T, H_k, H_v, d_k, d_v, seed) | {"dO": dO, "dS_last": dS_last}


def run(plan, b, C, inputs):
    """The memory after all kernels of a plan."""
    memory = BackwardMemory(b, **inputs)
    for kernel in plan:
        memory.run(kernel, C=C)
    return memory


class Watched(np.ndarray):
    """An array that adds up the FLOPs of its matrix products."""

    flops = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        inputs = [np.asarray(x) for x in inputs]
        result = getattr(ufunc, method)(*inputs, **options)
        if ufunc is np.matmul:
            Watched.flops += 2 * result.size * inputs[0].shape[-1]
        return result.view(Watched)


def flops(kernel, C, arrays, slices=1):
    """FLOPs of a kernel's products; `slices`: once for each part of the value dimensions."""
    Watched.flops = 0
    for part in range(slices):
        own = {name: _slice(name, x, part, slices).view(Watched) for name, x in arrays.items()}
        kernel(**own, C=C)
    return Watched.flops


def _slice(name, x, part, slices):
    axis = {"v": -1, "dO": -1, "S": -2, "dS_last": -2}.get(name)
    return x if axis is None else np.array_split(x, slices, axis)[part]


def _cut(C, *arrays):
    return [chunks(x, C) for x in arrays]
