"""Chapter 1: when a memory recalls exactly, and reads that are divided by their weights."""

import numpy as np
import sympy as sp

from .. import linear_attention
from .data import relative_error
from .page import on_page
from .registry import verifies
from .token_forms import modular_tokens


@verifies(
    "eq-exact-recall",
    method="polynomial",
    covers="any 3 orthonormal keys, d_v = 2",
    mutants={"the next value": {"answers": lambda V: V[[1, 2, 0], :]}},
    inputs={
        "keys that are not orthogonal": {"bend": sp.Matrix([[1, 1, 0], [0, 1, 0], [0, 0, 1]])},
        "keys of length two": {"bend": 2 * sp.eye(3)},
    },
)
def exact_recall(answers=lambda V: V, bend=None):
    """`S k_j = v_j`, for keys that run over the rotations of space, `(I - X)(I + X)^-1`.

    All of it times the determinant of I + X, twice: polynomials."""
    x, y, z = sp.symbols("x y z")
    X = sp.Matrix([[0, x, y], [-x, 0, z], [-y, -z, 0]])
    keys = (bend or sp.eye(3)) * (sp.eye(3) - X) * (sp.eye(3) + X).adjugate()
    values = sp.Matrix(3, 2, sp.symbols("v:6"))
    S = values.T * keys
    on_page("eq-exact-recall", lambda at: answers(at(r"\boldsymbol{v}_j")))
    return (S * keys.T - (sp.eye(3) + X).det() ** 2 * answers(values).T).expand()


@verifies(
    "eq-exact-recall",
    method="float64",
    covers="package code, 48 keys, d_k = 64",
    mutants={"the next value": {"shift": 1}},
    inputs={
        "cosine .1 between neighbours": {"cosine": 0.1},
        "keys of norm 1.01": {"norm": 1.01},
    },
)
def exact_recall_in_code(shift=0, cosine=0.0, norm=1.0):
    """Read every key back after all of them were written."""
    rng = np.random.default_rng(0)
    K = norm * np.linalg.qr(rng.normal(size=(64, 64)))[0][:48]
    K[1:] = np.sqrt(1 - cosine**2) * K[1:] + cosine * K[:-1]
    V = rng.normal(size=(48, 24))

    def printed(at):
        keys, values = (
            np.concatenate([at(rf"\boldsymbol{{{x}}}_{{{j}}}").T for j in at.range("j")])
            for x in "kv"
        )
        return linear_attention.recurrent(keys, keys, values)[1] @ at(r"\boldsymbol{k}_j")

    on_page("eq-exact-recall", printed, floats=True)
    _, S = linear_attention.recurrent(K, K, V)
    return relative_error(K @ S.T, np.roll(V, -shift, axis=0))


@verifies(
    "eq-normalised-linear-attention",
    method="modular",
    covers="every read of 12 tokens, d_k = 8, d_v = 6, times its denominator",
    mutants={
        "not divided": {"divisor": lambda z, q: (z @ q) * 0 + 1},
        "divided by the number of tokens": {"divisor": lambda z, q: (z * 0 + 1) @ (q * 0 + 1)},
        "z without the token itself": {"late": 1},
        "only the newest key in z": {"kept": 0},
    },
)
def divided_by_the_weights(divisor=lambda z, q: z @ q, late=0, kept=1):
    """S_t q_t and z_t^T q_t from their recurrences, against sums over the cached tokens: the one is
    the numerator of the weighted mean, the other its denominator."""
    x = modular_tokens(C=12, d_k=8, d_v=6, number_of_chunks=1)
    S, z, residuals = x.S * 0, x.K[0] * 0, []
    more = lambda z, k: z * kept + k
    for t in range(len(x.K)):
        before = z
        S, z = S + x.V[t][:, None] * x.K[t][None, :], more(z, x.K[t])
        weights = x.K[: t + 1] @ x.Q[t]
        total = weights @ np.ones(t + 1, dtype=np.int64)
        # S q / d is the mean if S q times the sum of the weights is d times the weighted values
        d = divisor(before if late else z, x.Q[t])
        residuals.append((S @ x.Q[t]) * total - (weights @ x.V[: t + 1]) * d)

    def printed(at):
        z, q = (at(rf"\boldsymbol{{{x}}}_t")[:, 0] for x in "zq")
        return at(r"\mathbf{S}_t\boldsymbol{q}_t") / divisor(z, q)

    on_page("eq-normalised-linear-attention", printed)
    keys = r"\boldsymbol{z}_{t-1}", r"\boldsymbol{k}_t"
    on_page("eq-normalised-linear-attention", lambda at: more(*map(at, keys)), of=1)
    return residuals
