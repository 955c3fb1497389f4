"""The figures of chapter 11: drawn, right, and the page's scripts compute what the package does."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref.chunking import decay
from gdn_ref.figures import ch11, ch11_flow
from gdn_ref.proofs import ch11_extra
from gdn_ref.proofs.data import hard_inputs

SCRIPTS = Path(__file__).parents[1] / "book/_static/figures"
FIGURES = {  # name -> axes that are no colour bar
    "chunk_flow": 1,
    "interaction_and_inverse": 3,
    "slip_errors": 1,
    "hidden_slips": 1,
    "two_w_forms": 3,
}


def panels(fig):
    return [ax for ax in fig.axes if ax.get_label() != "<colorbar>"]


@pytest.mark.parametrize("name", FIGURES)
def test_each_figure_is_drawn_on_nothing(name):
    fig = getattr(ch11, name)()
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    assert len(panels(fig)) == FIGURES[name]
    assert fig.get_facecolor()[3] == 0


@pytest.mark.parametrize("box", ["A", "R", "P", "next", "O"])
def test_the_data_flow_brings_each_box_the_matrices_of_its_formula(box):
    formula = ch11_flow.TEXTS[box]
    letters = {"S": "S", "K": "k", "V": "v", "Q": "q", "E": "E"}
    needed = {name for letter, name in letters.items() if rf"\mathbf{{{letter}}}" in formula}
    if "cdot" in formula:
        needed.add("P")
    arrows = [*ch11_flow.ARROWS, *ch11_flow.ROUTES]
    assert needed == {start for start, end in map(str.split, arrows) if end == box}


def test_the_two_right_forms_agree_and_the_mixture_has_one_gamma_too_many():
    plain, inside, mixed = (ch11.w_weights(form, alpha=0.8, cosine=0.7) for form in ch11.FORMS)
    np.testing.assert_allclose(inside, plain, atol=1e-14)
    np.testing.assert_allclose(mixed, decay(np.full(8, np.log(0.8)))[1] * plain, atol=1e-14)


@pytest.mark.parametrize("hides", [{"alpha": 1.0}, {"cosine": 0.0}])
def test_the_mixture_hides(hides):
    plain, _, mixed = (ch11.w_weights(form, **hides) for form in ch11.FORMS)
    np.testing.assert_allclose(mixed, plain, atol=1e-14)


def test_hard_inputs_show_every_slip_and_easy_ones_hide_as_the_text_counts():
    hidden = {
        name: sum(error <= 1e-6 for error in column.values())
        for name, column in ch11_extra.errors_by_data().items()
    }
    assert len(ch11_extra.SLIPS) == 10
    assert hidden == {
        "hard inputs": 0,
        "no state and one chunk": 5,
        "no decay": 7,
        "orthonormal keys": 1,
        "beta = 1": 0,
        "one token in a chunk": 3,
    }


def test_the_undecayed_read_is_the_loop_that_reads_too_early():
    q, k, v, g, beta, S = hard_inputs(T=20)
    expected = S
    for t in range(20):
        delta = beta[t] * (v[t] - expected @ k[t])
        expected = np.exp(g[t]) * expected + np.outer(delta, k[t])
    _, last = ch11_extra.chunk_with("read: undecayed state")(S, q, k, v, g, beta)
    np.testing.assert_allclose(last, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("widget", [ch11.two_w_forms_widget])
def test_the_widgets_draw(widget):
    made = widget()
    assert isinstance(made.f(**made.kwargs), Figure)


def test_page_and_notebook_start_from_the_same_numbers():
    script = (SCRIPTS / "two-w-forms.js").read_text()
    state = dict(re.findall(r"(alpha|cosine|beta): ([\d.]+)", script))
    start = ch11.two_w_forms_widget().kwargs
    assert {name: start[name] for name in state} == {n: float(x) for n, x in state.items()}
