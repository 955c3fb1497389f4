"""The chunk form of the general rule, by induction: a diagonal plus rank one for every token.

`K` and `B` hold the rows `k_i^T D_{t,i}` and `b_i^T D_{t,i}`, faded to the last token so far, `G`
is the product of all decays so far, and `D` the decay of the token that is added. Diagonal
matrices are their own transposes, so `G` and `D` are written so; that they commute is not used.
"""

import numpy as np
from sympy import MatrixSymbol, symbols

from .page import on_page, row_of, rows_of
from .registry import definition, verifies
from .symbols import I_k, K, S, U, d_k, d_v, k, no_tokens, q, r

B = MatrixSymbol("B", r, d_k)
R = MatrixSymbol("R", r, d_v)
D, G = MatrixSymbol("D", d_k, d_k), MatrixSymbol("G", d_k, d_k)
a, b = MatrixSymbol("a", d_k, 1), MatrixSymbol("b", d_k, 1)
u = MatrixSymbol("u", d_v, 1)
STATE = S * G + U.T * K - R.T * B  # S_t, after the tokens so far
STEP = STATE * (D - a * b.T) + u * k.T


def faded(letter):
    """The rows before token t, faded to the state that it reads."""
    return lambda at: np.array([
        (at(rf"\mathbf{{D}}_{{{at.n - 1},{i}}}") @ at(rf"\boldsymbol{{{letter}}}_{{{i}}}"))[:, 0]
        for i in range(1, at.n)
    ]).reshape(at.n - 1, len(at(r"\boldsymbol{k}_1")))  # fmt: skip


PAGE = {
    "K": faded("k"), "B": faded("b"), "R": rows_of(r"\mathbf{R}"), "U": rows_of(r"\mathbf{U}"),
    "G": lambda at: at(rf"\mathbf{{D}}_{{{at.n - 1},0}}"),
    "D": lambda at: at(rf"\mathbf{{D}}_{{{at.n}}}"), "Lambda": r"\boldsymbol{\Lambda}_t",
    "dS": r"\mathrm{d}\mathbf{S}_t", "do": r"\mathrm{d}\boldsymbol{o}_t",
} | {x: lambda at, x=x: at(rf"\boldsymbol{{{x}}}_{{{at.n}}}") for x in "abkqu"}  # fmt: skip
definition("eq-family-recurrence", "The general rule: a transition of a diagonal plus rank one.")
definition("eq-family-interaction", "What a token reads, and puts out, of each row before it.")


@verifies(
    "eq-family-unrolled",
    method="algebra",
    covers="every t, d_k, d_v",
    mutants={
        "erased rows not decayed": {"erased": R.T * B},
        "written rows not decayed": {"written": U.T * K},
        "old state not decayed": {"old": S * G},
        "what is erased is added": {"sign": -1},
        "the write decays too": {"write": u * k.T * D},
        "erased along the key": {"along": k},
    },
)
def unrolled(
    old=S * G * D, written=U.T * K * D, erased=R.T * B * D, sign=1, write=u * k.T, along=b
):
    """Base, t = 0: S. Step: what is there fades by D, r b^T is taken off, u k^T put on."""
    claim = old + written - sign * erased + write - sign * (STATE * a) * along.T
    on_page("eq-family-unrolled", claim, letters=PAGE)
    return [no_tokens(STATE).subs(G, I_k).doit() - S, (STEP - claim).expand()]


@verifies(
    "eq-family-state",
    method="algebra",
    covers="every C, d_k, d_v",
    mutants={
        "no erasing": {"erased": 0 * R.T * B},
        "sign of the erasing": {"erased": -R.T * B * D},
        "the chunk's end one token early": {"written": U.T * K},
        "old state kept": {"old": S},
    },
)
def state(old=S * G * D, written=U.T * K * D, erased=R.T * B * D):
    """The unrolled state at t = C: the rows faded to the chunk's end are K, B times D."""
    on_page("eq-family-state", old + written - erased + u * k.T - STATE * a * b.T, letters=PAGE)
    return (STEP - (old + written - erased + u * k.T - STATE * a * b.T)).expand()


@verifies(
    "eq-family-read",
    method="algebra",
    covers="every C, d_k, d_v",
    mutants={
        "Gamma of the token itself": {"faded_b": B * D, "faded_k": K * D},
        "A^k for A^b": {"faded_b": K},
        "A^b for A^k": {"faded_k": B},
        "sign of A^b": {"sign": -1},
        "old state with the token's own decay": {"old": S * G * D},
        "old state undecayed": {"old": S},
    },
)
def read(faded_b=B, faded_k=K, old=S * G, sign=1):
    """Base, t = 0: no equation. Step: the new row of (I + A^b) R = R_0 + A^k U, as a column."""
    row = STATE * a
    on_page(
        "eq-family-read",
        (row + sign * R.T * faded_b * a).T,
        (old * a + U.T * faded_k * a).T,
        letters=PAGE,
        row=r"\mathbf{R}",
    )
    return (row + sign * R.T * faded_b * a - (old * a + U.T * faded_k * a)).expand()


