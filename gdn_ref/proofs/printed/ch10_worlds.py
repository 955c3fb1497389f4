r"""Worlds of chapter 10: gates at 0 and 1, losses, rows, the orders of the steps, means."""

from fractions import Fraction
from functools import cache

import numpy as np

from ..ch10_orders import ORDERS
from .cases import DEPENDENT, UNIT, across, beyond, case, decay, of_rank, sizes, strength
from .ch05_worlds import any_state, losses, questions
from .ch06_worlds import right_angles, the_factor, transition
from .draws import gradient
from .rule import (
    inputs,
    isotropic,
    rule,
    run,
    sequence,
    state_before,
    step,
    ungated,
    with_letters,
    world_of,
)
from .values import Depends, Family, columns, entries, listed
from .world import World


@cache
def crossing(draw):
    """Questions y, some of which a token answers as the decayed state did."""
    x = sequence(draw)
    ys = questions(draw.anew(2), x)
    lengths = {"n": Depends(lambda at: x.k[at["t"] - 1] @ x.k[at["t"] - 1])}
    return with_letters(rule(draw), lengths, **{r"\boldsymbol{y}": ys})


def rows(draw):
    """The rows of each state, as columns, before and after its token."""
    x = sequence(draw)

    def row(at, later):
        return Family(lambda i: Depends(lambda scope: at(scope["t"] - 1 + later, i)))

    def of_state(t, i):
        return columns(x.states[t])[(i,)]

    letters = rule(draw).letters | {
        r"\boldsymbol{s}_": row(of_state, 0), r"\boldsymbol{s}'_": row(of_state, 1),
        r"\delta_": row(lambda t, i: entries(x.deltas[t])[(i,)], 0),
    }  # fmt: skip
    T, d_v = x.v.shape
    return World(letters, ranges={"t": range(1, T + 1), "i": range(1, d_v + 1)})


def ranks(draw):
    """Without decay; after m tokens. In one draw the first two are one reflection."""
    world = ungated(draw)
    if case(draw) == UNIT:
        q, k, v, alpha, beta, S = inputs(draw, decay=False)
        k[1], beta[:2] = k[0], 2
        world = world_of(draw, run(draw, q, k, v, alpha, beta, S), decay=False)
    return with_letters(world, {}, m=range(1, sizes(draw)[0] + 1))


def decaying_ranks(draw):
    """With decay; after m tokens."""
    return with_letters(rule(draw), {}, m=range(1, sizes(draw)[0] + 1))


@cache
def edges(draw):
    """Of every three tokens one does not decay at all, one drops everything. Of the others the
    first has a key that the state does not answer to, the last overwrites what it reads. At the
    end come tokens with a reset's effect in one respect alone."""
    T, d_k, d_v = sizes(draw)
    q, k, v, alpha, beta, S = inputs(draw, T=T + 2, d_k=d_k, d_v=d_v)
    alpha[draw.seed :: 3] = 0 * alpha[0] + 1
    alpha[(draw.seed + 1) % 3 :: 3] = 0 * alpha[0]
    after = range(draw.seed % 3 + 2, T + 2, 3)  # a token that drops everything is before each
    if after:
        last = after[-1]
        k[after[0]] = across(draw, k[after[0] - 1][None])[:, 0]
        beta[last] = 1 / (k[last] @ k[last])
    states = run(draw, q, k, v, alpha, beta, S).states
    more = nearly_reset(draw.anew(2), k[0], states[-1])
    k, v, alpha, beta = (
        np.concatenate(pair) for pair in zip((k, v, alpha, beta), more, strict=True)
    )
    for token in zip(*more, strict=True):
        states.append(step(draw, states[-1], *token))
    return World({
        r"\mathbf{S}_": listed(states, 0), r"\boldsymbol{k}_": columns(k),
        r"\boldsymbol{v}_": columns(v), r"\alpha_": entries(alpha), r"\beta_": entries(beta),
    }, ranges={"t": range(1, len(k) + 1)})  # fmt: skip


def nearly_reset(draw, key, S):
    """Keys, values, decays and strengths of five tokens after a state S: what the first leaves has
    the norm of its write, the next two, a reset and then its key again, leave rank one, and the
    fourth overwrites all that is left; and of one without a key."""
    alpha, beta, more = draw.number(), draw.number(), draw.array(1, len(S))
    kept = step(draw, S, key, 0 * more[0], alpha, beta)
    answer = kept @ key
    value = -answer * np.sum(kept * kept) / (2 * beta * (answer @ answer))
    k = np.array([key, key, 2 * key, key, 0 * key])
    v = np.array([value, *more, *(2 * more), *more, *more])
    strengths = np.array([beta, beta, beta, 1 / (key @ key), beta])
    return k, v, np.array([alpha, 0 * alpha, alpha, alpha, alpha]), strengths


@cache
def divided_values(draw):
    """Every token writes its value divided by its strength."""
    T, d_k, d_v = sizes(draw)
    q, k, v, alpha, beta, S = inputs(draw, T=T, d_k=d_k, d_v=d_v)
    beta = np.where(beta == 0, alpha, beta)  # none of them is zero
    if case(draw) in (UNIT, DEPENDENT):  # what is written is what is erased
        before = state_before(draw, 3, k, v / beta[:, None], alpha, beta, S)
        v[3] = beta[3] * alpha[3] * before @ k[3]
    x = run(draw, q, k, v / beta[:, None], alpha, beta, S)
    world = world_of(draw, x)
    return with_letters(world, {r"\boldsymbol{v}_": columns(v), r"\mathbf{V}": v})


