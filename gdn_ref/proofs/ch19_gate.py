"""Chapter 19: how long a fresh head remembers, and what padding does to a memory."""

import numpy as np
import torch
from torch.nn.functional import softplus

from ..layers import GatedDeltaNetCache
from .ch19_block import GATE, hard_layer, tokens
from .data import relative_error, worst
from .page import on_page
from .registry import verifies

A, DT = (0.01, 16.0), (1e-3, 1e-1)  # where exp(A_log) and softplus(dt_bias) start


def below(rate, A=A, dt=DT, log=np.log, clip=True):
    """The probability that A times Delta is below `rate` (eq-gate-start)."""
    rate = np.asarray(rate, dtype=float)
    low, high = np.clip(rate / A[1], *dt), np.clip(rate / A[0], *dt)
    if not clip:
        low, high = dt[0], dt[1]
    middle = rate * (1 / low - 1 / high) - A[0] * log(high / low)
    return (log(low / dt[0]) + middle / (A[1] - A[0])) / log(dt[1] / dt[0])


def longer(tokens, **ranges):
    """The share of fresh heads whose half-life at a = 0 is more than so many tokens."""
    return below(np.log(2) / np.asarray(tokens, dtype=float), **ranges)


def by_quadrature(rate, A=A, dt=DT, points=60):
    """The same probability, averaged over A: for each A the logarithm of Delta decides."""
    node, weight = np.polynomial.legendre.leggauss(points)
    kinks = np.clip([A[0], rate / dt[1], rate / dt[0], A[1]], *A)
    total = 0.0
    for start, end in zip(np.log(kinks[:-1]), np.log(kinks[1:]), strict=True):
        a = np.exp((end - start) / 2 * node + (end + start) / 2)
        share = np.clip(np.log(rate / (a * dt[0])) / np.log(dt[1] / dt[0]), 0, 1)
        total += (end - start) / 2 * (weight * a * share).sum()
    return total / (A[1] - A[0])


@verifies(
    "eq-gate-start",
    method="float64",
    covers="40 rates over the whole range, against an integral over the other variable",
    mutants={
        "bounds not cut": {"clip": False},
        "A from zero": {"A": (0.0 + 1e-9, 16.0)},
        "Delta uniform, not its logarithm": {"log": lambda x: x - 1},
    },
)
def share_of_slow_heads(**replaced):
    """The closed form against Gauss-Legendre quadrature."""

    def printed(at):
        A = replaced.get("A", (at("A_0"), at("A_1")))
        ranges = replaced | {"A": A, "dt": (at(r"\Delta_0"), at(r"\Delta_1"))}
        return at(r"\lambda") * below(at(r"\rho"), **ranges)

    on_page("eq-gate-start", printed)
    rates = np.exp(np.linspace(np.log(A[0] * DT[0] * 1.01), np.log(A[1] * DT[1] * 0.99), 40))
    return relative_error(below(rates, **replaced), [by_quadrature(rate) for rate in rates])


@verifies(
    "eq-padding-right",
    method="float64",
    covers="20 tokens, then 6 of padding, 4 heads, convolution with a bias; and padding first",
    mutants={
        "memory untouched": {"pads": lambda p: 0},
        "one step": {"pads": lambda p: 1},
        "no dt_bias": {"bias": 0},
        "no A": {"speed": 0},
    },
)
def padding_fades(pads=lambda p: p, bias=1, speed=1):
    """The layer's memory after padding, against the one before it; the convolution's is zero."""

    def faded(S, p, A_log, dt_bias):
        return torch.exp(p * slope(A_log, dt_bias))[..., None, None] * S

    def slope(A_log, dt_bias):
        return -torch.exp(speed * A_log) * softplus(bias * dt_bias)

    def of_head(at):
        return [torch.tensor(at(x), dtype=torch.float64) for x in GATE]

    on_page(
        "eq-padding-right",
        lambda at: faded(torch.from_numpy(at(r"\mathbf{S}")), pads(at("p")), *of_head(at)).numpy(),
    )
    on_page("eq-padding-right", lambda at: float(slope(*of_head(at))), of=1)
    net, T, n = hard_layer(conv_bias=True), 20, 6
    x = torch.cat([tokens(T), tokens(n, seed=2)])[None]
    before, after, left = (GatedDeltaNetCache() for _ in range(3))
    right = torch.arange(T + n)[None] < T
    net(x[:, :T], before)
    net(x, after, attention_mask=right)
    net(x.flip(1), left, attention_mask=right.flip(1))
    alone = GatedDeltaNetCache()
    net(x.flip(1)[:, n:], alone)
    fades = faded(before.recurrent_state, pads(n), net.A_log, net.dt_bias)
    window = float(after.conv_state.abs().max())
    pairs = (after.recurrent_state, left.recurrent_state, left.conv_state)
    return worst(pairs, (fades, alone.recurrent_state, alone.conv_state)) + window
