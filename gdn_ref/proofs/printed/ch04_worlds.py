"""The worlds of chapter 4: stretches of decay, a fading stream, the gate."""

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from ... import scalar_decay
from . import cases
from .cases import DEPENDENT, GENERIC, LONG, SINGLE, UNIT, case, sizes
from .draws import Draw
from .memory import decays, fading, weights
from .numbers import Dual
from .values import Depends, Refused, entries, listed
from .world import World

RESET = {GENERIC: 3, UNIT: 2, DEPENDENT: 4, LONG: 1, SINGLE: None}  # the token that drops all


def tokens(draw):
    return range(1, sizes(draw)[0] + 1)


def stretches(draw):
    """Tokens one of which resets the memory."""
    letters = fading(draw, reset=RESET[case(draw)]).letters
    return World(letters, ranges={letter: tokens(draw)[:6] for letter in "rij"})


def logarithms(draw):
    """Log-decays, and the logarithm of what the token loop leaves of a first state."""
    alpha = decays(draw)
    gamma, Gamma = weights(draw, alpha)
    letters = {
        "g_": entries(np.log(alpha)), "c_": entries(np.log(gamma), 0), r"\alpha_": entries(alpha),
        r"\gamma_": entries(gamma, 0), r"\Gamma_": entries(Gamma),
    }  # fmt: skip
    return World(letters, ranges={letter: tokens(draw) for letter in "rij"})


def reset_logarithms(draw):
    """The mask where one token resets the memory: its log-decay is minus infinity."""
    alpha = decays(draw, reset=RESET[case(draw)])
    with np.errstate(divide="ignore"):
        letters = {"g_": entries(np.log(alpha)), r"\Gamma_": entries(weights(draw, alpha)[1])}
    return World(letters, ranges={letter: tokens(draw) for letter in "rij"})


def masked_sums(draw):
    """`y`, the mask times any x."""
    alpha = decays(draw)
    x = draw.anew(2).array(len(alpha))
    y = weights(draw, alpha)[1] @ x
    y = entries(np.append(0 * y[:1], y), 0)
    return World(
        {r"\alpha_": entries(alpha), "x_": entries(x), "y_": y}, ranges={"r": tokens(draw)}
    )


@cache
def blocks(draw):
    """A run cut after token m: readers R, writers I, and the decays from and to the cut.

    One token alone has no cut: there the longest run is cut once more. A reset is the first reader.
    """
    if case(draw) == SINGLE:  # beside an empty state, with a reset of a writer
        world = fading(Draw(True, 1, cases.RESET if draw.easy == cases.EMPTY else ""))
    else:
        world = fading(draw)
    T = world.letters["C"]
    m = {GENERIC: T - 3, UNIT: 2, DEPENDENT: 4, LONG: 9, SINGLE: 13}[case(draw)]
    m = T // 2 if draw.easy == cases.RESET else m
    Gamma, K, Q = (world.letters[x] for x in (r"\boldsymbol{\Gamma}", r"\mathbf{K}", r"\mathbf{Q}"))
    letters = {
        "m": m, "R": np.arange(m + 1, T + 1), "I": np.arange(1, m + 1),
        r"\boldsymbol{\Gamma}": Gamma, r"\mathbf{Q}": Q, r"\mathbf{K}": K,
        r"\mathbf{Q}_R": Q[m:], r"\mathbf{K}_I": K[:m],
        r"\mathbf{D}_R": np.diag(Gamma[m:, m - 1]), r"\mathbf{D}_I": np.diag(Gamma[m - 1, :m]),
    }  # fmt: skip
    return World(letters)


def halved(weight):
    """How many tokens it takes until `weight(n)`, which falls, is one half: by bisection."""
    low, high = 0.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if weight(middle) > 0.5 else (low, middle)
    return low


def constant(draw):
    """One decay for all tokens: about a half, nearly 1, and hardly above 0."""
    half = draw.anew().number(0.4, 0.6)
    alpha = (half, 1 - half / 10, half / 100)[draw.seed % 3]
    most = int(-18 / np.log(alpha))
    half_life = halved(lambda n: alpha**n)
    letters = {r"\alpha": alpha, "g": np.log(alpha), "n_{1/2}": half_life}
    return World(letters, ranges={"n": [*range(1, min(most, 24)), most]}, near=1e-7)


def simplex(d):
    """d + 1 unit vectors in d dimensions with mean zero and the mean `k k^T` = I / d."""
    centred = np.eye(d + 1) - 1 / (d + 1)
    axes = np.linalg.svd(centred)[2][:d].T
    return axes / np.linalg.norm(axes, axis=1, keepdims=True)


