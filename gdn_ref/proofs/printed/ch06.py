"""Chapter 6: the geometry of a transition, as it is printed."""

from functools import partial

from . import ch06_worlds as w
from .cases import ONE_DIMENSION, RESET
from .check import printed
from .rule import gated_tokens

LOOP = "the token loop"
MAP = "what the token loop makes of the identity"

printed("eq-transition", gated_tokens, against=MAP, defines=True)
printed(
    "eq-transition-rows",
    w.one_key,
    against=LOOP,
    anything=r"\mathbf{S}",
    equal={
        r"\boldsymbol{s}_{i}^{\top} and \boldsymbol{k} swapped": "(k s^T) k = k (s^T k): "
        "products may be bracketed either way, and s^T k is a number"
    },
)
printed(
    "eq-transition-cases",
    w.unit_key,
    against=MAP,
    needs={"a key of unit length": partial(w.unit_key, length=2)},
    equal={"3 for 2": "every power of a projection is that projection"}
    | dict.fromkeys(
        [
            r"where \mathbf{P} = \mathbf{I}: \beta = 0",
            r"where \mathbf{P}\boldsymbol{k} = \boldsymbol{0}: \beta = 1",
            r"where \mathbf{P}\boldsymbol{k} = - \boldsymbol{k}: \beta = 2",
        ],
        "a unit key tells the strength",
    ),
)
printed("eq-transition-eigenvalues", w.one_key, against=MAP, anything=r"\lambda")
printed("eq-transition-determinant", w.one_key, against=MAP)
INVERSE = dict.fromkeys(
    [r"\mathbf{P}^{- 1}", r"1 - \beta\|\boldsymbol{k}\|^{2}"],
    "the text says where there is an inverse",
)
printed("eq-transition-inverse", w.one_key, against=MAP, no_value=INVERSE, excluded=RESET)
printed("eq-transition-length", w.one_key, against=MAP, anything=r"\boldsymbol{x}")
FLAT = {"arithmetic": "float64", "excluded": ONE_DIMENSION}  # the text: d >= 2, in their plane
printed("eq-transition-norm", w.long_and_short, against=MAP, **FLAT)
printed(
    "eq-key-norm",
    w.normalised,
    against="gdn_ref.ops.unit_rows",
    arithmetic="float64",
    no_value={r"\|\boldsymbol{x}\|^{2} + \epsilon": "the text: a positive number"},
)
UNIT = "a key of unit length"
printed("eq-parity", w.bits, against=LOOP, needs={UNIT: partial(w.bits, length=2)})
printed(
    "eq-reflection-rotation",
    w.two_reflections,
    against=MAP,
    **FLAT,
    needs={"keys of unit length": partial(w.two_reflections, length=2)},
)
printed("eq-transition-commute", w.two_tokens, against=MAP)
