"""A shipped layer whose weights are set by hand so that it tells the parity of bits.

All numbers on its way are powers of two or zero, so float32 makes no error at any length.
"""

import math

import torch
from torch.nn.functional import one_hot

from ..layers import GatedDeltaNet

LARGE = 1024.0  # silu of it is itself in float32, and its own length is exact
SURE = 200.0  # the sigmoid of it is 1 in float32, and of its negative 0


@torch.no_grad()
def parity_layer(reach=2):
    """One head with d_k = d_v = 1, on tokens `(1 - bit, bit)`; `reach` is the largest strength.

    Key, query and value do not depend on the bit, the strength does: 0 or `reach`. So a 1 takes the
    state S to `(1 - reach) S + reach v` (eq-empty-start with C = v).
    """
    layer = GatedDeltaNet(2, 1, 1, head_v_dim=1, conv_size=1, allow_neg_eigval=reach == 2)
    for weight in (layer.q_proj, layer.k_proj, layer.v_proj, layer.g_proj):
        weight.weight.fill_(LARGE)
    layer.conv1d.weight.fill_(1.0)
    layer.A_log.fill_(-math.inf)  # alpha = 1
    layer.b_proj.weight.copy_(torch.tensor([[-SURE, SURE]]))
    layer.o_proj.weight.fill_(1 / LARGE)
    return layer


@torch.no_grad()
def says_odd(layer, bits):
    """Whether the layer's output after each bit is closer to 1 than to 0: `[T]` booleans."""
    return layer(one_hot(bits, 2)[None].float())[0, :, 0] > 0.5
