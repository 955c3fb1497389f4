"""Chapter 8: the UT transform and the inverse, as they are printed."""

from functools import partial

from . import ch08_worlds as w
from .check import printed
from .rule import ungated

LOOP = "the token loop"
PRODUCTS = "products of the factors, token by token"

printed("eq-interaction", ungated, against="gdn_ref.wy.interaction", defines=True)
printed("eq-wy-w eq-ut-u", ungated, against=PRODUCTS)
INVERSE = {r"\mathbf{X} for (\mathbf{I} + \mathbf{A})^{- 1}": "the chapter calls this inverse X"}
printed("eq-ut-transform", ungated, against=PRODUCTS, equal=INVERSE)
printed("eq-inverse-entry", ungated, against=LOOP)
LENGTH = "keys of unit length"
printed(
    "eq-inverse-bound",
    w.unit_keys,
    against=LOOP,
    arithmetic="float64",
    needs={
        LENGTH: partial(w.unit_keys, length=2),
        "strengths of 2 at most": partial(w.unit_keys, stronger=3),
    },
    equal={"minus what is in |X_{ri}|": "weaker, and true: no number exceeds its size"},
)
ends = "A^C = 0: further terms are zero, further factors are I"
printed(
    "eq-neumann",
    w.powers,
    against=LOOP,
    arithmetic="float64",
    equal={"sign of 1": ends, "without 1": ends},
)
printed("eq-inverse-doubling", w.eight, against=LOOP, equal=INVERSE)
printed(
    "eq-identical-keys",
    w.one_cosine,
    against=LOOP,
    needs={"one cosine for all pairs of keys": partial(w.one_cosine, alike=False)},
)
printed(
    "eq-forward-substitution",
    w.right_sides,
    against=LOOP,
    equal={r"\le for <": "A_rr = 0", "C for r": "A_ri = 0 for i > r"},
)
printed("eq-inverse-paths", w.of_paths, against="the token loop")
printed(
    "eq-inverse-cost",
    w.counted_solves,
    against="forward substitution, counted",
    arithmetic="counted",
)
printed(
    "eq-inverse-blocks",
    w.two_blocks,
    against="exact inverses",
    anything=r"\mathbf{X}_e \mathbf{X}_l \mathbf{Y}",
    no_value=dict.fromkeys(
        [r"\mathbf{X}_{e}^{- 1}", r"\mathbf{X}_{l}^{- 1}"], "inverses of triangles with ones"
    ),
)
printed(
    "eq-condition-bound",
    w.worst_chunks,
    against="numpy.linalg.cond",
    arithmetic="float64",
    needs={LENGTH: partial(w.worst_chunks, length=2)},
    equal={r"\mathbf{A} transposed": "a transpose has the same singular values"},
)
