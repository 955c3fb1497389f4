"""The figures of chapter 4: drawn, right, and the page's script starts where the notebook does."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref.chunking import decay
from gdn_ref.figures import ch04, ch04_stability

SCRIPTS = Path(__file__).parents[1] / "book/_static/figures"
FIGURES = {  # draws -> axes that are no colour bar
    ch04.decay_masks: 3,
    ch04.forgetting: 1,
    ch04.stream_recall: 1,
    ch04.half_lives: 1,
    ch04.semiseparable: 2,
    ch04_stability.ratio_underflow: 1,
    ch04_stability.stability_table: 2,
}


def panels(fig):
    return [ax for ax in fig.axes if ax.get_label() != "<colorbar>"]


def words(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_each_figure_is_drawn_on_nothing(draw):
    fig = draw()
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    assert len(panels(fig)) == FIGURES[draw]
    assert fig.get_facecolor()[3] == 0


def test_a_reset_cuts_the_mask_in_two():
    causal, fading, cut = (ax.images[0].get_array() for ax in panels(ch04.decay_masks(C=8)))
    np.testing.assert_array_equal(causal, np.tril(np.ones((8, 8))))
    np.testing.assert_allclose(fading[5, 2], 0.85**3, rtol=1e-12)
    assert not cut[4:, :4].any() and (np.diag(cut) == 1).all()


def test_the_weights_halve_and_stop_at_a_reset():
    left = ch04.weights(half_life=20)
    np.testing.assert_allclose(left[[0, 20, 40]], [1, 0.5, 0.25], rtol=1e-12)
    assert ch04.weights(20, reset=30)[30] == left[30] and not ch04.weights(20, reset=30)[31:].any()


@pytest.mark.parametrize("alpha", [0.9, 0.9893, 0.999])
def test_the_stream_measures_what_the_formula_says(alpha):
    age = np.arange(40)
    measured = ch04.stream_ratios(alpha)[:40]
    np.testing.assert_allclose(
        np.log(measured / ch04.recall_ratio(alpha, age)).mean(), 0, atol=0.06
    )


def test_the_newest_token_is_read_in_full():
    measured, formula = ch04.stream_ratios(0.1)[0], ch04.recall_ratio(0.1, 0)
    assert 0.5 < measured / formula < 2


@pytest.mark.parametrize("d_k, last", [(64, 23), (128, 46), (256, 94)])
def test_the_last_token_above_noise(d_k, last):
    def best(m):
        return max(ch04.recall_ratio(alpha, m, d_k) for alpha in np.linspace(0.9, 0.9999, 2000))

    assert best(last) >= 1 > best(last + 1)


def test_a_value_is_still_named_where_the_crosstalk_is_longer():
    near, far, lost = ch04.named_in_a_stream(0.9893, (46, 100, 250), streams=100, T=1000)
    assert near > 0.98 and lost < 0.05
    assert far > 0.85 and ch04.recall_ratio(0.9893, 100) < 0.5


def test_half_lives_at_the_start():
    medians = [np.median(ch04.initial_half_lives(name)) for name in ch04.RANGES]
    np.testing.assert_allclose(medians, [9.7, 11.3, 0.066], rtol=0.03)
    fixed = ch04.retnet_half_lives()
    np.testing.assert_allclose((1 - 2.0 ** -np.arange(5, 13)) ** fixed, 0.5, rtol=1e-12)


def test_ranks_below_the_diagonal():
    gamma, scores = panels(ch04.semiseparable())
    assert sorted(words(gamma)) == ["1"] * 6 + ["8"] * 4
    assert sorted(words(scores)) == ["3"] * 6 + ["8"] * 4


def test_the_ratio_is_nan_where_the_caption_says():
    (label,) = [t for t in words(ch04_stability.ratio_underflow().axes[0]) if "NaN" in t]
    assert "13 tokens" in label


def test_what_survives_in_float32():
    table = ch04_stability.errors()
    finite = {
        (quantity, method): [bool(np.isfinite(column[method])) for column in columns.values()]
        for quantity, columns in table.items()
        for method in ch04_stability.METHODS
    }
    mild, strong, all_but_reset = [True, False, False, False], [True] * 3 + [False], [True] * 4
    assert finite == {
        ("the mask", "ratio"): mild,
        ("the mask", "exp, then mask"): strong,
        ("the mask", "mask, then exp"): strong,
        ("the mask", "sum each stretch"): all_but_reset,
        ("its gradient", "ratio"): mild,
        ("its gradient", "exp, then mask"): mild,
        ("its gradient", "mask, then exp"): strong,
        ("its gradient", "sum each stretch"): all_but_reset,
    }
    last = [column["sum each stretch"] for columns in table.values() for column in columns.values()]
    assert max(last) < 2e-7


def test_a_sum_in_a_tree_is_the_sum_but_not_monotone():
    g = -np.random.default_rng(4).uniform(size=(1000, 64)).astype(np.float32)
    g[:, 32:] = 0
    c = ch04_stability.parallel_sum(g)
    np.testing.assert_allclose(c, np.cumsum(g.astype(np.float64), axis=1), rtol=1e-5)
    assert (np.diff(c) > 0).any() and not (np.diff(np.cumsum(g, axis=1)) > 0).any()


def test_the_decay_mask_widget_draws_the_packages_mask():
    made = ch04.decay_mask_widget()
    fig = made.f(**made.kwargs | {"reset": 3})
    expected = np.full(made.kwargs["C"], np.log(made.kwargs["alpha"]))
    expected[2] = -np.inf
    np.testing.assert_array_equal(panels(fig)[0].images[0].get_array(), decay(expected)[1])


def test_every_slider_of_forgetting_changes_its_picture():
    made = ch04.forgetting_widget()
    title = made.f(**made.kwargs).axes[0].get_title()
    for change in ({"half_life": 10}, {"age": 50}, {"reset": 30}):
        assert made.f(**made.kwargs | change).axes[0].get_title() != title, change


@pytest.mark.parametrize(
    ("script", "widget", "names"),
    [
        ("decay-mask.js", ch04.decay_mask_widget, {"alpha": "alpha", "C": "C", "reset": "reset"}),
        (
            "forgetting.js",
            ch04.forgetting_widget,
            {"halfLife": "half_life", "age": "age", "reset": "reset"},
        ),
    ],
)
def test_page_and_notebook_start_from_the_same_numbers(script, widget, names):
    (state,) = re.findall(r"const state = \{(.*?)\}", (SCRIPTS / script).read_text())
    found = dict(re.findall(r"(\w+): ([\d.]+)", state))
    start = widget().kwargs
    assert {ours: float(found[theirs]) for theirs, ours in names.items()} == {
        name: start[name] for name in names.values()
    }
