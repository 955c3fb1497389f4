"""Every kernel compiles for Ampere, Hopper and Blackwell, and fits: no GPU needed.

What a kernel uses is in a record, with a hash of what was compiled: one that is not the same any
more is compiled here. `aot.py` says how to bring the record up to date.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
pytestmark = pytest.mark.interpreter

DATA = Path(__file__).parents[2] / "book" / "_data" / "bench"
CAPABILITIES = (80, 86, 90, 100, 120)
KERNELS = {"forward": 24, "backward": 21, "others": 68, "convolution": 54}
KERNELS |= {"hopper": 61, "hopper-backward": 46}
RUNS = [(capability, family) for capability in CAPABILITIES for family in KERNELS
        if capability == 90 or "hopper" not in family]  # fmt: skip
# the most one program may have
SHARED_BYTES = {80: 166912, 86: 101376, 90: 232448, 100: 232448, 120: 101376}
TENSOR_MEMORY_COLUMNS = 512
# kernels on Hopper that start while the one before them ends: the scan, by length too, a step of
# the convolution, and of the rule for few sequences
EARLY = 4
# float32 operands take three tf32 products each, and spill; the 16-bit kernels hardly do, and
# of those made for Hopper the scan of 128 and 256 key dimensions alone, some numbers, outside of
# its loops (`loops.py`), and some thirty more where the longest of packed sequences is taken first;
# the gradients of one chunk are more than registers hold. Half of a state of 256 key dimensions
# fills the registers of four warps, and eight would still be slower (H100).
# Where programs share a sequence, the loop over the silent chunks spills some numbers more.
SPILLED_BYTES = {80: 700, 86: 700, 90: 400, 100: 400, 120: 740}
SPILLED_BYTES_OF_WIDE_SCAN = {80: 960, 86: 960, 90: 650, 100: 540, 120: 960}
MORE_IN_SHARES = {80: 140, 86: 140, 90: 0, 100: 0, 120: 140}
SPILLED_BYTES_OF = {
    "hopper": 0,
    "recurrent": 64,
    "activations": 0,
    "correct": 112,
    "backward": 1600,
    "convolution": 16,
    "hopper-backward": 150,
}


def compiled(*arguments, program="aot.py"):
    environment = {**os.environ}
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, Path(__file__).parent / program, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("capability, family", RUNS)
def test_every_kernel_fits_its_architecture(capability, family):
    kernels = compiled(capability, family)
    assert len(kernels) == KERNELS[family]
    with_products = any(used["products"] for used in kernels.values())
    assert with_products == family.startswith("hopper")
    for name, used in kernels.items():
        assert used["tensor_memory_columns"] <= TENSOR_MEMORY_COLUMNS, name
        if "first K=256" not in name:  # which is there to be read
            assert used["shared_bytes"] <= SHARED_BYTES[capability], name
        assert used["registers"] > 16, f"{name}: compiled to nothing"
        # with too few registers ptxas waits for each product before it starts the next (C7512)
        assert used["waits"] <= used["products"] / 2, name
        if family == "convolution":
            assert used["registers"] <= 160 and used["shared_bytes"] <= 16384, name
        # where products have a memory of their own, those that carry a state leave it alone
        walks = family == "backward" or "float32" in name
        assert not (capability == 100 and walks and used["tensor_memory_columns"]), name
        if family == "convolution" or not ("float32" in name or "first" in name):
            most = SPILLED_BYTES_OF.get(name.split()[1], SPILLED_BYTES[capability])
            if "hopper scan K=128" in name or "hopper scan K=256" in name:
                most = 184 if "by length" in name else 110 if "K=256" in name else 64
            elif "hopper fused" in name:
                most = 64
            elif "scan K=256" in name:
                most = SPILLED_BYTES_OF_WIDE_SCAN[capability]
                most += MORE_IN_SHARES[capability] * ("shares" in name)
            more = 32 if capability == 120 and family == "others" else 0
            more += 8 * (capability == 120 and "recurrent K=256 V=256" in name and "bf16" in name)
            assert used["spilled_bytes"] <= most + more, name


def test_loops_of_the_scan_do_not_spill():
    """But the one of the scores two numbers, and that of 256 key dimensions in shares eleven."""
    for name, loops in compiled(program="loops.py").items():
        assert len(loops) == 2 + ("shares" in name), name
        K = int(re.search(r"K=(\d+)", name)[1])
        most = 11 if K == 256 and "shares" in name else 0
        for products, spills in loops:
            assert spills <= (2 if products == K // 16 else most), (name, products)


def test_kernels_that_start_early_wait_before_all_else():
    """They wait before they touch memory, and only then let the next one start.

    So who waits for one of them waits for all before it. The scan for Hopper may read offsets
    first, the only numbers of 64 bits: the transform before it, which lets it go, has itself waited
    for who wrote them, as all do that are started ordinarily.
    """
    early = set()
    for name, order in compiled(program="early.py").items():
        scan, capability = "chunk_scan_hopper" in name, int(name.split()[0].removeprefix("sm_"))
        assert order["waits"] == (scan or "early" in name), name
        if order["waits"]:
            early.add(name)
            assert not any(order["lets go"]), name
            assert all(scan and "!tt.ptr<i64>" in line for line in order["before"]), name
        elif order["lets go"]:
            assert name == "sm_90 ut_transform_16bit_kernel, Hopper"
        assert capability >= 90 or not (order["waits"] or order["lets go"]), name
    assert sum(name.startswith("sm_90") for name in early) == EARLY


def test_instructions_by_line_are_those_of_the_record():
    """Kernels of the same key have the same code; `python tests/kernels/sass.py --record`."""
    record = json.loads((DATA / "solve_sass.json").read_text())
    assert compiled(program="sass.py")["kernels"] == record["kernels"]
