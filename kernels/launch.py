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
    """Run `kernel` on a grid of up to three sizes; returns what starts it again, if anything does.

    `constants` come in the order of the kernel's signature; `kinds` is whatever else Triton would
    compile differently for (see `kinds`).
    """
    key = (kernel, kinds, *constants.values(), *options.values())
    compiled = _compiled.get(key)
    if compiled is None:  # compiles, if need be, and runs; the interpreter returns nothing
        compiled = kernel[grid](*arguments, **constants, **options)
        if compiled is None:
            return None
        _compiled[key] = compiled
        return compiled[(*grid, 1, 1)[:3]]
    start = compiled[(*grid, 1, 1)[:3]]
    start(*arguments, *constants.values())
    return start


def prepare_launch(kernel, grid, constants, types, **options):
    """`launch` for calls that differ in their tensors only: `run(aligned, *arguments)`.

    `types` and `alignment` of the tensors are what `kinds` is made of.
    """
    ready, values = {}, tuple(constants.values())

    def run(aligned, *arguments):
        start = ready.get(aligned)
        if start is not None:
            start(*arguments, *values)
            return
        ready[aligned] = launch(kernel, grid, arguments, constants, (types, aligned), **options)

    return run


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
