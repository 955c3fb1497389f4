"""Launch a kernel without asking Triton twice.

Triton finds out at every call how each argument is to be specialised, which costs more than the
small kernels themselves. The answer depends on little: types, alignment, the constants. So what
it compiled is kept under that key, and the next call with the same key goes straight to the driver.
"""

_compiled = {}


def cdiv(a, b):
    """`a / b` rounded up. Triton's own, made for kernels, takes ten times as long on the host."""
    return -(-a // b)


def launch(kernel, grid, arguments, constants, kinds, **options):
    """Run `kernel` on a grid of up to three sizes.

    `constants` come in the order of the kernel's signature; `kinds` is whatever else Triton would
    compile differently for (see `kinds`).
    """
    key = (kernel, kinds, *constants.values(), *options.values())
    compiled = _compiled.get(key)
    if compiled is None:  # compiles, if need be, and runs; the interpreter returns nothing
        compiled = kernel[grid](*arguments, **constants, **options)
        if compiled is not None:
            _compiled[key] = compiled
    else:
        compiled[(*grid, 1, 1)[:3]](*arguments, *constants.values())


def kinds(tokens, *tensors):
    """What Triton compiles for, besides constants: types and alignment, and wide integers.

    Tensors that this package allocates itself follow from these: they are always aligned.
    """
    aligned = tuple(None if x is None else (x.dtype, x.data_ptr() % 16 == 0) for x in tensors)
    return tensors[0].device, tokens < 2**31, aligned
