r"""Chapter 17's states: the token loop over packed rows, prompts, slots of a pool, calls."""

import itertools
from functools import cache

import numpy as np

from ..token_forms import Tokens, chunkwise
from . import cases
from .cases import case, sizes
from .rule import step
from .values import Depends, Family, Refused, columns, entries, listed
from .world import World

LENGTHS = [(3, 1, 2), (1, 4), (2, 0, 3, 1), (1, 1, 2, 3, 0, 2, 1), (4,)]  # by case


class Row:
    """A row of tokens, with the cases of its draw, and the loop over some of them."""

    def __init__(self, draw, T):
        self.draw, self.T = draw, T
        _, self.d_k, self.d_v = sizes(draw)
        self.k, self.v = cases.keys(draw, T, self.d_k), cases.values(draw, T, self.d_v)
        self.q = cases.queries(draw, self.k)
        self.alpha, self.beta = cases.decays(draw, T), cases.strengths(draw, T)

    def any_state(self):
        """Any numbers in the shape of a state; zeros, or of a low rank, for a draw of these."""
        S = self.draw.array(self.d_v, self.d_k)
        return 0 * S if self.draw.easy == cases.EMPTY else cases.of_rank(self.draw, 1, S)

    def states(self, S, begin, end):
        """The state before token `begin` + 1 and after each token up to `end`."""
        if not 0 <= begin <= end <= self.T:
            raise Refused(f"no tokens {begin}:{end}")
        found = [S]
        for t in range(begin, end):
            found.append(
                step(self.draw, found[-1], self.k[t], self.v[t], self.alpha[t], self.beta[t])
            )
        return found

    def linear(self, begin, end):
        """What the tokens do to a state: the loop from the identity, with nothing to write."""
        F = np.eye(self.d_k, dtype=self.k.dtype)
        for t in range(begin, end):
            nothing = np.zeros(self.d_k, dtype=F.dtype)
            F = step(self.draw, F, self.k[t], nothing, self.alpha[t], self.beta[t])
        return F

    def outputs(self, S, begin, end):
        after = self.states(S, begin, end)[1:]
        return np.array([S @ self.q[t] for t, S in enumerate(after, begin)]).reshape(-1, self.d_v)

    def tokens(self, S, begin, end):
        """The same tokens for the chunk form, in chunks of two."""
        cut = slice(begin, end)
        return Tokens(S, self.q[cut], self.k[cut], self.v[cut], self.alpha[cut], self.beta[cut], 2)


@cache
def packed(draw):
    """Sequences that each begin with a state of their own, in one row of tokens."""
    lengths = LENGTHS[case(draw)]
    x, b = Row(draw, sum(lengths)), [0, *itertools.accumulate(lengths)]
    first = [x.any_state() for _ in lengths]
    alone = [x.states(S, b[n], b[n + 1]) for n, S in enumerate(first)]
    after = [S for states in alone for S in states[1:]]
    before = [S for states in alone for S in states[:-1]]
    owner = [n for n, length in enumerate(lengths) for _ in range(length)]
    deltas = [
        x.beta[t] * (x.v[t] - x.alpha[t] * before[t] @ x.k[t]) for t in range(x.T)
    ]  # fmt: skip
    Gamma = np.array(
        [
            [
                np.prod(x.alpha[i + 1 : t + 1]) * (i <= t and owner[i] == owner[t])
                for i in range(x.T)
            ]
            for t in range(x.T)
        ]
    )
    letters = {
        r"\boldsymbol{q}_": columns(x.q), r"\boldsymbol{k}_": columns(x.k),
        r"\boldsymbol{v}_": columns(x.v), r"\beta_": entries(x.beta), r"\alpha_": entries(x.alpha),
        r"\boldsymbol{\delta}_": columns(np.array(deltas)),
        r"\boldsymbol{o}_": columns(np.array([S @ q for S, q in zip(after, x.q, strict=True)])),
        r"\gamma_": listed([np.prod(x.alpha[b[owner[t]] : t + 1]) for t in range(x.T)]),
        r"\Gamma_": entries(Gamma), r"\mathbf{S}^": listed(first, bracket="("), "b_": listed(b),
        "n": Depends(lambda at: owner[at["t"] - 1] + 1), r"\mathbf{S}_": listed(after),
        r"\tilde{\mathbf{S}}_": listed(x.states(first[0], 0, x.T), 0),
        r"\mathbf{F}_": listed([x.linear(t, t + 1) for t in range(x.T)]),
    }  # fmt: skip
    return World(letters, {letter: range(1, x.T + 1) for letter in "ti"})


