"""Launches: what goes to the driver directly, when, and that it is what Triton would hand over."""

import json
import os
import subprocess
import sys
import weakref
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

triton = pytest.importorskip("triton")
pytestmark = pytest.mark.interpreter

from triton import knobs  # noqa: E402

from gdn_ref.kernels.common import triton_private  # noqa: E402
from gdn_ref.kernels.common.triton_private import tiling  # noqa: E402
from gdn_ref.kernels.host import gpu as host_gpu  # noqa: E402
from gdn_ref.kernels.host import launch as host_launch  # noqa: E402
from gdn_ref.kernels.host.gpu import capability, multiprocessors  # noqa: E402
from gdn_ref.kernels.host.tiles import gradient_tiles, tile_rule  # noqa: E402

KERNELS = 19
EARLY = 3  # of them start while the one before them ends
# Python functions of a warm call, where the forward pass had 112, and the files they stand in
WARM = {"forward": (30, 5), "decoding": (20, 5)}


def test_both_ways_hand_over_the_same():
    """Every kernel, forwards, backwards and decoding, as Triton compiles it for a Hopper GPU."""
    environment = {**os.environ}
    environment.pop("TRITON_INTERPRET", None)
    script = Path(__file__).parent / "direct_launches.py"
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert len(found["launches"]) == KERNELS
    assert len(found["early"]) == EARLY
    for name, (frames, files) in WARM.items():
        assert found["warm"][name]["frames"] <= frames, name
        assert len(found["warm"][name]["files"]) <= files, found["warm"][name]["files"]


def test_a_large_file_is_read_in_one_piece(tmp_path):
    small, large = b"few" * 9, bytes(range(256)) * 5000
    for name, content in (("small", small), ("large", large)):
        (tmp_path / name).write_bytes(content)
    with triton_private.in_one_piece(tmp_path / "large", "rb") as file:
        assert bytes(file.read(7)) == large and file.read(7) == b""
    with triton_private.in_one_piece(tmp_path / "small", "rb") as file:
        assert file.read(7) == small[:7] and file.read() == small[7:]
    with triton_private.in_one_piece(tmp_path / "large", "r", encoding="latin-1") as file:
        assert len(file.read(7)) == 7
    with triton_private.in_one_piece(tmp_path / "large", "w", encoding="utf-8") as file:
        file.write("other")
    assert (tmp_path / "large").read_text() == "other"


@pytest.fixture(autouse=True)
def no_driver(monkeypatch):
    """The kernels below are compiled by nobody."""
    monkeypatch.setattr(host_launch, "ready", lambda: None)


class CudaLauncher:
    """As Triton's: `launch` is the C function, or wrapped round it where there are descriptors."""

    __module__ = "triton.backends.nvidia.driver"
    global_scratch_size = profile_scratch_size = 0
    launch_cooperative_grid = launch_pdl = False

    def __init__(self, launcher, tensordesc_meta):
        def wrapped():
            return launcher, tensordesc_meta

        self.launch = wrapped if tensordesc_meta else launcher


Given = namedtuple("Given", "x_ptr y_ptr number", defaults=(None,))
Case = namedtuple("Case", "C")


class Kernel(triton.JITFunction):
    """One that writes down how it is started, and with what."""

    __hash__ = object.__hash__

    def __init__(self, metadata=(), given=Given):
        self.started, self.compiled_as = [], []
        self.launcher = CudaLauncher(self.note("directly"), metadata)
        self.fn = SimpleNamespace(__annotations__={"given": given})
        self.arg_names = [*map(str, metadata), "given", "case"]

    def note(self, way):
        return lambda *arguments: self.started.append((way, arguments))

    def warmup(self, *arguments, grid, **options):
        self.compiled_as.append((*arguments, options))
        return Compiled(self)

    def ways(self):
        """How it was started since this was last asked."""
        found, self.started[:] = [way for way, _ in self.started], []
        return found


class Compiled:
    """What Triton returns."""

    function, packed_metadata = "f", (4, 1, 0)

    def __init__(self, kernel):
        self.kernel, self.run, self.way = kernel, kernel.launcher, "compiled"

    def __getitem__(self, grid):
        way, self.way = self.way, "ordinarily"
        return self.kernel.note(way)


