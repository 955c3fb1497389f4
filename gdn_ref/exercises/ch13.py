"""Exercises of chapter 13: cutting off, products, resets, a strength for a gain, bits for long."""

import math

import numpy as np
import torch

from . import TOLERANCE, Wrong, exercise


@exercise("13-cut")
def cut(answer):
    """`answer(p)`: root mean square of the relative error of cutting off to p bits."""
    for p in (8, 11, 24):
        right = 2.0 ** (1 - p) / math.sqrt(8 * math.log(2))
        found = float(answer(p))
        if abs(found / (right / 2) - 1) < TOLERANCE:
            raise Wrong("that is rounding to nearest, whose error is half a gap at most")
        if not abs(found / right - 1) <= TOLERANCE:
            raise Wrong(f"p = {p}: {found:.2e}; how large is the error, and how is it spread?")


@exercise("13-product")
def product(answer):
    """`answer(X, Y, rho_x, rho_y)`: expected relative error of XY."""
    rng = np.random.default_rng(13)
    for m, n, c in ((3, 5, 2), (1, 2, 1), (4, 4, 4)):
        X, Y = rng.normal(size=(m, n)), rng.normal(size=(n, c))
        if n == 2:  # the chapter's two corrections
            X, Y = np.ones((1, 2)), np.array([[2.06], [-2.0]])
        rho = 0.01, 0.003
        cost = (X**2).sum(0) @ (Y**2).sum(1)
        right = math.hypot(*rho) * math.sqrt(cost) / np.linalg.norm(X @ Y)
        found = float(answer(X, Y, *rho))
        if abs(found / (right**2) - 1) < TOLERANCE:
            raise Wrong("that is the mean square; its root is asked for")
        if not abs(found / right - 1) <= TOLERANCE:
            size = "small" if found < right else "large"
            raise Wrong(f"X {m} x {n}, Y {n} x {c}: {found:.2e} is too {size}")


@exercise("13-reset", keeps={0: "g"})
def reset(answer):
    """`answer(g)`: the decay mask, right after strong decays and resets too."""
    rng = np.random.default_rng(13)
    for strong in (None, -1e4, -math.inf):
        g = torch.from_numpy(np.log(rng.uniform(0.9, 1, 24))).float()
        if strong is not None:
            g[[5, 11]] = strong
        found = np.asarray(torch.as_tensor(answer(g)).double())
        if found.shape != (24, 24):
            raise Wrong(f"expected shape (24, 24), got {found.shape}")
        x = g.double().numpy()
        right = np.array(
            [[math.exp(sum(x[i + 1 : r + 1])) if i <= r else 0 for i in range(24)]
             for r in range(24)]
        )  # fmt: skip
        what = "without a strong decay" if strong is None else f"with a log-decay of {strong}"
        if np.abs(np.triu(found, 1)).max() > 0:
            raise Wrong("above the diagonal something is not zero")
        off = np.abs(found - right) / np.where(right > 1e-30, right, 1)
        if off.max() > 1e-5:
            r, i = np.unravel_index(off.argmax(), off.shape)
            raise Wrong(f"{what}: row {r}, column {i} is off by {off.max():.0e}")


@exercise("13-strength")
def strength(answer):
    """`answer(c, most)`: the largest strength whose gain stays below `most` for every length."""
    for c, most in ((0.9, 3.0), (1.0, 2.0), (0.5, 1.2), (0.3, 5.0), (0.0, 2.0)):
        right = min(2.0, (2 - 2 / most**2) / c) if c else 2.0
        found = float(answer(c, most))
        if not 0 <= found <= 2:
            raise Wrong(f"cosine {c}: expected a strength from 0 to 2, got {found:.3f}")
        a = c * found
        if a < 2 and math.sqrt(2 / (2 - a)) > most * (1 + TOLERANCE) or a == 2:
            raise Wrong(f"cosine {c}, most {most}: in a long chunk the gain passes it")
        if found < right - TOLERANCE:
            raise Wrong(f"cosine {c}, most {most}: a larger strength would do")


@exercise("13-bits")
def bits(answer):
    """`answer(alpha, beta, d_k, tolerance)`: the fewest bits with which the error settles there."""
    cases = ((0.999, 0.5, 128, 0.01), (1.0, 0.5, 32, 0.02), (0.9, 1.0, 64, 0.005),
             (1.0, 0.02, 128, 1e-3), (0.99, 0.1, 128, 0.011))  # fmt: skip
    for alpha, beta, d_k, tolerance in cases:
        shrinks = alpha**2 * (1 - beta * (2 - beta) / d_k)
        found = answer(alpha, beta, d_k, tolerance)
        if found != int(found):
            raise Wrong(f"expected a whole number of bits, got {found}")
        settles = [
            2.0**-p / math.sqrt(8 * math.log(2)) / math.sqrt(1 - shrinks)
            for p in (int(found), int(found) - 1)
        ]
        if settles[0] > tolerance:
            raise Wrong(f"alpha = {alpha}, beta = {beta}: with {found} bits the error is larger")
        if settles[1] <= tolerance:
            raise Wrong(f"alpha = {alpha}, beta = {beta}: fewer than {found} bits would do")
