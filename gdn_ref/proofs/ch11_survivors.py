"""Easy data hides mistakes: which mutants of the chunk form survive which inputs."""

import numpy as np

from .ch11_mutants import MUTANTS
from .running import FLOAT64_FAIL
from .token_forms import FORM, Tokens, chunkwise, difference, float64_tokens, recurrence


def easy_tokens():
    """Inputs on which mistakes hide, by name, and the hard inputs for comparison."""
    hard = float64_tokens()

    def change(**new):
        return Tokens(**(vars(hard) | new))

    T = len(hard.alpha)
    short = hard.K.shape[1]  # orthonormal keys: at most d_k of them
    orthonormal = np.linalg.qr(hard.K.T @ hard.K)[0]
    first = {name: getattr(hard, name)[:short] for name in ("Q", "V", "alpha", "beta")}
    return {
        "hard inputs": hard,
        "no state and one chunk": change(S=0 * hard.S, chunk_size=T),
        "no decay": change(alpha=np.ones(T)),
        "orthonormal keys": change(K=orthonormal, chunk_size=4, **first),
        "beta = 1": change(beta=np.ones(T)),
        "one token in a chunk": change(chunk_size=1),
    }


def survivors(tokens):
    """The mutants whose outputs and last state agree with the recurrence on these tokens."""
    O, _, S = recurrence(tokens)
    alive = []
    for label, mutants in MUTANTS.items():
        for name, change in mutants.items():
            mutant_O, _, mutant_S = chunkwise(tokens, FORM | change)
            error = max(difference(mutant_O, O), difference(mutant_S, S))
            if error < FLOAT64_FAIL:
                alive.append(f"{name} ({label})")
    return alive


def survivors_table():
    """For each kind of input, how many mutants survive: `{name: count}`, and how many there are."""
    counts = {name: len(survivors(tokens)) for name, tokens in easy_tokens().items()}
    return counts, sum(len(mutants) for mutants in MUTANTS.values())
