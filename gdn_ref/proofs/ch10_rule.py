"""Checks of chapter 10: the five steps of one token, what they change, and their order."""

import numpy as np
from sympy import symbols

from .. import gated_delta_rule
from ..chunking import outer
from .ch06_householder import KEY
from .ch10_orders import ORDERS
from .data import hard_inputs, logs, relative_error
from .page import TOKEN, on_page
from .registry import definition, verifies
from .symbols import FACTOR, WRITE, S, alpha, beta, k, q, v
from .words import reduce

definition("eq-gdn-recurrence", "The gated delta rule, one token at a time.")

ONE_LINE = alpha * S * FACTOR + WRITE  # eq-gdn-recurrence


@verifies(
    "eq-gdn-step",
    method="algebra",
    covers="every d_k, d_v",
    mutants={
        "read, then decay": {"read_from": S},
        "write, then decay": {"read_from": S, "write_to": S, "at_the_end": alpha},
        "no decay": {"read_from": S, "write_to": S},
        "old value added": {"sign": 1},
        "beta left out": {"strength": 1},
        "output, then write": {"read_out": alpha * S},
    },
)
def five_steps(
    read_from=alpha * S, write_to=alpha * S, at_the_end=1, sign=-1, strength=beta, read_out=None
):
    """Decay, read, correct, write, read out: the same state and output as the one-line form."""
    delta = strength * (v + sign * read_from * k)
    state = at_the_end * (write_to + delta * k.T)
    output = (state if read_out is None else read_out) * q
    for number, side in enumerate((write_to, read_from * k, delta, state, output)):
        on_page("eq-gdn-step", side, of=number, letters=TOKEN)
    return [state - ONE_LINE, output - ONE_LINE * q]


def _one_line(S, q, k, v, g, beta):
    """The recurrence as one line, in float64."""
    S = np.exp(g) * S @ (np.eye(len(k)) - beta * outer(k, k)) + beta * outer(v, k)
    return S @ q, S


@verifies(
    "eq-gdn-step",
    method="float64",
    covers="gdn_ref.gated_delta_rule.step, 50 tokens, d_k=12, d_v=7",
    mutants={name: {"step": step} for name, step in ORDERS.items() if name != "the rule"},
)
def the_package_steps(step=gated_delta_rule.step):
    """The package's step against the one-line form, token after token."""

    def printed(at):
        S, q, k, v = (at(TOKEN[name]) for name in "Sqkv")
        decay, b = logs(at(TOKEN["alpha"])), np.asarray(at(TOKEN["beta"]))
        return step(S, q[:, 0], k[:, 0], v[:, 0], decay, b)

    on_page("eq-gdn-step", lambda at: printed(at)[1], of=3, floats=True)
    on_page("eq-gdn-step", lambda at: printed(at)[0][:, None], of=4, floats=True)
    *tokens, S = hard_inputs()
    state, errors = S, []
    for token in zip(*tokens, strict=True):
        o, state = step(state, *token)
        expected, S = _one_line(S, *token)
        errors += [relative_error(o, expected), relative_error(state, S)]
    return max(errors)


# The calculus of words of chapter 6: letters that do not commute stand for matrices and vectors
# of any size; k^T k = n, and y is orthogonal to k.
a, b, n, w, rho = symbols("alpha beta n w rho")
key, key_row, other, state, value = symbols("k k^T y S v", commutative=False)
AFTER = a * state * (1 - b * key * key_row) + b * value * key_row


@verifies(
    "eq-gdn-residual",
    method="algebra",
    covers="every d_k, d_v, every key",
    mutants={
        "the undecayed miss": {"miss": value - state * key},
        "beta for beta ||k||^2": {"left": 1 - b},
        "the miss decayed too": {"left": a * (1 - b * n)},
        "other answers kept": {"elsewhere": state * other},
        "other answers corrected": {"elsewhere": a * (1 - b * n) * state * other},
    },
)
def residual(left=1 - b * n, miss=value - a * state * key, elsewhere=a * state * other):
    """What is missing at the key afterwards, and the answer at y orthogonal to the key."""
    missing = value - AFTER * key
    on_page("eq-gdn-residual", left * miss, letters=TOKEN)
    on_page("eq-gdn-residual", elsewhere, of=1, letters=TOKEN)
    return [reduce(missing - left * miss, KEY), reduce(AFTER * other - elsewhere, KEY)]


row, e_row = symbols("s e^T", commutative=False)  # e^T picks a row: e^T S = s, a row again
PICK = {e_row * state: row, e_row * value: w, row * key: rho}  # w and rho are numbers
ROW = TOKEN | {  # row i of a state; w is the entry of the value
    row: r"\boldsymbol{s}_i^\top", w: r"[\boldsymbol{v}_t]_i",
    rho: r"\boldsymbol{s}_i^\top\boldsymbol{k}_t",
}  # fmt: skip


@verifies(
    "eq-gdn-rows",
    method="algebra",
    covers="every row, every d_k, d_v",
    mutants={
        "the undecayed row read": {"read": rho},
        "beta left out": {"strength": 1},
        "the row not decayed": {"kept": 1},
    },
)
def row_by_row(read=a * rho, strength=b, kept=a):
    """Row i of the new state needs row i of the old one and entry i of the value, w."""
    delta = strength * (w - read)
    on_page("eq-gdn-rows", delta, letters=ROW)
    on_page("eq-gdn-rows", lambda at: at.value(kept * row + delta * key_row).T, of=1, letters=ROW)
    return reduce(e_row * AFTER - (kept * row + delta * key_row), PICK)


