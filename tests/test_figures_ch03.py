"""The figures of chapter 3: drawn, counted right, and the page starts where the notebook does."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gdn_ref.figures import ch03, ch03_counts

SCRIPT = Path(__file__).parents[1] / "book/_static/figures/chunk-mask.js"
FIGURES = {  # draws -> axes
    ch03.three_forms: 3,
    ch03.chunk_mask: 2,
    ch03.two_passes: 1,
    ch03.intensity: 1,
    ch03.best_size: 1,
    ch03_counts.flops_against_length: 1,
    ch03_counts.storage: 1,
}


def curve(ax, label):
    """The points of the line with this label."""
    return next(line for line in ax.lines if line.get_label() == label).get_data()


def marks(ax, marker, colour):
    """The points drawn with this marker in this colour, outside of a line."""
    return {
        (x, y)
        for line in ax.lines
        if line.get_marker() == marker and line.get_color() == ch03.COLOUR[colour]
        for x, y in zip(*line.get_data(), strict=True)
    }


def area(ax, colour):
    """The area of the rectangles filled with this colour."""
    return sum(
        patch.get_width() * patch.get_height()
        for patch in ax.patches
        if isinstance(patch, Rectangle)
        and patch.get_fill()
        and to_rgb(patch.get_facecolor()) == to_rgb(ch03.COLOUR[colour])
    )


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_each_figure_is_drawn_on_nothing(draw):
    fig = draw()
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    assert len(fig.axes) == FIGURES[draw]
    assert fig.get_facecolor()[3] == 0


def test_the_triangle_is_covered_once():
    for ax, (scored, through) in zip(
        ch03.three_forms().axes, ((12, 66), (30, 48), (78, 0)), strict=True
    ):
        assert (area(ax, "key"), area(ax, "state")) == (scored, through)


def test_a_ragged_triangle_is_covered_once():
    ax = ch03.chunk_mask(C=7).axes[0]
    assert area(ax, "key") + area(ax, "state") == 24 * 25 / 2


@pytest.mark.parametrize(
    ("C", "t", "i", "words"),
    [(6, 15, 12, "through a state"), (6, 15, 13, "scores"), (6, 15, 15, "scores"),
     (6, 15, 16, "masked"), (6, 15, 19, "never"), (1, 15, 14, "through a state")],
)  # fmt: skip
def test_how_a_reader_gets_at_a_writer(C, t, i, words):
    assert words in ch03.pair_says(C, t, i)


def test_multiplications_of_the_moving_figure():
    ends = ch03.multiplications(24, 24, 8)
    assert ends["chunks"] == ends["recurrence"] + ends["one product"]
    square = ch03.multiplications(24, 6, 24)
    assert square["recurrence"] == square["one product"]
    assert ch03.multiplications(10, 4, 3)["chunks"] == 2 * 9 * 10 + 2 * 3 * (16 + 16 + 4)


@pytest.mark.parametrize("C", [16, 64, 512])
def test_torch_counts_what_the_formula_says(C):
    counted = ch03_counts.counted_flops(512, C, d_k=32, d_v=16)
    assert counted == 512 * ch03.chunk_flops(C, 32, 16)


@pytest.mark.parametrize("C", [8, 32, 256])
def test_autograd_keeps_a_state_and_a_block_for_each_chunk(C):
    states, scores = ch03_counts.kept_numbers(256, C, d_k=24, d_v=16)
    assert (states, scores) == (256 // C * 24 * 16, 256 * C)


def test_counted_marks_lie_on_their_lines():
    ax = ch03_counts.flops_against_length().axes[0]
    for marker, colour, label in (
        ("o", "second", "recurrence"),
        ("s", "ink", "chunks of 64"),
        ("^", "first", "one product"),
    ):
        x, y = np.log(curve(ax, label))
        points = np.log(sorted(marks(ax, marker, colour)))
        assert len(points) > 1
        np.testing.assert_allclose(points[:, 1], np.interp(points[:, 0], x, y), rtol=1e-6)


def test_the_least_storage_is_counted_at_the_width():
    kept = {x: y for x, y in marks(ch03_counts.storage().axes[0], "s", "ink")}
    assert min(kept, key=kept.get) == 128 and kept[128] == 256


def test_intensities():
    ax = ch03.intensity().axes[0]
    through, on_chip = ((dict(zip(*line.get_data(), strict=True))) for line in ax.lines[:2])
    assert (through[1], through[64], on_chip[64]) == (0.5, 32, 96)


def test_the_best_size_beats_its_neighbours():
    def time(C):
        return ch03.chunk_flops(C, 128, 64) + ch03.RIDGE * ch03.chunk_bytes(C, 128, 64)

    best = ch03.best_chunk_size(128, 64)
    assert time(best) < min(time(0.99 * best), time(1.01 * best))


def test_every_slider_changes_the_picture():
    made = ch03.chunk_mask_widget()

    def seen(**change):
        fig = made.f(**made.kwargs | change)
        ring = fig.axes[0].patches[-1].get_xy()
        return fig.axes[0].get_title(), ring, [text.get_text() for text in fig.axes[1].texts]

    for change in ({"C": 4}, {"d": 9}, {"t": 16}, {"i": 5}):
        assert seen(**change) != seen(), change


def test_page_and_notebook_start_from_the_same_numbers():
    script = SCRIPT.read_text()
    (state,) = re.findall(r"const state = \{(.*?)\}", script)
    start = ch03.chunk_mask_widget().kwargs
    assert {name: int(value) for name, value in re.findall(r"(\w+): (\d+)", state)} == start
    assert f"tokens = {ch03.TOKENS}," in script
