"""`response` by the kernels of `kernels.shards`: the same numbers, in few launches.

The host needs as long for a call of PyTorch as the device for its work, and both ranks' devices
wait for it. So the device finds the bounds, and the host reads from them only how many blocks there
are; each kernel finds for itself which tokens a block has.
"""

from dataclasses import dataclass, replace

import torch

from . import felt, response
from .local import common_dtype, run
from .response import one_and_zero, plain, whole_blocks

BLOCK = 256  # tokens of which one bound is computed, as `felt.BLOCK`


@dataclass
class Launched:
    """A `Response`; `spans` is what the kernels are told of its blocks."""

    tokens: list
    O_F: torch.Tensor
    F: torch.Tensor
    felt: torch.Tensor
    spans: object

    @property
    def tensors(self):
        return self.O_F, self.F, self.felt

    def holding(self, O_F, F, felt):
        """This one with these tensors in the place of its own."""
        return replace(self, O_F=O_F, F=F, felt=felt)

    def correct(self, o, S):
        """Add O_F S^T to the outputs, [1, T, HV, V], in place; S is [pieces, HV, V, K]."""
        from ..kernels.shards.outputs import correct

        correct(o, self.O_F, S, self.felt, self.spans)

    def product(self, do, dtype):
        """dO^T O_F, [pieces HV, V, K], added up in float32."""
        from ..kernels.shards.outputs import product

        return product(do.contiguous(), self.O_F, self.felt, self.spans)


class Bounds:
    """How far into the pieces that a state enters it is felt: `felt.Bounds`, on the device.

    g, beta : log-decays, or None, and strengths, as the recurrence has them, in one piece
    felt : [pieces, HV], int32: the tokens to be answered for, by value head
    """

    def __init__(self, options, tokens, gate, cp, dtype):
        from ..kernels.shards.bounds import answered

        _, k, v, g, beta = tokens
        g, beta = felt.active(options, g, beta, gate, dtype)
        step = beta if options["use_qk_l2norm_in_kernel"] else felt.steps(k, beta, dtype)
        self.g, self.beta, step = (None if x is None else x.contiguous() for x in (g, beta, step))
        self.places = cp.places("entered", v.device)
        longest = max(p.end - p.begin for p in cp.entered)
        least = [felt.LEAST * torch.finfo(x).eps for x in (dtype, v.dtype)]
        self.felt = answered(self.g, step, self.places, longest, least, BLOCK)


def respond(options, tokens, bounds, dtype):
    """The response of the pieces that a state enters, as `response.respond`."""
    from ..kernels.shards.blocks import Spans, take
    from ..kernels.shards.maps import compose

    q, k, v, *_ = tokens
    K, HV, norm = k.shape[3], v.shape[2], options["use_qk_l2norm_in_kernel"]
    counts = bounds.felt.tolist()  # the one wait of the host
    L = response.block_length(max(map(max, counts)))
    blocks = sum(whole_blocks(n, L) for ns in counts for n in ns)
    spans = Spans(bounds.places, HV, L, blocks)

    given = (q, k, bounds.g, bounds.beta, bounds.felt)
    q, k, g, beta = take(*given, spans, norm, common_dtype(tokens))
    ones = one_and_zero(K, dtype, v.device)[0].repeat(blocks, 1, 1, 1)
    zeros = v.new_zeros(blocks, L, 1, K)
    O_F, F = run(plain(options, norm=False), (q, k, zeros, g, beta), {}, ones, None)
    before, F = compose(F, bounds.felt, spans, O_F.dtype)
    O_F = torch.bmm(O_F.squeeze(2), before.mT)
    return Launched(counts, O_F, F, bounds.felt, spans)
