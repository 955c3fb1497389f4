"""Chapter 12: the gradient of a log-decay, by dot products and by the pairs around it."""

from dataclasses import replace

import numpy as np

from . import lines
from .ch12_chunk import at_real_size, forms, of_the_package, package, the_package
from .ch12_form import BACKWARD, Loss, from_here_on, loop, row_sums, rows, total
from .page import on_page
from .registry import definition, verifies
from .token_forms import REAL_SIZE, ones_below, polynomial_tokens, strict

definition(
    "eq-grad-crossing-parts",
    "What a token gets from an earlier one and from the old state, and what it leaves to the next "
    "chunk, each times its gradient.",
)

CROSSING = BACKWARD | {  # dg of eq-grad-crossing: each product counts where its decay lies
    "J": lambda x: x.scores * (x.dO @ x.E.T) - x.A_gated * (x.Z @ x.E.T),
    "a": lambda x: row_sums(x.dO * rows(x.gamma, x.Q @ x.S.T) - x.dV * x.read),
    "b": lambda x: row_sums(rows(x.to_end, x.E @ x.dS_next) * x.K),
    "old": lambda x: total(x.S * x.gamma[-1] * x.dS_next),
    "dg": lambda x: (
        row_sums(ones_below(len(x.a), 0).T @ x.J * ones_below(len(x.a), -1))
        + from_here_on(x.a)
        + ones_below(len(x.b), -1) @ x.b
        + x.old
    ),
}


lines.printed_as(CROSSING["J"], "eq-grad-crossing-parts")
lines.printed_as(CROSSING["a"], "eq-grad-crossing-parts", of=1)
lines.printed_as(CROSSING["b"], "eq-grad-crossing-parts", of=2)
lines.printed_as(CROSSING["dg"], "eq-grad-crossing")


ROLES = ("reads", "is read")  # of a key


def crossing(**changes):
    return {name.replace("_", " "): {"form": CROSSING | change} for name, change in changes.items()}


@verifies(
    "eq-grad-decay",
    method="polynomial",
    covers="one token, d_k=3, d_v=2, every entry a symbol",
    mutants={
        "reading and read exchanged": {"sign": (1, -1, 1)},
        "the query left out": {"sign": (0, 1, -1)},
        "the key as reader alone": {"sign": (1, 1, 0)},
    },
)
def one_step_of_the_sum(sign=(1, 1, -1)):
    """<S_{t-1}, dS_{t-1}> - <S_t, dS_t> is <q, dq> + <k, dk_reading> - <k, dk_read>."""
    letters = polynomial_tokens(4, 3, 2)
    names = ("Q", "K", "V", "alpha", "beta")
    token = replace(letters, chunk_size=1, **{n: getattr(letters, n)[:1] for n in names})
    # the other letters make a gradient: any 2 x 3 matrix is a sum of two outer products
    (x,) = loop(token, Loss(letters.V[3:], letters.V[1:3].T @ letters.K[1:3]))

    def printed(at):
        grads = (r"\boldsymbol{q}_r", *(rf"\boldsymbol{{k}}_r^{{\text{{{x}}}}}" for x in ROLES))
        read = (r"\boldsymbol{q}_r", r"\boldsymbol{k}_r", r"\boldsymbol{k}_r")
        pairs = zip(sign, read, grads, strict=True)
        return sum(n * (at(x) * at(rf"\mathrm{{d}}{dx}")).sum() for n, x, dx in pairs)

    on_page("eq-grad-decay", printed)
    products = (x.q * x.dq, x.k * x.dk_reading, x.k * x.dk_read)
    terms = [total(product[None, :]) for product in products]
    change = total(x.S * x.dS_before) - total(x.after * x.dS)
    return change - sum(s * term for s, term in zip(sign, terms, strict=True))


