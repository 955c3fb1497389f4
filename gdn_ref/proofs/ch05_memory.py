"""Checks of chapter 5: many tokens. Overwriting, orthonormal keys, repetition."""

import numpy as np
from sympy import expand, prod, symbols

from gdn_ref import delta_rule

from . import lines, modular
from .ch05_answers import KEY, beta, key, kT, n, old, value
from .data import hard_inputs, relative_error
from .page import TOKEN, on_page
from .registry import verifies
from .words import reduce

K, K_T, V_T, X = symbols("K K^T V^T X", commutative=False)
ANSWER = {  # at one of several orthonormal keys
    "S": r"\mathbf{S}_0", "k": r"\boldsymbol{k}_j", "v": r"\boldsymbol{v}_j", "beta": r"\beta_j",
}  # fmt: skip
LIMIT = {
    "S": r"\mathbf{S}_0", "K": r"\mathbf{K}", "V": r"\mathbf{V}",
    "G^-1": r"(\mathbf{K}\mathbf{K}^\top)^{-1}",
}  # fmt: skip


@verifies(
    "eq-delta-overwrite",
    method="polynomial",
    covers="0 to 3 writes under one unit key, every d_k, d_v",
    mutants={
        "values add up": {"keep": lambda b: 1},
        "the decay of its own token too": {"after": 0},
        "no beta on the write": {"share": lambda b: 1},
    },
)
def repeated_key(keep=lambda b: 1 - b, share=lambda b: b, after=1):
    """S_m k: the old answer times every (1 - beta_j), value i times those with j > i."""
    residual = []
    for m in range(4):
        strengths, values = symbols(f"b_1:{m + 1}"), symbols(f"v_1:{m + 1}", commutative=False)
        state = old
        for b, v in zip(strengths, values, strict=True):
            state = reduce(state + b * (v - state * key) * kT, KEY | {n: 1})
        kept = [keep(b) for b in strengths]
        claim = prod(kept) * old * key + sum(
            share(strengths[i]) * prod(kept[i + after :]) * values[i] for i in range(m)
        )
        residual.append(expand(reduce(state * key, KEY).subs(n, 1) - claim))

    def printed(at):
        b = [at(rf"\beta_{{{i}}}") for i in range(1, at.scope["m"] + 1)]
        answer = prod(map(keep, b)) * at(r"\mathbf{S}_0\boldsymbol{k}")
        for i, strength in enumerate(b, 1):
            later = prod(map(keep, b[i - 1 + after :]))
            answer = answer + share(strength) * later * at(rf"\boldsymbol{{v}}_{{{i}}}")
        return answer

    on_page("eq-delta-overwrite", printed)
    return residual


@verifies(
    "eq-delta-overwrite",
    method="float64",
    covers="8 writes under one key, 40 under orthogonal keys",
    mutants={"the last value only": {"last_only": True}, "the mean": {"mean": True}},
)
def repeated_key_in_code(last_only=False, mean=False):
    """Writes under orthogonal keys in between do not matter."""
    rng = np.random.default_rng(5)
    basis, values = np.linalg.qr(rng.normal(size=(12, 12)))[0], rng.normal(size=(48, 7))
    start, strengths = rng.normal(size=(7, 12)), rng.uniform(0, 2, size=48)
    mine = np.arange(48) % 6 == 2
    keys = np.where(mine[:, None], basis[0], basis[rng.integers(1, 12, size=48)])
    _, last = delta_rule.recurrent(keys, keys, values, strengths, start)

    def printed(at):
        m, k = at.scope["m"], at(r"\boldsymbol{k}")
        start, tokens = at(r"\mathbf{S}_0"), range(1, m + 1)
        values = np.array([at(rf"\boldsymbol{{v}}_{{{i}}}") for i in tokens]).reshape(m, len(start))
        b, keys = np.array([at(rf"\beta_{{{i}}}") for i in tokens]), np.tile(k.T, (m, 1))
        return delta_rule.recurrent(keys, keys, values, b, start)[1] @ k

    on_page("eq-delta-overwrite", printed, floats=True)
    answer = start @ basis[0]
    for v, b in zip(values[mine], strengths[mine], strict=True):
        answer = (1 - b) * answer + b * v
    answer = values[mine][-1] if last_only else answer
    answer = values[mine].mean(0) if mean else answer
    return relative_error(last @ basis[0], answer)


@verifies(
    "eq-delta-orthonormal",
    method="algebra",
    covers="every number of tokens, d_k, d_v",
    mutants={
        "values as in linear attention": {"keep": 1},
        "beta left out": {"share": 1},
        "the old answer gone": {"keep": 0},
    },
    inputs={
        "the key is not new": {"overlap": 1},
        "the new pair disturbs the old": {"back": 1},
        "a key of length 2": {"norm2": 4},
    },
)
def orthonormal_keys(keep=1 - beta, share=beta, overlap=0, back=0, norm2=1):
    """S + E^T K takes a token whose key is orthogonal to all rows of K.

    The new key reads S alone, and blends; every earlier key k_j keeps its answer.
    """
    written, earlier = symbols("E^T k_j", commutative=False)
    state = old + written * K
    after = state + beta * (value - state * key) * kT
    rules = {K * key: overlap * earlier, kT * key: norm2, kT * earlier: back}
    own = reduce(after * key, rules) - (keep * old * key + share * value)
    others = reduce(after * earlier, rules) - expand(state * earlier)
    on_page("eq-delta-orthonormal", keep * old * key + share * value, letters=ANSWER)
    return [expand(own), expand(others)]


