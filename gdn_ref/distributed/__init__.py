"""Gated DeltaNet over tokens that lie on many ranks of `torch.distributed`: context parallelism.

    cp = build_cp_context(cu_seqlens)                      # the batch, on all ranks
    o, _ = chunk_gated_delta_rule(q, k, v, g, beta, cp_context=cp)  # of this rank's tokens

`build_cp_context` lays the tokens on the ranks. `chunk_gated_delta_rule` then exchanges one state a
rank, by maps or as a relay, or gives each rank all tokens of some heads (its `parallel`), and
`causal_conv1d` exchanges the inputs at the borders. `GatedDeltaNet` takes `cp_context` too, and
`sharded` is for a model of transformers that runs with gdn_ref. Any backend of torch.distributed,
any number of ranks. `NOTES.md` in this folder of the repository says what each order costs.
"""

from .context import CPContext, build_cp_context
from .convolution import causal_conv1d
from .rule import chunk_gated_delta_rule
from .sharded import sharded

__all__ = ["CPContext", "build_cp_context", "causal_conv1d", "chunk_gated_delta_rule", "sharded"]