@pytest.fixture
def gpu(monkeypatch):
    """A device 3 whose current stream is `gpu.stream`; and a Triton that is known."""
    gpu = SimpleNamespace(stream=7, get_current_device=lambda: 3)
    gpu.get_current_stream = lambda device: (device, gpu.stream)
    monkeypatch.setattr(triton_private, "driver", SimpleNamespace(active=gpu))
    monkeypatch.setattr(triton_private.triton, "__version__", "3.6.0")
    return gpu


def prepare(kernel, tilings=(), rows=(), number=0.5):
    """A launch of two tensors, with a number and a constant."""
    launch = host_launch.launcher(kernel, Case(64), ("types",), tilings)
    return lambda *tensors: launch((5, 1, 1), tensors, (number,), rows)


def test_the_second_launch_goes_directly_to_the_stream_that_is_current(gpu):
    kernel, x = Kernel(), torch.zeros(8)
    run = prepare(kernel)
    run(x, None)
    assert kernel.ways() == ["compiled"]
    for gpu.stream in (7, 8):
        run(x, None)
        ((way, arguments),) = kernel.started
        before = (5, 1, 1, (3, gpu.stream), "f", False, False)
        after = (None, None, (4, 1, 0), None, None, None, (x.data_ptr(), 0, 0.5), None)
        assert (way, arguments) == ("directly", before + after)
        kernel.ways()


def test_what_has_run_does_not_run_where_kernels_are_only_compiled(gpu):
    """Its tensors have no memory of their own there."""
    kernel, x = Kernel(), torch.zeros(8)
    run = prepare(kernel)
    run(x, None)
    kernel.ways()
    with host_launch.side_by_side():
        run(x, None)
    assert kernel.ways() == []


def test_a_launch_takes_any_size(gpu):
    kernel, x = Kernel(), torch.zeros(8)
    launch = host_launch.launcher(kernel, Case(64), "types")
    for way, blocks in (("compiled", 5), ("directly", 5), ("directly", 6)):
        launch((blocks, 2, 1), (x, None), (blocks - 2,))
        assert kernel.started[-1][0] == way
    ((_, arguments),) = kernel.started[-1:]
    assert arguments[:3] == (6, 2, 1)
    assert arguments[-2:] == ((x.data_ptr(), 0, 4), None)


def test_the_case_and_options_go_to_the_compiler(gpu):
    kernel, x = Kernel(), torch.zeros(8)
    launch = host_launch.launcher(kernel, Case(64), "types", num_warps=8)
    launch((6, 1, 1), (x, None), (4,))
    ((_, case, options),) = kernel.compiled_as
    assert type(case) is Case and type(case.C) is triton.language.constexpr
    assert case.C.value == 64 and options == {"num_warps": 8}


@pytest.mark.parametrize("early", [True, False])
def test_a_kernel_whose_case_says_so_starts_early(gpu, early):
    case = namedtuple("Case", "C EARLY")(64, early)
    launch = host_launch.launcher(Kernel(), case, "types", num_warps=8)
    assert launch.options == {"num_warps": 8} | ({"launch_pdl": True} if early else {})


@pytest.mark.parametrize("number, stands_in", [(1, 3), (32, 3), (0.5, 0.5), (2**31, 2**31 + 3)])
def test_one_compiled_kernel_does_for_all_numbers(gpu, number, stands_in):
    """Triton would specialise for one, and for multiples of 16."""
    kernel, x = Kernel(), torch.zeros(8)
    prepare(kernel, number=number)(x, None)
    ((given, _, _),) = kernel.compiled_as
    assert given == Given(x, None, stands_in)
    assert kernel.started[0][1][0] == Given(x, None, number)  # and starts with its own


def test_numbers_may_be_absent(gpu):
    kernel, x = Kernel(), torch.zeros(8)
    launch = host_launch.launcher(kernel, Case(64), "types")
    for _ in range(2):
        launch((6, 1, 1), (x, None), ())
    assert kernel.compiled_as[0][0] == Given(x, None)
    assert kernel.started[-1][1][-2:] == ((x.data_ptr(), 0, None), None)


