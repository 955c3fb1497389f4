"""The chunk form itself: what each token writes, the state after the chunk, and the outputs.

Each equation is proved twice. By algebra, one induction step at symbolic size: the reader can
follow it. And by running the whole form against the token recurrence, exactly: with every entry
a symbol (small), and modulo 2^61 - 1 at the sizes a GPU uses. The state has degree at most 4 a
token in the entries of S, K, V, alpha, beta, and one more for S: so E, S' and O of 128 tokens
differ from the recurrence's by a polynomial of degree at most 4 * 128 + 2 = 514, and a wrong
form passes modulo p with probability at most 514 / p, about 2e-16.
"""

from .page import on_page
from .registry import verifies
from .symbols import D, E, I_k, K, S, U, W, alpha, beta, gamma, k, no_tokens, q, v

FACTOR = I_k - beta * k * k.T
w_new = beta * (k - W.T * K * k)
u_new = beta * (v - alpha * U.T * D * K * k)


@verifies(
    "eq-gdn-delta-split",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "W unscaled": {"scale": 1},
        "W scaled by the decay before the token": {"scale": gamma},
        "gated solve on raw K, rows scaled after": {"w": beta * (k - alpha * W.T * D * K * k)},
        "sign of W S^T": {"scale": -alpha * gamma},
        "ungated u": {"u": beta * (v - U.T * K * k)},
    },
)
def delta_split(scale=alpha * gamma, w=w_new, u=u_new):
    """delta = beta (v - alpha S_r k), with S_r = S F^r + G^r written out, is u - gamma' S w.

    The row of W< is gamma' w, with gamma' = alpha gamma the decay up to the new token.
    """
    F = gamma * (I_k - W.T * K)
    G = U.T * D * K
    delta = beta * (v - alpha * (S * F + G) * k)
    on_page("eq-gdn-delta-split", (u - scale * S * w).T, row=True)
    return delta - (u - scale * S * w)


@verifies(
    "eq-gdn-chunk-delta",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "one ungated solve": {"row": beta * k.T * K.T},
        "Gamma without the reader's decay": {"row": beta * k.T * K.T * D},
        "sign of A~": {"row": -beta * alpha * k.T * K.T * D},
        "S read undecayed": {"old": beta * k.T * S.T},
        "S read with the decay before the token": {"old": beta * gamma * k.T * S.T},
        "S read without beta": {"old": alpha * gamma * k.T * S.T},
    },
)
def one_solve(row=beta * alpha * k.T * K.T * D, old=beta * alpha * gamma * k.T * S.T):
    """Base, r = 0: no equation, and gamma S + E^T D K is S. Step: one token more borders
    (I + A~) E = B (V - Dg K S^T) by a row. Its delta, with S_r = gamma S + E^T D K, is the new
    row e of E.
    """
    state = gamma * S + E.T * D * K
    e = beta * (v - alpha * state * k)
    on_page("eq-gdn-chunk-delta", row * E + e.T, beta * v.T - old, row=True)
    return [no_tokens(state) - S, row * E + e.T - (beta * v.T - old)]


@verifies(
    "eq-gdn-chunk-state",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "state not decayed by the last token": {"old": gamma * S},
        "earlier writes not decayed by it": {"earlier": E.T * D * K},
        "earlier writes decayed twice": {"earlier": alpha**2 * E.T * D * K},
        "the write decayed too": {"write": alpha},
        "sign of the writes": {"write": -1},
    },
)
def state_after_one_more(old=alpha * gamma * S, earlier=alpha * E.T * D * K, write=1):
    """Base, r = 0: S. Step: S_r = gamma S + E^T D K, with D = diag(Gamma_ri), goes through a token.

    At r = C the row of Gamma is the decay to the chunk's end.
    """
    state = gamma * S + E.T * D * K
    e = beta * (v - alpha * state * k)
    recurrence_step = alpha * state * FACTOR + beta * v * k.T
    on_page("eq-gdn-chunk-state", old + earlier + write * e * k.T)
    return [no_tokens(state) - S, recurrence_step - (old + earlier + write * e * k.T)]


@verifies(
    "eq-gdn-chunk-output",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "M for Gamma": {"scores": q.T * K.T},
        "strict Gamma": {"own": 0 * q.T * k},
        "Gamma one token late": {"scores": q.T * K.T * D},
        "Gamma twice": {"scores": alpha * q.T * K.T * D * D},
        "Q unscaled": {"scale": 1},
        "sign of the chunk's part": {"scores": -alpha * q.T * K.T * D},
    },
)
def output_row(scale=alpha * gamma, scores=alpha * q.T * K.T * D, own=q.T * k):
    """One token more reads after its own write: its row of O is (S_r q)^T.

    Its row of Gamma is alpha times the one before, and 1 for the token itself.
    """
    state = gamma * S + E.T * D * K
    e = beta * (v - alpha * state * k)
    after = alpha * state * FACTOR + beta * v * k.T
    row = scale * q.T * S.T + scores * E + own * e.T
    on_page("eq-gdn-chunk-output", row, row=True)
    return (after * q).T - row
