"""Typical uses of the public functions: a checker of types finds no mistake, and they run."""

import numpy as np
import torch

import gdn_ref
from gdn_ref import (
    GatedDeltaNet,
    GatedDeltaNetCache,
    causal_conv1d,
    causal_conv1d_update,
    chunk_gated_delta_rule,
    decode,
    family,
    fused_recurrent_gated_delta_rule,
    gated_delta_rule,
    layer_weights,
)
from gdn_ref.types import Backend

B, T, H, K, V = 1, 4, 2, 16, 8


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    q, k = torch.randn(2, B, T, H, K).unbind()
    return q, k, torch.randn(B, T, H, V), -torch.rand(B, T, H), torch.rand(B, T, H)


def whole_sequences() -> torch.Tensor:
    q, k, v, g, beta = inputs()
    o, S = chunk_gated_delta_rule(q, k, v, g, beta, output_final_state=True)
    o, S = chunk_gated_delta_rule(q, k, v, None, beta, 0.5, S, use_qk_l2norm_in_kernel=True)
    offsets = torch.tensor([0, 1, T])
    o, S = gdn_ref.chunk_gated_delta_rule(
        q, k, v, g, beta, cu_seqlens=offsets, output_final_state=True, backend="reference"
    )
    assert S.shape == (2, H, K, V)
    o, _ = fused_recurrent_gated_delta_rule(q, k, v, g=g, beta=beta, initial_state=S[:1])
    o, _ = fused_recurrent_gated_delta_rule(q, k, v, gk=torch.zeros(B, T, H, K), beta=beta)
    return o.float().mean()


def a_choice_of_backend(name: Backend) -> torch.Tensor:
    q, k, v, g, beta = inputs()
    return chunk_gated_delta_rule(q, k, v, g, beta, backend=name)[0]


def from_a_pool() -> torch.Tensor:
    q, k, v, g, beta = inputs()
    pool, slots = torch.zeros(8, H, K, V), torch.tensor([5])
    o: torch.Tensor = decode(q, k, v, g, beta, pool, slots, scale=1)
    return decode(q, k, v, None, beta, pool, None, backend="auto") + o


def convolved() -> torch.Tensor:
    x, weight = torch.randn(B, T, 6), torch.randn(6, 4)
    y, state = causal_conv1d(x, weight, output_final_state=True, activation=None)
    y = causal_conv1d_update(x, state, weight, torch.zeros(6), activation="silu")
    return y.sum()


def in_a_model() -> torch.Tensor:
    layer = GatedDeltaNet(64, 2, 16, num_v_heads=4, conv_bias=True, device="cpu")
    cache = GatedDeltaNetCache()
    with torch.no_grad():
        y = layer(torch.randn(2, 3, 64), cache)
    cache.reorder(torch.tensor([1, 0]))
    if cache.recurrent_state is not None:
        y = y + cache.recurrent_state.sum()
    theirs: dict[str, torch.Tensor] = layer_weights.to_fla(layer.state_dict())
    layer.load_state_dict(layer_weights.from_fla(theirs))
    return y.relu()


def with_numpy() -> float:
    q = k = np.eye(3)
    O, S = gated_delta_rule.chunkwise(q, k, np.ones((3, 2)), np.zeros(3), np.ones(3), chunk_size=2)
    O, S = gated_delta_rule.recurrent(q, k, O, np.zeros(3), np.ones(3), S)
    dq, *_ = gdn_ref.backward.gradients(q, k, O, np.zeros(3), np.ones(3), dO=O)
    gamma, Gamma = gdn_ref.chunking.decay(np.zeros(3))
    maps = [gdn_ref.affine.chunk_map(k, O, np.zeros(3), np.ones(3))]
    S = gdn_ref.affine.apply(gdn_ref.affine.scan(maps)[-1], S)
    return float(O.sum() + S.sum() + dq.sum() + gamma[0] + Gamma[0, 0])


def with_torch() -> torch.Tensor:
    q = k = v = torch.eye(3)
    O, S = gated_delta_rule.step(torch.zeros(3, 3), q[0], k[0], v[0], q[0, 1], q[0, 0])
    O, S = family.kda.published(q, k, v, torch.zeros(3, 3), torch.ones(3))
    O, S = family.general_rule.chunkwise(*family.deltanet.general(q, k, v, torch.ones(3)), S)
    return O.mT.relu()


def across_ranks(x: torch.Tensor, layer: GatedDeltaNet) -> torch.Tensor:
    from gdn_ref import distributed

    cp = distributed.build_cp_context(torch.tensor([0, 100]), layout="zigzag", timeout_s=60)
    with distributed.sharded(cp) as same:
        return layer(same.shard(x), cp_context=cp)


def in_transformers(model: GatedDeltaNet) -> torch.Tensor:
    from gdn_ref.integrations.transformers import remove_gdn_ref, use_gdn_ref

    with use_gdn_ref(model, backend="reference") as swapped:
        y = swapped.o_norm.weight
    remove_gdn_ref(model)
    return y


def ahead_of_time(q: torch.Tensor) -> None:
    beta = q[..., 0]
    gdn_ref.precompile(chunk_gated_delta_rule, q, q, q, None, beta, output_final_state=True)


ON_ANY_MACHINE = (whole_sequences, from_a_pool, convolved, in_a_model, with_numpy, with_torch)
