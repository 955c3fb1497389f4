"""DeltaNet: no decay, what is read under the key is replaced.

    S_t = S_{t-1} (I - beta_t k_t k_t^T) + beta_t v_t k_t^T
    o_t = S_t q_t

Source: Schlag, Irie, Schmidhuber, "Linear Transformers Are Secretly Fast Weight Programmers", 2021
(arXiv 2102.11174); in this form, with keys of unit norm, Yang et al., "Parallelizing Linear
Transformers with the Delta Rule over Sequence Length", 2024 (arXiv 2406.06484). `beta` is after
the sigmoid. Keys are expected to be normalised already; the code scales `q` by `d_k^-1/2`.

=============  =============
here           DeltaNet
=============  =============
`q`, `k`, `S`  the same
`a`, `b`       `beta k`, `k`
`v`            `beta v`
`g`            0
=============  =============
"""

from array_api_compat import array_namespace

from ..chunking import outer
from ..types import Array
from .printed_form import identity, number, run
from .shapes import check
from .two_gates import arguments


def published(
    q: Array, k: Array, v: Array, beta: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """The source's recurrence, token by token. Returns `(O, S)`."""

    def transition(S, k, v, beta):
        beta = number(beta)
        return S @ (identity(k) - beta * outer(k, k)) + beta * outer(v, k)

    return run(transition, (q, k, v), (beta,), S)


def general(
    q: Array, k: Array, v: Array, beta: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The same as arguments of the general rule."""
    check({"k": k, "q": q}, {"v": v}, {"beta": beta})
    strength = beta[..., None]
    return arguments(q, k, v, array_namespace(k).zeros_like(k), strength, strength)
