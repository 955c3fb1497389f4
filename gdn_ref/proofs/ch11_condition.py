"""Decay never makes a chunk's system worse conditioned: cond(I + A~) <= cond(I + A).

The decays of a chunk make a Gram matrix, `Gamma + Gamma^T - I`. On lower triangular matrices it
acts as Gamma does, and its entrywise product with any matrix cannot enlarge the norm.
"""

import numpy as np
from sympy import QQ, ring

from .. import wy
from ..chunking import decay
from .ch11_inverse import inverse
from .data import hard_inputs
from .page import on_page
from .registry import verifies
from .token_forms import FORM, decay_mask, first_chunk, modular_tokens, polynomial_tokens, rows


def identity(C):
    return np.eye(C, dtype=np.int64)


def both_ways(Gamma):
    """`Gamma + Gamma^T - I`: the decay between two tokens, whichever comes first."""
    return Gamma + Gamma.T - identity(len(Gamma))


def weights(alpha):
    """`1, 1 - alpha_2^2, ..., 1 - alpha_C^2`: none is negative, as no decay exceeds 1."""
    first = identity(len(alpha))[0]
    return first + (first * -1 + 1) * (alpha * alpha * -1 + 1)


def gram(Gamma, weight):
    """`Gamma diag(weight) Gamma^T`."""
    return Gamma @ rows(weight, Gamma.T)


MUTANTS = {
    "decays not squared": {"weight": lambda alpha: identity(len(alpha))[0] * alpha - alpha + 1},
    "the first weight like the others": {"weight": lambda alpha: alpha * alpha * -1 + 1},
    "Gamma transposed": {"product": lambda Gamma, weight: gram(Gamma.T, weight)},
    "the diagonal twice": {"left": lambda Gamma: Gamma + Gamma.T},
}


@verifies(
    "eq-decay-gram",
    method="polynomial",
    covers="C=6, a symbol for each decay, zero included",
    mutants=MUTANTS,
)
def decays_are_a_gram_matrix(left=both_ways, weight=weights, product=gram, alpha=None):
    """Both sides, entry by entry."""
    alpha = decays(6) if alpha is None else alpha
    Gamma = decay_mask(alpha)

    def printed(at):
        Gamma = at(r"\boldsymbol{\Gamma}")
        return product(Gamma, np.diag(at(r"\mathbf{D}_\lambda")))

    on_page("eq-decay-gram", lambda at: left(at(r"\boldsymbol{\Gamma}")), printed)
    return left(Gamma) - product(Gamma, weight(alpha))


@verifies("eq-decay-gram", method="modular", covers="C=64", mutants=MUTANTS)
def decays_are_a_gram_matrix_at_real_size(**parts):
    """The same for a whole chunk; degree 2 * 63 + 2 at most."""
    return decays_are_a_gram_matrix(**parts, alpha=modular_tokens().alpha[:64])


def decays(C):
    """An array of C symbols."""
    return np.array(ring([f"a{r}" for r in range(C)], QQ)[1:], dtype=object)


ACTS = {
    "the diagonal twice": {"mask": lambda Gamma: Gamma + Gamma.T},
    "Gamma squared": {"mask": lambda Gamma: both_ways(Gamma * Gamma)},
    "the decay forgotten": {"mask": lambda Gamma: Gamma * 0 + 1},
}


@verifies(
    "eq-decay-condition",
    method="polynomial",
    covers="C=4, d_k=3, every decay, zero included",
    mutants=ACTS,
    part="the mask acts as the decay on I + A and on its inverse",
)
def the_mask_acts_as_the_decay(mask=both_ways, tokens=None):
    """`I + A~` and its inverse are those without decay, entry by entry times the mask."""
    x = first_chunk(tokens or polynomial_tokens(), FORM)
    I, acts = identity(len(x.Gamma)), mask(x.Gamma)
    return [
        (I + x.A_gated) - acts * (I + x.A),
        inverse(x.A_gated) - acts * inverse(x.A),
    ]


