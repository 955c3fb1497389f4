"""Published slips about the family."""

import numpy as np

from ..family import comba, general_rule
from .ch23_real import hard
from .data import relative_error, unit
from .registry import erratum


@erratum(
    "comba-decays-first",
    source="flash-linear-attention, fla-core 0.6.0: `naive_recurrent_comba`, the plain loop beside "
    "the kernels of Comba",
    printed=r"\mathbf{S}_t = \alpha_t\mathbf{S}_{t-1}(\mathbf{I} - \beta_t\boldsymbol{p}_t"
    r"\boldsymbol{k}_t^\top) + \beta_t\boldsymbol{v}_t\boldsymbol{k}_t^\top",
    corrected=r"\mathbf{S}_t = \mathbf{S}_{t-1}(\alpha_t\mathbf{I} - \beta_t\boldsymbol{p}_t"
    r"\boldsymbol{k}_t^\top) + \beta_t\boldsymbol{v}_t\boldsymbol{k}_t^\top",
    consequence="The loop decays the state before it reads it with $\\boldsymbol{p}_t$. The "
    "kernels and `naive_chunk_comba` of the same version read first. Without decay the two agree, "
    "so a test without decay does not tell them apart.",
    label="eq-family-recurrence",
    method="float64",
)
def comba_decays_first(form="corrected"):
    """One of both loops, written out, against `gdn_ref.family.comba` in chunks."""
    q, k, v, g, erase, _, S = hard()
    p, g, beta, first = 0.8 * k, np.maximum(g[:, 0], -2.0), erase[:, 0], S
    outputs = []
    for t in range(len(k)):
        alpha = np.exp(g[t])
        read = (alpha * S if form == "printed" else S) @ p[t]
        S = alpha * S + np.outer(beta[t] * (v[t] - read), k[t])
        outputs.append(S @ (q[t] - 0.3 * p[t]))
    x = comba.general(q, k, v, p, g, beta, np.asarray(0.3))
    O, _ = general_rule.chunkwise(*x, first, chunk_size=16)
    return relative_error(O, np.array(outputs))


@erratum(
    "comba-decay-cancels",
    source="flash-linear-attention, fla-core 0.6.0: `layers/comba.py`, where $b$, the sigmoid of "
    "the parameter `decay`, makes $\\boldsymbol{p}_t$ of the key",
    printed=r"\mathbf{S}_t = \mathbf{S}_{t-1}\bigl(\alpha_t\mathbf{I} - \beta_t"
    r"\tfrac{b\boldsymbol{k}_t}{\|b\boldsymbol{k}_t\|}\boldsymbol{k}_t^\top\bigr)"
    r" + \beta_t\boldsymbol{v}_t\boldsymbol{k}_t^\top",
    corrected=r"\mathbf{S}_t = \mathbf{S}_{t-1}(\alpha_t\mathbf{I} - \beta_t b\,\boldsymbol{k}_t"
    r"\boldsymbol{k}_t^\top) + \beta_t\boldsymbol{v}_t\boldsymbol{k}_t^\top",
    consequence="The layer has its kernel divide $\\boldsymbol{p}_t=b\\boldsymbol{k}_t$ by its "
    "norm, so $b$ cancels, and as much is erased as written whatever the parameter is. The "
    "examples in the kernel's own documentation pass $b\\boldsymbol{k}_t$ with a unit key "
    "and without that division, so that less is erased, with the strength $b\\beta_t$. In "
    "the layer $b$ is left with the correction of the query, which is divided by its norm "
    "afterwards. We read the paper's abstract only, and do not know which of the two "
    "rules its authors trained.",
    label="eq-family-recurrence",
    method="float64",
)
def comba_decay_cancels(form="corrected"):
    """The loop with `p` divided by its norm or not, against `gdn_ref.family.comba` in chunks."""
    q, k, v, g, erase, _, first = hard()
    g, beta, b, S, outputs = np.maximum(g[:, 0], -2.0), erase[:, 0], 0.3, first, []
    p = unit(b * k) if form == "printed" else b * k
    for t in range(len(k)):
        S = np.exp(g[t]) * S + beta[t] * np.outer(v[t] - S @ p[t], k[t])
        outputs.append(S @ q[t])
    x = comba.general(q, k, v, b * k, g, beta, np.asarray(0.0))
    O, _ = general_rule.chunkwise(*x, first, chunk_size=16)
    return relative_error(O, np.array(outputs))
