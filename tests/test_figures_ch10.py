"""The figures of chapter 10: drawn, right, and the page's script starts where the notebook does."""

import re
from pathlib import Path

import ipywidgets as widgets
import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref.figures import ch10, ch10_program
from gdn_ref.proofs import ch10_orders

SCRIPT = Path(__file__).parents[1] / "book/_static/figures/alpha-beta-map.js"
STATIC = {
    "five_steps": (ch10.five_steps, 6),
    "four_rules": (lambda: ch10.four_rules({"delta rule": ch10_program.errors("delta rule")}), 2),
    "horizon": (ch10.horizon, 2),
    "order_slips": (lambda: ch10.order_slips(seeds=1), 2),
    "alpha_beta_map": (ch10.alpha_beta_map, 2),
}


def words(axes):
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn_on_nothing(name):
    draw, panels = STATIC[name]
    fig = draw()
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    assert len(fig.axes) == panels
    assert fig.get_facecolor()[3] == 0


def test_the_five_steps_show_the_numbers_of_the_example():
    shown = [words(panel) for panel in ch10.five_steps().axes]
    assert shown == [
        ["2", "1", "0", "5"], ["1", "0.5", "0", "2.5"], ["1", "2"], ["2", "−1"],
        ["2.2", "2.1", "−0.6", "1.7"], ["3", "1"],
    ]  # fmt: skip


def test_only_the_gated_rule_forgets_a_file_and_keeps_its_names():
    found = ch10_program.all_rules()
    own, others = {}, {}
    for rule, errors in found.items():
        own[rule], others[rule] = errors[ch10_program.TOKENS :].mean(0)
    assert max(own["gated delta rule"], own["delta rule"]) < 0.1 < own["decay alone"]
    assert max(others["gated delta rule"], others["decay alone"]) < 0.1 < others["delta rule"]
    assert min(own["linear attention"], others["linear attention"]) > 1


def test_the_first_file_does_not_tell_the_delta_rules_apart():
    gated, plain = (ch10_program.errors(rule)[:50] for rule in ("gated delta rule", "delta rule"))
    np.testing.assert_allclose(gated, plain, rtol=1e-9, atol=1e-15)


def test_a_file_begins_with_nothing():
    after_one = ch10_program.errors("gated delta rule")[::50]
    np.testing.assert_allclose(after_one[:, 0], 0, atol=1e-12)
    assert (after_one[:, 1] < 0.02).all()


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.5), (1.0, 1.0), (0.99, 0.0), (0.99, 1.7)])
def test_a_stream_measures_what_the_horizon_says(alpha, beta):
    measured = ch10.measured_share(alpha, beta, tokens=200)
    np.testing.assert_allclose(
        np.log(measured[-1]), np.log(ch10.share_left(alpha, beta, 200)), rtol=0.06
    )


@pytest.mark.parametrize(("beta", "ceiling"), [(0.1, 467), (0.5, 118), (1.0, 88)])
def test_the_lower_panel_levels_off(beta, ceiling):
    line = next(x for x in ch10.horizon().axes[1].lines if f"= {beta:g}$" in x.get_label())
    assert 0.9 * ceiling < line.get_ydata()[-1] < ceiling
    assert round(float(ch10.half_gone(1.0, beta))) == ceiling


def test_the_undecayed_read_grows_where_the_rule_falls():
    right, wrong = (ch10.repeated_key(order) for order in ("the rule", "read, then decay"))
    np.testing.assert_allclose(right[1:] / right[:-1], 0.4, rtol=1e-9)
    np.testing.assert_allclose(wrong[1:] / wrong[:-1], 1.3, rtol=1e-9)


def test_the_orders_differ_by_what_the_chapter_says():
    S, k, v, half = np.array([[2.0, 1], [0, 5]]), ch10.KEY, ch10.VALUE, np.array(0.5)
    outputs = {
        name: step(S, k, k, v, np.log(half), half)[0] for name, step in ch10_orders.ORDERS.items()
    }
    np.testing.assert_allclose(outputs["the rule"], [3, 1], atol=1e-12)
    np.testing.assert_allclose(outputs["read, then decay"], [2.5, 0], atol=1e-12)
    np.testing.assert_allclose(outputs["write, then decay"], [1.75, 1], atol=1e-12)
    np.testing.assert_allclose(outputs["output, then write"], [1, 2], atol=1e-12)


def test_the_map_lands_on_the_wanted_answer_at_full_strength():
    for alpha in (0.0, 0.3, 1.0):
        title = ch10.alpha_beta_map(alpha=alpha).axes[1].get_title()
        assert title == "answers 1.00, wanted 1.00"
    assert "1.00," not in ch10.alpha_beta_map(alpha=0.3, read_first=True).axes[1].get_title()


def test_every_control_of_the_widget_changes_its_picture():
    picture, *controls = ch10.alpha_beta_map_widget().children
    assert picture.value.startswith("<svg")
    assert len(controls) == 4
    for control in controls:
        before = picture.value
        box = isinstance(control, widgets.Checkbox)
        control.value = not control.value if box else control.min
        assert picture.value != before, control.description


def test_the_script_starts_where_the_widget_does():
    start = re.search(r"const state = \{ alpha: ([\d.]+), beta: ([\d.]+), angle: (\d+),",
                      SCRIPT.read_text())  # fmt: skip
    _, alpha, beta, angle, _ = ch10.alpha_beta_map_widget().children
    assert [float(x) for x in start.groups()] == [alpha.value, beta.value, angle.value]
