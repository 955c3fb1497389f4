"""Chapter 9: the delta rule in chunks, as it is printed."""

from functools import partial

from . import ch09_worlds as w
from .ch08 import INVERSE
from .check import printed
from .rule import ungated

LOOP = "the token loop"
EMPTY = {"an empty memory at the start": ungated}
counted = partial(printed, arithmetic="counted")

printed(
    "eq-delta-solve eq-delta-split eq-delta-rule-chunk eq-delta-chunk-map", ungated, against=LOOP
)
printed("eq-delta-attention", w.empty, against=LOOP, equal=INVERSE, needs=EMPTY)
printed("eq-delta-attention-weight", w.weights, against="the token loop, with unit values")
counted("eq-delta-depth", w.counted_depth, against="the loop and both chunk forms, counted")
counted("eq-delta-flops-recurrent", w.counted_loop, against="gdn_ref.delta_rule.step, counted")
counted("eq-delta-flops-chunk", w.counted_chunks, against="both chunk forms, counted")
counted("eq-delta-bytes", w.counted_traffic, against="gdn_ref.delta_rule.chunk, counted")
counted("eq-delta-saving", w.counted_saving, against="softmax attention and late chunks, counted")
counted("eq-delta-memory", w.kept, against="gdn_ref.delta_rule.chunk, counted")