@verifies(
    "eq-grad-decay",
    method="modular",
    covers=REAL_SIZE,
    mutants=forms(
        reading_and_read_exchanged={
            "dc": lambda x: row_sums(x.Q * x.dQ + x.K * (x.dK_read - x.dK_reading))
        },
        the_query_left_out={"dc": lambda x: row_sums(x.K * (x.dK_reading - x.dK_read))},
        the_last_state_left_out_of_dg={"dg": lambda x: from_here_on(x.dc)},
        only_the_old_state={
            "at_the_end": lambda x: total(x.S * x.gamma[-1] * x.dS_next),
        },
        cumulated_forwards={"dg": lambda x: ones_below(len(x.dc), 0) @ x.dc + x.at_the_end},
        not_summed={"dg": lambda x: x.dc + x.at_the_end},
    ),
)
def decays(form=BACKWARD):
    """dg of every token, against <S_{t-1}, dS_{t-1}> of the reversed loop."""
    return at_real_size(form, "dg")


@verifies(
    "eq-grad-decay",
    method="modular",
    covers=REAL_SIZE,
    part="it holds even with both diagonals wrong, of X and of N",
    mutants={
        "X strict in dQ alone": {"change": {"dQ": lambda x: strict_dQ(x)}},
        "N inclusive in reading alone": {
            "change": {"dK_reading": lambda x: x.N @ x.K - rows(x.gamma, x.dV @ x.S) + whole_N(x)}
        },
    },
)
def diagonals_cancel(change=None):
    """With X strict and N inclusive, both wrong, dg is still right."""
    wrong = {
        "X": lambda x: strict(BACKWARD["X"](x)),
        "N": lambda x: -rows(x.beta, x.Gamma * (x.Z @ x.E.T)),
    }
    return at_real_size(BACKWARD | (wrong if change is None else change), "dg")


def strict_dQ(x):
    return rows(x.gamma, x.dO @ x.S) + strict(x.X) @ x.K


def whole_N(x):
    return -rows(x.beta * row_sums(x.Z * x.E), x.K)


@verifies(
    "eq-grad-decay",
    method="float64",
    covers="gdn_ref.backward, chunks of 16",
    mutants=package(
        "the last state left out of dg", "reading and read exchanged", "cumulated forwards"
    ),
)
def decays_of_the_package(mistake=None):
    """dg of the package against the reversed loop."""
    on_page("eq-grad-decay", of_the_package(mistake, "g"), of=1, floats=True)
    return the_package(mistake, "g")


@verifies(
    "eq-grad-crossing",
    method="modular",
    covers=REAL_SIZE,
    mutants=crossing(
        pairs_that_begin_here={
            "dg": lambda x: (
                row_sums(ones_below(len(x.a), 0).T @ x.J * ones_below(len(x.a), 0))
                + from_here_on(x.a)
                + ones_below(len(x.b), -1) @ x.b
                + x.old
            )
        },
        sign_of_the_overlaps={"J": lambda x: x.scores * (x.dO @ x.E.T) + x.A_gated * (x.Z @ x.E.T)},
        old_state_left_out={"old": lambda x: x.old_without * 0, "old_without": lambda x: x.a[:1]},
        next_state_left_out={"b": lambda x: x.a * 0},
        queries_alone={"a": lambda x: row_sums(x.dO * rows(x.gamma, x.Q @ x.S.T))},
    ),
)
def pairs(form=CROSSING):
    """dg of every token, from the products whose decay contains it."""
    return at_real_size(form, "dg")


@verifies(
    "eq-grad-crossing",
    method="enumeration",
    covers="C to 9, every pair and every decay",
    part="which stretches contain the decay of a token",
    mutants={
        "including the key's own decay": {"begin": 0},
        "up to the reader, exclusive": {"end": -1},
    },
)
def where_a_decay_lies(begin=-1, end=0):
    """log Gamma_si contains g_r if and only if i < r <= s: the rectangle of ones."""
    residuals = []
    for C in range(1, 10):
        s, i, r = np.indices((C, C, C))
        lies = ((i < r) & (r <= s)).astype(int)
        left, right = ones_below(C, begin), ones_below(C, end)
        rectangle = np.einsum("sr,ri->sir", right, left)
        residuals.append(lies - rectangle)
    return residuals