@verifies(
    "eq-delta-orthonormal",
    method="float64",
    covers="delta_rule.recurrent, 12 tokens from a state that is not zero",
    mutants={"values as in linear attention": {"adds": True}},
    inputs={"correlated keys": {"cosine": 0.5}},
)
def orthonormal_keys_in_code(adds=False, cosine=None):
    """All answers at once: the rows of K S^T."""
    q, keys, values, _, strengths, start = hard_inputs(T=12)
    keys = np.linalg.qr(keys)[0] if cosine is None else hard_inputs(T=12, cosine=cosine)[1]
    _, last = delta_rule.recurrent(q, keys, values, strengths, start)

    def answers(keys, values, strengths, start):
        keep = 1.0 if adds else (1 - strengths)[:, None]
        return keep * (keys @ start.T) + strengths[:, None] * values

    def printed(at):
        x = lines.tokens(at)
        return answers(x.K, x.V, x.beta, at(r"\mathbf{S}_0"))[at.scope["j"] - 1][:, None]

    on_page("eq-delta-orthonormal", printed)
    return relative_error(keys @ last.T, answers(keys, values, strengths, start))


@verifies(
    "eq-delta-error",
    method="algebra",
    covers="every d_k, d_v, every X with X k = v",
    mutants={
        "beta twice": {"factor": 1 - beta**2 * key * kT},
        "the target moves too": {"target": beta * X},
    },
    inputs={"X answers something else": {"answer": 2 * value}},
)
def distance_to_a_solution(answer=value, factor=1 - beta * key * kT, target=X):
    """S_t - X = (S_{t-1} - X)(I - beta k k^T)."""
    after = old + beta * (value - old * key) * kT
    on_page("eq-delta-error", (old - X) * factor, letters=TOKEN | {X: r"\mathbf{X}"})
    return reduce(after - target - (old - X) * factor, {X * key: answer})


@verifies(
    "eq-delta-error",
    method="modular",
    covers="64 tokens, d_k = 128, d_v = 96",
    mutants={
        "the factors in reverse": {"order": -1},
        "from zero": {"start": 0},
        "one token left out": {"skipped": 1},
    },
)
def distance_at_real_size(order=1, start=1, skipped=0):
    """S_n = X + (S_0 - X) P_1 ... P_n: an identity of degree at most 4 * 64 + 2."""
    rng = np.random.default_rng(5)
    S0, target = modular.random(rng, 96, 128), modular.random(rng, 96, 128)
    keys, strengths = modular.random(rng, 64, 128), modular.random(rng, 64)
    values = keys @ target.T
    state = S0
    for t in range(64):
        delta = (values[t] - state @ keys[t]) * strengths[t]
        state = state + delta[:, None] * keys[t][None, :]
    distance = S0 * start - target

    def after(distance, key, strength):
        return distance - ((distance @ key) * strength)[:, None] * key[None, :]

    def printed(at):
        before = at(TOKEN["S"]) - at(r"\mathbf{X}")
        return after(before, at(TOKEN["k"])[:, 0], at(TOKEN["beta"]))

    on_page("eq-delta-error", printed)
    for t in range(skipped, 64)[::order]:
        distance = after(distance, keys[t], strengths[t])
    return state - (target + distance)


def solved_values(state, keys, values):
    """The values that the sum of outer products needs (eq-delta-least-squares)."""
    return np.linalg.solve(keys @ keys.T, values - keys @ state.T)


def solved_memory(state, keys, values):
    """The nearest memory to `state` that recalls every pair (eq-delta-least-squares)."""
    return state + solved_values(state, keys, values).T @ keys


@verifies(
    "eq-delta-least-squares",
    method="float64",
    covers="8 pairs with mean cosine .3, 500 rounds of delta_rule.recurrent",
    mutants={
        "S_0 forgotten": {"start": 0.0},
        "the sum of outer products": {"linear": True},
    },
    inputs={"strengths of 2, reflections": {"strength": 2.0}},
    part="that repetition converges to it",
)
def repetition(start=1.0, linear=False, strength=None):
    """Write the same pairs again and again; any strengths inside (0, 2) will do."""
    _, keys, values, _, strengths, state = hard_inputs(T=8, cosine=0.3)
    strengths = 0.2 + 0.8 * strengths if strength is None else np.full(8, strength)
    S_0 = state
    for _ in range(500):
        _, state = delta_rule.recurrent(keys, keys, values, strengths, state)

    def limit(S_0, keys, values):
        return values.T @ keys if linear else solved_memory(start * S_0, keys, values)

    names = (r"\mathbf{S}_0", r"\mathbf{K}", r"\mathbf{V}")
    on_page("eq-delta-least-squares", lambda at: limit(*map(at, names)))
    on_page("eq-delta-least-squares", lambda at: solved_values(*map(at, names)), of=1)
    return relative_error(state, limit(S_0, keys, values))


@verifies(
    "eq-delta-least-squares",
    method="algebra",
    covers="every number of pairs, d_k, d_v",
    part="it recalls all pairs",
    mutants={
        "K K^T not inverted": {"inverse": 1},
        "S_0 not subtracted": {"asked": V_T},
        "S_0 forgotten": {"start": 0},
    },
)
def limit_recalls_all(inverse=None, asked=None, start=old):
    """S_inf K^T = V^T, and S_inf - S_0 has its rows among the keys', so it is the nearest."""
    G, G_inverse = symbols("G G^-1", commutative=False)
    inverse = G_inverse if inverse is None else inverse
    asked = V_T - old * K_T if asked is None else asked
    answers = (start + asked * inverse * K) * K_T
    on_page("eq-delta-least-squares", start + asked * inverse * K, letters=LIMIT)
    return reduce(answers, {K * K_T: G, G_inverse * G: 1}) - V_T
