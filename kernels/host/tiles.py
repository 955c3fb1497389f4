"""Tile sizes and warps, from the shape alone: nothing is tuned at run time."""

import torch

MAX_KEY_DIM, MAX_VALUE_DIM = 256, 512  # a row of the state is one tile; its columns are cut
CHUNK_SIZES = (16, 32, 64)
LOW = 32  # rows of an operand that a product in tensor memory does not take: it starts at 64


def tile_rule(K, dtype, chunk_size, tensor_memory=False):
    """Tile sizes and warps, a pure function of the shape: no tuning at run time.

    `BK` covers the whole key dimension (the smallest tile a tensor core takes is 16 wide), and a
    program of the scan keeps `[BV, BK]` of the state in registers. Float32 operands take twice the
    room and three products each, so they get narrower slices and, as heads beyond 128 dimensions,
    no tiles loaded ahead. One warp solves a chunk's triangular system with the fewest barriers,
    where its tiles fit. The chunk `C` is what was asked for, except that float32 heads of more than
    128 dimensions fit only 32 tokens at a time; the result does not depend on it.

    On a GPU with `tensor_memory` nothing is loaded ahead, and products that carry the state, or are
    added into one sum, have operands too low for it: Triton 3.6 and 3.7 compile a recurrence of
    higher ones so that two runs may differ (its issues 9871 and 10590: four or eight warps with two
    or three stages), and two products into one sum wrongly (10821, also 3.8).
    """
    exact = dtype == torch.float32
    BK = max(16, 1 << (K - 1).bit_length())
    tiles = {
        "BK": BK,
        "BV": 16 if exact else 64,
        "C": min(chunk_size, 32) if exact and BK > 128 else chunk_size,
        "transform_warps": 4 if exact or BK > 128 else 1,
        "scan_warps": 4,
        "stages": 1 if exact or BK > 128 else 2,
    }
    if tensor_memory:
        tiles |= {"BV": min(tiles["BV"], LOW), "stages": 1}
        tiles["C"] = min(tiles["C"], LOW) if exact else tiles["C"]
    return tiles


def gradient_tiles(K, dtype, chunk_size, hopper=False, tensor_memory=False):
    """`tile_rule` for the backward pass.

    `chunk_gradients` keeps two `[C, BK]` sums beside five `[C, C]` tiles, so what is left of
    registers, of shared memory, and of a Blackwell's tensor memory bounds the chunk; where the
    kernels for Hopper take the whole chunks, it stays 64. `gradient_BV` is the slice of value
    dimensions that `chunk_gradients` has on hand at a time. (The scans' slices of heads beyond 128
    are 16 wide: with 32, Triton 3.6.0 compiles `state_gradients` wrongly for Hopper.)
    """
    tiles = tile_rule(K, dtype, chunk_size, tensor_memory)
    wide = tiles["BK"] > 64
    if dtype == torch.float32:
        tiles |= {"C": min(tiles["C"], 16 if wide else 32), "gradient_BV": 16, "gradient_warps": 4}
        return tiles
    if (wide or tensor_memory) and not hopper:
        tiles["C"] = min(tiles["C"], LOW)
    if tiles["BK"] > 128 and not hopper:
        stages = 1 if tensor_memory else 2
        return tiles | {"BV": 16, "stages": stages, "gradient_BV": 32, "gradient_warps": 8}
    return tiles | {"gradient_BV": 32, "gradient_warps": 4}


def dot_precision(dtype):
    """How float32 operands meet the tensor cores in the scan; PyTorch's own setting decides.

    For float32 inputs `torch.backends.cuda.matmul.fp32_precision`: "tf32" allows one tf32 product
    a dot, anything else (PyTorch's default) asks for float32 accuracy, here three of them.
    `torch.set_float32_matmul_precision` and `allow_tf32` set it, too; reading those raises where
    the new switches are in use.
    """
    exact = dtype == torch.float32 and torch.backends.cuda.matmul.fp32_precision != "tf32"
    return "tf32x3" if exact else "tf32"
