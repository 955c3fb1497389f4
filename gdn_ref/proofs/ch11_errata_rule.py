"""Slips in published write-ups about the rule itself, and its cost."""

import numpy as np
from sympy import MatrixSymbol, Poly, symbols

from .. import gated_delta_rule
from .ch11_errata import H100, MEGATRON, hard_tokens
from .data import relative_error
from .registry import erratum
from .symbols import I_k, S, alpha, beta, k, v
from .token_forms import recurrence

DEEP_DIVE = (
    "“Gated Delta Net Attention: A Deep Dive into the Linear Attention Mechanism Powering Qwen3.5” "
    "(2026; our copy has no date)"
)


@erratum(
    "old-value-undecayed",
    source=f"{DEEP_DIVE}: “Combining Decay and Delta Update”, the first form",
    printed=r"\mathbf{S}_t = \alpha\mathbf{S}_{t-1} + \beta(\boldsymbol{v}_t - \mathbf{S}_{t-1}"
    r"\boldsymbol{k}_t)\boldsymbol{k}_t^\top",
    corrected=r"\mathbf{S}_t = \alpha\mathbf{S}_{t-1} + \beta(\boldsymbol{v}_t - \alpha"
    r"\mathbf{S}_{t-1}\boldsymbol{k}_t)\boldsymbol{k}_t^\top",
    consequence="The page calls it equivalent to the form with $\\alpha\\mathbf{S}(\\mathbf{I} - "
    "\\beta\\boldsymbol{k}\\boldsymbol{k}^\\top)$. The two differ by $-\\beta(1 - \\alpha)"
    "\\mathbf{S}\\boldsymbol{k}\\boldsymbol{k}^\\top$: more is erased than is there.",
    label="eq-gdn-step",
    method="algebra",
)
def old_value_undecayed(form="corrected"):
    """The value that is erased: read from the decayed state, or from the one before."""
    old = S * k if form == "printed" else alpha * S * k
    one_line = alpha * S * (I_k - beta * k * k.T) + beta * v * k.T
    return alpha * S + beta * (v - old) * k.T - one_line


def undecayed_read(tokens):
    """The outputs of a loop that reads the old value before it decays the state."""
    state, outputs = tokens.S, []
    for t in range(len(tokens.alpha)):
        correction = tokens.beta[t] * (tokens.V[t] - state @ tokens.K[t])
        state = tokens.alpha[t] * state + np.outer(correction, tokens.K[t])
        outputs.append(state @ tokens.Q[t])
    return np.stack(outputs)


@erratum(
    "code-reads-undecayed",
    source=f"{DEEP_DIVE}: the PyTorch listing",
    printed=r"\boldsymbol{v}^{\text{old}}_t = \mathbf{S}_{t-1}\boldsymbol{k}_t",
    corrected=r"\boldsymbol{v}^{\text{old}}_t = \alpha_t\mathbf{S}_{t-1}\boldsymbol{k}_t",
    consequence="The listing follows the first form, not the second. The outputs are off by 3 % "
    "at $\\alpha = 0.95$ and by 32 % at $\\alpha = 0.5$; at $\\alpha = 0$ the state is not reset, "
    "as the old value is still subtracted.",
    label="eq-gdn-step",
    method="float64",
)
def code_reads_undecayed(form="corrected"):
    """Token by token, with the old value read before or after the decay."""
    x = hard_tokens()
    right = gated_delta_rule.recurrent(x.Q, x.K, x.V, np.log(x.alpha), x.beta, x.S)[0]
    return relative_error(undecayed_read(x) if form == "printed" else recurrence(x)[0], right)


L, C, d = symbols("L C d", positive=True)
state, M_i, X_i, M_j, X_j = (MatrixSymbol(name, d, d) for name in ("S", "M_i", "X_i", "M_j", "X_j"))


