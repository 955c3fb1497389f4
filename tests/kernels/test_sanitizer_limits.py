"""Small programs in Gluon, each with one thing that our kernels do, right by construction but one.

`kernels/bench/sanitize.py` runs them beside the kernels: what compute-sanitizer says of both is no
finding. On the CPU they run in the interpreter of `gluon_on_cpu`.

groups    Groups of warps write numbers that they were handed, each to a place of its own. They
          share no memory; Triton does, to wake them, to hand over, and to move numbers from
          thread to thread. racecheck of CUDA 13.0 names them, that of 2026.4 does not.
words     A warp writes words, then one of its threads arrives at a barrier; the warps that have
          waited for it read them. So do the weights of tokens. racecheck names both, unless
          `all_arrive` has all threads arrive.
sums      Three groups of warps write words. Each comes together, then one of its threads arrives;
          a fourth group waits for all three. racecheck names that, too, and `all_arrive` helps.
hasty     The words once more, but who reads them says so before. That is wrong, and racecheck has
          to name it, with `all_arrive` too.
copied    The copy engine writes a tensor, threads read it. initcheck of 2026.4 does not see that
          it is written, and names the last chunk's states, which reach its threads so.
"""

from collections import namedtuple

import pytest
import torch

pytest.importorskip("triton")

import gluon_on_cpu  # noqa: E402
from triton.experimental import gluon  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402
from triton.experimental.gluon.language.nvidia.hopper import (  # noqa: E402
    fence_async_shared,
    mbarrier,
    tma,
)

from gdn_ref.kernels.common.triton_private import tiling  # noqa: E402
from gdn_ref.kernels.forward.hopper.chain import COLUMNS, LINE, ROWS, signals  # noqa: E402
from gdn_ref.kernels.host.launch import launcher, types  # noqa: E402

ON = [
    pytest.param("cpu", marks=pytest.mark.interpreter),
    pytest.param("cuda", marks=pytest.mark.gpu),
]
ONE = gl.constexpr(gl.BlockedLayout([2], [32], [1], [0]))  # as `hopper.load_numbers` has them


GroupsGiven = namedtuple("GroupsGiven", "out_ptr number")
RoundsGiven = namedtuple("RoundsGiven", "out_ptr rounds")
CopiedGiven = namedtuple("CopiedGiven", "rows")
ReadGiven = namedtuple("ReadGiven", "y_ptr out_ptr")
Case = namedtuple("Case", "HASTY", defaults=(False,))


def launch(device, kernel, tensors, numbers, tilings=(), rows=(), **case):
    new = launcher if device == "cuda" else gluon_on_cpu.launcher
    run = new(kernel, Case(**case), types(*tensors), tilings, num_warps=4)
    run((64, 1, 1), tensors, numbers, rows)


@gluon.jit
def write(out_ptr, number, warps: gl.constexpr):
    i = gl.arange(0, 128, gl.BlockedLayout([1], [32], [warps], [0]))
    gl.store(out_ptr + i, number + i)


@gluon.jit
def write_moved(out_ptr, number):
    """The same, by other threads than have computed it: Triton does that in shared memory."""
    i = gl.arange(0, 128, gl.BlockedLayout([1], [32], [4], [0]))
    moved: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    gl.store(out_ptr + gl.arange(0, 128, moved), gl.convert_layout(number + i, moved))


@gluon.jit
def groups_kernel(given: GroupsGiven, case: gl.constexpr):
    """Each group of each program writes `number`, and some more, to 128 places."""
    out_ptr = given.out_ptr + gl.program_id(0) * 384
    number = given.number + gl.program_id(0)
    gl.warp_specialize(
        [
            (write_moved, (out_ptr, number)),
            (write, (out_ptr + 128, 2 * number, 4)),
            (write, (out_ptr + 256, 3 * number, 1)),
        ],
        worker_num_warps=[4, 1],
        worker_num_regs=[96, 40],
    )


@pytest.mark.parametrize("device", ON)
def test_groups(device):
    out = torch.zeros(64, 3, 128, dtype=torch.int32, device=device)
    launch(device, groups_kernel, (out,), (7,))
    p, group, i = torch.meshgrid(
        torch.arange(64), torch.arange(3), torch.arange(128), indexing="ij"
    )
    assert torch.equal(out.cpu(), ((p + 7) * (group + 1) + i).int())


