"""Chapter 5: the delta rule, as it is printed."""

from functools import partial

from . import ch05_worlds as w
from .check import printed
from .rule import tokens

LOOP = "the token loop"

ANY_STATE = r"\mathbf{S}"  # two functions of it
LENGTHS = (r"\|\boldsymbol{k}_{t}\|^{2}", r"\|\boldsymbol{k}_{t}\|")
SQUARED, LENGTH = ({x: "a full step divides by the square of the key's length"} for x in LENGTHS)

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
printed("eq-delta-rule-recurrence", tokens, against="gdn_ref's step", defines=True)
printed("eq-gradient-step", w.descent, against="the token loop, derivatives by dual numbers")
printed("eq-delta-form", tokens, against=LOOP)
printed("eq-delta-spill", tokens, against=LOOP, anything=r"\boldsymbol{y}")
printed("eq-erase-and-write eq-residual", w.crossing, against=LOOP)
printed(
    "eq-exact-rewrite",
    w.full_steps,
    against="the token loop with beta = 1 / ||k||^2",
    no_value=SQUARED,
    needs={"a full step": partial(w.full_steps, share=2)},
    equal={
        r"\mathbf{S}_{t - 1} for \mathbf{S}_{t}; \mathbf{S}_{t} for \mathbf{S}_{t - 1}": "by the "
        "second line the correction after the write is zero"
    },
)
printed(
    "eq-smallest-change",
    w.full_steps,
    against="the token loop, and another matrix that recalls",
    no_value=LENGTH,
    needs={
        "a full step": partial(w.full_steps, share=2),
        "a matrix that recalls the pair": partial(w.full_steps, solved=False),
    },
    arithmetic="float64",
)
printed(
    "eq-proximal-step",
    w.trade_off,
    against="the token loop, and a least-squares solver",
    no_value={r"2\eta": "the text: a trust above zero"},
    arithmetic="float64",
)
printed("eq-sigmoid-trust", w.trusts, against="a least-squares solver", arithmetic="float64")
printed(
    "eq-delta-overwrite",
    w.repeated_key,
    against=LOOP,
    needs={
        "a key of unit length": partial(w.repeated_key, length=2),
        "other keys orthogonal to it": partial(w.repeated_key, apart=False),
    },
)
printed(
    "eq-delta-orthonormal",
    w.orthonormal_keys,
    against=LOOP,
    needs={
        "keys of unit length": partial(w.orthonormal_keys, length=2),
        "orthogonal keys": partial(w.orthonormal_keys, shear=1),
    },
    equal={"j for T": "what is read with key j stays, as later keys are orthogonal to it"},
)
printed(
    "eq-delta-error",
    w.one_solution,
    against=LOOP,
    needs={"a matrix that recalls all pairs": partial(w.one_solution, solved=False)},
)
printed(
    "eq-delta-least-squares",
    w.rounds,
    against="2000 rounds of gdn_ref.delta_rule.recurrent",
    no_value={r"(\mathbf{K}\mathbf{K}^{\top})^{- 1}": "the text: independent keys"},
    arithmetic="float64",
)
printed(
    "eq-delta-stream",
    w.stream,
    against="every sequence of two or three tokens",
    needs={"no preferred direction of the keys": partial(w.stream, directions=1)},
    equal={"2 for t": "all tokens have one distribution"},
)
printed(
    "eq-stream-settles",
    w.settled,
    against="the fixed point of the mean over all tokens",
    no_value={r"2 - \beta": "the text: a strength below 2"},
    needs={"no preferred direction of the keys": partial(w.settled, directions=1)},
)
printed(
    "eq-delta-multiplications",
    w.counted_step,
    against="gdn_ref.delta_rule.step, counted",
    arithmetic="counted",
)
