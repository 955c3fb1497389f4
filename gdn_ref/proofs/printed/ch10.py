"""Chapter 10: the gated delta rule, as it is printed."""

from functools import partial

from . import ch10_worlds as w
from .check import printed
from .rule import rule

LOOP = "the token loop"

STEP = {"against": "gdn_ref's step", "defines": True}
printed("eq-gdn-recurrence", rule, **STEP)
printed("eq-gdn-step", rule, words="decay; read; correct; write; read out", **STEP)
printed("eq-gdn-residual", w.crossing, against=LOOP)
printed("eq-gdn-rows", w.rows, against=LOOP)
printed("eq-gdn-clear", w.ranks, against=LOOP, needs={"no decay": w.decaying_ranks})
printed("eq-gdn-to-delta eq-gdn-reset", w.edges, against=LOOP)
DIVIDED = {"values divided by their strengths": rule}
printed("eq-gdn-linear-limit", w.divided_values, against=LOOP, needs=DIVIDED)
printed(
    "eq-gdn-horizon",
    w.random_key,
    against="all keys of an orthonormal basis",
    needs={"no preferred direction of the keys": partial(w.random_key, directions=1)},
    anything=r"\mathbf{S}",
)
printed(
    "eq-gdn-half-life",
    w.half_lives,
    against="the trace of F F^T, for three decays",
    arithmetic="float64",
    equal={"minus what is in |g|": "the logarithm of a decay below 1 is negative"},
    no_value={
        r"- \ln\rho": "a share that is not all",
        r"\rho": "a share that is not nothing",
        r"2|g| + \beta(2 - \beta)/d_{k}": "a strength from 0 to 2",
    },
)
printed("eq-gdn-loss", w.descent, against="the token loop, derivatives by dual numbers")
printed(
    "eq-gdn-coupled",
    w.penalised,
    against="derivatives by dual numbers",
    anything=r"\mathbf{S} \beta",
)
printed("eq-gdn-order", w.orders, against="gdn_ref.proofs.ch10_orders, token by token")
printed("eq-gdn-spectrum", w.spectra, against="both orders, on d - 1 vectors and on the key")
ABOVE = {"C for r": "Gamma_ri = 0 for i > r"}
printed("eq-gdn-parallel", rule, against=LOOP, equal=ABOVE)