@gluon.jit
def give(words, full, free, rounds):
    i = gl.arange(0, 64, ONE)
    for j in range(rounds):
        mbarrier.wait(free.index(j % 2), ((j // 2) & 1) ^ 1)
        words.index(j % 2).store((i + j).to(gl.float32))
        mbarrier.arrive(full.index(j % 2), count=1)


@gluon.jit
def take(out_ptr, words, full, free, rounds, HASTY: gl.constexpr):
    total = gl.zeros([64], gl.float32, COLUMNS)
    for j in range(rounds):
        mbarrier.wait(full.index(j % 2), (j // 2) & 1)
        if HASTY:
            mbarrier.arrive(free.index(j % 2), count=1)
        total += words.index(j % 2).load(COLUMNS)
        if not HASTY:
            mbarrier.arrive(free.index(j % 2), count=1)
    gl.store(out_ptr + gl.arange(0, 64, COLUMNS), total)


@gluon.jit
def words_kernel(given: RoundsGiven, case: gl.constexpr):
    """The sum of the words that one warp has given the others."""
    out_ptr = given.out_ptr + gl.program_id(0) * 64
    words = gl.allocate_shared_memory(gl.float32, [2, 64], LINE)
    full, free = signals(2, 1), signals(2, 1)
    fence_async_shared()
    gl.warp_specialize(
        [
            (take, (out_ptr, words, full, free, given.rounds, case.HASTY)),
            (give, (words, full, free, given.rounds)),
        ],
        worker_num_warps=[1],
        worker_num_regs=[40],
    )


@pytest.mark.parametrize("device", ON)
def test_words(device):
    out = torch.zeros(64, 64, device=device)
    launch(device, words_kernel, (out,), (50,), HASTY=False)
    assert torch.equal(out.cpu(), (50.0 * torch.arange(64) + 49 * 25).expand(64, 64))


@pytest.mark.gpu
def test_hasty():
    out = torch.zeros(64, 64, device="cuda")
    launch("cuda", words_kernel, (out,), (50,), HASTY=True)
    assert out.sum() > 0  # which words it found, nobody knows


@gluon.jit
def give_sums(sums, which: gl.constexpr, full, free, rounds):
    i = gl.arange(0, 64, ROWS)
    for j in range(rounds):
        mbarrier.wait(free.index(0), (j & 1) ^ 1)
        sums.index(which).store((which * which * i + j).to(gl.float32))
        mbarrier.arrive(full.index(0), count=1)


@gluon.jit
def take_sums(out_ptr, sums, full, free, rounds):
    total = gl.zeros([64], gl.float32, COLUMNS)
    for j in range(rounds):
        mbarrier.wait(full.index(0), j & 1)
        for which in gl.static_range(3):
            total += sums.index(which).load(COLUMNS)
        mbarrier.arrive(free.index(0), count=1)
    gl.store(out_ptr + gl.arange(0, 64, COLUMNS), total)


@gluon.jit
def sums_kernel(given: RoundsGiven, case: gl.constexpr):
    """The sum of what three groups of warps have given a fourth."""
    out_ptr, rounds = given.out_ptr + gl.program_id(0) * 64, given.rounds
    sums = gl.allocate_shared_memory(gl.float32, [3, 64], LINE)
    full, free = signals(1, 3), signals(1, 1)
    fence_async_shared()
    gl.warp_specialize(
        [
            (give_sums, (sums, 0, full, free, rounds)),
            (give_sums, (sums, 1, full, free, rounds)),
            (give_sums, (sums, 2, full, free, rounds)),
            (take_sums, (out_ptr, sums, full, free, rounds)),
        ],
        worker_num_warps=[4, 4, 4],
        worker_num_regs=[96, 96, 96],
    )


@pytest.mark.parametrize("device", ON)
def test_sums(device):
    out = torch.zeros(64, 64, device=device)
    launch(device, sums_kernel, (out,), (50,))
    assert torch.equal(out.cpu(), (250.0 * torch.arange(64) + 3 * 49 * 25).expand(64, 64))


@gluon.jit
def copied_kernel(x, y, given: CopiedGiven, case: gl.constexpr):
    """`x` to `y`, 64 rows a program, by the copy engine."""
    tile = gl.allocate_shared_memory(x.dtype, [64, 64], x.layout)
    full = signals(1, 1).index(0)
    fence_async_shared()
    row = gl.program_id(0) * 64
    mbarrier.expect(full, 2 * 64 * 64)
    tma.async_copy_global_to_shared(x, [row, 0], full, tile)
    mbarrier.wait(full, 0)
    tma.async_copy_shared_to_global(y, [row, 0], tile)
    tma.store_wait(0)


@gluon.jit
def read_kernel(given: ReadGiven, case: gl.constexpr):
    """`out = y`, 64 rows of 64 a program, by threads."""
    i = gl.program_id(0) * 4096 + gl.arange(0, 4096, gl.BlockedLayout([8], [32], [4], [0]))
    gl.store(given.out_ptr + i, gl.load(given.y_ptr + i))


@pytest.mark.parametrize("device", ON)
def test_copied(device):
    x = torch.randn(64 * 64, 64, dtype=torch.float16, device=device)
    y, out = torch.empty_like(x), torch.empty_like(x)
    tilings = (tiling(x.dtype, x.shape[1], 64, 64),) * 2
    launch(device, copied_kernel, (x, y), (x.shape[0],), tilings, (x.shape[0],) * 2)
    launch(device, read_kernel, (y, out), ())
    assert torch.equal(x.cpu(), out.cpu())
