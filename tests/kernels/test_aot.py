"""Every kernel compiles for Ampere, Hopper and Blackwell, and fits: no GPU needed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
pytestmark = pytest.mark.interpreter

SHARED_BYTES = {80: 166912, 90: 232448, 100: 232448}  # the most one block may have
TENSOR_MEMORY_COLUMNS = 512
# float32 operands take three tf32 products each, and spill; the 16-bit kernels hardly do, and
# of those made for Hopper the scan of 128 and 256 key dimensions alone, a few numbers, most of them
# in its short last chunk; the gradients of one chunk are more than registers hold. Half of a state
# of 256 key dimensions fills the registers of four warps, and eight would still be slower (H100).
# Where programs share a sequence, the loop over the silent chunks spills some numbers more.
SPILLED_BYTES = {80: 700, 90: 400, 100: 400}
SPILLED_BYTES_OF_WIDE_SCAN = {80: 960, 90: 650, 100: 540}
MORE_IN_SHARES = {80: 140, 90: 0, 100: 0}
SPILLED_BYTES_OF = {
    "hopper": 0,
    "recurrent": 64,
    "activations": 0,
    "backward": 1600,
    "hopper-backward": 150,
}


@pytest.fixture(scope="module", params=SHARED_BYTES)
def report(request):
    environment = {**os.environ}
    environment.pop("TRITON_INTERPRET", None)
    script = Path(__file__).parent / "aot.py"
    done = subprocess.run(
        [sys.executable, script, str(request.param)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return request.param, json.loads(done.stdout)


def test_every_kernel_fits_its_architecture(report):
    capability, kernels = report
    assert len(kernels) == (127 if capability == 90 else 63)
    for name, used in kernels.items():
        assert used["shared_bytes"] <= SHARED_BYTES[capability], name
        assert used["tensor_memory_columns"] <= TENSOR_MEMORY_COLUMNS, name
        assert used["registers"] > 16, f"{name}: compiled to nothing"


def test_products_on_hopper_do_not_wait_for_each_other(report):
    """With too few registers ptxas waits for each product before it starts the next (C7512)."""
    capability, kernels = report
    found = {name: used for name, used in kernels.items() if used["products"]}
    assert bool(found) == (capability == 90)
    for name, used in found.items():
        assert used["waits"] <= used["products"] / 2, name


def test_the_16_bit_kernels_hardly_spill(report):
    capability, kernels = report
    for name, used in kernels.items():
        if "float32" not in name:
            most = SPILLED_BYTES_OF.get(name.split()[1], SPILLED_BYTES[capability])
            if "hopper scan K=128" in name or "hopper scan K=256" in name:
                most = 110 if "K=256" in name and "shares" in name else 64
            elif "scan K=256" in name:
                most = SPILLED_BYTES_OF_WIDE_SCAN[capability]
                most += MORE_IN_SHARES[capability] * ("shares" in name)
            assert used["spilled_bytes"] <= most, name
