"""Chapter 19: the short convolution, its state, its gradients, and what a shift is good for."""

import numpy as np
import torch

from ..convolution import causal_conv1d
from .ch19_block import sigmoid, silu
from .data import relative_error, worst
from .page import on_page
from .registry import verifies

T, D, W = 11, 5, 4
COVERS = f"{T} tokens, {D} channels, {W} taps, with bias and earlier inputs"


def inputs(seed=0):
    """x `[T, D]`, weight `[D, W]`, bias `[D]` and the last W - 1 earlier inputs `[D, W - 1]`."""
    random = torch.Generator().manual_seed(seed)
    shapes = ((T, D), (D, W), (D,), (D, W - 1))
    return [torch.randn(s, generator=random, dtype=torch.float64) for s in shapes]


def raw(x, weight, bias, S, tap=lambda i, W=W: i):
    """z_t, before the activation, as sums over the taps."""
    before = torch.cat([S.T, x])  # row t + W - 1 is token t
    return torch.stack([mixed(before[t : t + W], weight.T, bias, tap) for t in range(len(x))])


def mixed(last, taps, bias, tap=lambda i, W=W: i):
    """The last W inputs, each times its tap."""
    return bias + sum(taps[tap(i, len(taps))] * x for i, x in enumerate(last))


def package(x, weight, bias, S):
    """What the package returns for one sequence: outputs `[T, D]` and the state after it."""
    y, last = causal_conv1d(x[None], weight, bias, initial_state=S[None], output_final_state=True)
    return y[0], last[0]


@verifies(
    "eq-causal-conv",
    method="float64",
    covers=COVERS,
    mutants={
        "taps reversed": {"tap": lambda i, W: W - 1 - i},
        "no activation": {"activation": lambda z: z},
        "bias after the activation": {"inside": 0, "outside": 1},
    },
)
def convolution_is_the_sum(tap=lambda i, W: i, activation=silu, inside=1, outside=0):
    """The package's convolution against the sum over the taps, channel by channel."""

    def of_page(at):
        taps = [at(f"w_{{{i}}}") for i in range(at("W"))]
        last = window(at, at("t") - at("W") + 1, at("t"))
        return mixed(last, taps, inside * at.known("bias"), tap)

    after = lambda z: float(activation(torch.tensor(z, dtype=torch.float64)))
    on_page("eq-causal-conv", of_page)
    on_page("eq-causal-conv", lambda at: after(at("z_t")) + outside * at.known("bias"), of=1)
    x, weight, bias, S = inputs()
    y = activation(raw(x, weight, inside * bias, S, tap)) + outside * bias
    return relative_error(y, package(x, weight, bias, S)[0])


def window(at, first, last):
    """These inputs of the page."""
    return [at(f"x_{{{s}}}") for s in range(first, last + 1)]


def shift_in(S, x):
    """The oldest input drops out, the newest comes in."""
    return torch.cat([S, x[:, None]], dim=1)[:, 1:]


@verifies(
    "eq-conv-state",
    method="float64",
    covers=f"{COVERS}; token by token against all at once, at every token",
    mutants={
        "newest in front": {"move": lambda S, x: torch.cat([x[:, None], S[:, :-1]], dim=1)},
        "oldest overwritten in place": {
            "move": lambda S, x: torch.cat([x[:, None], S[:, 1:]], dim=1)
        },
        "outputs kept instead of inputs": {"keep": lambda x, y: y},
    },
)
def state_carries_on(move=shift_in, keep=lambda x, y: x):
    """One token a call, with the state that the rule gives, and that state itself."""

    def states_of_page(at):
        """The channel's state before the first token and after each, by the rule."""
        states = [torch.tensor(window(at, 2 - at("W"), 0), dtype=torch.float64)[None]]
        for t in range(1, at("t") + 1):
            new = torch.tensor([at(f"x_{{{t}}}")], dtype=torch.float64)
            states.append(move(states[-1], keep(new, new)))
        return [tuple(map(float, S[0])) for S in states]

    for of in (0, 1):
        on_page("eq-conv-state", lambda at, of=of: states_of_page(at)[of - 2], of=of)
    x, weight, bias, S = inputs()
    whole, states, rows = package(x, weight, bias, S)[0], [], []
    for t in range(T):
        rows.append(package(x[t : t + 1], weight, bias, S)[0])
        S = move(S, keep(x[t], rows[-1][0]))
        states.append(S)
    after = [package(x[: t + 1], *inputs()[1:])[1] for t in range(T)]
    return worst((torch.cat(rows), torch.stack(states)), (whole, torch.stack(after)))


