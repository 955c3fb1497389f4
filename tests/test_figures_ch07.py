"""The figures of chapter 7: drawn, right, and the widget and the page's script agree with them."""

import re
from pathlib import Path

import ipywidgets as widgets
import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref import wy
from gdn_ref.figures import ch07
from gdn_ref.proofs.ch07_cost import dense_cost, factored_cost, state_cost
from gdn_ref.proofs.data import equal_cosine_keys

SCRIPT = Path(__file__).parents[1] / "book/_static/figures/partial-products.js"
FIGURES = {  # draws -> axes that are no colour bar
    ch07.product_and_sum: 8,
    ch07.partial_products: 4,
    ch07.scan_tree: 1,
    ch07.rank_growth: 1,
    ch07.scan_cost: 1,
    ch07.one_more_row: 1,
    ch07.order_error: 1,
}


def panels(fig):
    return [axes for axes in fig.axes if axes.get_label() != "<colorbar>"]


def curve(axes, label):
    """The line with this label."""
    return next(line for line in axes.lines if line.get_label() == label).get_xydata().T


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_each_figure_is_drawn_on_nothing(draw):
    fig = draw()
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    assert len(panels(fig)) == FIGURES[draw]
    assert fig.get_facecolor()[3] == 0


def test_each_factor_takes_one_outer_product_away():
    axes = panels(ch07.product_and_sum())
    K, beta = ch07.some_keys()
    W, before = wy.w(K, beta), np.eye(8)
    for r, (upper, lower) in enumerate(zip(axes[:4], axes[4:], strict=True)):
        product, taken = (panel.images[0].get_array() for panel in (upper, lower))
        np.testing.assert_allclose(taken, np.outer(W[r], K[r]), atol=1e-12)
        np.testing.assert_allclose(product, before - taken, atol=1e-12)
        assert lower.get_title() == "rank 1"
        before = product


def test_any_two_keys_have_the_cosine():
    K = equal_cosine_keys(6, 0.3)
    np.testing.assert_allclose(K @ K.T, 0.7 * np.eye(6) + 0.3, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"r": 4, "cosine": 0.5}, "rank 4; product and sum differ by 0.00"),
        ({"r": 4, "cosine": 1.0}, "rank 1; product and sum differ by 0.00"),
        ({"r": 4, "cosine": 1.0, "beta": 2.0}, "rank 0; product and sum differ by 0.00"),
        ({"r": 4, "cosine": 0.5, "newest": "left"}, "rank 4; product and sum differ by 0.34"),
        ({"r": 4, "cosine": 0.0, "newest": "left"}, "rank 4; product and sum differ by 0.00"),
    ],
)
def test_the_partial_product_says_its_rank_and_whether_the_sum_follows(values, says):
    assert ch07.partial_products(**values).get_suptitle() == says


def test_ranks_add_in_the_tree():
    numbers = [text.get_text() for text in panels(ch07.scan_tree())[0].texts]
    assert numbers == ["1"] * 8 + ["2"] * 4 + ["4"] * 2 + ["8"]


def test_the_rank_doubles_until_the_map_is_dense():
    axes = panels(ch07.rank_growth())[0]
    for name in ("random keys", "cosine 0.5"):
        tokens, rank = curve(axes, name)
        np.testing.assert_array_equal(rank, np.minimum(tokens, 64))
    assert curve(axes, "16 words")[1].max() == 16


def test_the_curves_cross_where_the_caption_says():
    axes, d = panels(ch07.scan_cost())[0], 128
    loop, long = curve(axes, "token by token"), curve(axes, "one long run, factored")
    assert (long[1] > loop[1]).sum() == (long[0] >= 171).sum()
    assert factored_cost(170, d, d) < state_cost(170, d, d)
    assert factored_cost(171, d, d) > state_cost(171, d, d)
    assert factored_cost(21_843, d, d) < dense_cost(21_843, d, d)
    assert factored_cost(21_844, d, d) > dense_cost(21_844, d, d)
    tokens, chunks = curve(axes, "chunks of 64, factored")
    np.testing.assert_allclose(chunks / (2 * tokens * d * d), 1.377, atol=1e-3)
    tokens, dense = curve(axes, "scan of dense maps")
    assert round(dense[-1] / (2 * tokens[-1] * d * d)) == 128


def test_orthogonal_and_equal_keys_hide_the_order():
    for line in panels(ch07.order_error())[0].lines:
        cosine, error = line.get_xydata().T
        np.testing.assert_allclose(error[[0, -1]], 0, atol=1e-12)
        assert error[1:-1].min() > 0.01


def test_every_control_of_the_widget_changes_its_picture():
    picture, *controls = ch07.partial_products_widget().children
    assert picture.value.startswith("<svg")
    assert len(controls) == 4
    for control in reversed(controls):  # the order first: with one token it changes nothing
        before = picture.value
        control.value = "left" if isinstance(control, widgets.ToggleButtons) else control.min
        assert picture.value != before, control.description


def test_the_page_starts_where_the_notebook_does():
    start = re.search(r"state = \{ r: (\d), cosine: ([\d.]+), beta: (\d), newest: \"(\w+)\" \}",
                      SCRIPT.read_text())  # fmt: skip
    _, *controls = ch07.partial_products_widget().children
    shown = [control.value for control in controls]
    assert [int(start[1]), float(start[2]), float(start[3]), start[4]] == shown
