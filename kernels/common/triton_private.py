"""Start a compiled kernel by the C function that launches it, without the Python that leads there.

At every launch, four functions of Triton's look for hooks, scratch memory and tile descriptors.
They take longer than a small kernel does; what they find is found once here. This file alone knows
Triton from inside. It relies on

- `CompiledKernel.run`, a `CudaLauncher`, with `launch`, the C function, or what `launcher` is
  wrapped in; and with `launch_pdl` and the like, which that function takes;
- the order in which it takes them, which changed in 3.7;
- `launcher_cls` of the driver, which makes it; and `src`, of which that is compiled which it is
  for, with `make_ir`;
- `triton_key`, the hash of Triton's own files, which it keeps once it has it (`ready`), and which
  opens them by the `open` of its module (`in_one_piece`);
- `make_tensordesc_arg`, which makes of a descriptor what that function takes, by one call of the
  driver (`Descriptors`);
- a `TensorDescriptor` being what its attributes say (`tiling`);
- `_reinterpret` of what lies in shared memory (`reinterpreted`).

Triton's own way is gone with another Triton, on another device, and while a profiler wants to hear
of each launch.
"""

import sys
from collections import deque
from contextlib import contextmanager
from functools import cache
from inspect import getclosurevars, isfunction
from mmap import ACCESS_READ, mmap
from os.path import getsize
from threading import Event, Thread
from types import FunctionType, SimpleNamespace

import torch
import triton
from triton import knobs
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
from triton.runtime import cache as triton_cache
from triton.runtime import driver

KNOWN = ("3.6", "3.7", "3.8")
MOST_DESCRIPTORS = 512  # of one argument of one kernel; each takes half a kilobyte


