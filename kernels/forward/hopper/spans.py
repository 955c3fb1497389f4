"""Where both passes keep one state of several chunks: a span.

`backward.hopper.chunk_gradients` finds the states between, each in the place of the one before.
The first of each span comes from `backward.hopper.states`, or else from the forward pass, where
that is `fused`.
"""

from ...common.numbers import C
from ...host.launch import cdiv
from .chain import BV
from .launches import WIDTH

SPANS = (8, 4, 1)  # chunks


def span_of(plan, sizes):
    """The longest span for which no multiprocessor has more chunks than if all states were kept.

    A multiprocessor has room for the states of two or four slices of 64 values: of a key head.
    """
    slices = plan.HV // plan.H * (plan.V // BV.value)
    if plan.packed or plan.K > WIDTH or slices not in (2, 4) or sizes.T % C.value:
        return 1

    def chunks(span):
        return span * cdiv(sizes.spans(span) * plan.H, plan.multiprocessors)

    return next(span for span in SPANS if chunks(span) <= chunks(1))


def kept_span(plan, sizes):
    """That of the states which a forward pass keeps: the longest, or 0 for none."""
    return SPANS[0] if span_of(plan, sizes) == SPANS[0] else 0
