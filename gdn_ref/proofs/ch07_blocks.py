"""Chapter 7: blocks of tokens merged, the state after r tokens, and the state the other way up."""

import numpy as np
from sympy import MatrixSymbol, ZeroMatrix, symbols

from .. import delta_rule, wy
from . import lines
from .ch07_wy import real_size
from .data import hard_inputs, relative_error
from .page import on_page
from .registry import verifies
from .symbols import FACTOR, WRITE, I_k, K, S, U, W, beta, d_k, d_v, k, no_tokens, u_new, v, w_new

r_1, r_2 = symbols("r_1 r_2", integer=True, nonnegative=True)
W_1, K_1, U_1 = (MatrixSymbol(f"{n}_1", r_1, d) for n, d in (("W", d_k), ("K", d_k), ("U", d_v)))
W_2, K_2, U_2 = (MatrixSymbol(f"{n}_2", r_2, d) for n, d in (("W", d_k), ("K", d_k), ("U", d_v)))
RUNS = {f"{x}_{n}": rf"\mathbf{{{x}}}_{n}" for x in "WUK" for n in (1, 2)}


@verifies(
    "eq-wy-merge",
    method="algebra",
    covers="every r_1, r_2, d_k, d_v",
    mutants={
        "stacked as they are": {"C": ZeroMatrix(r_2, r_1)},
        "overlap of the keys": {"C": K_2 * K_1.T},
        "overlap of key and W": {"C": K_2 * W_1.T},
        "added": {"C": -W_2 * K_1.T},
    },
    part="the products of both blocks, which do not determine the rows once r_2 exceeds d_k",
)
def merged(C=W_2 * K_1.T):
    """Two blocks of any sizes, one after the other: the second block's rows are corrected."""
    first, then = I_k - W_1.T * K_1, I_k - W_2.T * K_2
    P = first * then - (I_k - W_1.T * K_1 - (W_2 - C * W_1).T * K_2)
    H = U_1.T * K_1 * then + U_2.T * K_2 - (U_1.T * K_1 + (U_2 - C * U_1).T * K_2)
    on_page("eq-wy-merge", W_2 - C * W_1, letters=RUNS)
    on_page("eq-wy-merge", U_2 - C * U_1, of=1, letters=RUNS)
    return [P, H]


@verifies(
    "eq-wy-merge",
    method="algebra",
    covers="every r_1, r_2, d_k, d_v",
    mutants={
        "stacked as they are": {"C": lambda W_2: 0 * W_2 * K_1.T},
        "overlap of W and W": {"C": lambda W_2: W_2 * W_1.T},
        "added": {"C": lambda W_2: -W_2 * K_1.T},
    },
    part="row by row: the rows of one token more, if those before it are merged right",
)
def one_more_merged_row(C=lambda W_2: W_2 * K_1.T):
    """The recursion of the joint run, and the new row of the second run alone, corrected.

    W_2 and U_2 are the second run's rows so far. The joint recursion also sums over the first run,
    which leaves `P_1 k` for the key and `v - H_1 k` for the value.
    """
    w, u = beta * (k - W_2.T * K_2 * k), beta * (v - U_2.T * K_2 * k)
    W_so_far, U_so_far = W_2 - C(W_2) * W_1, U_2 - C(W_2) * U_1
    w_joint = beta * (k - W_1.T * K_1 * k - W_so_far.T * K_2 * k)
    u_joint = beta * (v - U_1.T * K_1 * k - U_so_far.T * K_2 * k)
    on_page("eq-wy-merge", W_so_far, letters=RUNS)
    on_page("eq-wy-merge", U_so_far, of=1, letters=RUNS)
    return [w_joint.T - (w.T - C(w.T) * W_1), u_joint.T - (u.T - C(w.T) * U_1)]


@verifies(
    "eq-wy-merge",
    method="float64",
    covers="gdn_ref.wy.w and wy.u, 50 tokens cut after 18",
    mutants={
        "stacked as they are": {"overlap": lambda W, K: 0 * W @ K.T},
        "the blocks swapped": {"cut": -18},
    },
)
def the_package_merges(overlap=lambda W, K: W @ K.T, cut=18):
    """W and U of two parts, merged, against those of the whole."""
    _, K, V, _, strength, _ = hard_inputs()
    first, then = slice(None, cut), slice(cut, None)
    if cut < 0:
        first, then = then, first
    W1, W2 = (wy.w(K[part], strength[part]) for part in (first, then))
    U1, U2 = (wy.u(K[part], V[part], strength[part]) for part in (first, then))

    def merged(second, first, W2, K1):
        return second - overlap(W2, K1) @ first

    for of, x in enumerate("WU"):
        names = [rf"\mathbf{{{name}}}" for name in (f"{x}}}_{{2", f"{x}}}_{{1", "W}_{2", "K}_{1")]
        on_page("eq-wy-merge", lambda at, names=names: merged(*map(at, names)), of=of)
    W = np.concatenate([W1, merged(W2, W1, W2, K[first])])
    U = np.concatenate([U1, merged(U2, U1, W2, K[first])])
    return max(relative_error(W, wy.w(K, strength)), relative_error(U, wy.u(K, V, strength)))


