r"""The world of the gated delta rule: one chunk of tokens, computed token by token.

Every value comes from the token loop, from products of its factors, or from the package. No
formula of the chunk form is used: what the chapters derive is what is being checked. A factor is
what the loop makes of the identity as a state; row r of an inverse what it makes of unit values.
"""

from functools import cache, reduce

import numpy as np

from ... import affine, chunking, gated_delta_rule, wy
from . import cases
from .draws import Draw
from .values import Depends, columns, entries, listed
from .world import World


class vars_of:
    """Values under names."""

    def __init__(self, **values):
        vars(self).update(values)


def step(draw, S, k, v, alpha, beta):
    """The state after one token: by the package in float64, by the same line otherwise."""
    if draw.exact:
        return alpha * S + np.outer(beta * (v - alpha * S @ k), k)
    with np.errstate(divide="ignore"):  # a decay of 0
        return gated_delta_rule.step(S, k, k, v, np.log(np.asarray(alpha)), np.asarray(beta))[1]


def eye(draw, d):
    return np.eye(d, dtype=object if draw.exact else float)


def orthonormal(draw, d):
    """`d` orthonormal rows, in any arithmetic: two reflections, one after the other."""
    mirrors = [draw.array(d, 1) for _ in range(2)]
    return reduce(np.matmul, [eye(draw, d) - 2 * (m @ m.T) / (m.T @ m)[0, 0] for m in mirrors])


def isotropic(draw, d):
    """Unit keys with the mean `k k^T` = I / d: those of one basis, or in every other draw of two
    bases, so that fourth moments differ."""
    bases = [orthonormal(draw, d) for _ in range(1 + draw.seed % 2)]
    return np.concatenate(bases)


def turned(vectors):
    """These vectors, turned in the plane of the first two axes."""
    if vectors.shape[1] < 2:
        return vectors
    x, y, *more = vectors.T
    return np.array([(3 * x - 4 * y) / 5, (4 * x + 3 * y) / 5, *more]).T


def own_bases(draw, vectors, count):
    """As many sets of vectors: all the same, or in every other draw each turned once more than the
    one before. Their second moments are the same, and fourth moments differ."""
    found = [vectors * (1 + 0 * draw.number())]
    while len(found) < count:
        found.append(turned(found[-1]) if draw.seed % 2 else found[0])
    return found


def run(draw, q, k, v, alpha, beta, S):
    """The loop's values, by name: states, corrections, products of the factors."""
    one, zero = eye(draw, len(k[0])), 0 * S
    factors = [step(draw, one, key, 0 * key, 1 + 0 * b, b) for key, b in zip(k, beta, strict=True)]
    states, outputs, deltas = [S], [], []
    P, H, F, G = [one], [zero], [one], [zero]
    for t in range(len(k)):
        states.append(step(draw, states[-1], k[t], v[t], alpha[t], beta[t]))
        outputs.append(states[-1] @ q[t])
        deltas.append((states[-1] - alpha[t] * states[-2]) @ k[t] / (k[t] @ k[t]))
        write = step(draw, zero, k[t], v[t], 1 + 0 * alpha[t], beta[t])
        P.append(P[-1] @ factors[t])
        H.append(H[-1] @ factors[t] + write)
        F.append(alpha[t] * (F[-1] @ factors[t]))
        G.append(alpha[t] * (G[-1] @ factors[t]) + write)
    return vars_of(
        q=q, k=k, v=v, alpha=alpha, beta=beta, S=S, one=one, factors=factors, states=states,
        outputs=np.array(outputs), deltas=np.array(deltas), P=P, H=H, F=F, G=G,
    )  # fmt: skip


