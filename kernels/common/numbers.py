"""Numbers and functions of one number that more than one kernel uses."""

import triton
import triton.language as tl

C = tl.constexpr(64)  # tokens a chunk, where a kernel has no other size
LOG2_E = tl.constexpr(1.4426950408889634)
# 2^-160 is zero in float32: a decay this strong is a reset, and c stays finite
RESET = tl.constexpr(-160.0)
# the least beta that the solve's gradient Z is multiplied with before it is stored
LEAST = tl.constexpr(1 / 16)
NORM_EPSILON = tl.constexpr(1e-6)  # added to the squared norm of a query or key


@triton.jit
def softplus(x):
    """`log(1 + exp(x))` without overflow, and exact to the last bits where it is small."""
    y = tl.exp(-tl.abs(x))
    rounded = 1.0 + y
    kept = rounded - 1.0  # of y: the ratio of the two brings back what rounding took
    log1p = tl.where(kept == 0.0, y, tl.log(rounded) * (y / tl.where(kept == 0.0, 1.0, kept)))
    return tl.maximum(x, 0.0) + log1p


@triton.jit
def factor(beta):
    """What Z stands multiplied with in the place of dV = diag(beta) Z.

    Mostly beta, and then it is dV. But `chunk_gradients` wants Z back, where a small beta would
    have cost it digits or all of it: such tokens keep Z itself until then.
    """
    return tl.where(beta >= LEAST, beta, 1.0)


@triton.jit
def rest(beta):
    """What makes dV of what stands in its place: `factor(beta) * rest(beta)` is beta."""
    return tl.where(beta >= LEAST, 1.0, beta)
