"""What the solutions of the pen-and-paper exercises of chapters 7 to 12 claim."""

import numpy as np
import pytest
from tolerances import assert_close

from gdn_ref import backward, delta_rule, gated_delta_rule, wy
from gdn_ref.chunking import decay
from gdn_ref.proofs.ch07_unroll import products
from gdn_ref.proofs.data import hard_inputs, relative_error, unit

EXACT = 1e-12


def one_key(C, d_k=6, d_v=4):
    """Hard inputs in which all tokens have the same unit key."""
    q, k, v, g, beta, S = hard_inputs(C, d_k, d_v)
    return q, np.tile(k[0], (C, 1)), v, g, beta, S


# ex-07-same-key


def test_each_token_erases_a_fraction_of_what_is_left():
    _, k, _, _, beta, _ = one_key(9)
    W = wy.w(k, beta)
    left = np.cumprod(np.concatenate([[1.0], 1 - beta]))  # before token 1, 2, ..., after the last
    assert_close(W, (beta * left[:-1])[:, None] * k)
    assert_close(np.cumsum(W, axis=0), (1 - left[1:])[:, None] * k)


def test_after_a_strength_of_one_nothing_is_erased_and_beyond_one_the_sign_changes():
    _, k, _, _, beta, _ = one_key(9)
    beta[4] = 1
    W = wy.w(k, beta)
    assert np.abs(W[5:]).max() < EXACT < np.abs(W[4]).max()
    shares = wy.w(k[:2], np.array([1.5, 0.5])) @ k[0]
    assert shares[0] > 0 > shares[1]


# ex-07-determinant


@pytest.mark.parametrize("C", [3, 12, 20])
def test_both_determinants_are_the_product_of_the_tokens(C):
    _, k, _, _, beta, _ = hard_inputs(C)
    k = k * np.linspace(0.5, 1.5, C)[:, None]  # of any length
    W = wy.w(k, beta)
    small, large = (np.linalg.det(np.eye(len(x)) - x) for x in (k @ W.T, W.T @ k))
    right = np.prod(1 - beta * np.sum(k * k, axis=1))
    np.testing.assert_allclose([small, large], right, rtol=1e-9)


def test_a_run_without_a_strength_of_one_can_be_undone_and_one_with_it_cannot():
    _, k, v, _, beta, S = hard_inputs(8, d_k=5, d_v=3)
    P, H = products(k, v, beta)
    _, after = delta_rule.recurrent(k, k, v, beta, S)
    assert_close((after - H) @ np.linalg.inv(P), S, 1e-10)
    beta[[2, 4]] = 1
    W, (P, _) = wy.w(k, beta), products(k, v, beta)
    assert np.linalg.matrix_rank(P) < 5
    later, _ = products(k[5:], v[5:], beta[5:])  # the last strength of 1 is that of k[4]
    y = np.linalg.solve(later, k[4])
    assert np.linalg.norm(P @ y) < EXACT * np.linalg.norm(y)
    assert_close(W.T @ (k @ y), y)
    assert np.linalg.norm(k @ y) > 0.1
    assert np.linalg.norm((np.eye(8) - k @ W.T) @ (k @ y)) < EXACT * np.linalg.norm(k @ y)


# ex-08-neighbours


def neighbours(C, c):
    """The cosines of C keys of which only neighbours overlap."""
    return np.eye(C) + c * (np.eye(C, k=1) + np.eye(C, k=-1))


@pytest.mark.parametrize(("c", "beta"), [(0.4, 1.7), (-0.3, 0.9), (0.5, 2.0)])
def test_one_path_joins_two_tokens(c, beta):
    C = 10
    k = np.linalg.cholesky(neighbours(C, c))  # rows with these cosines
    X = np.linalg.inv(np.eye(C) + wy.interaction(k, np.full(C, beta)))
    steps = np.subtract.outer(np.arange(C), np.arange(C))
    assert_close(X, np.where(steps >= 0, (-beta * c) ** np.maximum(steps, 0), 0))
    assert np.abs(np.tril(X, -1)).max() <= beta + EXACT


@pytest.mark.parametrize("C", [3, 10, 41])
def test_there_are_such_keys_up_to_a_cosine_that_falls_to_one_half(C):
    j = np.arange(1, C + 1)
    found = np.linalg.eigvalsh(neighbours(C, 0.3))
    np.testing.assert_allclose(found, np.sort(1 + 0.6 * np.cos(np.pi * j / (C + 1))), rtol=1e-12)
    limit = 1 / (2 * np.cos(np.pi / (C + 1)))
    np.linalg.cholesky(neighbours(C, 0.999 * limit))
    assert np.linalg.eigvalsh(neighbours(C, 1.001 * limit)).min() < 0
    assert 0 < limit - 0.5 < 3 / C**2