def inputs(draw, T=None, d_k=None, d_v=None, decay=True):
    """`q, k, v, alpha, beta, S` of a draw: its case of `cases`, and a state that is not empty.

    For sizes that are given: correlated keys of any length, strengths between 0 and 2, and where
    arithmetic is exact one of 0. Where nothing decays, a draw with a reset has a write that the
    last token takes away.
    """
    draw = draw.anew(9)  # of their own: what else a world draws has nothing to do with them
    given = T is not None
    if not given:
        T, d_k, d_v = cases.sizes(draw)
        k = cases.keys(draw, T, d_k)
        q, alpha, beta = cases.queries(draw, k), cases.decays(draw, T), cases.strengths(draw, T)
    else:
        q, k = draw.array(T, d_k), draw.array(T, d_k)
        k = k if draw.exact else k + draw.array(1, d_k)
        k = cases.orthonormal(k) if draw.easy == cases.ORTHONORMAL else k
        alpha = cases.ones_if(draw, cases.STILL, draw.between(0.05, 0.95, T))
        alpha = cases.hardly_kept(draw, alpha)
        alpha = cases.with_reset(draw, alpha)
        beta = cases.ones_if(draw, cases.ONES, draw.between(0.1, 1.9, T))
        if draw.exact and T > 2 and not draw.easy:
            beta[1] = 0 * beta[1]
    v, S = cases.values(draw, T, d_v), cases.state(draw, d_v, d_k)
    alpha = alpha if decay else alpha * 0 + 1
    if cases.case(draw) == cases.LONG and not given and not draw.easy:
        read, turn = alpha[0] * S @ k[0], v[0]
        v[0] = (turn @ read) / (turn @ turn) * turn  # at right angles to what corrects it
        v[10], beta[10] = 0 * v[10], 1 / (k[10] @ k[10])  # all that its key reads is erased
        read = alpha[4] * state_before(draw, 4, k, v, alpha, beta, S) @ k[4]
        v[4] = read - 2 * (read @ turn) / (turn @ turn) * turn  # as long as what was there
    if draw.easy == cases.RESET and not decay and T > 2:
        k[-1], v[:-2], v[-1] = k[-2], 0 * v[:-2], 0 * v[-1]
        beta[-1] = 1 / (k[-1] @ k[-1])
    if cases.case(draw) == cases.DEPENDENT and not given and not draw.easy:
        before = state_before(draw, 3, k, v, alpha, beta, S)
        v[3] = alpha[3] * before @ k[3]  # recalled already: nothing corrects it
    return q, k, v, alpha, beta, S


def state_before(draw, t, k, v, alpha, beta, S):
    """The state that token t, counted from 0, receives."""
    for token in list(zip(k, v, alpha, beta, strict=True))[:t]:
        S = step(draw, S, *token)
    return S


@cache
def sequence(draw, decay=True):
    """One chunk of tokens, run."""
    return run(draw, *inputs(draw, decay=decay))


def thin(x, before, after, weights):
    """The row `y` of `after - weight before = y k^T`, for each token: W, U of the WY form."""
    return np.array(
        [
            ((after[t] - weights[t] * before[t]) @ x.k[t]) / (x.k[t] @ x.k[t])
            for t in range(len(x.k))
        ]
    )


@cache
def several(draw):
    """The delta rule over two tokens at least, run."""
    x = sequence(draw, decay=False)
    return x if len(x.k) > 1 else run(draw, *inputs(draw, T=2, d_k=2, d_v=3, decay=False))


def inverse_of_chunk(draw, x):
    """`(I + A)^-1`: row r is what token r writes into an empty state, if what token i would write
    is row i of I, however little of a value its strength lets through."""
    one, rows = eye(draw, len(x.k)), []
    S = one @ (0 * x.k)
    for t, k in enumerate(x.k):
        S = x.alpha[t] * S
        rows.append(one[t] - x.beta[t] * S @ k)
        S = S + np.outer(rows[-1], k)
    return np.array(rows)


@cache
def rule(draw, decay=True):
    """The letters of chapters 5 to 11 and 15, as a `World`; without decay those of 5 to 9."""
    return world_of(draw, sequence(draw, decay), decay)


