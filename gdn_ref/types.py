"""What the public functions take, for checkers of types such as mypy and pyright.

A result that is None unless it was asked for is `torch.Tensor | Any`: who asked for it need not
rule None out.
"""

from typing import Any, Literal, Protocol, TypedDict, TypeVar

Backend = Literal["auto", "reference", "triton"]


class AnyArray(Protocol):
    """An array that follows the Python array API: of NumPy, of PyTorch, of others."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def mT(self) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...


Array = TypeVar("Array", bound=AnyArray)  # one library's: what comes back is what was passed


# What `drop_in` takes of other libraries' arguments


class OfRule(TypedDict, total=False):
    chunk_indices: Any
    head_first: Literal[False] | None
    output_hidden_states: Any
    output_attentions: Any
    output_router_logits: Any
    num_items_in_batch: Any
    position_ids: Any
    is_causal: Any
    use_cache: Any
    cu_seq_lens_q: Any
    cu_seq_lens_k: Any
    max_length_q: Any
    max_length_k: Any
    seq_idx: Any


class OfChunk(OfRule, total=False):
    gk: None
    gv: None


class OfRecurrent(OfRule, total=False):
    cp_context: None


class OfLayer(TypedDict, total=False):
    layer_idx: Any
    mode: Literal["chunk", "fused_recurrent"]
    use_gate: Literal[True]
    use_short_conv: Literal[True]
    output_gate_activation: Literal["swish", "silu"]


class OfForward(TypedDict, total=False):
    past_key_values: None
    use_cache: Literal[False] | None
    output_attentions: Literal[False] | None
