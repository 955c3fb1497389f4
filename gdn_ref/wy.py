"""The WY representation: a product of Householder factors as one triangular solve.

    prod_i (I - beta_i k_i k_i^T) = I - W^T K,        (I + A) W = B K        (eq-wy-w)

with `A = tril(B (Gamma . K K^T), -1)` and `B = diag(beta)`. Tokens are rows: `K` `[..., C, d_k]`,
`V` `[..., C, d_v]`, `beta` `[..., C]`, `Gamma` and `A` `[..., C, C]`. Without `Gamma` there is no
decay. Sources: Bischof and Van Loan, 1987; Joffrain et al., 2006; Yang et al., 2024.
"""

from array_api_compat import array_namespace, device, is_torch_namespace

from .chunking import transpose
from .types import Array


def interaction(K: Array, beta: Array, Gamma: Array | None = None) -> Array:
    """`A`, how much token r's read sees of token i's write.

    Strictly lower triangular, `A_ri = beta_r k_r^T k_i` (eq-interaction), with decay
    `beta_r Gamma_ri k_r^T k_i` (eq-gdn-interaction).
    """
    overlap = K @ transpose(K)
    if Gamma is not None:
        overlap = Gamma * overlap
    return array_namespace(K).tril(beta[..., None] * overlap, k=-1)


def solve(A: Array, X: Array) -> Array:
    """`(I + A)^-1 X` for strictly lower triangular `A`: `[..., C, C]`, `[..., C, d]`.

    A solve, never an inverse. PyTorch has a triangular solver; the array API standard, and so
    NumPy, has the general one. PyTorch is asked for `X^T (I + A)^-T`: it works by columns, which
    the rows of X are then, and need not be copied into that order.
    """
    xp = array_namespace(A, X)
    if is_torch_namespace(xp):
        from torch.linalg import solve_triangular

        A, X = transpose(A), transpose(X)
        return transpose(solve_triangular(A, X, upper=True, left=False, unitriangular=True))
    return xp.linalg.solve(xp.eye(A.shape[-1], dtype=A.dtype, device=device(A)) + A, X)


def solve_transposed(A: Array, X: Array) -> Array:
    """`(I + A)^-T X` for strictly lower triangular `A`: the same system, from the last row up."""
    xp = array_namespace(A, X)
    if is_torch_namespace(xp):
        from torch.linalg import solve_triangular

        X = transpose(X)
        return transpose(solve_triangular(A, X, upper=False, left=False, unitriangular=True))
    return xp.linalg.solve(xp.eye(A.shape[-1], dtype=A.dtype, device=device(A)) + transpose(A), X)


def w(K: Array, beta: Array) -> Array:
    """`W`, `[..., C, d_k]`: what the chunk erases from the state it receives (eq-wy-w)."""
    return solve(interaction(K, beta), beta[..., None] * K)


def u(K: Array, V: Array, beta: Array, Gamma: Array | None = None) -> Array:
    """`U`, `[..., C, d_v]`: what the chunk would write into an empty state (eq-ut-u, eq-wy-u)."""
    return solve(interaction(K, beta, Gamma), beta[..., None] * V)