def test_launches_that_differ_are_apart(gpu):
    kernel, x = Kernel(), torch.zeros(8)
    for C, types, warps in ((64, "one", 4), (32, "one", 4), (64, "other", 4), (64, "one", 8)):
        launch = host_launch.launcher(kernel, Case(C), types, num_warps=warps)
        assert launch is host_launch.launcher(kernel, Case(C), types, num_warps=warps)
        launch((6, 1, 1), (x, None), (4,))
        assert kernel.ways() == ["compiled"]


def test_types_are_what_is_compiled_for():
    x = torch.zeros(8)
    calls = [(x, None), (x, x), (x.half(), None), (x.to("meta"), None)]
    assert len({host_launch.types(*call) for call in calls}) == len(calls)
    assert host_launch.types(x, None) == host_launch.types(x[4:], None)


def test_wide_numbers_are_compiled_for(gpu):
    kernel, x = Kernel(), torch.zeros(8)
    for number, way in (
        (2**31 - 1, "compiled"), (2**31, "compiled"), (5, "directly"), (2**40, "directly"),
    ):  # fmt: skip
        prepare(kernel, number=number)(x, x)
        assert kernel.ways() == [way]


def test_aligned_is_to_16_bytes():
    memory = torch.zeros(8)
    assert host_launch.aligned(memory, memory[4:])
    assert not host_launch.aligned(memory, memory[2:])


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_each_alignment_is_compiled_for(gpu, offset):
    """To 16 bytes or not: 4, 8 and 12 bytes are not."""
    kernel, memory = Kernel(), torch.zeros(64)
    run = prepare(kernel)
    even, odd = memory[:8], memory[offset : offset + 8]
    run(even, even)
    run(even, odd)
    assert kernel.ways() == ["compiled", "compiled"]
    for tensors in ((even, even), (even, odd), (memory[16:], even)):
        run(*tensors)
        assert kernel.started[-1][1][-2][:2] == tuple(x.data_ptr() for x in tensors)
    assert kernel.ways() == 3 * ["directly"]
    run(odd, even)
    assert kernel.ways() == ["compiled"]


@pytest.mark.parametrize("name", ["launch_enter_hook", "launch_exit_hook"])
def test_those_who_watch_launches_see_them_all(gpu, monkeypatch, name):
    kernel, x = Kernel(), torch.zeros(8)
    run = prepare(kernel)
    for hooks, way in (
        (knobs.HookChain(), "compiled"),
        (None, "directly"),
        (print, "ordinarily"),
        (knobs.HookChain(), "directly"),
    ):
        monkeypatch.setattr(knobs.runtime, name, hooks)
        run(x, x)
        assert kernel.ways() == [way]
    hooks.add(print)  # as a profiler does, in the middle of a run
    run(x, x)
    hooks.remove(print)
    run(x, x)
    assert kernel.ways() == ["ordinarily", "directly"]


@pytest.mark.parametrize(
    "change",
    [
        lambda kernel: setattr(triton_private.triton, "__version__", "3.9.0"),
        lambda kernel: setattr(kernel.launcher, "global_scratch_size", 16),
        lambda kernel: setattr(kernel.launcher, "profile_scratch_size", 16),
        lambda kernel: setattr(kernel.launcher, "gsan_enabled", True),
        lambda kernel: setattr(
            kernel, "launcher", SimpleNamespace(launch=None)
        ),  # another device's
        lambda kernel: setattr(kernel, "launcher", CudaLauncher(None, ["tiles of something"])),
    ],
)
def test_what_is_not_known_goes_the_way_of_triton(gpu, change):
    kernel, x = Kernel(), torch.zeros(8)
    change(kernel)
    run = prepare(kernel)
    for _ in range(3):
        run(x, x)
    assert kernel.ways() == ["compiled", "ordinarily", "ordinarily"]


@pytest.fixture
def described(gpu, monkeypatch):
    """Of each descriptor that the driver makes, its address, rows and swizzle."""
    made = []

    def make(address, swizzle, elem_size, elem_type, block_size, shape, strides, padding):
        made.append((address, shape[0], swizzle))
        return made[-1]

    gpu.utils = SimpleNamespace(fill_tma_descriptor_tiled=make, fill_tma_descriptor=make)
    return made


def metadata(swizzle):
    """As Triton has it for tiles of float16."""
    return {
        "swizzle": swizzle, "elem_size": 2, "elem_type": 6, "block_size": [64, 64],
        "fp4_padded": False,
    }  # fmt: skip


