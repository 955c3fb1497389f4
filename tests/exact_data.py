"""Data on which no operation of the kernels rounds, and the token loop on them in whole numbers.

A sum of floating-point numbers has the same bits in any order only if no partial sum is rounded. So
these tokens are made of small whole numbers and powers of two:

keys      +-e_a, +-e_a +- e_b and +-2 e_a, mostly from ten dimensions that change now and then, so
          that many overlap; queries likewise, from the same dimensions
beta      0, 1/2, 1 and 2, such that I - beta k k^T is the identity, a halving, a projection, a
          reflection or an exchange: it makes no number larger, and T_inv, of whatever order, stays
          small
alpha     1, 1/2, 1/4 and 0, other ones for each value head. Between two resets (alpha = 0) there
          are at most `HALVINGS` halvings, alphas and betas together, each of which may cost a bit
v         what is read, plus a few whole numbers: so S stays within `LIMIT`, and v need not be whole
dO        a few whole numbers for each token, fewer where dS would leave `LIMIT`

First states and the gradients of last ones are dense, and what is in a state crosses chunks of any
size. What the numbers need is in `exact_chunks`, which proves it: 8 bits for whatever enters a
product in the inputs' dtype, 11 for what is float16 or tf32, 24 for sums. So one set of data does
for all dtypes.

As a natural log a halving is n ln 2, rounded to float32. Times log2(e) that is n (1 + 2.7e-9) in
float64 and rounds to n in float32, for n = 1 and 2; and so do the differences of cumulative sums.
(For n = 13 it does not.) exp2 of a whole number is exact, and of -150 or less it is zero.

The token loop is in int64, in units of 2^-UNIT; `halve` fails where a bit would fall off.
"""

from dataclasses import dataclass

import numpy as np
import torch

UNIT = 20
HALVINGS = 4
LIMIT = 3
RESET = 160  # halvings
PERIODS = (7, 25, 50, 110)  # tokens from one reset to the next
BUSY = 10  # key dimensions


@dataclass(frozen=True)
class Tokens:
    """Sequences one after the other; numbers with a `_` in units of 2^-UNIT."""

    q: np.ndarray  # [T, H, K]
    k: np.ndarray  # [T, H, K]
    v_: np.ndarray  # [T, HV, V]
    halvings: np.ndarray  # [T, HV], alpha = 2^-halvings
    twice_beta: np.ndarray  # [T, HV]
    S_: np.ndarray  # [N, HV, V, K]
    do: np.ndarray  # [T, HV, V], the gradient of the outputs
    dS_: np.ndarray  # [N, HV, V, K], the gradient of the last states
    ends: np.ndarray  # [N + 1]
    shift: int  # scale = 2^-shift

    def keys(self, t):
        """Query and key of each value head."""
        group = self.v_.shape[1] // self.k.shape[1]
        return self.q[t].repeat(group, 0), self.k[t].repeat(group, 0)


