"""Chapter 17: sequences in one row. What padding wastes, who gets a chunk, what a boundary does."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise, product
from types import SimpleNamespace

import numpy as np
from sympy import Rational, ceiling, floor, symbols

from . import modular
from .modular import join
from .page import on_page
from .registry import verifies
from .token_forms import decay_mask, modular_tokens, recurrence, rows, solve, strict

LENGTHS = (9, 1, 14)  # of the packed sequences


@verifies(
    "eq-padding-share",
    method="enumeration",
    covers="rows counted, all batches of three sequences of 1 to 5 tokens",
    mutants={
        "the shortest for the mean": {
            "claim": lambda lengths: 1 - Fraction(min(lengths), max(lengths))
        },
        "of the packed row, not of the padded batch": {
            "claim": lambda lengths: Fraction(len(lengths) * max(lengths), sum(lengths)) - 1
        },
        "a sequence too many": {
            "claim": lambda lengths: 1 - Fraction(sum(lengths), (len(lengths) + 1) * max(lengths))
        },
    },
)
def padding_is_counted(
    claim=lambda lengths: 1 - Fraction(sum(lengths), len(lengths) * max(lengths)),
):
    """Rows of a padded batch that hold no token, as a share of all."""
    wrong = 0
    for lengths in product(range(1, 6), repeat=3):
        batch = np.arange(max(lengths)) < np.array(lengths)[:, None]  # True: a token
        wrong += Fraction(int((~batch).sum()), batch.size) != claim(lengths)
    on_page("eq-padding-share", lambda at: claim([at(f"L_{{{n}}}") for n in at.range("n")]))
    return wrong


@verifies(
    "eq-packed-slots",
    method="enumeration",
    covers="three sequences of every length, for C = 1, 2, 3 and 4",
    mutants={
        "a program a chunk of the row": {"programs": lambda T, N, C: ceiling(T / C)},
        "none for the last sequence": {"programs": lambda T, N, C: floor(T / C) + N - 1},
        "one to spare for all": {"spare": lambda N: 1},
    },
)
def programs_suffice(programs=lambda T, N, C: floor(T / C) + N, spare=lambda N: N):
    """How many remainders of three lengths break a bound; the multiples of C are symbols."""
    whole = symbols("m:3", integer=True, nonnegative=True)
    wrong = 0
    for C in (1, 2, 3, 4):
        for rest in product(range(C), repeat=3):
            T = sum(C * m + l for m, l in zip(whole, rest, strict=True))
            chunks = sum(m + ceiling(Rational(l, C)) for m, l in zip(whole, rest, strict=True))
            idle = (programs(T.expand(), 3, C).expand() - chunks).expand()
            wrong += not (idle.is_Integer and 0 <= idle <= spare(3))

    def needed(at):
        return int(sum(ceiling(Rational(at(f"L_{n}"), at("C"))) for n in at.range("n")))

    started = lambda at: int(programs(Rational(at("T")), at("N"), at("C")))
    most = lambda at: needed(at) + spare(at("N"))
    on_page("eq-packed-slots", needed, started, most)
    return wrong


@cache
def packed(lengths=LENGTHS):
    """A row of sequences modulo p, and the state that each begins with."""
    row = modular_tokens(C=sum(lengths), d_k=8, d_v=6, number_of_chunks=1)
    rng = np.random.default_rng(17)
    return row, [modular.random(rng, 6, 8) for _ in lengths]


def part(row, begin, end, S):
    """The tokens from `begin` to `end` of a row as a sequence that starts from `S`."""
    cut = {name: getattr(row, name)[begin:end] for name in ("Q", "K", "V", "alpha", "beta")}
    return replace(row, S=S, **cut)


def same_sequence(bounds):
    """`[T, T]`: 1 where two tokens are of one sequence."""
    owner = np.concatenate([np.full(end - begin, n) for n, (begin, end) in enumerate(bounds)])
    return (owner[:, None] == owner).astype(np.int64)


def gammas(alpha, bounds):
    """Decay from the state before each token's own sequence to the token."""
    parts = []
    for begin, end in bounds:
        if begin < end:
            Gamma = decay_mask(alpha[begin:end])
            parts.append(Gamma[:, 0] * alpha[begin : begin + 1])
    return join(parts, np.concatenate)


