"""Gluon on the CPU: each group of warps is a thread of Python, each tensor one of PyTorch.

Gluon has no interpreter, so this is one for what the kernels of this package use of it. It takes
the Python functions under `gluon.jit` and gives Gluon's names other meanings (`MEANINGS`), which
are stricter than a GPU:

barriers  a wait that nobody ends fails after `PATIENCE` seconds
copies    a tile is NaN from the order to copy into it until the copy arrives, late and in no order;
          what leaves a tile is read as late as `store_wait` allows
products  are computed when they are waited for, so a tile that was given away too early shows; a
          result that nobody has waited for is no number
fences    what a group has stored in a tile is NaN for products, and not to be copied, before its
          fence
memory    an address outside of a tensor fails; shared memory starts as NaN; no dtype is changed
          unasked

It knows no layouts, and a group's threads do all the same at the same time.
`on_hopper` sends whole calls this way, as on an H100.
"""

import itertools
import random
import threading
from contextlib import ExitStack, contextmanager
from types import FunctionType, ModuleType, SimpleNamespace
from unittest import mock

import torch
from triton.experimental.gluon._runtime import GluonJITFunction
from triton.language import constexpr
from triton.runtime.jit import KernelInterface

PATIENCE = 20.0  # seconds


# Registers


class Value(torch.Tensor):
    """A tensor in registers, which no name changes under another: `x += y` is a new one."""

    type = SimpleNamespace(layout=None)
    __iadd__, __isub__, __imul__, __itruediv__ = (
        getattr(torch.Tensor, f"__{name}__") for name in ("add", "sub", "mul", "truediv")
    )


def value(x):
    return torch.as_tensor(x).as_subclass(Value)


class Int(int):
    """A number that may be asked to be wider, as whatever is computed of it."""

    def to(self, dtype):
        return self


def of_int(name):
    def operator(self, other):
        found = getattr(int, name)(self, other)
        return Int(found) if type(found) is int else found

    return operator


for name in ("add", "sub", "mul", "floordiv", "mod"):
    for side in ("", "r"):
        setattr(Int, f"__{side}{name}__", of_int(f"__{side}{name}__"))


def counted(*bounds, **options):
    return map(Int, range(*map(int, bounds)))


def where(condition, x, y):
    if not any(isinstance(a, torch.Tensor) for a in (condition, x, y)):
        return x if condition else y
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    dtype = x.dtype if x.ndim >= y.ndim else y.dtype  # a number takes the other's
    return value(torch.where(torch.as_tensor(condition), x.to(dtype), y.to(dtype)))


def of_two(of_tensors, of_numbers):
    def call(x, y):
        if isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor):
            return value(of_tensors(torch.as_tensor(x), torch.as_tensor(y)))
        return of_numbers(x, y)

    return call


def scan(x, axis, combine):
    rows = list(x.unbind(axis))
    for i in range(1, len(rows)):
        rows[i] = combine(rows[i - 1], rows[i])
    return value(torch.stack(rows, axis))


# Memory


class Pointer:
    """An address in a tensor, or a tensor of addresses."""

    def __init__(self, data, offset=0):
        self.data, self.offset = data, offset
        self.dtype = SimpleNamespace(element_ty=data.dtype)

    def __add__(self, offset):
        return Pointer(self.data, self.offset + offset)

    def __sub__(self, offset):
        return Pointer(self.data, self.offset - offset)

    def places(self, mask):
        """The addresses, and which of them are wanted."""
        offset = torch.as_tensor(self.offset)
        wanted = torch.as_tensor(True if mask is None else mask)
        offset, wanted = torch.broadcast_tensors(offset, wanted)
        outside = offset[wanted & ((offset < 0) | (offset >= len(self.data)))]
        assert not outside.numel(), f"address {outside.flatten()[0]} of {len(self.data)}"
        return offset.long(), wanted


def load(pointer, mask=None, other=0.0):
    offset, wanted = pointer.places(mask)
    found = torch.as_tensor(other).to(pointer.data.dtype).expand(offset.shape).clone()
    found[wanted] = pointer.data[offset[wanted]]
    return value(found)


def store(pointer, x, mask=None):
    offset, wanted = pointer.places(mask)
    x = torch.as_tensor(x).to(pointer.data.dtype).expand(offset.shape)
    pointer.data[offset[wanted]] = x[wanted].as_subclass(torch.Tensor)


