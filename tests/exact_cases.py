"""What the tests without a tolerance share: sequences, where and in what they run, and `same`."""

from functools import cache

import exact_data
import pytest
import torch

INTERPRETED = [
    pytest.param("cpu", dtype, marks=pytest.mark.interpreter)
    for dtype in (torch.float32, torch.float16)
]
COMPILED = [
    pytest.param("cuda", dtype, marks=pytest.mark.gpu)
    for dtype in (torch.float32, torch.float16, torch.bfloat16)
]
EVERYWHERE = pytest.mark.parametrize("device, dtype", INTERPRETED + COMPILED)
ONCE = pytest.mark.parametrize("device, dtype", INTERPRETED[:1] + COMPILED)
OF_16_BITS = pytest.mark.parametrize("device, dtype", INTERPRETED[1:] + COMPILED[1:])

CASES = {  # how many sequences are padded, or 0 for packed ones; and what is drawn
    "padded": (2, {"lengths": (19, 19), "H": 2, "HV": 4}),
    "packed": (0, {"lengths": (0, 1, 16, 0, 35), "K": 20, "V": 17}),
    "two chunks": (1, {"lengths": (75,), "K": 16, "V": 9, "seed": 1}),
    "delta rule": (1, {"lengths": (70,), "decays": False}),
    "wide": (1, {"lengths": (70,), "K": 100, "V": 24, "shift": 3}),
    "widest": (1, {"lengths": (40,), "HV": 1, "K": 256, "V": 18}),
    "tokens": (0, {"lengths": (1, 3, 0, 8), "H": 2, "HV": 4, "K": 20, "V": 10}),
    "64": (1, {"lengths": (140,), "K": 64, "V": 128, "seed": 1}),
    "128": (1, {"lengths": (192,), "K": 128, "V": 64}),
    "256": (1, {"lengths": (192,), "HV": 1, "K": 256, "V": 64}),
    "256 with a short chunk": (1, {"lengths": (150,), "HV": 1, "K": 256, "V": 64}),
    "group": (1, {"lengths": (128,), "H": 2, "HV": 6, "K": 64, "V": 64}),
    "packed for Hopper": (0, {"lengths": (0, 17, 128, 1, 64), "K": 64, "V": 64}),
    "no decay for Hopper": (1, {"lengths": (100,), "K": 64, "V": 64, "decays": False}),
    "segments": (1, {"lengths": (330,), "HV": 1, "K": 64, "V": 64, "seed": 9}),
    "segments of 128": (1, {"lengths": (330,), "HV": 1, "K": 128, "V": 64, "seed": 6}),
    # on a device
    "many chunks": (2, {"lengths": (640, 640), "H": 2, "HV": 4, "K": 128, "V": 64, "seed": 7}),
}
SMALL = ["padded", "packed", "two chunks", "delta rule", "wide", "widest"]
FOR_HOPPER = ["64", "128", "256", "group", "packed for Hopper", "no decay for Hopper"]


@cache
def case(name):
    """Sequences, and what the token loop makes of them."""
    x = exact_data.draw(**CASES[name][1])
    o_, last_, _ = exact_data.recurrence(x)
    return x, o_, last_, exact_data.derivatives(x)[0]


def same(found, exact, dtype):
    """`exact` is a float64 tensor that float32 holds: rounded once."""
    found, exact = found.detach().cpu(), exact.float().to(dtype)
    assert found.dtype == dtype and found.shape == exact.shape
    wrong = (found != exact).nonzero()
    assert not len(wrong), f"{len(wrong)} of {exact.numel()} differ, the first at {wrong[0]}"
