"""Chapter 9: the chunk form of the delta rule, as one solve and as a split.

Each equation is proved by one induction step at symbolic size, and by running the whole form
against the token loop modulo 2^61 - 1. The state has degree at most 3 a token in the entries of
S, K, V, beta, and one more for S; so the outputs of 128 tokens differ from the loop's by a
polynomial of degree at most 3 * 128 + 2 = 386, and a wrong form passes with probability at most
386 / p, about 2e-16.
"""

from .. import delta_rule
from . import lines
from .data import hard_inputs, worst
from .page import on_page
from .registry import verifies
from .symbols import E, I_k, K, S, U, W, beta, k, no_tokens, q, u_new, v, w_new
from .token_forms import (
    REAL_SIZE,
    chunkwise,
    modular_tokens,
    ones_below,
    polynomial_tokens,
    recurrence,
    rows,
    solve,
    strict,
    without_decay,
)

DELTA = {  # the chunk form, one line an equation; a mutant replaces lines
    "A": lambda x: strict(rows(x.beta, x.K @ x.K.T)),
    "W": lambda x: solve(x.A, rows(x.beta, x.K)),
    "U": lambda x: solve(x.A, rows(x.beta, x.V)),
    "E": lambda x: solve(x.A, rows(x.beta, x.V - x.K @ x.S.T)),  # eq-delta-solve
    "M": lambda x: ones_below(len(x.beta), 0),
    "scores": lambda x: x.M * (x.Q @ x.K.T),
    "O": lambda x: x.Q @ x.S.T + x.scores @ x.E,  # eq-delta-rule-chunk
    "S_next": lambda x: x.S + x.E.T @ x.K,
}
lines.printed_as(DELTA["E"], "eq-delta-solve", system=r"\mathbf{I} + \mathbf{A}")
lines.printed_as(DELTA["S_next"], "eq-delta-rule-chunk")
lines.printed_as(DELTA["O"], "eq-delta-rule-chunk", of=1)
SPLIT = DELTA | {"E": lambda x: x.U - x.W @ x.S.T}  # eq-delta-split
lines.printed_as(SPLIT["E"], "eq-delta-split")


def forms(form, **changes):
    return {name.replace("_", " "): {"form": form | change} for name, change in changes.items()}


@verifies(
    "eq-delta-split",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "sign of the read": {"read": -S * w_new},
        "W without the solve": {"read": S * beta * k},
        "W without beta": {"read": S * (k - W.T * K * k)},
        "the value in place of u": {"write": beta * v},
    },
)
def the_split_is_the_delta(read=S * w_new, write=u_new):
    """beta (v - S_r k), with S_r = S (I - W^T K) + U^T K written out, is u - S w."""
    state = S * (I_k - W.T * K) + U.T * K
    on_page("eq-delta-split", (write - read).T, row=True)
    return beta * (v - state * k) - (write - read)


@verifies(
    "eq-delta-split",
    method="modular",
    covers=REAL_SIZE,
    mutants=forms(
        SPLIT,
        sign_of_the_read={"E": lambda x: x.U + x.W @ x.S.T},
        only_U={"E": lambda x: x.U},
        K_for_W={"E": lambda x: x.U - x.K @ x.S.T},
        W_without_the_solve={"W": lambda x: rows(x.beta, x.K)},
        W_without_beta={"W": lambda x: solve(x.A, x.K)},
    ),
)
def split_at_real_size(form=SPLIT):
    """Every row of U - W S^T against the deltas of the token loop."""
    return deltas(form)


def deltas(form):
    tokens = without_decay(modular_tokens())
    return chunkwise(tokens, form)[1] - recurrence(tokens)[1]


@verifies(
    "eq-delta-solve",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "sign of A": {"row": -beta * k.T * K.T},
        "A without beta": {"row": k.T * K.T},
        "S not read": {"right": beta * v.T},
        "S read without beta": {"right": beta * v.T - k.T * S.T},
    },
)
def one_more_row(row=beta * k.T * K.T, right=beta * (v - S * k).T):
    """Base, r = 0: no equation, and S + E^T K is S. Step: one more token borders
    (I + A) E = B (V - K S^T). Its delta, with S_r = S + E^T K, is the new row of E.
    """
    state = S + E.T * K
    delta = beta * (v - state * k)
    on_page("eq-delta-solve", row * E + delta.T, right, row=True)
    return [no_tokens(state) - S, row * E + delta.T - right]


WRONG_SOLVES = {
    "sign_of_A": {"A": lambda x: -strict(rows(x.beta, x.K @ x.K.T))},
    "beta_on_the_columns": {"A": lambda x: strict((x.K @ x.K.T) * x.beta[None, :])},
    "no_solve": {"E": lambda x: rows(x.beta, x.V - x.K @ x.S.T)},
    "S_not_read": {"E": lambda x: solve(x.A, rows(x.beta, x.V))},
    "S_read_without_beta": {"E": lambda x: solve(x.A, rows(x.beta, x.V) - x.K @ x.S.T)},
}