def hash_files():
    """Have Triton hash its own files, 400 MB, beside whatever else this process does in Python.

    It reads the largest a megabyte at a time, and would wait for its turn in Python 800 times.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    triton_cache.open = in_one_piece
    try:
        triton_cache.triton_key()
    finally:
        del triton_cache.open
        sys.setswitchinterval(interval)


@contextmanager
def in_one_piece(path, mode="r", **options):
    """`open`; but of a large file that is read, the first piece is all of it."""
    with open(path, mode, **options) as file:
        if mode != "rb" or getsize(path) < 2**20:
            yield file
            return
        with mmap(file.fileno(), 0, access=ACCESS_READ) as whole:
            pieces = iter((whole, b""))
            yield SimpleNamespace(read=lambda size=-1: next(pieces))


hashing = Thread(target=hash_files, daemon=True)
if not knobs.runtime.interpret:
    hashing.start()


def ready():
    """Have what Triton finds once, before its first kernel: its driver, and the hash of its files.

    The files are read while the other modules are imported, the first call is planned, and the
    driver is found.
    """
    driver.active.get_current_device()
    hashing.join()


def direct(compiled, tilings, apart, absent=()):
    """`start(grid, addresses, rows, numbers)` of a kernel, or None if it goes Triton's way.

    grid : three sizes
    addresses : list of the tensors' addresses, 0 for None; the first are of those in `tilings`, and
        so many are arguments of their own as `apart` says
    rows : how many each of those has
    numbers : tuple of what the kernel is given besides; after them comes what is `absent`
    """
    run = compiled.run
    if not can_start(run):
        return None
    inside = getclosurevars(run.launch).nonlocals if isfunction(run.launch) else {}
    launch, metadata = inside.get("launcher", run.launch), inside.get("tensordesc_meta", ())
    if len(tilings) != len(metadata):
        return None
    descriptors = [Descriptors(*pair) for pair in zip(tilings, metadata, strict=True)]
    cut = len(descriptors)
    device, stream = driver.active.get_current_device(), driver.active.get_current_stream
    flags = (compiled.function, run.launch_cooperative_grid, run.launch_pdl)
    # no scratch memory, nobody to tell, nothing to tell
    if listed := hasattr(run, "arg_annotations"):
        nothing = (None, None, None, None, None)
        flags += (compiled.packed_metadata, *nothing, run.arg_annotations, run.kernel_signature)
    else:
        flags += (None, None, compiled.packed_metadata, None, None, None)

    def start(grid, addresses, rows, numbers):
        arguments = []
        if apart:
            places = zip(addresses, rows, strict=False)
            for known, place in zip(descriptors, places, strict=True):
                arguments += known[place]
            arguments += addresses[cut:apart]
        given = (*addresses[apart:], *numbers, *absent)
        arguments += given, None  # and the case, which is compiled in
        if listed:
            launch(*grid, stream(device), *flags, arguments)
        else:
            launch(*grid, stream(device), *flags, *arguments)

    return start


def in_turn(compile, before=None):
    """`compile` such that its part in Python waits for the one `before`; and this part's own end.

    `compile` is what Triton would run in a thread: `make_ir` of its source is that part.
    """
    end, source = Event(), getclosurevars(compile).nonlocals.get("src")
    if source is None:
        return compile, before
    make_ir = source.make_ir

    def make(*arguments):
        if before is not None:
            before.wait()
        made = make_ir(*arguments)
        end.set()
        return made

    def whole():
        try:
            return compile()
        finally:  # also where it was on disk, or cannot be made
            end.set()

    source.make_ir = make
    return whole, end


def with_launcher(compiled):
    """A compiled kernel whose launcher is on disk, where Triton looks for it at the first launch.

    Up to 3.6 each kernel has one of its own, made by the C compiler.
    """
    driver.active.launcher_cls(compiled.src, compiled.metadata)
    return compiled


def can_start(run):
    """Is this what the file relies on, and for a kernel that needs no memory from Triton?"""
    return (
        triton.__version__.startswith(KNOWN)
        and type(run).__module__ == "triton.backends.nvidia.driver"
        and run.global_scratch_size == 0 and run.profile_scratch_size == 0
        and not getattr(run, "gsan_enabled", False)
    )  # fmt: skip


def watched():
    """Does anybody, a profiler say, want to hear of each launch?"""
    for hook in (knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook):
        if hook is not None and getattr(hook, "calls", True):
            return True
    return False


class Descriptors(dict):
    """Address and rows -> what the launcher takes for the tiles of that matrix; the latest stay.

    No other argument of the driver's function differs, and Triton takes six times as long to find
    them as the call itself. They are found once (`encoding`).
    """

    def __init__(self, tiling, metadata):
        super().__init__()
        self.known = deque()
        name, arguments, (_, rows, *self.lies) = encoding(tiling, metadata)
        self.encode, i = getattr(driver.active.utils, name), arguments.index([rows, self.lies[0]])
        self.before, self.after = arguments[1:i], arguments[i + 1 :]

    def __missing__(self, place):
        address, rows = place
        columns, *strides = self.lies
        described = self.encode(address, *self.before, [rows, columns], *self.after)
        self[place] = found = [described, rows, columns, *strides]
        self.known.append(place)
        if len(self.known) > MOST_DESCRIPTORS:
            self.pop(self.known.popleft(), None)  # the oldest
        return found


def encoding(tiling, metadata):
    """Which function of the driver Triton calls for a matrix, with what, and what it makes of it.

    Triton's own function says so: here it runs for a driver that only writes down its calls.
    """
    from triton.backends.nvidia.driver import make_tensordesc_arg as make

    class Listener:
        def __getattr__(self, name):
            return lambda *arguments: calls.append((name, arguments))

    calls, active = [], SimpleNamespace(utils=Listener())
    runtime = SimpleNamespace(driver=SimpleNamespace(active=active))
    names = {**make.__globals__, "triton": SimpleNamespace(runtime=runtime)}
    nowhere = SimpleNamespace(data_ptr=lambda: 0)  # all that is asked of a tensor
    more = (None,) * (make.__code__.co_argcount - 2)  # what 3.8 has besides, and does not read
    made = FunctionType(make.__code__, names)(tiling(nowhere, -1), metadata, *more)
    ((name, arguments),) = calls
    return name, arguments, made


@cache
def tiling(dtype, columns, tile_rows, tile_columns):
    """A function that describes a matrix, and how many rows it has, to the copy engine, in tiles.

    Triton checks each descriptor it makes for 3 us: here one, and the others are made after it.
    """
    block, layout = [tile_rows, tile_columns], tile_layout(tile_rows, tile_columns)
    base = torch.empty(0, dtype=dtype)
    checked = vars(TensorDescriptor(base, [tile_rows, columns], [columns, 1], block, layout))

    def tiles(x, rows):
        descriptor = object.__new__(TensorDescriptor)
        vars(descriptor).update(checked, base=x, shape=[rows, columns])
        return descriptor

    return tiles


@cache
def tile_layout(tile_rows, tile_columns):
    """How a tile of 16-bit numbers lies in shared memory."""
    return gl.NVMMASharedLayout.get_default_for([tile_rows, tile_columns], gl.float16)


@gluon.jit
def reinterpreted(tile, dtype: gl.constexpr, shape: gl.constexpr, layout: gl.constexpr = None):
    """The same bytes of shared memory as numbers of another dtype, in another shape or layout."""
    return tile._reinterpret(dtype, shape, tile.layout if layout is None else layout)
