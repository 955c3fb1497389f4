r"""A fraction that could be reduced has no value where its common factor is zero."""

import pytest

from gdn_ref.proofs.printed import Draw, World
from gdn_ref.proofs.printed.evaluate import Evaluator
from gdn_ref.proofs.printed.gaps import gap
from gdn_ref.proofs.printed.lowest import reducible
from gdn_ref.proofs.printed.statements import statements

DRAW = Draw(False, 0)
K, Q = (rf"\boldsymbol{{{x}}}" for x in "kq")
WORLD = World(
    {"a": 6, "b": 3, "c": 2, "n": 4, "u": 1.5}
    | {name: DRAW.array(2, 1) for name in (K, Q)}
    | {r"\mathbf{S}": DRAW.array(2, 2)}
)  # fmt: skip


@pytest.mark.parametrize(
    "side, common",
    [
        (r"\frac{(a-1)^2}{a-1}", True),
        (r"\frac{a^2-b^2}{a+b}", True),
        (r"\frac{a^3-a}{a-\frac1a}", True),
        (r"\frac{u^{n+1}}{u}", True),
        (rf"\frac{{({K}^\top {Q})^2}}{{{Q}^\top {K}}}", True),
        (r"\frac{1}{b}\,\frac{a\,b}{c}", True),
        (rf"({K}^\top {Q})^2\,({K}^\top {Q})^{{-1}}", True),
        (r"\mathbf{S}\,\mathbf{S}^\top\,\mathbf{S}^{-1}", False),
        (r"a\,b^{-1}", False),
        (r"2^{\log_2 a}", True),
        (r"\exp(c + \ln a)", True),
        (r"\exp(a)\ln(b)", False),
        (r"\frac{a+b}{a-b}", False),
        (r"\frac{u^n}{u}", False),
        (rf"\frac{{\mathbf{{S}} {Q}}}{{{K}^\top {Q}}}", False),
        (r"\frac{6\,a}{4}", False),
    ],
)
def test_what_could_be_reduced(side, common):
    stated, ev = statements(f"{side} = {side}\\cdot 1"), Evaluator(WORLD)
    gap(stated, WORLD, ev)
    assert bool(list(reducible(stated, ev))) == common
