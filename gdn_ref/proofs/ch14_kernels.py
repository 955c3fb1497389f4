"""Chapter 14: the kernels of three designs of the forward pass, and a memory that counts bytes.

A kernel here is a function of the arrays that its parameters name. It gets no others, so what it
reads from memory and writes to it is known.
"""

import inspect

import numpy as np

from .. import wy
from ..chunking import decay
from .data import hard_inputs

SMALL = {"g", "beta", "c", "S", "S_last", "maps", "starts"}  # 4 bytes each, whatever b is


class Memory:
    """Arrays by name; `run` lets a kernel read some and write others, and adds up the bytes."""

    def __init__(self, b, **arrays):
        self.b, self.arrays, self.moved = b, arrays, {}

    def bytes(self, name, array):
        return array.size * (4 if name in SMALL else self.b)

    def run(self, kernel, *, tokens=None, **sizes):
        """`tokens`: only the first so many of each array are read."""
        names = [name for name in inspect.signature(kernel).parameters if name in self.arrays]
        read = {name: self.arrays[name] for name in names}
        if tokens is not None:
            read = {name: x if name == "S" else x[:, :tokens] for name, x in read.items()}
        written = kernel(**read, **sizes)
        moved = sum(self.bytes(*item) for item in (*read.items(), *written.items()))
        self.moved[kernel.__name__] = self.moved.get(kernel.__name__, 0) + moved
        self.arrays |= written
        return written


def chunks(x, C):
    """`[heads, T, ...]` as `[heads, N, C, ...]`."""
    return x.reshape(len(x), -1, C, *x.shape[2:])


def shared(x, group):
    """Each key head once for every value head that uses it: shared, so read only once."""
    return np.repeat(x, group, axis=0)


def decays(c):
    """`gamma`, `Gamma` and the decay to the end of the chunk, from cumulative sums `[..., C]`."""
    r = np.arange(c.shape[-1])
    stretch = np.where(r[:, None] >= r, c[..., :, None] - c[..., None, :], -np.inf)
    return np.exp(c)[..., None], np.exp(stretch), np.exp(c[..., -1:] - c)[..., None]


def transform(k, g, beta, *, C):
    """Kernel 1 of this book: cumulative decays and the UT transform of every chunk."""
    k, g, beta = chunks(shared(k, len(g) // len(k)), C), chunks(g, C), chunks(beta, C)
    A = wy.interaction(k, beta, decay(g)[1])
    UT = wy.solve(A, beta[..., None] * np.eye(C))
    return {"c": g.cumsum(-1).reshape(len(g), -1), "UT": UT.reshape(len(g), -1, C)}


def scan(q, k, v, c, UT, S, *, C):
    """Kernel 2 of this book: chunk after chunk, the state stays where it is."""
    group, outputs = len(v) // len(k), []
    q, k = shared(q, group), shared(k, group)
    q, k, v, c, UT = (chunks(x, C) for x in (q, k, v, c, UT))
    for n in range(c.shape[1]):
        gamma, Gamma, to_end = decays(c[:, n])
        q_n, k_n = q[:, n], k[:, n]
        delta = UT[:, n] @ (v[:, n] - gamma * (k_n @ S.mT))
        scores = Gamma * (q_n @ k_n.mT)
        outputs.append(gamma * (q_n @ S.mT) + scores @ delta)
        S = gamma[:, -1:] * S + (to_end * delta).mT @ k_n
    return {"o": np.concatenate(outputs, axis=1), "S_last": S}


def prepare(k, v, g, beta, *, C):
    """Kernel 1 of three: W and U of every chunk (eq-gdn-w-gated, eq-wy-u)."""
    ut = transform(k, g, beta, C=C)
    UT, c = chunks(ut["UT"], C), ut["c"]
    gamma = decays(chunks(c, C))[0]
    W = UT @ (gamma * chunks(shared(k, len(v) // len(k)), C))
    U = UT @ chunks(v, C)
    return {"c": c, "W": W.reshape(*c.shape, -1), "U": U.reshape(v.shape)}


def states(k, W, U, c, S, *, C):
    """Kernel 2 of three: the state before every chunk, and the corrections E."""
    k, W, U, c = (chunks(x, C) for x in (shared(k, len(W) // len(k)), W, U, c))
    before, E = [], []
    for n in range(c.shape[1]):
        gamma, _, to_end = decays(c[:, n])
        before.append(S)
        E.append(U[:, n] - W[:, n] @ S.mT)
        S = gamma[:, -1:] * S + (to_end * E[-1]).mT @ k[:, n]
    return {"H": np.stack(before, axis=1), "E": np.concatenate(E, axis=1), "S_last": S}


def outputs(q, k, E, H, c, *, C):
    """Kernel 3 of three: the outputs of every chunk."""
    group = len(E) // len(k)
    q, k = chunks(shared(q, group), C), chunks(shared(k, group), C)
    gamma, Gamma, _ = decays(chunks(c, C))
    o = gamma * (q @ H.mT) + (Gamma * (q @ k.mT)) @ chunks(E, C)
    return {"o": o.reshape(E.shape)}


def at_once(q, k, v, g, beta, S, *, C):
    """The ideal: one kernel that keeps everything it makes."""
    ut = transform(k, g, beta, C=C)
    return scan(q, k, v, **ut, S=S, C=C)


DESIGNS = {"floor": [at_once], "three": [prepare, states, outputs], "two": [transform, scan]}


def heads(T, H_k, H_v, d_k, d_v, seed=0):
    """Hard inputs for several heads, `[heads, T, ...]`."""
    q, k, *_ = hard_inputs(T, d_k, d_v, batch=(H_k,), seed=seed)
    _, _, v, g, beta, S = hard_inputs(T, d_k, d_v, batch=(H_v,), seed=seed + 1)
    return {"q": q, "k": k, "v": v, "g": g, "beta": beta, "S": S}


def run(design, b, C, inputs):
    """The memory after all kernels of a design."""
    memory = Memory(b, **inputs)
    for kernel in design:
        memory.run(kernel, C=C)
    return memory
