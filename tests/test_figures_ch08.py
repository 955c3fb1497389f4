"""The figures of chapter 8: drawn, right, and the widget follows its sliders."""

from math import comb

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref.figures import ch08
from gdn_ref.figures.style import COLOUR
from gdn_ref.proofs.ch08_inverses import WAYS, paths, weight

STATIC = {
    "interaction_and_inverse": (ch08.interaction_and_inverse, 4),
    "four_paths": (ch08.four_paths, 4),
    "power_sizes": (ch08.power_sizes, 1),
    "errors_of_five_ways": (ch08.errors_of_five_ways, 1),
    "doubling": (ch08.doubling, 5),
    "conditioning": (ch08.conditioning, 1),
    "solve_paths": (ch08.solve_paths, 3),
}


def curve(axes, label):
    """The y values of the line with this label."""
    return next(line for line in axes.lines if line.get_label() == label).get_ydata()


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn(name):
    draw, panels = STATIC[name]
    fig = draw()
    assert isinstance(fig, Figure)
    assert len(fig.axes) == panels
    assert all(axes.has_data() or axes.patches or axes.images for axes in fig.axes)


def test_the_panels_show_the_matrix_its_inverse_and_the_transform():
    A, X, T = (axes.images[0].get_array().data for axes in ch08.interaction_and_inverse().axes[:3])
    np.testing.assert_allclose((np.eye(24) + A) @ X, np.eye(24), atol=1e-12)
    np.testing.assert_allclose(T, X * np.diag(T), atol=1e-12)


def test_there_are_two_to_the_tokens_between_paths():
    assert [len(paths(0, r)) for r in range(6)] == [1, 1, 2, 4, 8, 16]
    assert len(set(paths(1, 6))) == 16
    assert paths(3, 1) == []


def test_each_panel_names_the_product_of_its_path():
    titles = [axes.get_title() for axes in ch08.four_paths().axes]
    assert titles == [
        "$-A_{41}$", "$+A_{42}A_{21}$", "$+A_{43}A_{31}$", "$-A_{43}A_{32}A_{21}$",
    ]  # fmt: skip
    colours = [axes.title.get_color() for axes in ch08.four_paths().axes]
    assert colours == [COLOUR["plus" if title[1] == "+" else "minus"] for title in titles]


def test_identical_keys_reach_the_largest_binomial():
    assert curve(ch08.power_sizes().axes[0], "1").max() == pytest.approx(comb(62, 31), rel=1e-9)


@pytest.mark.parametrize("cosine", [0.0, 0.5, 0.9])
def test_powers_fail_where_keys_overlap_and_the_others_never(cosine):
    errors = ch08.float32_errors(cosine)
    assert set(errors) == set(WAYS)
    for name in ("substitution", "blocks of 16", "doubling"):
        assert errors[name] < 1e-6
    for name in ("sum of powers", "squarings"):
        assert errors[name] > 1 if cosine else errors[name] < 1e-6


def test_the_last_stage_of_doubling_is_the_inverse():
    first, *_, last = ch08.doubling().axes[:4]
    np.testing.assert_array_equal(first.images[0].get_array().data, np.eye(8))
    X = last.images[0].get_array().data
    A = ch08.correlated(8, 0.5, d_k=12)
    np.testing.assert_allclose((np.eye(8) + A) @ X, np.eye(8), atol=1e-12)


@pytest.mark.parametrize(
    ("strength", "number"), [(0.5, 27.8), (1, 82.1), (2, 6640), (2.5, 3.79e13)]
)
def test_condition_numbers_of_identical_keys(strength, number):
    assert ch08.condition(1.0, strength) == pytest.approx(number, rel=2e-3)
    assert ch08.condition(0.0, strength) == pytest.approx(1)


def test_the_terms_are_the_paths_sorted_by_length():
    a, n = 0.7, 4
    A = np.tril(np.full((6, 6), a), -1)
    by_length = [
        sum(weight(A, path) for path in paths(0, 5) if len(path) == m + 1) for m in range(1, n + 2)
    ]
    np.testing.assert_allclose(ch08.terms(n, a), by_length, rtol=1e-12)


def test_one_path_and_all_paths():
    every = ch08.solve_paths(r=5, i=1, C=5, cosine=0.8, path=0)
    assert every.axes[0].get_title() == "8 paths: -0.006"
    one = ch08.solve_paths(r=5, i=1, C=5, cosine=0.8, path=2)
    assert one.axes[0].get_title() == "1 → 2 → 5: 0.640"


def test_the_bars_are_the_terms_and_the_title_their_sum():
    bars = ch08.solve_paths(r=5, i=1, C=5, cosine=0.8).axes[2]
    heights = [bar.get_height() for bar in bars.patches]
    np.testing.assert_allclose(heights, [-0.8, 1.92, -1.536, 0.4096], rtol=1e-12)
    assert bars.get_title() == "sum -0.006"


def test_every_slider_of_the_widget_changes_its_picture():
    picture, *sliders = ch08.solve_paths_widget().children
    assert picture.value.startswith("<svg")
    assert len(sliders) == 6
    for slider in sliders:
        before, value = picture.value, slider.value
        slider.value = slider.min if slider.value != slider.min else slider.min + 1
        assert picture.value != before, slider.description
        slider.value = value
        assert picture.value == before, slider.description
