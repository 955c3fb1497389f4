"""What the recurrences need to be written as their sources print them, with dense matrices.

Nothing here is fast. A state is `[..., d_v, d_k]` outside; the papers that keep its transpose are
written with the transpose inside.
"""

from array_api_compat import array_namespace, device

from ..chunking import matvec, scan_tokens, transpose, zero_state


def identity(x):
    """`I`, for vectors `x` of its size."""
    return array_namespace(x).eye(x.shape[-1], dtype=x.dtype, device=device(x))


def diag(x):
    """`Diag(x)`, `[..., d, d]`."""
    return x[..., None] * identity(x)


def number(x, axes=2):
    """A number per token, `[...]`, before a matrix, `[..., 1, 1]`, or fewer axes."""
    return x[(..., *[None] * axes)] if hasattr(x, "shape") else x


def run(transition, vectors, numbers, S=None):
    """Token by token: `S = transition(S, *the rest)`, then `o = S q`. Returns `(O, S)`.

    `vectors` are `(q, ..., k, v)`; `transition` gets all but `q`, and the numbers behind.
    """

    def step(S, q, *rest):
        S = transition(S, *rest)
        return matvec(S, q), S

    return scan_tokens(step, start(S, *vectors[-2:]), vectors, numbers)


def run_transposed(transition, vectors, numbers, S=None):
    """`run` for a source whose state is `[d_k, d_v]` and whose output is `o = S^T q`."""
    turned = lambda S, *rest: transpose(transition(transpose(S), *rest))
    return run(turned, vectors, numbers, S)


def start(S, k, v):
    """The state before the first token: `S`, or the empty memory."""
    return zero_state(k, v) if S is None else S
