"""A chunk under the microscope: matrices, order of the blocks, record of machine code."""

import numpy as np
import pytest

from gdn_ref import gated_delta_rule, wy
from gdn_ref.figures import ch15_microscope as microscope
from gdn_ref.figures.ch14_model import record
from gdn_ref.figures.ch15_source import line_with

B = microscope.BLOCK
PLACES = [(0.8, 0.95), (0.0, 1.0), (0.95, 0.5)]


@pytest.mark.parametrize("likeness, alpha", PLACES)
def test_the_matrices_give_the_outputs_of_the_token_loop(likeness, alpha):
    Q, K, V, g, beta, S = chunk = microscope.chunk(likeness, alpha)
    n = microscope.numbers(*chunk)
    O, _ = gated_delta_rule.recurrent(Q, K, V, g, beta, S)
    gamma = np.exp(np.cumsum(g))[:, None]
    np.testing.assert_allclose(gamma * (Q @ S.T) + n["scores"] @ n["E"], O, atol=1e-12)
    np.testing.assert_allclose(n["UT"] @ (V - gamma * (K @ S.T)), n["E"], atol=1e-12)


@pytest.mark.parametrize("likeness", [0.0, 0.6, 0.95])
def test_the_chunk_is_as_its_sliders_say(likeness):
    _, K, _, g, beta, _ = microscope.chunk(likeness, 0.95)
    assert np.sum(K[1:] * K[:-1], axis=1).mean() == pytest.approx(likeness, abs=0.06)
    assert np.exp(g).mean() == pytest.approx(0.95, abs=0.01)
    assert 0 < beta.min() and beta.max() < 1


def test_rows_and_blocks_in_their_order_are_the_inverse():
    """Each step from what is there by then alone, as its term says."""
    n = microscope.numbers(*microscope.chunk())
    A, X = n["A"], np.full((64, 64), np.nan)
    X[np.triu_indices(64, 1)] = 0
    for s in range(B):
        for a in range(0, 64, B):
            X[a + s, a : a + B] = np.eye(B)[s] - A[a + s, a : a + s] @ X[a : a + s, a : a + B]
        np.testing.assert_array_equal(np.tril(np.isfinite(X)), np.tril(microscope.filled(1 + s)))
    blocks = [slice(B * a, B * a + B) for a in range(4)]
    for step, (a, e) in enumerate(microscope.ORDER, 1 + B):
        products = [A[blocks[a], blocks[b]] @ X[blocks[b], blocks[e]] for b in range(e, a)]
        X[blocks[a], blocks[e]] = -X[blocks[a], blocks[a]] @ sum(products)
        np.testing.assert_array_equal(np.tril(np.isfinite(X)), np.tril(microscope.filled(step)))
    np.testing.assert_allclose(X, wy.solve(A, np.eye(64)), atol=1e-12)


def test_the_kernel_goes_through_the_blocks_in_this_order():
    file = microscope.T
    late = line_with(file, "for a in gl.static_range(1, BLOCKS):")
    early = line_with(file, "for e in gl.static_range(a):", late)
    assert line_with(file, "for s in gl.static_range(16):") < late
    assert late < early < line_with(file, "T_ae = -mma_v2") < line_with(file, "UT_below.index(a * ")
    assert microscope.ORDER == [(a, e) for a in range(1, 4) for e in range(a)]


def total(key, kind):
    """All instructions of a kind that the lines of a part have."""
    return sum(microscope.counts(*line[:2])[2].get(kind, 0) for line in microscope.PARTS[key][-1])


def test_products_add_up_to_the_recorded_instructions():
    """What the figure says of single steps, against the counts of whole lines."""
    assert total("rows", "FFMA") == sum(2 * s for s in range(B))
    assert total("blocks", "HMMA") == sum(2 * (a - e + 1) for a, e in microscope.ORDER)
    assert total("A", "HMMA") == 10 * 2 * 128 // 16
    assert total("E", "HGMMA") == 2 * 64 // 16 and total("scores", "HGMMA") == 2 * 128 // 16


def test_the_record_is_of_the_kernels_as_they_are():
    """By the keys of all compiled kernels, which test_aot.py compares with the source."""
    known = record("compiled")["kernels"]
    for name, kernel in record("solve_sass")["kernels"].items():
        assert kernel["key"] == known[f"sm_90 {name}"]["key"], name


def test_the_table_has_every_part():
    html, text = microscope.steps()._repr_html_(), repr(microscope.steps())
    assert all(html.count(f'<tr data-part="{key}">') == 1 for key in microscope.PARTS)
    assert "A<sub>ri</sub> = β<sub>r</sub> Γ<sub>ri</sub> k<sub>r</sub>·k<sub>i</sub>" in html
    assert "x<sub>s</sub> = e<sub>s</sub> − Σ<sub>j&lt;s</sub> A<sub>sj</sub> x<sub>j</sub>" in html
    assert "240 FFMA" in text and len(text.splitlines()) == len(microscope.PARTS)
    assert {microscope.part_of(step) for step in range(microscope.STEPS)} == set(microscope.PARTS)


def test_numbers_of_the_text():
    """What the chapter says of the block (3, 1)."""
    for likeness, in_A, in_X in ((0.95, 0.135, 0.007), (0.0, 0.109, 0.085)):
        n = microscope.numbers(*microscope.chunk(likeness))
        found = [np.abs(n[key][2 * B : 3 * B, :B]).max() for key in ("A", "blocks")]
        np.testing.assert_allclose(found, [in_A, in_X], atol=5e-4)


def test_the_notebook_draws_it():
    picture, slider = microscope.chunk_microscope_widget().children
    before = picture.value
    slider.value = 3
    assert "<svg" in before and picture.value != before