def one_chunk(row, states, bounds, mask, mask_A, gamma_bounds, owners):
    """Corrections and outputs of the whole row as one chunk; `owners[n]` is whose state sequence
    n reads."""
    mask, mask_A = same_sequence(mask), same_sequence(mask_A)
    Gamma = decay_mask(row.alpha)
    gamma = gammas(row.alpha, gamma_bounds)

    def read(X):
        return join(
            [X[b:e] @ states[n].T for n, (b, e) in zip(owners, bounds, strict=True)],
            np.concatenate,
        )

    A = strict(rows(row.beta, Gamma * mask_A * (row.K @ row.K.T)))
    E = solve(A, rows(row.beta, row.V - rows(gamma, read(row.K))))
    return E, rows(gamma, read(row.Q)) + (Gamma * mask * (row.Q @ row.K.T)) @ E


def row_of_page(at):
    """The row of tokens on the page, its states, and where its sequences lie."""
    b = [at("b_1")]
    while b[-1] < len(at.range("t")):
        b.append(at(f"b_{{{len(b) + 1}}}"))
    column = lambda tex: [at(rf"{tex}_{{{t}}}") for t in at.range("t")]
    vectors = {x.upper(): np.hstack(column(rf"\boldsymbol{{{x}}}")).T for x in "qkv"}
    numbers = {x: np.array(column(rf"\{x}")) for x in ("alpha", "beta")}
    states = [at(rf"\mathbf{{S}}^{{({n})}}") for n in range(1, len(b))]
    return SimpleNamespace(**vectors, **numbers), states, list(pairwise(b))


BOUNDS = list(pairwise(accumulate(LENGTHS, initial=0)))
LATE = [(0, 10), (10, 11), (11, 24)]
EVERYONE = [(0, 24)]


@verifies(
    "eq-packed-mask",
    method="modular",
    covers="sequences of 9, 1 and 14 tokens, each with a state",
    mutants={
        "no boundaries": {"mask": EVERYONE, "mask_A": EVERYONE},
        "scores cut, interaction not": {"mask_A": EVERYONE},
        "interaction cut, scores not": {"mask": EVERYONE},
        "a boundary one token late": {"mask": LATE, "mask_A": LATE},
        "the decay runs on": {"gamma_bounds": [(0, 24)]},
        "all read the first state": {"owners": (0, 0, 0)},
    },
)
def one_chunk_of_many_sequences(mask=BOUNDS, mask_A=BOUNDS, gamma_bounds=BOUNDS, owners=(0, 1, 2)):
    """The row as one chunk with a mask of blocks, against each sequence by itself."""

    def printed(at):
        row, states, bounds = row_of_page(at)
        found = one_chunk(row, states, bounds, bounds, bounds, bounds, range(len(states)))
        return [x[at.n - 1 : at.n].T for x in found]

    for of in (0, 1):
        on_page("eq-packed-mask", lambda at, of=of: printed(at)[of], of=of)
    row, states = packed()
    _, O = one_chunk(row, states, BOUNDS, mask, mask_A, gamma_bounds, owners)
    alone = [recurrence(part(row, *bound, S))[0] for bound, S in zip(BOUNDS, states, strict=True)]
    return (O - join(alone, np.concatenate)).residues


def transitions(x, t, order=1, write=True):
    """`F_1 ... F_t` of the first tokens (eq-gdn-transition)."""
    eye = np.eye(x.K.shape[1], dtype=np.int64)
    F = modular.Mod(eye.astype(np.uint64))
    for i in list(range(t))[::order]:
        k = x.K[i : i + 1]
        now = (eye - k.T @ k * x.beta[i]) if write else F * 0 + eye
        F = F @ now * x.alpha[i]
    return F


@verifies(
    "eq-packed-leak",
    method="modular",
    covers="1 and 13 tokens into a sequence, after one of 9, d_k = 8, d_v = 6",
    mutants={
        "faded only": {"F": lambda x, t: transitions(x, t, write=False)},
        "the transitions in reverse": {"F": lambda x, t: transitions(x, t, order=-1)},
        "one token more": {"F": lambda x, t: transitions(x, t + 1)},
        "all of the other's state": {"start": 0},
    },
)
def a_missing_boundary_leaks(F=transitions, start=1):
    """The state without the boundary minus the state with it, after some tokens."""
    residuals = []
    row, states = packed()
    before = recurrence(part(row, 0, 9, states[0]))[2]
    for t in (1, 13):
        x = part(row, 9, 9 + t, states[1])
        leak = recurrence(replace(x, S=before))[2] - recurrence(x)[2]
        residuals.append((leak - (before - states[1] * start) @ F(part(row, 9, 24, 0), t)).residues)

    def printed(at):
        change = at(r"\tilde{\mathbf{S}}_{b_n}") - start * at(r"\mathbf{S}^{(n)}")
        return change @ at(r"\mathbf{F}_{b_n+1}\cdots\mathbf{F}_t")

    on_page("eq-packed-leak", printed)
    return residuals