class Tile:
    """A piece of shared memory; `marks` has the group whose store no fence has followed, or 0."""

    def __init__(self, data, marks):
        self.data, self.marks = data, marks
        self.dtype, self.shape, self.layout = data.dtype, tuple(data.shape), None

    def both(self, view):
        return Tile(view(self.data), view(self.marks))

    def index(self, i):
        return self.both(lambda x: x[int(i)])

    def slice(self, start, length, dim=0):
        return self.both(lambda x: x.narrow(dim, int(start), length))

    def permute(self, order):
        return self.both(lambda x: x.permute(order))

    def _reinterpret(self, dtype, shape, layout):
        data = self.data.view(dtype).view(shape)
        same = data.numel() == self.marks.numel()  # other numbers of these bytes are for no product
        return Tile(data, self.marks.view(shape) if same else torch.zeros(shape, dtype=torch.int64))

    def load(self, layout=None):
        return value(self.data.clone())

    def store(self, x):
        assert x.dtype == self.dtype, f"{x.dtype} into a tile of {self.dtype}"
        self.data.copy_(x)
        self.marks.fill_(threading.get_ident())

    def fenced(self):
        """May the tensor cores and the copy engine read it?"""
        return not self.marks.any()


def allocate(dtype, shape, layout):
    shape, empty = [int(n) for n in shape], torch.nan if dtype.is_floating_point else 0
    tile = Tile(torch.full(shape, empty, dtype=dtype), torch.zeros(shape, dtype=torch.int64))
    program.tiles.append(tile)
    return tile


def fence():
    for tile in program.tiles:
        tile.marks[tile.marks == threading.get_ident()] = 0


# What groups do side by side


class Program:
    """What the groups of warps of a program share."""

    def __init__(self, numbers, grid, seed):
        self.numbers, self.grid = numbers, grid
        self.change = threading.Condition()
        self.tiles, self.barriers, self.copies = [], {}, []
        self.failed, self.ended = [], False
        self.random = random.Random(seed)
        self.engine = threading.Thread(target=self.copy, daemon=True)
        self.engine.start()

    def copy(self):
        """The copy engine: one of the copies that are due, then another."""
        while True:
            with self.change:
                self.change.wait_for(lambda: self.copies or self.ended or self.failed)
                if not self.copies:
                    return
                work = self.copies.pop(self.random.randrange(len(self.copies)))
                try:
                    work()
                except Exception as error:
                    self.failed.append(error)
                self.change.notify_all()

    def fail(self, error):
        """All others are to stop waiting."""
        with self.change:
            self.failed.append(error)
            self.change.notify_all()

    def wait(self, ready, what):
        with self.change:
            done = self.change.wait_for(lambda: ready() or self.failed, PATIENCE)
            if self.failed:
                raise self.failed[0]
            assert done, f"waited for {what} in vain"


program = None  # the one that runs
mine = threading.local()  # of a group of warps: its products, copies and stores under way


def under_way(kind):
    return vars(mine).setdefault(kind, [])


class Barrier:
    """Its phase ends when all have arrived, and all bytes that were announced."""

    def __init__(self, count):
        self.count = self.left = count
        self.bytes, self.phase = 0, 0

    def arrive(self, count=0, bytes=0):
        """With `program.change` in hand."""
        self.left -= count
        self.bytes += bytes
        assert self.left >= 0, "more arrivals than the barrier counts"
        assert self.bytes >= 0, "more bytes than were announced"
        if self.left == 0 and self.bytes == 0:
            self.left, self.phase = self.count, self.phase ^ 1
        program.change.notify_all()


def barrier(tile):
    return program.barriers[tile.data.data_ptr()]


def init(tile, count):
    program.barriers[tile.data.data_ptr()] = Barrier(count)


def wait(tile, phase, pred=True):
    if pred:
        bar, phase = barrier(tile), int(phase) & 1
        program.wait(lambda: bar.phase != phase, "a barrier")


def arrive(tile, count=1, pred=True):
    if pred:
        with program.change:
            barrier(tile).arrive(count)


def expect(tile, bytes, pred=True):
    if pred:
        with program.change:
            barrier(tile).arrive(1, bytes)


class Matrix:
    """A matrix in memory, which the copy engine reads and writes in tiles."""

    def __init__(self, descriptor):
        assert min(descriptor.shape) > 0, "the copy engine describes no matrix without rows"
        base = descriptor.base.detach()
        self.data = base.as_strided(descriptor.shape, descriptor.strides)
        self.dtype, self.layout = base.dtype, None
        self.block_shape = list(descriptor.block_shape)

    def meet(self, at, tile):
        """What tile and matrix have in common: in the matrix, and in the tile."""
        assert list(tile.shape) == self.block_shape and tile.dtype == self.dtype
        ours, theirs = [], []
        for start, length, size in zip(at, self.block_shape, self.data.shape, strict=True):
            first, end = max(int(start), 0), min(int(start) + length, size)
            ours.append(slice(first, max(first, end)))
            theirs.append(slice(first - int(start), max(first, end) - int(start)))
        return self.data[tuple(ours)], tile.data[tuple(theirs)]


