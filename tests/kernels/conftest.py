"""What the kernels' tests share."""

import pytest


@pytest.fixture(autouse=True)
def device_memory_goes_back(request):
    """To the device, which several workers share."""
    yield
    if request.node.get_closest_marker("gpu"):
        import torch

        torch.cuda.empty_cache()


@pytest.fixture
def unwritten_memory_is_nan():
    """An element that no program writes stays NaN, and no tolerance accepts it."""
    import torch

    torch.use_deterministic_algorithms(True, warn_only=True)  # on a device, sums only warn
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def in_pieces(monkeypatch):
    """`in_pieces(room)`: from now on batches are cut as on a device of `room` programs at a time.

    Returns a list to which each piece that is run adds its number of sequences.
    """

    from gdn_ref.kernels.backward import launches as kernels

    def start(room):
        found, run = [], kernels.Gradients.run

        def watched(gradients, sizes, *tensors):
            found.append(sizes.N)
            run(gradients, sizes, *tensors)

        monkeypatch.setattr("gdn_ref.prepared._remembered", {})  # what calls did before, in whole
        monkeypatch.setattr(kernels.Gradients, "run", watched)
        monkeypatch.setattr(kernels, "programs_at_once", lambda device, hopper: room)
        monkeypatch.setattr("gdn_ref.kernels.backward.pieces.LEAST_BYTES", 1)
        return found

    return start
