"""Chapter 13: what a small change at one stage does to a chunk, and decays from rounded sums."""

from itertools import product

import numpy as np
from sympy import ZZ, ring

from .page import on_page
from .registry import verifies
from .token_forms import decay_from_start, decay_mask, rows, solve, strict

C, D_K, D_V = 5, 3, 2
SHAPES = {"Q": (C, D_K), "K": (C, D_K), "V": (C, D_V), "S": (D_V, D_K), "alpha": (C,), "beta": (C,)}
CHANGES = {"A": (C, C), "R": (C, D_V), "S": (D_K, D_V), "P": (C, C), "E": (C, D_V)}


def numbers():
    """Inputs and one direction of change for each stage: whole numbers, some of them negative."""
    rng = np.random.default_rng(13)
    draw = lambda shape: rng.integers(-9, 10, size=shape).astype(object)  # noqa: E731
    return ({name: draw(shape) for name, shape in SHAPES.items()},
            {name: draw(shape) for name, shape in CHANGES.items()})  # fmt: skip


def chunk(x, e, changes):
    """Every matrix of a chunk, each stage changed by `e` times a matrix as soon as it is there.

    The chunk form itself, run forwards; no derivative is used. S is changed as an operand.
    """
    gamma, Gamma = decay_from_start(x["alpha"]), decay_mask(x["alpha"])
    A = strict(rows(x["beta"], Gamma * (x["K"] @ x["K"].T)) + changes["A"] * e)
    T = solve(A, np.diag(x["beta"]).astype(object))
    S = x["S"].T + changes["S"] * e
    R = x["V"] - rows(gamma, x["K"] @ S) + changes["R"] * e
    E = T @ R + changes["E"] * e
    P = Gamma * (x["Q"] @ x["K"].T) + changes["P"] * e
    return {
        "T": T, "R": R, "E": E, "P": P, "O": rows(gamma, x["Q"] @ S) + P @ E, "A": A,
        "S": x["S"].T * gamma[-1] + x["K"].T @ rows(Gamma[-1], E),
        "X": solve(A, np.eye(C, dtype=object)), "W": T @ rows(gamma, x["K"]),
        "from_S": rows(gamma, x["Q"]), "KD": rows(Gamma[-1], x["K"]).T,
    }  # fmt: skip


def slope(matrix, e):
    """The coefficient of e in every entry."""
    return np.vectorize(lambda entry: int(entry.coeff(e)) if hasattr(entry, "coeff") else 0)(matrix)


LINES = {
    "O": lambda x, d: (
        d["P"] @ x["E"]
        + x["P"] @ (d["E"] + d["T"] @ x["R"] + x["T"] @ d["R"])
        + (x["from_S"] - x["P"] @ x["W"]) @ d["S"]
    ),
    "S": lambda x, d: (
        x["KD"] @ (d["E"] + d["T"] @ x["R"] + x["T"] @ d["R"] - x["W"] @ d["S"])
    ),
    "T": lambda x, d: -(x["X"] @ d["A"] @ x["T"]),
}  # fmt: skip


def of_page(at, names):
    """The matrices of a chunk, or their changes, on the page."""
    return {name: np.atleast_2d(at(tex)) for name, tex in names.items()}


EXACT = {
    "T": r"\tilde{\mathbf{T}}", "R": r"\mathbf{R}", "E": r"\mathbf{E}", "P": r"\mathbf{P}",
    "X": r"(\mathbf{I}+\tilde{\mathbf{A}})^{-1}", "W": r"\mathbf{W}_\leftarrow",
    "from_S": r"\mathbf{D}_\gamma\mathbf{Q}", "KD": r"(\mathbf{D}_\rightarrow\mathbf{K})^\top",
}  # fmt: skip
CHANGED = {
    "T": r"\partial\tilde{\mathbf{T}}", "A": r"\partial\tilde{\mathbf{A}}",
    "S": r"\partial\mathbf{S}^\top", "R": r"\partial\mathbf{R}", "P": r"\partial\mathbf{P}",
    "E": r"\partial\mathbf{E}",
}  # fmt: skip


@verifies(
    "eq-chunk-stages",
    method="polynomial",
    covers=f"C={C}, d_k={D_K}, d_v={D_V}, whole numbers, a symbol for the size of all changes",
    mutants={
        "the residual itself for its change": {
            "lines": LINES | {"S": lambda x, d: LINES["S"](x, d | {"R": x["R"]})}
        },
        "the state read by the queries alone": {
            "lines": LINES | {"O": lambda x, d: LINES["O"](x | {"W": 0 * x["W"]}, d)}
        },
        "the state's sign": {
            "lines": LINES | {"S": lambda x, d: LINES["S"](x | {"W": -x["W"]}, d)}
        },
        "one inverse for two": {"lines": LINES | {"T": lambda x, d: -(x["X"] @ d["A"])}},
        "the sign of the inverse": {"lines": LINES | {"T": lambda x, d: -LINES["T"](x, d)}},
        "the corrections' rounding left out": {
            "lines": LINES | {"O": lambda x, d: LINES["O"](x, d | {"E": 0 * d["E"]})}
        },
    },
)
def changes_of_first_order(lines=LINES):
    """Each claimed change, against the coefficient of e when the chunk is run with all changes."""
    for of, name in enumerate(lines):
        turned = np.transpose if name == "S" else np.array  # the check has the state transposed
        printed = lambda at, line=lines[name], turned=turned: turned(
            line(of_page(at, EXACT), of_page(at, CHANGED))
        )
        on_page("eq-chunk-stages", printed, of=of)
    x, d = numbers()
    d["A"] = np.tril(d["A"], -1)
    e = ring("e", ZZ)[1]
    exact = chunk(x, 0, d)
    found = chunk(x, e, d)
    given = d | {"T": slope(found["T"], e)}
    return [lines[name](exact, given) - slope(found[name], e) for name in lines]


def sums(g, errors):
    """The decay mask from cumulative sums of which each has a relative error."""
    c = np.cumsum(g) * (1 + errors)
    return np.exp(np.tril(c[:, None] - c[None, :]))


@verifies(
    "eq-decay-from-sums",
    method="float64",
    covers="6 tokens, all combinations of errors of the largest size, three decays; attained",
    mutants={
        "of the difference alone": {"bound": lambda c, r, i, u: u * abs(c[r] - c[i])},
        "of the later sum alone": {"bound": lambda c, r, i, u: u * abs(c[r])},
        "twice as much": {"bound": lambda c, r, i, u: 2 * u * (abs(c[r]) + abs(c[i]))},
    },
)
def errors_of_the_decay(bound=lambda c, r, i, u: u * (abs(c[r]) + abs(c[i]))):
    """The largest size of `ln(rounded / exact)` over all signs, against the bound, for i < r."""
    u, found = 2.0**-4, []
    for g in (-0.3, -2.0, -20.0):
        g = np.full(6, g)
        c, exact = np.cumsum(g), sums(g, np.zeros(6))
        largest = np.zeros((6, 6))
        for signs in product((u, -u), repeat=6):
            ratio = np.tril(np.log(sums(g, np.array(signs)) / exact), -1)
            largest = np.maximum(largest, abs(ratio))
        for r, i in zip(*np.tril_indices(6, -1), strict=True):
            found.append(largest[r, i] / bound(c, r, i, u) - 1)

    def printed(at):
        c = at("c_r"), at("c_i")
        return at(r"\Gamma_{ri}") * np.exp(bound(c, 0, 1, at("u")))

    on_page("eq-decay-from-sums", None, printed)
    return max(map(abs, found))
