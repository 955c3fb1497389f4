"""The parts of the extension that the first page, the heads and the previews are made of."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from docutils import nodes

EXTENSION = str(Path(__file__).parents[2] / "book" / "_ext")
sys.path.insert(0, EXTENSION)
from gdn_book import access, front, head, numbers, previews, symbols  # noqa: E402

sys.path.remove(EXTENSION)


def test_minutes_count_words_equations_and_code_but_no_output():
    words = nodes.paragraph("", "word " * 400)  # 2 minutes
    equation = nodes.math_block("", "a = b")  # half a minute each
    code = nodes.literal_block("", "\n".join(["x = 1"] * 20))  # 1 minute
    printed = nodes.container("", nodes.literal_block("", "1\n" * 100), classes=["cell_output"])
    page = nodes.section("", words, equation, equation.deepcopy(), code, printed)
    assert front.minutes(page) == 4


PATHS = {
    "chapters: [1, 3], on trust: [2]": None,
    "chapters: [1, 2, 3]": None,
    "chapters: [1, 3]": r"lacks chapters \[2\], on trust: \[\]",
    "chapters: [1, 2, 3], on trust: [2]": r"lacks chapters \[\], on trust: \[2\]",
}


@pytest.mark.parametrize("path, says", PATHS.items())
def test_a_path_says_what_it_takes_on_trust(tmp_path, caplog, path, says):
    needs = "chapters: {1: {needs: []}, 2: {needs: [1]}, 3: {needs: [1, 2]}}"
    plan = f"parts: [{{{needs}}}]\npaths: [{{reader: A, {path}}}]"
    (tmp_path / "plan.yml").write_text(plan, encoding="utf-8")
    config = SimpleNamespace(gdn_chapters="plan.yml", root_doc="index")
    env = SimpleNamespace(config=config, toctree_includes={})
    front.check_plan(SimpleNamespace(srcdir=tmp_path, config=config, env=env), env)
    assert bool(caplog.text) == bool(says)
    assert not says or re.search(says, caplog.text)


@pytest.mark.parametrize(
    "start, end, path",
    [(1.5, 2.5, "M88 1.5V2.5"), (1.5, 4.5, "M88 1.5C58.0 1.5 58.0 4.5 88 4.5")],
)
def test_arcs_bow_out_with_their_length(start, end, path):
    assert front._arc(start, end) == path


@pytest.mark.parametrize(
    "tex, text",
    [
        (r"\mathbf{I} - \beta\,\boldsymbol{k}\boldsymbol{k}^\top", "I − βkkᵀ"),
        (r"\Gamma", "Γ"),
        (r"H < HV", "H < HV"),
    ],
)
def test_formulas_in_titles_become_text(tex, text):
    assert numbers.in_words(tex) == text


@pytest.mark.parametrize(
    "tex, letters",
    [
        (r"\boldsymbol{k}_t", ["1d48c", "1d461"]),
        (r"\mathbf{S}", ["1d412"]),
        (r"\tilde{\mathbf{A}}", ["1d400"]),
        (r"\alpha", ["1d6fc"]),
        (r"\boldsymbol{\delta}", ["1d739"]),
        (r"\boldsymbol{\Gamma}", ["1d6aa"]),
        (r"\Gamma", ["393"]),
        (r"\mathrm{diag}(C)", ["1d436"]),
        (r"\begin{aligned} \beta \end{aligned}", ["1d6fd"]),
    ],
)
def test_letters_are_those_that_mathjax_draws(tex, letters):
    assert symbols.codes(tex) == letters


def test_descriptions_end_with_a_whole_word():
    short, long = "a b", "word " * 60
    assert head._cut(short) == "a b"
    assert head._cut(long) == " ".join(["word"] * 40) + "…"


PAGES = {
    "chapters/1": '<article><a href="2.html#equation-e">1</a> <a href="#thm-t">2</a>'
    '<div class="proof" id="thm-t"><a class="headerlink" href="#thm-t">#</a>Theorem'
    '<img src="../_images/x.svg"></div></article>',
    "chapters/2": '<article><div class="math" id="equation-e">\\[e\\]</div>'
    '<a href="../book/9.html">page</a> <a href="1.html#thm-t">back</a>'
    '<a href="1.html#nowhere">lost</a></article>',
}


def test_previews_hold_what_other_pages_link_to():
    pages = {name: BeautifulSoup(text, "html.parser") for name, text in PAGES.items()}
    found = previews.linked(pages)
    assert found == {"chapters/2": {"equation-e"}, "chapters/1": {"thm-t", "nowhere"}}
    theorem = previews.preview(pages["chapters/1"].find(id="thm-t"), "chapters/1")
    assert theorem == '<div class="proof">Theorem<img src="_images/x.svg"/></div>'
    assert previews.preview(pages["chapters/1"].find(id="nowhere"), "chapters/1") is None
    equation = pages["chapters/2"].find(id="equation-e")
    assert "\\[e\\]" in previews.preview(equation, "chapters/2")


def test_repairs_what_a_screen_reader_would_stumble_on():
    class Application:
        class builder:
            format = "html"

    body = (
        '<th class="head"><p></p></th><div class="citation" role="doc-biblioentry">'
        '<section class="proof-content" id="proof-content">'
        '<div class="proof admonition" id="proof">'
        '<th class="head"><p><span class="math notranslate nohighlight">\\(A\\)</span></p></th>'
    )
    context = {"body": body}
    access.repair(Application, "page", "page.html", context, None)
    assert context["body"] == (
        '<td></td><div class="citation"><section class="proof-content">'
        '<div class="proof admonition">'
        '<th class="head"><p><span class="math notranslate nohighlight" aria-hidden=true>\\(A\\)'
        '</span><span class="visually-hidden">A</span></p></th>'
    )
