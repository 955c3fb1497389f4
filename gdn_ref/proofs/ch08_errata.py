"""Slips in published texts about the WY representation and its triangular system."""

from functools import cache

import numpy as np

from .ch11_errata import PAPER, error, hard_tokens, mild_tokens
from .data import relative_error
from .registry import erratum
from .token_forms import rows, solve


@cache
def factors(keys=3):
    """`I - beta k k^T` of the first tokens of the hard data."""
    x = hard_tokens()
    identity = np.eye(x.K.shape[1])
    return [identity - x.beta[i] * np.outer(x.K[i], x.K[i]) for i in range(keys)]


@erratum(
    "readme-product-order",
    source="flash-linear-attention, fla/ops/delta_rule/README.md before pull request 595 of 2025 "
    "(its state is $d_k \\times d_v$): the product in front of the state",
    printed=r"\mathbf{S}^r = \Bigl(\prod_{i=1}^{r}(\mathbf{I} - \beta_i\boldsymbol{k}_i"
    r"\boldsymbol{k}_i^\top)\Bigr)\mathbf{S}^0 + \mathbf{H}^r",
    corrected=r"\mathbf{S}^r = (\mathbf{I} - \beta_r\boldsymbol{k}_r\boldsymbol{k}_r^\top)\cdots"
    r"(\mathbf{I} - \beta_1\boldsymbol{k}_1\boldsymbol{k}_1^\top)\,\mathbf{S}^0 + \mathbf{H}^r",
    consequence="With the state on the right, the newest factor stands on the left. The proof on "
    "the page does it so; the product sign, read from left to right, says the opposite. Three "
    "tokens in the wrong order leave a state that is off by 22 %. The page now has the state "
    "on the left.",
    label="eq-wy-product",
    method="float64",
)
def readme_product_order(form="corrected"):
    """Three tokens applied one after the other to `S^T`, against the product as written."""
    first, second, third = factors()
    state = hard_tokens().S.T
    product = first @ second @ third if form == "printed" else third @ second @ first
    return relative_error(product @ state, third @ (second @ (first @ state)))


MINUS = {
    "W": lambda x: solve(-x.A, rows(x.beta, x.K)),
    "U": lambda x: solve(-x.A_gated, rows(x.beta, x.V)),
}


@erratum(
    "ut-sign",
    source=f"{PAPER} as of 20 February 2025, before v3 of 6 March 2025): the UT transform, as "
    "quoted in fla-org/flash-linear-attention issue 191. A write-up that cites v3 has the plus",
    printed=r"\mathbf{W} = \bigl(\mathbf{I} - \mathrm{tril}(\mathrm{diag}(\beta)\mathbf{K}"
    r"\mathbf{K}^\top, -1)\bigr)^{-1}\mathrm{diag}(\beta)\mathbf{K}",
    corrected=r"\mathbf{W} = \bigl(\mathbf{I} + \mathrm{tril}(\mathrm{diag}(\beta)\mathbf{K}"
    r"\mathbf{K}^\top, -1)\bigr)^{-1}\mathrm{diag}(\beta)\mathbf{K}",
    consequence="The recursion of $\\boldsymbol{w}_r$ subtracts what the earlier tokens erased, so "
    "the sum moves to the left side with a plus. With a minus every correction is added: the "
    "outputs are off by 42 % on random unit keys, and by a factor of $10^{18}$ on keys of cosine "
    "about 0.5, where the corrections of 64 tokens pile up.",
    label="eq-wy-w",
    method="float64",
)
def ut_sign(form="corrected"):
    """Both solves with a minus, against the token loop."""
    return error(MINUS if form == "printed" else {}, hard_tokens())


def figures():
    """The measured figures in the texts above, by erratum."""
    first, second, third = factors()
    state = hard_tokens().S.T
    wrong, right = first @ second @ third @ state, third @ second @ first @ state
    return {
        "readme-product-order": [relative_error(wrong, right)],
        "ut-sign": [error(MINUS, mild_tokens())],
    }
