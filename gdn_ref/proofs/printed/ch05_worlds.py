r"""Worlds of chapter 5: runs of the delta rule with chosen strengths and keys, losses, a stream."""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from ... import delta_rule
from ..ch05_cost import multiplications_of_a_step
from .cases import (
    DEPENDENT,
    GENERIC,
    LONG,
    SINGLE,
    UNIT,
    across,
    beyond,
    case,
    of_rank,
    sizes,
    strengths,
)
from .draws import gradient
from .rule import (
    eye,
    inputs,
    isotropic,
    of_tokens,
    orthonormal,
    run,
    sequence,
    state_before,
    step,
    with_letters,
)
from .values import Depends, Family, columns, entries, listed
from .world import World


def losses(x, exact):
    """The recall loss of each token, row by row, and its gradient by dual numbers."""

    def loss(t):
        misses = lambda S: [a - row @ x.k[t - 1] for a, row in zip(x.v[t - 1], S, strict=True)]
        return lambda S: sum(miss * miss for miss in misses(S)) / 2

    def slope(t):
        return lambda S: gradient(loss(t), S, exact)

    tokens = range(1, len(x.k) + 1)
    return {
        r"\mathcal{L}_": listed(map(loss, tokens)),
        r"\nabla\mathcal{L}_": listed(map(slope, tokens)),
    }


@cache
def descent(draw):
    """The delta rule, and the loss of each token, of any state."""
    x = run(draw, *inputs(draw, decay=False))
    letters = losses(x, draw.exact) | {r"\mathbf{S}": any_state(draw, x)}
    return with_letters(of_tokens(draw, x), letters)


def any_state(draw, x):
    """A state; in one draw one that recalls the first pair, whose loss is zero there."""
    return recalling(x.S, x.k[0], x.v[0]) if case(draw) == DEPENDENT else x.S


def recalling(S, k, v):
    """What the state becomes when it is changed as little as it takes to recall this pair."""
    return S + np.outer(v - S @ k, k) / (k @ k)


def crossing(draw):
    """Questions y, some of which a token answers as before."""
    ys = questions(draw.anew(2), sequence(draw, decay=False))
    return with_letters(descent(draw), {}, **{r"\boldsymbol{y}": ys})


def questions(draw, x):
    """Vectors at right angles to each key by itself, to the sum of all keys, and to none; and one
    that the first token answers otherwise, but as long."""
    rows = [*x.k, x.k.sum(0)]
    turned = 2 * x.alpha[0] * x.deltas[0] @ x.S + (x.deltas[0] @ x.deltas[0]) * x.k[0]
    ys = [across(draw, row[None]) for row in (*rows, turned)]
    return [*ys, draw.array(x.k.shape[1], 1)]


@cache
def full_steps(draw, share=1, solved=True):
    """beta = 1 / ||k||^2, and for each token a matrix that recalls its pair."""
    q, k, v, alpha, _, S = inputs(draw, decay=False)
    beta = share * (1 / np.sum(k * k, axis=1))
    if case(draw) in (UNIT, DEPENDENT):
        v[3] = state_before(draw, 3, k, v, alpha, beta, S) @ k[3]  # recalled already
    x = run(draw, q, k, v, alpha, beta, S)
    X = draw.anew(2).array(*S.shape)

    def recalls(at):
        return recalling(X, k[at["t"] - 1], v[at["t"] - 1]) if solved else X

    return with_letters(of_tokens(draw, x), {r"\mathbf{X}": Depends(recalls)})


def trade_off(draw):
    """The least value of the trade-off is that at the loop's state, where beta is as claimed.

    Its minimum is among the candidates, row by row by a solver of least squares, and so are other
    matrices near and far. Some tokens have another strength: one of 0, one the same with the other
    sign, one that leaves as much of the old value with the other sign, one that leaves as much as
    the right one takes, one that takes all, one whose step is too long, but as long for what it
    leaves.
    """
    given = (9, 2, 3) if case(draw) == SINGLE else ()
    q, k, v, alpha, beta, S = inputs(draw, *given, decay=False)
    eta, (T, d_k) = draw.anew(2).number(), k.shape
    wishes = [np.vstack([key, np.eye(d_k) / np.sqrt(eta)]) for key in k]  # recall, and stay
    gains = [np.linalg.lstsq(A, np.eye(d_k + 1)[:, 0], rcond=None)[0] for A in wishes]
    beta = np.array([g @ key / (key @ key) for g, key in zip(gains, k, strict=True)])
    beta[1], beta[4:5], beta[7:8] = 0, -beta[4:5], 0.7
    for t, times in ((3, 2), (5, 1)):
        beta[t] = times / (k[t] @ k[t]) - beta[t]
    lengths = np.sum(k * k, axis=1)
    beta[6:7], beta[8:9] = 1 / lengths[6:7], eta / (eta * lengths[8:9] - 1)
    x = run(draw, q, k, v, alpha, beta, S)

    def cost(t, X):
        miss, moved = v[t - 1] - X @ k[t - 1], X - x.states[t - 1]
        return sum(miss**2) / 2 + np.sum(moved**2) / (2 * eta)

    def least(t):
        goals = np.hstack([v[t][:, None], x.states[t] / np.sqrt(eta)])
        return np.linalg.lstsq(wishes[t], goals.T, rcond=None)[0].T

    best = [least(t) for t in range(T)]
    candidates = best + x.states + [X + 0.1 * draw.anew(3).array(*S.shape) for X in best]
    letters = {"value": Depends(lambda at: cost(at["t"], x.states[at["t"]])), r"\eta": eta}
    world = with_letters(of_tokens(draw, x), losses(x, False) | letters)
    return with_letters(world, {}, **{r"\mathbf{X}": candidates})


