r"""The world of the backward pass: every gradient by dual numbers, run through the token loop.

The loss is $\langle d\mathbf{O}, \mathbf{O}\rangle + \langle d\mathbf{S}', \mathbf{S}'\rangle$. A
gradient by a quantity in the middle (a state, a correction, an entry of Gamma, a score) is that of
a loop in which this quantity is given from outside. No backward formula is used, ours or other.
"""

from functools import cache

import numpy as np

from .arithmetic import inverse
from .cases import of_rank
from .draws import gradient
from .rule import rule, sequence
from .values import columns, entries, listed
from .world import World


def loss_of(x, dO, dS_next, state=None, start=0, **given):
    """The loss of the token loop from token `start` on.

    `given` replaces inputs; `g` is added to the log-decays, to first order; a key may differ
    where it reads (`k_reads`) and where it is read (`k_read`).
    """
    q, v, alpha, beta = (given.get(name, getattr(x, name)) for name in ("q", "v", "alpha", "beta"))
    k = given.get("k", x.k)
    k_reads, k_read = given.get("k_reads", k), given.get("k_read", k)
    alpha = alpha * (1 + given["g"]) if "g" in given else alpha
    S = given.get("S", x.S) if state is None else state
    total = 0
    for t in range(start, len(x.k)):
        S = alpha[t] * S
        delta = beta[t] * (v[t] - S @ k_reads[t])
        S = S + np.outer(delta, k_read[t])
        total = total + np.sum(dO[t] * (S @ q[t]))
    return total + np.sum(dS_next * S)


def loss_of_chunk(x, dO, dS_next, **given):
    """The same loss by pairs of tokens, with the decays and the overlaps as given numbers.

    Of what is not given `x` has the values, which are computed once.
    """
    Gamma, gamma = given.get("Gamma", x.Gamma), given.get("gamma", x.gamma)
    end = given.get("end", x.Gamma[-1])  # from each token to the last
    qk, kk = given.get("qk", x.qk), given.get("kk", x.kk)
    E = []
    for r in range(len(x.k)):
        read = gamma[r] * x.Sk[r]
        for i in range(r):
            read = read + Gamma[r, i] * kk[r, i] * E[i]
        E.append(x.beta[r] * (x.v[r] - read))
    return loss_of_corrections(x, dO, dS_next, E, Gamma, gamma, end, qk)


def loss_of_corrections(x, dO, dS_next, E, Gamma=None, gamma=None, end=None, qk=None):
    """The loss where the corrections are given: writes with decay, nothing is corrected."""
    Gamma, gamma = (x.Gamma if Gamma is None else Gamma), (x.gamma if gamma is None else gamma)
    end, qk = (x.Gamma[-1] if end is None else end), (x.qk if qk is None else qk)
    total, S_next = 0, x.gamma[-1] * x.S
    for r in range(len(x.k)):
        o = gamma[r] * x.Sq[r]
        for i in range(r + 1):
            o = o + Gamma[r, i] * qk[r, i] * E[i]
        total = total + np.sum(dO[r] * o)
        S_next = S_next + end[r] * np.outer(E[r], x.k[r])
    return total + np.sum(dS_next * S_next)


def solved(A, R):
    """`(I + A)^-1 R`, row by row."""
    E = []
    for r in range(len(R)):
        E.append(R[r] - sum((A[r, i] * E[i] for i in range(r)), start=0 * R[r]))
    return E


