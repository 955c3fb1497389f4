"""Slips in published texts about the chunk form of the delta rule."""

from .. import delta_rule
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


def figures():
    """The measured figure in the text above, by erratum."""
    return {"readme-output": [output_error("printed")]}
