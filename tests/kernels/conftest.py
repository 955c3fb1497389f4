"""What the kernels' tests share."""

import pytest


@pytest.fixture
def unwritten_memory_is_nan():
    """An element that no program writes stays NaN, and no tolerance accepts it."""
    import torch

    torch.use_deterministic_algorithms(True, warn_only=True)  # on a device, sums only warn
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(False)
