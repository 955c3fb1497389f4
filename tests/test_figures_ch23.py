"""The figures of chapter 23: drawn, right, and the page's script is the notebook's."""

import json
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref.figures import ch23
from gdn_ref.proofs.data import hard_inputs, relative_error

SCRIPT = Path(__file__).parents[1] / "book/_static/figures/family.js"
STATIC = {
    "answers": (ch23.answers, 9),
    "sub_chunks": (ch23.sub_chunks, 1),
    "division": (ch23.division, 1),
    "conditions": (ch23.conditions, 2),
    "family": (ch23.family, 1),
}
SETTINGS = list(product(ch23.DECAYS, ch23.ERASES, (False, True), (1, 2)))


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn_on_nothing(name):
    draw, panels = STATIC[name]
    fig = draw()
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    assert len(fig.axes) == panels
    assert fig.get_facecolor()[3] == 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_is_drawn_and_its_colours_reach_as_far(setting):
    ch23.family(*setting).canvas.draw()
    assert np.abs(ch23.example(ch23.Knobs(*setting))).max() <= 2.5


def test_the_names_are_those_of_the_table():
    assert ch23.Knobs("channel", "scalar").name == "KDA"
    assert ch23.Knobs("channel", "channel", True).name == "Gated DeltaNet-2"
    assert ch23.Knobs("head", "channel").name == "not in our table"
    assert len(ch23.NAMES) == 9


def counted(knobs, d_k, d_v, C):
    """The FLOPs of the products of one chunk, from the shapes that the theorem multiplies."""
    W = knobs.steps * C
    shapes = [(C, d_k, W), (C, W, d_v), (C, d_k, d_v), (d_v, W, d_k)]  # P, P U, O_0, U^T K
    if knobs.erase != "none":
        shapes += [(W, d_k, W), (W, d_k, d_v)]  # A, R_0
    solve = W * W * d_v if knobs.erase != "none" else 0
    return sum(2 * a * b * c for a, b, c in shapes) + solve


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_products_are_those_of_the_theorem(setting):
    knobs = ch23.Knobs(*setting)
    assert knobs.products(48, 32, 16) == counted(knobs, 48, 32, 16)


def test_what_stays_outside_is_the_pairs_inside_sub_chunks():
    C, c, d_k = 64, 16, 128
    pairs = sum(t // c == i // c for t in range(C) for i in range(t + 1))
    assert ch23.Knobs("channel", "scalar").elementwise(d_k, C, c) == 2 * 3 * d_k * pairs
    assert ch23.Knobs("head", "scalar").elementwise() == 0


def test_division_fails_where_borders_do_not():
    by_division, by_borders = ch23.score_errors([1e-3, 0.5, 5.0, 50.0]).T
    assert by_borders.max() < 1e-6
    assert by_division[0] < 1e-6 and np.isnan(by_division[2:]).all()


def test_one_decay_never_makes_a_chunk_harder_and_channels_do():
    one, channels = (ch23.condition_ratios(x, chunks=60) for x in (False, True))
    assert (one[:, 0] <= one[:, 1] * (1 + 1e-9)).all()
    assert 1.2 < (channels[:, 0] / channels[:, 1]).max() < 3


def test_each_slip_shows_with_a_decay_per_channel_and_one_hides_with_one_decay():
    q, k, v, g, beta, S = hard_inputs(T=32)
    channels = np.log(np.random.default_rng(3).uniform(0.7, 1, size=k.shape))
    hidden = set()
    for log_decays, per_channel in ((channels, True), (g[:, None] + 0 * k, False)):
        right, _ = ch23.slip(None)(S, q, k, v, log_decays, beta)
        for name in ch23.SLIPS:
            error = relative_error(ch23.slip(name)(S, q, k, v, log_decays, beta)[0], right)
            if error < 1e-9:
                hidden.add((name, per_channel))
    assert hidden == {("erase, then decay", False)}


def test_every_control_of_the_widget_changes_its_picture():
    picture, *controls = ch23.family_widget().children
    assert picture.value.startswith("<svg") and len(controls) == 4
    for control in controls:
        before = picture.value
        options = getattr(control, "options", None)
        control.value = options[-1] if options else not control.value
        assert picture.value != before, control.description


def test_the_script_has_the_names_and_starts_where_the_widget_does():
    text = SCRIPT.read_text()
    names = dict(re.findall(r'"(\w+ \w+ [01] [12])": "([^"]+)"', text))
    expected = {f"{d} {e} {int(w)} {s}": name for (d, e, w, s), name in ch23.NAMES.items()}
    assert names == expected
    start = re.search(r"const state = (\{.*\});", text).group(1)
    start = json.loads(re.sub(r"(\w+):", r'"\1":', start))
    _, decay, erase, write, steps = ch23.family_widget().children
    assert start == {"decay": decay.value, "erase": erase.value, "write": str(int(write.value)),
                     "steps": str(steps.value)}  # fmt: skip


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_computes_what_the_notebook_does():
    body = SCRIPT.read_text().split("(host) => {", 1)[1].split("const equation")[0]
    settings = json.dumps([[d, e, str(int(w)), str(n)] for d, e, w, n in SETTINGS])
    program = (
        body
        + "const out = [];"
        + f"for (const s of {settings}) {{"
        + "[state.decay, state.erase, state.write, state.steps] = s;"
        + "out.push({ example: example(), ...cost() }); } console.log(JSON.stringify(out));"
    )
    ran = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    for setting, found in zip(SETTINGS, json.loads(ran.stdout), strict=True):
        knobs = ch23.Knobs(*setting)
        np.testing.assert_allclose(found["example"], ch23.example(knobs), rtol=1e-12, atol=1e-12)
        assert found["bytes"] == knobs.bytes_per_token()
        assert found["flops"] == knobs.products() and found["beside"] == knobs.elementwise()