@verifies(
    "eq-delta-solve", method="modular", covers=REAL_SIZE, mutants=forms(DELTA, **WRONG_SOLVES)
)
def solve_at_real_size(form=DELTA):
    """One triangular solve a chunk against the deltas of the token loop."""
    return deltas(form)


@verifies(
    "eq-delta-rule-chunk",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "old state not read": {"old": 0 * v.T},
        "values in place of deltas": {"written": beta * v},
        "sign of the writes": {"written": -beta * (v - (S + E.T * K) * k)},
        "S written twice": {"state": 2 * S + E.T * K},
        "strict mask": {"own": 0 * q.T * k},
        "only its own token seen": {"earlier": 0 * q.T * K.T},
    },
)
def state_and_output(
    state=S + E.T * K,
    written=beta * (v - (S + E.T * K) * k),
    old=q.T * S.T,
    earlier=q.T * K.T,
    own=q.T * k,
):
    """Base, r = 0: S. Step: S + E^T K takes one token and gains one row of E; and then q reads.

    Its row of M has ones up to the token itself, so its row of M . Q K^T is q^T K^T for the tokens
    before it, and q^T k for its own.
    """
    after = (S + E.T * K) * (I_k - beta * k * k.T) + beta * v * k.T
    row = old + earlier * E + own * written.T
    on_page("eq-delta-rule-chunk", state + written * k.T)
    on_page("eq-delta-rule-chunk", row, of=1, row=True)
    return [no_tokens(state) - S, after - (state + written * k.T), (after * q).T - row]


WRONG_CHUNKS = {
    "strict_mask": {"scores": lambda x: strict(x.Q @ x.K.T)},
    "no_mask": {"scores": lambda x: x.Q @ x.K.T},
    "K_and_Q_swapped": {"scores": lambda x: x.M * (x.K @ x.Q.T)},
    "old_state_not_read": {"O": lambda x: x.scores @ x.E},
    "U_for_E_in_the_output": {"O": lambda x: x.Q @ x.S.T + x.scores @ x.U},
    "V_for_E_in_the_state": {"S_next": lambda x: x.S + x.V.T @ x.K},
    "U_for_E_in_the_state": {"S_next": lambda x: x.S + x.U.T @ x.K},
    "sign_of_the_writes": {"S_next": lambda x: x.S - x.E.T @ x.K},
    "state_not_handed_on": {"S_next": lambda x: x.E.T @ x.K},
}


def outputs(tokens, form):
    O, _, last = chunkwise(tokens, form)
    right, _, right_last = recurrence(tokens)
    return [O - right, last - right_last]


@verifies(
    "eq-delta-rule-chunk",
    method="modular",
    covers=REAL_SIZE,
    mutants=forms(DELTA, **WRONG_CHUNKS),
)
def chunk_at_real_size(form=DELTA):
    """Outputs and last state against the token loop."""
    return outputs(without_decay(modular_tokens()), form)


@verifies(
    "eq-delta-rule-chunk",
    method="polynomial",
    covers="C=3, d_k=2, d_v=2, every entry a symbol",
    mutants=forms(DELTA, **{n: WRONG_CHUNKS[n] for n in ("strict_mask", "no_mask")}),
)
def chunk_entry_by_entry(form=DELTA):
    """The same, every entry of S, Q, K, V and beta a symbol."""
    return outputs(without_decay(polynomial_tokens(3, 2, 2)), form)


@verifies(
    "eq-delta-rule-chunk",
    method="float64",
    covers="gdn_ref.delta_rule.chunkwise, C = 1, 7, 16, 50, 64, and parallel",
    mutants={
        "the state left out": {"start": 0},
        "the state of the wrong sign": {"start": -1},
        "beta squared": {"power": 2},
    },
)
def the_package(start=1, power=1):
    """The package's chunk form and parallel form against its token loop."""
    q_, k_, v_, _, b, S0 = hard_inputs()
    right = delta_rule.recurrent(q_, k_, v_, b, S0)
    errors = []
    for run in (1, 7, 16, 50, 64, None):
        options = {} if run is None else {"chunk_size": run}
        call = delta_rule.parallel if run is None else delta_rule.chunkwise

        def printed(at, call=call, options=options):
            x = lines.tokens(at)
            return call(x.Q, x.K, x.V, x.beta**power, start * x.S, **options)

        on_page("eq-delta-rule-chunk", lambda at, run=printed: run(at)[1], floats=True)
        on_page("eq-delta-rule-chunk", lambda at, run=printed: run(at)[0], of=1, floats=True)
        got = call(q_, k_, v_, b**power, start * S0, **options)
        errors.append(worst(got, right))
    return max(errors)
