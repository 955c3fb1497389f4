r"""A display that divides has no value somewhere: by what it divides is said."""

import numpy as np
import pytest

from gdn_ref.proofs.printed import Draw, World, columns
from gdn_ref.proofs.printed.evaluate import Evaluator
from gdn_ref.proofs.printed.gaps import gap
from gdn_ref.proofs.printed.statements import statements
from gdn_ref.proofs.printed.undefined import undefined
from gdn_ref.proofs.printed.values import Depends

DRAW = Draw(False, 0)
S, K = r"\mathbf{S}", r"\boldsymbol{k}"
WORLD = World(
    {"d": 3, "e": 2, "a": 2.5, S: np.array([[1.0, 2], [2, -1]]), K + "_": columns(DRAW.array(3, 2)),
     "c": Depends(lambda at: 2.0 * at["x"])},
    {"t": range(1, 4), "x": [0.5, 1.5]},
)  # fmt: skip


@pytest.mark.parametrize(
    "tex, where",
    [
        (rf"{S} = \frac{{\|{S}\|^2{S}}}{{\|{S}\|^2}}", [rf"\|{S}\|^{{2}}"]),
        (rf"{S}^{{-1}}{S} = {S}{S}^{{-1}}", [rf"{S}^{{- 1}}"]),
        (
            rf"{K}_t = \frac{{{K}_t{K}_t^\top{K}_t}}{{{K}_t^\top{K}_t}}",
            [rf"{K}_{{t}}^{{\top}}{K}_{{t}}"],
        ),
        (r"a = (a^{-1})^{-1}", ["a^{- 1}"]),
        (r"a = \frac{a^2+a}{1+a}", ["1 + a"]),  # at -1
        (r"a = \Bigl(\frac{1}{2-a}\Bigr)^{-1}+2a-2", ["2 - a"]),
        (
            rf"a = \Bigl(\frac{{1}}{{a-\|{K}_t\|^2}}\Bigr)^{{-1}}+\|{K}_t\|^2",
            [
                rf"(\frac{{1}}{{a - \|{K}_{{t}}\|^{{2}}}})^{{- 1}}",
                rf"a - \|{K}_{{t}}\|^{{2}}",
            ],
        ),
        (r"a = \frac{a^3+a}{1+a^2}", []),
        (r"a = \frac{2a}{d-1}", ["d - 1"]),
        (r"a = a\Bigl(\frac{d}{d-e}\Bigr)^{-1}+\frac{a\,e}{d}", ["d - e"]),
        (r"a = \frac{a}{1-a} - \frac{a^2}{1-a}", ["1 - a"]),
        (r"a = \frac{2a}{(a-1)(a+2)} + \frac{a^3+a^2-4a}{(a-1)(a+2)}", ["(a - 1)(a + 2)"]),
        (
            rf"{S} = ({S}+\mathbf{{I}})^{{-1}}({S}+\mathbf{{I}}){S}",
            [rf"({S} + \mathbf{{I}})^{{- 1}}"],
        ),
        (r"x = \frac{x\,c}{c}", ["c"]),
        (r"x = \Bigl(\frac1x\Bigr)^{-1}", ["x"]),
        (r"x = \Bigl(\frac1x\Bigr)^{-1} \quad \text{if } x \ne 0", []),
        (r"\ln a = \ln a + 0", ["a"]),
        (r"a\,a^{t-2} = a^{t-1}", ["a^{t - 2}"]),  # below zero for the first t alone
        (r"a^2 = (a^{\frac{t+1}{2}})^2a^{1-t}", [r"a^{\frac{t + 1}{2}}", "a^{1 - t}"]),  # t = 2
        (r"a = \frac{a\,|3a-1|}{|3a-1|}", ["|3a - 1|"]),  # between two places
        (r"a = \frac{a\,(3a-1)^2}{(3a-1)^2}", ["(3a - 1)^{2}"]),
        (r"a = \frac{3a}{d}", []),  # a size counts from one
        (  # where the terms of a sum undo one another
            rf"a = \frac{{a\,\|{S}-2\,\mathbf{{I}}\|^2}}{{\|{S}-2\,\mathbf{{I}}\|^2}}",
            [rf"\|{S} - 2\mathbf{{I}}\|^{{2}}"],
        ),
        (
            rf"a = \frac{{a\,\|\mathbf{{I}}-2\,{S}^\top\|}}{{\|\mathbf{{I}}-2\,{S}^\top\|}}",
            [rf"\|\mathbf{{I}} - 2{S}^{{\top}}\|"],
        ),
        (rf"a = \frac{{a\,(1+\|{S}-\mathbf{{I}}\|)}}{{1+\|{S}-\mathbf{{I}}\|}}", []),
        (r"a = \frac{a\,(a^2-a+1)}{a^2-a+1}", []),
        (
            r"x = \frac{x\,(a^2-2a\sqrt{x}+x)}{a^2-2a\sqrt{x}+x}",  # a square, multiplied out
            ["a^{2} - 2a\\sqrt{x} + x", "x"],
        ),
        (r"a = \frac{a}{1-\tfrac{x}{d}} - \frac{a\,x}{d-x}", [r"1 - \frac{x}{d}", "d - x"]),
    ],
)
def test_where_it_has_no_value(tex, where):
    ev, stated = Evaluator(WORLD), statements(tex)
    assert gap(stated, WORLD, ev) <= 1e-9
    assert undefined(stated, ev) == where
