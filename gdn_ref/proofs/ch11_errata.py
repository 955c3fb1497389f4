"""Slips in published chunk forms, each beside the form that is right.

What a slip does is measured here, not quoted: 128 tokens in two chunks of 64, `d_k = 64`,
`d_v = 48`, unit keys of cosine about 0.5, write strengths over (0, 2), one decay for all tokens,
a state of normal numbers before them; the error is that of all outputs, relative, in the
Frobenius norm. `tests/test_errata_figures.py` checks each figure in the texts below.
"""

from functools import cache

import numpy as np

from .ch11_mutants import EQUIVALENT, MUTANTS
from .data import hard_inputs, relative_error, unit
from .registry import erratum
from .symbols import K, S, U, W
from .token_forms import FORM, Tokens, chunkwise, recurrence

SIMON = "Simon's blog, “Chunkwise Gated Delta Rule” (2026; our copy has no date)"
MEGATRON = "“Gated Delta Network” (a walk-through of Megatron's implementation, 11 May 2026)"
H100 = (
    "“H100 CUDA Kernels for Gated Delta Net” (2026; our copy has no date; the repository is "
    "kingsleykimm/h100_gdn_cuda)"
)
PAPER = "Yang, Kautz, Hatamizadeh, “Gated Delta Networks” (arXiv:2412.06464"

OUTPUT, DELTA = MUTANTS["eq-gdn-chunk-output"], MUTANTS["eq-gdn-delta-split"]
M_FOR_GAMMA = OUTPUT["M for Gamma"]
STRICT_GAMMA = OUTPUT["strict Gamma"]
SCALED_AFTER = DELTA["gated solve on raw K, rows scaled after"]


@cache
def hard_tokens(decay=0.95):
    """The setting of this page's figures, with one decay for all tokens."""
    Q, K, V, g, strength, S0 = hard_inputs(T=128, d_k=64, d_v=48)
    return Tokens(S0, Q, K, V, np.full(len(g), decay), strength, 64)


@cache
def mild_tokens(decay=0.95):
    """The same with random unit keys, write strengths `sigmoid(N(0, 1))` and an empty state."""
    rng, hard = np.random.default_rng(1), hard_tokens(decay)
    strength = 1 / (1 + np.exp(-rng.normal(size=hard.beta.shape)))
    keys = unit(rng.normal(size=hard.K.shape))
    return Tokens(0 * hard.S, hard.Q, keys, hard.V, hard.alpha, strength, 64)


def error(change, tokens):
    """The relative error of the outputs, with lines of the chunk form changed."""
    return relative_error(chunkwise(tokens, FORM | change)[0], recurrence(tokens)[0])


@erratum(
    "output-mask",
    source=f"{PAPER}, when v3 of 6 March 2025 was current), section 3.3: the output equation, as "
    f"quoted in NVlabs/GatedDeltaNet issues 13 and 15 (September 2025, January 2026); {SIMON}; "
    f"{MEGATRON}. {H100} notes it.",
    printed=r"\mathbf{O} = \overleftarrow{\mathbf{Q}}\,\mathbf{S}^\top + (\mathbf{Q}\mathbf{K}^\top"
    r" \odot \mathbf{M})(\tilde{\mathbf{U}} - \overleftarrow{\mathbf{W}}\,\mathbf{S}^\top)",
    corrected=r"\mathbf{O} = \overleftarrow{\mathbf{Q}}\,\mathbf{S}^\top + (\mathbf{Q}"
    r"\mathbf{K}^\top \odot \boldsymbol{\Gamma})(\tilde{\mathbf{U}} - \overleftarrow{\mathbf{W}}"
    r"\,\mathbf{S}^\top)",
    consequence="With the causal mask, a write of the same chunk is read as if it had not faded. "
    "The two agree if no token decays. The outputs are off by 20 % at $\\alpha = 0.99$ and by "
    "160 % at $\\alpha = 0.9$.",
    label="eq-gdn-chunk-output",
    method="float64",
)
def output_mask(form="corrected"):
    """M or Gamma in the output."""
    return error(M_FOR_GAMMA if form == "printed" else {}, hard_tokens())