@verifies(
    "eq-gdn-rows",
    method="float64",
    covers="gdn_ref.gated_delta_rule, 7 rows alone against all at once, 50 tokens",
    mutants={
        "the next row's values": {"shift": 1},
        "a key per row": {"keys": lambda k, i: np.roll(k, i, axis=-1)},
    },
)
def the_package_row_by_row(shift=0, keys=lambda k, i: k):
    """The package on one row of the state and one entry of each value, for every row."""

    def printed(at):
        s, k = at(r"\boldsymbol{s}_i").T, at(TOKEN["k"])[:, 0]
        target, decay = np.array([at(r"[\boldsymbol{v}_t]_i")]), logs(at(TOKEN["alpha"]))
        return gated_delta_rule.step(s, k, k, target, decay, np.asarray(at(TOKEN["beta"])))[1].T

    on_page("eq-gdn-rows", printed, of=1, floats=True)
    q, k, v, g, beta, S = hard_inputs()
    whole, last = gated_delta_rule.recurrent(q, k, v, g, beta, S)
    outputs, rows = [], []
    for i in range(len(S)):
        target = np.roll(v, -shift, axis=1)[:, i : i + 1]
        O, final = gated_delta_rule.recurrent(q, keys(k, i), target, g, beta, S[i : i + 1])
        outputs.append(O[:, 0])
        rows.append(final[0])
    return max(relative_error(np.stack(outputs, 1), whole), relative_error(np.stack(rows), last))


READ_FIRST = alpha * S + beta * (v - S * k) * k.T
DECAY_LAST = alpha * (S + beta * (v - S * k) * k.T)


@verifies(
    "eq-gdn-order",
    method="algebra",
    covers="every d_k, d_v",
    mutants={
        "the read off by the whole answer": {"read": -beta * S * k * k.T},
        "the read off by alpha of it": {"read": -alpha * beta * S * k * k.T},
        "the old answer faded twice": {
            "late": (alpha - 1) * beta * (v - S * k) * k.T,
        },
        "the write faded by alpha only": {"late": -beta * v * k.T},
        "the output off by the value": {"output": v},
    },
)
def orders_differ(
    read=-beta * (1 - alpha) * S * k * k.T,
    late=-beta * (1 - alpha) * v * k.T,
    output=beta * (v - alpha * S * k),
):
    """Three orders minus the rule: what each adds to the state, and the output that it lacks."""
    reads_first = READ_FIRST - ONE_LINE - read
    decays_last = DECAY_LAST - ONE_LINE - late
    missing = ONE_LINE * q - alpha * S * q - output * (k.T * q)
    letters = {x: rf"\boldsymbol{{{x}}}" for x in "kqv"}
    letters |= {S: r"\mathbf{S}", alpha: r"\alpha", beta: r"\beta"}
    on_page("eq-gdn-order", ONE_LINE + read, letters=letters)
    on_page("eq-gdn-order", ONE_LINE + late, of=1, letters=letters)
    on_page("eq-gdn-order", ONE_LINE * q - output * (k.T * q), of=2, letters=letters)
    return [reads_first, decays_last, missing]


@verifies(
    "eq-gdn-spectrum",
    method="algebra",
    covers="every d, every key",
    mutants={
        "the order does not matter": {"undecayed": a * (1 - b * n)},
        "not decayed along the key": {"decayed": 1 - b * n},
        "not decayed across it": {"across": 1},
        "norm of the key forgotten": {"undecayed": a - b},
    },
)
def two_spectra(decayed=a * (1 - b * n), undecayed=a - b * n, across=a):
    """The two maps of the state, for the decayed and for the undecayed read, and their vectors."""
    right, wrong = a * (1 - b * key * key_row), a - b * key * key_row
    letters = {a: r"\alpha", b: r"\beta", n: "n"}
    for number, side in enumerate((across, decayed, across, undecayed)):
        on_page("eq-gdn-spectrum", side, of=number, letters=letters)
    return [
        reduce(word, KEY)
        for word in (
            right * key - decayed * key,
            wrong * key - undecayed * key,
            right * other - across * other,
            wrong * other - across * other,
        )
    ]


@verifies(
    "eq-gdn-spectrum",
    method="float64",
    covers="200 maps of an undecayed read, against the SVD",
    part="the largest gain, which the undecayed eigenvalues decide",
    mutants={
        "norm alpha": {"norm": lambda decay, beta: decay},
        "norm of the rule": {"norm": lambda decay, beta: decay * max(1, abs(1 - beta))},
    },
)
def norm_of_the_undecayed_read(norm=lambda decay, beta: max(decay, abs(decay - beta))):
    """The largest factor that one token with a unit key can multiply a row by."""
    rng = np.random.default_rng(10)
    found, claimed = [], []
    for _ in range(200):
        unit = rng.normal(size=rng.integers(2, 10))
        unit /= np.linalg.norm(unit)
        decay, strength = rng.uniform(0, 1), rng.uniform(0, 2)
        wrong = decay * np.eye(len(unit)) - strength * np.outer(unit, unit)
        found.append(np.linalg.norm(wrong, ord=2))
        claimed.append(norm(decay, strength))
    return relative_error(claimed, found)