def test_descriptors_are_made_once_an_address(described):
    kernel = Kernel([metadata(1), metadata(2)], namedtuple("OneGiven", "x_ptr number"))
    tilings = tiling(torch.float16, 64, 64, 64), tiling(torch.float16, 128, 64, 64)
    run = prepare(kernel, tilings, (100, 200))
    x, y, z = torch.zeros(3, 8)
    run(x, y, x)
    assert [way for way, _ in kernel.started] == ["compiled"]
    assert not described
    for tensors in ((x, y, z), (x, y, z), (x, z, x), (z, y, x)):
        run(*tensors)
        first, second, pointer = (a.data_ptr() for a in tensors)
        maps = ((first, 100, 1), (second, 200, 2))
        shapes = (100, 64, 64, 1), (200, 128, 128, 1)
        expected = (maps[0], *shapes[0], maps[1], *shapes[1], (pointer, 0.5), None)
        assert kernel.started[-1][1][-len(expected) :] == expected
    assert len(described) == 4  # x and z as the first, y and z as the second
    prepare(kernel, tilings, (100, 300))(x, y, z)  # as many rows as before of the first
    assert described[4:] == [(y.data_ptr(), 300, 2)]


def test_not_all_descriptors_are_kept(described, monkeypatch):
    monkeypatch.setattr(triton_private, "MOST_DESCRIPTORS", 3)
    known = triton_private.Descriptors(tiling(torch.float16, 64, 64, 64), metadata(3))
    for address in range(0, 1600, 16):
        assert known[address, 100] == [(address, 100, 3), 100, 64, 64, 1]
        assert known[address, 100] is known[address, 100]
        assert len(known) <= 3
    assert len(described) == 100


def test_a_prepared_launch_keeps_no_tensor(described):
    kernel, x = Kernel([metadata(1)], namedtuple("OneGiven", "x_ptr number")), torch.zeros(8)
    run = prepare(kernel, (tiling(torch.float16, 64, 64, 64),), (8,))
    for _ in range(3):
        run(x, x)
    alive = weakref.ref(x)
    del x
    kernel.compiled_as.clear()
    assert kernel.ways() == ["compiled", "directly", "directly"]
    assert alive() is None


@pytest.mark.parametrize("hip, expected", [(None, (9, 0)), ("6.4", (0, 0))])
def test_another_makers_gpu_is_no_hopper(monkeypatch, hip, expected):
    """gfx90a reports the compute capability (9, 0)."""
    monkeypatch.setattr(torch.version, "hip", hip)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    assert capability.__wrapped__(torch.device("cuda", 0)) == expected


@pytest.mark.parametrize("major, expected", [(9, False), (10, True), (11, True), (12, False)])
def test_which_gpus_have_a_memory_for_large_products(monkeypatch, major, expected):
    monkeypatch.setattr(host_gpu, "capability", lambda device: (major, 0))
    assert host_gpu.has_tensor_memory(torch.device("cuda", 0)) is expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("K", [64, 128, 256])
@pytest.mark.parametrize("rule", [tile_rule, gradient_tiles])
def test_where_large_products_have_a_memory_of_their_own_nothing_is_loaded_ahead(rule, K, dtype):
    """Nor is an operand of a carried sum high enough for it, which Triton compiles wrongly."""
    tiles = rule(K, dtype, 64, tensor_memory=True)
    assert tiles["stages"] == 1 and tiles["BV"] < 64


def test_a_gpu_says_how_many_multiprocessors_it_has(monkeypatch):
    properties = SimpleNamespace(multi_processor_count=132)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    assert multiprocessors.__wrapped__(torch.device("cuda", 0)) == 132
    assert multiprocessors.__wrapped__(torch.device("cpu")) == 1


def test_of_sizes_that_come_once_nothing_is_kept(monkeypatch):
    found = []
    known = host_launch.Twice(lambda *sizes: found.append(sizes) or object())
    monkeypatch.setattr(known, "MOST", 3, raising=False)
    for n in range(10):
        known[n, n]
    assert not known and list(known.came) == [(7, 7), (8, 8), (9, 9)]
    again = known[9, 9]
    assert known[9, 9] is again and len(found) == 11
    for n in range(20, 24):
        known[n, n], known[n, n]
    assert list(known) == [(21, 21), (22, 22), (23, 23)]  # the oldest went
