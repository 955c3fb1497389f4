"""What the solutions of the pen-and-paper exercises of chapters 1 to 6 claim."""

from itertools import combinations

import numpy as np
import pytest
import sympy

from gdn_ref import delta_rule, linear_attention, scalar_decay
from gdn_ref.proofs.data import hard_inputs, relative_error

EXACT = 1e-12


# ex-01-order


def softmax_read(q, k, v):
    weights = np.exp(k @ q)
    return weights @ v / weights.sum()


RULES = {  # what the query reads after these tokens
    "softmax": softmax_read,
    "sum": lambda q, k, v: linear_attention.recurrent(k, k, v)[1] @ q,
    "decay": lambda q, k, v: scalar_decay.recurrent(k, k, v, np.full(len(k), np.log(0.9)))[1] @ q,
    "delta": lambda q, k, v: delta_rule.recurrent(k, k, v, np.ones(len(k)))[1] @ q,
}


@pytest.mark.parametrize("rule", RULES)
def test_only_a_decay_and_the_delta_rule_see_the_order(rule):
    q, k, v, *_ = hard_inputs(T=9)
    other = [*range(7, -1, -1), 8]  # the token that reads stays the last
    text, turned = (RULES[rule](q[-1], k[order], v[order]) for order in (range(9), other))
    assert (relative_error(turned, text) < EXACT) == (rule in ("softmax", "sum"))


# ex-01-taylor


def taylor_features(x):
    pairs = [x[i] * x[j] for i, j in combinations(range(len(x)), 2)]
    return np.array([1, *x, *(x**2 / np.sqrt(2)), *pairs])


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_features_of_a_truncated_exponential(d):
    k, q = np.random.default_rng(d).normal(size=(2, d))
    features, x = 1 + d + d * (d + 1) // 2, k @ q
    assert len(taylor_features(k)) == features
    product = taylor_features(k) @ taylor_features(q)
    np.testing.assert_allclose(product, 1 + x + x**2 / 2, rtol=EXACT)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_fewer_features_do_not_suffice(d):
    features = 1 + d + d * (d + 1) // 2
    X = np.random.default_rng(1).integers(-9, 10, size=(features + 2, d))
    dots = X @ X.T
    scores = sympy.Matrix((2 + 2 * dots + dots**2).tolist())
    assert scores.rank() == features


def test_scores_cut_after_the_second_order_are_positive_after_the_first_not():
    x = sympy.Symbol("x", real=True)
    second = 1 + x + x**2 / 2
    assert sympy.expand(second - ((1 + x) ** 2 + 1) / 2) == 0
    assert sympy.minimum(second, x) == sympy.Rational(1, 2)
    assert sympy.minimum(1 + x, x) == -sympy.oo
