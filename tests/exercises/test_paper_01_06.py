"""What the solutions of the pen-and-paper exercises of chapters 1 to 6 claim."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import sympy

from gdn_ref import chunking, delta_rule, linear_attention, scalar_decay
from gdn_ref.figures.ch04 import recall_ratio
from gdn_ref.proofs.ch03_cost import traffic
from gdn_ref.proofs.counting import multiplications
from gdn_ref.proofs.data import hard_inputs, relative_error, unit

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


# ex-02-plane


def squared_overlaps(angles):
    K = np.column_stack([np.cos(angles), np.sin(angles)])
    return (((K @ K.T) ** 2).sum() - len(K)) / len(K)


def test_crosstalk_of_keys_in_the_plane():
    for n in (2, 3, 5):
        angles = np.random.default_rng(n).uniform(0, 2 * np.pi, n)
        formula = n * (n / 2 - 1) + abs(np.exp(2j * angles).sum()) ** 2 / 2
        np.testing.assert_allclose(n * squared_overlaps(angles), formula, rtol=EXACT)


@pytest.mark.parametrize("n, apart, least", [(2, 90, 0), (3, 60, 0.5)])
def test_evenly_spread_lines_have_the_least_crosstalk(n, apart, least):
    best = np.deg2rad(17 + apart * np.arange(n))
    best[0] += np.pi  # a key and its negative are on one line
    np.testing.assert_allclose(squared_overlaps(best), least, atol=EXACT)
    for other in np.random.default_rng(0).uniform(0, np.pi, size=(100, n)):
        assert squared_overlaps(other) > least


# ex-02-only-write


def test_two_conditions_leave_one_write():
    """The conditions on the entries of A and X are linear: they have this one solution."""
    _, K, V, *_ = hard_inputs(T=2, d_k=3, d_v=2)
    k, v, rng = K[0], V[0], np.random.default_rng(2)
    across = np.linalg.svd(k[None])[2][1:]  # orthogonal to the key
    rows, right = [], []
    for S in (np.zeros((2, 3)), *rng.normal(size=(4, 2, 3))):
        for y, read in ((k, v), *((y, S @ y) for y in across)):
            rows.append(np.hstack([np.kron(S, y), np.kron(np.eye(2), y)]))  # (S A + X) y
            right.append(read)
    rows, right = np.vstack(rows), np.concatenate(right)
    assert np.linalg.matrix_rank(rows) == rows.shape[1] == 9 + 6
    found = np.linalg.lstsq(rows, right, rcond=None)[0]
    A, X = np.eye(3) - np.outer(k, k), np.outer(v, k)
    np.testing.assert_allclose(found, np.concatenate([A.ravel(), X.ravel()]), atol=EXACT)
    S = rng.normal(size=(2, 3))
    _, replaced = delta_rule.step(S, k, k, v, np.float64(1.0))
    np.testing.assert_allclose(S @ A + X, replaced, atol=EXACT)


# ex-03-brackets


def scores_first(Q, K, V):
    return (Q @ K.T) @ V


def state_first(Q, K, V):
    return Q @ (K.T @ V)


FORMS = scores_first, state_first


def test_which_brackets_are_cheaper():
    for m, n, d_k, d_v in product((1, 2, 3, 6), repeat=4):
        shapes = (m, d_k), (n, d_k), (n, d_v)
        scores, state = (multiplications(form, *shapes) for form in FORMS)
        side = Fraction(1, m) + Fraction(1, n) - Fraction(1, d_k) - Fraction(1, d_v)
        assert (scores < state) == (side > 0)
    halves = (multiplications(form, (8, 16), (8, 16), (8, 16)) for form in FORMS)
    assert next(halves) * 2 == next(halves)


@pytest.mark.parametrize("N, C", [(2, 4), (3, 2), (5, 1), (4, 3)])
def test_a_state_serves_all_later_chunks(N, C):
    d_k, d_v = 4, 3
    block = multiplications(scores_first, (C, d_k), (C, d_k), (C, d_v))
    write = multiplications(lambda V, K: V.T @ K, (C, d_v), (C, d_k))
    read = multiplications(lambda Q, S: Q @ S.T, (C, d_k), (d_v, d_k))
    quotient = Fraction(block * N * (N - 1) // 2, (write + read) * (N - 1))
    assert quotient == N * C / (2 * Fraction(2 * d_k * d_v, d_k + d_v))


# ex-03-overlap


def times(C, d_k=128, d_v=128, b=2, rho=Fraction("295.3")):
    """The longer of both times and their sum, in the time of one FLOP."""
    moved = traffic(2 * C, d_k, d_v, C, token_bytes=b, state_bytes=2 * b)
    work = 2 * 2 * C * (2 * d_k * d_v + C * (d_k + d_v))
    return max(work, rho * moved) / (2 * C), (work + rho * moved) / (2 * C)


def test_a_card_that_computes_and_moves_at_once():
    best = 2 * Fraction("295.3")
    assert 590 < best < 591
    at_best = 2 * 256 * (best + 128)  # C tokens per chunk, if a chunk could have 590.6
    for C in (1, 16, 64, 256, 275, 590):
        assert times(C)[0] / at_best == (1 + Fraction(128, C)) / (1 + 128 / best)
    assert min(times(C)[0] for C in (590, 591, 600)) > at_best
    printed = {C: f"{float(times(C)[0] / at_best):.2f}" for C in (64, 256, 275)}
    assert printed == {64: "2.47", 256: "1.23", 275: "1.20"}
    for C in (1, 64, 590, 1000):
        longer, both = times(C)
        assert longer < both <= 2 * longer


# ex-04-disguise


def test_scalar_decay_is_linear_attention_with_other_keys():
    q, k, v, g, _, S = hard_inputs()
    gamma = np.exp(np.cumsum(g))[:, None]
    O, last = scalar_decay.recurrent(q, k, v, g, S)
    other, rescaled = linear_attention.recurrent(gamma * q, k / gamma, v, S)
    assert relative_error(other, O) < EXACT
    assert relative_error(gamma[-1] * rescaled, last) < EXACT
    scores = np.tril((gamma * q) @ (k / gamma).T)
    assert relative_error(scores, chunking.decay(g)[1] * (q @ k.T)) < EXACT


def test_the_keys_overflow_at_token_45():
    with np.errstate(over="ignore"):
        factors = np.exp(2 * np.arange(1, 65, dtype=np.float32))
    assert np.argmin(np.isfinite(factors)) + 1 == 45
    np.testing.assert_allclose(np.log(np.finfo(np.float32).max), 88.7, atol=0.05)


# ex-04-oldest


def test_the_ratio_of_the_best_decay_is_bounded():
    for d_k, left in ((64, (22, 23)), (128, (46, 47)), (256, (93, 94))):
        m = np.arange(1, 2 * d_k)
        ratio = recall_ratio(np.sqrt(m / (m + 1)), m, d_k)
        assert (d_k / (np.e * (m + 1) - 1) < ratio).all()
        assert (ratio < d_k / (np.e * m - 1)).all()
        sure, possible = m[np.e * (m + 1) <= d_k + 1][-1], m[np.e * m < d_k + 1][-1]
        assert (sure, possible) == left
        assert m[ratio >= 1][-1] in left
    np.testing.assert_allclose(1 / np.e, 0.37, atol=0.005)


# ex-05-mean


def test_falling_strengths_average():
    rng = np.random.default_rng(5)
    key, V, S = unit(rng.normal(size=(1, 4))), rng.normal(size=(6, 3)), rng.normal(size=(3, 4))
    for w in (np.ones(6), rng.uniform(0.1, 2, 6)):
        beta = w / np.cumsum(w)
        Gamma = chunking.decay(np.log1p(-np.append(0, beta[1:])))[1]
        np.testing.assert_allclose(Gamma[-1] * beta, w / w.sum(), rtol=EXACT)
        K = np.repeat(key, 6, axis=0)
        _, last = delta_rule.recurrent(K, K, V, beta, S)
        np.testing.assert_allclose(last @ key[0], w @ V / w.sum(), rtol=EXACT)
    np.testing.assert_allclose(np.ones(6) / np.cumsum(np.ones(6)), 1 / np.arange(1, 7))


# ex-05-best-so-far


def test_the_best_memory_after_every_token():
    _, K, V, *_ = hard_inputs(T=20, d_k=6, d_v=3)
    penalty = 0.3
    S, inverse = np.zeros((3, 6)), np.eye(6) / penalty
    for t, (k, v) in enumerate(zip(K, V, strict=True), 1):
        h = inverse @ k
        inverse = inverse - np.outer(h, h) / (1 + k @ h)
        np.testing.assert_allclose(inverse @ k, h / (1 + k @ h), rtol=EXACT)
        S = S + np.outer(v - S @ k, inverse @ k)
        rows = np.vstack([K[:t], np.sqrt(penalty) * np.eye(6)])  # the penalty as six more pairs
        best = np.linalg.lstsq(rows, np.vstack([V[:t], np.zeros((6, 3))]), rcond=None)[0].T
        assert relative_error(S, best) < EXACT


def test_a_multiple_of_the_identity_makes_it_the_delta_rule():
    _, K, V, *_, S = hard_inputs(T=1)
    k, v, eta = 1.7 * K[0], V[0], 0.6
    h = eta * k
    beta = eta / (1 + eta * k @ k)  # eq-proximal-step
    _, expected = delta_rule.step(S, k, k, v, beta)
    step = S + np.outer(v - S @ k, h / (1 + k @ h))
    assert relative_error(step, expected) < EXACT


# ex-06-one-key


def transition(k, beta):
    return np.eye(len(k)) - beta * np.outer(k, k)


def test_transitions_of_one_key():
    rng = np.random.default_rng(6)
    k, beta = unit(rng.normal(size=5)), rng.uniform(0, 2, 4)
    both = beta[0] + beta[1] - beta[0] * beta[1]
    product_of_two = transition(k, beta[0]) @ transition(k, beta[1])
    np.testing.assert_allclose(product_of_two, transition(k, both), atol=EXACT)
    n_tokens = np.linalg.multi_dot([transition(k, b) for b in beta])
    one_token = transition(k, 1 - np.prod(1 - beta))
    np.testing.assert_allclose(n_tokens, one_token, atol=EXACT)


@pytest.mark.parametrize("beta", [0.3, 0.999, 1.0, 1.5])
def test_a_strength_below_one_is_an_exponential(beta):
    k = unit(np.random.default_rng(7).normal(size=5))
    size, vectors = np.linalg.eigh(np.outer(k, k))
    with np.errstate(divide="ignore", invalid="ignore"):
        exponential = vectors * np.exp(np.log(1 - beta) * size.round(12)) @ vectors.T
    if beta < 1:
        np.testing.assert_allclose(exponential, transition(k, beta), atol=EXACT)
    assert (np.linalg.eigvalsh(transition(k, beta)) > EXACT).all() == (beta < 1)


# ex-06-volume


def singular_values(K, beta):
    return np.linalg.svd(np.linalg.multi_dot([*map(transition, K, beta)]), compute_uv=False)


def test_the_strengths_decide_how_much_is_erased():
    rng = np.random.default_rng(8)
    K, beta = unit(rng.normal(size=(9, 6))), rng.uniform(0, 2, 9)
    values = singular_values(K, beta)
    total = abs(np.prod(1 - beta))
    np.testing.assert_allclose(np.prod(values), total, rtol=EXACT)
    assert values.max() <= 1 + EXACT and values.min() <= total ** (1 / 6)


def test_the_keys_decide_where():
    basis = np.linalg.qr(np.random.default_rng(9).normal(size=(6, 6)))[0]
    for beta in (0.5, 1.7):
        evenly = singular_values(basis, np.full(6, beta))
        np.testing.assert_allclose(evenly, abs(1 - beta), atol=EXACT)
        once = singular_values(np.repeat(basis[:1], 6, axis=0), np.full(6, beta))
        np.testing.assert_allclose(once, [1] * 5 + [abs(1 - beta) ** 6], atol=EXACT)