def copy_in(matrix, at, bar, tile, pred=True):
    if not pred:
        return
    source, target = matrix.meet(at, tile)

    def work():
        tile.data.zero_()
        target.copy_(source)
        barrier(bar).arrive(bytes=-tile.data.nbytes)

    with program.change:
        tile.data.fill_(torch.nan)
        program.copies.append(work)
        program.change.notify_all()


def copy_out(matrix, at, tile):
    assert tile.fenced(), "a tile leaves with no fence after what was stored"
    target, source = matrix.meet(at, tile)
    under_way("stores").append(lambda: target.copy_(source))


def copy_lines(tile, pointer, mask):
    under_way("lines").append(lambda: tile.store(load(pointer, mask)))


def end(kind):
    def wait_for_all(left=0):
        assert left == 0
        for work in vars(mine).pop(kind, []):
            work()

    return wait_for_all


class Product:
    """One that has been started."""

    def __init__(self, a, b, acc):
        assert a.dtype == b.dtype and a.dtype.itemsize == 2, f"{a.dtype} by {b.dtype}"
        self.fenced = all(x.fenced() for x in (a, b) if isinstance(x, Tile))
        self.terms, self.result = (a, b, acc), None

    def compute(self):
        a, b, acc = self.terms
        a, b = (x.data if isinstance(x, Tile) else x for x in (a, b))
        self.result = value(a.float() @ b.float())
        if not self.fenced:
            self.result.fill_(torch.nan)
        if acc is not None:
            self.result = self.result + (acc.result if isinstance(acc, Product) else acc)


def start(a, b, acc, use_acc=True, is_async=False):
    under_way("products").append(Product(a, b, acc if use_acc else None))
    return under_way("products")[-1]


def wait_products(left, deps):
    started = under_way("products")
    while len(started) > left:
        started.pop(0).compute()
    found = tuple(x.result if isinstance(x, Product) else x for x in deps)
    assert not any(x is None for x in found), "a product that is still under way"
    return found[0] if len(found) == 1 else found


