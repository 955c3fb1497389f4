"""Chapter 12: the gradients of one token, by matrix calculus and by dual numbers.

By algebra: sympy differentiates the trace `<Lambda, S_t>` for matrices of symbolic size. Modulo
2^61 - 1: a dual number is a value and its rate of change along a direction. Run through the token
loop it gives the exact slope of a linear loss, and the claimed gradient must have the same inner
product with the direction. Value and slope of 16 tokens are polynomials of degree at most 140,
so a wrong gradient passes with probability at most 140 / p.
"""

from functools import cache

import numpy as np
from sympy import MatrixSymbol, Trace

from . import modular, page
from .ch12_form import (
    TOKEN,
    collect,
    float64_loss,
    loop,
    modular_loss,
    outer,
    package_inputs,
    reversed_loop,
    slope,
    small_tokens,
    total,
)
from .data import relative_error
from .registry import verifies
from .symbols import I_k, S, alpha, beta, d_k, d_v, k, q, v
from .token_forms import float64_tokens

Lambda = MatrixSymbol("Lambda", d_v, d_k)  # gradient of the state after the token
do = MatrixSymbol("do", d_v, 1)
AFTER = alpha * S * (I_k - beta * k * k.T) + beta * v * k.T  # eq-gdn-recurrence
PAGE = page.TOKEN | {Lambda: r"\boldsymbol{\Lambda}_t", do: r"\mathrm{d}\boldsymbol{o}_t"}
SIZES = "16 tokens, d_k=6, d_v=5, a random direction"


def forms(**changes):
    return {name.replace("_", " "): {"form": TOKEN | change} for name, change in changes.items()}


def against_slopes(form, *names):
    """The claimed gradients' products with random directions, less the slopes of the loop."""
    tokens = small_tokens()
    loss = modular_loss(tokens)
    found, residuals = collect(loop(tokens, loss, form)), []
    for name in names:
        shape = getattr(tokens, name).shape
        direction = modular.random(np.random.default_rng(len(shape)), *shape)
        claimed = found["dg" if name == "alpha" else "d" + name]
        product = claimed * direction
        product = total(product if len(shape) == 2 else product[None, :])
        if name == "alpha":  # g + epsilon x is alpha + epsilon alpha x
            direction = direction * tokens.alpha
        residuals.append(product - slope(tokens, loss, name, direction))
    return residuals


@verifies(
    "eq-grad-token",
    method="algebra",
    covers="every d_k, d_v",
    part="the last line",
    mutants={
        "decay forgotten": {"claim": Lambda - beta * (Lambda * k) * k.T},
        "sign of the correction": {"claim": alpha * (Lambda + beta * (Lambda * k) * k.T)},
        "no correction": {"claim": alpha * Lambda},
        "no write strength": {"claim": alpha * (Lambda - (Lambda * k) * k.T)},
    },
)
def state_before(claim=alpha * (Lambda - beta * (Lambda * k) * k.T)):
    """The derivative of <Lambda, S_t> by the state before, against alpha (Lambda - beta z k^T)."""
    page.on_page("eq-grad-token", claim, of=2, letters=PAGE)
    return Trace(Lambda.T * AFTER).diff(S) - claim


@verifies(
    "eq-grad-token",
    method="modular",
    covers=SIZES,
    mutants=forms(
        own_output_left_out={"Lambda": lambda x: x.dS},
        decay_forgotten={"dS_before": lambda x: x.Lambda - outer(x.z * x.beta, x.k)},
        z_without_the_output={"z": lambda x: x.dS @ x.k},
    ),
)
def the_first_state(form=TOKEN):
    """Back through all tokens to the state before the first."""
    return against_slopes(form, "S")


@verifies(
    "eq-grad-token-inputs",
    method="algebra",
    covers="every d_k, d_v",
    part="all but the write strength",
    mutants={
        "query reads the state before": {"dq": S.T * do},
        "key as reader only": {"dk": -beta * alpha * S.T * Lambda * k},
        "key as address only": {"dk": Lambda.T * (beta * (v - alpha * S * k))},
        "undecayed read": {
            "dk": Lambda.T * (beta * (v - S * k)) - beta * S.T * Lambda * k,
        },
        "value without write strength": {"dv": Lambda * k},
    },
)
def query_key_and_value(
    dq=AFTER.T * do,
    dk=Lambda.T * (beta * (v - alpha * S * k)) - beta * alpha * S.T * Lambda * k,
    dv=beta * Lambda * k,
):
    """sympy's derivatives by q, k and v against the claims."""
    for number, side in ((0, dq), (1, dv), (3, dk)):
        page.on_page("eq-grad-token-inputs", side, of=number, letters=PAGE)
    return [found - claim for found, claim in zip(derivatives(), (dq, dk, dv), strict=True)]


@cache
def derivatives():
    stored = Trace(Lambda.T * AFTER)
    return Trace(do.T * AFTER * q).diff(q), stored.diff(k), stored.diff(v)


@verifies(
    "eq-grad-token-inputs",
    method="modular",
    covers=SIZES + " for each input",
    mutants=forms(
        undecayed_read={"dk_reading": lambda x: -((x.S.T @ x.z) * x.beta)},
        key_as_reader_only={"dk": lambda x: x.dk_reading},
        key_as_address_only={"dk": lambda x: x.dk_read},
        query_reads_the_state_before={"dq": lambda x: x.faded.T @ x.do},
        beta_through_delta={"dbeta": lambda x: total((x.z * x.delta)[None, :])},
        value_without_write_strength={"dv": lambda x: x.z},
    ),
)
def every_input(form=TOKEN):
    """Slopes along the queries, keys, values and write strengths, one at a time."""
    return against_slopes(form, "Q", "K", "V", "beta")


@verifies(
    "eq-grad-token-decay",
    method="modular",
    covers=SIZES + " of the log-decays",
    mutants=forms(
        the_state_after={"dg": lambda x: total(x.after * x.dS)},
        the_decayed_state={"dg": lambda x: total(x.faded * x.dS_before)},
        without_the_correction={"dg": lambda x: total(x.faded * x.Lambda)},
    ),
)
def log_decays(form=TOKEN):
    """dg_t = <S_{t-1}, dS_{t-1}>, against the slope along the log-decays."""
    return against_slopes(form, "alpha")


def by_autograd():
    """`dq, dk, dv, dg, dbeta, dS` of the package's token loop, by PyTorch, in float64."""
    import torch

    from .. import gated_delta_rule

    leaves = [torch.from_numpy(x.copy()).requires_grad_() for x in inputs()]
    loss = float64_loss()
    outputs = gated_delta_rule.recurrent(*leaves)
    torch.autograd.backward(outputs, [torch.from_numpy(loss.dO), torch.from_numpy(loss.dS)])
    return dict(zip(("dQ", "dK", "dV", "dg", "dbeta", "dS"), leaves, strict=True))


def inputs():
    return package_inputs(float64_tokens())


@verifies(
    "eq-grad-token-decay",
    method="float64",
    covers="autograd of the package's loop, all six gradients",
    mutants=forms(
        the_state_after={"dg": lambda x: total(x.after * x.dS)},
        own_output_left_out={"Lambda": lambda x: x.dS},
    ),
)
def pytorch_agrees(form=TOKEN):
    """The reverse loop against autograd of the forward loop."""
    tokens, loss = float64_tokens(), float64_loss()
    found = reversed_loop(tokens, loss) if form is TOKEN else collect(loop(tokens, loss, form))
    return max(relative_error(found[n], x.grad.numpy()) for n, x in by_autograd().items())