def silu_slope(z):
    s = sigmoid(z)
    return s * (1 + z * (1 - s))


@verifies(
    "eq-conv-backward",
    method="float64",
    covers=f"{COVERS}; against autograd through the package",
    mutants={
        "taps reversed": {"tap": lambda i, W=W: W - 1 - i},
        "from earlier tokens": {"ahead": -1},
        "slope of the sigmoid": {"slope": lambda z: sigmoid(z) * (1 - sigmoid(z))},
    },
)
def gradients_are_the_sums(tap=lambda i, W=W: i, ahead=1, slope=silu_slope):
    """dx, dw and the bias's gradient, for a random gradient of the outputs."""
    x, weight, bias, S = inputs()
    leaves = [y.clone().requires_grad_() for y in (x, weight, bias)]
    dy = inputs(seed=1)[0]
    expected = torch.autograd.grad(package(*leaves, S)[0], leaves, dy)

    def dx_of_page(at):
        taps, t, found = at("W"), at.scope["t"], 0
        for i in range(taps):
            later = t + ahead * (taps - 1 - i)
            if later in at.range("t"):
                found = found + at(f"w_{tap(i, taps)}") * at(rf"\mathrm dz_{{{later}}}")
        return found

    def dw_of_page(at):
        first = tap(at.scope["i"], at("W")) - at("W") + 1
        terms = [at(rf"\mathrm dz_{{{t}}}") * at(f"x_{{{t + first}}}") for t in at.range("t")]
        return sum(terms)

    number = lambda z: float(slope(torch.tensor(float(z), dtype=torch.float64)))
    on_page("eq-conv-backward", lambda at: at(r"\mathrm dy_t") * number(at("z_t")), of=1)
    on_page("eq-conv-backward", dx_of_page, of=2)
    on_page("eq-conv-backward", dw_of_page, of=3)
    dz = dy * slope(raw(x, weight, bias, S))
    dx = torch.zeros_like(x)
    for t in range(T):
        for i in range(W):
            later = t + ahead * (W - 1 - i)
            if 0 <= later < T:
                dx[t] += weight[:, tap(i)] * dz[later]
    before = torch.cat([S.T, x])
    dw = torch.stack([(dz * before[tap(i) : tap(i) + T]).sum(0) for i in range(W)], dim=1)
    return worst((dx, dw, dz.sum(0)), expected)


def successors(text):
    """For each token of `text`, the one after its last earlier occurrence; None without one."""
    last, answers = {}, []
    for t, token in enumerate(text):
        before = last.get(token)
        answers.append(None if before is None else text[before + 1])
        last[token] = t
    return answers


@verifies(
    "eq-conv-induction",
    method="enumeration",
    covers="20 random texts of 24 tokens over 6 letters, coefficients of the letters' values",
    mutants={
        "key of the token itself": {"back": 0},
        "key of two tokens back": {"back": 2},
        "no correction": {"correct": 0},
    },
)
def answers_are_successors(back=1, correct=1):
    """The delta rule with orthonormal keys, one token back, against a search in the text."""

    def printed(at):
        text = [at(f"c_{{{t}}}") for t in range(1, at("t") + 1)]
        found = successors(text)[-1]
        return at.known(r"\boldsymbol{v}")(found)

    on_page("eq-conv-induction", printed)
    letters, residual = 6, []
    values = np.eye(letters, dtype=int)  # row a: the value of letter a in terms of all values
    for seed in range(20):
        text = np.random.default_rng(seed).integers(letters, size=24)
        S = np.zeros((letters, letters), dtype=int)  # row a: what the memory answers at key a
        for t, answer in enumerate(successors(text)):
            if t >= back:
                k = text[t - back]
                S[k] += values[text[t]] - correct * S[k]
            residual.append(S[text[t]] - (0 if answer is None else values[answer]))
    return residual
