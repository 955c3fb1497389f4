"""Launch a kernel without asking Triton twice.

Triton finds out at every call how each argument is to be specialised, which costs more than the
small kernels themselves. The answer depends on little: types, alignment, the constants. So what
it compiled is kept under that key, and the next call with the same key goes straight to the driver
(`common.triton_private`).
"""

from functools import cached_property

from torch import Tensor

from ..common.triton_private import direct, watched

_compiled = {}


def cdiv(a, b):
    """`a / b` rounded up. Triton's own, made for kernels, takes ten times as long on the host."""
    return -(-a // b)


def launch(kernel, grid, arguments, constants, kinds, **options):
    """Run `kernel` on a grid of up to three sizes; returns what Triton compiled, if anything.

    `constants` come in the order of the kernel's signature; `kinds` is whatever else Triton would
    compile differently for (see `kinds`).
    """
    key = (kernel, kinds, *constants.values(), *options.values())
    again = _compiled.get(key)
    if again is None:  # compiles, if need be, and runs; the interpreter returns nothing
        compiled = kernel[grid](*arguments, **constants, **options)
        if compiled is not None:
            _compiled[key] = Again(compiled)
        return compiled
    grid, values = (*grid, 1, 1)[:3], tuple(constants.values())
    if again.by_itself is None or watched():
        again.compiled[grid](*arguments, *values)
    else:
        addresses = [x.data_ptr() if isinstance(x, Tensor) else x for x in arguments]
        again.by_itself(grid, addresses, values)
    return again.compiled


def prepare_launch(kernel, grid, numbers, constants, types, tilings=(), **options):
    """`launch` for calls that differ in their tensors only: `run(*tensors)`.

    A kernel takes tensors, or None for some, then `numbers`, then `constants`; the first tensors in
    tiles, if `tilings` has one for each (`triton_private.tiling`). `types` and the tensors'
    alignment are what `kinds` is made of.
    """
    ready, cut = {}, len(tilings)
    rest, whole_grid = (*numbers, *constants.values()), (*grid, 1, 1)[:3]

    def run(*tensors):
        addresses = [0 if x is None else x.data_ptr() for x in tensors]
        aligned = tuple([address % 16 == 0 for address in addresses])
        again = ready.get(aligned)
        if again is not None and again.by_itself is not None and not watched():
            again.by_itself(whole_grid, addresses, rest)
            return
        tiles = [tiled(x) for tiled, x in zip(tilings, tensors, strict=False)]
        if again is not None:
            again.compiled[whole_grid](*tiles, *tensors[cut:], *rest)
            return
        arguments = (*tiles, *tensors[cut:], *numbers)
        compiled = launch(kernel, grid, arguments, constants, (types, aligned), **options)
        if compiled is not None:
            ready[aligned] = Again(compiled, tilings)

    return run


class Again:
    """What Triton compiled, and `direct` for it: found when it is started again, if ever."""

    def __init__(self, compiled, tilings=()):
        self.compiled, self.tilings = compiled, tilings

    @cached_property
    def by_itself(self):
        return direct(self.compiled, self.tilings)


def aligned(*tensors):
    """Do all the tensors start at multiples of 16 bytes?"""
    return not any([x.data_ptr() % 16 for x in tensors])


def kinds(tokens, *tensors):
    """What Triton compiles for, besides constants: types and alignment, and wide integers.

    Tensors that this package allocates itself follow from these: they are always aligned.
    """
    return types(tokens, *tensors), alignment(tensors)


def types(tokens, *tensors):
    """The part of `kinds` that tensors which look alike share."""
    dtypes = tuple(None if x is None else x.dtype for x in tensors)
    return tensors[0].device, tokens < 2**31, dtypes


def alignment(tensors):
    """Which of the tensors start at a multiple of 16 bytes."""
    return tuple([x is None or x.data_ptr() % 16 == 0 for x in tensors])
