"""What chapter 9 measures: the numbers that autograd keeps, and the errors of short arithmetic."""

import numpy as np
import torch

from .. import delta_rule, wy
from ..chunking import causal_mask, scan_chunks, transpose
from ..proofs.data import hard_inputs, relative_error


def kept_for_backward(form, T=512, d=128, **options):
    """Numbers a token that autograd keeps for the backward pass of `form`, inputs included.

    Tensors that share their storage are counted once.
    """
    kept = {}

    def note(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
        return tensor

    torch.manual_seed(9)
    q, k, v = torch.randn(3, T, d).unbind()
    inputs = [x.clone().requires_grad_() for x in (q, k / d**0.5, v, torch.rand(T))]
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        outputs = form(*inputs, **options)
    assert outputs[0].requires_grad  # the graph, and with it every storage, is alive until here
    return sum(kept.values()) / T


def rounded_inverse(S, q, k, v, beta):
    """The chunk form of a kernel that keeps its inverse in bfloat16 and all else in float32."""
    inverse = wy.solve(wy.interaction(k, beta), np.eye(len(k), dtype=k.dtype))
    inverse = torch.from_numpy(inverse).bfloat16().float().numpy()
    E = inverse @ (beta[:, None] * (v - k @ transpose(S)))
    O = q @ transpose(S) + (causal_mask(q) * (q @ transpose(k))) @ E
    return O, S + transpose(E) @ k


def precision(cosine, beta, T=512, d=64):
    """Relative errors of the outputs: loop and chunks in float32, chunks with a rounded inverse."""
    q, k, v, _, _, S = hard_inputs(T, d, d, cosine=cosine)
    strengths = np.full(T, beta)
    right = delta_rule.recurrent(q, k, v, strengths, S)[0]
    single = [x.astype(np.float32) for x in (q, k, v, strengths, S)]
    loop = delta_rule.recurrent(*single)[0]
    forms = (delta_rule.chunk, rounded_inverse)
    runs = [scan_chunks(form, single[4], single[:3], single[3:4], 64)[0] for form in forms]
    return [relative_error(O, right) for O in (loop, *runs)]
