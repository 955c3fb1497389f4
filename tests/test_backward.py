"""The gradients by hand against autograd of the token loop, and what breaks them."""

import math

import numpy as np
import pytest
import torch
from tolerances import assert_close, relative_error

from gdn_ref import backward, gated_delta_rule
from gdn_ref.proofs.ch12_mutants import MUTANTS, NAMES, mutated
from gdn_ref.proofs.data import hard_inputs

TIGHT = 1e-10


def problem(T=50, d_k=12, d_v=7, batch=(2,), reset_at=None, seed=0):
    """Tensors in float64, and random gradients of the outputs and of the last state."""
    tensors = [torch.from_numpy(x) for x in hard_inputs(T, d_k, d_v, batch, seed=seed)]
    if reset_at is not None:
        tensors[3][..., reset_at] = -math.inf
    generator = torch.Generator().manual_seed(seed)
    dO = torch.randn(tensors[2].shape, generator=generator, dtype=torch.float64)
    dS = torch.randn(tensors[5].shape, generator=generator, dtype=torch.float64)
    return tensors, dO, dS


def by_autograd(tensors, dO, dS):
    leaves = [x.clone().requires_grad_() for x in tensors]
    O, last = gated_delta_rule.recurrent(*leaves)
    torch.autograd.backward([O, last], [dO, dS])
    return [x.grad for x in leaves]


@pytest.mark.parametrize("chunk_size", [1, 7, 16, 64])
@pytest.mark.parametrize("reset_at", [None, 0, 20, 49])
def test_autograd_of_the_token_loop(chunk_size, reset_at):
    tensors, dO, dS = problem(reset_at=reset_at)
    found = backward.gradients(*tensors, dO, dS, chunk_size)
    for name, x, right in zip(NAMES, found, by_autograd(tensors, dO, dS), strict=True):
        if name == "g" and reset_at is not None:
            right = torch.nan_to_num(right)
        assert_close(x, right, TIGHT)


@pytest.mark.parametrize("missing", ["dO", "dS", "S"])
def test_what_is_left_out_is_zero(missing):
    tensors, dO, dS = problem()
    given = {"S": tensors[5], "dO": dO, "dS": dS}
    filled = {name: torch.zeros_like(x) if name == missing else x for name, x in given.items()}
    del given[missing]
    found = backward.gradients(*tensors[:5], **given, chunk_size=16)
    expected = by_autograd([*tensors[:5], filled["S"]], filled["dO"], filled["dS"])
    for x, right in zip(found, expected, strict=True):
        torch.testing.assert_close(x, right, rtol=1e-9, atol=1e-10)


def test_from_an_empty_state_the_first_decay_has_no_gradient():
    tensors, dO, dS = problem()
    dg = backward.gradients(*tensors[:5], None, dO, dS, chunk_size=16)[3]
    assert dg[..., 0].abs().max() < 1e-12 < dg[..., 1].abs().min()


def test_without_write_strength_the_gradient_of_beta_is_right():
    tensors, dO, dS = problem()
    tensors[4] = torch.zeros_like(tensors[4])
    found = backward.gradients(*tensors, dO, dS, 16)
    assert_close(found[4], by_autograd(tensors, dO, dS)[4], TIGHT)


def test_as_many_of_each_as_there_are_tokens():
    q, k, v, g, beta, S = hard_inputs(T=50)
    with pytest.raises(ValueError, match=r"^tokens: .* same T, got shapes .* \(1,\), \(50,\)$"):
        backward.gradients(q, k, v, g[:1], beta, S, v, None)


def test_a_state_of_another_shape_is_refused():
    tensors, dO, dS = problem()
    with pytest.raises(ValueError, match=r"^S: expected \[\.\.\., d_v, d_k\] = \[\.\.\., 7, 12\]"):
        backward.gradients(*tensors[:5], tensors[5].mT, dO, dS)
    with pytest.raises(ValueError, match="^dS: expected .*, got shape .*2, 1, 12"):
        backward.gradients(*tensors, dO, dS[..., :1, :])


def test_numpy_and_no_tokens():
    tensors, dO, dS = problem()
    arrays = [x.numpy() for x in (*tensors, dO, dS)]
    for x, right in zip(
        backward.gradients(*arrays, 16), backward.gradients(*tensors, dO, dS, 16), strict=True
    ):
        np.testing.assert_allclose(x, right.numpy(), rtol=1e-9, atol=1e-12)
    empty = [x[:, :0] for x in arrays[:5]]
    *tokens, dS_0 = backward.gradients(*empty, arrays[5], arrays[6][:, :0], arrays[7])
    assert [x.shape for x in tokens] == [x.shape for x in empty]
    np.testing.assert_array_equal(dS_0, arrays[7])
    for size in (0, 2.5, None):
        with pytest.raises(ValueError, match=f"^chunk_size: .* at least 1, got {size}$"):
            backward.gradients(*arrays[:5], chunk_size=size)


def wrong_by(name, tensors, dO, dS):
    """The relative error of each gradient under a mutant."""
    found = mutated(name)(*tensors, dO, dS, 16)
    expected = by_autograd(tensors, dO, dS)
    return {n: relative_error(x, y) for n, x, y in zip(NAMES, found, expected, strict=True)}


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_shows(name):
    errors = wrong_by(name, *problem())
    assert max(errors.values()) > 1e-3, errors


@pytest.mark.parametrize(
    "name, hidden", [("scores' gradient strict", "g"), ("overlap's gradient inclusive", "g")]
)
def test_two_mutants_leave_the_gradient_of_the_decay_right(name, hidden):
    # the diagonal enters reading and being read alike, and dg is their difference
    errors = wrong_by(name, *problem())
    assert errors[hidden] < TIGHT < errors["k"]


def test_gradcheck():
    tensors, *_ = problem(T=7, d_k=3, d_v=2, batch=())

    class ByHand(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return gated_delta_rule.chunkwise(*inputs, chunk_size=3)

        @staticmethod
        def backward(ctx, dO, dS):
            return backward.gradients(*ctx.saved_tensors, dO, dS, 3)

    assert torch.autograd.gradcheck(ByHand.apply, [x.requires_grad_() for x in tensors])
