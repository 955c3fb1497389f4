"""Decays of a channel that join at a border, and how many pairs lie between borders."""

import numpy as np
from sympy import Identity, MatrixSymbol, Rational, Symbol, symbols

from .ch23_family import D, G
from .page import on_page, side
from .registry import verifies
from .symbols import d_k

H = MatrixSymbol("H", d_k, d_k)  # the decay before a border
JOINED = {  # up to token t, its own decay by itself
    "G": r"\mathbf{D}_{m,i}", "H": r"\mathbf{D}_{t-1,m}", "D": r"\mathbf{D}_t",
}  # fmt: skip
x, y, g = (Symbol(name) for name in ("x", "y", "g"))
late, early = symbols("Gamma_tm Gamma_mi")
CHANNELS = {
    x: r"\boldsymbol{k}_i", y: r"\boldsymbol{q}_t",
    early: lambda at: np.diag(at(r"\mathbf{D}_{m,i}")),
    late: lambda at: np.diag(at(r"\mathbf{D}_{t,m}")),
}  # fmt: skip


@verifies(
    "eq-family-join",
    method="algebra",
    covers="every t, m, i, d_k",
    mutants={"one decay twice": {"last": D * D}, "one decay missing": {"last": Identity(d_k)}},
)
def joined(last=D):
    """Step in t, from t = m where D_{m,m} = I: both sides take the decay of token t on the right.

    G stands for the product from i to m, H for the one from m to t - 1, D for that of token t.
    """
    up_to = lambda at: G * (H * last) if at.scope["m"] < at.n else G
    on_page("eq-family-join", up_to, letters=JOINED)
    return [(G * Identity(d_k) - G).doit(), (G * H) * D - G * (H * last)]


@verifies(
    "eq-family-split",
    method="algebra",
    covers="every border m, every d_k",
    mutants={
        "the late decay on both": {"left": late},
        "the early decay on both": {"right": early},
        "the border's inverse": {"left": 1 / early},
        "no decay before the border": {"left": 1},
    },
)
def split(left=early, right=late):
    """One channel of the sum: x Gamma_ti y = (Gamma_mi x)(Gamma_tm y), as stretches join."""
    on_page("eq-family-split", lambda at: at.summed((left * x) * (right * y), CHANNELS))
    return (x * (late * early) * y - (left * x) * (right * y)).expand()


c, N = symbols("c N", positive=True)
SHARE = side("eq-family-share", otherwise=(c + 1) / (N * c + 1), c=c, C=N * c)


@verifies(
    "eq-family-share",
    method="algebra",
    covers="every c and C = N c",
    mutants={"pairs without the diagonal": {"own": -1}, "squares": {"own": c}},
)
def share(own=1):
    """N triangles of side c in one of side N c, both with their diagonals."""
    inside, all_pairs = N * c * (c + own) / 2, N * c * (N * c + 1) * Rational(1, 2)
    return inside / all_pairs - SHARE
