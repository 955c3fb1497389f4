"""Uses of the public functions that are mistakes: a checker of types finds each, on its line."""

import numpy as np
import torch

import gdn_ref
from gdn_ref import (
    GatedDeltaNet,
    GatedDeltaNetCache,
    causal_conv1d,
    chunk_gated_delta_rule,
    decode,
    distributed,
    fused_recurrent_gated_delta_rule,
    gated_delta_rule,
    layer_weights,
    precompile,
)
from gdn_ref.integrations.transformers import use_gdn_ref


def mistakes(x: torch.Tensor, layer: GatedDeltaNet, a: np.ndarray) -> None:
    # names and keywords
    gdn_ref.chunk_gated_delta(x, x, x, x, x)  # wrong: no such name
    chunk_gated_delta_rule(x, x, x, x, x, head_first=True)  # wrong: no such option
    chunk_gated_delta_rule(x, x, x, x)  # wrong: without beta
    fused_recurrent_gated_delta_rule(x, x, x, x, beta=x, cp_context=x)  # wrong: the chunk form's
    decode(x, x, x, x, x, x, x, initial_state=x)  # wrong: the pool has the state

    # what is passed
    chunk_gated_delta_rule(a, x, x, x, x)  # wrong: an array of NumPy
    chunk_gated_delta_rule(x, x, x, x, None)  # wrong: beta may not be None
    chunk_gated_delta_rule(x, x, x, x, x, "0.5")  # wrong: a scale in quotes
    chunk_gated_delta_rule(x, x, x, x, x, backend="cuda")  # wrong: no such backend
    chunk_gated_delta_rule(x, x, x, x, x, cu_seqlens=[0, 4])  # wrong: offsets in a list
    chunk_gated_delta_rule(x, x, x, x, x, chunk_size=64.0)  # wrong: half a token
    causal_conv1d(x, x, activation="gelu")  # wrong: no such activation
    decode(x, x, x, x, x, x, 5)  # wrong: slots are a tensor
    layer(x, {"conv_state": x})  # wrong: a cache of another library
    layer(x, cache=GatedDeltaNetCache(), mask=x)  # wrong: it is called attention_mask
    GatedDeltaNet(64, 2)  # wrong: without the size of a head
    GatedDeltaNet(64, 2, 16, dtype="float32")  # wrong: a dtype in quotes
    GatedDeltaNetCache(1, 2)  # wrong: states are tensors
    layer_weights.from_qwen3_next(layer.state_dict())  # wrong: how many heads?
    layer_weights.to_fla(layer)  # wrong: a layer, not its weights
    gated_delta_rule.chunkwise([[1.0]], a, a, a, a)  # wrong: lists have no shape
    gated_delta_rule.chunkwise(a, a, a, a, a, chunk_size="64")  # wrong: a number in quotes
    distributed.build_cp_context(x, layout="striped")  # wrong: no such layout
    use_gdn_ref("Qwen/Qwen3-Next-80B-A3B-Instruct")  # wrong: a name, not a model
    precompile(chunk_gated_delta_rule, x, x, x, x)  # wrong: without beta

    # what comes back
    _o, _S, _g = chunk_gated_delta_rule(x, x, x, x, x)  # wrong: two results
    chunk_gated_delta_rule(x, x, x, x, x).mean()  # wrong: a tuple
    decode(x, x, x, x, x, x, x)[0].numpy_array()  # wrong: no method of a tensor
    a = gated_delta_rule.step(x, x, x, x, x, x)[0]  # wrong: torch in, torch out
    print(layer(x).shapes)  # wrong: no attribute of a tensor
