"""Slips in published texts about the chunk form of the delta rule and its cost."""

from sympy import symbols

from .. import delta_rule
from .ch11_errata import MEGATRON
from .data import hard_inputs, relative_error
from .registry import erratum


def output_error(form):
    """Outputs of one chunk of 64 tokens, as printed or corrected, against the token loop."""
    q, k, v, _, beta, S = hard_inputs(T=64, d_k=64, d_v=32)
    right, _ = delta_rule.recurrent(q, k, v, beta / 2, S)
    O, S_next = delta_rule.chunk(S, q, k, v, beta / 2)
    return relative_error(q @ S_next.T if form == "printed" else O, right)


@erratum(
    "readme-output",
    source="flash-linear-attention, fla/ops/delta_rule/README.md at commit 52f9c7b: the first line "
    "of the output equation",
    printed=r"\mathbf{O}_{[t]} = \mathbf{Q}_{[t]}\,\mathbf{S}_{[t+1]}^\top",
    corrected=r"\mathbf{O}_{[t]} = \mathbf{Q}_{[t]}\mathbf{S}_{[t]}^\top + \bigl(\mathbf{M}\odot"
    r"\mathbf{Q}_{[t]}\mathbf{K}_{[t]}^\top\bigr)\bigl(\mathbf{U}-\mathbf{W}\mathbf{S}_{[t]}^\top"
    r"\bigr)",
    consequence="Every query reads the state after the chunk, with the writes of later tokens. "
    "Only the last token of a chunk comes out right; the outputs of 64 tokens are off by 37 %. "
    "The next line of the page has the mask and is right.",
    label="eq-delta-rule-chunk",
    method="float64",
)
def readme_output_state(form="corrected"):
    """The state after the chunk in the place of the mask."""
    return output_error(form)


L, C, d = symbols("L C d", positive=True)


@erratum(
    "states-kept-for-training",
    source=f"{MEGATRON}: the row of training memory",
    printed=r"O(Ld) + O(d^2)",
    corrected=r"O(Ld) + L\,d^2/C",
    consequence="Not one state but one for each chunk is kept, or computed again, for the backward "
    "pass. At $L = 32768$ and $C = 64$ that is 512 of them.",
    label="eq-delta-memory",
    method="algebra",
)
def states_kept_for_training(form="corrected"):
    """Entries of the states that L/C chunks receive."""
    claimed = d**2 if form == "printed" else L * d**2 / C
    return L / C * d**2 - claimed


@erratum(
    "cache-per-token",
    source=f"{MEGATRON}: the row “inference memory per generated token”",
    printed=r"O(Ld) \text{ per generated token}",
    corrected=r"2Ld \text{ after } L \text{ tokens},\ 2d \text{ per token}",
    consequence="$O(Ld)$ is the whole cache. A token adds one key and one value to it, 256 numbers "
    "at $d = 128$, however long the text is.",
    label="eq-delta-memory",
    method="algebra",
)
def cache_per_token(form="corrected"):
    """The cache after L tokens less the cache one token before."""
    claimed = L * d if form == "printed" else 2 * d
    return (2 * L * d - 2 * (L - 1) * d - claimed).expand()


def figures():
    """The measured figures in the text above, by erratum."""
    return {
        "readme-output": [output_error("printed")],
        "states-kept-for-training": [32768 // 64],
        "cache-per-token": [2 * 128],
    }
