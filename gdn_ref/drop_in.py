"""Arguments that our functions and our layer lack, from callers of those that they stand in for.

flash-linear-attention 0.6.0 and transformers 5.17 pass more than ours have a use for, and drop what
they do not know. Here each such argument has an entry: what is taken, for it asks for nothing else
than what ours do, and what to pass in place of anything else, which raises a `TypeError`. So does a
name that has no entry, most often a misspelt one. The book's crosswalk has the table in words, with
the arguments that have a place in our signatures.
"""

import torch

from . import validation

UNREAD = "any value"
PACKED = "any value, where cu_seqlens is given and says the same"


def entries(taken, instead, *names):
    """`taken` is one of the above, or a tuple of values."""
    return dict.fromkeys(names, (taken, instead))


RULE = {
    **entries(PACKED, "cu_seqlens with it", "chunk_indices"),
    **entries((None, False), "axes [B, T, H, ...], as x.transpose(1, 2) makes them", "head_first"),
    # transformers' layers hand on what its models are called with
    **entries(
        UNREAD, None, "output_hidden_states", "output_attentions", "output_router_logits",
        "num_items_in_batch", "position_ids", "is_causal", "use_cache",
    ),
    **entries(
        PACKED, "cu_seqlens with it", "cu_seq_lens_q", "cu_seq_lens_k", "max_length_q",
        "max_length_k", "seq_idx",
    ),
}  # fmt: skip
CHUNK = RULE | entries((None,), "None, or fused_recurrent_gated_delta_rule", "gk", "gv")
RECURRENT = {
    **RULE,
    **entries((None,), "None, or chunk_gated_delta_rule", "cp_context"),
    **entries((), "no chunks, or chunk_gated_delta_rule", "chunk_size"),
}
LAYER = {
    **entries(UNREAD, None, "layer_idx"),  # every layer has a cache of its own
    # two ways to one result, between which every call chooses
    **entries(("chunk", "fused_recurrent"), "'chunk' or 'fused_recurrent'", "mode"),
    **entries((True,), "True, or chunk_gated_delta_rule in a layer of your own", "use_gate"),
    **entries((True,), "True, with conv_size=1 and conv1d.weight at 1", "use_short_conv"),
    **entries(
        ("swish", "silu"), "'swish' or 'silu', or chunk_gated_delta_rule in a layer of your own",
        "output_gate_activation",
    ),
}  # fmt: skip
FORWARD = {
    **entries((None,), "None, and a GatedDeltaNetCache as cache", "past_key_values"),
    **entries((None, False), "False, or a GatedDeltaNetCache as cache", "use_cache"),
    **entries((None, False), "False, for there is no matrix of attention", "output_attentions"),
}


def settle(function, table, foreign, packed=False):
    """Return if all of these arguments are taken.

    Parameters
    ----------
    function : str
        Who was called.
    table : dict
        Name to what is taken, and what else to do.
    foreign : dict
        Name to value.
    packed : bool
        Whether `cu_seqlens` was given.

    Raises
    ------
    TypeError
        One of them is unknown, or asks for something else.
    """
    for name, value in foreign.items():
        if name not in table:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        taken, instead = table[name]
        if taken is UNREAD or (taken is PACKED and (value is None or packed)):
            continue
        if taken is PACKED or not any(value is x or is_text(value, x) for x in taken):
            raise TypeError(f"{name}: expected {instead}, got {shown(value)}")


def is_text(value, x):
    """Two strings of the same letters need not be one object."""
    return isinstance(value, str) and value == x


def shown(value):
    """A value that fits in a message, or what kind it is."""
    plain = value is None or isinstance(value, bool | int | float | str)
    return repr(value) if plain else f"a {type(value).__name__}"


def take_host_copy(cu_seqlens, cu_seqlens_cpu):
    """Let `validation.read_offsets` find the values of `cu_seqlens` here, where it would wait.

    Where the values are known, or can be read without waiting, the copy has to agree.
    """
    name = "cu_seqlens_cpu"
    if not isinstance(cu_seqlens_cpu, torch.Tensor):
        found = type(cu_seqlens_cpu).__name__
        raise TypeError(f"{name}: expected a torch.Tensor [N + 1], got {found}")
    if not isinstance(cu_seqlens, torch.Tensor):
        found = type(cu_seqlens).__name__
        raise ValueError(f"{name}: expected cu_seqlens, a torch.Tensor, with it, got {found}")
    if cu_seqlens_cpu.dtype not in validation.OFFSETS or cu_seqlens_cpu.shape != cu_seqlens.shape:
        raise ValueError(
            f"{name}: expected int32 or int64 {list(cu_seqlens.shape)} like cu_seqlens, "
            f"got {cu_seqlens_cpu.dtype} {list(cu_seqlens_cpu.shape)}"
        )
    if cu_seqlens_cpu.device.type != "cpu":
        raise ValueError(f"{name}: expected device cpu, got {cu_seqlens_cpu.device}")
    if torch.compiler.is_compiling() or cu_seqlens.is_meta or cu_seqlens.is_inference():
        return
    copied = cu_seqlens_cpu.tolist()
    version, read = cu_seqlens._version, validation._read
    if validation.reading_waits(cu_seqlens) and read.get(cu_seqlens, (None,))[0] != version:
        read[cu_seqlens] = version, copied
    elif copied != validation.read_offsets("cu_seqlens", cu_seqlens):
        raise ValueError(f"{name}: expected the values of cu_seqlens, got others: {copied}")


def on_ranks(cp_context, *arguments, **options):
    """`distributed.chunk_gated_delta_rule`, for the context of that package and no other."""
    from . import distributed

    if not isinstance(cp_context, distributed.CPContext):
        raise TypeError(
            "cp_context: expected a CPContext, from gdn_ref.distributed.build_cp_context, "
            f"got {type(cp_context).__name__}"
        )
    return distributed.chunk_gated_delta_rule(*arguments, cp_context=cp_context, **options)
