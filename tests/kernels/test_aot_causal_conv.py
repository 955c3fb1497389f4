"""The convolution's kernels compile for Ampere, Hopper and Blackwell, and hardly spill."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
pytestmark = pytest.mark.interpreter


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_every_kernel_fits_its_architecture(capability):
    environment = {**os.environ}
    environment.pop("TRITON_INTERPRET", None)
    script = Path(__file__).parent / "aot_causal_conv.py"
    done = subprocess.run(
        [sys.executable, script, str(capability)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    kernels = json.loads(done.stdout)
    assert len(kernels) == 54  # six variants, three dtypes, three widths
    for name, used in kernels.items():
        assert used["spilled_bytes"] <= 16, name
        assert 16 < used["registers"] <= 160, name
        assert used["shared_bytes"] <= 16384, name
