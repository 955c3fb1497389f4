"""Answers to the exercises of chapter 11: right ones, and wrong ones with the hint they get."""

import numpy as np

from gdn_ref import affine, gated_delta_rule, wy
from gdn_ref.chunking import decay, scan_chunks
from gdn_ref.exercises.ch11 import suspects
from gdn_ref.proofs.data import hard_inputs


def by_substitution(S, k, v, g, beta):
    """Forward substitution, a row at a time, in the array of the values."""
    gamma, Gamma = decay(g)
    for r in range(len(k)):
        v[r] -= gamma[r] * S @ k[r]
        v[r] -= (Gamma[r, :r] * (k[:r] @ k[r])) @ v[:r]
        v[r] *= beta[r]
    return v


def by_tokens(S, k, v, g, beta):
    rows = []
    for k_t, v_t, g_t, beta_t in zip(k, v, g, beta, strict=True):
        S = np.exp(g_t) * S
        rows.append(beta_t * (v_t - S @ k_t))
        S = S + rows[-1][:, None] * k_t
    return rows


def one_solve(S, k, v, g, beta, solve=wy.solve, gamma_of=lambda g: decay(g)[0], mask=True):
    Gamma = decay(g)[1] if mask else None
    unread = v - gamma_of(g)[:, None] * (k @ S.T)
    return solve(wy.interaction(k, beta, Gamma), beta[:, None] * unread)


def u_and_w(S, k, v, g, beta):
    gamma, Gamma = decay(g)
    W = gamma[:, None] * wy.w(k, beta)
    return wy.u(k, v, beta, Gamma) - W @ S.T


def two_solves(S, k, v, g, beta):
    gamma, Gamma = decay(g)
    A = wy.interaction(k, beta, Gamma)
    return wy.solve(A, beta[:, None] * v) - wy.solve(A, (beta * gamma)[:, None] * (k @ S.T))


def both_in_one_solve(S, k, v, g, beta):
    """U~ and W side by side, as the columns of one solution."""
    gamma, Gamma = decay(g)
    right = np.hstack([v, gamma[:, None] * k])
    X = wy.solve(wy.interaction(k, beta, Gamma), beta[:, None] * right)
    d_v = v.shape[1]
    return X[:, :d_v] - X[:, d_v:] @ S.T


def by_the_transform(S, k, v, g, beta):
    gamma, Gamma = decay(g)
    T = wy.solve(wy.interaction(k, beta, Gamma), np.diag(beta))
    return T @ v - (T * gamma @ k) @ S.T


def found_by_test(data, chunk_size, bound=1e-9):
    q, k, v, g, beta, S = data
    right, last = gated_delta_rule.recurrent(*data)
    wrong = []
    for name, chunk in suspects().items():
        O, S_next = scan_chunks(chunk, S, (q, k, v), (g, beta), chunk_size)
        if np.abs(O - right).max() > bound or np.abs(S_next - last).max() > bound:
            wrong.append(name)
    return wrong


def one_chunk_from_nothing():
    q, k, v, g, beta, S = hard_inputs(T=16)
    return q, k, v, g, beta, 0 * S


def revealing(T=16, cosine=0.8, alpha=0.8, beta=1.0, values=0.0, state=1.0):
    q, k, v, _, _, S = hard_inputs(T=T, cosine=cosine)
    return q, k, values * v, np.full(T, np.log(alpha)), np.full(T, beta), state * S


RIGHT = {
    "11-one-solve": [
        by_substitution,
        by_tokens,
        one_solve,
        lambda *x: one_solve(*x, solve=lambda A, X: np.linalg.inv(np.eye(len(A)) + A) @ X),
    ],
    "11-suspects": [
        found_by_test(hard_inputs(T=40, seed=3), 8),
        frozenset(found_by_test(hard_inputs(T=33, cosine=0.2), 33)),
        (name for name in found_by_test(hard_inputs(T=30), 7)),
    ],
    "11-revealing-data": [
        revealing(),
        list(revealing(T=4, cosine=1.0, alpha=0.5)),
        revealing(values=1.0, state=100.0),
        tuple(x.tolist() for x in revealing(T=2, cosine=0.9, alpha=0.1)),
    ],
    "11-join": [
        lambda first, then: (first[0] @ then[0], first[1] @ then[0] + then[1]),
        lambda first, then: list(
            np.split(np.vstack(first) @ then[0] + np.vstack([0 * then[0], then[1]]), [3])
        ),
        lambda first, then: affine.compose(first, then),
    ],
}

WRONG = {
    "11-one-solve": [
        (u_and_w, "right, but by way of W"),
        (two_solves, "right, but by way of U~"),
        (both_in_one_solve, "right, but by way of"),
        (by_the_transform, "right, but by way of"),
        (lambda S, k, v, g, beta: u_and_w(0 * S, k, v, g, beta), "deltas of an empty state"),
        (lambda S, k, v, g, beta: one_solve(S, k, v, 0 * g, beta), "the rule without decay"),
        (lambda *x: one_solve(*x, gamma_of=lambda g: np.ones(len(g))), "what does token 1 read"),
        (lambda *x: one_solve(*x, mask=False), "what has happened to it on the way"),
        (lambda S, k, v, g, beta: one_solve(S, k, v, g, beta).T, "expected one delta per token"),
    ],
    "11-suspects": [
        (set(), "you miss someone"),
        (found_by_test(one_chunk_from_nothing(), 16), "you miss someone"),
        (set(suspects()), "you accuse someone who is right"),
        ({"ben", "dan", "eve"}, "you miss someone"),
        ("ben", "expected a set of names"),
        ({"ben", "zoe"}, "expected a set of names"),
    ],
    "11-revealing-data": [
        (revealing(state=0.0, values=1.0), "yours is empty"),
        (revealing(alpha=1.0), "the wrong W gives an error of"),
        (revealing(cosine=0.0, alpha=0.999), "the wrong W gives an error of"),
        (revealing(T=32), "at most 16 tokens"),
        (revealing(beta=1.5), "beta between 0 and 1"),
        (revealing(alpha=1.1), "g is at most 0"),
        ((*revealing()[:1], 2 * revealing()[1], *revealing()[2:]), "must have unit norm"),
    ],
    "11-join": [
        (lambda first, then: first, "another state"),
        (lambda first, then: (then[0] @ first[0], first[1] @ then[0] + then[1]), "another state"),
        (lambda first, then: affine.compose(then, first), "runs the second map first"),
        (lambda first, then: (first[0] @ then[0], first[1] + then[1]), "another state"),
        (lambda first, then: (first[0] + then[0], first[1] + then[1]), "another state"),
        (lambda first, then: (first[0] @ then[0], first[0] @ then[1].T), "expected shapes (3, 3)"),
        (lambda first, then: affine.compose(first, then)[0], "a pair (F, G)"),
        (lambda first, then: (np.full((3, 3), np.inf), np.full((2, 3), -np.inf)), "another state"),
    ],
}
