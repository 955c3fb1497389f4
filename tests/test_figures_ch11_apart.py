"""The chunk theorem taken apart: its displays are the chapter's, and its numbers the package's."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from gdn_ref import gated_delta_rule
from gdn_ref.figures import ch11_apart

ROOT = Path(__file__).parents[1]
CELLS = json.loads((ROOT / "chapters" / "11_chunkwise_gated_delta_rule.ipynb").read_text())["cells"]
TEXT = "".join("".join(cell["source"]) + "\n" for cell in CELLS if cell["cell_type"] == "markdown")


@pytest.mark.parametrize("label", ch11_apart.EQUATIONS)
def test_the_pieces_are_the_display(label):
    (display,) = re.findall(r"\$\$\n([^$]*)\n\$\$ \(" + label + r"\)", TEXT)
    assert "".join(tex for tex, _ in ch11_apart.EQUATIONS[label]) == display


def test_every_sign_between_the_parts_is_shown():
    signs = {t for pieces in ch11_apart.EQUATIONS.values() for t, key in pieces if not key}
    assert signs - set(ch11_apart.PLAIN) == {r"\,", ",", "."}


@pytest.mark.parametrize("alpha, beta, angle", [(0.9, 0.8, 50), (0.35, 1.7, 15), (1.0, 0.0, 90)])
def test_the_parts_make_up_the_equations(alpha, beta, angle):
    """With what the token loop gives for S', O and E."""
    n = ch11_apart.numbers(alpha, beta, angle)
    system = n["B"] @ (n["V"] - n["D"] @ n["K"] @ n["S"].T)
    np.testing.assert_allclose((np.eye(3) + n["A"]) @ n["E"], system, atol=1e-12)
    np.testing.assert_allclose(
        n["D"] @ n["Q"] @ n["S"].T + (n["Gamma"] * n["scores"]) @ n["E"], n["O"], atol=1e-12
    )
    np.testing.assert_allclose(n["end"] * n["S"] + n["E"].T @ n["to"] @ n["K"], n["next"])
    g, strengths = np.full(3, np.log(alpha)), np.full(3, beta)
    O, after = gated_delta_rule.recurrent(n["Q"], n["K"], n["V"], g, strengths, n["S"])
    np.testing.assert_allclose(n["O"], O, atol=1e-12)
    np.testing.assert_allclose(n["next"], after, atol=1e-12)


def test_shapes_are_those_that_are_printed():
    sizes = {"C": 3, "d_k": 2, "d_v": 2, "1": 1}
    for key, (_, shape, *_) in ch11_apart.PARTS.items():
        expected = tuple(sizes[name] for name in shape.split(r"\times "))
        assert ch11_apart.numbers()[key].shape == expected, key


def test_every_letter_of_an_equation_has_a_row():
    used = {key for pieces in ch11_apart.EQUATIONS.values() for _, key in pieces if key}
    assert used == set(ch11_apart.PARTS)
    html = ch11_apart.parts()._repr_html_()
    assert all(html.count(f'<tr data-part="{key}">') == 1 for key in used)


def test_as_text_it_is_the_equations():
    assert r"\mathbf{S}'=\gamma_C\,\mathbf{S}" in repr(ch11_apart.parts())
