"""The whole chunk form of the general rule against its token loop, at the sizes a GPU uses.

Modulo 2^61 - 1 the two differ, if they differ as polynomials, at a random point with probability
below 1e-15: a token has degree at most 5 in its entries and the state's.
"""

from functools import cache
from types import SimpleNamespace

import numpy as np

from ..family import general_rule, two_gates
from . import modular
from .data import relative_error, unit
from .modular import join
from .page import on_page
from .registry import verifies

C, CHUNKS, D_K, D_V = 64, 2, 32, 24
NAMES = ("D", "q", "k", "u", "a", "b")


@cache
def modular_inputs():
    rng = np.random.default_rng(23)
    T = C * CHUNKS
    sizes = {name: (T, D_V if name == "u" else D_K) for name in NAMES}
    x = {name: modular.random(rng, *size) for name, size in sizes.items()}
    return SimpleNamespace(**x, S=modular.random(rng, D_V, D_K))


@cache
def loop(merged=False):
    """States' reads, outputs and the last state, token by token (eq-family-recurrence)."""
    x, S, reads, outputs = modular_inputs(), modular_inputs().S, [], []
    b = x.k if merged else x.b
    for t in range(C * CHUNKS):
        r = S @ x.a[t]
        S = S * x.D[t] - r[:, None] * b[t][None, :] + x.u[t][:, None] * x.k[t][None, :]
        reads.append(r)
        outputs.append(S @ x.q[t])
    return join(reads), join(outputs), S


def chunked(x=None, C=C, erase="b", late=1, scores=0, first="own", sign=1, to_end=0, merged=False):
    """The same by the chunk form, of `x` or of the random inputs. The other options are mistakes:

    late: tokens that the decay in A stops before the reader; scores: the same in P; first: the
    old state with the decay before the token ("own"), with it ("with"), or with none; to_end: how
    early the decay to the chunk's end stops; erase: along which rows.
    """
    x = modular_inputs() if x is None else x
    S, reads, outputs = x.S, [], []
    for start in range(0, len(x.k), C):
        y = SimpleNamespace(**{n: getattr(x, n)[start : start + C] for n in NAMES})
        b = y.k if merged or erase == "k" else y.b
        D = fades(y.D)
        R = []
        for t in range(C):
            gamma = {"own": D[t][0], "with": D[t + 1][0], "none": D[0][0]}[first]
            r = S @ (gamma * y.a[t])
            if t:
                fade = D[t + 1 - late][1 : t + 1]
                r = r + y.u[:t].T @ ((y.k[:t] * fade) @ y.a[t])
                r = r - join(R).T @ ((b[:t] * fade) @ y.a[t]) * sign
            R.append(r)
            gamma, fade = D[t + 1][0], D[t + 1 - scores][1:]
            some = t + 1 - scores
            o = S @ (gamma * y.q[t])
            if some:
                o = o + y.u[:some].T @ ((y.k[:some] * fade) @ y.q[t])
                o = o - join(R)[:some].T @ ((b[:some] * fade) @ y.q[t])
            outputs.append(o)
        fade = D[C - to_end]
        fade = join([fade[i + 1] if i < C - to_end else D[0][0] for i in range(C)])
        S = S * D[C][0] + y.u.T @ (y.k * fade) - join(R).T @ (b * fade)
        reads += R
    return join(reads), join(outputs), S


def of_page(at, **mistake):
    """Reads, outputs and the last state by the chunk form, of the page's chunk."""
    T = at("C")
    names = {name: rf"\boldsymbol{{{name}}}" for name in NAMES[1:]}
    x = {
        n: np.array([at(f"{tex}_{{{t}}}")[:, 0] for t in range(1, T + 1)])
        for n, tex in names.items()
    }
    D = np.array([np.diag(at(rf"\mathbf{{D}}_{{{t}}}")) for t in range(1, T + 1)])
    return chunked(SimpleNamespace(**x, D=D, S=at(r"\mathbf{S}")), T, **mistake)


def fades(D):
    """`fades[t][i]`, `[d_k]`: the decays of the tokens after i, up to t; row 0 from the start."""
    one = D[:1] * 0 + 1
    found = [one]
    for t in range(len(D)):
        found.append(join([found[-1] * D[t][None, :], one], np.concatenate))
    return found