def trusts(draw):
    """For a unit key and each trust, the strength of the step that the trade-off asks for; one
    trust is the inverse of another."""
    draw, d = draw.anew(), sizes(draw)[1]
    k, logits = orthonormal(draw, d)[0], np.append(0, draw.array(3))
    logits = np.append(logits, -logits[1])

    def strength(at):
        wishes = np.vstack([k, np.eye(d) / np.sqrt(at[r"\eta"])])  # recall, and stay
        return np.linalg.lstsq(wishes, np.eye(d + 1)[:, 0], rcond=None)[0] @ k

    ranges = {r"\eta": np.exp(logits), "b": logits}
    return World({r"\beta": Depends(strength)}, ranges=ranges)


REPEATED = {  # which tokens have the one key
    GENERIC: [1, 1, 0, 1, 0, 0, 1], UNIT: [0, 1, 1, 0, 1, 0], DEPENDENT: [1, 0, 1, 1],
    LONG: [0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1], SINGLE: [1],
}  # fmt: skip


@cache
def repeated_key(draw, length=1, apart=True):
    """Some tokens have one unit key, with strengths of 0, 1 and 2 among others; the keys of the
    tokens between them are orthogonal to it."""
    its = np.array(REPEATED[case(draw)])
    (mine,), (_, d_k, d_v) = its.nonzero(), sizes(draw)
    q, k, v, alpha, beta, S = inputs(draw, T=len(its), d_k=d_k, d_v=d_v, decay=False)
    basis, n = orthonormal(draw.anew(2), d_k), len(mine)
    k = k[:, 1:] @ basis[1:] if apart else k
    basis = length * basis
    k[mine], beta[mine] = basis[0], strengths(draw.anew(4), n)
    x = run(draw, q, k, v, alpha, beta, S)
    kept = 1 - beta[mine]
    after = [0, *(mine + 1)[:-1], len(its)]  # as many tokens have gone by after each such token
    letters = {
        r"\boldsymbol{k}": basis[0][:, None], r"\mathbf{S}_0": S, r"\beta_": entries(beta[mine]),
        r"\boldsymbol{v}_": columns(v[mine]),
        r"\mathbf{S}": Depends(lambda at: x.states[after[at["m"]]]),
        r"\gamma_": listed([np.prod(kept[:m]) if m else 1 for m in range(n + 1)], 0),
        r"\Gamma_": Family(lambda m, i: np.prod(kept[_index(i, n) : _index(m, n)]) if i < m else 1),
    }  # fmt: skip
    return World(letters, ranges={"m": range(n + 1), "i": range(1, n + 1)})


def _index(i, n):
    return listed(range(n + 1), 0)[(i,)]


ORTHONORMAL = {  # tokens and d_k
    GENERIC: (2, 4), UNIT: (5, 5), DEPENDENT: (3, 3), LONG: (4, 6), SINGLE: (1, 2),
}  # fmt: skip


@cache
def orthonormal_keys(draw, length=1, shear=0):
    """Orthonormal keys, fewer than dimensions and as many."""
    d_v, more = sizes(draw)[2], beyond(draw)
    T, d_k = ORTHONORMAL[case(draw)] if not more else (6, 6 + more % 2)
    q, _, v, alpha, _, S = inputs(draw, T=T, d_k=d_k, d_v=d_v, decay=False)
    beta = strengths(draw.anew(4), T)
    k = length * orthonormal(draw.anew(2), d_k)[:T]
    k = k + shear * k[::-1]
    if case(draw) in (DEPENDENT, LONG):
        v[2] = S @ k[2]  # recalled already
    x = run(draw, q, k, v, alpha, beta, S)
    letters = of_tokens(draw, x).letters | {"T": T}
    letters = {key: value for key, value in letters.items() if key not in ("C", "\\mathbf{S}'")}
    return World(letters, {"j": range(1, T + 1)})


