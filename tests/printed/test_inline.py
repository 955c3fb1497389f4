"""The formulas inside of sentences: found, evaluated or listed, and noticed where they change."""

import json

import pytest

from gdn_ref.proofs.printed import inline, load
from gdn_ref.proofs.printed.source import CHAPTERS
from gdn_ref.proofs.printed.statements import statements

ALTERED = [  # a chapter, what a sentence of it says, and what it must not say
    ("01", r"\mathbf{V}^\top\mathbf{K} = \sum_i", r"\mathbf{K}^\top\mathbf{V} = \sum_i"),
    ("02", r"\rho_{ij} = \boldsymbol{k}_i^\top", r"\rho_{ij} = 2\boldsymbol{k}_i^\top"),
    ("03", r"\bar d = 2 d_k d_v / (d_k + d_v)", r"\bar d = d_k d_v / (d_k + d_v)"),
    ("04", r"\alpha_r\gamma_{r-1} = \gamma_r", r"\alpha_{r-1}\gamma_{r-1} = \gamma_r"),
    ("05", r"\beta_t = 1/\|\boldsymbol{k}_t\|^2", r"\beta_t = 1/\|\boldsymbol{k}_t\|"),
    ("06", r"\boldsymbol{k} - \beta\,\boldsymbol{k}\,\|",
     r"\boldsymbol{k} + \beta\,\boldsymbol{k}\,\|"),
    ("07", r"\boldsymbol{u}_r = \beta_r(\boldsymbol{v}_r - \mathbf{H}^{r-1}",
     r"\boldsymbol{u}_r = \beta_r(\boldsymbol{v}_r - \mathbf{H}^{r}"),
    ("08", r"\mathbf{B}\mathbf{K} - \mathbf{A}\mathbf{W}",
     r"\mathbf{B}\mathbf{K} + \mathbf{A}\mathbf{W}"),
    ("08", r"-\sum_{i \le s < r} A_{rs}", r"-\sum_{i < s < r} A_{rs}"),  # one with "where"
    ("09", r"\mathbf{S}+\sum_{i<r}\boldsymbol{\delta}_i",
     r"\mathbf{S}+\sum_{i\le r}\boldsymbol{\delta}_i"),
    ("10", r"g_t = \ln\alpha_t", r"g_t = -\ln\alpha_t"),
    ("10", r"g_t = \ln\alpha_t", r"g_t = \alpha_t"),  # two letters alone
    ("11", r"\tilde{\mathbf{A}}\mathbf{D}_\gamma=\mathbf{D}_\gamma\mathbf{A}",
     r"\mathbf{A}\mathbf{D}_\gamma=\mathbf{D}_\gamma\tilde{\mathbf{A}}"),
    ("12", r"\mathbf{S}_t=\bar{\mathbf{S}}+\boldsymbol{\delta}_t",
     r"\mathbf{S}_t=\bar{\mathbf{S}}-\boldsymbol{\delta}_t"),
    ("14", r"x=1-\eta", r"x=1+\eta"),
    ("16", r"\mathbf{N}=-\mathbf{B}\mathbf{Y}", r"\mathbf{N}=\mathbf{B}\mathbf{Y}"),
    ("19", r"\chi=2H_kd_k+H_vd_v", r"\chi=H_kd_k+H_vd_v"),
    ("20", r"\varphi=L_a/(L_a+L_s)", r"\varphi=L_s/(L_a+L_s)"),
    ("23", r"\mathbf{E}=\mathbf{U}-\mathbf{R}", r"\mathbf{E}=\mathbf{U}\mathbf{R}"),  # shapes
    ("04", r"u = m/(m+1)", r"u = m/(m-1)"),  # no world has a value of it: it is listed
    ("11", r"\mathbf{I}+\tilde{\mathbf{A}}=\mathbf{R}\odot",
     r"\mathbf{I}-\tilde{\mathbf{A}}=\mathbf{R}\odot"),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def worlds():
    load()


def chapter(number):
    return next(CHAPTERS.glob(f"{number}_*.ipynb"))


def with_sentence(folder, path, old, new):
    """A copy of a chapter in which one formula of a sentence, and no display, is altered."""
    formula = next(f for f in inline.formulas(path) if old in f.tex)
    notebook = json.loads(path.read_text("utf-8"))
    cell = notebook["cells"][formula.cell - 1]
    lines = "".join(cell["source"]).splitlines(keepends=True)
    at = formula.line - 1
    lines[at] = lines[at].replace(old, new, 1)
    cell["source"] = lines
    copy = folder / path.name
    copy.write_text(json.dumps(notebook), "utf-8")
    return copy, formula


@pytest.mark.parametrize(
    ("number", "old", "new"), ALTERED, ids=[f"{n}: {b}" for n, _, b in ALTERED]
)
def test_an_altered_sentence_is_noticed(tmp_path, number, old, new):
    copy, formula = with_sentence(tmp_path, chapter(number), old, new)
    complaints = inline.judge(copy)["problems"]
    assert any(c.startswith(f"{formula.place}: $") and new in c for c in complaints), complaints
    assert inline.fingerprint_of(copy) != inline.fingerprint_of(chapter(number))


@pytest.mark.parametrize("number", sorted({number for number, _, _ in ALTERED}))
def test_the_sentences_as_they_stand_are_evaluated_or_listed(number):
    result = inline.judge(chapter(number))
    assert not result["problems"]
    assert result["evaluated"] and result["rejected"] >= result["evaluated"]


def test_a_listed_formula_that_no_chapter_prints_is_noticed(monkeypatch):
    more = inline.listed() | {("20", "a = b + 1"): ""}
    monkeypatch.setattr(inline, "listed", lambda: more)
    assert inline.judge(chapter("20"))["problems"] == [
        f"{chapter('20').name}: sentences.txt lists $a = b + 1$, which is gone or is evaluated"
    ]


def notebook(path, *texts):
    cells = [{"cell_type": "markdown", "source": [text]} for text in texts]
    path.write_text(json.dumps({"cells": cells}), "utf-8")
    return path


def test_formulas_are_found_with_their_places_and_the_nearest_labels(tmp_path):
    path = notebook(
        tmp_path / "07_x.ipynb",
        "$$\nx = 1\n$$ (eq-first)\nSo $x$ and\n$x =\n1$, not `$y = 2$` or \\$3 = 4.",
        "After {eq}`eq-second`, $z < 2$.",
    )
    found = inline.formulas(path)
    assert [(f.tex, f.cell, f.line) for f in found] == [("x = 1", 1, 5), ("z < 2", 2, 1)]
    assert [f.near for f in found] == [("eq-first", "eq-second"), ("eq-second", "eq-first")]
    assert found[0].place == "07_x.ipynb, cell 1, line 5"


@pytest.mark.parametrize(
    ("tex", "sets"),
    [
        (r"C = 64", True), (r"i \le t", True), (r"d_k = d_v = 128", True),
        (r"r = 1, \dots, C", True),
        (r"\sum_{i < r} x_i", True), (r"i = t", True),
        (r"g_t = \alpha_t", False), (r"T = 3C", False), (r"\mathbf{P}^2 = \mathbf{I}", False),
        (r"\mathbf{S}\boldsymbol{k} = \boldsymbol{v}", False), (r"2 + 3 = 5", False),
    ],
)  # fmt: skip
def test_what_only_sets_letters_claims_nothing(tex, sets):
    assert inline.only_sets(statements(tex)) == sets


def test_numbers_as_people_write_them():
    assert inline.plain_numbers(r"8{,}385 > 0.25") == r"8385 > \frac{025}{100}"
