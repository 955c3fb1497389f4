"""Chapter 4: scalar decay, as it is printed."""

from . import ch04_worlds as worlds
from .check import printed
from .memory import faded_from_nothing, fading

LOOP = "the fading token loop"
MASK = "what the token loop leaves of each write, and gdn_ref.chunking.decay"
REAL = {"arithmetic": "float64"}

printed("eq-scalar-decay-recurrence", fading, against=LOOP, defines=True)
printed("eq-gamma", worlds.logarithms, against=MASK, **REAL)
printed(
    "eq-decay-mask",
    worlds.reset_logarithms,
    against=MASK,
    defines=True,
    equal={
        r"\Gamma_{ri} for \exp(\sum_{i < j \le r}g_{j})": "an entry is itself: on and below the "
        "diagonal nothing is claimed"
    },
    **REAL,
)
printed("eq-scalar-decay-unrolled", fading, against=LOOP)
ABOVE = "above the diagonal, where j > i = r, both sides are zero"
printed(
    "eq-decay-mask-factor",
    worlds.stretches,
    against=MASK,
    equal={"r for j": ABOVE, "j for r": ABOVE},
)
LOGARITHM = "g is the logarithm of alpha"
printed(
    "eq-half-life",
    worlds.constant,
    against="bisection, and sums term by term",
    equal={
        r"g for \ln\alpha": LOGARITHM,
        r"\ln\alpha for g": LOGARITHM,
        "minus what is in |g|": "the logarithm of a decay below 1 is negative",
    },
    no_value=dict.fromkeys(
        [r"- \ln\alpha", r"\alpha", "|g|", r"1 - \alpha"], "the text: 0 < alpha < 1"
    ),
    **REAL,
)
printed(
    "eq-decay-recall",
    worlds.stream,
    against="the loop's errors, averaged over keys",
    no_value={r"1 - \alpha^{2}": "without decay the sum has no limit"},
    **REAL,
)
printed("eq-best-decay", worlds.best_decays, against="dual numbers and bisection", **REAL)
printed("eq-decay-gate", worlds.gate, against="gdn_ref.ops.log_decay", defines=True, **REAL)
printed(
    "eq-gate-gradient",
    worlds.gate,
    against="autograd through gdn_ref.ops.log_decay",
    **REAL,
)
printed("eq-scalar-decay-chunk", fading, against=LOOP)
EMPTY = {"an empty memory at the start": fading}
printed("eq-scalar-decay-parallel", faded_from_nothing, against=LOOP, needs=EMPTY)
printed("eq-decay-semiseparable", worlds.blocks, against=MASK)
printed(
    "eq-decay-mask-inverse",
    fading,
    against=MASK,
    equal={
        r"\mathbf{N} transposed; \boldsymbol{\Gamma} transposed": "transposed, for "
        "a matrix commutes with its inverse"
    },
)
printed("eq-mask-recurrence", worlds.masked_sums, against="the mask times a vector")