REAL = f"C={C}, two chunks, d_k={D_K}, d_v={D_V}"
READ = {
    "Gamma of the token itself": {"late": 0},
    "sign of A^b": {"sign": modular.P - 1},
    "erased along k": {"erase": "k"},
    "old state with the token's own decay": {"first": "with"},
    "old state undecayed": {"first": "none"},
}


@verifies("eq-family-read", method="modular", covers=REAL, mutants=READ)
def reads_at_real_size(**mistake):
    """R, by forward substitution, against the reads of the token loop."""
    system = lambda at: np.atleast_2d(at(r"\mathbf{I} + \mathbf{A}^b"))
    on_page("eq-family-read", lambda at: system(at) @ of_page(at, **mistake)[0])
    return chunked(**mistake)[0] - loop()[0]


@verifies(
    "eq-family-output",
    method="modular",
    covers=REAL,
    mutants={"its own write missing": {"scores": 1}} | READ,
)
def outputs_at_real_size(**mistake):
    """O of both chunks against the outputs of the token loop."""
    on_page("eq-family-output", lambda at: of_page(at, **mistake)[1])
    return chunked(**mistake)[1] - loop()[1]


@verifies(
    "eq-family-state",
    method="modular",
    covers=REAL,
    mutants={"the chunk's end one token early": {"to_end": 1}} | READ,
)
def state_at_real_size(**mistake):
    """The last state of two chunks against that of the token loop."""
    on_page("eq-family-state", lambda at: of_page(at, **mistake)[2])
    return chunked(**mistake)[2] - loop()[2]


@verifies(
    "eq-family-merged",
    method="modular",
    covers=REAL,
    mutants={"Gamma of the token itself": {"late": 0}, "not merged": {"merged": False}},
)
def merged_at_real_size(merged=True, **mistake):
    """With b = k: outputs and the last state against the loop that erases along k."""
    for n in (1, 2):
        printed = lambda at, n=n: of_page(at, merged=merged, **mistake)[n]
        on_page("eq-family-merged", printed, of=n)
    _, O, S = chunked(merged=merged, **mistake)
    _, right, last = loop(True)
    return [O - right, S - last]


def hard(T=70, d_k=12, d_v=7):
    """Correlated keys, strong decays, resets of single channels, a state that is not empty."""
    rng = np.random.default_rng(5)
    q, k = unit(rng.normal(size=(T, d_k))), unit(rng.normal(size=(T, d_k)) + 0.7)
    v, g = rng.normal(size=(T, d_v)), -rng.exponential(0.3, size=(T, d_k))
    g[rng.random(size=g.shape) < 0.02] = -np.inf
    g[::9] *= 20
    erase, write = rng.uniform(size=(T, d_k)), rng.uniform(size=(T, d_v))
    return q, k, v, g, erase, write, rng.normal(size=(d_v, d_k))


@verifies(
    "eq-family-two-gates",
    method="float64",
    covers="70 tokens, resets, decays down to exp(-20), chunks of 1, 16 and 64",
    mutants={
        "erase before the decay": {"decayed": False},
        "gates exchanged": {"swap": True},
        "the erase gate on the other key": {"gate_b": True},
    },
)
def two_gates_as_printed(decayed=True, swap=False, gate_b=False):
    """The rule as printed, token by token, against the general rule in chunks."""

    def after(S, D, k, v, e, w):
        """The state after one token; D is the diagonal."""
        read, along = (k, e * k) if gate_b else (e * k, k)
        faded = S * D
        S = faded - np.outer((faded if decayed else S) @ read, along)
        return S + np.outer((e if swap else w) * v, k)

    def printed(at):
        vectors = (at(rf"\boldsymbol{{{x}}}_t")[:, 0] for x in "kvew")
        return after(at(r"\mathbf{S}_{t-1}"), np.diag(at(r"\mathbf{D}_t")), *vectors)

    on_page("eq-family-two-gates", printed)
    q, k, v, g, e, w, S = hard(d_v=12 if swap else 7)
    first, outputs = S, []
    for t in range(len(k)):
        S = after(S, np.exp(g[t]), k[t], v[t], e[t], w[t])
        outputs.append(S @ q[t])
    x = two_gates.arguments(q, k, v, g, e, w)
    worst = 0
    for size in (1, 16, 64):
        O, last = general_rule.chunkwise(*x, first, chunk_size=size)
        worst = max(worst, relative_error(O, np.stack(outputs)), relative_error(last, S))
    return worst
