"""Keys that act on rows: drawn, right, and the widget follows its sliders."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref import delta_rule
from gdn_ref.figures import ch07_reflections as figure

ROWS, K = figure.screw(), figure.on_sphere(figure.KEYS)


@pytest.mark.parametrize("taken", range(7))
def test_both_ways_are_the_token_loop_that_writes_nothing(taken):
    keys, beta = K[:taken], np.linspace(0.3, 2, 6)[:taken]
    nothing = np.zeros((taken, len(ROWS)))
    expected = delta_rule.recurrent(keys, keys, nothing, beta, ROWS)[1] if taken else ROWS
    path = figure.step_by_step(ROWS, keys, beta)
    assert len(path) == taken + 1
    np.testing.assert_allclose(path[-1], expected, atol=1e-14)
    np.testing.assert_allclose(figure.at_once(ROWS, keys, beta), expected, atol=1e-14)


def test_what_the_chapter_says_of_it():
    """Strengths of 2 keep lengths and mirror; one of 1 flattens, and no later key undoes it."""
    for taken in range(1, 7):
        last = figure.step_by_step(ROWS, K[:taken], np.full(taken, 2.0))[-1]
        np.testing.assert_allclose(np.linalg.norm(last, axis=1), np.linalg.norm(ROWS, axis=1))
        P = np.linalg.lstsq(ROWS, last, rcond=None)[0]
        np.testing.assert_allclose(np.linalg.det(P), (-1) ** taken)
        beta = np.full(taken, 1.3)
        beta[0] = 1
        flat = figure.step_by_step(ROWS, K[:taken], beta)[-1]
        assert np.linalg.matrix_rank(flat, tol=1e-12) == 2


def test_keys_have_length_one_and_stand_on_the_near_side():
    np.testing.assert_allclose(np.linalg.norm(K, axis=1), 1)
    towards_us = figure.on_sphere((30, 18))
    assert (K @ towards_us > 0.1).all()
    assert np.linalg.norm(ROWS, axis=1).max() < 1  # so they stay inside the sphere


def test_it_is_drawn_and_says_how_far_the_ways_are_apart():
    fig = figure.reflections(taken=6, beta=1.3)
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    title = fig.axes[0].get_title()
    assert title.startswith("6 keys, determinant 0.00;")
    assert float(re.search(r"differ by (.*)", title)[1]) < 1e-15
    lines = [line.get_xydata() for line in fig.axes[0].lines]
    before, after, rings = (line for line in lines if len(line) == 60)
    assert np.abs(before - after).max() > 0.1
    np.testing.assert_allclose(after, rings, atol=1e-14)


def test_every_slider_of_the_widget_changes_its_picture():
    picture, *sliders = figure.reflections_widget().children
    assert len(sliders) == 4
    for slider in sliders:
        before = picture.value
        slider.value = slider.min if slider.value > 0 else slider.max
        assert picture.value != before, slider.description
        slider.value = slider.max
