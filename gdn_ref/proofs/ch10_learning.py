"""Checks of chapter 10: how long the rule remembers, what it descends, what its corrections do."""

import numpy as np
from sympy import Matrix, Symbol, expand, eye, limit, log, symbols

from . import lines
from .page import on_page
from .registry import verifies
from .symbols import D, E, I_k, K, S, alpha, beta, gamma, k, no_tokens, v
from .token_forms import first_chunk, modular_tokens, ones_below, recurrence, rows
from .words import reduce


@verifies(
    "eq-gdn-horizon",
    method="algebra",
    covers="every d, alpha, beta",
    mutants={
        "beta for beta (2 - beta)": {"lost": beta},
        "2 beta": {"lost": 2 * beta},
        "alpha once": {"faded": alpha},
    },
)
def mean_share_that_is_left(lost=beta * (2 - beta), faded=alpha**2):
    """||S F||^2 is the trace of S F F^T S^T; the mean of k k^T over unit keys is I / d."""
    key, key_row = symbols("k k^T", commutative=False)
    size = Symbol("d")
    F = alpha * (1 - beta * key * key_row)  # symmetric
    mean = reduce(F * F, {key_row * key: 1}).subs(key * key_row, 1 / size)
    on_page(
        "eq-gdn-horizon",
        faded * (1 - lost / size),
        of=1,
        letters={alpha: r"\alpha", beta: r"\beta", size: "d_k"},
    )
    return expand(mean - faded * (1 - lost / size))


@verifies(
    "eq-gdn-horizon",
    method="polynomial",
    covers="d_k=3, d_v=2, keys plus or minus the basis vectors",
    mutants={"beta for beta (2 - beta)": {"lost": beta}},
    inputs={"mean over two of three": {"keys": 2}},
)
def mean_over_a_basis(keys=3, lost=beta * (2 - beta)):
    """These keys too have the mean I / d of k k^T, and their mean is a sum of three terms."""
    rho = alpha**2 * (1 - lost / Symbol("size"))
    names = {alpha: r"\alpha", beta: r"\beta", "size": "d_k"}
    on_page("eq-gdn-horizon", lambda at: at.value(rho, names) * at(r"\|\mathbf{S}\|^2"))
    on_page("eq-gdn-horizon", rho, of=1, letters=names)
    state = Matrix(2, 3, symbols("s:6"))
    maps = [alpha * (eye(3) - beta * eye(3)[:, i] * eye(3)[i, :]) for i in range(keys)]
    mean = sum(expand((state * F * F.T * state.T).trace()) for F in maps) / keys
    return expand(mean - alpha**2 * (1 - lost / 3) * (state * state.T).trace())


small, rate, width, b = symbols("epsilon rate d b", positive=True)


@verifies(
    "eq-gdn-half-life",
    method="algebra",
    covers="every |g|, beta and d_k",
    part="to first order, as |g| and 1 / d_k go to zero together",
    mutants={
        "|g| once": {"claim": lambda g, d: log(2) / (g + b * (2 - b) / d)},
        "beta for beta (2 - beta)": {"claim": lambda g, d: log(2) / (2 * g + b / d)},
        "the two times added": {
            "claim": lambda g, d: log(2) / (2 * g) + d * log(2) / (b * (2 - b))
        },
    },
)
def the_two_causes_add(claim=lambda g, d: log(2) / (2 * g + b * (2 - b) / d)):
    """The exact number of tokens over the printed one tends to 1; alpha is exp(-|g|)."""
    g, d = small * rate, width / small
    exact = log(2) / (2 * g - log(1 - b * (2 - b) / d))  # the denominator is -ln rho
    on_page(
        "eq-gdn-half-life",
        None,
        claim(rate, width),
        letters={rate: "|g|", width: "d_k", b: r"\beta"},
    )
    return limit(exact / claim(g, d), small, 0) - 1


def _loss(X, key, value):
    """eq-recall-loss, in entries."""
    miss = value - X * key
    return (miss.T * miss)[0, 0] / 2


def _gradient(loss, X):
    return X.applyfunc(lambda entry: loss.diff(entry))


STATE, KEY, VALUE = (
    Matrix(*shape, symbols(f"{name}:{shape[0] * shape[1]}"))
    for name, shape in {"s": (1, 3), "k": (3, 1), "v": (1, 1)}.items()
)
LAMBDA = Symbol("lambda")


