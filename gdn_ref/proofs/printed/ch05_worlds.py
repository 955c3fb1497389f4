r"""Worlds of chapter 5: runs of the delta rule with chosen strengths and keys, losses, a stream."""

from fractions import Fraction
from functools import cache

import numpy as np

from ... import delta_rule
from ..ch05_cost import multiplications_of_a_step
from .draws import gradient
from .rule import D_K, D_V, T, across, eye, inputs, orthonormal, run, step, with_letters, world_of
from .values import Depends, Family, columns, entries, listed
from .world import World


def losses(x, exact):
    """The recall loss of each token, row by row, and its gradient by dual numbers."""

    def loss(t):
        misses = lambda S: [a - row @ x.k[t - 1] for a, row in zip(x.v[t - 1], S, strict=True)]
        return lambda S: sum(miss * miss for miss in misses(S)) / 2

    def slope(t):
        return lambda S: gradient(loss(t), S, exact)

    return {r"\mathcal{L}_": Family(loss), r"\nabla\mathcal{L}_": Family(slope)}


@cache
def descent(draw):
    """The delta rule, and the loss of each token."""
    x = run(draw, *inputs(draw, decay=False))
    return with_letters(world_of(draw, x, decay=False), losses(x, draw.exact))


def crossing(draw):
    """Questions y: one at right angles to each key, and one at right angles to none."""
    world = descent(draw)
    keys = world.letters[r"\mathbf{K}"]
    more = draw.anew(2)
    ys = [across(more, keys[t : t + 1]) for t in range(T)] + [more.array(D_K, 1)]
    return with_letters(world, {}, **{r"\boldsymbol{y}": ys})


@cache
def full_steps(draw):
    """beta = 1 / ||k||^2, and for each token a matrix that recalls its pair."""
    q, k, v, alpha, _, S = inputs(draw, decay=False)
    x = run(draw, q, k, v, alpha, 1 / np.sum(k * k, axis=1), S)
    X = draw.anew(2).array(D_V, D_K)

    def recalls(at):
        key, value = k[at["t"] - 1], v[at["t"] - 1]
        return X + np.outer(value - X @ key, key) / (key @ key)

    return with_letters(world_of(draw, x, decay=False), {r"\mathbf{X}": Depends(recalls)})


def trade_off(draw):
    """The least value of the trade-off is that at the loop's state, where beta is as claimed.

    Its minimum is among the candidates, row by row by a solver of least squares, and so are other
    matrices near and far. Two tokens have another strength.
    """
    q, k, v, alpha, beta, S = inputs(draw, decay=False)
    eta = draw.anew(2).number()
    wishes = [np.vstack([key, np.eye(D_K) / np.sqrt(eta)]) for key in k]  # recall, and stay
    gains = [np.linalg.lstsq(A, np.eye(D_K + 1)[:, 0], rcond=None)[0] for A in wishes]
    beta = np.array([g @ key / (key @ key) for g, key in zip(gains, k, strict=True)])
    beta[1], beta[4] = 0.3, 1.2
    x = run(draw, q, k, v, alpha, beta, S)

    def cost(t, X):
        miss, moved = v[t - 1] - X @ k[t - 1], X - x.states[t - 1]
        return sum(miss**2) / 2 + np.sum(moved**2) / (2 * eta)

    def least(t):
        goals = np.hstack([v[t][:, None], x.states[t] / np.sqrt(eta)])
        return np.linalg.lstsq(wishes[t], goals.T, rcond=None)[0].T

    best = [least(t) for t in range(T)]
    candidates = best + x.states + [X + 0.1 * draw.anew(3).array(D_V, D_K) for X in best]
    letters = {"value": Depends(lambda at: cost(at["t"], x.states[at["t"]])), r"\eta": eta}
    world = with_letters(world_of(draw, x, decay=False), losses(x, False) | letters)
    return with_letters(world, {}, **{r"\mathbf{X}": candidates})


def trusts(draw):
    """For a unit key and each trust, the strength of the step that the trade-off asks for."""
    draw = draw.anew()
    k, logits = orthonormal(draw, D_K)[0], draw.array(3)

    def strength(at):
        wishes = np.vstack([k, np.eye(D_K) / np.sqrt(at[r"\eta"])])  # recall, and stay
        return np.linalg.lstsq(wishes, np.eye(D_K + 1)[:, 0], rcond=None)[0] @ k

    ranges = {r"\eta": np.exp(logits), "b": logits}
    return World({r"\beta": Depends(strength)}, ranges=ranges)


