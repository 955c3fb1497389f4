"""Which kernels a call takes: those for Hopper, those with products of a single warp, or the
portable ones, which take everything."""

from . import gpu


def has_transform_mma(plan):
    """Is `transform_mma` made for this: 16 bits, chunks of 64, a GPU that has what it takes?"""
    return (
        not plan.exact and plan.K <= 128 and plan.tiles["C"] == 64
        and gpu.has_warp_products(plan.device)
    )  # fmt: skip


def made_for_hopper(k, v, C):
    """Are there kernels for this: a Hopper GPU, 16 bits, heads of these sizes?"""
    return (
        v.element_size() == 2 and k.shape[3] in (64, 128, 256) and v.shape[3] % 64 == 0 and C == 64
        and gpu.has_hopper_engines(v.device)
    )  # fmt: skip


def wants_whole_chunks(k, v, cu_seqlens, C):
    """Are there gradients on Hopper for this, but of whole chunks alone?"""
    short = cu_seqlens is not None or k.shape[1] % C != 0
    return k.shape[3] > 128 and short and made_for_hopper(k, v, C)