# ex-08-factors


def test_one_factor_per_token():
    C = 9
    _, k, _, _, beta, _ = hard_inputs(C)
    A, identity = wy.interaction(k, beta), np.eye(C)
    factors = [identity + np.outer(identity[r], A[r]) for r in range(C)]
    assert_close(np.linalg.multi_dot(factors), identity + A)
    assert relative_error(np.linalg.multi_dot(factors[::-1]), identity + A) > 0.01
    X = np.linalg.multi_dot([2 * identity - factor for factor in factors[::-1]])
    assert_close(X, np.linalg.inv(identity + A))


# ex-09-one-key


def test_a_chunk_with_one_key_is_one_token_with_the_last_value():
    _, k, v, _, _, S = one_key(7)
    ones = np.ones(7)
    E = wy.solve(wy.interaction(k, ones), v - k @ S.T)
    assert_close(E, np.vstack([v[0] - S @ k[0], np.diff(v, axis=0)]))
    _, last = delta_rule.recurrent(k, k, v, ones, S)
    assert_close(last, S + np.outer(v[-1] - S @ k[0], k[0]))


# ex-09-residual


@pytest.mark.parametrize("strength", ["one", "any"])
def test_what_a_chunk_gets_wrong_afterwards(strength):
    _, k, v, _, beta, S = hard_inputs(9)
    beta = np.ones(9) if strength == "one" else beta
    E = wy.solve(wy.interaction(k, beta), beta[:, None] * (v - k @ S.T))
    _, last = delta_rule.recurrent(k, k, v, beta, S)
    left = v - k @ last.T
    later = np.triu(k @ k.T, 1)
    assert_close(left, (np.diag(1 / beta) - np.eye(9) - later) @ E, 1e-11)
    if strength == "one":
        assert_close(left, -later @ E)
        assert np.abs(left[-1]).max() < EXACT < np.abs(left[0]).max()


def test_orthogonal_keys_are_all_recalled():
    _, k, v, _, _, S = hard_inputs(9)
    k = np.linalg.qr(k.T)[0].T
    _, last = delta_rule.recurrent(k, k, v, np.ones(9), S)
    assert_close(k @ last.T, v)


# ex-10-two-as-one


def as_one(alpha, beta, v):
    """Decay, strength, and strength times value of the one token that acts as two."""
    weights = np.array([alpha[1] * (1 - beta[1]) * beta[0], beta[1]])
    return alpha[0] * alpha[1], 1 - (1 - beta[0]) * (1 - beta[1]), weights @ v, weights


@pytest.mark.parametrize("seed", range(5))
def test_two_tokens_under_one_key(seed):
    _, k, v, g, beta, S = hard_inputs(2, d_k=6, d_v=4, seed=seed)
    k = k[[0, 0]]
    alpha, strength, write, _ = as_one(np.exp(g), beta, v)
    _, two = gated_delta_rule.recurrent(k, k, v, g, beta, S)
    one = k[:1], k[:1], write[None] / strength, np.log([alpha]), np.array([strength])
    _, last = gated_delta_rule.recurrent(*one, S)
    assert_close(last, two, 1e-11)


def test_when_the_value_is_a_weighted_mean():
    v = np.eye(2)
    for alpha, beta, mean in (
        ((0.7, 1.0), (0.3, 0.6), True),
        ((0.7, 0.8), (0.3, 1.0), True),
        ((0.7, 0.8), (0.0, 0.6), True),
        ((0.7, 0.8), (0.3, 0.6), False),
    ):
        _, strength, _, weights = as_one(alpha, beta, v)
        assert (abs(weights.sum() / strength - 1) < EXACT) == mean and min(weights) >= 0
    _, strength, write, _ = as_one((0.7, 0.8), (2.0, 2.0), v)
    assert strength == 0 and np.abs(write).max() > 1


# ex-10-norm


def squared(S):
    return np.sum(S * S)


def test_the_squared_norm_after_one_token():
    q, k, v, g, _, _ = hard_inputs(60, d_k=6, d_v=4)
    v, S = unit(v), np.zeros((4, 6))
    bound = 1 / np.sqrt(1 - np.exp(2 * g.max()))
    for t in range(60):
        read = S @ k[t]
        right = np.exp(2 * g[t]) * (squared(S) - read @ read) + 1
        _, S = gated_delta_rule.step(S, q[t], k[t], v[t], g[t], np.ones(()))
        np.testing.assert_allclose(squared(S), right, rtol=EXACT)
        assert np.sqrt(squared(S)) < bound


@pytest.mark.parametrize("alpha", [0.9, 1.0])
def test_orthonormal_keys_reach_the_bound(alpha):
    k, v = np.eye(8), unit(np.random.default_rng(0).normal(size=(8, 3)))
    _, S = gated_delta_rule.recurrent(k, k, v, np.full(8, np.log(alpha)), np.ones(8))
    np.testing.assert_allclose(squared(S), np.sum(alpha ** (2 * np.arange(8))), rtol=EXACT)


