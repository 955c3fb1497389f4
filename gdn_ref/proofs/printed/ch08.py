"""Chapter 8: the UT transform and the inverse, as they are printed."""

from . import ch08_worlds as w
from .check import printed, read
from .rule import ungated

LOOP = "the token loop"
PRODUCTS = "products of the factors, token by token"

printed("eq-interaction", ungated, against="gdn_ref.wy.interaction", defines=True)
printed("eq-wy-w eq-ut-u eq-ut-transform", ungated, against=PRODUCTS)
printed("eq-inverse-entry", ungated, against=LOOP)
printed("eq-inverse-bound", w.unit_keys, against=LOOP, arithmetic="float64")
ends = "A^C = 0: further terms are zero, further factors are I"
printed(
    "eq-neumann",
    w.sixteen,
    against=LOOP,
    arithmetic="float64",
    equal={"sign of 1": ends, "without 1": ends},
)
printed("eq-inverse-doubling", w.eight, against=LOOP)
printed("eq-identical-keys", w.one_cosine, against=LOOP)
printed(
    "eq-forward-substitution",
    w.right_sides,
    against=LOOP,
    equal={r"\le for <": "A_rr = 0"},
)
read(
    "eq-inverse-paths",
    fingerprint="e60c2ee9b576",
    against="ch08_paths.sums_over_all_paths",
    why="the sum runs over all paths, and no letter of it counts them",
)
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
)
printed(
    "eq-condition-bound",
    w.worst_chunks,
    against="numpy.linalg.cond",
    arithmetic="float64",
    equal={r"\mathbf{A} transposed": "a transpose has the same singular values"},
)
