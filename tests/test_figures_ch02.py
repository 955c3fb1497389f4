"""The figures of chapter 2: drawn, right, and the page's script starts where the notebook does."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref import gated_delta_rule, linear_attention
from gdn_ref.figures import ch02, ch02_recognition

SCRIPT = Path(__file__).parents[1] / "book/_static/figures/crosstalk.js"
FIGURES = {  # draws -> axes that are no colour bar
    ch02.overlaps: 3,
    ch02.crosstalk_growth: 1,
    ch02.three_memories: 1,
    ch02_recognition.recognition: 1,
    ch02.growth: 1,
    ch02.crosstalk: 2,
}


def panels(fig):
    return [ax for ax in fig.axes if ax.get_label() != "<colorbar>"]


def lines(fig):
    """The line of each label, of a figure with one panel."""
    return {line.get_label(): line for line in fig.axes[0].lines}


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_each_figure_is_drawn_on_nothing(draw):
    fig = draw()
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    assert len(panels(fig)) == FIGURES[draw]
    assert fig.get_facecolor()[3] == 0


def test_keys_have_length_one_and_positive_features_no_negative_overlap():
    for name in ch02.FEATURES:
        np.testing.assert_allclose(np.linalg.norm(ch02.keys_of(name, 9, 16), axis=1), 1)
    for name, least in (("none", -1), ("ReLU", 0), ("ELU + 1", 0)):
        K = ch02.keys_of(name, 200, 16)
        assert ((K @ K.T).min() >= 0) == (least == 0), name


def test_the_gram_matrices_of_the_overview():
    orthonormal, random, positive = (
        np.asarray(ax.images[0].get_array()) for ax in panels(ch02.overlaps())
    )
    np.testing.assert_allclose(orthonormal, np.eye(24), atol=1e-12)
    assert random.min() < 0 < positive.min()
    assert 0.4 < ch02.squared_crosstalk(random) < 1 < ch02.squared_crosstalk(positive)


@pytest.mark.parametrize(
    ("feature", "widths"),
    [("none", (32, 128)), ("SiLU", (24.3, 47.5)), ("ReLU", (8.1, 9.35)), ("ELU + 1", (2.06, 2.11))],
)
def test_effective_widths(feature, widths):
    found = [ch02.effective_width(feature, d_k) for d_k in (32, 128)]
    np.testing.assert_allclose(found, widths, rtol=0.02)


def test_no_wide_head_with_relu_passes_pi_squared():
    assert 9.6 < ch02.effective_width("ReLU", 512) < np.pi**2


@pytest.mark.parametrize("feature", ch02.FEATURES)
def test_crosstalk_follows_the_width(feature):
    width = ch02.effective_width(feature, 128)
    for n in (64, 512):
        measured = ch02.measured_crosstalk(feature, n)
        np.testing.assert_allclose(measured, (n - 1) / width, rtol=0.15)


def test_the_memories_follow_their_formulas():
    for n in (48, 128):
        K, x = ch02.keys_of("none", n, 64), (n - 1) / 64
        expected = {"sum": x, "scaled": x / (1 + x), "least squares": max(0, 1 - 64 / n)}
        for memory, error in expected.items():
            found = ch02.squared_errors(K, memory=memory)
            np.testing.assert_allclose(found, error, rtol=0.12, atol=1e-12)


def test_least_squares_is_exact_up_to_the_width():
    dots = lines(ch02.three_memories())["least squares"]
    load, error = dots.get_data()
    assert (error[load <= 1] < 1e-12).all() and (error[load > 1] > 0.1).all()


@pytest.mark.parametrize(("n", "candidates"), [(256, 2048), (768, 2048), (1024, 16384)])
def test_recognition_follows_the_normal_scores(n, candidates):
    found = np.mean([ch02_recognition.recognised(n, candidates, seed=seed) for seed in range(3)])
    np.testing.assert_allclose(
        found, ch02_recognition.recognition_formula(n, candidates), atol=0.04
    )


def test_the_rule_of_thumb_names_half_of_the_values():
    for candidates, d_k, tolerance in ((2**17, 128, 0.02), (2**17, 64, 0.02), (2**11, 128, 0.2)):
        half = ch02_recognition.pairs_named(0.5, candidates, d_k)
        rule = d_k * 128 / (2 * np.log(candidates))
        np.testing.assert_allclose(half, rule, rtol=tolerance)


@pytest.mark.parametrize("level", [0.5, 0.99])
def test_the_search_ends_where_the_share_falls_below_the_level(level):
    pairs = ch02_recognition.pairs_named(level, 2048)
    shares = [ch02_recognition.recognition_formula(n, 2048) for n in (pairs, pairs + 1)]
    assert shares[0] >= level > shares[1]


def test_a_sum_names_the_old_and_the_new_value_alike_and_the_delta_rule_does_not():
    def add(K, V):
        return linear_attention.recurrent(K, K, V)[1]

    def correct(K, V):
        return gated_delta_rule.recurrent(K, K, V, np.zeros(len(K)), np.ones(len(K)))[1]

    new, old = ch02_recognition.renamed(add, draws=10)
    np.testing.assert_allclose([new, old], 0.5, atol=0.06)
    new, old = ch02_recognition.renamed(correct, draws=10)
    assert new > 0.98 and old < 0.01


def test_one_sign_grows_with_the_tokens_two_signs_with_their_root():
    tokens, powers = np.geomspace(2**6, 2**16, 200).astype(int), {}
    for name in ("ReLU", "none"):
        runs = np.array([ch02.denominators(name, seed=seed) for seed in range(20)])
        size = np.sqrt(np.mean(runs**2, axis=0))[tokens - 1]
        powers[name] = np.polyfit(np.log(tokens), np.log(size), 1)[0]
    np.testing.assert_allclose([powers["ReLU"], powers["none"]], [1, 0.5], atol=0.1)
    per_token = np.mean([ch02.denominators("ReLU", seed=seed)[-1] for seed in range(50)]) / 2**16
    np.testing.assert_allclose(per_token, 32 / (2 * np.pi), rtol=0.1)


def test_reads_in_the_plane():
    K, reads = ch02.plane_reads((0, 60, 150))
    np.testing.assert_allclose(reads, K @ K.T)
    np.testing.assert_allclose(reads[0], [1, 0.5, -np.sqrt(3) / 2])
    best = ch02.plane_reads((0, 60, 150), best=True)[1]
    np.testing.assert_allclose(np.trace(np.eye(3) - best), 1)
    np.testing.assert_allclose(ch02.plane_reads((0, 60), best=True)[1], np.eye(2), atol=1e-12)
    np.testing.assert_allclose(ch02.plane_reads((40, 40), best=True)[1], np.full((2, 2), 0.5))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_evenly_spread_keys_reach_the_floor(n):
    reads = ch02.plane_reads(180 * np.arange(n) / n)[1]
    np.testing.assert_allclose(np.sum((reads - np.eye(n)) ** 2) / n, n / 2 - 1, atol=1e-12)


def test_every_slider_of_the_widget_changes_its_picture():
    made = ch02.crosstalk_widget()

    def picture(values):
        left, right = made.f(**values).axes
        points = [tuple(np.round(line.get_data()[0], 6)) for line in left.lines[1:]]
        return left.get_title(), [text.get_text() for text in right.texts], points

    start = picture(made.kwargs)
    for change in ({"n": 4}, {"best": True}, {"k1": 20}, {"k2": 20}, {"k3": 20}):
        assert picture(made.kwargs | change) != start, change
    for change in ({"k4": 20}, {"k5": 20}):
        wide = made.kwargs | {"n": 5}
        assert picture(wide | change) != picture(wide), change


def test_the_pages_script_starts_with_the_notebooks_keys():
    start = re.search(r"START = \[([\d, ]+)\]", SCRIPT.read_text()).group(1)
    assert tuple(int(angle) for angle in start.split(",")) == ch02.START
    assert re.search(r"let pairs = (\d)", SCRIPT.read_text()).group(1) == "3"
    assert ch02.crosstalk_widget().kwargs["n"] == 3