def test_without_decay_nearly_parallel_keys_pass_the_root_of_their_number():
    angles = np.tile([0, 0.2], 400)
    k = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    _, S = delta_rule.recurrent(k, k, np.tile([[1.0], [-1.0]], (400, 1)), np.ones(800))
    assert np.sqrt(squared(S)) > 3 * np.sqrt(2)


# ex-11-reset


def chunk_delta(S, k, v, g, beta):
    gamma, Gamma = decay(g)
    unread = v - gamma[:, None] * (k @ S.T)
    return wy.solve(wy.interaction(k, beta, Gamma), beta[:, None] * unread)


def test_after_a_reset_nothing_before_it_counts():
    s = 4
    q, k, v, g, beta, S = hard_inputs(11)
    g[s] = -np.inf
    gamma, Gamma = decay(g)
    assert not gamma[s:].any() and not Gamma[s:, :s].any()
    alone = chunk_delta(0 * S, k[s:], v[s:], g[s:], beta[s:])
    assert_close(chunk_delta(S, k, v, g, beta)[s:], alone)
    _, last = gated_delta_rule.recurrent(q, k, v, g, beta, S)
    assert_close(last, alone.T @ (Gamma[-1, s:, None] * k[s:]))


# ex-11-merge


def test_two_chunks_merged():
    _, k, v, g, beta, _ = hard_inputs(13)
    first, then = slice(0, 5), slice(5, 13)

    def pair(part):
        _, Gamma = decay(g[part])
        A = wy.interaction(k[part], beta[part], Gamma)
        return wy.w(k[part], beta[part]), wy.solve(A, beta[part][:, None] * v[part])

    (W, U), (W1, U1), (W2, U2) = pair(slice(0, 13)), pair(first), pair(then)
    to_end, gamma = decay(g[first])[1][-1], decay(g[then])[0]
    overlap = W2 @ k[first].T
    scaled = gamma[:, None] * overlap * to_end
    assert_close(W[then], W2 - overlap @ W1)
    assert_close(U[then], U2 - scaled @ U1)
    assert_close(scaled, decay(g)[1][then, first] * overlap)
    assert relative_error(U[then], U2 - overlap @ U1) > 0.01


# ex-12-linear and ex-12-key-length


def whole(T=40, C=16):
    """Inputs and results of a sequence, and the gradients of a random loss."""
    q, k, v, g, beta, S = inputs = hard_inputs(T)
    O, last = gated_delta_rule.recurrent(*inputs)
    rng = np.random.default_rng(1)
    dO, dlast = rng.normal(size=O.shape), rng.normal(size=S.shape)
    return inputs, (O, last), (dO, dlast), backward.gradients(*inputs, dO, dlast, C)


def test_gradients_of_what_enters_linearly():
    (q, _, v, _, _, S), (O, last), (dO, dlast), (dq, _, dv, _, _, dS) = whole()
    np.testing.assert_allclose(np.sum(q * dq, axis=1), np.sum(O * dO, axis=1), rtol=1e-10)
    left = np.sum(v * dv) + np.sum(S * dS)
    np.testing.assert_allclose(left, np.sum(O * dO) + np.sum(last * dlast), rtol=1e-11)
    assert abs(np.sum(v[0] * dv[0]) - np.sum(O[0] * dO[0])) > 0.01  # not token by token


def test_the_length_of_a_key_is_free():
    inputs, (O, last), _, (_, dk, dv, _, dbeta, _) = whole()
    q, k, v, g, beta, S = inputs
    x = np.linspace(0.5, 2, len(beta))[:, None]
    found = gated_delta_rule.recurrent(q, x * k, x * v, g, beta / x[:, 0] ** 2, S)
    assert_close(found[0], O)
    assert_close(found[1], last)
    left = np.sum(k * dk, axis=1) + np.sum(v * dv, axis=1)
    assert_close(left, 2 * beta * dbeta, 1e-11)


def test_the_length_of_the_key_in_the_example_by_hand():
    S, k, v = np.array([[2, 0], [1, 0.5]]), np.array([[0.6, 0.8]]), np.array([[1.0, 3]])
    q, half, dO = np.array([[1.0, 0]]), np.array([0.5]), np.array([[1.0, 0]])
    _, dk, dv, _, dbeta, _ = backward.gradients(q, k, v, np.log(half), half, S, dO, 0 * S)
    found = np.sum(k * dk), np.sum(v * dv), dbeta[0], 2 * half[0] * dbeta[0]
    np.testing.assert_allclose(found, [-0.06, 0.3, 0.24, 0.24], rtol=EXACT)
