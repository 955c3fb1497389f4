"""What the kernels' tests share."""

import pytest
from fences import around_everything


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
def fenced(monkeypatch):
    """Whatever the kernels allocate lies between fences, which nothing may write to."""
    fences = around_everything(monkeypatch)
    yield fences
    monkeypatch.undo()
    fences.check()


@pytest.fixture
def spans(monkeypatch):
    """For how many chunks a state is kept, in each backward pass on Hopper."""
    from gdn_ref.kernels.backward.hopper.launches import HopperStates

    found, launch = [], HopperStates.__call__

    def noting(states, *given):
        found.append(states.span)
        launch(states, *given)

    monkeypatch.setattr(HopperStates, "__call__", noting)
    return found


@pytest.fixture
def backward_runs(monkeypatch):
    """A list to which every piece of a backward pass that is run adds `(gradients, sizes)`.

    Pieces of which a device only compiles the kernels (`side_by_side`) are not in it.
    """
    from gdn_ref.kernels.backward.launches import Gradients
    from gdn_ref.kernels.host.launch import compiling

    found, run = [], Gradients.run

    def watched(gradients, sizes, *tensors):
        if not compiling():
            found.append((gradients, sizes))
        run(gradients, sizes, *tensors)

    monkeypatch.setattr("gdn_ref.prepared._remembered", {})  # what calls did before
    monkeypatch.setattr(Gradients, "run", watched)
    return found


@pytest.fixture
def in_pieces(monkeypatch, backward_runs):
    """`in_pieces(room)`: from now on batches are cut as on a device of `room` programs at a time.

    Returns a function that says how many sequences each piece had that was run since.
    """

    from gdn_ref.kernels.backward import launches as kernels

    def start(room):
        backward_runs.clear()
        monkeypatch.setattr("gdn_ref.prepared._remembered", {})
        monkeypatch.setattr(kernels, "programs_at_once", lambda device, hopper: room)
        monkeypatch.setattr("gdn_ref.kernels.backward.pieces.LEAST_BYTES", 1)
        return lambda: [sizes.N for _, sizes in backward_runs]

    return start