@cache
def one_solution(draw, solved=True):
    """A matrix X recalls all pairs."""
    q, k, _, alpha, beta, S = inputs(draw, decay=False)
    X = of_rank(draw, 2, draw.anew(2).array(*S.shape))
    x = run(draw, q, k, solved * (k @ X.T), alpha, beta, S)
    return with_letters(of_tokens(draw, x), {r"\mathbf{X}": X})


def rounds(draw, more=0):
    """Fewer pairs than dimensions, written until nothing changes; the change in their keys. In one
    draw a pair is recalled from the start."""
    T, d_k, d_v = [(3, 4, 3), (2, 5, 7), (1, 2, 1), (4, 6, 2), (5, 7, 3)][draw.seed % 5]
    _, k, v, _, beta, S_0 = inputs(draw, T=T, d_k=d_k, d_v=d_v, decay=False)
    lengths = np.linspace(0.8, 1.05, T)[:, None]  # for the strengths to stay below 2 / ||k||^2
    k = k * lengths / np.linalg.norm(k, axis=1, keepdims=True)
    if case(draw) == UNIT:
        v[0] = S_0 @ k[0]
    S = S_0
    for _ in range(2000):
        S = delta_rule.recurrent(k, k, v, more + 0.7 + 0.3 * beta, S)[1]
    V_hat = np.linalg.lstsq(k.T, (S - S_0).T, rcond=None)[0]
    return World({
        r"\mathbf{S}_\infty": S, r"\mathbf{S}_0": S_0, r"\hat{\mathbf{V}}": V_hat,
        r"\mathbf{K}": k, r"\mathbf{V}": v,
    })  # fmt: skip


def mean_size(draw, state, beta, keys, values):
    """The mean of ||S||^2 after one token: any of these keys, any of these values, either sign."""
    tokens = [(k, s * v) for k in keys for v in values for s in (1, -1)]
    states = [step(draw, state, k, v, 1 + 0 * beta, beta) for k, v in tokens]
    return sum(np.sum(S * S) for S in states) * ((1 + 0 * beta) / len(states))


@cache
def settled(draw, directions=None):
    """The squared norm that a token leaves as it was, on average: the mean is affine in it."""
    draw, (_, d, d_v) = draw.anew(), sizes(draw)
    basis, values, beta = isotropic(draw, d)[:directions], draw.array(2, d_v), draw.number()
    S = draw.array(d_v, d)
    written = mean_size(draw, 0 * S, beta, basis, values)
    left = (mean_size(draw, S, beta, basis, values) - written) / np.sum(S * S)
    return World({
        r"\nu_\infty": written / (1 - left), r"\beta": beta, "d_k": d,
        r"\mu": sum(v @ v for v in values) * ((1 + 0 * beta) / len(values)),
    })  # fmt: skip


@cache
def stream(draw, directions=None):
    """Keys from an orthonormal basis, another for each token, values +-a and +-b: every sequence of
    two tokens or more.

    The claims are linear in k k^T and in v v^T, and the mean of k k^T is I / d_k as it is for
    uniform keys: these few outcomes stand for every such distribution. Tokens are independent.
    """
    more, (_, d, d_v) = draw.anew(2), sizes(draw)
    d = 1 if beyond(draw) == 1 else d  # with two keys, many tokens
    values, beta, S = more.array(2, d_v), more.number(), more.array(d_v, d)
    bases = [orthonormal(more, d)[:directions] for _ in range({1: 6, 2: 4, 3: 3}.get(d, 2))]
    states, nu = [S], [np.sum(S * S)]
    one = 1 + 0 * beta
    for basis in bases:
        tokens = [(k, s * v) for k in basis for v in values for s in (1, -1)]
        states = [step(draw, M, k, v, one, beta) for M in states for k, v in tokens]
        nu.append(sum(np.sum(M * M) for M in states) * (one / len(states)))
    factors = [[step(draw, eye(draw, d), k, 0 * k, one, beta) for k in basis] for basis in bases]
    cases = list(product(*factors))
    outcomes = [(Fraction(1, len(cases)), {r"\mathbf{P}_": listed(case)}) for case in cases]
    letters = {
        r"\mathbf{P}_": listed(cases[0]), r"\nu_": listed(nu, 0), r"\beta": beta,
        "d_k": d, r"\mu": sum(v @ v for v in values) * (one / len(values)),
    }  # fmt: skip
    return World(letters, ranges={"t": range(1, len(bases) + 1)}, outcomes=outcomes)


def counted_step(draw):
    """The package's own step, run on numbers that count."""
    d_k, d_v = draw.anew().sizes(2, 2, 9)
    return World({"d_k": d_k, "d_v": d_v, r"n_\text{delta}": multiplications_of_a_step(d_v, d_k)})
