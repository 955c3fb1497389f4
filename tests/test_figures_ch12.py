"""The figures of chapter 12: drawn, right, and the widget follows its sliders."""

import inspect

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref import backward
from gdn_ref.figures import ch12, ch12_measure
from gdn_ref.proofs.ch12_mutants import NAMES

STATIC = {
    "backward_flow": 1,
    "gradients_fade": 1,
    "border": 2,
    "mistake_table": 1,
    "kept_numbers": 1,
    "precision_against_decay": 1,
}


def curves(axes):
    return {line.get_label(): line.get_ydata() for line in axes.lines}


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn(name):
    fig = getattr(ch12, name)()
    assert isinstance(fig, Figure)
    assert len(fig.axes) == STATIC[name]
    assert all(axes.has_data() or axes.patches for axes in fig.axes)


@pytest.mark.parametrize(("angle", "beta", "alpha"), [(53, 1.0, 0.8), (10, 1.7, 0.3), (0, 0.0, 1)])
def test_the_small_chunk_is_the_reversed_token_loop(angle, beta, alpha):
    x = ch12.small_chunk(angle, beta, alpha)
    answers, dS = ch12_measure.reference_loop(x, beta, alpha)
    np.testing.assert_allclose(x["Z"], answers, atol=1e-12)
    np.testing.assert_allclose(x["dS"], dS, atol=1e-12)
    np.testing.assert_allclose(x["dg"][0], (x["S"] * dS).sum(), atol=1e-12)
    np.testing.assert_allclose(x["dV"], beta * answers, atol=1e-12)


def test_numbers_appear_with_the_step_that_computes_them():
    counts = [len(ch12.backward_flow(step).axes[0].texts) for step in range(9)]
    assert counts[0] == len(ch12.PLACES) + 3 * 6 + 4 + 9 + 6 + 4
    assert np.diff(counts).tolist() == [6, 2, 2, 2, 6 + 3, 6 + 6, 4, 3]


def test_the_solve_begins_with_the_last_row():
    assert [ch12.ready("Z", row) for row in range(3)] == [4, 3, 2]


def test_a_step_frames_what_it_uses():
    def dashed(step):
        patches = ch12.backward_flow(step).axes[0].patches
        return sum(patch.get_linestyle() == "--" for patch in patches)

    assert [dashed(step) for step in range(9)] == [len(names.split()) for names in ch12.USES]


def test_every_slider_of_the_widget_changes_its_picture():
    picture, *sliders = ch12.backward_flow_widget().children
    assert picture.value.startswith("<svg")
    assert len(sliders) == len(inspect.signature(ch12.backward_flow).parameters)
    for slider in sliders:
        before = picture.value
        slider.value = slider.max
        assert picture.value != before, slider.description


def test_what_the_table_of_mistakes_shows():
    shown = ch12_measure.error_table() > 1e-6
    assert shown.shape == (21, 6)
    assert shown.any(axis=1).all()
    right = dict(zip(NAMES, (~shown).sum(axis=0), strict=True))
    assert (right["q"], right["v"], right["S"], right["g"]) == (19, 14, 14, 3)
    assert (shown.sum(axis=1) == 1).sum() == 5


def test_what_easy_data_hides():
    counts = {data: (len(a), len(b)) for data, (a, b) in ch12_measure.hidden().items()}
    assert counts["hard inputs"] == (0, 3)
    assert counts["one chunk, empty states"][0] == 8
    assert all(easy[0] > 0 for data, easy in counts.items() if data != "hard inputs")


@pytest.mark.parametrize("way", ch12_measure.WAYS)
def test_each_way_to_dg_is_right_in_float64(way):
    given = ch12_measure.chunk_with_decay(0.7)
    right = backward.chunk(*given)[4]
    np.testing.assert_allclose(ch12_measure.WAYS[way](*given), right, rtol=1e-8, atol=1e-9)


def test_what_dot_products_add_is_the_rectangle():
    J = ch12.score_gradients()
    for r in range(len(J)):
        assert J[r:].sum() - J[:, r:].sum() == pytest.approx(J[r:, :r].sum(), abs=1e-9)


def test_the_curves_of_precision():
    found = curves(ch12.precision_against_decay().axes[0])
    assert max(found["crossing"]) < 2e-6
    assert found["dot products"][0] < 2e-6
    assert found["dot products"][-1] > 1e-2
    assert found["row and column sums"][-1] > 1e-2


def test_the_gradient_fades_by_alpha_a_token():
    found = curves(ch12.gradients_fade().axes[0])
    np.testing.assert_allclose(found["nothing decays, nothing is erased"], 1)
    np.testing.assert_allclose(
        found["decay alone, α = 0.95"], 0.95 ** np.arange(64, 0, -1), rtol=1e-9
    )
    assert (found["both"] <= found["decay alone, α = 0.95"] + 1e-12).all()


def test_what_autograd_keeps():
    C, rows, library = (
        64,
        *map(ch12_measure.kept_by_inverse, (ch12_measure.by_rows, ch12_measure.by_library)),
    )
    assert rows == C * C * (C + 1) / 2
    assert library <= 2 * C * C
    found = curves(ch12.kept_numbers().axes[0])
    assert found["token loop, autograd"][0] > 2 * 64 * 64
    assert (found["chunks, by hand"] < found["chunks, autograd"]).all()