@erratum(
    "scan-operator",
    source="Songlin Yang, “DeltaNet Explained (Part II)” (2024; which version of the page we read "
    "was not recorded): the associative operator of the scan",
    printed=r"(\mathbf{M}_i, \mathbf{X}_i) \bullet (\mathbf{M}_j, \mathbf{X}_j) = (\mathbf{M}_i"
    r"\mathbf{M}_j,\ \mathbf{M}_j\mathbf{X}_i + \mathbf{X}_j)",
    corrected=r"(\mathbf{M}_i, \mathbf{X}_i) \bullet (\mathbf{M}_j, \mathbf{X}_j) = (\mathbf{M}_i"
    r"\mathbf{M}_j,\ \mathbf{X}_i\mathbf{M}_j + \mathbf{X}_j)",
    consequence="The page's state is multiplied from the right, $\\mathbf{S}\\mathbf{M} + "
    "\\mathbf{X}$, so the later transition stands to the right of the earlier write too. As "
    "printed the operator is not associative, and needs $d_v = d_k$.",
    label="eq-affine-compose",
    method="algebra",
)
def scan_operator(form="corrected"):
    """Two updates in a row against one update by the combined pair, for square states."""
    carried = M_j * X_i if form == "printed" else X_i * M_j
    return (state * M_i + X_i) * M_j + X_j - (state * (M_i * M_j) + carried + X_j)


@erratum(
    "saving",
    source=f"{MEGATRON}: the saving of training flops over full attention, “roughly a factor”",
    printed=r"L / C",
    corrected=r"L / (C + d)",
    consequence="From the page's own costs, $L^2 d$ against $LCd + Ld^2$. The printed form holds "
    "where $d$ is small beside $C$. At the page's $C = 64$, with $d = 128$ and $L = 32768$, the "
    "saving is a factor of 171, not 512.",
    label="eq-delta-saving",
    method="algebra",
)
def saving(form="corrected"):
    """The ratio of the two costs."""
    claimed = L / C if form == "printed" else L / (C + d)
    return (L**2 * d / (L * C * d + L * d**2) - claimed).simplify()


def inverse_products(n):
    """Products in the inverse of an n x n unit lower triangular matrix by forward substitution.

    Column j: entry i needs the products A_il T_lj for j < l < i, and A_ij itself needs none.
    """
    return sum(i - j - 1 for j in range(n) for i in range(j + 1, n))


@erratum(
    "cost-of-the-inverse",
    source=f"{H100}: forward substitution “takes an originally $O(n^3)$ operation and reduces "
    "it to $O(n^2)$”",
    printed=r"O(n^2) \text{ for } (\mathbf{I} + \mathbf{A})^{-1}",
    corrected=r"n(n-1)(n-2)/6 \text{ products for } (\mathbf{I} + \mathbf{A})^{-1};\ O(n^2) "
    r"\text{ for one right-hand side}",
    consequence="The whole inverse has n right-hand sides. For $n = 64$ it takes 41664 products.",
    label="eq-inverse-cost",
    method="algebra",
)
def cost_of_the_inverse(form="corrected"):
    """The polynomial through the counted products (n = 0 to 3, checked to 64), and its degree."""
    n = symbols("n")
    counted = Poly(n * (n - 1) * (n - 2) / 6, n)
    wrong = sum(counted.eval(size) != inverse_products(size) for size in range(65))
    claimed_degree = 2 if form == "printed" else 3
    return [wrong, counted.degree() - claimed_degree]


@erratum(
    "ragged-chunk",
    source=f"{H100}: the ragged example",
    printed=r"113 \text{ tokens},\ C = 64:\ 53 \text{ rows used},\ 11 \text{ rows of the next "
    r"sequence}",
    corrected=r"49 \text{ rows used},\ 15 \text{ rows of the next sequence}",
    consequence="$113 = 64 + 49$ and $64 - 49 = 15$. The point that the example makes stands.",
    label="eq-chunk-states",
    method="algebra",
)
def ragged_chunk(form="corrected"):
    """Rows of the last chunk that belong to the sequence, and rows that do not."""
    used, foreign = (53, 11) if form == "printed" else (49, 15)
    return [113 % 64 - used, 64 - 113 % 64 - foreign]


def figures():
    """The measured figures in the texts above, by erratum."""
    return {
        "code-reads-undecayed": [
            relative_error(undecayed_read(x), recurrence(x)[0])
            for x in (hard_tokens(), hard_tokens(0.5))
        ],
        "cost-of-the-inverse": [inverse_products(64)],
        "saving": [32768 / (64 + 128), 32768 / 64],
    }
