"""The figures of chapter 1 show what their captions say."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref import linear_attention
from gdn_ref.figures import ch01, ch01_answers

SCRIPT = Path(__file__).parents[1] / "book/_static/figures/state-matrix.js"


def texts(fig):
    return [text.get_text() for ax in fig.axes for text in ax.texts]


@pytest.mark.parametrize(
    "draw",
    [
        ch01.cache_and_state,
        lambda: ch01.bytes_against_tokens(2**17, 2**24, 128),
        lambda: ch01.by_hand([[0.6, 0.8], [-0.8, 0.6]], [[5, 0], [5, 10]]),
        ch01.score_spectra,
        ch01.masked_scores,
        ch01.work_per_token,
        ch01.state_matrix,
    ],
    ids=["cache", "bytes", "hand", "spectra", "masks", "work", "state"],
)
def test_figures_are_drawn_on_nothing(draw):
    fig = draw()
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    assert fig.get_facecolor()[3] == 0


def test_by_hand_shows_the_sum_of_the_outer_products():
    fig = ch01.by_hand([[0.6, 0.8], [-0.8, 0.6]], [[5, 0], [5, 10]])
    numbers = [text.replace("−", "-") for text in texts(fig) if re.fullmatch(r"−?\d+", text)]
    assert [int(n) for n in numbers] == [3, 4, 0, 0, -4, 3, -8, 6, -1, 7, -8, 6]


def test_the_spectrum_without_exponential_ends_at_the_width():
    with_exponential, without = ch01.score_spectra(tokens=32, d=4).axes[0].lines[:2]
    assert len(without.get_ydata()) == 4
    assert np.all(np.asarray(with_exponential.get_ydata()) > 1e-15)


def test_the_counts_cross_at_the_width():
    dense, step = (
        line.get_ydata() for line in ch01.work_per_token(d=6, tokens=10).axes[0].lines[:2]
    )
    np.testing.assert_array_equal(dense, 12 * np.arange(1, 11))
    assert dense[5] == step[5] == 72


def test_two_tokens_are_read_exactly_and_the_third_interferes():
    keys, values = ch01.directions(ch01.KEY_DEGREES), np.array(ch01.VALUES)
    _, S = linear_attention.recurrent(keys[:2], keys[:2], values[:2])
    np.testing.assert_allclose(keys[:2] @ S.T, values[:2], atol=1e-15)
    _, S = linear_attention.recurrent(keys[:3], keys[:3], values[:3])
    assert np.all(np.linalg.norm(keys[:2] @ S.T - values[:2], axis=-1) > 1)


def test_the_read_out_is_written_into_the_figure():
    shown = [float(n.replace("−", "-")) for n in texts(ch01.state_matrix(2, 0)) if "." in n]
    assert shown == [2, 0, 0, 1, -1, 2, 2, 0, -1]  # S row by row, then S q


def test_the_script_on_the_page_has_the_same_tokens():
    script = SCRIPT.read_text()
    keys, values = (
        ast.literal_eval(re.search(rf"const {name} = (\[.*\]);", script)[1])
        for name in ("KEYS", "VALUES")
    )
    assert tuple(keys) == ch01.KEY_DEGREES
    np.testing.assert_array_equal(values, ch01.VALUES)


def test_the_notebook_twin_has_two_sliders():
    tokens, degrees = ch01.state_matrix_widget().children[:2]
    assert (tokens.min, tokens.max) == (0, len(ch01.VALUES))
    assert (degrees.min, degrees.max) == (0, 355)


def test_four_rules_answer_as_the_opening_says():
    """The pictures' alt texts in chapter 1 and on the first page give these numbers."""
    said = ch01_answers.answers()
    at_the_end, in_the_next = (
        {rule: x[line - 1].round().tolist() for rule, x in said.items()}
        for line in (ch01_answers.END, ch01_answers.LINES)
    )
    right = [60, 25]
    assert list(at_the_end.values()) == [[90, 25], [23, 2], right, right]
    assert list(in_the_next.values()) == [[90, 25], [0, 0], right, [0, 0]]
    np.testing.assert_array_equal(ch01_answers.truth()[[ch01_answers.END - 1, -1]], [right, [0, 0]])


def test_only_the_gated_delta_rule_is_right_in_all_four_places():
    wrong = {
        rule: np.abs(x - ch01_answers.truth())[[ch01_answers.END - 1, -1]].max() > 0.5
        for rule, x in ch01_answers.answers().items()
    }
    assert [rule for rule, is_wrong in wrong.items() if not is_wrong] == ["gated delta rule"]
    texts = [text.get_text() for ax in ch01_answers.four_answers().axes for text in ax.texts]
    assert len(texts) == 16 and texts.count("90 ✗") == 2 and texts.count("0 ✓") == 4
