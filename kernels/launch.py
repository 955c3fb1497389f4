"""Launch a kernel without asking Triton twice.

Triton finds out at every call how each argument is to be specialised, which costs more than the
small kernels themselves. The answer depends on little: types, alignment, the constants. So what
it compiled is kept under that key, and the next call with the same key goes straight to the driver.
"""

import torch

_compiled = {}


def launch(kernel, grid, arguments, constants, **options):
    """Run `kernel` on a grid of up to three sizes; `constants` in the order of its signature."""
    kinds = tuple(map(kind, arguments))
    key = (kernel, kinds, *constants.values(), *options.values())
    compiled = _compiled.get(key)
    if compiled is None:  # compiles, if need be, and runs; the interpreter returns nothing
        compiled = kernel[grid](*arguments, **constants, **options)
        if compiled is not None:
            _compiled[key] = compiled
    else:
        compiled[(*grid, 1, 1)[:3]](*arguments, *constants.values())


def kind(argument):
    """What Triton compiles for: a tensor's device, type and alignment; an integer's width."""
    if isinstance(argument, torch.Tensor):
        return argument.device, argument.dtype, argument.data_ptr() % 16 == 0
    if isinstance(argument, int):
        return -(2**31) <= argument < 2**31
    if isinstance(argument, float) or argument is None:
        return type(argument)
    return argument.base.device, argument.base.dtype, argument.block_shape[1]  # a tile descriptor