def draw(lengths, H=1, HV=2, K=12, V=7, decays=True, shift=1, seed=0):
    """Sequences of these lengths."""
    random = np.random.default_rng([seed, K, V, len(lengths)])
    T, N = sum(lengths), len(lengths)
    schedules = [schedule(random, n, decays) for n in lengths for _ in range(HV)]
    halvings, may_halve = (
        np.concatenate(
            [np.stack([s[i] for s in schedules[n * HV : n * HV + HV]], 1) for n in range(N)]
        )
        for i in (0, 1)
    )
    busy = [[random.permutation(K)[:BUSY] for _ in range(0, T, 40)] for _ in range(H)]
    q, k = (np.stack([directions(random, T, K, b) for b in busy], 1) for _ in range(2))
    norms = (k * k).sum(-1).repeat(HV // H, 1)
    twice_beta = np.where(norms > 1, 2, random.choice((2, 2, 4), (T, HV)))
    twice_beta[may_halve] = 1
    twice_beta[norms == 4] = 1
    twice_beta[random.random((T, HV)) < 0.12] = 0
    v_, do = (few(random, (T, HV, V)) for _ in range(2))  # delta at first, in the place of v
    S_, dS_ = (random.integers(-2, 3, (N, HV, V, K)) << UNIT for _ in range(2))
    x = Tokens(q, k, v_, halvings, twice_beta, S_, do, dS_, np.cumsum([0, *lengths]), shift)
    for n in range(N):
        surprise(x, n, random)
        answer(x, n)
    return x


def schedule(random, T, decays):
    """Halvings of each token, and where beta may halve."""
    halvings, may_halve = np.zeros(T, np.int64), np.zeros(T, bool)
    begin = 0
    while begin < T:
        length = int(random.choice(PERIODS)) if decays else T
        for spot in begin + random.integers(0, length, HALVINGS):
            if spot < T and decays and random.random() < 0.75:
                halvings[spot] += 1
            elif spot < T:
                may_halve[spot] = True
        if begin:
            halvings[begin] = RESET
        begin += length
    halvings[(halvings > 2) & (halvings < RESET)] = 2
    return halvings, may_halve


def directions(random, T, K, busy):
    """Whole-numbered vectors of norm 1, sqrt(2) or 2."""
    x = np.zeros((T, K), np.int64)
    for t in range(T):
        a, b = random.choice(busy[t // 40] if random.random() < 0.9 else K, 2, replace=False)
        kind = random.random()
        x[t, a] = 2 if kind < 0.15 else 1
        x[t, b] = kind > 0.55
        x[t] *= random.choice((-1, 1), K)
    return x


def few(random, shape):
    """Mostly zeros."""
    size = random.choice((1, 1, 2), shape) * random.choice((-1, 1), shape)
    return size * (random.random(shape) < 5 / shape[-1])


def surprise(x, n, random):
    """Of a sequence: v such that delta is what stands in its place, where S then stays small."""
    S = x.S_[n]
    for t in range(x.ends[n], x.ends[n + 1]):
        _, k = x.keys(t)
        S = decayed(S, x.halvings[t])
        twice = x.twice_beta[t][:, None]
        delta = np.where(twice > 0, x.v_[t] << UNIT, 0)
        new = S + outer(delta, k)
        delta = np.where(abs(new).max(-1) <= LIMIT << UNIT, delta, 0)
        free = random.integers(-2, 3, delta.shape) << UNIT  # what is not written
        x.v_[t] = np.where(twice > 0, times(S, k) + 2 * delta // np.maximum(twice, 1), free)
        S = S + outer(delta, k)


def answer(x, n):
    """Of a sequence: less of dO, where dS would not stay small."""
    dS = x.dS_[n]
    for t in reversed(range(x.ends[n], x.ends[n + 1])):
        q, k = x.keys(t)
        new = dS + halve(outer(x.do[t] << UNIT, q), x.shift)
        x.do[t] = np.where(abs(new).max(-1) <= LIMIT << UNIT, x.do[t], 0)
        dS = dS + halve(outer(x.do[t] << UNIT, q), x.shift)
        dE = halve(x.twice_beta[t][:, None] * times(dS, k), 1)
        dS = decayed(dS - outer(dE, k), x.halvings[t])


# The token loop, `[HV, V, K]` at a time


def outer(a, b):
    return a[:, :, None] * b[:, None, :]


def times(S, k):
    return (S * k[:, None, :]).sum(-1)


def halve(x, n):
    assert not (x & ((1 << n) - 1)).any(), "a bit falls off"
    return x >> n


def decayed(S, halvings):
    """`alpha S`."""
    return np.stack(
        [0 * s if n == RESET else halve(s, n) for s, n in zip(S, halvings, strict=True)]
    )


def recurrence(x):
    """`o` [T, HV, V] and last states, units of 2^-UNIT, and what the way back needs of the way.

    S = alpha S,   delta = beta (v - S k),   S = S + delta k^T,   o = scale S q
    """
    o, last, way = np.zeros_like(x.v_), np.zeros_like(x.S_), []
    for n in range(len(x.S_)):
        S = x.S_[n]
        for t in range(x.ends[n], x.ends[n + 1]):
            q, k = x.keys(t)
            old = decayed(S, x.halvings[t])
            wrong = x.v_[t] - times(old, k)
            delta = halve(x.twice_beta[t][:, None] * wrong, 1)
            S = old + outer(delta, k)
            o[t] = halve(times(S, q), x.shift)
            way.append((old, wrong, delta, S))
        last[n] = S
    return o, last, way


def derivatives(x):
    """Of `<dO, o> + <dS', S'>`, by name, each line of the token loop backwards; and dS by token.

    As floating-point numbers: exact, since far less than 53 bits are used.
    """
    _, _, way = recurrence(x)
    group, count = x.v_.shape[1] // x.k.shape[1], len(x.k)
    dq, dk = (np.zeros((count, *x.v_.shape[1:2], x.k.shape[2]), np.int64) for _ in range(2))
    dv, dS_first = np.zeros_like(x.v_), np.zeros_like(x.S_)
    dg, dbeta = np.zeros_like(x.halvings), np.zeros_like(x.halvings)
    coming = [None] * count
    for n in range(len(x.S_)):
        dS = x.dS_[n]
        for t in reversed(range(x.ends[n], x.ends[n + 1])):
            q, k = x.keys(t)
            old, wrong, delta, S = way[t]
            coming[t] = dS
            do = x.do[t][:, :, None]
            dq[t] = halve((S * do).sum(1), x.shift) << UNIT
            dS = dS + halve(do * q[:, None, :] << UNIT, x.shift)
            dk[t] = (dS * delta[:, :, None]).sum(1)
            ddelta = times(dS, k)
            dbeta[t] = (ddelta * wrong).sum(-1)
            dv[t] = halve(x.twice_beta[t][:, None] * ddelta, 1)
            dk[t] -= (old * dv[t][:, :, None]).sum(1)
            dS = dS - outer(dv[t], k)
            dg[t] = (dS * old).sum((1, 2))  # of g = log(alpha): alpha dS . S, before the decay
            dS = decayed(dS, x.halvings[t])
        dS_first[n] = dS
    dq, dk = (d.reshape(count, -1, group, d.shape[-1]).sum(2) for d in (dq, dk))
    found = {"q": (dq, 2), "k": (dk, 2), "v": (dv, 1), "g": (dg, 2), "beta": (dbeta, 2)}
    found["initial_state"] = (dS_first, 1)
    return {name: in_float(d, units * UNIT) for name, (d, units) in found.items()}, coming


def in_float(x, bits):
    assert abs(x).max(initial=0) < 2**53
    return np.ldexp(x.astype(np.float64), -bits)


# What the kernels get


def arguments(x, B=1, dtype=torch.float32, device="cpu", v_first=False):
    """Tensors for the kernels, by name: B padded sequences, or one row of packed ones."""
    g = -x.halvings * np.float64(np.float32(np.log(2)))
    given = {
        "q": x.q, "k": x.k, "v": in_float(x.v_, UNIT), "g": np.where(g < -100, -np.inf, g),
        "beta": x.twice_beta / 2,
    }  # fmt: skip
    given = {name: tensor(a, B).to(dtype if name in "qkv" else torch.float32)
             for name, a in given.items()}  # fmt: skip
    given["initial_state"] = state(x.S_, v_first)
    return {name: a.to(device) for name, a in given.items()}


def tensor(a, B=1):
    """Of all tokens: `[T, ...]` as `[B, T / B, ...]`."""
    return torch.from_numpy(a.reshape(B, len(a) // B, *a.shape[1:]))


def state(S_, v_first=False):
    S = torch.from_numpy(in_float(S_, UNIT)).float()
    return S if v_first else S.mT.contiguous()


def packed(x, device="cpu"):
    return torch.from_numpy(x.ends).to(device)
