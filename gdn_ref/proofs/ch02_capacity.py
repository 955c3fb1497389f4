"""Chapter 2: what a matrix can hold at all, and the best matrix."""

from itertools import product

import numpy as np
import sympy as sp

from .ch02_crosstalk import HALF, left_over
from .data import hard_inputs, relative_error
from .minors import rank
from .page import on_page
from .registry import verifies
from .symbols import letters


@verifies(
    "eq-recall-rank",
    method="polynomial",
    covers="4 pairs, d_k = 2, d_v = 2, every key and every state",
    mutants={"rank below d_k": {"order": 2}},
    inputs={
        "one value changed": {"change": sp.Symbol("w")},
        "a third column of keys": {"width": 3},
    },
    part="if a state answers every key with its value, V adds no rank; and rank K <= d_k",
)
def values_add_no_rank(change=0, width=2, order=3):
    """What any state returns lies in the columns of K: all minors of [K V] past d_k vanish."""
    K = letters("k", 4, width)
    V = K * letters("s", 2, width).T
    V[3, 1] += change
    both = K.row_join(V)
    rows, columns = list(range(4))[:order], range(both.cols)
    picks = [c for c in product(columns, repeat=order) if list(c) == sorted(set(c))]
    minors = [both.extract(rows[:-1] + [3], list(pick)) for pick in picks]
    with_values = lambda at: rank(np.concatenate([at(r"\mathbf{K}"), at(r"\mathbf{V}")], axis=1))
    keys_alone = lambda at: rank(at(r"\mathbf{K}"))
    most = lambda at: at(r"\mathbf{K}").shape[1] + order - 1 - width  # larger minors vanish
    on_page("eq-recall-rank", with_values, keys_alone, most)
    return left_over(minor.det(method="berkowitz") for minor in minors)


@verifies(
    "eq-recall-rank",
    method="polynomial",
    covers="3 pairs, the third key any combination of two, every state",
    mutants={"coefficients swapped": {"order": (1, 0)}, "their mean": {"share": HALF}},
    inputs={"the third value is free": {"free": 1}},
    part="the value that belongs to a key in the span of the others",
)
def last_value_is_forced(order=(0, 1), free=0, share=1):
    """If k_3 = a k_1 + b k_2, the read at k_3 is a S k_1 + b S k_2, whatever the state is."""
    S, K, c, extra = letters("s", 2, 2), letters("k", 2, 2), sp.symbols("c_:2"), sp.Symbol("w")
    third = S * (c[0] * K.row(0) + c[1] * K.row(1)).T
    forced = sum((share * c[order[i]] * S * K.row(i).T for i in range(2)), sp.zeros(2, 1))
    return left_over(third - forced - free * extra * sp.ones(2, 1))


@verifies(
    "eq-recall-rank",
    method="polynomial",
    covers="3 pairs, d_k = 2, every key and value",
    part="the other way round: if V adds no rank, one state answers every key",
    mutants={
        "the first two values swapped": {"order": (1, 0)},
        "their keys not inverted": {"inverse": lambda keys: sp.eye(2)},
        "a minor of the keys alone": {"column": 0},
    },
)
def a_minor_is_an_error(order=(0, 1), inverse=lambda keys: keys.adjugate(), column=2):
    """The state through two pairs misses the third value by a minor of [K V], over det K_12.

    So if V adds no rank, that state returns the third value too.
    """
    K, V = letters("k", 3, 2), letters("v", 3, 1)  # each row of S is a problem of its own
    first, values = K[:2, :], V.extract(list(order), [0])
    miss = first.det() * V[2] - (K.row(2) * inverse(first) * values)[0]
    minor = K.row_join(K.row_join(V).col(column)).det(method="berkowitz")
    return left_over([miss - minor])


@verifies(
    "eq-least-squares-memory",
    method="polynomial",
    covers="3 pairs, d_k = 2, every key and value",
    part="the second line, for more pairs than dimensions",
    mutants={
        "linear attention": {"inverse": lambda gram: sp.eye(2)},
        "sign of the off-diagonal": {"inverse": lambda gram: gram},
        "only its diagonal inverted": {"inverse": lambda gram: sp.diag(gram[1, 1], gram[0, 0])},
    },
)
def residual_is_orthogonal(inverse=lambda gram: gram.adjugate()):
    """K^T (V - K S^T) = 0 for S = V^T K (K^T K)^-1, multiplied by the determinant.

    Any other state S + D then has the residual R - K D^T, and ||R - K D^T||^2 is
    ||R||^2 + ||K D^T||^2: the mixed term is R^T K = 0. So S is the best.
    """

    def best(K, V):
        """The state, times the determinant."""
        gram = K.T * K
        return V.T * K * inverse(gram), gram.det()

    def printed(at):
        scaled, det = best(*(sp.Matrix(at(rf"\mathbf{{{x}}}")) for x in "KV"))
        return np.array(scaled / det, dtype=float)

    on_page("eq-least-squares-memory", printed, of=1)
    K, V = letters("k", 3, 2), letters("v", 3, 1)  # each row of S is a problem of its own
    scaled, det = best(K, V)
    return left_over(K.T * (det * V - K * scaled.T))


@verifies(
    "eq-least-squares-memory",
    method="float64",
    covers="against NumPy's pseudo-inverse, 40 and 90 pairs, d_k = 64",
    mutants={
        "linear attention": {"fewer": lambda K: K, "more": lambda K: K},
        "K K^T not inverted": {"fewer": lambda K: K @ K.T @ K},
        "K^T K inverted with its diagonal only": {"more": lambda K: K / np.square(K).sum(0)},
    },
)
def both_forms_in_code(
    fewer=lambda K: np.linalg.solve(K @ K.T, K),
    more=lambda K: np.linalg.solve(K.T @ K, K.T).T,
):
    """Independent keys: linear attention on corrected values. More keys: normal equations."""
    for of, form in enumerate((fewer, more)):
        on_page(
            "eq-least-squares-memory",
            lambda at, form=form: at(r"\mathbf{V}").T @ form(at(r"\mathbf{K}")),
            of=of,
        )
    errors = []
    for n, form in ((40, fewer), (90, more)):
        _, K, V, *_ = hard_inputs(T=n, d_k=64, d_v=24)
        errors.append(relative_error(V.T @ form(K), (np.linalg.pinv(K) @ V).T))
    return max(errors)


@verifies(
    "eq-least-squares-error",
    method="polynomial",
    covers="3 pairs, d_k = 1 and 2, every key; values over every +-e_i",
    mutants={
        "d_k / n": {"left": lambda n, d: sp.Rational(d, n)},
        "1 - d_k / (n - 1)": {"left": lambda n, d: 1 - sp.Rational(d, n - 1)},
        "linear attention's (n - 1) / d_k": {"left": lambda n, d: sp.Rational(n - 1, d)},
    },
)
def share_that_is_lost(left=lambda n, d: 1 - sp.Rational(d, n)):
    """The mean of ||(I - P) V||^2, P = K (K^T K)^-1 K^T, over independent values with mean zero.

    Only the mean of v v^T counts, as with keys in eq-crosstalk-mean: one column of V suffices, and
    its mean is the trace of I - P over n.
    """
    residual = []
    for d in (1, 2):
        K = letters("k", 3, d)
        gram = K.T * K
        projection = K * gram.adjugate() * K.T
        lost = (gram.det() * sp.eye(3) - projection).trace() / 3
        residual.append(lost - left(3, d) * gram.det())
    on_page("eq-least-squares-error", lambda at: float(left(at("n"), at("d_k"))))
    return left_over(residual)
