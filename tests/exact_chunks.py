"""The chunk form of `exact_data` in whole numbers: a proof that the kernels round nothing.

`Exact` is an array of whole numbers and one power of two, and remembers what the terms of its sums
come to in absolute value. In units of the least bit of any term that must stay below 2^24: then
float32 holds every partial sum, whatever the order. `rounded(bits)` asserts that each number has
at most so many significant bits, and so comes out of a rounding as it went in:

8     bfloat16: what enters a product in the dtype of the inputs, and dV and the states in memory
11    float16 and tf32: the transform, and what it is multiplied with

Every intermediate value of the kernels is formed here, for chunks of C tokens, all chunks side by
side; the states between them come from the token loop, and what the chunks find must be what the
token loop finds. `needed` returns the bits of each kind that were needed.
"""

from types import SimpleNamespace

import numpy as np
from exact_data import UNIT, derivatives, in_float, recurrence

NOTHING = 150  # 2^-150 is zero in float32


class Exact:
    bits = {}  # needed so far, of each kind

    def __init__(self, n, e=0, terms=None):
        """`n 2^-e`; `terms` is a bound of its partial sums, in the same units."""
        low = int(np.bitwise_or.reduce(n, axis=None)) if terms is None else 1
        zeros = max((low & -low).bit_length() - 1, 0)
        self.n, self.e = n >> zeros, e - zeros
        self.terms = abs(self.n) if terms is None else terms
        note(24, int(self.terms.max(initial=0)).bit_length())

    def leaf(self):
        """The value alone: a register, an operand."""
        return Exact(self.n, self.e)

    def rounded(self, bits):
        low = self.n & -self.n
        note(bits, int(abs(self.n // np.maximum(low, 1)).max(initial=0)).bit_length())
        x = self.leaf()
        assert x.e <= 24 and abs(in_float(x.n, x.e)).max(initial=0) < 2**15, "for float16"
        return x

    def __matmul__(self, other):
        a, b = self.leaf(), other.leaf()
        # whole numbers far below 2^53, or `note` fails
        n, terms = (p.astype(np.float64) @ r for p, r in ((a.n, b.n), (abs(a.n), abs(b.n * 1.0))))
        return Exact(n.astype(np.int64), a.e + b.e, terms.astype(np.int64))

    def __mul__(self, other):
        a, b = self.leaf(), other.leaf()
        return Exact(a.n * b.n, a.e + b.e, abs(a.n * b.n))

    def __add__(self, other):
        e = max(self.e, other.e)
        n, terms = (
            (getattr(self, x) << (e - self.e)) + (getattr(other, x) << (e - other.e))
            for x in ("n", "terms")
        )
        return Exact(n, e, terms)

    def __neg__(self):
        return Exact(-self.n, self.e, self.terms)

    def __sub__(self, other):
        return self + -other

    def sum(self, axis):
        return Exact(self.n.sum(axis), self.e, self.terms.sum(axis))

    def part(self, *index):
        return Exact(self.n[index], self.e, self.terms[index])

    def over(self, shape):
        return Exact(self.n.reshape(shape), self.e, self.terms.reshape(shape))

    @property
    def mT(self):
        return Exact(np.swapaxes(self.n, -1, -2), self.e, np.swapaxes(self.terms, -1, -2))

    def weighs(self, other):
        """`self * other`, for sums of which parts may be taken before others are there."""
        a = self.leaf()
        return Exact(a.n * other.n, a.e + other.e, abs(a.n) * other.terms)

    def of_group(self, heads):
        """`[M, HV, ...]`, summed over the value heads of a key head."""
        M, HV, *rest = self.n.shape
        return self.over((M, heads, HV // heads, *rest)).sum(2)

    def each(self, heads):
        """Sums of key heads, for each of so many value heads."""
        group = heads // self.n.shape[1]
        return Exact(self.n.repeat(group, 1), self.e, self.terms.repeat(group, 1))

    def is_(self, expected):
        assert np.array_equal(in_float(self.n, self.e), expected)


def note(kind, bits):
    assert bits <= kind, f"{bits} bits where there are {kind}"
    Exact.bits[kind] = max(Exact.bits.get(kind, 0), bits)


def power(halvings):
    """`2^-halvings`, or zero."""
    there = halvings < NOTHING
    most = int(halvings.max(initial=0, where=there))
    return Exact(np.where(there, 1 << np.where(there, most - halvings, 0), 0), most)


def columns(x):
    """A number for each token, for matrices whose rows are tokens."""
    return x.over((*x.n.shape, 1))


def chunks(x, C):
    """First tokens and ends, and the tokens as `[M, C]` indices; -1 where there is none."""
    bounds = [
        (n, t, min(t + C, x.ends[n + 1]))
        for n in range(len(x.S_))
        for t in range(x.ends[n], x.ends[n + 1], C)
    ]
    index = np.array([[t + i if t + i < end else -1 for i in range(C)] for _, t, end in bounds])
    return bounds, index


def tokens(x, C):
    """All chunks, `[M, HV, C, ...]`: what the transform has, and the inputs."""
    bounds, index = chunks(x, C)
    HV = x.v_.shape[1]

    def of_chunks(a):
        return np.moveaxis(np.concatenate([a, 0 * a[:1]])[index], 1, 2)

    y = SimpleNamespace(bounds=bounds, index=index)
    y.q, y.k = (Exact(of_chunks(a)).each(HV).rounded(8) for a in (x.q, x.k))
    y.v, y.do = Exact(of_chunks(x.v_), UNIT).rounded(8), Exact(of_chunks(x.do)).rounded(8)
    y.beta = columns(Exact(of_chunks(x.twice_beta), 1))
    y.scale = Exact(np.array(1), x.shift)
    c = of_chunks(x.halvings).cumsum(-1)
    lower = np.tri(C, dtype=bool)
    y.Gamma = power(np.where(lower, c[..., :, None] - c[..., None, :], NOTHING))
    y.gamma, y.to_end = columns(power(c)), columns(power(c[..., -1:] - c))
    y.whole = columns(power(c[..., -1:]))
    y.before = Exact(np.tri(C, k=-1, dtype=np.int64))
    y.kk = y.k @ y.k.mT
    y.A = (y.beta * y.Gamma * y.kk * y.before).rounded(11)
    y.T = inverse(y.A).rounded(11).rounded(8)
    y.UT = (y.T * y.beta.mT).rounded(11)
    return y


def inverse(A):
    """`(I + A)^-1` row by row; then all sums that block by block it is made of."""
    C = A.n.shape[-1]
    T = Exact(np.broadcast_to(np.eye(C, dtype=np.int64), A.n.shape))
    for s in range(1, C):
        row = np.zeros((C, 1), np.int64)
        row[s] = 1
        T = (T - Exact(row) * (A.part(..., slice(s, s + 1), slice(None)) @ T)).leaf()
    for n in (16, 32):  # in pairs
        for first in range(0, C - n, 2 * n):
            join(A, T, slice(first + n, first + 2 * n), slice(first, first + n))
    for first in range(16, C, 16):  # a row of blocks after the other
        join(A, T, slice(first, first + 16), slice(0, first))
    return T


def join(A, T, late, early):
    X = (A.part(..., late, early) @ T.part(..., early, early)).rounded(11)
    found = -(T.part(..., late, late) @ X)
    found.is_(in_float(T.part(..., late, early).n, T.e))


def chunk(S, y, v):
    """The residual, delta and the next state."""
    S = S.rounded(8)
    R = (v - y.gamma * (y.k @ S.mT)).rounded(11)
    E = y.T @ (y.beta * R).rounded(11)
    (y.UT @ R).is_(in_float(E.n, E.e))
    E = E.rounded(8)
    return R, E, y.whole * S + (y.to_end * E).rounded(8).mT @ y.k


def prove(x, C):
    """Both passes, in chunks of C tokens; `[M, HV, C, ...]`."""
    o_, last_, way = recurrence(x)
    expected, coming = derivatives(x)
    y = tokens(x, C)
    H, HV = x.k.shape[1], x.v_.shape[1]
    there = y.index >= 0

    def is_(found, right):
        """A result, tokens first; of what pads a chunk nothing is expected."""
        Exact(np.moveaxis(found.n, 1, 2)[there], found.e).is_(right)

    def states(of_chunk):
        return Exact(np.stack([of_chunk(*bounds) for bounds in y.bounds]), UNIT)

    S = states(lambda n, t, end: x.S_[n] if t == x.ends[n] else way[t - 1][3])
    R, E, S_next = chunk(S, y, y.v)
    is_(E, in_float(np.stack([delta for _, _, delta, _ in way]), UNIT))
    S_next.is_(in_float(np.stack([way[end - 1][3] for *_, end in y.bounds]), UNIT))
    qk = y.q @ y.k.mT
    scores = (y.scale * y.Gamma * qk).rounded(8)
    is_(y.scale * y.gamma * (y.q @ S.mT) + scores @ E, in_float(o_, UNIT))

    # backwards
    dS = states(lambda n, t, end: coming[end - 1]).rounded(8)
    dE = (y.to_end * (y.k @ dS.mT) + scores.mT @ y.do).rounded(8)
    Z = (y.T.mT @ dE).rounded(8)
    small = y.beta.n == 0
    stands = (Exact(np.where(small, 1 << y.beta.e, y.beta.n), y.beta.e) * Z).rounded(8)
    rest = Exact(np.where(small, 0, 1))
    dV = y.beta * Z
    is_(dV, expected["v"])
    queried, reads = ((y.gamma * a).rounded(8) for a in (y.scale * y.do, dV))
    dS_before = y.whole * dS + queried.mT @ y.q - reads.mT @ y.k
    first = [m for m, (n, t, _) in enumerate(y.bounds) if t == x.ends[n]]
    filled = [n for n in range(len(x.S_)) if x.ends[n] < x.ends[n + 1]]
    dS_before.part(first).is_(expected["initial_state"][filled])
    X = (y.scale * y.Gamma * (y.do @ E.mT)).rounded(8)
    Y = y.before * y.Gamma * (stands @ E.mT)
    N = -(rest * Y).rounded(8)
    dq = (queried @ S + X @ y.k).of_group(H)
    dk = (y.to_end * E).rounded(8) @ dS - reads @ S + X.mT @ y.q + (N + N.mT) @ y.k
    dk = dk.of_group(H)
    is_(dq, expected["q"])
    is_(dk, expected["k"])
    dbeta = (stands * R).sum(-1) - (Y * y.kk).sum(-1)
    factor = np.where(small, 1, y.beta.n / 2**y.beta.e)[..., 0]
    assert np.array_equal(
        np.moveaxis(in_float(dbeta.n, dbeta.e) / factor, 1, 2)[there], expected["beta"]
    )

    # dg, from sums of all kinds, some of them less what they were before
    J = X * qk + N * y.kk
    (stands * y.v).sum(-1)
    k_reads = rest.over(rest.n.shape[:3]) * (stands * (y.gamma * (y.k @ S.mT))).sum(-1)
    a = (y.q * (queried @ S)).sum(-1) - k_reads
    b = (y.k * ((y.to_end * E) @ dS - reads @ S)).sum(-1) + k_reads
    old = y.whole.over(y.whole.n.shape[:3]) * (S * dS).sum(-1).sum(-1).over((*S.n.shape[:2], 1))
    everything = J.sum(-1) + J.sum(-1) + a + b
    for x_, dx in ((y.q, dq), (y.k, dk)):
        sums = x_.weighs(dx.each(HV)).sum(-1)
        everything += sums + sums
    everything.sum(-1) + old.sum(-1)
    late = Exact(np.tri(C, dtype=np.int64).T)
    dg = ((late @ J) * y.before).sum(-1) + (late @ columns(a)).sum(-1) + old
    is_(dg + (y.before @ columns(b)).sum(-1), expected["g"])


def prove_maps(x, length, C=64):
    """Maps of whole segments of one sequence, and the states that they lead to; the maps.

    A map is the state from nothing above what becomes of each column, `[HV, V + K, K]`.
    """
    way, y = recurrence(x)[2], tokens(x, C)
    (HV, V), K = y.v.n.shape[1:4:2], y.k.n.shape[3]
    rows = np.concatenate([np.zeros((V, K), np.int64), np.eye(K, dtype=np.int64)])
    state, maps = Exact(x.S_[0], UNIT), []
    for first in range(0, int(x.ends[-1]) // length * (length // C), length // C):
        S = Exact(np.broadcast_to(rows, (HV, V + K, K)))
        for m in range(first, first + length // C):
            one = SimpleNamespace(**{
                n: a.part(m) for n, a in vars(y).items() if isinstance(a, Exact) and a.n.ndim == 4
            })  # fmt: skip
            values = Exact(np.concatenate([one.v.n, np.zeros((HV, C, K), np.int64)], -1), one.v.e)
            _, _, S = chunk(S, one, values)
        maps.append(S.rounded(11))
        G, F = (S.part(slice(None), part).leaf() for part in (slice(V), slice(V, None)))
        state = (state.rounded(11) @ F + G).leaf()
        state.is_(in_float(way[y.bounds[m][2] - 1][3], UNIT))
    return maps
