"""Chapter 10's reader of program files: four rules, each asked for every variable all the time.

A file assigns its own few variables again and again; then another file begins. A name that the
file has not assigned yet should read as zero, whatever an earlier file stored under it.
"""

import numpy as np

from .. import delta_rule, gated_delta_rule, linear_attention, scalar_decay
from ..proofs.data import unit

FILES, TOKENS, NAMES, OWN, D_K, D_V = 4, 50, 32, 8, 128, 16
DECAYS = (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)

RULES = {  # name -> one token, for a decay and a write strength
    "linear attention": lambda S, k, v, g, beta: linear_attention.step(S, k, k, v),
    "decay alone": lambda S, k, v, g, beta: scalar_decay.step(S, k, k, v, g),
    "delta rule": lambda S, k, v, g, beta: delta_rule.step(S, k, k, v, beta),
    "gated delta rule": lambda S, k, v, g, beta: gated_delta_rule.step(S, k, k, v, g, beta),
}


def program(seed):
    """The keys of all names; the name, the value and the start mark of each assignment."""
    rng = np.random.default_rng(seed)
    keys = unit(rng.normal(size=(NAMES, D_K)))
    names = [rng.choice(rng.choice(NAMES, OWN, replace=False), TOKENS) for _ in range(FILES)]
    values = unit(rng.normal(size=(FILES * TOKENS, D_V)))
    starts = np.arange(FILES * TOKENS) % TOKENS == 0
    return keys, np.concatenate(names), values, starts


def errors(rule, decay=1.0, seed=0):
    """After each token: the mean squared error of the file's own names, and of all others.

    The first token of a file forgets everything before it, where the rule can; the others decay
    by `decay`. Values have length 1, so an answer of zero has the error 1 on an own name.
    """
    keys, names, values, starts = program(seed)
    g = np.where(starts, -np.inf, np.log(decay))
    S, wanted = np.zeros((D_V, D_K)), np.zeros((NAMES, D_V))
    own, shown = np.zeros(NAMES, dtype=bool), []
    for t, name in enumerate(names):
        if starts[t]:
            wanted[:], own[:] = 0, False
        wanted[name], own[name] = values[t], True
        _, S = RULES[rule](S, keys[name], values[t], g[t], np.ones(()))
        squared = ((keys @ S.T - wanted) ** 2).sum(1)
        shown.append((squared[own].mean(), squared[~own].mean()))
    return np.array(shown)


def mean_errors(rule, decay=1.0, seeds=8):
    """The same, the mean over several programs; shape [tokens, 2]."""
    return np.mean([errors(rule, decay, seed) for seed in range(seeds)], axis=0)


def best_decay():
    """The constant that lets decay alone recall a file's own names best."""
    return min(DECAYS, key=lambda decay: mean_errors("decay alone", decay)[:, 0].mean())


def all_rules():
    """Rule -> errors; decay alone with its best constant, the gated rule with resets only."""
    decays = {rule: 1.0 for rule in RULES} | {"decay alone": best_decay()}
    return {rule: mean_errors(rule, decay) for rule, decay in decays.items()}