@cache
def gradients(draw):
    """The letters of chapters 12 and 16."""
    x, base = sequence(draw, True), rule(draw)
    x.Gamma, x.gamma = (
        base.letters[r"\boldsymbol{\Gamma}"],
        np.diag(base.letters[r"\mathbf{D}_{\gamma}"]),
    )
    x.qk, x.kk, x.Sq, x.Sk = x.q @ x.k.T, x.k @ x.k.T, x.q @ x.S.T, x.k @ x.S.T
    dO, dS_next = (of_rank(draw, n, draw.array(*part.shape)) for n, part in ((1, x.v), (3, x.S)))

    def by(name, value, loss=loss_of, where=None, **more):
        of = lambda y: loss(x, dO, dS_next, **more, **{name: y})
        return gradient(of, value, draw.exact, where)

    T, zeros, after = len(x.k), 0 * x.alpha, [x.S, *x.states[1:]]
    dq, dv, dbeta, dS = by("q", x.q), by("v", x.v), by("beta", x.beta), by("S", x.S)
    dk, dk_reads, dk_read = by("k", x.k), by("k_reads", x.k), by("k_read", x.k)
    dg = by("g", zeros)
    dstates = [by("state", S, start=t) for t, S in enumerate(after)]
    # the gradient of the state that token t leaves, its own output included
    own = [
        gradient(lambda y, t=t: np.sum(dO[t] * (y @ x.q[t])), x.states[t + 1], draw.exact)
        for t in range(T)
    ]
    Lambda = [dstates[t + 1] + own[t] for t in range(T)]
    Z = np.array([Lambda[t] @ x.k[t] for t in range(T)])
    dE = by("E", x.deltas, loss_of_corrections)
    A = base.letters[r"\tilde{\mathbf{A}}"]
    R = x.deltas + A @ x.deltas  # the right side whose solution the corrections are
    dR = gradient(lambda y: loss_of_corrections(x, dO, dS_next, solved(A, y)), R, draw.exact)
    lower, strict = np.tri(T), np.tri(T, k=-1)  # what the loops read of pairs of tokens
    dA = gradient(
        lambda y: loss_of_corrections(x, dO, dS_next, solved(y, R)), A, draw.exact, strict
    )
    X = by("qk", x.qk, loss_of_chunk, lower)
    N = by("kk", x.kk, loss_of_chunk, strict)
    J = x.Gamma * by("Gamma", x.Gamma, loss_of_chunk, lower)
    a = x.gamma * by("gamma", x.gamma, loss_of_chunk)
    b = x.Gamma[-1] * by("end", x.Gamma[-1], loss_of_chunk)
    # c_r = g_1 + ... + g_r stands in gamma_r, in row r and, with a minus, in column r of Gamma
    dc = np.sum(J, axis=1) - np.sum(J, axis=0) + a - b
    L = inverse(np.eye(T, dtype=object if draw.exact else float) + A)
    dL = gradient(lambda y: loss_of_corrections(x, dO, dS_next, list(y @ R)), L, draw.exact)
    letters = {
        r"\mathrm{d}\mathbf{O}": dO, r"\mathrm{d}\boldsymbol{o}_": columns(dO),
        r"\mathrm{d}\mathbf{S}'": dS_next, r"\mathrm{d}\mathbf{S}": dS,
        r"\mathrm{d}\mathbf{S}_": listed(dstates, 0), r"\boldsymbol{\Lambda}_": listed(Lambda),
        r"\boldsymbol{z}_": columns(Z), r"\mathbf{Z}": Z, r"\mathrm{d}\mathbf{Q}": dq,
        r"\mathrm{d}\boldsymbol{q}_": columns(dq), r"\mathrm{d}\mathbf{V}": dv,
        r"\mathrm{d}\boldsymbol{v}_": columns(dv), r"\mathrm{d}\mathbf{K}": dk,
        r"\mathrm{d}\boldsymbol{k}_": columns(dk),
        r"\mathrm{d}\mathbf{K}^{\text{reads}}": dk_reads,
        r"\mathrm{d}\mathbf{K}^{\text{is read}}": dk_read,
        r"\mathrm{d}\boldsymbol{k}^{\text{reads}}_": columns(dk_reads),
        r"\mathrm{d}\boldsymbol{k}^{\text{is read}}_": columns(dk_read),
        r"\mathrm{d}\beta_": entries(dbeta), r"\mathrm{d}g_": entries(dg),
        r"\mathrm{d}c_": entries(dc), r"\mathrm{d}\mathbf{E}": dE, r"\mathrm{d}\mathbf{R}": dR,
        r"\mathbf{R}": R, r"\mathrm{d}\tilde{\mathbf{A}}": dA,
        r"\boldsymbol{e}_": columns(x.deltas), r"\mathbf{X}": X, r"\mathbf{N}": N,
        r"\mathbf{L}": L, r"\mathbf{J}": J, "J_": entries(J), "a_": entries(a), "b_": entries(b),
        r"\mathbf{P}": x.Gamma * x.qk, r"\mathrm{d}\mathbf{L}": dL,
    }  # fmt: skip
    hidden = ("X_", r"\mathbf{P}_", r"\mathbf{P}^")  # other meanings before chapter 12
    kept = {key: value for key, value in base.letters.items() if key not in hidden}
    return World(kept | letters, base.ranges)