def world_of(draw, x, decay=True):
    """The same letters for any run `x`, whose decays are not 0."""
    T, d_k, d_v = len(x.k), len(x.k[0]), len(x.v[0])
    ones = x.alpha * 0 + 1
    gamma = np.array([np.prod(x.alpha[: r + 1]) for r in range(T)])
    Gamma = np.array(
        [
            [np.prod(x.alpha[i + 1 : r + 1]) if i <= r else 0 * ones[0] for i in range(T)]
            for r in range(T)
        ]
    )
    strict = np.tril(np.ones((T, T), dtype=int), -1)
    A = x.beta[:, None] * (x.k @ x.k.T) * strict
    A_gated = Gamma * A
    W = -thin(x, x.P[:-1], x.P[1:], ones)
    U, U_gated = thin(x, x.H[:-1], x.H[1:], ones), thin(x, x.G[:-1], x.G[1:], x.alpha)
    F, G = x.F[-1], x.G[-1]
    if not draw.exact:  # the package's, where it has them
        g = np.log(x.alpha)
        gamma, Gamma = chunking.decay(g)
        A, A_gated = wy.interaction(x.k, x.beta), wy.interaction(x.k, x.beta, Gamma)
        W, U, U_gated = wy.w(x.k, x.beta), wy.u(x.k, x.v, x.beta), wy.u(x.k, x.v, x.beta, Gamma)
        F, G = affine.chunk_map(x.k, x.v, g, x.beta)
    X_gated = inverse_of_chunk(draw, x)
    X = inverse_of_chunk(draw, vars_of(**vars(x) | {"alpha": ones}))
    reads = [a * S @ k for a, S, k in zip(x.alpha, x.states, x.k, strict=False)]
    letters = {
        "C": T, "d_k": d_k, "d_v": d_v, r"\mathbf{S}": x.S, r"\mathbf{S}_": listed(x.states, 0),
        r"\mathbf{S}'": x.states[-1], r"\mathbf{Q}": x.q, r"\mathbf{K}": x.k, r"\mathbf{V}": x.v,
        r"\mathbf{O}": x.outputs, r"\mathbf{E}": x.deltas, r"\boldsymbol{q}_": columns(x.q),
        r"\boldsymbol{k}_": columns(x.k), r"\boldsymbol{v}_": columns(x.v),
        r"\boldsymbol{o}_": columns(x.outputs), r"\boldsymbol{\delta}_": columns(x.deltas),
        r"\boldsymbol{r}_": columns(reads), r"\boldsymbol{y}": draw.anew(1).array(d_k, 1),
        r"\bar{\mathbf{S}}": Depends(lambda at: x.alpha[at["t"] - 1] * x.states[at["t"] - 1]),
        r"\alpha_": entries(x.alpha), r"\beta_": entries(x.beta),
        r"\gamma_": entries(np.append(ones[:1], gamma), 0), r"\Gamma_": entries(Gamma),
        r"\boldsymbol{\Gamma}": Gamma, r"\mathbf{M}": strict + np.eye(T, dtype=int),
        r"\mathbf{B}": np.diag(x.beta), r"\mathbf{D}_\gamma": np.diag(gamma),
        r"\mathbf{D}_\rightarrow": np.diag(Gamma[-1]), r"\mathbf{A}": A, "A_": entries(A),
        r"\tilde{\mathbf{A}}": A_gated, r"\mathbf{W}": W, r"\mathbf{U}": U,
        r"\tilde{\mathbf{U}}": U_gated, r"\boldsymbol{w}_": columns(W),
        r"\boldsymbol{u}_": columns(U), r"\tilde{\boldsymbol{u}}_": columns(U_gated),
        r"\mathbf{W}_\leftarrow": np.diag(gamma) @ W, r"\mathbf{X}": X, "X_": entries(X),
        r"\mathbf{T}": X @ np.diag(x.beta), r"\tilde{\mathbf{T}}": X_gated @ np.diag(x.beta),
        r"\mathbf{P}_": listed(x.factors), r"\mathbf{P}^": listed(x.P, 0),
        r"\mathbf{H}^": listed(x.H, 0), r"\mathbf{F}^": listed(x.F, 0),
        r"\mathbf{G}^": listed(x.G, 0), r"\mathbf{F}": F, r"\mathbf{G}": G,
        r"\mathbf{F}_": listed([a * P for a, P in zip(x.alpha, x.factors, strict=True)]),
    }  # fmt: skip
    if not decay:  # before chapter 10 the letters of the gated rule do not exist
        gated = ("tilde", "Gamma", "gamma", "leftarrow", "alpha", r"\mathbf{F}", r"\mathbf{G}")
        letters = {key: v for key, v in letters.items() if not any(name in key for name in gated)}
    tokens = range(1, T + 1)
    return World(letters, ranges={letter: tokens for letter in "trijsl"})


def with_letters(world, letters, **ranges):
    """The world with more letters, and more indices that run."""
    return World(world.letters | letters, ranges=world.ranges | ranges, near=world.near)


def ungated(draw: Draw):
    """The delta rule: nothing decays."""
    return rule(draw, decay=False)


def plain_powers(world):
    r"""The world of a chapter before the products have names: `\mathbf{P}^2` is a square."""
    kept = {key: value for key, value in world.letters.items() if not key.endswith("^")}
    return World(kept, ranges=world.ranges, near=world.near)


def of_tokens(draw, x):
    """The letters of a run where nothing decays, before chapter 7."""
    return plain_powers(world_of(draw, x, decay=False))


def tokens(draw: Draw):
    """The delta rule, before chapter 7."""
    return plain_powers(ungated(draw))


def gated_tokens(draw: Draw):
    """The gated rule, before chapter 7."""
    return plain_powers(rule(draw))


def rule_from_zero(draw: Draw):
    """The gated rule, of which r tokens are asked, none among them."""
    return rule(draw).from_zero("r")


def ungated_from_zero(draw: Draw):
    """The same where nothing decays."""
    return ungated(draw).from_zero("r")
