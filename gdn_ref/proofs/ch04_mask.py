"""Chapter 4: the decay mask. Stretches join, and its inverse has two diagonals."""

from math import prod

import numpy as np
from sympy import ZZ, Float, Indexed, IndexedBase, Sum, exp, log, oo, ring, symbols

from ..chunking import decay
from . import lines
from .data import hard_inputs, logs, relative_error
from .modular import reciprocal
from .page import on_page
from .registry import definition, verifies
from .token_forms import decay_from_start, decay_mask, modular_tokens, ones_below, rows

definition("eq-decay-mask", "The decay from token i to token r, for each pair of a chunk.")

i, j, n = symbols("i j n", integer=True)
g = IndexedBase("g")


def stretch(first, last):
    """`g_{first+1} + ... + g_last`: the logarithm of Gamma."""
    return Sum(g[n], (n, first + 1, last))


@verifies(
    "eq-decay-mask-factor",
    method="algebra",
    covers="every j <= i <= r, decays not zero, for it takes their logarithms",
    part="the first two lines",
    mutants={
        "the writer's decay counted": {"log_Gamma": lambda i, r: stretch(i - 1, r)},
        "the reader's decay left out": {"log_Gamma": lambda i, r: stretch(i, r - 1)},
        "decay of the wrong sign": {"log_gamma": lambda r: -stretch(0, r)},
    },
)
def stretches_join(log_Gamma=stretch, log_gamma=lambda r: stretch(0, r)):
    """In logarithms: Gamma_ri gamma_i = gamma_r and Gamma_ri Gamma_ij = Gamma_rj."""
    reader = symbols("r", integer=True)

    def printed(logarithm):
        """The decay of this logarithm, at a place of the page."""

        def decay(at):
            here = {x: at.scope[str(x)] for x in logarithm.free_symbols if str(x) in at.scope}
            terms = logarithm.subs(here).doit()
            decays = {x: at(rf"\alpha_{{{x.indices[0]}}}") for x in terms.atoms(Indexed)}
            return float(
                exp(terms.subs({x: log(Float(a)) if a else -oo for x, a in decays.items()}))
            )

        return decay

    together = log_Gamma(i, reader) + log_Gamma(j, i), log_Gamma(j, reader)
    on_page("eq-decay-mask-factor", *map(printed, together), floats=True)
    from_start = log_gamma(reader), log_Gamma(i, reader) + log_gamma(i)
    on_page("eq-decay-mask-factor", *map(printed, from_start), of=1, floats=True)
    factor = log_Gamma(i, reader) + log_gamma(i) - log_gamma(reader)
    chain = log_Gamma(i, reader) + log_Gamma(j, i) - log_Gamma(j, reader)
    return [factor.simplify(), chain.simplify()]


@verifies(
    "eq-gamma",
    method="polynomial",
    covers="products of 1 to 4 decays, a symbol for each logarithm",
    mutants={
        "its own decay left out": {"last": lambda r: r},
        "the next decay too": {"last": lambda r: r + 2},
        "logarithms multiplied": {"sums": prod},
    },
)
def sums_of_logarithms(last=lambda r: r + 1, sums=sum):
    """exp(g_1 + ... + g_r) against the product of exp(g_j)."""
    logs = symbols("g_:6")

    def summed(at):
        return sums([at(f"g_{{{j}}}") for j in range(1, last(at.n - 1) + 1)])

    on_page("eq-gamma", summed)
    on_page("eq-gamma", lambda at: exp(summed(at)), of=1)
    return [exp(sums(logs[: last(r)])) - prod(exp(g) for g in logs[: r + 1]) for r in range(4)]


@verifies(
    "eq-gamma",
    method="float64",
    covers="gdn_ref.chunking.decay, C=50",
    mutants={
        "its own decay left out": {"late": 1},
        "base 2": {"base": 2.0},
    },
)
def the_package_decays_from_the_start(late=0, base=np.e):
    """The package's gamma against products of decays."""
    log_decays = hard_inputs()[3]

    def printed(at):
        return decay(np.array([at(f"g_{{{j}}}") for j in at.range("r")]))[0][at.scope["r"] - 1]

    on_page("eq-gamma", printed, of=1)
    alpha = base**log_decays
    products = np.cumprod(np.concatenate([np.ones(late), alpha[: len(alpha) - late]]))
    return relative_error(decay(log_decays)[0], products)