def warp_specialize(groups, worker_num_warps, worker_num_regs):
    """The first group in this thread, each other one in its own."""
    ours = program

    def work(function, arguments):
        try:
            function(*arguments)
            end("stores")()
        except Exception as error:
            ours.fail(error)

    (first, arguments), *workers = groups
    threads = [threading.Thread(target=work, args=group, daemon=True) for group in workers]
    for thread in threads:
        thread.start()
    try:
        found = first(*arguments)
    except Exception as error:
        ours.fail(error)
        raise
    finally:
        for thread in threads:
            thread.join(2 * PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "a group does not end"
    return found


def nothing(*arguments, **options):
    return None


LANGUAGE = SimpleNamespace(
    constexpr=constexpr, cdiv=lambda a, b: -(-a // b),
    program_id=lambda axis: Int(program.numbers[axis]),
    num_programs=lambda axis: program.grid[axis],
    range=counted, static_range=counted, warp_specialize=warp_specialize,
    load=load, store=store, allocate_shared_memory=allocate,
    zeros=lambda shape, dtype, layout=None: value(torch.zeros(shape, dtype=dtype)),
    zeros_like=torch.zeros_like,
    arange=lambda first, end, layout=None: value(torch.arange(first, end)),
    where=where, minimum=of_two(torch.minimum, min), maximum=of_two(torch.maximum, max),
    exp2=lambda x: value(torch.exp2(torch.as_tensor(x, dtype=torch.float32))),
    log2=lambda x: value(torch.log2(torch.as_tensor(x, dtype=torch.float32))),
    sum=lambda x, axis: x.sum(axis), associative_scan=scan,
    convert_layout=lambda x, layout: x, expand_dims=lambda x, axis: x.unsqueeze(axis),
    permute=lambda x, order: x.permute(order), join=lambda *x: value(torch.stack(x, -1)),
    split=lambda x: x.unbind(-1), reshape=lambda x, shape: x.reshape(shape),
    NVMMASharedLayout=SimpleNamespace(get_default_for=nothing),
    **{name: getattr(torch, name) for name in
       ("float16", "bfloat16", "float32", "int32", "int64")},
    **{f"{name}Layout": nothing for name in
       ("Slice", "Blocked", "DotOperand", "NVMMADistributed", "SwizzledShared")},
)  # fmt: skip
MEANINGS = {
    "gl": LANGUAGE, "tl": LANGUAGE, "range": counted,
    "mbarrier": SimpleNamespace(
        init=init, wait=wait, arrive=arrive, expect=expect, MBarrierLayout=nothing
    ),
    "tma": SimpleNamespace(
        async_copy_global_to_shared=copy_in, async_copy_shared_to_global=copy_out,
        store_wait=end("stores"),
    ),
    "async_copy": SimpleNamespace(
        async_copy_global_to_shared=copy_lines, commit_group=nothing, wait_group=end("lines")
    ),
    "warpgroup_mma": start, "warpgroup_mma_wait": wait_products,
    "warpgroup_mma_init": lambda x: x, "mma_v2": lambda a, b, acc: acc + a.float() @ b.float(),
    "fence_async_shared": fence, "gdc_wait": nothing, "gdc_launch_dependents": nothing,
}  # fmt: skip


def with_meanings(kernel, known):
    """The Python function under a kernel, and of all that it calls."""
    if id(kernel) not in known:
        names = {}
        function = FunctionType(kernel.fn.__code__, names, kernel.fn.__name__)
        function.__defaults__ = kernel.fn.__defaults__
        known[id(kernel)] = function
        for name, x in kernel.fn.__globals__.items():
            if isinstance(x, KernelInterface):
                names[name] = with_meanings(x, known)
            elif not isinstance(x, ModuleType):
                names[name] = x.value if isinstance(x, constexpr) else x
        names.update(MEANINGS)
    return known[id(kernel)]


def run(kernel, grid, arguments):
    """All programs of a grid, one after the other."""
    global program
    function = with_meanings(kernel, {})
    for seed, numbers in enumerate(itertools.product(*map(range, grid))):
        program = Program(numbers, grid, seed)
        try:
            function(*arguments)
            end("stores")()
        finally:
            vars(mine).clear()
            with program.change:
                program.ended = True
                program.change.notify_all()
            program.engine.join()
        if program.failed:
            raise program.failed[0]


def from_first_element(x):
    """What a kernel gets for a tensor: the memory from its first element on."""
    if not isinstance(x, torch.Tensor):
        return x
    x, first = x.detach(), x.storage_offset()
    return Pointer(x.as_strided([x.untyped_storage().nbytes() // x.itemsize - first], [1], first))


def launcher(kernel, case, types, tilings=(), **options):
    """In the place of `gdn_ref.kernels.host.launch.launcher`."""
    given, apart = kernel.fn.__annotations__["given"], len(kernel.arg_names) - 2

    def launch(grid, tensors, numbers, rows=()):
        if not isinstance(kernel, GluonJITFunction):
            kernel[grid](given(*tensors, *numbers), case, **options)
            return
        tiles = zip(tilings, tensors, rows, strict=False)
        matrices = [Matrix(tiled(x, n)) for tiled, x, n in tiles]
        matrices += tensors[len(matrices) : apart]
        pointers = map(from_first_element, tensors[apart:])
        run(kernel, grid, [*matrices, given(*pointers, *numbers), case])

    return launch


@contextmanager
def on_hopper(multiprocessors=132):
    """Calls of the Triton backend go as on an H100, or a part of one with fewer multiprocessors."""
    from gdn_ref.kernels import activations
    from gdn_ref.kernels.backward import launches as backward
    from gdn_ref.kernels.backward.hopper import launches as backward_on_hopper
    from gdn_ref.kernels.forward import launches as forward
    from gdn_ref.kernels.forward.hopper import launches as forward_on_hopper
    from gdn_ref.kernels.forward.hopper.fused import launches as fused
    from gdn_ref.kernels.host import gpu, plan

    launching = (activations, plan, forward, forward_on_hopper, fused, backward)
    launching += (backward_on_hopper,)

    with ExitStack() as stack:

        def replace(name, by, *modules):
            for module in modules:
                stack.enter_context(mock.patch.object(module, name, by))

        stack.enter_context(mock.patch("gdn_ref.prepared._remembered", {}))
        replace("launcher", launcher, *launching)
        replace("has_hopper_engines", lambda device: True, gpu)
        replace("has_warp_products", lambda device: True, gpu)
        replace("multiprocessors", lambda device: multiprocessors, gpu)
        replace(
            "room_for_both", lambda *known: False, backward_on_hopper
        )  # there is no other stream
        yield