@erratum(
    "gamma-diagonal",
    source=f"{SIMON}: the case definition of the matrix, where the text has $\\Gamma_{{rr}} = 1$",
    printed=r"\boldsymbol{\Gamma}_{ri} = \gamma_r / \gamma_i \text{ for } i < r,\quad 0 "
    r"\text{ for } i \ge r",
    corrected=r"\boldsymbol{\Gamma}_{ri} = \gamma_r / \gamma_i \text{ for } i \le r,\quad 0 "
    r"\text{ for } i > r",
    consequence="On the page this does no harm: it uses the matrix inside $\\tilde{\\mathbf{A}}$ "
    "only, where the diagonal is cut off anyway. It counts for a reader who mends the output "
    "(`output-mask`) with this matrix. A token then does not read its own write, and the outputs "
    "are off by 39 % at $\\alpha = 0.95$.",
    label="eq-decay-mask",
    method="float64",
)
def gamma_diagonal(form="corrected"):
    """The zero diagonal, where the output uses Gamma."""
    return error(STRICT_GAMMA if form == "printed" else {}, hard_tokens())


@erratum(
    "gated-w-scaled-after",
    source=f"{H100}: the equation of $\\mathbf{{w}}_t$, and the row scaling after the product; in "
    "the repository, sm90_bf16_gdn_compute_u_w.cuh at commit 8c5ac9c",
    printed=r"\overleftarrow{\mathbf{W}} = \mathbf{D}_\gamma(\mathbf{I} + \tilde{\mathbf{A}})^{-1}"
    r"\mathbf{B}\mathbf{K}",
    corrected=r"\overleftarrow{\mathbf{W}} = \mathbf{D}_\gamma(\mathbf{I} + \mathbf{A})^{-1}"
    r"\mathbf{B}\mathbf{K} = (\mathbf{I} + \tilde{\mathbf{A}})^{-1}\mathbf{B}\mathbf{D}_\gamma"
    r"\mathbf{K}",
    consequence="Each weight between two tokens carries the decay between them once too often. The "
    "outputs are off by 6 % at $\\alpha = 0.95$; on random unit keys, write strengths below 1 and "
    "an empty state by 0.5 %, which a tolerance of 5e-2 does not see. The paper's chunk form "
    "does not define its $\\mathbf{W}$ again; fla-org/flash-linear-attention issue 735 asks which "
    "system it comes from.",
    label="eq-gdn-w-gated",
    method="float64",
)
def gated_w_scaled_after(form="corrected"):
    """The gated solve on raw K with its rows scaled, or either of the right forms."""
    other = EQUIVALENT["W scaled inside the gated solve"]
    return error(SCALED_AFTER if form == "printed" else other, hard_tokens())


@erratum(
    "state-sign",
    source=f"{H100}: the second line of the state update (its first line has the right sign)",
    printed=r"\mathbf{S}' = \mathbf{S} - (\mathbf{U} - \mathbf{W}\mathbf{S}^\top)^\top\mathbf{K}",
    corrected=r"\mathbf{S}' = \mathbf{S} + (\mathbf{U} - \mathbf{W}\mathbf{S}^\top)^\top\mathbf{K}",
    consequence="A sign lost between two lines of the derivation: by computer algebra the second "
    "line follows from the first with a plus.",
    label="eq-gdn-chunk-state",
    method="algebra",
)
def state_sign(form="corrected"):
    """Collecting K in S - S W^T K + U^T K."""
    sign = -1 if form == "printed" else 1
    return S - S * W.T * K + U.T * K - (S + sign * (U - W * S.T).T * K)


def figures():
    """The figures in the texts above, by erratum: `{key: [errors in the order of the text]}`."""
    return {
        "output-mask": [error(M_FOR_GAMMA, hard_tokens(a)) for a in (0.99, 0.9)],
        "gamma-diagonal": [error(STRICT_GAMMA, hard_tokens())],
        "gated-w-scaled-after": [
            error(SCALED_AFTER, hard_tokens()),
            error(SCALED_AFTER, mild_tokens()),
        ],
    }
