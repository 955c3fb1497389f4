"""The rows of book/notation.md about gdn_ref. The rows about others: test_crosswalk.py."""

import inspect
import math

import numpy as np
import pytest
import torch
from tolerances import assert_close

from gdn_ref import (
    chunk_gated_delta_rule,
    chunking,
    fused_recurrent_gated_delta_rule,
    gated_delta_rule,
    scalar_decay,
)
from gdn_ref.proofs.data import hard_inputs


def inputs(heads=2, key_heads=2):
    """float64 tensors in the ecosystem's layout, and the state `[N, HV, K, V]`."""
    q, k, v, g, beta, S = (torch.from_numpy(x) for x in hard_inputs(batch=(1, heads)))
    q, k, v, g, beta = (x.transpose(1, 2) for x in (q, k, v, g, beta))
    return q[:, :, :key_heads], k[:, :, :key_heads], v, g, beta, S.mT


# Conventions and symbols


def test_the_three_token_example():
    gamma, Gamma = chunking.decay(np.log([0.9, 0.8, 0.5]))
    np.testing.assert_allclose(gamma, [0.9, 0.72, 0.36], rtol=1e-14)
    np.testing.assert_allclose(Gamma, [[1, 0, 0], [0.8, 1, 0], [0.4, 0.5, 1]], rtol=1e-14)


def test_the_last_row_of_Gamma_decays_to_the_end_of_the_chunk():
    g = np.log([0.9, 0.8, 0.5])
    _, Gamma = chunking.decay(g)
    np.testing.assert_allclose(Gamma[-1], np.exp(np.cumsum(g)[-1] - np.cumsum(g)), rtol=1e-14)


def test_logs_are_natural():
    S, zero = np.ones((3, 2)), np.zeros(2)
    _, halved = scalar_decay.step(S, zero, zero, np.zeros(3), np.asarray(math.log(0.5)))
    np.testing.assert_allclose(halved, S / 2, rtol=1e-15)


def test_a_read_is_the_state_times_the_key():
    q, k, v, g, beta, S = (x[0] for x in hard_inputs(batch=(1,)))
    o, after = gated_delta_rule.step(S, k[0], k[0], v[0], np.float64(0.0), np.float64(1.0))
    assert after.shape == (v.shape[-1], k.shape[-1])
    np.testing.assert_allclose(o, v[0], rtol=1e-12)  # beta = 1 and a unit key: what was written


def test_the_reference_modules_do_not_normalise():
    q, k, v, g, beta, S = hard_inputs()
    O, _ = gated_delta_rule.chunkwise(q, k, v, g, beta, S)
    with pytest.raises(AssertionError):
        assert_close(gated_delta_rule.chunkwise(q, 0.5 * k, v, g, beta, S)[0], O, 1e-3)


# Two layouts


@pytest.mark.parametrize("state_v_first", [False, True])
def test_from_the_ecosystems_layout_to_the_papers(state_v_first):
    q, k, v, g, beta, initial_state = inputs()
    o, final_state = chunk_gated_delta_rule(
        q, k, v, g, beta, scale=0.3, output_final_state=True, state_v_first=state_v_first,
        initial_state=initial_state.mT if state_v_first else initial_state,
    )  # fmt: skip
    scale, S = 0.3, initial_state.transpose(-1, -2)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    g, beta = (x.transpose(1, 2) for x in (g, beta))
    O, S = gated_delta_rule.chunkwise(scale * q, k, v, g, beta, S)
    assert_close(o, O.transpose(1, 2))
    assert_close(final_state, S if state_v_first else S.transpose(-1, -2))


