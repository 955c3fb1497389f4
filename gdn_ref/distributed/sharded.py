"""A context for models that have no argument for it: transformers' layers that run with gdn_ref."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .context import CPContext

_current: ContextVar[CPContext | None] = ContextVar("cp_context", default=None)


@contextmanager
def sharded(cp_context: CPContext) -> Iterator[CPContext]:
    """In this `with` block, models changed by `use_gdn_ref` take their tokens as this rank's shard.

    Their Gated DeltaNet layers, convolution included, then run across the ranks. Other layers of a
    model, such as attention, are the caller's: they need a context parallelism of their own. The
    model is called without cache and without padding. Checkpointed layers run again in the backward
    pass, which then has to be in the block too.
    """
    token = _current.set(cp_context)
    try:
        yield cp_context
    finally:
        _current.reset(token)


def current() -> CPContext | None:
    """The context of the innermost block, or None."""
    return _current.get()