@cache
def repeated_key(draw):
    """Four of seven tokens have one unit key; the keys of the others are orthogonal to it."""
    q, k, v, alpha, beta, S = inputs(draw, T=7, decay=False)
    basis, mine = orthonormal(draw.anew(2), D_K), np.array([0, 1, 3, 6])
    k = k[:, 1:] @ basis[1:]
    k[mine] = basis[0]
    x = run(draw, q, k, v, alpha, beta, S)
    kept = 1 - beta[mine]
    after = [0, 1, 3, 5, 7]  # as many tokens have gone by at the end of each stretch
    letters = {
        r"\boldsymbol{k}": basis[0][:, None], r"\mathbf{S}_0": S, r"\beta_": entries(beta[mine]),
        r"\boldsymbol{v}_": columns(v[mine]),
        r"\mathbf{S}": Depends(lambda at: x.states[after[at["m"]]]),
        r"\gamma_": listed([np.prod(kept[:m]) if m else 1 for m in range(5)], 0),
        r"\Gamma_": Family(lambda m, i: np.prod(kept[_index(i, 4) : _index(m, 4)]) if i < m else 1),
    }  # fmt: skip
    return World(letters, ranges={"m": range(5), "i": range(1, 5)})


def _index(i, n):
    return listed(range(n + 1), 0)[(i,)]


@cache
def orthonormal_keys(draw):
    """Two tokens in four dimensions."""
    q, _, v, alpha, beta, S = inputs(draw, T=2, decay=False)
    x = run(draw, q, orthonormal(draw.anew(2), D_K)[:2], v, alpha, beta, S)
    letters = world_of(draw, x, decay=False).letters | {"T": 2}
    return World({key: value for key, value in letters.items() if key != "C"}, {"j": range(1, 3)})


@cache
def one_solution(draw):
    """A matrix X recalls all pairs."""
    q, k, _, alpha, beta, S = inputs(draw, decay=False)
    X = draw.anew(2).array(D_V, D_K)
    x = run(draw, q, k, k @ X.T, alpha, beta, S)
    return with_letters(world_of(draw, x, decay=False), {r"\mathbf{X}": X})


def rounds(draw):
    """Three pairs in four dimensions, written until nothing changes; the change in their keys."""
    _, k, v, _, beta, S_0 = inputs(draw, T=3, decay=False)
    k = k / np.linalg.norm(k, axis=1, keepdims=True)
    S = S_0
    for _ in range(2000):
        S = delta_rule.recurrent(k, k, v, 0.7 + 0.3 * beta, S)[1]
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
def settled(draw):
    """The squared norm that a token leaves as it was, on average: the mean is affine in it."""
    draw, d = draw.anew(), 3
    basis, values, beta = orthonormal(draw, d), draw.array(2, D_V), draw.number()
    S = draw.array(D_V, d)
    written = mean_size(draw, 0 * S, beta, basis, values)
    left = (mean_size(draw, S, beta, basis, values) - written) / np.sum(S * S)
    return World({
        r"\nu_\infty": written / (1 - left), r"\beta": beta, "d_k": d,
        r"\mu": sum(v @ v for v in values) * ((1 + 0 * beta) / len(values)),
    })  # fmt: skip


@cache
def stream(draw):
    """Keys from an orthonormal basis, values +-a and +-b: every sequence of two tokens.

    The claims are linear in k k^T and in v v^T, and the mean of k k^T is I / d_k as it is for
    uniform keys: these few outcomes stand for every such distribution.
    """
    more, d = draw.anew(2), 3
    basis, values = orthonormal(more, d), more.array(2, D_V)
    beta, S = more.number(), more.array(D_V, d)
    tokens = [(k, s * v) for k in basis for v in values for s in (1, -1)]
    states, nu = [S], [np.sum(S * S)]
    one = 1 + 0 * beta
    for _ in range(2):
        states = [step(draw, M, k, v, one, beta) for M in states for k, v in tokens]
        nu.append(sum(np.sum(M * M) for M in states) * (one / len(states)))
    factors = [step(draw, eye(draw, d), k, 0 * k, one, beta) for k in basis]
    outcomes = [(Fraction(1, d), {r"\mathbf{P}_": listed([P, P])}) for P in factors]
    letters = {
        r"\mathbf{P}_": listed(factors[:2]), r"\nu_": listed(nu, 0), r"\beta": beta,
        "d_k": d, r"\mu": sum(v @ v for v in values) * (one / len(values)),
    }  # fmt: skip
    return World(letters, ranges={"t": [1, 2]}, outcomes=outcomes)


def counted_step(draw):
    """The package's own step, run on numbers that count."""
    d_k, d_v = draw.anew().sizes(2, 2, 9)
    return World({"d_k": d_k, "d_v": d_v, r"n_\text{delta}": multiplications_of_a_step(d_v, d_k)})
