"""The figures of chapter 5: drawn, with the numbers that the chapter says; the widget follows."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref.figures import ch05
from gdn_ref.proofs.data import hard_inputs

STATE = np.array([[-1.0, 7.0], [-8.0, 6.0]])
STATIC = {
    "erase_and_write": (lambda: ch05.erase_and_write(STATE, np.array([0.6, 0.8]), [1, 2]), 1),
    "loss_bowl": (ch05.loss_bowl, 1),
    "loss_against_strength": (ch05.loss_against_strength, 1),
    "smallest_change": (ch05.smallest_change, 1),
    "overwriting": (ch05.overwriting, 2),
    "repetition": (ch05.repetition, 2),
    "long_stream": (ch05.long_stream, 2),
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
    assert all(axes.has_data() or axes.patches for axes in fig.axes)


def test_erase_and_write_shows_the_numbers_of_the_example():
    axes = STATIC["erase_and_write"][0]().axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("−3.4") == texts.count("3.8") == texts.count("−6.8") == 1
    assert "7.6" in texts


def test_a_full_step_lands_on_the_line_of_its_token():
    keys, values, path = ch05.rows_of(60, 2, 1.0, (-1.0, -0.9))
    np.testing.assert_allclose(path[1] @ keys[0], values[0], rtol=1e-12)
    np.testing.assert_allclose(path[2] @ keys[1], values[1], rtol=1e-12)
    assert abs(path[2] @ keys[0] - values[0]) > 0.1


def test_many_full_steps_recall_both():
    _, _, path = ch05.rows_of(60, 40, 1.0, (-1.0, -0.9))
    np.testing.assert_allclose(path[-1], ch05.RECALLS_BOTH, atol=1e-10)


@pytest.mark.parametrize("squared", [0.5, 1, 2])
def test_the_loss_returns_to_one_at_twice_the_best_strength(squared):
    axes = ch05.loss_against_strength().axes[0]
    line = next(c for c in axes.lines if c.get_label() == rf"$\|k\|^2 = {squared:g}$")
    beta, left = line.get_data()
    np.testing.assert_allclose(np.interp(1 / squared, beta, left), 0, atol=1e-3)
    if 2 / squared <= 2.5:
        np.testing.assert_allclose(np.interp(2 / squared, beta, left), 1, rtol=1e-2)


def test_only_the_delta_rule_answers_both_settings():
    timeout, retries = ch05.overwriting().axes
    for panel, truth in ((timeout, 20.0), (retries, 25.0)):
        np.testing.assert_allclose(curve(panel, "last value set")[-1], truth)
        np.testing.assert_allclose(curve(panel, "delta rule")[-1], truth, rtol=1e-9)
    np.testing.assert_allclose(curve(timeout, "linear attention")[-1], 155, rtol=1e-9)
    assert curve(retries, "decay 0.9")[-1] < 1


def test_rounds_by_similarity_and_by_strength():
    upper, lower = ch05.repetition().axes
    random, similar = curve(upper, "mean cosine 0"), curve(upper, "mean cosine 0.8")
    assert np.argmax(random < 0.01) == 14
    np.testing.assert_allclose(similar[40], 0.28, atol=0.005)
    np.testing.assert_allclose(curve(lower, r"$\beta = 1$")[-1], 0.49, atol=0.005)
    np.testing.assert_allclose(curve(lower, r"$\beta = 0.3$")[-1], 0.09, atol=0.005)


def test_rounds_start_at_one_and_fall_under_full_steps():
    _, keys, values, *_ = hard_inputs(T=8, cosine=0.3)
    limit = ch05.solved_memory(np.zeros((7, 12)), keys, values)
    distance = ch05.rounds(keys, values, 1.0, 20, limit)
    assert distance[0] == 1
    assert np.all(np.diff(distance) < 0)


@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_a_stream_follows_its_formulas(beta):
    size, left = ch05.stream(beta)
    np.testing.assert_allclose(size[400:].mean(), beta * 64 / (2 - beta), rtol=0.03)
    ages = np.arange(200)
    assert np.abs(left - beta * (1 - beta / 64) ** ages).max() < 0.08


def test_adding_grows_with_the_tokens():
    size, _ = ch05.stream(1.0, corrects=False)
    np.testing.assert_allclose(size[-1], 1200, rtol=0.1)


def test_every_slider_of_the_widget_changes_its_picture():
    picture, *sliders = ch05.loss_bowl_widget().children
    assert picture.value.startswith("<svg")
    assert len(sliders) == 5
    for slider in sliders:
        before, value = picture.value, slider.value
        slider.value = slider.max
        assert picture.value != before, slider.description
        slider.value = value
        assert picture.value == before, slider.description