def mask_of_ratios(C=64):
    """`gamma_r / gamma_i` on and below the diagonal: modulo p a ratio is exact."""
    from_start = decay_from_start(modular_tokens().alpha[:C])
    return rows(from_start, reciprocal(from_start)[None, :]) * ones_below(C, 0)


@verifies(
    "eq-decay-mask-factor",
    method="modular",
    covers="C=64, decays not zero",
    part="the last line, of which the others are parts",
    mutants={
        "M": {"mask": lambda alpha: 0 * decay_mask(alpha) + ones_below(len(alpha), 0)},
        "strict": {"mask": lambda alpha: decay_mask(alpha) * ones_below(len(alpha), -1)},
        "the writer's decay counted": {"mask": lambda alpha: decay_mask(alpha) * alpha[None, :]},
        "reversed": {"mask": lambda alpha: decay_mask(alpha[::-1])},
    },
)
def mask_is_the_ratio(mask=decay_mask):
    """Products of decays against the ratio gamma_r / gamma_i.

    Cleared of its denominators the claim has degree at most 64.
    """

    def printed(at):
        Gamma = mask(lines.tokens(at).alpha)
        return Gamma[at.scope["r"] - 1, at.scope["i"] - 1]

    on_page("eq-decay-mask-factor", printed, of=2)
    return mask(modular_tokens().alpha[:64]) - mask_of_ratios()


@verifies(
    "eq-decay-mask-factor",
    method="float64",
    covers="gdn_ref.chunking.decay, C=50",
    mutants={
        "M": {"mask": lambda g: np.tril(np.ones((len(g), len(g))))},
        "strict": {"mask": lambda g: np.tril(decay(g)[1], -1)},
        "no mask": {"mask": lambda g: decay(g)[0][:, None] / decay(g)[0]},
    },
)
def the_package_decays(mask=lambda g: decay(g)[1]):
    """The package's decay mask against the ratio, where the decays are mild enough for it."""
    log_decays = hard_inputs()[3]
    from_start = np.exp(np.cumsum(log_decays))

    def printed(at):
        Gamma = mask(logs(lines.tokens(at).alpha))
        return Gamma[at.scope["r"] - 1, at.scope["i"] - 1]

    on_page("eq-decay-mask-factor", printed, of=2, floats=True)
    return relative_error(mask(log_decays), np.tril(from_start[:, None] / from_start))


@verifies(
    "eq-decay-mask-factor",
    method="polynomial",
    covers="6 tokens, a symbol for each decay, zero included",
    part="the first two lines",
    mutants={
        "the writer's decay counted": {"first": 0},
        "the reader's decay left out": {"last": 0},
    },
)
def stretches_of_symbols_join(first=1, last=1):
    """Gamma_ri Gamma_ij = Gamma_rj and Gamma_ri gamma_i = gamma_r; nothing is divided."""

    def stretch(a, r, i):
        return prod(a[i + first : r + last])

    def of_page(at, *ends):
        a = lines.tokens(at).alpha
        return stretch(a, *(at.scope[end] - 1 for end in ends))

    joined = lambda at: of_page(at, "r", "i") * of_page(at, "i", "j")
    on_page("eq-decay-mask-factor", joined, lambda at: of_page(at, "r", "j"))
    gamma_i = lambda at: of_page(at, "r", "i") * at(r"\gamma_i")
    on_page("eq-decay-mask-factor", None, gamma_i, of=1)
    a = ring("a_:6", ZZ)[1:]
    Gamma = [[stretch(a, r, i) for i in range(r + 1)] for r in range(6)]
    gamma = [prod(a[: r + 1]) for r in range(6)]
    wrong = 0
    for r in range(6):
        for i in range(r + 1):
            wrong += Gamma[r][i] * gamma[i] != gamma[r]
            wrong += sum(Gamma[r][i] * Gamma[i][j] != Gamma[r][j] for j in range(i + 1))
    return wrong
