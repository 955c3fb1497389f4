"""The figures of chapter 6: drawn, right, and the widgets follow their sliders."""

import ipywidgets as widgets
import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref.figures import ch06

STATIC = {
    "six_strengths": (ch06.six_strengths, 6),
    "rows_of_a_state": (ch06.rows_of_a_state, 3),
    "spectrum": (ch06.spectrum, 2),
    "epsilon_placements": (ch06.epsilon_placements, 1),
    "two_reflections": (ch06.two_reflections, 1),
    "growth_curves": (lambda: ch06.growth_curves({"up": [1, 10], "level": [1, 1]}), 1),
    "householder_2d": (ch06.householder_2d, 1),
    "householder_3d": (ch06.householder_3d, 1),
}
WIDGETS = {"2d": ch06.householder_2d_widget, "3d": ch06.householder_3d_widget}


def curve(axes, label):
    """The y values of the line with this label."""
    return next(line for line in axes.lines if line.get_label() == label).get_ydata()


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn(name):
    draw, panels = STATIC[name]
    fig = draw()
    assert isinstance(fig, Figure)
    assert len(fig.axes) == panels
    assert all(axes.has_data() or axes.patches for axes in fig.axes)


@pytest.mark.parametrize(
    ("beta", "name"),
    [(0, "identity"), (0.3, "partial erasure"), (1, "projection"), (1.7, "overshoot"),
     (2, "reflection"), (2.5, "growth")],
)  # fmt: skip
def test_case_names(beta, name):
    assert ch06.case_name(beta) == name


def test_projected_rows_lie_on_the_line_across_the_key():
    panel = ch06.rows_of_a_state().axes[1]
    after = np.stack(panel.lines[-1].get_data(), axis=1)
    assert np.ptp(after @ [-0.6, 0.8]) > 1
    np.testing.assert_allclose(after @ [0.8, 0.6], 0, atol=1e-12)


def test_the_norm_leaves_one_at_two():
    norm = curve(ch06.spectrum().axes[1], r"$\alpha = 1$")
    share = np.linspace(0, 3, 301)
    np.testing.assert_allclose(norm[share <= 2], 1, rtol=1e-12)
    np.testing.assert_allclose(norm[share > 2], share[share > 2] - 1, rtol=1e-12)


def test_the_turn_is_twice_the_angle_between_the_keys():
    texts = [text.get_text() for text in ch06.two_reflections(theta=35).axes[0].texts]
    assert "70°" in texts


@pytest.mark.parametrize("name", WIDGETS)
def test_every_slider_of_a_widget_changes_its_picture(name):
    picture, *sliders = WIDGETS[name]().children
    assert picture.value.startswith("<svg")
    assert len(sliders) == 4
    for slider in sliders:
        before = picture.value
        slider.value = slider.max
        assert picture.value != before, slider.description


def test_a_widget_returns_to_its_picture_with_its_slider():
    picture, beta, *_ = ch06.householder_2d_widget().children
    assert isinstance(beta, widgets.FloatSlider)
    start, value = picture.value, beta.value
    beta.value = 2.0
    beta.value = value
    assert picture.value == start