@verifies(
    "eq-decay-condition",
    method="modular",
    covers="C=64, d_k=128",
    mutants=ACTS,
    part="the mask acts as the decay on I + A and on its inverse",
)
def the_mask_acts_as_the_decay_at_real_size(mask=both_ways):
    """The same for a whole chunk."""
    return the_mask_acts_as_the_decay(mask, modular_tokens())


@verifies(
    "eq-decay-condition",
    method="polynomial",
    covers="C=4, a symbol for each decay, zero included, and for each entry of M, a and b",
    mutants={
        "the columns without their weights": {"weight": lambda alpha: alpha * 0 + 1},
        "rows of Gamma for its columns": {"columns": lambda Gamma: Gamma},
    },
    part="the sum of the proof, and the lengths that Cauchy-Schwarz joins",
)
def the_mask_splits_into_columns(weight=weights, columns=lambda Gamma: Gamma.T):
    """`a^T (mask . M) b = sum_j lambda_j (x_j . a)^T M (x_j . b)` for the columns x_j of Gamma,
    and the squared lengths of the `x_j . a` add up, weighted, to that of a."""
    C = 4
    names = [f"{name}{r}" for name in "wab" for r in range(C)]
    names += [f"m{r}{i}" for r in range(C) for i in range(C)]
    places = np.array(ring(names, QQ)[1:], dtype=object)
    (alpha, a, b), M = places[: 3 * C].reshape(3, C), places[3 * C :].reshape(C, C)
    Gamma = decay_mask(alpha)
    pairs = list(zip(weight(alpha), columns(Gamma), strict=True))
    split = sum(share * ((x * a) @ M @ (x * b)) for share, x in pairs)
    length = sum(share * ((x * a) @ (x * a)) for share, x in pairs)
    return [a @ (both_ways(Gamma) * M) @ b - split, a @ a - length]


def sizes(A):
    """The norm of `I + A`, that of its inverse, and their product, the condition number."""
    singular = np.linalg.svd(np.eye(len(A)) + A, compute_uv=False)
    return np.array([singular[0], 1 / singular[-1], singular[0] / singular[-1]])


def hard_chunks():
    """`A`, the decays and Gamma: 4 to 64 tokens, similar keys, decays from 1 down to 0."""
    rng = np.random.default_rng(11)
    for C in (4, 16, 64):
        for cosine in (0, 0.5, 1):
            _, K, _, _, strength, _ = hard_inputs(T=C, d_k=16, cosine=cosine)
            resets = (rng.uniform(size=C) < 0.9).astype(float)
            for alpha in (np.ones(C), np.full(C, 0.9999), rng.uniform(0.9, 1, C), resets):
                with np.errstate(divide="ignore"):
                    Gamma = decay(np.log(alpha))[1]
                for beta in (strength, np.full(C, 2.0)):
                    yield wy.interaction(K, beta), alpha, Gamma


@verifies(
    "eq-decay-condition",
    method="float64",
    covers="gdn_ref.wy, C = 4, 16, 64, strengths to 2, decays from 1 to 0; equal without decay",
    mutants={
        "any mask with entries from 0 to 1": {
            "mask": lambda Gamma: np.random.default_rng(0).uniform(size=Gamma.shape)
        },
        "the reader's decay left out": {"mask": lambda Gamma: np.vstack([Gamma[:1], Gamma[:-1]])},
        "less by the decay of the chunk": {"factor": lambda alpha: alpha.prod() + 1e-9},
        "less by one per cent": {"factor": lambda alpha: 0.99},
    },
)
def decay_does_no_harm(mask=lambda Gamma: Gamma, factor=lambda alpha: 1.0):
    """By how much the largest ratio of the three sizes, with decay and without, exceeds 1.

    The data are tight: without decay the ratio is 1, at 0.9999 a little less.
    """
    for n in range(3):
        on_page(
            "eq-decay-condition",
            lambda at, n=n: sizes(at(r"\tilde{\mathbf{A}}"))[n],
            lambda at, n=n: sizes(at(r"\mathbf{A}"))[n],
            of=n,
        )
    return max(
        float((sizes(A * mask(Gamma)) / sizes(A)).max() / factor(alpha) - 1)
        for A, alpha, Gamma in hard_chunks()
    )