@cache
def handed_on(draw):
    """Functions of the first state: all tokens, and a prompt, by chunks; what follows by tokens."""
    x = Row(draw, sizes(draw)[0])
    S = x.any_state()
    states = x.states(S, 0, x.T)

    def form(part, loop):
        """The outputs (0) or the last state (2) of tokens that a slice names."""

        def at(index):
            if not isinstance(index, slice):
                return states[index]
            begin, end = index.start, index.stop
            if not 0 <= begin <= end <= x.T:
                raise Refused(f"no tokens {begin}:{end}")
            if begin == 0 < end:
                return lambda S: chunkwise(x.tokens(S, begin, end))[part]
            return lambda S: loop(S, begin, end)

        return Family(at)

    letters = {
        r"\mathbf{O}_": form(0, x.outputs), "T": x.T,
        r"\mathbf{S}_": form(2, lambda *given: x.states(*given)[-1]),
    }  # fmt: skip
    return World(letters, {"p": range(x.T + 1)})


@cache
def race(draw):
    """Two sets of tokens on one slot: one after the other, and both from what they read first."""
    T, cut = sizes(draw)[0] + 1, case(draw) % 3 + 1
    x = Row(draw, T)
    S = x.any_state()
    bounds = ((0, cut), (cut, T))
    F = [x.linear(*bound) for bound in bounds]
    letters = {
        r"\mathbf{S}": S, r"\mathbf{S}_2": x.states(S, cut, T)[-1], r"\mathbf{F}_": listed(F),
        r"\mathbf{S}_{12}": x.states(S, 0, T)[-1],
        r"\mathbf{G}_": listed([x.states(0 * S, *bound)[-1] for bound in bounds]),
    }  # fmt: skip
    return World(letters)


@cache
def rounded(draw):
    """States rounded after each call of some tokens, minus those that never were."""
    calls, n = [(4, 2), (3, 1), (2, 3), (6, 1), (1, 2)][case(draw)]
    x = Row(draw, calls * n)
    S, *R = [x.any_state() for _ in range(calls + 1)]
    true, off, drift = S, S, []
    for j in range(calls):
        true, off = (x.states(start, n * j, n * (j + 1))[-1] for start in (true, off))
        off = off + R[j]
        drift.append(off - true)
    F = [x.linear(n * j, n * (j + 1)) for j in range(calls)]
    letters = {
        r"\mathbf{D}_": listed(drift), r"\mathbf{R}_": listed(R),
        r"\mathbf{F}_": listed(F, bracket="("),
    }  # fmt: skip
    return World(letters, {"j": range(1, calls + 1), "J": range(1, calls + 1)})


DRIFTS = [  # d_k, tokens of a call, calls
    (2, 3, 2), (3, 1, 4), (4, 2, 1), (2, 1, 6), (2, 5, 2), (2, 6, 2), (3, 2, 2), (5, 1, 2),
    (2, 2, 3), (6, 3, 1), (2, 1, 5), (7, 1, 1), (3, 1, 3), (4, 1, 3), (2, 4, 2), (5, 2, 2),
    (3, 3, 1), (4, 2, 2), (2, 1, 3), (2, 5, 1), (6, 1, 2), (3, 2, 3), (2, 2, 4),
]  # fmt: skip


@cache
def drift(draw):
    """The mean over all keys of a basis and all signs of the roundings, each case computed.

    The square of an error asks for the mean of k k^T alone, which a basis shares with all
    directions. Roundings are epsilon times a matrix as large as the state.
    """
    d_k, n, J = DRIFTS[draw.seed % len(DRIFTS)]
    alpha, beta, epsilon = draw.between(0.5, 0.95, 1)[0], draw.number(), draw.number()
    S, one = draw.array(1, d_k), np.eye(d_k, dtype=int)
    factors = [alpha * (one - beta * np.outer(k, k)) for k in one]
    R = [epsilon * np.roll(S, j) for j in range(J)]
    total = 0
    for signs in itertools.product((1, -1), repeat=J):
        for keys in itertools.product(range(d_k), repeat=n * (J - 1)):
            D = 0 * S
            for j in range(J):
                for key in keys[n * (j - 1) : n * j] if j else ():
                    D = D @ factors[key]
                D = D + signs[j] * R[j]
            total = total + np.sum(D * D)
    size = np.sum(S * S)
    token = sum(np.sum((S @ F) ** 2) for F in factors)
    letters = {
        "value": total / (2**J * d_k ** (n * (J - 1))) / size, r"\lambda": token / d_k / size,
        r"\epsilon": epsilon, r"\alpha": alpha, r"\beta": beta, "d_k": d_k,
        "n": n, "J": J, "d_v": draw.anew(5).numbers(1, 1, 9)[0],
    }  # fmt: skip
    return World(letters)