@verifies(
    "eq-family-output",
    method="algebra",
    covers="every C, d_k, d_v",
    mutants={
        "Gamma of the token before": {"faded": I_k},
        "its own write missing": {"own": 0 * u * k.T},
        "its own erasing missing": {"own": u * k.T},
        "sign of the erasing": {"sign": -1},
        "old state read before the decay": {"old": S * G},
    },
)
def output(faded=D, own=u * k.T - STATE * a * b.T, sign=1, old=S * G * D):
    """The row of the token that is added: it reads after its own write, with every decay."""
    claim = old * q + U.T * K * faded * q - sign * R.T * B * faded * q + own * q
    on_page("eq-family-output", claim.T, letters=PAGE, row=r"\mathbf{R}")
    return (STEP * q - claim).expand()


@verifies(
    "eq-family-merged",
    method="algebra",
    covers="every C, d_k, d_v",
    mutants={
        "reads in the place of corrections": {"E": R},
        "sign of A^k": {"sign": -1},
        "the sum of both": {"E": U + R},
    },
)
def merged(E=U - R, sign=1):
    """With b = k the rows B are K: one matrix of corrections is written, E = U - R.

    Its row for the token that is added solves (I + A^k) E = U - R_0.
    """
    there = STATE.subs(B, K).expand()
    corrected = S * G + E.T * K
    row = (u - corrected * a) + sign * (U - R).T * K * a - (u - S * G * a)
    solved = ((u - corrected * a) + sign * (U - R).T * K * a).T
    on_page("eq-family-merged", solved, (u - S * G * a).T, letters=PAGE, row=r"\mathbf{R}")
    return [(there - corrected).expand(), row.expand()]


alpha, beta, Gamma_before, overlap = symbols("alpha beta Gamma_before kappa")


@verifies(
    "eq-family-gdn",
    method="algebra",
    covers="every t, i, d_k",
    mutants={"without beta": {"strength": 1}, "one decay short": {"Gamma": Gamma_before}},
)
def gated_delta(strength=beta, Gamma=alpha * Gamma_before):
    """k_i^T (Gamma_{t-1,i} I) (alpha_t beta_t k_t), and alpha_t Gamma_{t-1,i} is Gamma_ti."""
    letters = {
        alpha: r"\alpha_t", beta: r"\beta_t", Gamma_before: r"\Gamma_{t-1,i}",
        overlap: r"\boldsymbol{k}_i^\top\boldsymbol{k}_t",
    }  # fmt: skip
    on_page("eq-family-gdn", strength * Gamma * overlap, letters=letters)
    return (overlap * Gamma_before * alpha * beta - strength * Gamma * overlap).expand()


@verifies(
    "eq-family-minibatch",
    method="algebra",
    covers="every C, d_k, d_v",
    mutants={
        "gradient at the newest state": {"at": S + U.T * K},
        "the sign of a gradient": {"sign": -1},
    },
)
def minibatch(at=S, sign=1):
    """One step more, at the state before the batch; `a = eta k` reads, `u = eta v` is written."""
    before = S + sign * (U.T - S * B.T) * K  # B holds the rows a_i^T
    rows = lambda at: at(r"\mathbf{K}") * [[at(rf"\eta_{{{i + 1}}}")] for i in range(at.n)]
    letters = {
        B: lambda at: rows(at)[:-1], a: lambda at: rows(at)[-1:].T, u: row_of(r"\mathbf{U}"),
    }  # fmt: skip
    on_page("eq-family-minibatch", before + (u - at * a) * k.T, letters=letters)
    return (before + (u - at * a) * k.T - (S + (U.T - S * B.T) * K) - (u - S * a) * k.T).expand()


L, do = MatrixSymbol("Lambda", d_v, d_k), MatrixSymbol("do", d_v, 1)
dS = MatrixSymbol("dS", d_v, d_k)


@verifies(
    "eq-family-grad-state",
    method="algebra",
    covers="every d_k, d_v",
    mutants={
        "the transition as it stands": {"back": D - a * b.T},
        "erased twice": {"back": D - 2 * b * a.T},
        "no decay": {"back": I_k - b * a.T},
        "the output is not in the loss": {"here": dS},
    },
)
def transposed_transition(back=D - b * a.T, here=dS + do * q.T):
    """The change of the loss by a change S of the state before: <L, S (D - a b^T)> = <dS, S>.

    Inside the trace the claim is S times (D - a b^T) L^T, so dS = L (D - b a^T), with D^T = D.
    And <L, S> is <dS, S> + <do, S q>: S times dS^T + q do^T, where S is the state after.
    """
    there = (D - a * b.T) * L.T
    claimed = (L * back).T.subs(D.T, D)
    on_page("eq-family-grad-state", here, letters=PAGE)
    on_page("eq-family-grad-state", L * back, of=1, letters=PAGE)
    return [(there - claimed).expand().doit(), (dS.T + q * do.T - here.T).expand().doit()]