@verifies(
    "eq-gdn-loss",
    method="polynomial",
    covers="one row with d_k=3; the rows do not meet",
    mutants={
        "gradient at the undecayed state": {"kept": 1},
        "ascent": {"rate": -beta},
        "twice the gradient": {"rate": 2 * beta},
    },
)
def a_step_of_descent(kept=alpha, rate=beta):
    """Decay, then one step against the gradient of the recall loss at the decayed state."""
    X = Matrix(1, 3, symbols("x:3"))
    gradient = _gradient(_loss(X, KEY, VALUE), X).subs(dict(zip(X, kept * STATE, strict=True)))
    rule = alpha * STATE * (eye(3) - beta * KEY * KEY.T) + beta * VALUE * KEY.T
    slope = lambda at: at(r"\nabla\mathcal{L}_t(\bar{\mathbf{S}})")
    step = lambda at: at(r"\bar{\mathbf{S}}") - at.value(rate, {beta: r"\beta_t"}) * slope(at)
    on_page("eq-gdn-loss", step)
    faded = lambda at: at.value(kept, {alpha: r"\alpha_t"}) * at(r"\mathbf{S}_{t-1}")
    on_page("eq-gdn-loss", faded, of=1)
    return (alpha * STATE - rate * gradient - rule).expand()


@verifies(
    "eq-gdn-coupled",
    method="polynomial",
    covers="one row with d_k=3; the rows do not meet",
    mutants={
        "the decayed state read": {"read": (1 - beta * LAMBDA) * STATE * KEY},
        "alpha = 1 - lambda": {"decay": 1 - LAMBDA},
        "penalty without its half": {"penalty": LAMBDA},
    },
)
def a_step_on_the_penalised_loss(read=STATE * KEY, decay=1 - beta * LAMBDA, penalty=LAMBDA / 2):
    """One step on loss plus penalty: the order that reads before it decays."""
    loss = _loss(STATE, KEY, VALUE) + penalty * (STATE.T * STATE).trace()
    step = STATE - beta * _gradient(loss, STATE)
    letters = {beta: r"\beta", LAMBDA: r"\lambda"}
    miss = lambda at: at(r"(\boldsymbol{v} - \mathbf{S}\boldsymbol{k})\,\boldsymbol{k}^\top")
    shrunk = lambda at: at.value(decay, letters) * at(r"\mathbf{S}")
    on_page("eq-gdn-coupled", lambda at: shrunk(at) + at(r"\beta") * miss(at), of=1)
    half = lambda at: at.value(penalty, letters) * at(r"\|\mathbf{S}\|^2")
    on_page("eq-gdn-coupled", lambda at: at(r"\mathcal{L}(\mathbf{S})") + half(at))
    return (step - (decay * STATE + beta * (VALUE - read) * KEY.T)).expand()


@verifies(
    "eq-gdn-parallel",
    method="algebra",
    covers="every r, d_k, d_v",
    part="the first line, the state",
    mutants={
        "the new correction faded": {"own": alpha},
        "earlier corrections not faded": {"earlier": E.T * D * K},
        "the state not faded": {"start": gamma * S},
        "values for corrections": {"miss": v},
    },
)
def one_more_correction(own=1, earlier=alpha * E.T * D * K, start=alpha * gamma * S, miss=None):
    """Base, r = 0: S. Step: S_r = gamma S + E^T D K, with D = diag(Gamma_ri), takes one token.

    The new row of Gamma is alpha times the old one, and 1 for the token itself.
    """
    state = gamma * S + E.T * D * K
    delta = beta * (v - alpha * state * k) if miss is None else beta * miss
    step = alpha * state * (I_k - beta * k * k.T) + beta * v * k.T
    on_page("eq-gdn-parallel", start + earlier + own * delta * k.T)
    return [no_tokens(state) - S, step - (start + earlier + own * delta * k.T)]


@verifies(
    "eq-gdn-parallel",
    method="modular",
    covers="64 tokens, d_k=128, d_v=96",
    mutants={
        "values for corrections": {"written": lambda x, E: x.V},
        "strict Gamma": {"mask": lambda x: x.Gamma * (1 - np.eye(64, dtype=np.int64))},
        "no decay of the writes": {"mask": lambda x: ones_below(64, 0)},
        "the state not decayed": {"start": lambda x: x.gamma * 0 + 1},
    },
)
def scalar_decay_of_the_corrections(
    written=lambda x, E: E, mask=lambda x: x.Gamma, start=lambda x: x.gamma
):
    """The outputs and the last state from the corrections of the token loop: degree below 400."""
    tokens = modular_tokens(number_of_chunks=1)
    O, E, last = recurrence(tokens)

    def outputs(x, E):
        return rows(start(x), x.Q @ x.S.T) + (mask(x) * (x.Q @ x.K.T)) @ written(x, E)

    def state(x, E, r):
        kept = rows(mask(x)[r - 1, :r], x.K[:r])
        return x.S * start(x)[r - 1] + written(x, E)[:r].T @ kept

    of_page = lambda at: (lines.tokens(at), at(r"\mathbf{E}"))
    on_page("eq-gdn-parallel", lambda at: state(*of_page(at), at.n))
    on_page("eq-gdn-parallel", lambda at: outputs(*of_page(at)), of=1)
    x = first_chunk(tokens)
    return [outputs(x, E) - O, state(x, E, len(x.alpha)) - last]
