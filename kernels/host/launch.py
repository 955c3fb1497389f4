"""Launch a kernel without asking Triton twice.

Triton finds out at every call how each argument is to be specialised, which costs more than the
small kernels themselves. The answer depends on little: types, alignment, the constants, and which
numbers need 64 bits. So a `Launch` keeps what Triton compiled for each of these, and goes straight
to the driver with it (`common.triton_private`). Grid and numbers may be others at each call; where
they follow from sizes, `Steps` are all that calls of these sizes do.
"""

from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from functools import cached_property
from threading import Thread

import torch
from triton import AsyncCompileMode, JITFunction
from triton.language import constexpr

from ..common.triton_private import direct, in_turn, ready, watched, with_launcher
from .memory import compiling, new, rehearsal

STAY = nullcontext()
_launches = {}  # what Triton compiles for -> `Launch`


def cdiv(a, b):
    """`a / b` rounded up. Triton's own, made for kernels, takes ten times as long on the host."""
    return -(-a // b)


def launcher(kernel, case, types, tilings=(), **options):
    """The `Launch` of a kernel for this case, a named tuple of all that is known in advance.

    `types` is whatever else Triton would compile differently for (see `types`). The first tensors
    go in tiles, if `tilings` has one for each (`triton_private.tiling`).

    A kernel whose case says EARLY starts while the one before it ends. Before all else it waits for
    that to end, then lets the next one start: a part of a launch's own time is hidden (.3 of 3.1
    microseconds for a step of one sequence on an H200).
    """
    if getattr(case, "EARLY", False):
        options["launch_pdl"] = True
    key = (kernel, types, tilings, case, *options.values())
    known = _launches.get(key)
    if known is None:
        known = _launches[key] = Launch(kernel, case, tilings, options)
    return known


class Launch:
    """A kernel for one case. It takes tensors, or None for some, then numbers.

    A kernel's first arguments are tensors in tiles, for Triton makes descriptors of no others; then
    come all other tensors and numbers as `given`, one named tuple, and its `case`.
    """

    def __init__(self, kernel, case, tilings=(), options=None):
        self.kernel, self.case, self.options = kernel, case, options or {}
        self.given, self.apart = kernel.fn.__annotations__["given"], len(kernel.arg_names) - 2
        self.tilings, self.compiled = tilings, {}

    def __call__(self, grid, tensors, numbers, rows=()):
        """Run on a grid of three sizes; `rows` of the matrices that go in tiles."""
        addresses = [0 if x is None else x.data_ptr() for x in tensors]
        key = tuple([a % 16 == 0 for a in addresses])
        if max(numbers, default=0) >= 2**31:
            key += tuple([n >= 2**31 for n in numbers])
        again = self.compiled.get(key)
        if again is not None:
            if compiling():
                return
            if again.by_itself is not None and not watched():
                again.by_itself(grid, addresses, rows, numbers)
                return
        tiles = [tiled(x, n) for tiled, x, n in zip(self.tilings, tensors, rows, strict=False)]
        tiles += tensors[len(tiles) : self.apart]  # None, where there is no such tensor
        pointers = tensors[self.apart :]
        given = self.given(*pointers, *numbers)
        if not isinstance(self.kernel, JITFunction):  # one of the interpreter's
            if not compiling():
                self.kernel[grid](*tiles, given, self.case, **self.options)
            return
        if again is None:
            ready()
            alike = self.given(*pointers, *map(stand_in, numbers))
            case = type(self.case)(*map(constexpr, self.case))
            compiled = self.kernel.warmup(*tiles, alike, case, grid=grid, **self.options)
            if compiling():
                return
            absent = given[len(pointers) + len(numbers) :]
            again = self.compiled[key] = Again(compiled, self.tilings, self.apart, absent)
        again.compiled[grid](*tiles, given, self.case)


class Steps:
    """What calls of the same sizes do: memory that is made, then launches. Tensors have names.

    memory : of each tensor that is made its name, its size and its dtype
    launches : of each a `Launch`, and what it is called with: the grid, the names of its tensors
        (None stays None), the numbers, and the rows of those that go in tiles
    """

    def __init__(self):
        self.memory, self.launches = [], []

    def run(self, x, tensors):
        """All of it where `x` is, for a dict of tensors by name; those that are made join them."""
        stand_ins, tensors[None] = compiling(), None
        for name, size, dtype in self.memory:
            made = new(x, size, dtype) if stand_ins else x.new_empty(*size, dtype=dtype)
            tensors[name] = made
        with on_device(x):
            for start, grid, names, numbers, rows in self.launches:
                start(grid, list(map(tensors.__getitem__, names)), numbers, rows)
        return tensors


class Twice(dict):
    """Of sizes that came more than once, what `find` has found of them; the latest stay.

    Of others only that they came. A length that will not come again must not cost the memory of
    what is found, which the next one then has to look for: that takes longer than to find it.
    """

    MOST = 256  # of thousands, the garbage collector would look through all

    def __init__(self, find):
        super().__init__()
        self.find, self.came = find, {}

    def __missing__(self, sizes):
        found, again = self.find(*sizes), sizes in self.came
        known = self if again else self.came
        known[sizes] = found if again else None
        if len(known) > self.MOST:
            del known[next(iter(known))]  # the oldest
        return found


def on_device(x):
    """Launches go to the current device: make it that of `x`, if it is another one."""
    if x.is_cuda and x.device.index != torch.cuda.current_device():
        return torch.cuda.device(x.device)
    return STAY


def stand_in(number):
    """What a number is compiled as: for one, and for multiples of 16, Triton would compile apart.

    It does so for every number in a tuple.
    """
    return number if isinstance(number, float) else 2**31 * (number >= 2**31) + 3


@contextmanager
def side_by_side():
    """Inside, launches have their kernels compiled, all at the same time, and none is run.

    A kernel that cannot be compiled is left to its launch, which says why.
    """
    if compiling():
        yield
        return
    threads = Threads()
    with AsyncCompileMode(threads, ignore_errors=True):
        before = rehearsal.set(True)
        try:
            yield
        finally:
            rehearsal.reset(before)
            threads.start()


class Threads:
    """Compile kernels, and what starts them, a thread each.

    Half of the time goes to LLVM, to ptxas and to the C compiler, which need no Python; the other
    half is Python, where threads would only wait for each other: they take turns. The kernels that
    come last take longest, so theirs is the first.
    """

    def __init__(self):
        self.waiting = []

    def submit(self, compile):
        """A future of what `compile` returns, once they are started."""
        self.waiting.append((compile, Future()))
        return self.waiting[-1][1]

    def start(self):
        """All that wait, the last first."""
        turn = None
        for compile, future in reversed(self.waiting):
            compile, turn = in_turn(compile, turn)
            Thread(target=self.run, args=(compile, future)).start()

    def run(self, compile, future):
        """Fulfil a future."""
        try:
            future.set_result(with_launcher(compile()))
        except BaseException as error:
            future.set_exception(error)


class Again:
    """What Triton compiled, and `direct` for it: found when it is started again, if ever.

    `absent` are the last of the numbers, where the kernel can do without.
    """

    def __init__(self, compiled, tilings, apart, absent):
        self.compiled = getattr(compiled, "result", lambda: compiled)()  # where a thread made it
        self.tilings, self.apart, self.absent = tilings, apart, absent

    @cached_property
    def by_itself(self):
        return direct(self.compiled, self.tilings, self.apart, self.absent)


def aligned(*tensors):
    """Do all the tensors start at multiples of 16 bytes?"""
    return not any([x.data_ptr() % 16 for x in tensors])


def types(*tensors):
    """What Triton compiles for, besides constants, alignment and wide numbers: device and dtypes.

    Tensors that this package allocates itself follow from those that are given.
    """
    return tensors[0].device, *[None if x is None else x.dtype for x in tensors]