@cache
def random_key(draw, directions=None):
    """A key from one basis or two: k k^T has the mean I / d_k, and no more is claimed of it.

    rho is the mean squared length that F leaves of the unit vectors of the basis.
    """
    draw, (_, d_k, d_v) = draw.anew(), sizes(draw)
    alpha, beta, S = decay(draw, 0.3, 1.7), strength(draw), of_rank(draw, 1, draw.array(d_v, d_k))
    factors = [transition(draw, k, alpha, beta) for k in isotropic(draw, d_k)[:directions]]
    rho = sum(np.sum(F * F) for F in factors) * ((1 + 0 * alpha) / (d_k * len(factors)))
    return World(
        {r"\alpha": alpha, r"\beta": beta, "d_k": d_k, r"\rho": rho, r"\mathbf{S}": S},
        outcomes=[(Fraction(1, len(factors)), {r"\mathbf{F}": F}) for F in factors],
    )


def half_lives(draw):
    """Decays near 1 and far below, a wide key, strengths below 1 and above. All keys of a basis
    leave the same share of the mean, rho.

    With x = beta (2 - beta) / d_k, at most 1 / d_k, the page has x for -ln(1 - x), which is larger
    by at most x^2 / 2 / (1 - x): by a share of 1 / (d_k - 1) / 2."""
    d = (200, 90, 350)[draw.seed % 3] + 30 * beyond(draw)
    beta, key = draw.anew().between(0.3, 0.7, 1)[0] + draw.seed % 2, np.eye(d)[0]

    def rho(at):
        F = transition(draw, key, np.exp(at["g"]), beta)
        return np.sum(F * F) / d

    letters = {r"\rho": Depends(rho), r"\beta": beta, "d_k": d}
    return World(letters, ranges={"g": [-0.02, -0.001, -1e-5, -1.0, -7.0]}, about=0.5 / (d - 1))


def descent(draw):
    """The gated rule, and the loss of each token with its gradient."""
    return with_letters(rule(draw), losses(sequence(draw), draw.exact))


@cache
def penalised(draw):
    """The loss of one token, with a penalty and without, and its gradient by dual numbers."""
    x, penalty = sequence(draw), draw.anew(2).number()
    loss = losses(x, draw.exact)[r"\mathcal{L}_"][(1,)]

    def with_penalty(S):
        return loss(S) + penalty * sum(entry * entry for entry in S.ravel()) / 2

    return World({
        r"\mathcal{L}": loss, r"\mathcal{L}_\lambda": with_penalty,
        r"\nabla\mathcal{L}_\lambda": lambda S: gradient(with_penalty, S, draw.exact),
        r"\lambda": penalty, r"\beta": x.beta[0], r"\mathbf{S}": any_state(draw, x),
        r"\boldsymbol{v}": x.v[0][:, None], r"\boldsymbol{k}": x.k[0][:, None],
    })  # fmt: skip


@cache
def orders(draw):
    """What the three other orders make of each token: the package's, and the same lines exactly."""
    x = sequence(draw)

    def of_token(values):
        return Depends(lambda at: values[at["t"] - 1])

    found = {order: [] for order in ORDERS if order != "the rule"}
    for token in zip(x.states, x.q, x.k, x.v, x.alpha, x.beta, strict=False):
        for order, values in found.items():
            o, S = _exactly(order, *token) if draw.exact else _as_coded(order, *token)
            values.append(o[:, None] if order == "output, then write" else S)
    letters = {order: of_token(values) for order, values in found.items()}
    letters |= {
        r"\mathbf{S}": of_token(x.states), r"\boldsymbol{k}": of_token(_columns(x.k)),
        r"\boldsymbol{v}": of_token(_columns(x.v)), r"\boldsymbol{q}": of_token(_columns(x.q)),
        r"\alpha": of_token(x.alpha), r"\beta": of_token(x.beta),
        r"\mathbf{S}_": listed(x.states, 0), r"\boldsymbol{o}_": columns(x.outputs),
        r"\boldsymbol{\delta}_": columns(x.deltas),
    }  # fmt: skip
    return World(letters, ranges={"t": range(1, len(x.k) + 1)})


def _columns(rows):
    return [row[:, None] for row in rows]


def _as_coded(order, S, q, k, v, alpha, beta):
    return ORDERS[order](S, q, k, v, np.log(np.asarray(alpha)), np.asarray(beta))


def _exactly(order, S, q, k, v, alpha, beta):
    delta = beta * (v - S @ k)
    if order == "read, then decay":
        S = alpha * S + np.outer(delta, k)
    elif order == "write, then decay":
        S = alpha * (S + np.outer(delta, k))
    else:
        S = alpha * S
    return S @ q, S


@cache
def spectra(draw):
    """What the two orders of read and decay make of the identity, across a key and along it."""
    draw, d_k = draw.anew(), sizes(draw)[1]
    k, alpha, beta = draw.array(d_k), decay(draw), strength(draw)
    one = np.eye(d_k, dtype=object if draw.exact else float)
    token = one, 0 * k, k, 0 * k, alpha, beta
    order = "read, then decay"
    late = (_exactly(order, *token) if draw.exact else _as_coded(order, *token))[1]
    maps = {"decayed": transition(draw, k, alpha, beta), "undecayed": late}
    letters = {r"\alpha": alpha, r"\beta": beta, "n": k @ k}
    for name, F in maps.items():
        letters[f"{name} 1"] = the_factor(F, right_angles(draw, k))
        letters[f"{name} 2"] = the_factor(F, k)
    return World(letters)