@cache
def stream(draw):
    """The loop's error at one key, averaged over the keys of the other tokens.

    It is quadratic in those keys, so two of them at a time count, and of each its mean and the
    mean of `k k^T`: uniform keys share them with the corners of a simplex, of which each token has
    one by a line of its own through a space over a prime field, for all points of the space: any
    two tokens have each pair of corners as often. So many tokens are as good as endless: the rest
    of the weights is below 1e-11.
    """
    prime, d = [(2, 7), (5, 3), (13, 2), (3, 4), (7, 2), (11, 2)][draw.seed % 6]
    points = np.array(list(product(range(prime), repeat=d)))
    lines = np.array([p for p in points if p.any() and p[np.flatnonzero(p)[0]] == 1])
    d_k, d_v, count = prime - 1, 2 + draw.seed // 2 % 4, len(lines)
    ages = ((0, 1, 2), (0, 3, 4), (0, 1, 5))[draw.seed % 3]
    draw = draw.anew()
    alpha = draw.number(0.9, 1) * np.exp(-12.7 / count)
    v, asked = draw.array(count, d_v), draw.array(d_k)
    v, asked = v / np.linalg.norm(v, axis=1, keepdims=True), asked / np.linalg.norm(asked)
    keys = simplex(d_k)[points @ lines.T % prime]  # [cases, tokens by age, d_k]
    errors = {}
    for m in ages:
        k = keys.copy()
        k[:, m] = asked
        oldest_first = k[:, ::-1], np.broadcast_to(v[::-1], (len(k), count, d_v))
        g = np.full((len(k), count), np.log(alpha))
        _, S = scalar_decay.recurrent(oldest_first[0], *oldest_first, g)
        errors[m] = (S @ asked - alpha**m * v[m])[:, :, None]
    e = r"\boldsymbol{e}"
    outcomes = [
        (1 / len(keys), {e: Depends(lambda at, n=n: errors[at["m"]][n])}) for n in range(len(keys))
    ]
    letters = {r"\alpha": alpha, "d_k": d_k, "d_v": d_v}
    return World(letters, {"m": ages, "j": range(count)}, outcomes)


def steepest(m):
    """The decay at which the signal of the token m back is largest against the crosstalk of all
    others, which is summed in eq-decay-recall: where the derivative of their ratio changes its
    sign, by bisection."""

    def slope(alpha):
        u = Dual(alpha, 1) * alpha
        signal = 1
        for _ in range(m):
            signal = signal * u
        return (signal / (1 / (1 - u) - signal)).change

    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low


def best_decays(draw):
    """The best decay for each of some ages."""
    best = {m: steepest(m) for m in range(1, 10)}
    return World({r"\alpha_\ast": Depends(lambda at: best[at["m"]])}, ranges={"m": list(best)})


@dataclass(frozen=True, eq=False)
class Change:
    """What is divided by another is a derivative, and no number alone: `by` has those by inputs
    that are not 0, and an input has none."""

    by: dict | None = None

    def __truediv__(self, other):
        if not isinstance(other, Change) or other.by is not None:
            raise Refused("a derivative by what is no input")
        return int(self is other) if self.by is None else self.by.get(other, 0)

    def alone(self, other):
        raise Refused("a change alone is no number")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __rtruediv__ = alone


def gate(draw):
    """The package's gate, with an A above 1 and below, and its derivatives by autograd."""
    import torch  # here: all other worlds of the chapter need none

    from ... import ops

    draw, T = draw.anew(), sizes(draw)[0]
    a, bias, A_log = draw.array(T), draw.number(), draw.number() * (1, -1, 1)[draw.seed % 3]
    leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (a, [A_log] * T)]
    g = ops.log_decay(leaves[0], leaves[1], torch.tensor(bias, dtype=torch.float64))
    by_a, by_A_log = (d.numpy() for d in torch.autograd.grad(g.sum(), leaves))
    g, A, inputs = g.detach().numpy(), Change(), [Change() for _ in range(T)]
    changes = [Change({a: by, A: more}) for a, by, more in zip(inputs, by_a, by_A_log, strict=True)]
    letters = {
        "A": np.exp(A_log), "x_": entries(a + bias), "g_": entries(g),
        r"\alpha_": entries(np.exp(g)),
        r"\sigma": lambda x: float(torch.sigmoid(torch.tensor(x, dtype=torch.float64))),
        r"\partial g_": listed(changes), r"\partial a_": listed(inputs),
        r"\partial\texttt{A\_log}": Depends(lambda at: A),
    }  # fmt: skip
    return World(letters, ranges={"t": tokens(draw)})
