"""Exercises of chapter 10: a fixed point, a horizon, four loops, padding."""

import numpy as np

from .. import gated_delta_rule
from ..proofs import ch10_orders as orders
from ..proofs.data import hard_inputs, relative_error
from . import Wrong, exercise

_LOOPS = {  # the functions of "10-loops"
    "ada": "write, then decay",
    "ben": "the rule",
    "cleo": "output, then write",
    "dan": "read, then decay",
}


def loops():
    """Name -> a token loop `loop(q, k, v, g, beta, S) -> (O, S)`; one of them is the rule."""

    def loop(order):
        return lambda q, k, v, g, beta, S: orders.run(order, q, k, v, g, beta, S)

    return {name: loop(order) for name, order in _LOOPS.items()}


@exercise("10-settles")
def _settles(answer):
    for alpha, beta in ((0.7, 0.4), (0.9, 0.1), (1.0, 0.3), (0.7, 1.0), (0.8, 1.6)):
        x = 0.0
        for _ in range(2000):
            x = alpha * x + beta * (1 - alpha * x)
        found = float(answer(alpha, beta))
        if abs(found - x) < 1e-9:
            continue
        state = f"at alpha = {alpha}, beta = {beta}"
        if abs(found - beta / (1 - alpha + beta)) < 1e-9:
            raise Wrong(f"{state} that is where the undecayed read settles")
        if abs(found - alpha * x) < 1e-9:
            raise Wrong(f"{state} that is the answer before the write, after the decay")
        raise Wrong(
            f"{state} the loop settles elsewhere; one more token must leave the answer as it is"
        )


@exercise("10-horizon")
def _horizon(answer):
    for tokens, beta, d_k in (
        (10, 1.0, 128), (30, 0.5, 64), (50, 1.8, 128), (200, 0.1, 128), (20, 2.0, 64)
    ):  # fmt: skip
        g = answer(tokens, beta, d_k)
        case = f"{tokens} tokens, beta = {beta}, d_k = {d_k}"
        if g is None:
            raise Wrong(f"{case}: overwriting alone takes longer than that, so a decay is needed")
        left = (np.exp(2 * float(g)) * (1 - beta * (2 - beta) / d_k)) ** tokens
        if abs(left - 0.5) > 1e-9:
            raise Wrong(f"{case}: {left:.4f} of the squared length is left, not one half")
    for tokens, beta, d_k in ((200, 1.0, 128), (40, 1.5, 32)):
        if answer(tokens, beta, d_k) is not None:
            case = f"{tokens} tokens, beta = {beta:g}, d_k = {d_k}"
            raise Wrong(f"{case}: what does overwriting do there on its own?")


@exercise("10-loops")
def _which_loop(answer):
    if set(answer) != set(_LOOPS):
        raise Wrong(f"expected an order for each of {sorted(_LOOPS)}")
    if unknown := set(answer.values()) - set(orders.ORDERS):
        raise Wrong(f"no order is called {sorted(unknown)[0]!r}")
    if len(set(answer.values())) < len(_LOOPS):
        raise Wrong("no two loops have the same order")
    right = sum(_LOOPS[name] == order for name, order in answer.items())
    if right < len(_LOOPS):
        raise Wrong(
            f"{right} of {len(_LOOPS)} are right; try one token, a value of zero, and compare "
            "both the output and the state"
        )


@exercise("10-padding")
def _padding(pad):
    for reset in (False, True):
        q, k, v, g, beta, S = hard_inputs(T=20)
        if reset:
            g[0] = -np.inf
        O, last = gated_delta_rule.recurrent(q, k, v, g, beta, S)
        longer = [np.asarray(x) for x in pad(q, k, v, g, beta, 12)]
        if [len(x) for x in longer] != 5 * [32]:
            raise Wrong(f"expected five arrays of 12 + 20 tokens, got {[len(x) for x in longer]}")
        found, state = gated_delta_rule.recurrent(*longer, S)
        errors = relative_error(found[12:], O), relative_error(state, last)
        if not max(errors) < 1e-12:
            where = "with a reset at the first real token, " if reset else ""
            raise Wrong(
                f"{where}the outputs are off by {errors[0]:.0e} and the last state by "
                f"{errors[1]:.0e}; which two numbers of a token decide what it changes?"
            )
