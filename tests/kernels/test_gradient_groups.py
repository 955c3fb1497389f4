"""A function of the kernels for Hopper by itself, on NumPy; `test_hopper.py` runs them whole."""

from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("triton")
pytestmark = pytest.mark.interpreter

from gdn_ref.kernels.backward.hopper.chunk_gradients import pairs  # noqa: E402

NUMPY = SimpleNamespace(sum=np.sum, where=np.where, convert_layout=lambda x, layout: x)


def on_numpy(kernel):
    """The function under `gluon.jit`, with NumPy's functions for Gluon's."""
    function = kernel.fn
    return FunctionType(function.__code__, {**function.__globals__, "gl": NUMPY})


@pytest.mark.parametrize("C", [1, 2, 16])
def test_crossings_are_the_sums_over_rectangles(C):
    rng = np.random.default_rng(0)
    J, a, b, old = (rng.normal(size=shape) for shape in ((C, C), C, C, C))
    J, t = np.tril(J, -1), np.arange(C)
    found = on_numpy(pairs.crossing_sums)(J, a + old, b + old, t, t)
    right = [J[r:, :r].sum() + a[r:].sum() + b[:r].sum() + old.sum() for r in t]
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-12)