@verifies(
    "eq-wy-state",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "w reads the wrong way round": {"row": u_new - S * beta * k},
        "signs swapped": {"row": S * w_new - u_new},
        "the old state left alone": {"row": u_new},
    },
)
def one_more_token(row=u_new - S * w_new):
    """Base, r = 0: S. Step: S + (U - W S^T)^T K takes one token and gains one outer product."""
    before = S + U.T * K - S * W.T * K
    on_page("eq-wy-state", before + row * k.T)
    return [no_tokens(before) - S, before * FACTOR + WRITE - (before + row * k.T)]


@verifies(
    "eq-wy-state",
    method="modular",
    covers="the states after 1, 32 and 64 tokens, d_k=128, d_v=96",
    mutants={
        "U alone": {"keep": 0},
        "a row too few": {"last": lambda n: n - 1},
    },
)
def states_at_real_size(keep=1, last=lambda n: n):
    """The first r rows of one W and one U give the state after r tokens."""

    def state(S, W, U, K, m):
        return S + ((U[:m] - W[:m] @ S.T * keep).T @ K[:m] if m else 0)

    def printed(at):
        x = lines.tokens(at)
        return state(x.S, x.W, at(r"\mathbf{U}"), x.K, last(at.n))

    on_page("eq-wy-state", printed)
    (x, (W, U), _, states), residual = real_size(), []
    for n in (1, 32, 64):
        residual.append(state(x.S, W, U, x.K, last(n)) - states[n])
    return int(any((part != 0).any() for part in residual))


@verifies(
    "eq-wy-state",
    method="float64",
    covers="gdn_ref.wy against gdn_ref.delta_rule.recurrent, 50 tokens",
    mutants={
        "W and K swapped": {"P_of": lambda W, K: K.T @ W},
        "W without the solve": {"W_of": lambda K, b: b[:, None] * K},
    },
)
def the_package_agrees(P_of=lambda W, K: W.T @ K, W_of=wy.w):
    """S - S W^T K + U^T K against the package's loop."""

    def state(S, K, V, beta):
        return S - S @ P_of(W_of(K, beta), K) + wy.u(K, V, beta).T @ K

    def printed(at):
        x = lines.so_far(at)
        return state(x.S, x.K, x.V, x.beta)

    on_page("eq-wy-state", printed, floats=True)
    q, K, V, _, strength, S0 = hard_inputs()
    return relative_error(state(S0, K, V, strength), delta_rule.recurrent(q, K, V, strength, S0)[1])


@verifies(
    "eq-wy-transpose",
    method="algebra",
    covers="every r, d_k",
    mutants={
        "newest factor on the right": {"turned": lambda P: P * FACTOR},
        "W and K not swapped": {"P_T": I_k - W.T * K},
        "k and w not swapped": {"outer": w_new * k.T},
    },
)
def turned_round(turned=lambda P: FACTOR * P, P_T=I_k - K.T * W, outer=k * w_new.T):
    """Base, r = 0: I. Step: the newest factor goes on the left of I - K^T W, with the same W."""
    on_page("eq-wy-transpose", P_T - outer)
    return [no_tokens(P_T) - I_k, turned(P_T) - (P_T - outer)]


@verifies(
    "eq-wy-transpose",
    method="float64",
    covers="a state stored d_k x d_v, 50 tokens",
    mutants={
        "oldest factor on the left": {"order": slice(None)},
        "not transposed": {"P_of": lambda W, K: W.T @ K},
    },
)
def transposed_state(order=slice(None, None, -1), P_of=lambda W, K: K.T @ W):
    """(I - K^T W) S^T against the factors applied to S^T, the newest on the left."""

    def printed(at):
        x = lines.so_far(at)
        return np.eye(x.K.shape[1]) - P_of(wy.w(x.K, x.beta), x.K)

    on_page("eq-wy-transpose", printed, floats=True)
    _, K, _, _, strength, S0 = hard_inputs()
    state = S0.T
    factors = [np.eye(12) - b * np.outer(k, k) for k, b in zip(K, strength, strict=True)]
    whole = np.linalg.multi_dot(factors[order])
    return relative_error(state - P_of(wy.w(K, strength), K) @ state, whole @ state)
