"""The figures of chapter 19: drawn, right, and with the numbers of the package."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref.figures import ch19, ch19_parts
from gdn_ref.figures.ch14_model import record
from gdn_ref.figures.ch20_models import MODELS, NEXT
from gdn_ref.proofs import ch19_gate, ch19_sizes, ch20_model
from gdn_ref.proofs.ch19_convolution import successors

STATIC = {
    "register": 1,
    "band": 1,
    "gate_start": 1,
    "norm_scale": 1,
    "sizes": 2,
    "padding": 1,
    "block_diagram": 1,
}


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn(name):
    fig = getattr(ch19, name)()
    assert isinstance(fig, Figure)
    assert len(fig.axes) == STATIC[name]
    assert all(axes.has_data() or axes.patches for axes in fig.axes)


@pytest.mark.parametrize("W, shift", [(2, 1), (4, 1)])
def test_a_shift_answers_with_the_successor(W, shift):
    text = np.random.default_rng(3).integers(7, size=120)
    assert ch19.predictions(ch19.successor_layer(7, W, shift), text) == successors(text)


def test_without_a_shift_the_layer_says_the_token_itself():
    text = np.random.default_rng(3).integers(7, size=120)
    assert ch19.predictions(ch19.successor_layer(7, 1, 0), text) == list(text)


def test_drawn_heads_follow_the_formula():
    lives = np.sort(ch19.drawn_half_lives(20_000))
    drawn = 1 - np.arange(len(lives)) / len(lives)
    assert np.abs(drawn - ch19_gate.longer(lives)).max() < 0.015
    assert lives.min() > np.log(2) / 1.6 and lives.max() < np.log(2) / 1e-5


@pytest.mark.parametrize("model", MODELS)
def test_the_boxes_add_up_to_the_layer(model):
    x = MODELS[model]
    sums = {
        what: sum(getattr(part, what)(x) for part in ch19_parts.PARTS)
        for what in ("parameters", "flops", "keeps")
    }
    assert sums["parameters"] == ch19_sizes.parameters(x)
    assert sums["flops"] == 2 * ch20_model.linear_weights(x) + ch20_model.step_flops(x) / x.linear
    assert sums["keeps"] == ch19_sizes.cache_bytes(x)
    groups = {what: ch19.parts_of(x, what) for what in ("parameters", "flops")}
    assert all(sum(groups[what].values()) == sums[what] for what in groups)


def test_the_script_has_the_boxes():
    script = ch19_parts.SCRIPT.read_text()
    assert ch19_parts.written(script) == script
    for n, part in enumerate(ch19_parts.PARTS):
        assert all(source in [p.key for p in ch19_parts.PARTS[:n]] for source in part.after)


def test_what_the_chapter_says():
    shares = [row[3] for row in ch19.table()]
    assert shares[0] == pytest.approx(0.059, abs=5e-4)
    assert 0.02 < min(shares) < max(shares) < 0.06
    assert ch19_parts.window(NEXT) == 48 * 1024
    x, small = NEXT, ("alpha", "conv", "norm")
    numbers = sum(ch19_parts.BY_KEY[key].parameters(x) for key in small)
    assert numbers / ch19_sizes.parameters(x) == pytest.approx(0.001, abs=3e-4)
    assert 2 * ch19_parts.BY_KEY["z"].parameters(x) / ch19_sizes.parameters(x) == pytest.approx(
        0.5, abs=0.01
    )
    for tokens, share in ((1, 0.941), (64, 0.145), (1024, 0.008)):
        assert ch19_gate.longer(tokens) == pytest.approx(share, abs=5e-4)
    assert ch19.loudness(np.sqrt(128e-6), 1e-6, 128**-0.5) == pytest.approx(2**-0.5)


def test_every_menu_of_the_widget_changes_its_picture():
    picture, *menus = ch19.block_diagram_widget().children
    assert re.match("<svg", picture.value)
    for menu in menus:
        before = picture.value
        menu.value = menu.options[-1][1] if menu.description == "box" else menu.options[-1]
        assert picture.value != before, menu.description


def test_what_the_chapter_says_of_flas_layer():
    rows = [row for row in record("layer_h100")["rows"] if row["layer"] == "Qwen3-Next"]
    assert [row["negative"] for row in rows] == [False, True]
    for row in rows:
        assert 1e-3 < row["rest"] < 1.5e-3  # little more than a part in a thousand
        assert row["exact"] > 5e-3 and row["exact"] == pytest.approx(row["apart"], rel=0.03)