def test_value_head_h_uses_key_head_h_div_group():
    q, k, v, g, beta, S = inputs(heads=6, key_heads=3)
    o, _ = chunk_gated_delta_rule(q, k, v, g, beta, initial_state=S)
    for h in range(6):
        own, shared = slice(h, h + 1), slice(h // 2, h // 2 + 1)
        alone, _ = chunk_gated_delta_rule(
            q[:, :, shared], k[:, :, shared], v[:, :, own], g[:, :, own], beta[:, :, own],
            initial_state=S[:, own],
        )  # fmt: skip
        assert_close(o[:, :, own], alone)


# The crosswalk: gdn_ref


def test_default_scale():
    q, k, v, g, beta, S = inputs()
    o, _ = chunk_gated_delta_rule(q, k, v, g, beta, initial_state=S)
    given, _ = chunk_gated_delta_rule(q, k, v, g, beta, k.shape[-1] ** -0.5, S)
    assert_close(o, given)


def test_the_gate():
    q, k, v, a, beta, S = inputs()
    A_log, dt_bias = torch.tensor([0.5, -1.0]).double(), torch.tensor([0.1, 0.3]).double()
    o, _ = chunk_gated_delta_rule(
        q, k, v, a, beta, initial_state=S, use_gate_in_kernel=True, A_log=A_log, dt_bias=dt_bias
    )
    g = -A_log.exp() * torch.log1p(torch.exp(a + dt_bias))
    assert_close(o, chunk_gated_delta_rule(q, k, v, g, beta, initial_state=S)[0])


def test_decays_of_channels():
    q, k, v, g, beta, S = inputs()
    decays = {
        "gk": 2 * g[..., None] * torch.rand(k.shape),
        "gv": g[..., None] * torch.rand(v.shape),
    }
    first = {"q": q[:, :1], "k": k[:, :1], "v": v[:, :1], "g": g[:, :1], "beta": beta[:, :1]}
    o, _ = fused_recurrent_gated_delta_rule(
        **first, **{name: x[:, :1] for name, x in decays.items()}, initial_state=S
    )
    gk, gv = (torch.exp(decays[name][:, 0]) for name in ("gk", "gv"))
    S = gk[..., None] * S * gv[..., None, :]
    assert_close(o, fused_recurrent_gated_delta_rule(**first, initial_state=S)[0])
    with pytest.raises(TypeError, match="^g: expected"):
        fused_recurrent_gated_delta_rule(q, k, v, beta=beta)
    fused_recurrent_gated_delta_rule(q, k, v, beta=beta, **decays)


def test_the_write_strength():
    q, k, v, g, b, S = inputs()
    for factor, more in ((1, {}), (2, {"allow_neg_eigval": True})):
        o, _ = chunk_gated_delta_rule(
            q, k, v, g, b, initial_state=S, use_beta_sigmoid_in_kernel=True, **more
        )
        beta = factor / (1 + torch.exp(-b))
        assert_close(o, chunk_gated_delta_rule(q, k, v, g, beta, initial_state=S)[0])
    with pytest.raises(ValueError, match="allow_neg_eigval"):
        chunk_gated_delta_rule(q, k, v, g, b, allow_neg_eigval=True)


def test_the_small_number_is_added_to_the_sum_of_squares():
    q, k, v, g, beta, S = inputs()
    q, k = 1e-3 * q, 1e-3 * k  # so small that its place shows
    o, _ = chunk_gated_delta_rule(q, k, v, g, beta, initial_state=S, use_qk_l2norm_in_kernel=True)
    q, k = (x / torch.sqrt((x * x).sum(-1, keepdim=True) + 1e-6) for x in (q, k))
    assert_close(o, chunk_gated_delta_rule(q, k, v, g, beta, initial_state=S)[0])


def test_types_of_results():
    q, k, v, g, beta, S = inputs()
    for dtype, state in ((torch.bfloat16, torch.float32), (torch.float64, torch.float64)):
        o, final_state = chunk_gated_delta_rule(
            q.to(dtype), k.to(dtype), v.to(dtype), g, beta, output_final_state=True
        )
        assert (o.dtype, final_state.dtype) == (dtype, state)


def test_order_of_arguments():
    chunk, recurrent = (
        inspect.signature(f).parameters
        for f in (chunk_gated_delta_rule, fused_recurrent_gated_delta_rule)
    )
    assert list(chunk)[:5] == ["q", "k", "v", "g", "beta"]
    by_position = [p.name for p in recurrent.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert by_position[:7] == ["q", "k", "v", "g", "gk", "gv", "beta"]
    q, k, v, g, beta, _ = inputs()
    with pytest.raises(TypeError, match="beta: expected"):
        fused_recurrent_gated_delta_rule(q, k, v, g, beta)
    with pytest.raises(TypeError, match="head_first"):
        chunk_gated_delta_rule(q, k, v, g, beta, head_first=True)
