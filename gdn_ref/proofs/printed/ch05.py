"""Chapter 5: the delta rule, as it is printed."""

from . import ch05_worlds as w
from .check import printed
from .rule import ungated

LOOP = "the token loop"

ANY_STATE = r"\mathbf{S}"  # two functions of it

printed(
    "eq-recall-loss",
    w.descent,
    against="the loss row by row",
    defines=True,
    anything=ANY_STATE,
)
printed(
    "eq-recall-gradient",
    w.descent,
    against="derivatives by dual numbers",
    anything=ANY_STATE,
)
printed("eq-delta-rule-recurrence", ungated, against="gdn_ref's step", defines=True)
printed("eq-gradient-step", w.descent, against="the token loop, derivatives by dual numbers")
printed("eq-delta-form", ungated, against=LOOP)
printed("eq-delta-spill", ungated, against=LOOP, anything=r"\boldsymbol{y}")
printed("eq-erase-and-write eq-residual", w.crossing, against=LOOP)
printed("eq-exact-rewrite", w.full_steps, against="the token loop with beta = 1 / ||k||^2")
printed(
    "eq-smallest-change",
    w.full_steps,
    against="the token loop, and another matrix that recalls",
    arithmetic="float64",
)
printed(
    "eq-proximal-step",
    w.trade_off,
    against="the token loop, and a least-squares solver",
    arithmetic="float64",
)
printed("eq-sigmoid-trust", w.trusts, against="a least-squares solver", arithmetic="float64")
printed("eq-delta-overwrite", w.repeated_key, against=LOOP)
printed("eq-delta-orthonormal", w.orthonormal_keys, against=LOOP)
printed("eq-delta-error", w.one_solution, against=LOOP)
printed(
    "eq-delta-least-squares",
    w.rounds,
    against="2000 rounds of gdn_ref.delta_rule.recurrent",
    arithmetic="float64",
)
printed("eq-delta-stream", w.stream, against="every sequence of two tokens")
printed("eq-stream-settles", w.settled, against="the fixed point of the mean over all tokens")
printed(
    "eq-delta-multiplications",
    w.counted_step,
    against="gdn_ref.delta_rule.step, counted",
    arithmetic="counted",
)
